(* Coincidences of samples bound the distance to a listed law (collision-tv-bound): the two parts
   that need no tail bound.

   p and pi are laws on a finite set, split into H, L and B (here: H and L are events, B is the
   rest), with pi > 0 on B.                                                                       *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Residuals.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Collisions.
Variables (I : finType) (K : realFieldType) (p pi : I -> K) (H L B : pred I).
Hypotheses (p_ge0 : forall i, 0 <= p i) (pi_ge0 : forall i, 0 <= pi i).
Hypotheses (pi_gt0 : forall i, B i -> 0 < pi i).

(* S, the mean of T below.                                                                        *)
Definition chi : K := \sum_(i | B i) (p i - pi i) ^+ 2 / pi i.

(* Cauchy and Schwarz: the square of sum_B |p - pi| is at most pi(B) S.                           *)
Theorem collision_cauchy : (\sum_(i | B i) `|p i - pi i|) ^+ 2 <= (\sum_(i | B i) pi i) * chi.
Proof.
set s := \sum_(i | B i) `|_|; set w := \sum_(i | B i) pi i.
have s0 : 0 <= s by apply: sumr_ge0.
have w0 : 0 <= w by apply: sumr_ge0.
have [w00|wn] := eqVneq w 0.
  have none i : B i -> False.
    move=> Bi; have /eqP := psumr_eq0P (fun j _ => pi_ge0 j) w00 Bi.
    by rewrite gt_eqF ?pi_gt0.
  by rewrite w00 mul0r /s big_pred0 ?expr0n // => i; apply/negP => /none.
have wp : 0 < w by rewrite lt0r wn.
(* The sum of (|p - pi| - (s / w) pi)^2 / pi over B is not negative, and is S - s^2 / w.          *)
have : 0 <= \sum_(i | B i) (`|p i - pi i| - s / w * pi i) ^+ 2 / pi i.
  by apply: sumr_ge0 => i Bi; rewrite divr_ge0 ?sqr_ge0.
have -> : \sum_(i | B i) (`|p i - pi i| - s / w * pi i) ^+ 2 / pi i = chi - s ^+ 2 / w.
  transitivity (\sum_(i | B i) ((p i - pi i) ^+ 2 / pi i
                - ((s / w) *+ 2 * `|p i - pi i| - (s / w) ^+ 2 * pi i))).
    apply: eq_bigr => i Bi; have pin : pi i != 0 by rewrite gt_eqF ?pi_gt0.
    rewrite sqrrB real_normK ?num_real // opprD opprK addrA !mulrDl mulNr; congr (_ - _ + _).
      by rewrite mulrA -mulrnAl mulfK // -mulr2n mulrC.
    by rewrite exprMn [pi i ^+ 2]expr2 mulrA mulfK.
  rewrite sumrB sumrB -!mulr_sumr -/s -/w -/chi; congr (_ - _).
  have -> : (s / w) ^+ 2 * w = s ^+ 2 / w by rewrite expr_div_n [w ^+ 2]expr2 invfM mulrA mulfVK.
  by rewrite mulrnAl mulrAC -expr2 mulr2n addrK.
by rewrite subr_ge0 ler_pdivr_mulr // mulrC.
Qed.

(* The mean of coincidences: over independent samples f and g of n + 1 draws each, the mean of
   T = sum_B (p_f - pi) (p_g - pi) / pi, with p_f and p_g their empirical laws, is S.             *)
Section Samples.
Variable n : nat.
Implicit Types f g : {ffun 'I_n.+1 -> I}.
Hypothesis p_sum : \sum_i p i = 1.

Definition drawn f : K := \prod_k p (f k).
Definition empirical f i : K := (\sum_k (f k == i)%:R) / n.+1%:R.
Definition coincidences f g : K :=
  \sum_(i | B i) (empirical f i - pi i) * (empirical g i - pi i) / pi i.

Lemma drawn_sum : \sum_f drawn f = 1.
Proof.
rewrite /drawn -(bigA_distr_bigA (fun _ : 'I_n.+1 => p)).
by apply: big1 => k _; apply: p_sum.
Qed.

Lemma drawn_at j i : \sum_f drawn f * (f j == i)%:R = p i.
Proof.
pose F k x := if k == j then p x * (x == i)%:R else p x.
transitivity (\sum_(f : {ffun 'I_n.+1 -> I}) \prod_k F k (f k)).
  apply: eq_bigr => f _; rewrite /drawn (bigD1 j) //= [RHS](bigD1 j) //= /F eqxx mulrAC.
  by congr (_ * _); apply: eq_bigr => k /negbTE ->.
rewrite -(bigA_distr_bigA F) (bigD1 j) //= [X in _ * X]big1 => [|k /negbTE kj]; last first.
  by rewrite -p_sum; apply: eq_bigr => x _; rewrite /F kj.
rewrite mulr1 (bigD1 i) //= /F !eqxx mulr1 big1 ?addr0 // => x /negbTE ->.
by rewrite mulr0.
Qed.

Lemma mean_empirical i : \sum_f drawn f * (empirical f i - pi i) = p i - pi i.
Proof.
under eq_bigr do rewrite mulrBr; rewrite sumrB -mulr_suml drawn_sum mul1r; congr (_ - _).
rewrite /empirical; under eq_bigr do rewrite mulrA mulr_sumr.
rewrite -mulr_suml exchange_big /=; under eq_bigr do rewrite drawn_at.
by rewrite sumr_const card_ord -[_ *+ _]mulr_natr mulfK // pnatr_eq0.
Qed.

Theorem collision_mean : \sum_f \sum_g drawn f * drawn g * coincidences f g = chi.
Proof.
transitivity (\sum_(i | B i) (\sum_f drawn f * (empirical f i - pi i)) *
                              (\sum_g drawn g * (empirical g i - pi i)) / pi i); last first.
  by apply: eq_bigr => i _; rewrite !mean_empirical expr2.
under eq_bigr => f _ do under eq_bigr => g _ do rewrite /coincidences mulr_sumr.
under eq_bigr => f _ do rewrite exchange_big.
rewrite exchange_big /=; apply: eq_bigr => i _; rewrite big_distrlr mulr_suml /=.
apply: eq_bigr => f _; rewrite mulr_suml; apply: eq_bigr => g _.
by rewrite [in LHS]mulrA; congr (_ / _); rewrite mulrACA.
Qed.
End Samples.
End Collisions.

(* On the event H it is sum_H |p - pi| itself, and on L at most p(L) + pi(L): so 2 TV is at most the
   sum of these and of what the first theorem bounds.                                             *)
Theorem collision_split (I : finType) (K : realFieldType) (p pi : I -> K) (H L : pred I) :
  (forall i, 0 <= p i) -> (forall i, 0 <= pi i) ->
  2%:R * tv p pi <= \sum_(i | H i) `|p i - pi i| +
    (\sum_(i | ~~ H i && L i) p i + \sum_(i | ~~ H i && L i) pi i) +
    \sum_(i | ~~ H i && ~~ L i) `|p i - pi i|.
Proof.
move=> p0 pi0; rewrite /tv mulrC divfK ?pnatr_eq0 // (bigID H) /= -addrA ler_add2l.
rewrite (bigID L) /= ler_add2r -big_split /=; apply: ler_sum => i _.
by rewrite (le_trans (ler_norm_sub _ _)) // !ger0_norm.
Qed.
