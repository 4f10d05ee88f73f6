open Datatypes

type 'a tree =
| Leaf of 'a
| Node of 'a tree * 'a tree

(** val every : ('a1 -> 'a2) -> 'a1 list -> 'a2 list **)

let rec every f = function
| [] -> []
| x :: l0 -> (f x) :: (every f l0)

(** val numbers : nat -> nat -> nat list **)

let rec numbers first = function
| O -> []
| S count0 -> first :: (numbers (S first) count0)

(** val each : ('a1 -> 'a2) -> 'a1 tree -> 'a2 tree **)

let rec each f = function
| Leaf x -> Leaf (f x)
| Node (a, b) -> Node ((each f a), (each f b))

(** val zip : ('a1 -> 'a1 -> 'a1) -> 'a1 tree -> 'a1 tree -> 'a1 tree **)

let rec zip f s t =
  match s with
  | Leaf x -> (match t with
               | Leaf y -> Leaf (f x y)
               | Node (_, _) -> s)
  | Node (a, b) ->
    (match t with
     | Leaf _ -> s
     | Node (c, d) -> Node ((zip f a c), (zip f b d)))

(** val off : 'a1 tree -> 'a1 tree **)

let off t = match t with
| Leaf _ -> t
| Node (a, _) -> a

(** val on : 'a1 tree -> 'a1 tree **)

let on t = match t with
| Leaf _ -> t
| Node (_, b) -> b

(** val least : 'a1 tree -> 'a1 **)

let rec least = function
| Leaf x -> x
| Node (a, _) -> least a

(** val put : 'a1 -> 'a1 tree -> 'a1 tree **)

let rec put x = function
| Leaf _ -> Leaf x
| Node (a, b) -> Node ((put x a), b)

(** val cut : ('a1 tree -> 'a1 tree) -> nat -> 'a1 tree -> 'a1 tree **)

let rec cut side v t =
  match v with
  | O -> side t
  | S v0 ->
    (match t with
     | Leaf _ -> side t
     | Node (a, b) -> Node ((cut side v0 a), (cut side v0 b)))

(** val subsets : ('a1 -> 'a1 -> 'a1) -> 'a1 tree -> 'a1 tree **)

let rec subsets plus = function
| Leaf x -> Leaf x
| Node (a, b) ->
  let a0 = subsets plus a in Node (a0, (zip plus a0 (subsets plus b)))

(** val fold :
    'a1 -> ('a1 -> 'a1 -> 'a1) -> ('a1 -> 'a1 -> 'a1) -> 'a1 tree -> 'a1 list
    -> 'a1 **)

let rec fold zero minus times t ws =
  match t with
  | Leaf x -> x
  | Node (a, b) ->
    (match ws with
     | [] -> zero
     | w :: ws0 ->
       minus (fold zero minus times a ws0)
         (times w (fold zero minus times b ws0)))

(** val alternate :
    'a1 -> ('a1 -> 'a1 -> 'a1) -> ('a1 -> 'a1 -> 'a1) -> nat -> 'a1 tree tree
    -> 'a1 tree list -> 'a1 tree list -> 'a1 tree **)

let rec alternate zero minus times n xs ws rest =
  match n with
  | O -> Leaf (fold zero minus times (each least xs) (every least ws))
  | S n0 ->
    (match rest with
     | [] -> Leaf (fold zero minus times (each least xs) (every least ws))
     | w :: rest0 ->
       Node
         ((alternate zero minus times n0 (Node ((each off xs), (each on xs)))
            ((off w) :: (every off ws)) (every off rest0)),
         (alternate zero minus times n0 (each on xs) (every on ws)
           (every on rest0))))

(** val above :
    'a1 -> 'a1 -> ('a1 -> 'a1 -> 'a1) -> ('a1 -> 'a1 -> 'a1) -> nat -> 'a1
    tree tree -> 'a1 tree list -> 'a1 tree list -> 'a1 tree **)

let rec above zero one minus times n xs ws rest =
  match n with
  | O ->
    Leaf
      (match ws with
       | [] -> one
       | _ :: _ ->
         minus zero
           (fold zero minus times (put zero (each least xs)) (every least ws)))
  | S n0 ->
    (match rest with
     | [] ->
       Leaf
         (match ws with
          | [] -> one
          | _ :: _ ->
            minus zero
              (fold zero minus times (put zero (each least xs))
                (every least ws)))
     | w :: rest0 ->
       let b =
         above zero one minus times n0 (each on xs) (every on ws)
           (every on rest0)
       in
       Node
       ((above zero one minus times n0 (Node ((each off xs),
          (put b (each on xs)))) ((off w) :: (every off ws))
          (every off rest0)), b))

(** val spread :
    'a1 -> ('a1 -> 'a1 -> 'a1) -> ('a1 -> 'a1 -> 'a1) -> 'a1 -> 'a1 list ->
    'a1 tree **)

let rec spread zero minus times x = function
| [] -> Leaf x
| w :: ws0 ->
  let t = spread zero minus times x ws0 in
  Node (t, (each (fun y -> minus zero (times w y)) t))

(** val below :
    'a1 -> ('a1 -> 'a1 -> 'a1) -> ('a1 -> 'a1 -> 'a1) -> nat -> 'a1 tree tree
    -> 'a1 tree list -> 'a1 tree list -> 'a1 tree * 'a1 tree tree **)

let rec below zero minus times n xs ws rest =
  match n with
  | O ->
    let x = least (least xs) in
    ((Leaf x),
    (each (fun x0 -> Leaf x0)
      (zip minus (each least xs) (spread zero minus times x (every least ws)))))
  | S n0 ->
    (match rest with
     | [] ->
       let x = least (least xs) in
       ((Leaf x),
       (each (fun x0 -> Leaf x0)
         (zip minus (each least xs)
           (spread zero minus times x (every least ws)))))
     | w :: rest0 ->
       let (a, sent) =
         below zero minus times n0 (Node ((each off xs), (each on xs)))
           ((off w) :: (every off ws)) (every off rest0)
       in
       let (b, sent') =
         below zero minus times n0 (on sent) (every on ws) (every on rest0)
       in
       ((Node (a, b)), (zip (fun x x0 -> Node (x, x0)) (off sent) sent')))

(** val constant : nat -> 'a1 -> 'a1 tree **)

let rec constant n x =
  match n with
  | O -> Leaf x
  | S n0 -> let t = constant n0 x in Node (t, t)

(** val total : ('a1 -> 'a1 -> 'a1) -> 'a1 tree -> 'a1 **)

let rec total plus = function
| Leaf x -> x
| Node (a, b) -> plus (total plus a) (total plus b)

(** val without : nat -> 'a1 list -> 'a1 list **)

let rec without v l =
  match v with
  | O -> (match l with
          | [] -> []
          | _ :: l0 -> l0)
  | S v0 -> (match l with
             | [] -> []
             | x :: l0 -> x :: (without v0 l0))

(** val insert : nat -> 'a1 -> 'a1 list -> 'a1 list **)

let rec insert v x l =
  match v with
  | O -> x :: l
  | S v0 -> (match l with
             | [] -> x :: l
             | y :: l0 -> y :: (insert v0 x l0))

(** val around :
    'a1 -> ('a1 -> 'a1 -> 'a1) -> ('a1 -> 'a1 -> 'a1) -> ('a1 -> 'a1 -> 'a1)
    -> nat -> 'a1 tree list -> 'a1 tree -> 'a1 tree -> nat -> 'a1 tree ->
    ('a1 * 'a1) list **)

let around zero plus minus times n weights0 a h v w =
  let w0 = cut off v w in
  let ws = every (cut off v) (without v weights0) in
  let d =
    zip times (cut off v a)
      (alternate zero minus times n (Leaf (cut on v h)) [] ws)
  in
  insert v (zero, (least h))
    (every (fun u ->
      ((total plus
         (zip times (cut on u d) (zip minus (cut on u w0) (cut off u w0)))),
      (total plus (zip times (cut off u d) (cut off u w0))))) (numbers O n))

(** val numbered : (nat -> 'a1 -> 'a2) -> nat -> 'a1 list -> 'a2 list **)

let rec numbered f v = function
| [] -> []
| x :: l0 -> (f v x) :: (numbered f (S v) l0)

(** val sums :
    'a1 -> 'a1 -> ('a1 -> 'a1 -> 'a1) -> ('a1 -> 'a1 -> 'a1) -> ('a1 -> 'a1
    -> 'a1) -> 'a1 tree list -> 'a1 * ('a1 * 'a1) list list **)

let sums zero one plus minus times weights0 =
  let n = length weights0 in
  let weights1 = every (subsets plus) weights0 in
  let a =
    fst
      (below zero minus times n (Leaf (put one (constant n zero))) []
        weights1)
  in
  let h = above zero one minus times n (Leaf (constant n zero)) [] weights1 in
  ((least h),
  (numbered
    (around zero plus minus times (match n with
                                   | O -> O
                                   | S n0 -> n0) weights1 a h) O weights1))

type claim = { weights : Z.t list list; whole : Z.t;
               marginals : (Z.t * Z.t) list list }

(** val grow : nat -> Z.t list -> (Z.t tree * Z.t list) option **)

let rec grow n l =
  match n with
  | O -> (match l with
          | [] -> None
          | x :: l0 -> Some ((Leaf x), l0))
  | S n0 ->
    (match grow n0 l with
     | Some p ->
       let (a, l0) = p in
       (match grow n0 l0 with
        | Some p0 -> let (b, l1) = p0 in Some ((Node (a, b)), l1)
        | None -> None)
     | None -> None)

(** val trees : nat -> Z.t list list -> Z.t tree list option **)

let rec trees n = function
| [] -> Some []
| row :: rows0 ->
  (match grow n row with
   | Some p ->
     let (t, l) = p in
     (match l with
      | [] ->
        (match trees n rows0 with
         | Some ts -> Some (t :: ts)
         | None -> None)
      | _ :: _ -> None)
   | None -> None)

(** val same : ('a1 -> 'a2 -> bool) -> 'a1 list -> 'a2 list -> bool **)

let rec same equal l k =
  match l with
  | [] -> (match k with
           | [] -> true
           | _ :: _ -> false)
  | x :: l0 ->
    (match k with
     | [] -> false
     | y :: k0 -> if equal x y then same equal l0 k0 else false)

(** val same_pair : (Z.t * Z.t) -> (Z.t * Z.t) -> bool **)

let same_pair p q =
  if Z.equal (fst p) (fst q) then Z.equal (snd p) (snd q) else false

(** val check : claim -> bool **)

let check c =
  match trees (length c.weights) c.weights with
  | Some ts ->
    let (z, rows) = sums Z.zero ((fun p -> p) Z.one) Z.add Z.sub Z.mul ts in
    if Z.equal z c.whole
    then same (same same_pair) rows c.marginals
    else false
  | None -> false

type reported = { denominator : Z.t; edge_error : Z.t; path_error : Z.t;
                  floats : (Z.t * Z.t) list list }

(** val near : Z.t -> Z.t -> Z.t -> Z.t -> Z.t -> bool **)

let near z u e x p =
  Z.leq (Z.abs (Z.sub (Z.mul p z) (Z.mul x u))) (Z.mul e z)

(** val near_pair : Z.t -> reported -> (Z.t * Z.t) -> (Z.t * Z.t) -> bool **)

let near_pair z r x p =
  if near z r.denominator r.edge_error (fst x) (fst p)
  then near z r.denominator r.path_error (snd x) (snd p)
  else false

(** val check_reported : claim -> reported -> bool **)

let check_reported c r =
  if Z.lt Z.zero c.whole
  then if Z.lt Z.zero r.denominator
       then if check c
            then same (same (near_pair c.whole r)) c.marginals r.floats
            else false
       else false
  else false
