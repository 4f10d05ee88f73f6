(* The definitions of these proofs are those of MathComp-analysis, whose type {distr T / R} holds
   laws on a set T: p_T is the law of a walk in its monad, and TV the largest difference of the
   probabilities that it gives to one event.                                                      *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets.
From mathcomp.analysis Require Import reals.
From mathcomp.analysis.altreals Require Import realsum distr.
From Pdai Require Import Dag Policies Residuals Distance.
From PdaiReals Require Import Divergence ResidualBound.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Events.
Variables (I : finType) (R : realType).
Implicit Types P Q : {distr I / R}.

Lemma pr_sum P (A : pred I) : \P_[P] A = \sum_(i | A i) P i.
Proof.
rewrite /pr psum_fin [RHS]big_mkcond; apply: eq_bigr => i _.
by rewrite ger0_norm ?mulr_ge0 ?ler0n //; case: (A i); rewrite ?mul1r ?mul0r.
Qed.

(* TV of two laws of the library, of mass 1.                                                      *)
Theorem tv_is_sup_over_events P Q : \P_[P] predT = 1 -> \P_[Q] predT = 1 ->
  tv P Q = sup [set t | exists A : pred I, t = `|\P_[P] A - \P_[Q] A|]%classic.
Proof.
rewrite !pr_sum => P1 Q1; have [below [A at_A]] := tv_is_largest_difference P1 Q1.
set S := [set _ | _]%classic; have ub : ubound S (tv P Q).
  by move=> t [B ->]; rewrite !pr_sum.
have at_S : S (tv P Q).
  exists A; rewrite !pr_sum at_A ger0_norm //.
  by rewrite /tv divr_ge0 ?ler0n // sumr_ge0.
apply/eqP; rewrite eq_le; apply/andP; split.
  by apply: sup_ub => //; exists (tv P Q).
by apply: sup_le_ub => //; exists (tv P Q).
Qed.

(* The law of the end of a trajectory is the library's image.                                     *)
Theorem ends_is_image (X : finType) (end_of : I -> X) P x :
  dmargin end_of P x = ends end_of P x.
Proof.
rewrite dmargin_psumE psum_fin /ends [RHS]big_mkcond; apply: eq_bigr => i _.
by rewrite ger0_norm ?mulr_ge0 ?ler0n //; case: eqP; rewrite ?mul1r ?mul0r.
Qed.
End Events.

Section Walk.
Variables (G : pointedDAG) (R : realType) (pF : G -> G -> R).
Hypotheses (pF_ge0 : forall u v, edge u v -> 0 <= pF u v) (pF_sum : forward_policy pF).

(* One step: from a state to a child by the policy; a terminal state stays.                       *)
Definition moves (u v : G) : R :=
  if terminal u then (u == v)%:R else if edge u v then pF u v else 0.

Lemma moves_distr u : isdistr (moves u).
Proof.
apply/isdistr_finP; split=> [v|]; rewrite /moves.
  by case: ifP => _; rewrite ?ler0n //; case: ifP => // uv; apply: pF_ge0.
have [_|nu] := boolP (terminal u); last by rewrite -big_mkcond pF_sum.
by rewrite (bigD1 u) //= eqxx big1 ?addr0 // => v; rewrite eq_sym => /negbTE->.
Qed.

Definition step (u : G) : {distr G / R} := mkdistr (moves_distr u).

(* The library's own lemma on two steps in turn, dlet_dlet, rests on a sum that version 0.6.0
   exchanges without proof; on finite types no such exchange is needed.                           *)
Lemma dlet_sum (f : G -> {distr G / R}) (P : {distr G / R}) y :
  dlet f P y = \sum_x P x * f x y.
Proof. by rewrite dletE psum_fin; apply: eq_bigr => x _; rewrite ger0_norm ?mulr_ge0. Qed.

Lemma walk_first n u x : diter n.+1 step u x = \sum_v step u v * diter n step v x.
Proof.
elim: n x => [|n IH] x.
  rewrite /diter /= /dlift dlet_unit (bigD1 x) //= dunit1E eqxx mulr1 big1 ?addr0 // => v vx.
  by rewrite dunit1E (negbTE vx) mulr0.
have -> : diter n.+2 step u x = \sum_v diter n.+1 step u v * step v x by rewrite -dlet_sum.
under eq_bigr => v _ do rewrite IH mulr_suml.
rewrite exchange_big; apply: eq_bigr => w _ /=.
have -> : diter n.+1 step w x = \sum_v diter n step w v * step v x by rewrite -dlet_sum.
by rewrite mulr_sumr; apply: eq_bigr => v _; rewrite mulrA.
Qed.

Lemma walk_law n u x : (forall p, path edge u p -> (size p <= n)%N) ->
  diter n step u x = if terminal x then mass pF u x else 0.
Proof.
elim: n u => [|n IH] u short.
  have tu : terminal u.
    by apply/forallP => v; apply/negP => uv; have := short [:: v]; rewrite /= uv => /(_ isT).
  rewrite dunit1E mass_first big_pred0 => [|v]; last by apply/negbTE/(forallP tu).
  by rewrite addr0; case: (eqVneq u x) => [<-|]; rewrite ?tu // if_same.
rewrite walk_first; have [tu|nu] := boolP (terminal u).
  rewrite (bigD1 u) //= big1 => [|v vu]; last by rewrite /moves tu eq_sym (negbTE vu) mul0r.
  rewrite /moves tu eqxx mul1r addr0 IH // => p up; case: p up => // v p /andP[uv _].
  by move/forallP/(_ v): tu; rewrite uv.
transitivity (\sum_(v | edge u v) pF u v * (if terminal x then mass pF v x else 0)).
  rewrite [RHS]big_mkcond; apply: eq_bigr => v _; rewrite /= /moves (negbTE nu).
  case: ifP => [uv|]; last by rewrite mul0r.
  rewrite IH // => p vp; have := short (v :: p); rewrite /= uv vp ltnS; exact.
case: ifP => [tx|_]; last by rewrite big1 // => v _; rewrite mulr0.
rewrite [RHS]mass_first; case: eqP => [ux|_]; last by rewrite add0r.
by rewrite ux tx in nu.
Qed.

(* p_T is the law of a walk of #|G| or more steps from s_o.                                       *)
Theorem terminal_law_is_walk n x : (#|G| <= n)%N ->
  diter n step src x = if terminal x then mass pF src x else 0.
Proof. by move=> big; apply: walk_law => p /path_short/ltnW/leq_trans; apply. Qed.
End Walk.
