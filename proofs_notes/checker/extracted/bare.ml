open Samples
open Trie

type claim = { grid : Z.t; odds_num : Z.t; odds_den : Z.t; least : Z.t;
               least_den : Z.t; draws : Z.t; trace : Z.t; gained : Z.t }

(** val thresholds : Z.t list **)

let thresholds =
  Z.zero :: (((fun p -> p) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) Z.one))) :: (((fun p -> p)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    ((fun p -> Z.shift_left p 1) ((fun p -> Z.shift_left p 1)
    Z.one))))) :: []))

(** val key : Z.t -> key **)

let key j =
  key_of ((fun z -> Z.max z Z.one) (Z.add j ((fun p -> p) Z.one)))

type law = { weights : Z.t list; table : Z.t trie; whole : Z.t }

(** val fill : Z.t -> Z.t list -> Z.t trie -> Z.t trie **)

let rec fill j ws t =
  match ws with
  | [] -> t
  | w :: ws' ->
    fill (Z.add j ((fun p -> p) Z.one)) ws' (update (key j) (fun _ -> w) t)

(** val add : Z.t list -> Z.t -> Z.t option **)

let rec add ws sum =
  match ws with
  | [] -> Some sum
  | w :: ws' -> if Z.leq Z.zero w then add ws' (Z.add sum w) else None

(** val counted : Z.t -> Z.t trie -> Z.t **)

let counted j counts0 =
  match find (key j) counts0 with
  | Some c -> c
  | None -> Z.zero

(** val above : Z.t -> Z.t -> Z.t -> Z.t -> Z.t -> bool **)

let above z n total0 w c =
  let over = Z.sub (Z.mul c total0) (Z.mul n w) in
  if Z.lt Z.zero over
  then Z.lt (Z.mul z (Z.mul (Z.mul n w) total0)) (Z.mul over over)
  else false

(** val mass :
    Z.t -> Z.t -> Z.t -> Z.t trie -> Z.t -> Z.t list -> Z.t -> Z.t **)

let rec mass z n total0 counts0 j ws sum =
  match ws with
  | [] -> sum
  | w :: ws' ->
    mass z n total0 counts0 (Z.add j ((fun p -> p) Z.one)) ws'
      (if above z n total0 w (counted j counts0) then Z.add sum w else sum)

(** val masses :
    Z.t list -> Z.t -> Z.t -> Z.t trie -> Z.t list -> Z.t list **)

let rec masses zs n total0 counts0 ws =
  match zs with
  | [] -> []
  | z :: zs' ->
    (mass z n total0 counts0 Z.zero ws Z.zero) :: (masses zs' n total0
                                                    counts0 ws)

type view = { seen : Z.t; next : Z.t; counts : Z.t trie; fixed_at : Z.t;
              fixed : Z.t trie; inside : Z.t list }

(** val unseen : law -> view **)

let unseen l =
  { seen = Z.zero; next = ((fun p -> p) Z.one); counts = Leaf; fixed_at =
    Z.zero; fixed = Leaf; inside =
    (masses thresholds Z.zero l.whole Leaf l.weights) }

(** val watch : law -> view -> Z.t -> view **)

let watch l v j =
  let n = Z.add v.seen ((fun p -> p) Z.one) in
  let c =
    update (key j) (fun old ->
      match old with
      | Some k -> Z.add k ((fun p -> p) Z.one)
      | None -> (fun p -> p) Z.one) v.counts
  in
  if Z.equal n v.next
  then { seen = n; next =
         (Z.mul ((fun p -> p) ((fun p -> Z.shift_left p 1) Z.one)) n);
         counts = c; fixed_at = n; fixed = c; inside =
         (masses thresholds n l.whole c l.weights) }
  else { seen = n; next = v.next; counts = c; fixed_at = v.fixed_at; fixed =
         v.fixed; inside = v.inside }

(** val game : claim -> law -> head **)

let game c l =
  { z_low = Z.zero; z_high = ((fun p -> p) Z.one); z_den = ((fun p -> p)
    Z.one); scale = c.grid; level_num = c.odds_num; level_den = c.odds_den;
    tv_low = Z.zero; tv_high = Z.zero; tv_den = (Z.mul c.least_den l.whole);
    count = Z.zero; Samples.weights = Z.zero; won_low = Z.zero; won_high =
    Z.zero }

(** val bet :
    claim -> law -> view -> Z.t -> Z.t -> Z.t list -> Z.t list -> Z.t list
    list -> Z.t list list **)

let rec bet c l v j w zs ms capitals0 =
  match zs with
  | [] -> []
  | z :: zs' ->
    (match ms with
     | [] -> []
     | m :: ms' ->
       (match capitals0 with
        | [] -> []
        | capital :: capitals' ->
          (settle (game c l)
            (Z.add (Z.mul m c.least_den) (Z.mul c.least l.whole))
            (if above z v.fixed_at l.whole w (counted j v.fixed)
             then c.grid
             else Z.zero) bets capital) :: (bet c l v j w zs' ms' capitals')))

(** val opening : Z.t -> Z.t list -> Z.t list list **)

let rec opening x = function
| [] -> []
| _ :: zs' -> (each x bets) :: (opening x zs')

(** val together : Z.t list list -> Z.t **)

let rec together = function
| [] -> Z.zero
| c :: capitals' -> Z.add (total c) (together capitals')

type state = { law_of : law; at_now : view; traced : Z.t;
               capitals : Z.t list list }

(** val start : claim -> Z.t list -> state option **)

let start c ws =
  match add ws Z.zero with
  | Some sum ->
    if Z.lt Z.zero sum
    then if Z.lt Z.zero c.grid
         then if Z.lt Z.zero c.odds_num
              then if Z.lt Z.zero c.odds_den
                   then if Z.leq Z.zero c.least
                        then if Z.lt Z.zero c.least_den
                             then let l = { weights = ws; table =
                                    (fill Z.zero ws Leaf); whole = sum }
                                  in
                                  Some { law_of = l; at_now = (unseen l);
                                  traced = c.grid; capitals =
                                  (opening
                                    ((fun a b -> if Z.equal b Z.zero then Z.zero else Z.fdiv a b)
                                      (Z.mul c.grid c.odds_num) c.odds_den)
                                    thresholds) }
                             else None
                        else None
                   else None
              else None
         else None
    else None
  | None -> None

(** val step : claim -> state -> Z.t -> state option **)

let step c s j =
  if Z.leq Z.zero j
  then (match find (key j) s.law_of.table with
        | Some w ->
          let v = s.at_now in
          Some { law_of = s.law_of; at_now = (watch s.law_of v j); traced =
          (Z.add s.traced
            (Z.mul (Z.add v.seen ((fun p -> p) Z.one))
              (Z.add j ((fun p -> p) Z.one)))); capitals =
          (bet c s.law_of v j w thresholds v.inside s.capitals) }
        | None -> None)
  else None

(** val finish : claim -> state -> bool **)

let finish c s =
  if Z.equal s.at_now.seen c.draws
  then if Z.equal s.traced c.trace
       then if Z.equal (together s.capitals) c.gained
            then if Z.equal c.least Z.zero
                 then true
                 else Z.leq (together (opening c.grid thresholds)) c.gained
            else false
       else false
  else false
