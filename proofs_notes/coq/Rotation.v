(* The rotated weight matrix (eq:ASRWM and what is said of it), over any field.

   The dimension is n + 1, R is the rotation, k, q, v and r stand for zeta(k_t), zeta(q_t), v_t and
   sigma(beta_t), whatever these are functions of; x (x) y is x y'.                               *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Update.
Variables (n : nat) (K : fieldType).
Implicit Types (W U V R : 'M[K]_n.+1) (k q v x : 'cV[K]_n.+1) (r c : K).

Definition outer v q : 'M[K]_n.+1 := v *m q^T.
Definition dot q k : K := (q^T *m k) 0 0.
Definition orthogonal R := R *m R^T = 1%:M.

(* eq:ASRWM as printed: written at q, corrected by what is read at k before the rotation.         *)
Definition update R r v k q W : 'M[K]_n.+1 := W *m R + r *: outer (v - W *m k) q.

(* The delta rule: written at the key that is corrected.                                          *)
Definition delta_rule r v k W : 'M[K]_n.+1 := W + r *: outer (v - W *m k) k.

Lemma outer_read v q x : outer v q *m x = dot q x *: v.
Proof. by rewrite /outer -mulmxA [q^T *m x]mx11_scalar mul_mx_scalar. Qed.

(* eq:ASRWM: it is W + phi for a phi that is a function of state and latent.                      *)
Theorem update_is_a_sum R r v k q W :
  update R r v k q W = W + (W *m (R - 1%:M) + r *: outer (v - W *m k) q).
Proof. by rewrite mulmxBr mulmx1 addrA [W + _]addrC subrK. Qed.

(* eq:ASRWM.rate, repaired: for given k, q, v and r it is affine in W.                            *)
Theorem update_is_affine R r v k q W :
  update R r v k q W = W *m (R - r *: outer k q) + r *: outer v q.
Proof.
rewrite /update /outer mulmxBr -scalemxAr mulmxBl scalerBr mulmxA -addrA.
by congr (_ + _); rewrite addrC.
Qed.

(* eq:ASRWM.delta as printed, R = 1: what k reads moves towards v by the share r (q . k), and what
   any other key x reads changes by r (q . x) too.                                                *)
Theorem printed_reads r v k q W x :
  update 1%:M r v k q W *m x = W *m x + (r * dot q x) *: (v - W *m k).
Proof. by rewrite /update mulmx1 mulmxDl -scalemxAl outer_read scalerA. Qed.

Theorem printed_share r v k q W :
  update 1%:M r v k q W *m k - v = (1 - r * dot q k) *: (W *m k - v).
Proof.
rewrite printed_reads scalerBl scale1r -[v - _]opprB scalerN addrAC; congr (_ + _).
Qed.

(* The delta rule stores v at k by the share r |k|^2, and keeps what an orthogonal x reads.       *)
Theorem delta_rule_share r v k W :
  delta_rule r v k W *m k - v = (1 - r * dot k k) *: (W *m k - v).
Proof.
rewrite mulmxDl -scalemxAl outer_read scalerA scalerBl scale1r -[v - _]opprB scalerN addrAC.
by congr (_ + _).
Qed.

Theorem delta_rule_keeps r v k W x : dot k x = 0 -> delta_rule r v k W *m x = W *m x.
Proof. by move=> kx; rewrite mulmxDl -scalemxAl outer_read kx scale0r scaler0 addr0. Qed.

(* Written at k and read after the rotation, it is the delta rule for W R, whatever R is.         *)
Theorem read_after_rotation R r v k W :
  W *m R + r *: outer (v - W *m R *m k) k = delta_rule r v k (W *m R).
Proof. by []. Qed.

(* eq:ASRWM.eigenvectors, repaired: W R has the Gram matrix of W, hence its left singular vectors
   and singular values, and of the other Gram matrix the turned one ...                           *)
Theorem rotated_gram R W : orthogonal R ->
  (W *m R) *m (W *m R)^T = W *m W^T /\ (W *m R)^T *m (W *m R) = R^T *m (W^T *m W) *m R.
Proof. by move=> RR; rewrite trmx_mul !mulmxA -[W *m R *m R^T]mulmxA RR mulmx1. Qed.

(* ... so that from a singular value decomposition of W one has that of W R.                      *)
Theorem rotated_svd R W U V (s : 'rV[K]_n.+1) :
  orthogonal R -> orthogonal U -> orthogonal V -> W = U *m diag_mx s *m V ->
  orthogonal (V *m R) /\ W *m R = U *m diag_mx s *m (V *m R).
Proof.
move=> RR UU VV ->; rewrite /orthogonal trmx_mul -mulmxA [R *m _]mulmxA RR mul1mx.
by rewrite !mulmxA.
Qed.

(* Eigenvectors are turned by R' W R instead.                                                     *)
Theorem conjugation_turns_eigenvectors R W x c : orthogonal R -> W *m x = c *: x ->
  (R^T *m W *m R) *m (R^T *m x) = c *: (R^T *m x).
Proof.
move=> RR Wx; rewrite -!mulmxA [R *m (_ *m _)]mulmxA RR mul1mx Wx.
by rewrite -scalemxAr.
Qed.

(* eq:ASRWM.stability: the printed update multiplies a difference of two latents by one matrix. In
   two dimensions the form det (x, x A) of its rows x grows by det A with every step ...          *)
Theorem difference_of_latents R r v k q W V :
  update R r v k q W - update R r v k q V = (W - V) *m (R - r *: outer k q).
Proof. by rewrite !update_is_affine opprD addrACA subrr addr0 -mulmxBl. Qed.

(* ... while the repaired one, read after the rotation and written at k, changes the squared
   Frobenius norm by - r (2 - r |k|^2) |W R k|^2, and lengthens nothing if r |k|^2 <= 2.          *)
Definition squared_norm m (W : 'M[K]_(n.+1, m)) : K := \tr (W *m W^T).

Lemma outer_trick v q W : W *m outer v q = outer (W *m v) q.
Proof. by rewrite /outer mulmxA. Qed.

Lemma trace_outer v : \tr (outer v v) = dot v v.
Proof. by rewrite /outer mxtrace_mulC /mxtrace big_ord1. Qed.

Lemma square_of_step r k :
  (1%:M - r *: outer k k) *m (1%:M - r *: outer k k) =
  1%:M - (r * (2%:R - r * dot k k)) *: outer k k.
Proof.
have EE : outer k k *m outer k k = dot k k *: outer k k.
  by rewrite outer_trick outer_read /outer -scalemxAl.
rewrite mulmxBr mulmx1 mulmxBl mul1mx -scalemxAl -scalemxAr EE !scalerA opprB.
rewrite mulrBr scalerBl opprB mulrA mulr_natr mulr2n scalerDl -addrA; congr (_ + _).
by rewrite addrCA opprD.
Qed.

Theorem repaired_norm R r k W : orthogonal R ->
  squared_norm (W *m (R *m (1%:M - r *: outer k k))) =
  squared_norm W - r * (2%:R - r * dot k k) * squared_norm (W *m R *m k).
Proof.
move=> RR; set P := 1%:M - _; rewrite /squared_norm.
have Pt : P^T = P by rewrite /P linearB linearZ /= trmx1 /outer trmx_mul trmxK.
rewrite mulmxA trmx_mul Pt mulmxA -[_ *m P *m P]mulmxA square_of_step.
rewrite mulmxBr mulmx1 mulmxBl -scalemxAr -scalemxAl outer_trick linearB linearZ /=.
rewrite trmx_mul mulmxA -[W *m R *m R^T]mulmxA RR mulmx1; congr (_ - _ * _).
by rewrite /outer -trmx_mul [in RHS]trmx_mul mulmxA.
Qed.

(* rotary-delta-network: the recursion without its rotation, and with keys that are turned.       *)
Section Rotary.
Variables (R W0 : 'M[K]_n.+1) (k q v : nat -> 'cV[K]_n.+1) (r : nat -> K).
Hypothesis RR : orthogonal R.

Lemma power_orthogonal t : (R ^+ t)^T *m R ^+ t = 1%:M.
Proof.
apply: mulmx1C; elim: t => [|t IH]; first by rewrite expr0 trmx1 mulmx1.
by rewrite exprSr trmx_mul mulmxA -[_ *m R *m _]mulmxA RR mulmx1.
Qed.

(* W_t and U_t after t steps.                                                                     *)
Fixpoint latent t : 'M[K]_n.+1 :=
  if t is i.+1 then update R (r i) (v i) (k i) (q i) (latent i) else W0.
Fixpoint unrotated t : 'M[K]_n.+1 :=
  if t is i.+1 then
    unrotated i + r i *: outer (v i - unrotated i *m (R ^+ i *m k i)) (R ^+ i.+1 *m q i)
  else W0.

Theorem rotation_factors_out t : latent t = unrotated t *m R ^+ t.
Proof.
elim: t => [|t IH] /=; first by rewrite expr0 mulmx1.
rewrite /update IH mulmxDl -scalemxAl; congr (_ + _ *: _).
  by rewrite exprSr -mulmxE mulmxA.
by rewrite /outer trmx_mul -!mulmxA power_orthogonal mulmx1.
Qed.

(* A chunk of steps: with u solving a unit lower triangular system in relative rotations ...      *)
Definition solves (u : nat -> 'cV[K]_n.+1) := forall i,
  u i = r i *: (v i - W0 *m (R ^+ i *m k i)
                - \sum_(j < i) dot (q j) (R ^+ (i - j.+1) *m k i) *: u j).

Lemma relative_rotation i j x y : (j < i)%N ->
  dot (R ^+ j.+1 *m x) (R ^+ i *m y) = dot x (R ^+ (i - j.+1) *m y).
Proof.
move=> ji; rewrite /dot -{1}(subnKC ji) exprD trmx_mul -!mulmxA.
by rewrite [(R ^+ _)^T *m _]mulmxA power_orthogonal mul1mx.
Qed.

(* ... U_t is a sum of t outer products, and the reading W_t psi needs no latent between.         *)
Theorem chunk_of_steps u : solves u -> forall t,
  unrotated t = W0 + \sum_(i < t) outer (u i) (R ^+ i.+1 *m q i).
Proof.
move=> sol; elim=> [|t IH]; first by rewrite big_ord0 addr0.
rewrite big_ord_recr addrA -IH; congr (_ + _).
rewrite /outer -(_ : r t *: (v t - unrotated t *m (R ^+ t *m k t)) = u t); first exact: scalemxAl.
rewrite sol; congr (_ *: _); rewrite IH mulmxDl opprD addrA mulmx_suml; congr (_ - _).
by apply: eq_bigr => j _; rewrite outer_read relative_rotation.
Qed.

Theorem chunk_reading u psi : solves u -> forall t,
  latent t *m psi = W0 *m (R ^+ t *m psi)
                    + \sum_(i < t) dot (q i) (R ^+ (t - i.+1) *m psi) *: u i.
Proof.
move=> sol t; rewrite rotation_factors_out (chunk_of_steps sol) -mulmxA mulmxDl mulmx_suml.
by congr (_ + _); apply: eq_bigr => i _; rewrite outer_read relative_rotation.
Qed.
End Rotary.
End Update.

Section TwoDimensions.
Variable K : fieldType.
Implicit Types (x : 'rV[K]_2) (A : 'M[K]_2).

(* The area spanned by a row and its image: see [difference_of_latents].                          *)
Definition area A x : K := \det (col_mx x (x *m A) : 'M_(1 + 1)).

Theorem area_grows A x : area A (x *m A) = \det A * area A x.
Proof. by rewrite /area -mul_col_mx det_mulmx mulrC. Qed.

Lemma quarter_turn : orthogonal (delta_mx 1 0 - delta_mx 0 1 : 'M[K]_2).
Proof.
apply/matrixP => -[[|[|i]] // lti] [[|[|j]] // ltj];
  rewrite !mxE !big_ord_recl big_ord0 !mxE /=;
  by rewrite ?(sub0r, subr0, mulr0, mul0r, mulr1, mulrN1, opprK, addr0, add0r, oppr0).
Qed.

(* eq:ASRWM.eigenvectors as printed fails: diag (1, 0) has the eigenvector (1, 0)' of eigenvalue 1;
   after a quarter turn its square is 0, and it has no eigenvalue but 0.                          *)
Theorem rotation_loses_eigenvectors : exists W R : 'M[K]_2,
  [/\ orthogonal R, W *m delta_mx 0 0 = 1 *: (delta_mx 0 0 : 'cV_2), (W *m R) *m (W *m R) = 0,
      W *m R != 0 & forall c (y : 'cV_2), W *m R *m y = c *: y -> c = 0 \/ y = 0].
Proof.
pose W : 'M[K]_2 := delta_mx 0 0; pose R : 'M[K]_2 := delta_mx 1 0 - delta_mx 0 1.
have WR : W *m R = - delta_mx 0 1 by rewrite mulmxBr mul_delta_mx_cond mul_delta_mx /= mulr0n sub0r.
have square0 : (W *m R) *m (W *m R) = 0.
  by rewrite WR mulmxN mulNmx opprK mul_delta_mx_0.
exists W, R; split=> //.
- exact: quarter_turn.
- by rewrite mul_delta_mx scale1r.
- rewrite WR oppr_eq0; apply/eqP => /matrixP/(_ 0 1); rewrite !mxE /= => /eqP.
  by rewrite oner_eq0.
move=> c y Ay; have : (W *m R) *m (W *m R) *m y = (c * c) *: y.
  by rewrite -mulmxA Ay -scalemxAr Ay scalerA.
rewrite square0 mul0mx => /esym/eqP; rewrite scaler_eq0 mulf_eq0 orbb.
by case/orP => /eqP ->; [left|right].
Qed.
(* eq:ASRWM.delta: written at k but read before the rotation it is no delta rule.  With a quarter
   turn and r |k|^2 = 1 no v is what k reads afterwards.                                           *)
Theorem reading_before_rotation : exists (W R : 'M[K]_2) (k : 'cV[K]_2),
  [/\ orthogonal R, dot k k = 1 & forall v, (W *m R + 1 *: outer (v - W *m k) k) *m k != v].
Proof.
exists 1%:M, (delta_mx 1 0 - delta_mx 0 1), (delta_mx 0 0).
have kk : dot (delta_mx 0 0) (delta_mx 0 0 : 'cV[K]_2) = 1.
  by rewrite /dot trmx_delta mul_delta_mx mxE.
split=> // [|v]; first exact: quarter_turn.
rewrite mulmxDl -scalemxAl outer_read kk !mul1mx !scale1r mulmxBl mul_delta_mx mul_delta_mx_0 //.
rewrite subr0 addrCA -subr_eq0 [v + _]addrC addrK; apply/eqP => /matrixP/(_ 0 0)/eqP.
by rewrite !mxE /= sub0r oppr_eq0 oner_eq0.
Qed.

(* Nor is it as printed: what an orthogonal key reads changes.                                    *)
Theorem printed_reads_elsewhere : exists (k q v x : 'cV[K]_2),
  dot k x = 0 /\ update 1%:M 1 v k q 1%:M *m x != 1%:M *m x.
Proof.
exists (delta_mx 0 0), (delta_mx 1 0), 0, (delta_mx 1 0).
rewrite printed_reads /dot !trmx_delta mul_delta_mx_0 // mul_delta_mx !mxE /= !mul1mx; split=> //.
rewrite -subr_eq0 addrC addKr mul1r scale1r sub0r oppr_eq0; apply/eqP => /matrixP/(_ 0 0)/eqP.
by rewrite !mxE /= oner_eq0.
Qed.
End TwoDimensions.
