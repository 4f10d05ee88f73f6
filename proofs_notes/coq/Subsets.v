(* Flow consistency in subgraphs: the distance of two laws, conditional on batches (eq:fcsa).       *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Residuals Listed.
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

(* Neither of the two is the larger, and FCS is 0 for laws that are not proportional, though batches
   cover every state: on three states, with one batch, or one of two.                             *)
Section Counterexamples.
Definition batch (s : seq nat) : {set 'I_3} := [set x | val x \in s].
Definition law (s : seq rat) (x : 'I_3) : rat := s`_x.
Definition only (B : {set 'I_3}) (C : {set 'I_3}) : rat := (C == B)%:R.

Lemma fcs_only B p q : fcs (only B) p q = tv (given p B) (given q B).
Proof.
rewrite /fcs (bigD1 B) //= /only eqxx mul1r big1 ?addr0 // => C /negbTE CB.
by rewrite CB mul0r.
Qed.

Definition states := [:: 0; 1; 2]%N.
Definition given_list (s : seq rat) (b : seq nat) (x : nat) : rat :=
  if x \in b then s`_x / sum_seq [seq if y \in b then s`_y else 0 | y <- states] else 0.
Definition tv_list (f g : nat -> rat) : rat := sum_seq [seq `|f x - g x| | x <- states] / 2%:R.

Lemma tv_states (f g : nat -> rat) (p q : 'I_3 -> rat) :
  (forall x, p x = f x) -> (forall x, q x = g x) -> tv p q = tv_list f g.
Proof. by move=> pf qg; rewrite /tv !big_ord_recl big_ord0 !pf !qg. Qed.

Lemma given_law s b x : given (law s) (batch b) x = given_list s b x.
Proof.
rewrite /given /given_list /batch inE; case: ifP => // _; congr (_ / _).
by rewrite /mass big_mkcond !big_ord_recl big_ord0 !inE.
Qed.

Lemma fcs_list p q b :
  fcs (only (batch b)) (law p) (law q) = tv_list (given_list p b) (given_list q b).
Proof. by rewrite fcs_only; apply: tv_states => x; apply: given_law. Qed.

(* FCS <= TV fails, ...                                                                           *)
Theorem fcs_above_tv :
  let p := [:: 98%:R / 100%:R; 1 / 100%:R; 1 / 100%:R] in
  let q := [:: 98%:R / 100%:R; 2%:R / 100%:R; 0] in
  tv (law p) (law q) = 1 / 100%:R /\ fcs (only (batch [:: 1; 2]%N)) (law p) (law q) = 1 / 2%:R.
Proof.
by move=> p q; rewrite fcs_list (tv_states (f := nth 0 p) (g := nth 0 q)).
Qed.

(* ... TV <= FCS fails, ...                                                                       *)
Theorem fcs_below_tv :
  let p := [:: 1 / 4%:R; 1 / 4%:R; 2%:R / 4%:R] in let q := [:: 1 / 2%:R; 1 / 2%:R; 0] in
  tv (law p) (law q) = 1 / 2%:R /\ fcs (only (batch [:: 0; 1]%N)) (law p) (law q) = 0.
Proof.
by move=> p q; rewrite fcs_list (tv_states (f := nth 0 p) (g := nth 0 q)).
Qed.

(* ... and batches {0, 1} and {1, 2}, each in half of the draws, cover every state.               *)
Theorem fcs_zero_of_different_laws :
  let p := [:: 2%:R / 4%:R; 0; 2%:R / 4%:R] in let q := [:: 1 / 4%:R; 0; 3%:R / 4%:R] in
  let r B := (only (batch [:: 0; 1]%N) B + only (batch [:: 1; 2]%N) B) / 2%:R in
  tv (law p) (law q) = 1 / 4%:R /\ fcs r (law p) (law q) = 0.
Proof.
move=> p q r; rewrite (tv_states (f := nth 0 p) (g := nth 0 q)) //; split.
  by apply/eqP; vm_compute.
have -> : fcs r (law p) (law q) = (fcs (only (batch [:: 0; 1]%N)) (law p) (law q) +
                                   fcs (only (batch [:: 1; 2]%N)) (law p) (law q)) / 2%:R.
  by rewrite /fcs -big_split mulr_suml; apply: eq_bigr => B _ /=; rewrite -mulrDl mulrAC.
by rewrite !fcs_list; apply/eqP; vm_compute.
Qed.
End Counterexamples.
