(* Flow consistency in subgraphs: the distance of two laws, conditional on batches (eq:fcsa).       *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Residuals.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Consistency.
Variables (X : finType) (K : realFieldType).
Implicit Types (p q : X -> K) (B : {set X}).
Definition mass p B : K := \sum_(x in B) p x.
Definition given p B x : K := if x \in B then p x / mass p B else 0.
(* r is the law of the batch.                                                                      *)
Definition fcs (r : {set X} -> K) p q : K := \sum_B r B * tv (given p B) (given q B).

Lemma given_sum p B : mass p B != 0 -> \sum_x given p B x = 1.
Proof.
move=> pB; rewrite (bigID (mem B)) /= [X in _ + X]big1 => [|x /negbTE xB]; last by rewrite /given xB.
by rewrite addr0 -(divff pB) mulr_suml; apply: eq_bigr => x xB; rewrite /given xB.
Qed.

Lemma tv_symmetric p q : tv p q = tv q p.
Proof. by rewrite /tv; congr (_ / _); apply: eq_bigr => x _; rewrite distrC. Qed.

Lemma given_tv_half p q B : (forall x, 0 <= q x) -> \sum_x p x = 1 -> \sum_x q x = 1 ->
  0 < mass q B -> mass q B <= mass p B -> tv (given p B) (given q B) <= tv p q / mass p B.
Proof.
move=> q0 p1 q1 qB qp; have pB : 0 < mass p B by apply: lt_le_trans qp.
rewrite tv_event ?given_sum ?gt_eqF // tv_event // -!sumrB mulr_suml.
rewrite big_mkcond [X in _ <= X]big_mkcond /=; apply: ler_sum => x _; rewrite /given.
case: (boolP (x \in B)) => xB; last by rewrite ltxx; case: ifP => // qp'; rewrite divr_ge0 ?ltW // subr_gt0.
have le : q x / mass p B <= q x / mass q B by apply: ler_wpmul2l; rewrite ?q0 // lef_pinv ?posrE.
have pos : 0 <= (mass p B)^-1 by rewrite invr_ge0 ltW.
case: ifP => [lt|_]; last by case: ifP => // qp'; rewrite mulr_ge0 // subr_ge0 ltW.
have -> : q x < p x by rewrite -(ltr_pmul2r (x := (mass p B)^-1)) ?invr_gt0 //; apply: le_lt_trans lt.
by rewrite mulrBl ler_sub.
Qed.

(* 1. FCS is at most TV times the mean of 1 / max(p(B), q(B)).                                     *)
Theorem fcs_bound r p q : (forall B, 0 <= r B) ->
  (forall x, 0 <= p x) -> (forall x, 0 <= q x) -> \sum_x p x = 1 -> \sum_x q x = 1 ->
  (forall B, r B != 0 -> 0 < mass p B /\ 0 < mass q B) ->
  fcs r p q <= tv p q * \sum_B r B / Num.max (mass p B) (mass q B).
Proof.
move=> r0 p0 q0 p1 q1 pos; rewrite /fcs mulr_sumr; apply: ler_sum => B _.
have [rB|rB] := eqVneq (r B) 0; first by rewrite rB !mul0r mulr0.
have [pB qB] := pos B rB; rewrite [X in _ <= X]mulrCA; apply: ler_wpmul2l => //.
case: (leP (mass p B) (mass q B)) => [le|/ltW le]; last exact: given_tv_half.
by rewrite tv_symmetric (tv_symmetric p); apply: given_tv_half.
Qed.

(* 2. It is TV, if the batch is everything.                                                        *)
Theorem fcs_of_everything r p q : \sum_x p x = 1 -> \sum_x q x = 1 ->
  (forall B, B != setT -> r B = 0) -> r setT = 1 -> fcs r p q = tv p q.
Proof.
move=> p1 q1 rest all; rewrite /fcs (bigD1 setT) //= big1 => [|B /rest->]; last by rewrite mul0r.
rewrite addr0 all mul1r /tv; congr (_ / _); apply: eq_bigr => x _.
have one f : \sum_y f y = 1 -> given f setT x = f x.
  by move=> f1; rewrite /given in_setT /mass (eq_bigl xpredT) => [|y]; rewrite ?f1 ?divr1 ?in_setT.
by rewrite !one.
Qed.

(* 3. It is 0 only if p and q are proportional on the batches, if every two states of these are in a
   common one.                                                                                     *)
Theorem fcs_zero r p q (x y : X) : (forall B, 0 <= r B) ->
  (forall B, r B != 0 -> 0 < mass p B /\ 0 < mass q B) ->
  (exists B, [/\ 0 < r B, x \in B & y \in B]) -> fcs r p q = 0 -> p x * q y = p y * q x.
Proof.
move=> r0 pos [B [rB xB yB]] /eqP.
have tv0 f g : 0 <= @tv X K f g by rewrite divr_ge0 ?ler0n // sumr_ge0.
rewrite psumr_eq0 => [/allP/(_ B)|C _]; last by rewrite mulr_ge0.
rewrite mem_index_enum => /(_ isT)/=; rewrite mulf_eq0 gt_eqF //= => /eqP.
have [pB qB] := pos B (lt0r_neq0 rB).
have two : 2%:R^-1 != 0 :> K by rewrite invr_eq0 pnatr_eq0.
move/eqP; rewrite mulf_eq0 (negbTE two) orbF psumr_eq0 // => /allP same.
have eq z : z \in B -> p z = q z / mass q B * mass p B.
  move=> zB; have := same z; rewrite mem_index_enum => /(_ isT)/=.
  rewrite normr_eq0 subr_eq0 /given zB => /eqP <-; by rewrite divfK ?gt_eqF.
have swap (a b i m : K) : a / i * m * b = a * b / i * m by rewrite mulrAC [a / i * b]mulrAC.
by rewrite !eq // !swap [q x * _]mulrC.
Qed.

Theorem fcs_zero_if_proportional r p q (c : K) : c != 0 -> (forall x, p x = c * q x) ->
  fcs r p q = 0.
Proof.
move=> c0 pq; apply: big1 => B _; rewrite /tv big1 ?mul0r ?mulr0 // => x _.
apply/eqP; rewrite normr_eq0 subr_eq0 /given; case: ifP => // _.
have -> : mass p B = c * mass q B by rewrite /mass mulr_sumr; apply: eq_bigr => y _.
by rewrite pq -mulf_div divff // mul1r.
Qed.
End Consistency.
