(* Bets on events that the past chooses bound the total variation from below (event-bets-tv-bound).

   Samples of p are independent.  After the history h the bet j is on the event A j h, with the number
   kappa j h > -1, which is 0 before the bet starts.  If TV(p, pi) <= v, the event has at most the
   probability pi(A) + v, and at least pi(A) - v.                                                 *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Residuals Betting Shortfall.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Events.
Variables (I J : finType) (K : realFieldType) (p pi : I -> K) (j0 : J).
Variables (A : J -> seq I -> pred I) (kappa : J -> seq I -> K).
Hypotheses (p_ge0 : forall i, 0 <= p i) (p_sum : \sum_i p i = 1).
Hypotheses (pi_ge0 : forall i, 0 <= pi i) (pi_sum : \sum_i pi i = 1).
Hypothesis bold : forall j h, -1 < kappa j h.

Definition under (f : I -> K) (B : pred I) : K := \sum_i f i * (B i)%:R.
(* m(v), cut off at [0, 1], the factor of one sample, and the mean of the capitals.               *)
Definition margin j v h : K :=
  if 0 <= kappa j h then Num.min 1 (under pi (A j h) + v) else Num.max 0 (under pi (A j h) - v).
Definition factor j v h i : K := (1 + kappa j h * (A j h i)%:R) / (1 + kappa j h * margin j v h).
Definition event_capital v h : K := (\sum_j chance (factor j v) [::] h) / #|J|%:R.

Lemma under_ge0 f B : (forall i, 0 <= f i) -> 0 <= under f B.
Proof. by move=> f0; apply: sumr_ge0 => i _; rewrite mulr_ge0 ?ler0n. Qed.

Lemma under_le1 f B : (forall i, 0 <= f i) -> \sum_i f i = 1 -> under f B <= 1.
Proof.
move=> f0 f1; rewrite -[X in _ <= X]f1; apply: ler_sum => i _.
by rewrite ler_pimulr // lern1 leq_b1.
Qed.

Lemma under_near B : `|under p B - under pi B| <= tv p pi.
Proof.
have := expectation_error p_sum pi_sum (f := fun i => (B i)%:R) (low := 0) (high := 1).
by rewrite subr0 mulr1; apply=> i; rewrite ler0n lern1 leq_b1.
Qed.

Lemma margin_range j v h : 0 <= v -> 0 <= margin j v h <= 1.
Proof.
move=> v0; rewrite /margin; case: ifP => _.
  by rewrite le_minr ler01 addr_ge0 ?under_ge0 // le_minl lexx.
by rewrite le_maxr lexx le_maxl ler01 ler_subl_addr (le_trans (under_le1 _ _ _)) // ler_addl.
Qed.

Lemma odds_gt0 j h (m : K) : 0 <= m <= 1 -> 0 < 1 + kappa j h * m.
Proof.
case/andP=> m0 m1; have [k0|k0] := leP 0 (kappa j h); first by rewrite ltr_paddr ?mulr_ge0 ?ltr01.
apply: lt_le_trans (_ : 1 + kappa j h <= _); first by rewrite -ltr_subl_addl sub0r.
by rewrite ler_add2l -[X in X <= _]mulr1 ler_wnmul2l // ltW.
Qed.

Lemma factor_ge0 j v h i : 0 <= v -> 0 <= factor j v h i.
Proof.
by move=> v0; rewrite divr_ge0 // ltW // odds_gt0 ?margin_range // ler0n lern1 leq_b1.
Qed.

Lemma factor_mean j v h : tv p pi <= v -> \sum_i p i * factor j v h i <= 1.
Proof.
move=> near; have tv0 : 0 <= tv p pi by rewrite divr_ge0 ?ler0n // sumr_ge0.
have v0 := le_trans tv0 near; have D0 := odds_gt0 j h (margin_range j h v0).
have -> : \sum_i p i * factor j v h i =
    (1 + kappa j h * under p (A j h)) / (1 + kappa j h * margin j v h).
  rewrite /under -[X in (X + _) / _]p_sum mulr_sumr -big_split mulr_suml; apply: eq_bigr => i _.
  by rewrite /factor mulrA mulrDr mulr1 [p i * (_ * _)]mulrCA.
rewrite ler_pdivr_mulr // mul1r ler_add2l /margin.
have /andP[lo hi] : - v <= under p (A j h) - under pi (A j h) <= v.
  by rewrite -ler_norml (le_trans (under_near _)).
have [k0|k0] := leP 0 (kappa j h).
  by rewrite ler_wpmul2l // le_minr under_le1 // addrC -ler_subl_addr.
by rewrite ler_wnmul2l ?(ltW k0) // le_maxl under_ge0 // ler_subl_addr addrC -ler_subl_addr -opprB ler_oppl.
Qed.

Lemma chance_rcons (f : seq I -> I -> K) h s i :
  chance f h (rcons s i) = chance f h s * f (h ++ s) i.
Proof.
elim: s h => [|j s IH] h /=; first by rewrite cats0 mulr1 mul1r.
by rewrite IH cat_rcons mulrA.
Qed.

Lemma chance_factor_ge0 j v h : 0 <= v -> 0 <= chance (factor j v) [::] h.
Proof.
move=> v0; elim: h [::] => [|i h IH] past /=; first exact: ler01.
by rewrite mulr_ge0 ?factor_ge0.
Qed.

Lemma bets_gt0 : 0 < #|J|%:R :> K.
Proof. by rewrite ltr0n; apply/card_gt0P; exists j0. Qed.

(* The mean capital begins at 1, ...                                                              *)
Theorem event_capital_start v : event_capital v [::] = 1.
Proof. by rewrite /event_capital sumr_const divff // gt_eqF // bets_gt0. Qed.

Lemma event_capital_ge0 v h : 0 <= v -> 0 <= event_capital v h.
Proof. by move=> v0; rewrite divr_ge0 ?ler0n // sumr_ge0 // => j _; apply: chance_factor_ge0. Qed.

Lemma tv_ge0 : 0 <= tv p pi.
Proof. by rewrite divr_ge0 ?ler0n // sumr_ge0. Qed.

(* ... is a supermartingale for every v >= TV(p, pi), ...                                         *)
Theorem event_capital_supermartingale v h : tv p pi <= v ->
  \sum_i p i * event_capital v (rcons h i) <= event_capital v h.
Proof.
move=> near; have v0 := le_trans tv_ge0 near.
rewrite /event_capital; under eq_bigr do rewrite mulrA mulr_sumr.
rewrite -mulr_suml exchange_big /= ler_pmul2r ?invr_gt0 ?bets_gt0 //; apply: ler_sum => j _.
under eq_bigr do rewrite chance_rcons mulrCA.
by rewrite -mulr_sumr ler_pimulr ?chance_factor_ge0 ?factor_mean.
Qed.

(* ... and falls with v.                                                                          *)
Theorem event_capital_falls v v' h : 0 <= v -> v <= v' -> event_capital v' h <= event_capital v h.
Proof.
move=> v0 vv; have v0' := le_trans v0 vv.
rewrite ler_pmul2r ?invr_gt0 ?bets_gt0 //; apply: ler_sum => j _.
have less past i : factor j v' past i <= factor j v past i.
  have won : 0 <= 1 + kappa j past * (A j past i)%:R.
    by rewrite ltW // odds_gt0 // ler0n lern1 leq_b1.
  rewrite ler_wpmul2l //.
  rewrite lef_pinv ?posrE ?odds_gt0 ?margin_range // ler_add2l /margin.
  have [k0|k0] := leP 0 (kappa j past).
    by rewrite ler_wpmul2l // le_minr !le_minl lexx ler_add2l vv orbT.
  by rewrite ler_wnmul2l ?(ltW k0) // le_maxl !le_maxr lexx ler_add2l ler_opp2 vv orbT.
elim: h [::] => [|i h IH] past //=; apply: ler_pmul => //; first exact: factor_ge0.
by elim: h (rcons past i) {IH} => [|k h IH] q /=; rewrite ?ler01 // mulr_ge0 ?factor_ge0.
Qed.

(* So that a number v >= TV is ever refuted, by a capital of 1 / a against it, with probability at
   most a, however it is chosen after the samples.                                                *)
Theorem event_bets a n (low : seq I -> K) : 0 < a ->
  probability (fun=> p) n [::]
    (ever n (fun h => (tv p pi <= low h) && (a^-1 <= event_capital (low h) h))) <= a.
Proof.
move=> a0; have ai : 0 < a^-1 by rewrite invr_gt0.
have p_sum' (h : seq I) : \sum_i p i = 1 by [].
apply: le_trans (_ : probability (fun=> p) n [::]
    (ever n (fun h => a^-1 <= event_capital (tv p pi) h)) <= _).
  apply: probability_mono => // s; apply: ever_mono => h /andP[near won].
  by apply: le_trans won _; apply: event_capital_falls => //; apply: tv_ge0.
rewrite -(ler_pmul2l ai) mulVf ?gt_eqF // -(event_capital_start (tv p pi)).
apply: ville => // h; first by apply: event_capital_ge0; apply: tv_ge0.
exact: event_capital_supermartingale.
Qed.
End Events.
