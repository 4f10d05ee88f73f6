open Check
open Spec
open Trie

type table = { every : row list; by_node : row trie }

(** val enter : node -> row list -> row trie -> row trie **)

let rec enter u rest t =
  match rest with
  | [] -> t
  | r :: rest' ->
    enter (Z.add u ((fun p -> p) Z.one)) rest' (update (key u) (fun _ -> r) t)

(** val tabulate : row list -> table **)

let tabulate all =
  { every = all; by_node = (enter Z.zero all Leaf) }

type state =
| At of node
| Among of Z.t * (node * Z.t) list
| Lost

(** val possible : (node * Z.t) list -> (node * Z.t) list **)

let rec possible = function
| [] -> []
| p :: steps' ->
  let (v, w) = p in
  if Z.lt Z.zero w then (v, w) :: (possible steps') else possible steps'

(** val settle : (node -> state) -> Z.t -> (node * Z.t) list -> state **)

let settle go d steps = match steps with
| [] -> Among (d, steps)
| p :: l ->
  let (v, _) = p in (match l with
                     | [] -> go v
                     | _ :: _ -> Among (d, steps))

(** val arrive : row list -> row trie -> node -> state **)

let rec arrive fuel t v =
  match fuel with
  | [] -> Lost
  | _ :: fuel' ->
    (match find (key v) t with
     | Some r ->
       (match r with
        | Terminal _ -> At v
        | Inner (d, steps) -> settle (arrive fuel' t) d (possible steps))
     | None -> Lost)

(** val lower : Z.t -> (node * Z.t) list -> (node * Z.t) list **)

let rec lower d = function
| [] -> []
| p :: steps' ->
  let (v, w) = p in
  if Z.lt (Z.mul ((fun p -> p) ((fun p -> Z.shift_left p 1) Z.one)) w) d
  then (v,
         (Z.mul ((fun p -> p) ((fun p -> Z.shift_left p 1) Z.one)) w)) :: 
         (lower
           (Z.sub d
             (Z.mul ((fun p -> p) ((fun p -> Z.shift_left p 1) Z.one)) w))
           steps')
  else (v, d) :: []

(** val double : (node * Z.t) list -> (node * Z.t) list **)

let rec double = function
| [] -> []
| p :: steps' ->
  let (v, w) = p in
  (v,
  (Z.mul ((fun p -> p) ((fun p -> Z.shift_left p 1) Z.one)) w)) :: (double
                                                                    steps')

(** val upper : Z.t -> (node * Z.t) list -> (node * Z.t) list **)

let rec upper d = function
| [] -> []
| p :: steps' ->
  let (v, w) = p in
  if Z.leq (Z.mul ((fun p -> p) ((fun p -> Z.shift_left p 1) Z.one)) w) d
  then upper
         (Z.sub d
           (Z.mul ((fun p -> p) ((fun p -> Z.shift_left p 1) Z.one)) w))
         steps'
  else (v,
         (Z.sub (Z.mul ((fun p -> p) ((fun p -> Z.shift_left p 1) Z.one)) w)
           d)) :: (double steps')

(** val start : table -> state **)

let start t =
  arrive t.every t.by_node Z.zero

(** val feed : table -> state -> bool -> state **)

let feed t s bit =
  match s with
  | Among (d, steps) ->
    settle (arrive t.every t.by_node) d
      (if bit then upper d steps else lower d steps)
  | _ -> s
