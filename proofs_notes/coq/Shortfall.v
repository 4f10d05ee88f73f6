(* Bounds of the total variation from means over samples, with zeros of p_F allowed (log-z-tv-bound,
   target-sample-tv-bound, one-sided-tv-bound, expectation-error-bound).

   The set of trajectories is any finite type I, p is the law p_F on it, r tau = R(x) p_B(tau | x),
   Z = sum r, and mu = r / Z.  [positive_part t] is t if t >= 0, else 0.  As x / 0 = 0 in Coq, terms
   of trajectories without mass are 0.                                                            *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Residuals Betting.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Definition positive_part (K : realFieldType) (t : K) := Num.max 0 t.

(* The variable 1 - R p_B / (z p_F), cut off at 0, and its mean A(z) over samples of the model,   *)
Definition lacking (I : finType) (K : realFieldType) (p r : I -> K) (z : K) (i : I) : K :=
  positive_part (1 - r i / (z * p i)).
Definition model_mean (I : finType) (K : realFieldType) (p r : I -> K) (z : K) : K :=
  \sum_i p i * lacking p r z i.

(* and 1 - z p_F / (R p_B), cut off at 0, with its mean B(z) over samples of the target.          *)
Definition target_mean (I : finType) (K : realFieldType) (p r : I -> K) (z : K) : K :=
  \sum_i (r i / \sum_j r j) * positive_part (1 - z * p i / r i).

Section Means.
Variables (I : finType) (K : realFieldType) (p r : I -> K).
Implicit Types z t : K.
Hypotheses (p_ge0 : forall i, 0 <= p i) (p_sum : \sum_i p i = 1).
Hypotheses (r_ge0 : forall i, 0 <= r i) (r_gt0 : 0 < \sum_i r i).
Let Z := \sum_i r i.
Let mu i := r i / Z.

Lemma mu_ge0 i : 0 <= mu i.
Proof. by rewrite divr_ge0 // ltW. Qed.

Lemma mu_sum : \sum_i mu i = 1.
Proof. by rewrite -mulr_suml mulfV // gt_eqF. Qed.

Lemma positive_part_mono t t' : t <= t' -> positive_part t <= positive_part t'.
Proof. by move=> le; rewrite /positive_part le_maxl !le_maxr lexx le orbT. Qed.

Lemma positive_part_scale (c t : K) : 0 <= c -> c * positive_part t = positive_part (c * t).
Proof. by move=> c0; rewrite /positive_part maxr_pmulr // mulr0. Qed.

Lemma cancel_factor (a b c d : K) : a != 0 -> a / b * (c * d / a) = c / b * d.
Proof. by move=> a0; rewrite [a / b]mulrC -[LHS]mulrA [a * _]mulrC divfK // mulrA [_ * c]mulrC. Qed.

(* Both means as sums: zeros of p_F and of R p_B add nothing.                                     *)
Lemma model_mean_sum z : 0 < z -> model_mean p r z = \sum_i positive_part (p i - r i / z).
Proof.
move=> z0; apply: eq_bigr => i _; rewrite positive_part_scale //.
have [p0|pi] := eqVneq (p i) 0; last first.
  by rewrite mulrBr mulr1 invfM mulrCA [p i * (_ * _)]mulrCA mulfV // mulr1.
by rewrite p0 mul0r sub0r /positive_part maxxx max_l // oppr_le0 divr_ge0 // ltW.
Qed.

Lemma target_mean_sum z : 0 < z -> target_mean p r z = \sum_i positive_part (mu i - z / Z * p i).
Proof.
move=> z0; apply: eq_bigr => i _; rewrite positive_part_scale ?mu_ge0 // -/Z.
have [r0|ri] := eqVneq (r i) 0; last first.
  rewrite mulrBr mulr1; congr (positive_part (_ - _)).
  by rewrite cancel_factor.
rewrite /mu r0 !mul0r sub0r /positive_part maxxx max_l // oppr_le0 mulr_ge0 //.
by rewrite divr_ge0 // ltW.
Qed.

(* TV is the mass that p has more than mu, and that mu has more than p.                           *)
Lemma tv_positive_part : tv p mu = \sum_i positive_part (p i - mu i).
Proof.
rewrite tv_event // ?mu_sum // -sumrB big_mkcond /=; apply: eq_bigr => i _.
rewrite /positive_part; case: ltP => [lt|le]; last by rewrite max_l // subr_le0.
by rewrite max_r // subr_ge0 ltW.
Qed.

Lemma tv_sym (q q' : I -> K) : tv q q' = tv q' q.
Proof. by congr (_ / _); apply: eq_bigr => i _; rewrite distrC. Qed.
(* log-z-tv-bound: A(z) grows with z ...                                                          *)
Theorem model_mean_grows z t : 0 < z -> z <= t -> model_mean p r z <= model_mean p r t.
Proof.
move=> z0 zt; have t0 := lt_le_trans z0 zt; rewrite !model_mean_sum //.
apply: ler_sum => i _; apply: positive_part_mono.
by rewrite ler_add2l ler_opp2 ler_wpmul2l // lef_pinv.
Qed.

(* ... and is TV at z = Z, ...                                                                    *)
Theorem model_mean_is_tv : model_mean p r Z = tv p mu.
Proof. by rewrite model_mean_sum // tv_positive_part. Qed.

(* ... so that bounds of Z give bounds of TV, ...                                                 *)
Theorem model_mean_encloses_tv z t : 0 < z -> z <= Z -> Z <= t ->
  model_mean p r z <= tv p mu <= model_mean p r t.
Proof. by move=> z0 zZ Zt; rewrite -model_mean_is_tv !model_mean_grows. Qed.

(* ... not far apart, ...                                                                         *)
Theorem model_mean_width z t : 0 < z -> z <= t ->
  model_mean p r t - model_mean p r z <= 1 - z / t.
Proof.
move=> z0 zt; have t0 := lt_le_trans z0 zt; rewrite !model_mean_sum // -sumrB.
rewrite -[X in _ <= X - _]p_sum -[X in _ <= _ - X]mul1r -[X in _ <= _ - X * _]p_sum.
rewrite mulr_suml -sumrB; apply: ler_sum => i _.
have share : 0 <= 1 - z / t by rewrite subr_ge0 ler_pdivr_mulr // mul1r.
have -> : r i / t = r i / z * (z / t) by rewrite mulrA divfK ?gt_eqF.
rewrite -[X in _ <= X - _]mulr1 -mulrBr; set m := r i / z.
have m0 : 0 <= m by rewrite divr_ge0 // ltW.
have mt : m * (z / t) <= m by rewrite ler_pimulr // ler_pdivr_mulr // mul1r.
rewrite {1}/positive_part; case: (ler0P (p i - m * (z / t))) => [none|some].
  by rewrite sub0r (@le_trans _ _ 0) ?mulr_ge0 // oppr_le0 /positive_part le_maxr lexx.
rewrite /positive_part; case: (ler0P (p i - m)) => [less|more].
  rewrite subr0 mulrBr mulr1 ler_add2l ler_opp2 ler_wpmul2r ?divr_ge0 ?(ltW z0) ?(ltW t0) //.
  by rewrite -subr_le0.
rewrite opprB addrC addrA subrK -[X in X - _ <= _]mulr1 -mulrBr.
by rewrite ler_wpmul2r // -subr_ge0 ltW.
Qed.

(* ... and the mean weight is at most Z.                                                          *)
Theorem mean_weight : \sum_i p i * (r i / p i) <= Z.
Proof.
apply: ler_sum => i _; have [->|pi] := eqVneq (p i) 0; first by rewrite mul0r.
by rewrite mulrCA mulfV // mulr1.
Qed.

(* target-sample-tv-bound: B(z) falls with z and is TV at Z as well, so that TV lies between the
   smaller and the larger of the two means, whatever z is.                                        *)
Theorem target_mean_falls z t : 0 < z -> z <= t -> target_mean p r t <= target_mean p r z.
Proof.
move=> z0 zt; rewrite !target_mean_sum ?(lt_le_trans z0 zt) //.
apply: ler_sum => i _; apply: positive_part_mono.
by rewrite ler_add2l ler_opp2 ler_wpmul2r // ler_wpmul2r // invr_ge0 ltW.
Qed.

Theorem target_mean_is_tv : target_mean p r Z = tv p mu.
Proof.
rewrite target_mean_sum // tv_sym tv_event // ?mu_sum // -sumrB [RHS]big_mkcond /=.
apply: eq_bigr => i _; rewrite divff ?gt_eqF // mul1r /positive_part.
by case: ltP => [lt|le]; [rewrite max_r // subr_ge0 ltW | rewrite max_l // subr_le0].
Qed.

Theorem means_enclose_tv z : 0 < z ->
  Num.min (model_mean p r z) (target_mean p r z) <= tv p mu
    <= Num.max (model_mean p r z) (target_mean p r z).
Proof.
move=> z0; rewrite le_minl le_maxr; have [zZ|/ltW Zz] := leP z Z.
  have -> : model_mean p r z <= tv p mu by rewrite -model_mean_is_tv model_mean_grows.
  have -> : tv p mu <= target_mean p r z by rewrite -target_mean_is_tv target_mean_falls.
  by rewrite orbT.
have -> : target_mean p r z <= tv p mu by rewrite -target_mean_is_tv target_mean_falls.
have -> : tv p mu <= model_mean p r z by rewrite -model_mean_is_tv model_mean_grows.
by rewrite orbT.
Qed.

(* TV is at least the difference on every event, in particular that R p_B > z p_F.                *)
Theorem event_below_tv (A : pred I) : \sum_(i | A i) mu i - \sum_(i | A i) p i <= tv p mu.
Proof.
rewrite -target_mean_is_tv target_mean_sum // divff ?gt_eqF // -sumrB.
rewrite [X in _ <= X](bigID A) /= -[X in X <= _]addr0 ler_add ?sumr_ge0 // => [|i _].
  by apply: ler_sum => i _; rewrite mul1r /positive_part le_maxr lexx orbT.
by rewrite /positive_part le_maxr lexx.
Qed.

Theorem event_attains_tv : \sum_(i | p i < mu i) mu i - \sum_(i | p i < mu i) p i = tv p mu.
Proof. by rewrite tv_sym -tv_event // mu_sum. Qed.
End Means.

(* The interval of TV from samples of the model and bounds of Z, as bets give it: it ever misses TV
   with probability at most a.  y and y' are lower bounds of the variables, such as rounded ones. *)
Theorem tv_interval_covers (I : finType) (K : realFieldType) (p r : I -> K) (bets : seq K)
    (z z' a : K) (y y' : I -> K) (low low' : seq I -> K) (n : nat) :
  let Z := \sum_i r i in let TV := tv p (fun i => r i / Z) in
  (forall i, 0 <= p i) -> \sum_i p i = 1 -> (forall i, 0 <= r i) ->
  0 < z -> z <= Z -> Z <= z' ->
  bets != [::] -> {in bets, forall kappa, 0 <= kappa} -> 0 < a ->
  (forall i, 0 <= y i <= lacking p r z i) -> (forall i, 0 <= y' i <= 1 - lacking p r z' i) ->
  lower_bound bets y (a / 2%:R) low -> lower_bound bets y' (a / 2%:R) low' ->
  probability (fun=> p) n [::] (ever n (fun h => ~~ (low h <= TV <= 1 - low' h))) <= a.
Proof.
move=> Z TV p0 p1 r0 z0 zZ Zz some bets0 a0 yx zx valid valid'.
have Z0 : 0 < Z := lt_le_trans z0 zZ.
have /andP[below above] := model_mean_encloses_tv p0 p1 r0 Z0 z0 zZ Zz.
apply: interval_covers valid valid' => // [i|i|_|_]; try by [case/andP: (yx i) | case/andP: (zx i)].
  apply: le_trans below; apply: ler_sum => i _.
  by apply: ler_wpmul2l => //; case/andP: (yx i).
apply: le_trans (_ : 1 - model_mean p r z' <= _); last by rewrite ler_add2l ler_opp2.
rewrite -p1 -sumrB; apply: ler_sum => i _.
by rewrite -[X in X - _]mulr1 -mulrBr ler_wpmul2l //; case/andP: (zx i).
Qed.

Section Expectations.
Variables (I J : finType) (K : realFieldType) (p q : I -> K).
Implicit Types f : I -> K.
Hypotheses (p_sum : \sum_i p i = 1) (q_sum : \sum_i q i = 1).

(* expectation-error-bound: an expectation is off by at most TV times the range of f ...          *)
Theorem expectation_error f (low high : K) : (forall i, low <= f i <= high) ->
  `|\sum_i p i * f i - \sum_i q i * f i| <= tv p q * (high - low).
Proof.
move=> within; set c := (low + high) / 2%:R; set d := (high - low) / 2%:R.
have two : 2%:R != 0 :> K by rewrite pnatr_eq0.
have near i : `|f i - c| <= d.
  have [lo hi] := andP (within i); rewrite ler_norml.
  have cd : c - d = low.
    by rewrite /c /d -mulrBl opprB addrACA subrr addr0 -mulr2n -[low *+ 2]mulr_natr mulfK.
  have dc : c + d = high.
    rewrite /c /d -mulrDl [low + high]addrC addrACA subrr addr0 -mulr2n.
    by rewrite -[high *+ 2]mulr_natr mulfK.
  by rewrite ler_subr_addl cd lo ler_subl_addl dc.
have -> : \sum_i p i * f i - \sum_i q i * f i = \sum_i (p i - q i) * (f i - c).
  under [RHS]eq_bigr => i _ do rewrite mulrBr mulrBl [X in _ - X]mulrBl.
  by rewrite !sumrB -!mulr_suml p_sum q_sum subrr subr0.
have -> : tv p q * (high - low) = \sum_i `|p i - q i| * d by rewrite -mulr_suml mulrAC mulrA.
apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => i _.
by rewrite normrM ler_wpmul2l.
Qed.

(* ... which the indicator of p > q attains, ...                                                  *)
Theorem expectation_error_attained :
  \sum_i p i * (q i < p i)%R%:R - \sum_i q i * (q i < p i)%R%:R = tv p q.
Proof.
by rewrite tv_event // -!sumrB [RHS]big_mkcond; apply: eq_bigr => i _;
   case: (q i < p i); rewrite ?mulr1 ?mulr0 ?subrr.
Qed.

(* ... and what only a function of the outcome is seen of, such as its end, has no larger TV.     *)
Theorem image_tv (g : I -> J) :
  tv (fun x => \sum_(i | g i == x) p i) (fun x => \sum_(i | g i == x) q i) <= tv p q.
Proof.
rewrite /tv ler_pmul2r ?invr_gt0 ?ltr0n // [X in _ <= X](partition_big g predT) //=.
by apply: ler_sum => x _; rewrite -sumrB; apply: ler_norm_sum.
Qed.
End Expectations.
