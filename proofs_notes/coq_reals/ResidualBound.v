(* Residuals that vary little bound the total variation and KL (residual-tv-bound).

   The set of trajectories is any finite type I.  Each ends in a terminal state, end_of i; p is the
   law p_F on I, b the backward probability p_B(tau | x), rew the reward R.  tv is that of
   Residuals.v; `spread` says that no two log residuals differ by more than D, the claim's Delta. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp nsatz_realtype.
From Pdai Require Import Residuals Shortfall.
From PdaiReals Require Import Logs.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* KL(p || q) in nats.                                                                           *)
Definition kl (I : finType) (R : realType) (p q : I -> R) : R := \sum_i p i * ln (p i / q i).

Section Laws.
Variables (I : finType) (R : realType) (p q : I -> R) (D : R).
Hypotheses (p1 : \sum_i p i = 1) (q1 : \sum_i q i = 1).
Hypotheses (p0 : forall i, 0 < p i) (q0 : forall i, 0 < q i).
Hypothesis near : forall i j, ln (p i / q i) - ln (p j / q j) <= D.

Lemma ratio_gt0 i : 0 < p i / q i.
Proof. by rewrite divr_gt0. Qed.

Lemma least_ratio : exists j, forall i, ln (p j / q j) <= ln (p i / q i).
Proof.
have [i _|none] := pickP (@predT I).
  case: (arg_minP (fun i => ln (p i / q i)) (isT : predT i)) => j _ low.
  by exists j => k; apply: low.
by move/eqP: p1; rewrite big_pred0 // eq_sym oner_eq0.
Qed.

Lemma spread_ge0 : 0 <= D.
Proof. by have [j _] := least_ratio; rewrite -(subrr (ln (p j / q j))) near. Qed.

Lemma tv_le1 : tv p q <= 1.
Proof.
rewrite /tv ler_pdivr_mulr ?ltr0n // mul1r; have -> : 2%:R = \sum_i (p i + q i).
  by rewrite big_split /= p1 q1 mulr2n.
by apply: ler_sum => i _; rewrite (le_trans (ler_norm_sub _ _)) // !gtr0_norm.
Qed.

Lemma spread_bounds_tv : tv p q <= tanh (D / 4%:R).
Proof.
have [j low] := least_ratio; pose m := p j / q j; pose rho := expR D.
have above : (1 + tv p q) ^+ 2 <= rho * (1 - tv p q) ^+ 2.
  apply: (@residuals_bound_tv _ _ _ _ m (rho * m)) => // [i|i|||i]; try exact: ltW.
  - exact: ratio_gt0.
  - by rewrite -[X in X <= _]expR0 ler_expR spread_ge0.
  have ratio : p i = (p i / q i) * q i by rewrite divfK ?gt_eqF.
  rewrite [p i]ratio !ler_pmul2r // -[m]lnK ?posrE ?ratio_gt0 //.
  rewrite -[p i / q i]lnK ?posrE ?ratio_gt0 // -expRD !ler_expR low /=.
  by rewrite -ler_subl_addr near.
have root : expR (D / 2%:R) ^+ 2 = rho by rewrite expr2 -expRD -splitr.
have -> : D / 4%:R = D / 2%:R / 2%:R by rewrite -mulrA -invfM -natrM.
rewrite tanhE; set s := expR _ in root *; have s0 : 0 < s := expR_gt0 _.
have t0 : 0 <= 1 + tv p q by rewrite addr_ge0 ?ler01 // /tv divr_ge0 ?ler0n // sumr_ge0.
have t1 : 0 <= s * (1 - tv p q) by rewrite mulr_ge0 ?subr_ge0 ?tv_le1 // ltW.
move: above; rewrite -root -exprMn ler_pexpn2r ?nnegrE // => above.
rewrite ler_pdivl_mulr ?addr_gt0 ?ltr01 //; move: above; apply: ler_same.
by move: (tv p q) => t; nsatz.
Qed.

(* By Hoeffding's lemma: p-means of e^-y, where y lies between a and a + D.                      *)
Lemma spread_bounds_kl : kl p q <= D ^+ 2 / 8%:R.
Proof.
have [j low] := least_ratio; set a := ln (p j / q j) in low.
have e i : p i * expR (- ln (p i / q i)) = q i.
  by rewrite expRN lnK ?posrE ?ratio_gt0 // invf_div mulrC divfK // gt_eqF.
have D0 := spread_ge0; move: (D0); rewrite le_eqVlt => /predU1P[D00|Dpos].
  have same i : ln (p i / q i) = a.
    by apply/eqP; rewrite eq_le low andbT -subr_le0 D00 near.
  have : expR (- a) = 1.
    rewrite -q1 -[LHS]mul1r -p1 mulr_suml; apply: eq_bigr => i _.
    by rewrite -(same i) e.
  rewrite -[RHS]expR0 => /expR_inj/eqP; rewrite oppr_eq0 => /eqP a0.
  by rewrite /kl big1 ?mulr_ge0 ?sqr_ge0 ?invr_ge0 ?ler0n // => i _; rewrite same a0 mulr0.
pose t := (kl p q - a) / D.
have klE : kl p q = a + D * t by rewrite /t mulrCA divff ?gt_eqF // mulr1 addrC subrK.
have mean_a : kl p q - a = \sum_i p i * (ln (p i / q i) - a).
  by rewrite -[a in LHS]mul1r -p1 mulr_suml -sumrB; apply: eq_bigr => i _; rewrite mulrBr.
have t01 : 0 <= t <= 1.
  rewrite /t ler_pdivr_mulr // divr_ge0 ?mean_a ?mul1r //=; last first.
    by apply: sumr_ge0 => i _; rewrite mulr_ge0 ?subr_ge0 // ltW.
  by rewrite -[D]mul1r -p1 mulr_suml; apply: ler_sum => i _; rewrite ler_pmul2l // near.
have chord : 1 <= expR (- a) * (1 - t + t * expR (- D)).
  have Dq : D = \sum_i D * q i by rewrite -mulr_sumr q1 mulr1.
  rewrite -(ler_pmul2l Dpos) mulr1 [X in X <= _]Dq.
  pose line y := (D - (y - a)) * expR (- a) + (y - a) * expR (- a - D).
  have -> : D * (expR (- a) * (1 - t + t * expR (- D))) = \sum_i p i * line (ln (p i / q i)).
    have tD : D * t = \sum_i p i * (ln (p i / q i) - a) by rewrite -mean_a klE addrC addKr.
    have -> : \sum_i p i * line (ln (p i / q i)) = (\sum_i p i) * (D * expR (- a)) +
        (\sum_i p i * (ln (p i / q i) - a)) * (expR (- a - D) - expR (- a)).
      rewrite !mulr_suml -big_split; apply: eq_bigr => i _ /=; rewrite /line.
      by move: (ln _) (expR _) (expR _) => u v w; nsatz.
    by rewrite -tD p1 expRD; move: (expR (- a)) (expR _) => u v; nsatz.
  apply: ler_sum => i _; rewrite -{1}(e i) mulrCA ler_pmul2l //.
  have within : - a - D <= - ln (p i / q i) <= - a.
    by rewrite ler_opp2 low andbT -opprD ler_opp2 -ler_subl_addl near.
  have := expR_chord within; apply: ler_same; rewrite /line.
  by move: (ln _) (expR _) (expR _) (expR _) => u v w z; nsatz.
have := le_trans chord (ler_wpmul2l (ltW (expR_gt0 _)) (hoeffding t01 D0)).
rewrite -expRD -[X in X <= _]expR0 ler_expR klE => le; move: le; apply: ler_same.
by move: (_ / _) => u; nsatz.
Qed.

Lemma ratio_le i : p i <= expR D * q i.
Proof.
have [j low] := least_ratio; have j1 : ln (p j / q j) <= 0.
  rewrite leNgt; apply/negP => j_gt; suff : \sum_i q i < \sum_i p i by rewrite p1 q1 ltxx.
  have more k : q k < p k.
    rewrite -[X in X < _]mul1r -ltr_pdivl_mulr // -[p k / q k]lnK ?posrE ?ratio_gt0 //.
    by rewrite -[X in X < _]expR0 ltr_expR (lt_le_trans j_gt).
  rewrite (bigD1 j) //= [X in _ < X](bigD1 j) //= ltr_le_add //.
  by apply: ler_sum => k _; apply: ltW.
rewrite -ler_pdivr_mulr // -[p i / q i]lnK ?posrE ?ratio_gt0 // ler_expR.
by rewrite (le_trans _ (near i j)) // ler_addl oppr_ge0.
Qed.
End Laws.

Section Residuals.
Variables (I X : finType) (R : realType) (end_of : I -> X) (p b : I -> R) (rew : X -> R) (Z : R).

Definition residual (i : I) : R := ln (Z * p i / (rew (end_of i) * b i)).
Definition target (x : X) : R := rew x / \sum_y rew y.
Definition target_path (i : I) : R := rew (end_of i) * b i / \sum_y rew y.
Definition ends (f : I -> R) (x : X) : R := \sum_(i | end_of i == x) f i.

Hypotheses (p_gt0 : forall i, 0 < p i) (p_sum : \sum_i p i = 1).
Hypotheses (rew_gt0 : forall x, 0 < rew x) (b_gt0 : forall i, 0 < b i) (Z_gt0 : 0 < Z).

Lemma partition_gt0 : 0 < \sum_y rew y.
Proof.
have [i _|none] := pickP (@predT I).
  by rewrite (bigD1 (end_of i)) //= ltr_spaddl // sumr_ge0 // => y _; apply: ltW.
by move/eqP: p_sum; rewrite big_pred0 // eq_sym oner_eq0.
Qed.

Lemma residual_ratio i j : residual i - residual j =
  ln (p i / target_path i) - ln (p j / target_path j).
Proof.
have Zs := partition_gt0.
have part k : residual k = ln (Z / \sum_y rew y) + ln (p k / target_path k).
  have r0 : 0 < rew (end_of k) * b k by rewrite mulr_gt0.
  rewrite -lnM ?posrE ?divr_gt0 // /target_path; congr ln.
  have := divff (lt0r_neq0 Zs); rewrite invf_div; move: (\sum_y _) (_^-1) (_^-1) => z u v unit.
  by nsatz.
by rewrite !part opprD addrACA subrr add0r.
Qed.

Lemma target_path_gt0 i : 0 < target_path i.
Proof. by rewrite divr_gt0 ?mulr_gt0 ?partition_gt0. Qed.

Lemma ends_sum f : \sum_x ends f x = \sum_i f i.
Proof. by rewrite [RHS](partition_big end_of predT). Qed.

Lemma ends_target_path x : ends target_path x = target x * ends b x.
Proof.
rewrite mulr_sumr; apply: eq_bigr => i /eqP ei.
by rewrite /target_path /target ei mulrAC.
Qed.

Section Mass.
Variable D : R.
Hypothesis mass1 : forall x, ends b x = 1.
Hypothesis spread : forall i j, residual i - residual j <= D.

Lemma target_path_sum : \sum_i target_path i = 1.
Proof.
rewrite -ends_sum; under eq_bigr => x _ do rewrite ends_target_path mass1 mulr1.
by rewrite /target -mulr_suml divff // gt_eqF // partition_gt0.
Qed.

Lemma ratios_near i j : ln (p i / target_path i) - ln (p j / target_path j) <= D.
Proof. by rewrite -residual_ratio spread. Qed.

(* residual-tv-bound, 1: TV(p_T, pi) <= TV(p_F, mu) <= tanh(Delta / 4).                          *)
Theorem residuals_bound_tv_by_tanh :
  tv (ends p) target <= tv p target_path <= tanh (D / 4%:R).
Proof.
rewrite spread_bounds_tv ?target_path_sum ?andbT //; first last.
- exact: ratios_near.
- exact: target_path_gt0.
have -> : tv (ends p) target = tv (ends p) (ends target_path).
  by rewrite /tv; congr (_ / _); apply: eq_bigr => x _; rewrite ends_target_path mass1 mulr1.
exact: image_tv.
Qed.

(* 3: KL(p_F || mu) <= Delta^2 / 8.                                                              *)
Theorem residuals_bound_kl : kl p target_path <= D ^+ 2 / 8%:R.
Proof. exact: spread_bounds_kl target_path_sum _ target_path_gt0 ratios_near. Qed.

(* 2: p_T / pi lies between e^-Delta and e^Delta.                                                *)
Theorem residuals_bound_ratio x : expR (- D) <= ends p x / target x <= expR D.
Proof.
have target0 : 0 < target x by rewrite divr_gt0 ?partition_gt0.
have targetE : target x = ends target_path x by rewrite ends_target_path mass1 mulr1.
have back i j : ln (target_path i / p i) - ln (target_path j / p j) <= D.
  have inv k : ln (target_path k / p k) = - ln (p k / target_path k).
    by rewrite -invf_div lnV // posrE divr_gt0 ?target_path_gt0.
  by rewrite !inv opprK addrC ratios_near.
rewrite ler_pdivl_mulr // ler_pdivr_mulr // targetE !mulr_sumr expRN; apply/andP; split.
  apply: ler_sum => i _; rewrite mulrC ler_pdivr_mulr ?expR_gt0 // mulrC.
  exact: ratio_le target_path_sum p_sum target_path_gt0 p_gt0 back i.
apply: ler_sum => i _.
exact: ratio_le p_sum target_path_sum p_gt0 target_path_gt0 ratios_near i.
Qed.
End Mass.

(* 4: the masses of p_B lie between m and M, instead of being 1.                                 *)
Theorem residuals_bound_tv_by_masses (D m M : R) :
  (forall i j, residual i - residual j <= D) -> 0 < m -> (forall x, m <= ends b x <= M) ->
  tv (ends p) target <= tanh ((D + ln (M / m)) / 4%:R).
Proof.
move=> spread m0 mass; have Zs := partition_gt0.
have target0 x : 0 < target x by rewrite divr_gt0.
have M0 (x : X) : 0 < M by have /andP[mx xM] := mass x; rewrite (lt_le_trans m0) // (le_trans mx).
have [w w0 within] : exists2 w, 0 < w &
    forall i, w * target_path i <= p i <= w * expR D * target_path i.
  have [j low] := least_ratio target_path p_sum; have r0 i : 0 < p i / target_path i.
    by rewrite divr_gt0 ?target_path_gt0.
  exists (p j / target_path j) => // i.
  rewrite -(ler_pdivl_mulr _ _ (target_path_gt0 i)) -(ler_pdivr_mulr _ _ (target_path_gt0 i)).
  rewrite -[p j / _]lnK ?posrE // -[p i / _]lnK ?posrE // -expRD !ler_expR low /=.
  by rewrite -ler_subl_addl -residual_ratio spread.
have below x : w * m <= ends p x / target x.
  rewrite ler_pdivl_mulr // -mulrA [m * _]mulrC.
  apply: le_trans (_ : w * ends target_path x <= _).
    by rewrite ends_target_path ler_pmul2l // ler_pmul2l //; case/andP: (mass x).
  by rewrite mulr_sumr; apply: ler_sum => i _; case/andP: (within i).
have above x : ends p x / target x <= w * expR D * M.
  rewrite ler_pdivr_mulr // -[_ * M * _]mulrA [M * _]mulrC.
  apply: le_trans (_ : w * expR D * ends target_path x <= _).
    by rewrite mulr_sumr; apply: ler_sum => i _; case/andP: (within i).
  have wD : 0 < w * expR D by rewrite mulr_gt0 ?expR_gt0.
  by rewrite ends_target_path (ler_pmul2l wD) (ler_pmul2l (target0 x)); case/andP: (mass x).
have wm : 0 < w * m by rewrite mulr_gt0.
have q0 x : 0 < ends p x / target x := lt_le_trans wm (below x).
apply: spread_bounds_tv => // [||x|x y].
- by rewrite ends_sum.
- by rewrite /target -mulr_suml divff // gt_eqF.
- by have := q0 x; rewrite pmulr_lgt0 ?invr_gt0.
have Mx := M0 x; apply: le_trans (_ : ln (w * expR D * M) - ln (w * m) <= _).
  by apply: ler_sub; rewrite ler_ln ?posrE ?above ?below ?q0 // !mulr_gt0 // expR_gt0.
have -> : ln (w * expR D * M) = ln w + D + ln M 
  by have eD := expR_gt0 D; rewrite lnM ?posrE ?mulr_gt0 // lnM ?posrE // expK.
rewrite ln_div ?posrE // lnM ?posrE //; apply: ler_same (lexx 0).
by move: (ln w) (ln M) (ln m) => u v z; nsatz.
Qed.

(* 1 and 2 where all residuals are at most eps in size.                                          *)
Theorem small_residuals_bound_tv (eps : R) : (forall x, ends b x = 1) ->
  (forall i, `|residual i| <= eps) ->
  tv (ends p) target <= tanh (eps / 2%:R) <= eps / 2%:R.
Proof.
move=> mass1 small; have [i _|none] := pickP (@predT I); last first.
  by move/eqP: p_sum; rewrite big_pred0 // eq_sym oner_eq0.
have eps0 : 0 <= eps := le_trans (normr_ge0 _) (small i).
rewrite tanh_below ?andbT ?divr_ge0 ?ler0n //.
have -> : eps / 2%:R = (eps + eps) / 4%:R.
  have -> : 4%:R^-1 = 2%:R^-1 * 2%:R^-1 :> R by rewrite -invfM -natrM.
  by rewrite mulrA mulrDl -splitr.
have spread k j : residual k - residual j <= eps + eps.
  by rewrite (le_trans (ler_norm _)) // (le_trans (ler_norm_sub _ _)) // ler_add.
by have /andP[le1 le2] := residuals_bound_tv_by_tanh mass1 spread; apply: le_trans le2.
Qed.

Theorem small_residuals_bound_ratio (eps : R) x : (forall y, ends b y = 1) ->
  Z = \sum_y rew y -> (forall i, `|residual i| <= eps) ->
  expR (- eps) <= ends p x / target x <= expR eps.
Proof.
move=> mass1 ZE small; have Zs := partition_gt0.
have target0 : 0 < target x by rewrite divr_gt0.
have ratio i : residual i = ln (p i / target_path i).
  by rewrite /residual /target_path ZE invf_div mulrCA mulrA.
have within i : expR (- eps) * target_path i <= p i <= expR eps * target_path i.
  rewrite -(ler_pdivl_mulr _ _ (target_path_gt0 i)) -(ler_pdivr_mulr _ _ (target_path_gt0 i)).
  have r0 : 0 < p i / target_path i by rewrite divr_gt0 ?target_path_gt0.
  by rewrite -[p i / _]lnK ?posrE // !ler_expR -ratio -ler_norml small.
have -> : target x = ends target_path x by rewrite ends_target_path mass1 mulr1.
rewrite ler_pdivl_mulr ?ler_pdivr_mulr ?ends_target_path ?mass1 ?mulr1 //.
rewrite -[target x]mulr1 -(mass1 x) -ends_target_path !mulr_sumr.
by apply/andP; split; apply: ler_sum => i _; case/andP: (within i).
Qed.
End Residuals.

(* 1 is attained: two trajectories, of which p_F takes one and mu the other with probability
   e^(D/2) / (e^(D/2) + 1).                                                                       *)
Theorem tanh_bound_attained (R : realType) (D : R) : 0 <= D ->
  let p (up : bool) := (if up then expR (D / 2%:R) else 1) / (expR (D / 2%:R) + 1) in
  let q up := p (~~ up) in
  [/\ forall i, 0 < p i, \sum_i p i = 1, \sum_i q i = 1,
      forall i j, ln (p i / q i) - ln (p j / q j) <= D & tv p q = tanh (D / 4%:R)].
Proof.
move=> D0 p q; set s := expR (D / 2%:R) in p q *; have s0 : 0 < s := expR_gt0 _.
have d0 : 0 < s + 1 by rewrite addr_gt0 ?ltr01.
have unit : (s + 1) / (s + 1) = 1 by rewrite divff // gt_eqF.
have pos i : 0 < p i by case: i; rewrite divr_gt0 ?ltr01.
have sum1 : p true + p false = 1 by rewrite -mulrDl.
split=> //; rewrite ?big_bool //=; first by rewrite addrC.
- have ratio i : ln (p i / q i) = if i then D / 2%:R else - (D / 2%:R).
    have lnE u v : 0 < u -> 0 < v -> ln (u / (s + 1) / (v / (s + 1))) = ln u - ln v.
      by move=> u0 v0; rewrite invf_div mulrA divfK ?gt_eqF // ln_div.
    by case: i; rewrite /q /p /= lnE ?ltr01 // ln1 /s expK ?subr0 ?sub0r.
  have h0 : 0 <= D / 2%:R by rewrite divr_ge0 ?ler0n.
  move=> i j; rewrite !ratio [X in _ <= X](splitr D).
  case: i; case: j; rewrite ?subrr ?opprK ?addNr //.
  - by rewrite addr_ge0.
  - by rewrite (le_trans (_ : _ <= 0)) ?addr_ge0 // -opprD oppr_le0 addr_ge0.
  - by rewrite addr_ge0.
have -> : D / 4%:R = D / 2%:R / 2%:R by rewrite -mulrA -invfM -natrM.
rewrite tanhE -/s /tv big_bool /=; have s1 : 1 <= s.
  by rewrite -expR0 ler_expR divr_ge0 ?ler0n.
have -> : p false - q false = - (p true - q true) by rewrite opprB.
have -> : p true - q true = (s - 1) / (s + 1) by rewrite -mulrBl.
rewrite normrN ger0_norm ?divr_ge0 ?subr_ge0 // ?ltW //.
by rewrite mulrDl -splitr.
Qed.
