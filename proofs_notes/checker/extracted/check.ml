open Spec
open Trie

type number = Z.t * Z.t

(** val zero : arithmetic -> number **)

let zero = function
| Exact -> (Z.zero, ((fun p -> p) Z.one))
| Rounded _ -> (Z.zero, Z.zero)

(** val one : arithmetic -> number **)

let one = function
| Exact -> (((fun p -> p) Z.one), ((fun p -> p) Z.one))
| Rounded scale -> (scale, scale)

(** val plus : arithmetic -> number -> number -> number **)

let plus a x y =
  let (p, q) = x in
  let (r, s) = y in
  (match a with
   | Exact ->
     if Z.equal q s
     then ((Z.add p r), q)
     else let g = Z.gcd q s in
          let q' =
            (fun a b -> if Z.equal b Z.zero then Z.zero else Z.fdiv a b) q g
          in
          ((Z.add
             (Z.mul p
               ((fun a b -> if Z.equal b Z.zero then Z.zero else Z.fdiv a b)
                 s g)) (Z.mul r q')), (Z.mul q' s))
   | Rounded _ -> ((Z.add p r), (Z.add q s)))

(** val times : arithmetic -> number -> Z.t -> Z.t -> number **)

let times a x w d =
  let (p, q) = x in
  (match a with
   | Exact -> ((Z.mul p w), (Z.mul q d))
   | Rounded _ ->
     (((fun a b -> if Z.equal b Z.zero then Z.zero else Z.fdiv a b)
        (Z.mul p w) d),
       ((fun a b -> if Z.equal b Z.zero then Z.zero else Z.fdiv a b)
         (Z.add (Z.mul q w) (Z.sub d ((fun p -> p) Z.one))) d)))

(** val gap : arithmetic -> number -> Z.t -> Z.t -> number **)

let gap a x s r =
  let (p, q) = x in
  (match a with
   | Exact -> ((Z.abs (Z.sub (Z.mul p s) (Z.mul r q))), q)
   | Rounded scale ->
     let lo = Z.sub (Z.mul p s) (Z.mul scale r) in
     let hi = Z.add lo (Z.mul (Z.sub q p) s) in
     ((if Z.leq Z.zero lo
       then lo
       else if Z.leq hi Z.zero then Z.abs hi else Z.zero),
     (if Z.leq (Z.abs lo) (Z.abs hi) then Z.abs hi else Z.abs lo)))

type state = { next : node; masses : number trie; collected : Z.t;
               gaps : number }

(** val key : node -> key **)

let key v =
  key_of ((fun z -> Z.max z Z.one) (Z.add v ((fun p -> p) Z.one)))

(** val receive : arithmetic -> number -> number option -> number **)

let receive a new0 = function
| Some x -> plus a x new0
| None -> new0

(** val push :
    head -> number -> Z.t -> (node * Z.t) list -> Z.t -> Z.t -> number trie
    -> (Z.t * number trie) option **)

let rec push h x d steps before total m =
  match steps with
  | [] -> Some (total, m)
  | p :: steps' ->
    let (v, w) = p in
    if Z.lt before v
    then if Z.lt v h.size
         then if Z.leq Z.zero w
              then push h x d steps' v (Z.add total w)
                     (update (key v) (receive h.arith (times h.arith x w d))
                       m)
              else None
         else None
    else None

(** val step : head -> state -> row -> state option **)

let step h s r =
  let k = key s.next in
  (match find k s.masses with
   | Some x ->
     let m = remove k s.masses in
     (match r with
      | Terminal r0 ->
        if Z.leq Z.zero r0
        then Some { next = (Z.add s.next ((fun p -> p) Z.one)); masses = m;
               collected = (Z.add s.collected r0); gaps =
               (plus h.arith s.gaps (gap h.arith x h.reward_sum r0)) }
        else None
      | Inner (d, steps) ->
        if Z.lt Z.zero d
        then (match push h x d steps s.next Z.zero m with
              | Some p ->
                let (total, m') = p in
                if Z.equal total d
                then Some { next = (Z.add s.next ((fun p -> p) Z.one));
                       masses = m'; collected = s.collected; gaps = s.gaps }
                else None
              | None -> None)
        else None)
   | None -> None)

(** val start : head -> state option **)

let start h =
  if Z.lt Z.zero h.reward_sum
  then if Z.lt Z.zero h.reward_den
       then if Z.lt Z.zero h.tv_den
            then if match h.arith with
                    | Exact -> true
                    | Rounded scale -> Z.lt Z.zero scale
                 then let source =
                        update (key Z.zero) (fun _ -> one h.arith) Leaf
                      in
                      Some { next = Z.zero; masses = source; collected =
                      Z.zero; gaps = (zero h.arith) }
                 else None
            else None
       else None
  else None

(** val bounds : arithmetic -> number -> (Z.t * Z.t) * Z.t **)

let bounds a = function
| (p, r) ->
  (match a with
   | Exact -> ((p, p), r)
   | Rounded scale -> ((p, r), scale))

(** val finish : head -> state -> bool **)

let finish h s =
  if Z.equal s.next h.size
  then if Z.equal s.collected h.reward_sum
       then let (p, q) = bounds h.arith s.gaps in
            let (lo, hi) = p in
            let claimed =
              Z.mul
                (Z.mul ((fun p -> p) ((fun p -> Z.shift_left p 1) Z.one))
                  h.tv_num) (Z.mul q h.reward_sum)
            in
            (match h.claim with
             | Equal ->
               if Z.equal (Z.mul lo h.tv_den) claimed
               then Z.equal (Z.mul hi h.tv_den) claimed
               else false
             | AtMost -> Z.leq (Z.mul hi h.tv_den) claimed
             | AtLeast -> Z.leq claimed (Z.mul lo h.tv_den))
       else false
  else false
