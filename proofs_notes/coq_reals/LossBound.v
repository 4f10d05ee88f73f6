(* Losses bound the total variation (loss-tv-bound).

   The set of trajectories is any finite type I; p is the law p_F on it, r tau = R(x) p_B(tau | x),
   mu = r / sum r, and w the law p_E from which losses are taken.  mean, tb_loss and cb_loss are
   those of Losses.v, at f tau = log p_F(tau) - log (R(x) p_B(tau | x)) and c = log Z.            *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp nsatz_realtype.
From Pdai Require Import Residuals Losses.
From PdaiReals Require Import Logs.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Bound.
Variables (I : finType) (R : realType) (p r w : I -> R) (c : R).
Let mu i := r i / \sum_j r j.
Let f i := ln (p i) - ln (r i).
Hypotheses (p_gt0 : forall i, 0 < p i) (p_sum : \sum_i p i = 1) (r_gt0 : forall i, 0 < r i).
Hypotheses (w_sum : \sum_i w i = 1).
Hypotheses (c_gt0 : 0 < c) (covers : forall i, c * ((p i + mu i) / 2%:R) <= w i).

Lemma total_gt0 : 0 < \sum_j r j.
Proof.
have [i _|none] := pickP (@predT I).
  by rewrite (bigD1 i) //= ltr_spaddl // sumr_ge0 // => j _; apply: ltW.
by move/eqP: p_sum; rewrite big_pred0 // eq_sym oner_eq0.
Qed.

Lemma mu_gt0 i : 0 < mu i.
Proof. by rewrite divr_gt0 ?total_gt0. Qed.

Lemma mu_sum : \sum_i mu i = 1.
Proof. by rewrite -mulr_suml divff // gt_eqF ?total_gt0. Qed.

(* The tanh of half the log-ratio of p and mu, under their average.                               *)
Let m i := (p i + mu i) / 2%:R.
Let g i := tanh (ln (p i / mu i) / 2%:R).

Lemma g_ratio i : m i * g i = (p i - mu i) / 2%:R.
Proof.
have q0 : 0 < p i / mu i by rewrite divr_gt0 ?mu_gt0.
have s0 : p i + mu i != 0 by rewrite gt_eqF ?addr_gt0 ?mu_gt0.
rewrite /m /g tanhE lnK ?posrE //; have mu0 : mu i != 0 by rewrite gt_eqF ?mu_gt0.
move: (p i) (mu i) mu0 s0 {q0} => a b b0 s0.
have -> : a / b - 1 = (a - b) / b by rewrite mulrBl divff.
have -> : a / b + 1 = (a + b) / b by rewrite mulrDl divff.
have := divff s0; have := divff b0; rewrite invf_div.
by move: 2%:R^-1 (b^-1) (_^-1) => h u v uu vv; nsatz.
Qed.

Lemma m_sum : \sum_i m i = 1.
Proof. by rewrite -mulr_suml big_split /= p_sum mu_sum -mulr2n divff // pnatr_eq0. Qed.

Lemma m_gt0 i : 0 < m i.
Proof. by apply: divr_gt0; rewrite ?ltr0n // addr_gt0 // mu_gt0. Qed.

Lemma g_mean : mean m g = 0.
Proof.
rewrite /mean; under eq_bigr => i _ do rewrite g_ratio.
by rewrite -mulr_suml sumrB p_sum mu_sum subrr mul0r.
Qed.

Lemma tv_below_squares : tv p mu ^+ 2 <= mean m (fun i => g i ^+ 2).
Proof.
have tvE : tv p mu = mean m (fun i => `|g i|).
  rewrite /tv mulr_suml; apply: eq_bigr => i _.
  by rewrite -[m i]gtr0_norm ?m_gt0 // -normrM g_ratio normrM [`|_^-1|]gtr0_norm ?invr_gt0 ?ltr0n.
have : 0 <= variance m (fun i => `|g i|).
  by apply: sumr_ge0 => i _; rewrite mulr_ge0 ?sqr_ge0 // ltW ?m_gt0.
have := tb_loss_split (fun i => `|g i|) 0 m_sum; rewrite /tb_loss add0r -tvE.
have -> : mean m (fun i => (0 + `|g i|) ^+ 2) = mean m (fun i => g i ^+ 2).
  by apply: eq_bigr => i _; rewrite add0r real_normK ?num_real.
by move=> ->; rewrite ler_addr.
Qed.

Lemma squares_below_loss k : mean m (fun i => g i ^+ 2) <= tb_loss w f k / (4%:R * c).
Proof.
have Z0 := total_gt0; pose a := k - ln (\sum_j r j).
have fE i : ln (p i / mu i) = f i + ln (\sum_j r j).
  rewrite /mu invf_div mulrA lnM ?posrE ?mulr_gt0 ?invr_gt0 //.
  by rewrite lnM ?posrE // lnV ?posrE // addrAC.
have shift : mean m (fun i => g i ^+ 2) <= mean m (fun i => (- tanh (- a / 2%:R) + g i) ^+ 2).
  have := tb_loss_split g 0 m_sum; have := tb_loss_split g (- tanh (- a / 2%:R)) m_sum.
  rewrite /tb_loss g_mean !addr0 expr0n addr0 => -> eq0.
  have -> : mean m (fun i => g i ^+ 2) = variance m g.
    by rewrite -eq0; apply: eq_bigr => i _; rewrite add0r.
  by rewrite ler_addl sqr_ge0.
apply: le_trans shift _; rewrite ler_pdivl_mulr ?mulr_gt0 ?ltr0n //.
rewrite /mean /tb_loss mulr_suml; apply: ler_sum => i _.
have lip : (- tanh (- a / 2%:R) + g i) ^+ 2 <= ((k + f i) / 2%:R) ^+ 2.
  rewrite addrC; apply: le_trans (tanh_sq _ _) _; rewrite fE /a.
  rewrite -mulrBl opprK.
  have -> : f i + ln (\sum_j r j) + (k - ln (\sum_j r j)) = k + f i.
    by rewrite addrACA subrr addr0 addrC.
  by [].
apply: le_trans (_ : c * m i * (k + f i) ^+ 2 <= _); last first.
  by rewrite ler_wpmul2r ?sqr_ge0 // covers.
have pos : 0 < m i * (4%:R * c) by rewrite mulr_gt0 ?m_gt0 ?mulr_gt0 ?ltr0n.
have := ler_wpmul2l (ltW pos) lip; apply: ler_same.
have -> : 4%:R = 2%:R * 2%:R :> R by rewrite -natrM.
have : 2%:R * 2%:R^-1 = 1 :> R by rewrite divff ?pnatr_eq0.
by rewrite !expr2; move: 2%:R 2%:R^-1 (tanh _) (f i) (g i) => two h t u v unit; nsatz.
Qed.

(* loss-tv-bound: the trajectory balance loss at any log Z, ... *)
Theorem tb_loss_bounds_tv k : tv p mu <= Num.sqrt (tb_loss w f k / c) / 2%:R.
Proof.
have tv0 : 0 <= tv p mu by rewrite /tv divr_ge0 ?ler0n // sumr_ge0.
have tv2 : 0 <= tv p mu * 2%:R by rewrite mulr_ge0 ?ler0n.
have -> : tv p mu = Num.sqrt ((tv p mu * 2%:R) ^+ 2) / 2%:R.
  by rewrite sqrtr_sqr (ger0_norm tv2) mulfK // pnatr_eq0.
rewrite ler_pmul2r ?invr_gt0 ?ltr0n //.
apply: ler_wsqrtr; have := le_trans tv_below_squares (squares_below_loss k).
have four : 0 < 4%:R * c by rewrite mulr_gt0 ?ltr0n.
rewrite (ler_pdivl_mulr _ _ four) (ler_pdivl_mulr _ _ c_gt0); apply: ler_same.
have -> : 4%:R = 2%:R * 2%:R :> R by rewrite -natrM.
by rewrite !expr2; move: 2%:R (tv _ _) (tb_loss _ _ _) => two t loss; nsatz.
Qed.

Theorem cb_loss_bounds_tv : tv p mu <= Num.sqrt (cb_loss w f / (2%:R * c)) / 2%:R.
Proof.
have [-> _] := cb_loss_is_twice_best_tb_loss f w_sum.
have -> : tb_loss w f (- mean w f) *+ 2 / (2%:R * c) = tb_loss w f (- mean w f) / c.
  by rewrite -[tb_loss _ _ _ *+ 2]mulr_natl -mulf_div divff ?mul1r // pnatr_eq0.
exact: tb_loss_bounds_tv.
Qed.
End Bound.
