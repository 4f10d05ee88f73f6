(* What local normalisation of the policies means for sums over trajectories: p_T is a distribution
   (eq:marginal), and the backward probabilities of the trajectories into a node sum to one (used
   in the proof of prop:lifted_balance).                                                          *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* If p_B is normalised at every node but s_o, the trajectories s_o -> v have total backward
   probability sum_tau p_B(tau | v) = 1, for every node v.                                        *)
Theorem backward_mass (G : pointedDAG) (K : fieldType) (pB : G -> G -> K) (v : G) :
  backward_policy pB -> mass pB src v = 1.
Proof.
move=> norm; elim/topological_ind: v => v IH.
have [->|vs] := eqVneq v src; first exact: mass_refl.
rewrite mass_last // -(norm v) ?src_unique //.
by apply: eq_bigr => u uv; rewrite IH ?mul1r.
Qed.

(* If p_F is normalised at every non-terminal state, the marginal p_T sums to one over X: what
   flows into the nodes flows out of the non-terminal ones.                                       *)
Theorem marginal_sums_to_one (G : pointedDAG) (K : fieldType) (pF : G -> G -> K) :
  forward_policy pF -> \sum_(x | terminal x) mass pF src x = 1.
Proof.
move=> norm; pose inner := \sum_(u : G | ~~ terminal u) mass pF src u.
have out : \sum_(v : G | v != src) mass pF src v = inner.
  under eq_bigr => v vs do rewrite mass_last //.
  rewrite (exchange_big_dep predT) //= (bigID (@terminal G)) /= big1 ?add0r => [|u tu]; last first.
    by rewrite big1 // => v /andP[_ uv]; move/forallP/(_ v): tu; rewrite uv.
  apply: eq_bigr => u nu; rewrite -mulr_sumr -[RHS]mulr1 -(norm u nu); congr (_ * _).
  apply: eq_bigl => v; apply: andb_idl => uv.
  by rewrite -src_unique; apply/forallPn; exists u; rewrite uv.
have all_nodes : \sum_(x : G | terminal x) mass pF src x + inner = 1 + inner.
  by rewrite -(bigID (@terminal G) predT) (bigD1 src) //= mass_refl out.
exact: addIr all_nodes.
Qed.
