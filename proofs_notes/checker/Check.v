(* The program that is run.  One pass over the rows, in the order of the nodes: the probability to
   visit a node is complete when its row is read, is then passed on to its children, and forgotten. *)
From Coq Require Import List ZArith.
From Cert Require Import Spec Trie.
Import ListNotations.
Local Open Scope Z_scope.

(* Numbers.  Exact: a fraction (p, q), q > 0, not reduced: the denominator of a sum is the least
   common one, so that with denominators that are powers of two lengths add up.  Rounded to
   multiples of 1 / scale: (lo, hi), and the number lies between lo / scale and hi / scale.        *)
Definition number : Set := Z * Z.

Definition zero (a : arithmetic) : number :=
  match a with Exact => (0, 1) | Rounded _ => (0, 0) end.
Definition one (a : arithmetic) : number :=
  match a with Exact => (1, 1) | Rounded scale => (scale, scale) end.

Definition plus (a : arithmetic) (x y : number) : number :=
  let (p, q) := x in let (r, s) := y in
  match a with
  | Exact =>
      if q =? s then (p + r, q)
      else let g := Z.gcd q s in let q' := q / g in (p * (s / g) + r * q', q' * s)
  | Rounded _ => (p + r, q + s)
  end.

(* x w / d, for w >= 0 and d > 0.                                                                  *)
Definition times (a : arithmetic) (x : number) (w d : Z) : number :=
  let (p, q) := x in
  match a with
  | Exact => (p * w, q * d)
  | Rounded _ => (p * w / d, (q * w + (d - 1)) / d)
  end.

(* |x S - r|                                                                                       *)
Definition gap (a : arithmetic) (x : number) (S r : Z) : number :=
  let (p, q) := x in
  match a with
  | Exact => (Z.abs (p * S - r * q), q)
  | Rounded scale =>
      let lo := p * S - scale * r in let hi := lo + (q - p) * S in
      (if 0 <=? lo then lo else if hi <=? 0 then Z.abs hi else 0,
       if Z.abs lo <=? Z.abs hi then Z.abs hi else Z.abs lo)
  end.

(* What is kept between two rows: masses of the nodes reached but not yet read, the sum of the
   rewards r_x read so far, and that of |p_T(x) S - r_x|, where S is the sum of all rewards.       *)
Record state := State { next : node; masses : trie number; collected : Z; gaps : number }.

Definition key (v : node) : key := key_of (Z.to_pos (v + 1)).

Definition receive (a : arithmetic) (new : number) (old : option number) : number :=
  match old with None => new | Some x => plus a x new end.

(* Passes x w / d on to each child v of a node, and sums the w: children must increase, from the
   node itself on, so that edges are listed once and lead to later nodes.                          *)
Fixpoint push (h : head) (x : number) (d : Z) (steps : list (node * Z)) (before total : Z)
    (m : trie number) : option (Z * trie number) :=
  match steps with
  | [] => Some (total, m)
  | (v, w) :: steps' =>
      if before <? v then if v <? size h then if 0 <=? w then
        push h x d steps' v (total + w)
             (update (key v) (receive (arith h) (times (arith h) x w d)) m)
      else None else None else None
  end.

Definition step (h : head) (s : state) (r : row) : option state :=
  let k := key (next s) in
  match find k (masses s) with
  | None => None
  | Some x =>
      let m := remove k (masses s) in
      match r with
      | Terminal r =>
          if 0 <=? r then
            Some (State (next s + 1) m (collected s + r)
                        (plus (arith h) (gaps s) (gap (arith h) x (reward_sum h) r)))
          else None
      | Inner d steps =>
          if 0 <? d then
            match push h x d steps (next s) 0 m with
            | None => None
            | Some (total, m') =>
                if total =? d then Some (State (next s + 1) m' (collected s) (gaps s)) else None
            end
          else None
      end
  end.

Definition start (h : head) : option state :=
  if 0 <? reward_sum h then if 0 <? reward_den h then if 0 <? tv_den h then
  if match arith h with Exact => true | Rounded scale => 0 <? scale end then
    let source := update (key 0) (fun _ => one (arith h)) Leaf in
    Some (State 0 source 0 (zero (arith h)))
  else None else None else None else None.

(* x is between lo / q and hi / q.                                                                 *)
Definition bounds (a : arithmetic) (x : number) : Z * Z * Z :=
  let (p, r) := x in match a with Exact => (p, p, r) | Rounded scale => (p, r, scale) end.

Definition finish (h : head) (s : state) : bool :=
  if next s =? size h then if collected s =? reward_sum h then
    let '(lo, hi, q) := bounds (arith h) (gaps s) in
    let claimed := 2 * tv_num h * (q * reward_sum h) in
    match claim h with
    | Equal => if lo * tv_den h =? claimed then hi * tv_den h =? claimed else false
    | AtMost => hi * tv_den h <=? claimed
    | AtLeast => claimed <=? lo * tv_den h
    end
  else false else false.

Fixpoint run (h : head) (s : state) (rest : list row) : option state :=
  match rest with
  | [] => Some s
  | r :: rest' => match step h s r with None => None | Some s' => run h s' rest' end
  end.

Definition check (c : cert) : bool :=
  match start (given c) with
  | None => false
  | Some s => match run (given c) s (rows c) with None => false | Some s' => finish (given c) s' end
  end.
