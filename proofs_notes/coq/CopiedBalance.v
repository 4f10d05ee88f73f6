(* prop:lifted_balance with p_B copied from the base graph, as implementations do with a uniform
   p_B.  The terminal law is right (Markovian.v, [copied_tb_terminal_law]); the flows of the inner
   lifted states are not their visit probabilities, unless the lift has no memory.                *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies Normalisation SubtrajectoryBalance.
From Pdai Require Import Lift Markovian Triviality HTransform.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* Exact form: F(s_o) p_T(v) = F(v) h(v), with h(v) the p~_B-probability that the history of the
   state below v has the latent of v (HTransform.v).                                              *)
Theorem copied_subtb_exact (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF : L -> L -> K) (pB : G -> G -> K) (F : L -> K) :
  subtrajectory_balance pF (copied_policy pB) F ->
  forall v, F src * mass pF src v = F v * history_mass pB v.
Proof. exact: subtb_exact. Qed.

(* For flows that vanish nowhere, p_T(v) = F(v) / F(s_o) holds at every lifted state v if and only
   if no state has two lifts.                                                                     *)
Theorem copied_subtb_state_marginals (G : pointedDAG) (L : lift G) (K : numFieldType)
    (pF : L -> L -> K) (pB : G -> G -> K) (F : L -> K) :
  backward_policy pB -> (forall v, F v != 0) ->
  subtrajectory_balance pF (copied_policy pB) F ->
  (forall v, mass pF src v = F v / F src) <-> injective (base : L -> G).
Proof.
move=> norm F0 bal; split=> [marginals|inj v]; last first.
  have norm_copied := (copied_policy_normalised L norm).2 inj.
  apply: (mulfI (F0 src)); rewrite (copied_subtb_exact bal) /history_mass backward_mass //.
  by rewrite mulr1 mulrCA mulfV ?mulr1.
have h1 (v : L) : history_mass pB v = 1.
  by apply: (mulfI (F0 v)); rewrite -(copied_subtb_exact bal) marginals mulrCA mulfV.
move=> u v uv; suff /card_le1_eqP one : (#|[pred w : L | base w == base u]| <= 1)%N.
  by apply: one; rewrite inE ?uv.
have := history_mass_sums_to_one L (base u) norm.
under eq_bigr => w _ do rewrite h1.
by rewrite sumr_const => /eqP; rewrite pnatr_eq1 => /eqP->.
Qed.
