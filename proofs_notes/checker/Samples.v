(* The checker of statistical certificates: what is run.  Trajectories come one by one; of each, its
   weight w = R p_B / (Z p_F) is computed, and bets on 1 - w, cut off at 0, are settled.  What is
   accepted is seldom wrong: [accepted_is_seldom_wrong] of SamplesSound.v.                          *)
From Coq Require Import List ZArith.
Import ListNotations.
Local Open Scope Z_scope.

(* What the reader hands over: numbers of any size and sign, nothing is assumed about them.        *)
Record sample := Sample {
  reward : Z; reward_den : Z;                                (* R(x)                               *)
  forward : list (Z * Z); backward : list (Z * Z)            (* p_F, p_B of each step: (a, b), a/b *)
}.
Record head := Head {
  z_low : Z; z_high : Z; z_den : Z;                          (* Z is between z_low / z_den and ... *)
  scale : Z;                                                 (* capital: multiples of 1 / scale    *)
  level_num : Z; level_den : Z;
  tv_low : Z; tv_high : Z; tv_den : Z;                       (* the claim: TV is between           *)
  count : Z; weights : Z;                                    (* samples, and the sum of their w    *)
  won_low : Z; won_high : Z                                  (* the capital at the end             *)
}.

(* The bets, over [grain]: from 1.6^-18 on in steps of 1.6 to 1.6^12, then in steps of 16.  They are
   a part of the program, as they must not be chosen after the samples.                            *)
Definition grain : Z := 1099511627776.
Definition five : Z := 5.
Definition small : Z := 8.
Definition large : Z := 80.
Fixpoint from (k : Z) (factors : list Z) : list Z :=
  k :: match factors with [] => [] | f :: factors' => from (k * f / five) factors' end.
Definition bets : list Z := from 232830643
  [small; small; small; small; small; small; small; small; small; small;
   small; small; small; small; small; small; small; small; small; small;
   small; small; small; small; small; small; small; small; small; small;
   large; large; large; large; large; large].

Fixpoint total (capital : list Z) : Z :=
  match capital with [] => 0 | c :: capital' => c + total capital' end.
Fixpoint each (x : Z) (l : list Z) : list Z :=
  match l with [] => [] | _ :: l' => x :: each x l' end.

(* c (1 + kappa y / scale) / (1 + kappa m / tv_den), rounded down, for each bet kappa = k / grain.  *)
Fixpoint settle (h : head) (m y : Z) (bets capital : list Z) : list Z :=
  match bets, capital with
  | k :: bets', c :: capital' =>
      c * ((grain * scale h + k * y) * tv_den h) / (scale h * (grain * tv_den h + k * m))
      :: settle h m y bets' capital'
  | _, _ => []
  end.

(* a / b times the probabilities of all steps.                                                     *)
Fixpoint along (steps : list (Z * Z)) (a b : Z) : option (Z * Z) :=
  match steps with
  | [] => Some (a, b)
  | (n, d) :: steps' =>
      if 0 <=? n then if n <=? d then if 0 <? d then along steps' (a * n) (b * d)
      else None else None else None
  end.

(* (a, b), with w = a / (b z): R p_B is the first, p_F the second quotient.                        *)
Definition weight (s : sample) : option (Z * Z) :=
  if 0 <=? reward s then if 0 <? reward_den s then
    match along (backward s) (reward s) (reward_den s) with
    | None => None
    | Some (a, b) =>
        match along (forward s) 1 1 with
        | None => None
        | Some (c, d) => if 0 <? c then Some (a * d, b * c) else None
        end
    end
  else None else None.

(* What is kept between two trajectories.  Capital against [tv_low] is won by 1 - w cut off at 0,
   and that against 1 - [tv_high] by w cut off at 1.                                               *)
Record state := State { seen : Z; sum : Z; low : list Z; high : list Z }.

Definition start (h : head) : option state :=
  if 0 <=? z_low h then if 0 <? z_high h then if 0 <? z_den h then if 0 <? scale h then
  if 0 <? level_num h then if 0 <? level_den h then
  if 0 <=? tv_low h then if tv_low h <=? tv_high h then if tv_high h <=? tv_den h then
  if 0 <? tv_den h then
    let capital := each (scale h * level_num h / (2 * level_den h)) bets in
    Some (State 0 0 capital capital)
  else None else None else None else None else None else None else None else None else None else None.

Definition step (h : head) (s : state) (drawn : sample) : option state :=
  match weight drawn with
  | None => None
  | Some (a, b) =>
      let a' := a * z_den h in
      let lack := b * z_low h - a' in
      let most := b * z_high h in
      let w := scale h * a' / most in
      let y := if 0 <? lack then scale h * lack / (b * z_low h) else 0 in
      let y' := if a' <? most then w else scale h in
      Some (State (seen s + 1) (sum s + w)
                  (settle h (tv_low h) y bets (low s))
                  (settle h (tv_den h - tv_high h) y' bets (high s)))
  end.

(* Half of the level has become one.                                                               *)
Definition wins (h : head) (m won : Z) : bool :=
  if m =? 0 then true else total (each (scale h) bets) <=? won.

Definition finish (h : head) (s : state) : bool :=
  if seen s =? count h then if sum s =? weights h then
  if total (low s) =? won_low h then if total (high s) =? won_high h then
    if wins h (tv_low h) (won_low h) then wins h (tv_den h - tv_high h) (won_high h) else false
  else false else false else false else false.

Fixpoint run (h : head) (s : state) (drawn : list sample) : option state :=
  match drawn with
  | [] => Some s
  | x :: drawn' => match step h s x with None => None | Some s' => run h s' drawn' end
  end.

Definition check (h : head) (drawn : list sample) : bool :=
  match start h with
  | None => false
  | Some s => match run h s drawn with None => false | Some s' => finish h s' end
  end.
