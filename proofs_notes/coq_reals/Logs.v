(* Tools: tanh, logarithms and the logistic function over the reals.

   expR, ln and derivatives are those of MathComp-analysis, which rests on three classical axioms
   (`assumed`).  All inequalities between functions follow from the signs of derivatives.         *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import mathcomp_extra boolp classical_sets functions.
From mathcomp.analysis Require Import reals topology normedtype sequences derive realfun exp.
From mathcomp.analysis Require Import nsatz_realtype.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Import numFieldTopology.Exports numFieldNormedType.Exports.
Local Open Scope ring_scope.

Definition tanh (R : realType) (x : R) : R := (expR x - expR (- x)) / (expR x + expR (- x)).

(* An inequality follows from one with the same difference of its sides.                          *)
Lemma ler_same (K : numDomainType) (a b c d : K) : b - a = d - c -> c <= d -> a <= b.
Proof. by move=> same; rewrite -subr_ge0 -same subr_ge0. Qed.

Section Calculus.
Variable R : realType.
Implicit Types a b h x y z : R.

(* A function with a derivative that is not negative rises.                                      *)
Lemma rises (f df : R -> R) a b : a <= b -> (forall x, is_derive x 1 f (df x)) ->
  (forall x, a <= x <= b -> 0 <= df x) -> f a <= f b.
Proof.
move=> ab fdf up; have fc : {within `[a, b], continuous f}.
  apply: continuous_subspaceT => x; apply/differentiable_continuous/derivable1_diffP.
  exact: ex_derive.
have [c cab slope] := MVT_segment ab (fun x _ => fdf x) fc.
by rewrite -subr_ge0 slope mulr_ge0 ?subr_ge0 // up // (itvP cab).
Qed.

(* Tangents.                                                                                     *)
Lemma expR_above x : 1 + x <= expR x.
Proof.
pose f : R -> R := expR - (cst 1 + id); have df y : is_derive y 1 f (expR y - 1).
  by apply: is_derive_eq; rewrite add0r.
have goal : f 0 <= f x -> 1 + x <= expR x by rewrite /f !fctE /= expR0 addr0 subrr subr_ge0.
have [x0|/ltW x0] := leP 0 x; apply: goal.
  by apply: rises df _ => // y /andP[y0 _]; rewrite subr_ge0 -expR0 ler_expR.
rewrite -ler_opp2; apply: (@rises (fun y => - f y) (fun y => - (expR y - 1))) => // y /andP[_ y0].
by rewrite opprB subr_ge0 -expR0 ler_expR.
Qed.

Lemma ln_below x : 0 < x -> ln x <= x - 1.
Proof. by move=> x0; rewrite ler_subr_addl -{2}[x]lnK ?posrE // expR_above. Qed.

(* The logistic function, and its slope.                                                         *)
Definition share x : R := expR x / (expR x + 1).

Lemma expR1_gt0 x : 0 < expR x + 1.
Proof. by rewrite addr_gt0 ?expR_gt0 ?ltr01. Qed.

Lemma tanh_share x : tanh (x / 2%:R) = share x *+ 2 - 1.
Proof.
set e := expR (x / 2%:R); have e0 : 0 < e by apply: expR_gt0.
have -> : share x = e / (e + e^-1).
  have xe : expR x = e * e by rewrite -expRD -splitr.
  have d1 : expR x + 1 != 0 by rewrite gt_eqF ?expR1_gt0.
  have d2 : e + e^-1 != 0 by rewrite gt_eqF // addr_gt0 ?invr_gt0.
  have : e * e^-1 = 1 by rewrite divff // gt_eqF.
  move=> inverse; apply/eqP; rewrite /share eqr_div // xe; apply/eqP.
  by move: e^-1 inverse => v uv; nsatz.
rewrite /tanh expRN -/e; have d2 : e + e^-1 != 0 by rewrite gt_eqF // addr_gt0 ?invr_gt0.
have : (e + e^-1) * (e + e^-1)^-1 = 1 by rewrite divff.
by rewrite mulr2n; move: e^-1 (_^-1) => v w unit; nsatz.
Qed.

Lemma share_slope x : is_derive x 1 share (share x * (1 - share x)).
Proof.
have d0 : expR x + 1 != 0 by rewrite gt_eqF ?expR1_gt0.
have d1 : is_derive x 1 (expR + cst 1 : R -> R) (expR x) by apply: is_derive_eq; rewrite addr0.
have d2 := is_deriveM (is_derive_expR x) (is_deriveV (f := expR + cst 1) d0 d1).
apply: is_derive_eq d2 _.
rewrite /= /GRing.scale /= /share -[(expR + cst 1) x]/(expR x + 1).
have : (expR x + 1) * (expR x + 1)^-1 = 1 by rewrite divff.
by rewrite expr2 invfM; move: (_^-1) => v unit; nsatz.
Qed.

Lemma share_gt0 x : 0 < share x.
Proof. by rewrite divr_gt0 ?expR_gt0 ?expR1_gt0. Qed.

Lemma share_lt1 x : share x < 1.
Proof. by rewrite ltr_pdivr_mulr ?expR1_gt0 // mul1r ltr_addl ltr01. Qed.

Lemma slope_le x : share x * (1 - share x) <= 4%:R^-1.
Proof.
set s := share x; rewrite -subr_ge0.
have -> : 4%:R^-1 - s * (1 - s) = (s - 2%:R^-1) ^+ 2.
  have -> : 4%:R^-1 = 2%:R^-1 * 2%:R^-1 :> R by rewrite -invfM -natrM.
  have : 2%:R^-1 + 2%:R^-1 = 1 :> R by rewrite [RHS](splitr 1) !mul1r.
  by rewrite expr2; move: 2%:R^-1 => b half; nsatz.
exact: sqr_ge0.
Qed.

(* It rises, and by at most a quarter of the step.                                               *)
Lemma share_rises x y : x <= y -> share x <= share y.
Proof.
move=> xy; apply: rises xy share_slope _ => z _.
by rewrite mulr_ge0 ?ltW ?share_gt0 // subr_gt0 share_lt1.
Qed.

Lemma share_lipschitz x y : x <= y -> share y - share x <= (y - x) / 4%:R.
Proof.
move=> xy; pose f : R -> R := 4%:R^-1 \*: id - share.
have df z : is_derive z 1 f (4%:R^-1 - share z * (1 - share z)).
  by apply: is_derive_eq (is_deriveB _ (share_slope z)) _; rewrite /GRing.scale /= mulr1.
have : f x <= f y by apply: rises df _ => // z _; rewrite subr_ge0 slope_le.
rewrite -[f x]/(4%:R^-1 * x - share x) -[f y]/(4%:R^-1 * y - share y) => le.
by apply: ler_same le; move: 4%:R^-1 => c; nsatz.
Qed.

(* tanh rises, by at most the step.                                                              *)
Lemma tanhE x : tanh (x / 2%:R) = (expR x - 1) / (expR x + 1).
Proof.
have d : expR x + 1 != 0 by rewrite gt_eqF ?expR1_gt0.
rewrite tanh_share /share; apply: (mulIf d); rewrite mulrBl mulrnAl !divfK // mul1r mulr2n.
by rewrite opprD addrA addrK.
Qed.

Lemma tanh_rises x y : x <= y -> tanh x <= tanh y.
Proof.
have dbl z : z = (z + z) / 2%:R by rewrite mulrDl -splitr.
by move=> xy; rewrite [x]dbl [y]dbl !tanh_share ler_add2r ler_muln2r share_rises // ler_add.
Qed.

Lemma tanh_lipschitz x y : x <= y -> tanh y - tanh x <= y - x.
Proof.
have dbl z : z = (z + z) / 2%:R by rewrite mulrDl -splitr.
move=> xy; rewrite {1}[x]dbl {1}[y]dbl !tanh_share.
have := share_lipschitz (ler_add xy xy); move: (share _) (share _) => a b ab.
have := ler_add ab ab; apply: ler_same.
have : 4%:R * 4%:R^-1 = 1 :> R by rewrite divff ?pnatr_eq0.
have -> : 4%:R = 1 + 1 + 1 + 1 :> R by rewrite -[1]/1%:R -!natrD.
by rewrite !mulr2n; move: (_^-1) => c unit; nsatz.
Qed.

Lemma tanh_sq x y : (tanh x - tanh y) ^+ 2 <= (x - y) ^+ 2.
Proof.
wlog xy : x y / y <= x => [case|].
  have [|/ltW] := leP y x; first exact: case.
  by move=> xy; rewrite -[tanh x - _]opprB -[x - _]opprB !sqrrN; apply: case.
by rewrite ler_pexpn2r ?nnegrE ?subr_ge0 ?tanh_rises // tanh_lipschitz.
Qed.

Lemma tanh0 : tanh 0 = 0 :> R.
Proof. by rewrite /tanh oppr0 subrr mul0r. Qed.

Lemma tanh_below x : 0 <= x -> tanh x <= x.
Proof. by move=> x0; have := tanh_lipschitz x0; rewrite tanh0 !subr0. Qed.

(* The exponential function lies below its chords.                                               *)
Lemma expR_chord a b y : a <= y <= b -> (b - a) * expR y <= (b - y) * expR a + (y - a) * expR b.
Proof.
case/andP=> ay yb.
have tangent z : expR y * (1 + (z - y)) <= expR z.
  by rewrite -[in expR z](subrK y z) [z - y + y]addrC expRD ler_pmul2l ?expR_gt0 // expR_above.
have la : (b - y) * (expR y * (1 + (a - y))) <= (b - y) * expR a by rewrite ler_wpmul2l ?subr_ge0.
have lb : (y - a) * (expR y * (1 + (b - y))) <= (y - a) * expR b by rewrite ler_wpmul2l ?subr_ge0.
have := ler_add la lb; apply: ler_same.
by move: (expR a) (expR b) (expR y) => u v w; nsatz.
Qed.

Lemma share_onto t : 0 < t -> t < 1 -> exists x, share x = t.
Proof.
move=> t0 t1; have u0 : 0 < 1 - t by rewrite subr_gt0.
exists (ln (t / (1 - t))); rewrite /share lnK ?posrE ?divr_gt0 //.
have un : 1 - t != 0 by rewrite gt_eqF.
have -> : t / (1 - t) + 1 = (1 - t)^-1.
  by apply: (mulIf un); rewrite mulrDl divfK // mul1r mulVf // addrC subrK.
by rewrite invrK divfK.
Qed.


(* ln (1 + e^x) has the logistic function for slope, and lies below parabolas that touch it.     *)
Lemma softplus_slope x : is_derive x 1 (@ln R \o (expR + cst 1)) (share x).
Proof.
have d1 : is_derive x 1 (expR + cst 1 : R -> R) (expR x) by apply: is_derive_eq; rewrite addr0.
have d2 : is_derive ((expR + cst 1 : R -> R) x) 1 (@ln R) (expR x + 1)^-1.
  exact: is_derive1_ln (expR1_gt0 x).
by apply: is_derive_eq (is_derive1_comp d2 d1) _; rewrite /share mulrC.
Qed.

Lemma softplus_parabola x y : y <= x ->
  ln (expR y + 1) - ln (expR x + 1) <= share x * (y - x) + (y - x) ^+ 2 / 8%:R.
Proof.
move=> yx; pose g : R -> R := (@ln R \o (expR + cst 1)) - share x \*: (id - cst x) -
  8%:R^-1 \*: ((id - cst x) * (id - cst x)).
have gE z : g z = ln (expR z + 1) - share x * (z - x) - 8%:R^-1 * ((z - x) * (z - x)) by [].
have dg z : is_derive z 1 g (share z - share x - (z - x) / 4%:R).
  have d0 : is_derive z 1 (id - cst x : R -> R) 1 by apply: is_derive_eq; rewrite subr0.
  have d1 := is_deriveZ (share x) d0; have d2 := is_deriveZ 8%:R^-1 (is_deriveM d0 d0).
  apply: is_derive_eq (is_deriveB (is_deriveB (softplus_slope z) d1) d2) _.
  rewrite /GRing.scale /= mulr1 -[(id - cst x) z]/(z - x); congr (_ - _ - _).
  have -> : 8%:R^-1 = 2%:R^-1 * 4%:R^-1 :> R by rewrite -invfM -natrM.
  have : 2%:R^-1 + 2%:R^-1 = 1 :> R by rewrite [RHS](splitr 1) !mul1r.
  by move: 2%:R^-1 4%:R^-1 => half quarter two; nsatz.
have : g y <= g x.
  apply: rises dg _ => // z /andP[_ zx]; have := share_lipschitz zx; apply: ler_same.
  by move: (_^-1) => c; nsatz.
rewrite !gE subrr !mulr0 !subr0 => below; rewrite -subr_ge0 -(subr_ge0 (_ - _)) in below *.
apply: le_trans below _; rewrite le_eqVlt; apply/orP; left; apply/eqP.
by rewrite expr2; move: (_^-1) (ln _) (ln _) => c u v; nsatz.
Qed.

(* Hoeffding's lemma, for a variable that is 0 or h.                                             *)
Lemma hoeffding t h : 0 <= t <= 1 -> 0 <= h ->
  1 - t + t * expR (- h) <= expR (h ^+ 2 / 8%:R - h * t).
Proof.
case/andP=> t0 t1 h0.
move: t0 t1; rewrite le_eqVlt => /predU1P[<- _|t0].
  by rewrite subr0 mul0r addr0 mulr0 subr0 -[X in X <= _]expR0 ler_expR divr_ge0 ?sqr_ge0 ?ler0n.
rewrite le_eqVlt => /predU1P[->|t1].
  by rewrite subrr mul1r add0r mulr1 ler_expR ler_addr divr_ge0 ?sqr_ge0 ?ler0n.
have [c <-] := share_onto t0 t1.
have -> : 1 - share c + share c * expR (- h) = (expR (c - h) + 1) / (expR c + 1).
  have : (expR c + 1) * (expR c + 1)^-1 = 1 by rewrite divff // gt_eqF ?expR1_gt0.
  by rewrite /share expRD; move: (expR c) (expR _) (_^-1) => u v w unit; nsatz.
have ratio : 0 < (expR (c - h) + 1) / (expR c + 1) by rewrite divr_gt0 ?expR1_gt0.
rewrite -[X in X <= _]lnK ?posrE // ler_expR ln_div ?posrE ?expR1_gt0 //.
have ch : c - h <= c by rewrite ler_subl_addl ler_addr.
apply: le_trans (softplus_parabola ch) _.
have -> : c - h - c = - h by rewrite addrAC subrr sub0r.
by rewrite sqrrN mulrN [share c * h]mulrC addrC.
Qed.
End Calculus.
