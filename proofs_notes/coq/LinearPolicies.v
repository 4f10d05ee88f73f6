(* Log-odds of linear policies on Lines (prop:lines, linear-policy-dimensions, part 2).

   Row i of Psi is psi(p_i), row i of C is psi(p_1) + ... + psi(p_i), delta = b_1 - b_2.  A policy
   with a constant matrix has the log-odds Psi x, one with the latent of eq:linear_rec
   delta (Psi a + (Psi v) * (C w)), with * entry by entry; the logarithm itself plays no role.    *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section LogOdds.
Variables (N d : nat) (K : fieldType) (Psi C : 'M[K]_(N, d)) (delta : K).
Implicit Types (o : 'cV[K]_N) (x a v w : 'cV[K]_d) (k l : 'I_d).
Hypothesis delta0 : delta != 0.

Definition entrywise o o' : 'cV[K]_N := \col_i (o i 0 * o' i 0).
Definition markovian o := exists x, o = Psi *m x.
Definition with_memory o :=
  exists a v w, o = delta *: (Psi *m a + entrywise (Psi *m v) (C *m w)).

(* The columns of H.                                                                              *)
Definition product k l : 'cV[K]_N := entrywise (col k Psi) (col l C).

Lemma mulmx_columns (A : 'M[K]_(N, d)) v : A *m v = \sum_k v k 0 *: col k A.
Proof.
apply/matrixP => i j; rewrite ord1 !mxE summxE; apply: eq_bigr => k _.
by rewrite !mxE mulrC.
Qed.

Lemma entrywise_sum v w :
  entrywise (Psi *m v) (C *m w) = \sum_k \sum_l (v k 0 * w l 0) *: product k l.
Proof.
apply/matrixP => i j; rewrite ord1 !mxE big_distrlr summxE /=; apply: eq_bigr => k _.
by rewrite summxE; apply: eq_bigr => l _; rewrite !mxE mulrACA [RHS]mulrC.
Qed.

Lemma markovian0 : markovian 0.
Proof. by exists 0; rewrite mulmx0. Qed.

Lemma markovian_lin (c : K) o o' : markovian o -> markovian o' -> markovian (c *: o + o').
Proof. by move=> [k ->] [k' ->]; exists (c *: k + k'); rewrite mulmxDr scalemxAr. Qed.

(* With memory no law is lost ...                                                                 *)
Theorem memory_loses_nothing o : markovian o -> with_memory o.
Proof.
move=> [k ->]; exists (delta^-1 *: k), 0, 0; rewrite entrywise_sum.
rewrite big1 ?addr0 => [|l _]; last by apply: big1 => m _; rewrite mxE mul0r scale0r.
by rewrite -scalemxAr scalerA mulfV // scale1r.
Qed.

(* ... and some is gained if and only if a column of H is not in the span of Psi.                 *)
Theorem memory_gains :
  (forall o, with_memory o -> markovian o) <-> (forall k l, markovian (product k l)).
Proof.
split=> [all k l|H o [a [v [w ->]]]].
  have : markovian (delta *: product k l).
    apply: all; exists 0, (delta_mx k 0), (delta_mx l 0); rewrite mulmx0 add0r; congr (_ *: _).
    by rewrite -!colE.
  move/(markovian_lin delta^-1)/(_ markovian0).
  by rewrite addr0 scalerA mulVf // scale1r.
rewrite -[_ *: _]addr0; apply: markovian_lin markovian0.
rewrite -[Psi *m a]scale1r; apply: markovian_lin; first by exists a.
rewrite entrywise_sum; elim/big_ind: _ => [|f g mf mg|k _]; first exact: markovian0.
  by rewrite -[f]scale1r; apply: markovian_lin.
elim/big_ind: _ => [|f g mf mg|l _]; first exact: markovian0.
  by rewrite -[f]scale1r; apply: markovian_lin.
by rewrite -[_ *: _]addr0; apply: markovian_lin markovian0.
Qed.

(* The span of the log-odds with memory is that of the columns of Psi and of H: a linear form
   vanishes on all of them if and only if it vanishes on Psi and on H.                            *)
Theorem span_with_memory (f : 'rV[K]_N) :
  (forall o, with_memory o -> f *m o = 0) <->
  (f *m Psi = 0 /\ forall k l, f *m product k l = 0).
Proof.
split=> [all|[fPsi fH] o [a [v [w ->]]]]; last first.
  rewrite -scalemxAr mulmxDr mulmxA fPsi mul0mx add0r entrywise_sum mulmx_sumr.
  rewrite big1 ?scaler0 // => k _.
  by rewrite mulmx_sumr big1 // => l _; rewrite -scalemxAr fH scaler0.
split=> [|k l].
  apply/matrixP => i j; rewrite ord1 [RHS]mxE.
  have /matrixP/(_ 0 0) : f *m (Psi *m (delta_mx j 0 : 'cV_d)) = 0.
    by apply: all; apply: memory_loses_nothing; exists (delta_mx j 0).
  by rewrite mulmxA -colE !mxE.
have : f *m (delta *: product k l) = 0.
  apply: all; exists 0, (delta_mx k 0), (delta_mx l 0); rewrite mulmx0 add0r.
  by rewrite -!colE.
rewrite -scalemxAr => /eqP; rewrite scaler_eq0 (negbTE delta0) => /eqP.
exact.
Qed.
End LogOdds.

(* psi(p_i) = i, one dimension: with c_i = i (i + 1) / 2 the product is i^2 (i + 1) / 2, a multiple
   of i for N <= 2 only.                                                                          *)
Theorem natural_embedding (K : numFieldType) (N : nat) :
  let Psi : 'cV[K]_N := \col_i i%:R in let C : 'cV[K]_N := \col_i (i * i.+1)./2%:R in
  (forall o, with_memory Psi C 1 o -> markovian Psi o) <-> (N <= 2)%N.
Proof.
move=> Psi C; rewrite memory_gains ?oner_neq0 //; split=> [/(_ 0 0)[x xP]|N2 k l].
  rewrite leqNgt; apply/negP => N3.
  have at_ (i : 'I_N) : i%:R * (i * i.+1)./2%:R = i%:R * x 0 0 :> K.
    by move/matrixP/(_ i 0): xP; rewrite !mxE big_ord1 !mxE.
  have := at_ (Ordinal (ltnW N3)); rewrite /= !mul1r => x1.
  have := at_ (Ordinal N3); rewrite /= -x1 mulr1 => /eqP.
  by rewrite -natrM eqr_nat.
exists (const_mx 1); apply/matrixP => i j; rewrite !mxE big_ord1 !mxE mulr1.
by case: i => [[|[|i]] //= lti]; rewrite ?mul0r ?mulr1 //; have := leq_trans lti N2.
Qed.
