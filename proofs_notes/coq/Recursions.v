(* Policies that read a linear recurrence (eq:linear_rec), their mask (eq:policya), and rnn.      *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* eq:linear_rec.  psi embeds a state in R^e, W_t = b a_t' has the shape (M + 1) x d, and a history is
   the list of the states after s_o.                                                               *)
Section Recurrence.
Variables (K : comRingType) (S : Type) (d e m : nat) (psi : S -> 'rV[K]_e).
Variables (a0 v : 'rV[K]_d) (w : 'rV[K]_e) (b : 'cV[K]_m).
Definition dot (x y : 'rV[K]_e) : K := (x *m y^T) 0 0.
Definition latent (p : seq S) : 'rV[K]_d := foldl (fun a s => a + dot w (psi s) *: v) a0 p.
Definition weights (p : seq S) : 'M[K]_(m, d) := b *m latent p.
Definition passed (p : seq S) : 'rV[K]_e := \sum_(s <- p) psi s.

Lemma dotD x y : dot w (x + y) = dot w x + dot w y.
Proof. by rewrite /dot linearD /= mulmxDr mxE. Qed.

Theorem latent_is_linear p : latent p = a0 + dot w (passed p) *: v.
Proof.
elim/last_ind: p => [|p s IH]; rewrite /latent /passed.
  by rewrite /= big_nil /dot trmx0 mulmx0 mxE scale0r addr0.
by rewrite foldl_rcons -cats1 big_cat big_seq1 /= -/(latent p) IH -/(passed p) -addrA -scalerDl -dotD addrC.
Qed.

(* An additive lift, by a phi that ignores the latent.                                             *)
Theorem recurrence_is_additive p s :
  weights (rcons p s) = weights p + dot w (psi s) *: (b *m v).
Proof. by rewrite /weights /latent foldl_rcons -/(latent p) mulmxDr scalemxAr. Qed.
End Recurrence.

Theorem equal_latents (K : fieldType) (S : Type) (d e : nat) (psi : S -> 'rV[K]_e)
    (a0 v : 'rV[K]_d) (w : 'rV[K]_e) (p q : seq S) : v != 0 ->
  (latent psi a0 v w p == latent psi a0 v w q) = (dot w (passed psi p) == dot w (passed psi q)).
Proof.
move=> v0; rewrite !latent_is_linear (inj_eq (addrI a0)) -subr_eq0 -scalerBl scaler_eq0.
by rewrite (negbTE v0) orbF subr_eq0.
Qed.

(* The printed sum of psi(p_j) = j, i (i - 1) / 2, is not that of 1, ..., i.                        *)
Theorem printed_sum i : (0 < i)%N ->
  [/\ (\sum_(1 <= j < i.+1) j = 'C(i.+1, 2))%N, 'C(i, 2) = (i * i.-1)./2
    & ('C(i, 2) < 'C(i.+1, 2))%N].
Proof.
move=> i0; split; first by rewrite -triangular_sum [RHS]big_ltn.
  exact: bin2.
by rewrite binS bin1 -{1}['C(i, 2)]addn0 ltn_add2l.
Qed.

(* eq:policya.  The soft-max of logits with a mask in {0, -inf}: E is exp, and exp(y - inf) = 0.  A
   product with a mask in {1, -inf} gives y (-inf), which is -inf, and so E of it is 0, only if y > 0:
   else it is +inf, or undefined, for which E has no value.                                       *)
Section Mask.
Variables (K : numFieldType) (I : finType) (E : K -> K) (y : I -> K) (allowed : pred I) (stop : I).
Hypotheses (E_pos : forall x, 0 < E x) (stops : allowed stop).
Definition exponential i : K := if allowed i then E (y i) else 0.
Definition masked i : K := exponential i / \sum_j exponential j.

Theorem masked_is_softmax_of_the_allowed :
  [/\ forall i, ~~ allowed i -> masked i = 0,
      forall i, allowed i -> masked i = E (y i) / (\sum_(j | allowed j) E (y j)),
      forall i, allowed i -> 0 < masked i
    & \sum_i masked i = 1].
Proof.
have sumE : \sum_j exponential j = \sum_(j | allowed j) E (y j) by rewrite [RHS]big_mkcond.
have pos : 0 < \sum_(j | allowed j) E (y j).
  by rewrite (bigD1 stop) //= ltr_spaddl ?E_pos // sumr_ge0 // => j _; apply/ltW/E_pos.
split=> [i ni|i ai|i ai|]; rewrite /masked.
- by rewrite /exponential (negbTE ni) mul0r.
- by rewrite sumE /exponential ai.
- by rewrite sumE /exponential ai divr_gt0.
by rewrite -mulr_suml divff // sumE gt_eqF.
Qed.
End Mask.

(* rnn.  A recurrent network with identity activation is an additive lift, by a phi of the latent
   before, in rows; phi is no function of the latent after.                                       *)
Section Rnn.
Variables (K : ringType) (S : Type) (d e : nat) (psi : S -> 'rV[K]_e).
Variables (Ws : 'M[K]_(e, d)) (Wh : 'M[K]_d) (bh : 'rV[K]_d).
Definition increment (s : S) (W : 'rV[K]_d) : 'rV[K]_d := psi s *m Ws + W *m (Wh - 1%:M) + bh.

Theorem rnn_is_additive s W : W + increment s W = psi s *m Ws + W *m Wh + bh.
Proof.
have regroup (U : zmodType) (u a y z : U) : u + (a + (y - u) + z) = a + y + z.
  by rewrite addrC -addrA [z + u]addrC addrA -[a + _ + u]addrA subrK.
by rewrite /increment mulmxBr mulmx1 regroup.
Qed.

Theorem increment_needs_the_latent_before s W W' : Wh = 0 -> W != W' ->
  W + increment s W = W' + increment s W' /\ increment s W != increment s W'.
Proof.
move=> Wh0 WW'; rewrite !rnn_is_additive /increment Wh0 !mulmx0; split=> //.
by rewrite (inj_eq (addIr _)) (inj_eq (addrI _)) sub0r !mulmxN !mulmx1 eqr_opp.
Qed.
End Rnn.
