(* The trajectory balance and contrastive balance losses (col:objectives).

   The set of trajectories is any finite type I, w is the law of p_E on it and
   f(tau) = log p_F(tau) - log (p_B(tau | x) R(x)); the logarithm itself plays no role.  With
   c = log Z, the losses are E (c + f)^2 and, for an independent pair, E (f - f')^2.              *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Definition mean (I : finType) (K : fieldType) (w f : I -> K) : K := \sum_i w i * f i.
Definition variance (I : finType) (K : fieldType) (w f : I -> K) : K :=
  mean w (fun i => (f i - mean w f) ^+ 2).
Definition tb_loss (I : finType) (K : fieldType) (w f : I -> K) (c : K) : K :=
  mean w (fun i => (c + f i) ^+ 2).
Definition cb_loss (I : finType) (K : fieldType) (w f : I -> K) : K :=
  \sum_i \sum_j w i * w j * (f i - f j) ^+ 2.

(* E (c + f)^2 = Var f + (c + E f)^2.                                                             *)
Theorem tb_loss_split (I : finType) (K : fieldType) (w f : I -> K) (c : K) :
  \sum_i w i = 1 -> tb_loss w f c = variance w f + (c + mean w f) ^+ 2.
Proof.
move=> w1; have expand a : mean w (fun i => (a + f i) ^+ 2) =
    a ^+ 2 + (a * mean w f) *+ 2 + mean w (fun i => f i ^+ 2).
  rewrite /mean; under eq_bigr => i _ do rewrite sqrrD !mulrDr.
  rewrite !big_split /= -mulr_suml w1 mul1r; congr (_ + _ + _).
  by rewrite mulr_sumr mulr2n; congr (_ + _); apply: eq_bigr => i _; rewrite mulrCA.
have -> : variance w f = mean w (fun i => (- mean w f + f i) ^+ 2).
  by rewrite /variance [LHS]/mean [RHS]/mean; apply: eq_bigr => i _; rewrite addrC.
rewrite /tb_loss !expand sqrrN mulNr -expr2 sqrrD; set m2 := mean w f ^+ 2.
rewrite mulNrn (mulr2n m2) opprD [m2 + (- m2 - m2)]addrA subrr sub0r.
by rewrite [RHS]addrC [RHS]addrA addrK.
Qed.

(* The variance identity of col:objectives: E (f - f')^2 = 2 Var f for independent f, f' ~ w.     *)
Theorem cb_loss_variance (I : finType) (K : fieldType) (w f : I -> K) :
  \sum_i w i = 1 -> cb_loss w f = variance w f *+ 2.
Proof.
move=> w1; transitivity (\sum_i w i * tb_loss w f (- f i)).
  apply: eq_bigr => i _; rewrite /tb_loss /mean mulr_sumr; apply: eq_bigr => j _.
  by rewrite -mulrA -sqrrN opprB [- f i + _]addrC.
under eq_bigr => i _ do rewrite tb_loss_split // mulrDr.
rewrite big_split -mulr_suml w1 mul1r mulr2n; congr (_ + _).
by apply: eq_bigr => i _; rewrite addrC -sqrrN opprB.
Qed.

(* Over an ordered field: the best c = log Z is - E f and leaves the variance, so that the
   contrastive loss is twice the trajectory balance loss with the best Z ...                      *)
Theorem cb_loss_is_twice_best_tb_loss (I : finType) (K : realFieldType) (w f : I -> K) :
  \sum_i w i = 1 ->
  cb_loss w f = tb_loss w f (- mean w f) *+ 2 /\
  forall c, tb_loss w f (- mean w f) <= tb_loss w f c.
Proof.
move=> w1; have best : tb_loss w f (- mean w f) = variance w f.
  by rewrite tb_loss_split // addNr expr0n addr0.
by rewrite cb_loss_variance // best; split=> // c; rewrite tb_loss_split // ler_addl sqr_ge0.
Qed.

(* ... and if w charges every trajectory, the loss vanishes exactly under trajectory balance,
   c + f = 0 on every trajectory.                                                                 *)
Theorem tb_loss_eq0 (I : finType) (K : realFieldType) (w f : I -> K) (c : K) :
  (forall i, 0 < w i) -> (tb_loss w f c = 0 <-> forall i, c + f i = 0).
Proof.
move=> w_pos; split=> [loss0 i|zero]; last first.
  by rewrite /tb_loss /mean big1 // => i _; rewrite zero expr0n mulr0.
have := psumr_eq0P (fun j _ => mulr_ge0 (ltW (w_pos j)) (sqr_ge0 (c + f j))) loss0 (i := i) isT.
by move/eqP; rewrite mulf_eq0 sqrf_eq0 gt_eqF //= => /eqP.
Qed.
