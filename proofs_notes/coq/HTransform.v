(* The backward policy on the lift that does have the law of trajectories of a base policy: its
   h-transform.  It shows that the hypothesis of Markovian.v, stated for laws, is also met by
   policies that are normalised on the lift, and how they depend on the latent.                   *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies Normalisation TrajectoryBalance Flow Lift Markovian Triviality.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* h(v): the p~_B-probability that the history of the state below v has the latent of v.          *)
Definition history_mass (G : pointedDAG) (L : lift G) (K : fieldType)
    (pB : G -> G -> K) (v : L) : K := mass (copied_policy pB) src v.

(* p*_B(u | v) = p~_B(s | s') h(u) / h(v).                                                        *)
Definition h_transform (G : pointedDAG) (L : lift G) (K : fieldType)
    (pB : G -> G -> K) (u v : L) : K :=
  copied_policy pB u v * history_mass pB u / history_mass pB v.

Lemma weight_copied (G : pointedDAG) (L : lift G) (K : fieldType) (pB : G -> G -> K) (p : seq L) :
  weight (copied_policy pB) src p = copied_weight pB p.
Proof. by rewrite /copied_weight -(base_src L); elim: p src => //= v p IH u; rewrite IH. Qed.

(* The latents of a state share its backward probability: h sums to one over the lifts of s.      *)
Theorem history_mass_sums_to_one (G : pointedDAG) (L : lift G) (K : fieldType)
    (pB : G -> G -> K) (s : G) :
  backward_policy pB -> \sum_(v : L | base v == s) history_mass pB v = 1.
Proof.
move=> norm; rewrite -(backward_mass s norm) /mass -(sum_lifted_trajectories L).
apply: eq_bigr => v _; apply: eq_bigr => p _; exact: weight_copied.
Qed.

(* If h vanishes nowhere, the h-transform is a backward policy on the lift, and it gives every
   complete trajectory the probability that p~_B gives to its base.                               *)
Theorem h_transform_law (G : pointedDAG) (L : lift G) (K : fieldType) (pB : G -> G -> K) :
  backward_policy pB -> (forall v : L, history_mass pB v != 0) ->
  backward_policy (h_transform (L := L) pB) /\
  forall p : seq L, complete p -> weight (h_transform pB) src p = copied_weight pB p.
Proof.
move=> norm h0; split=> [v|p /andP[sp tp]].
  rewrite src_unique => vs; rewrite -mulr_suml -[X in X / _](_ : history_mass pB v = _) ?divff //.
  by rewrite /history_mass mass_last //; apply: eq_bigr => u _; rewrite mulrC.
have h1 : history_mass pB (last src p) = 1.
  rewrite -(copied_weight_sums_to_one norm tp).
  by apply: eq_bigr => q _; apply: weight_copied.
have telescope u : weight (h_transform pB) u p =
    weight (copied_policy pB) u p * history_mass pB u / history_mass pB (last u p).
  elim: p u {sp tp h1} => [|v p IH] u /=; first by rewrite mul1r divff.
  rewrite IH /h_transform [_ * history_mass pB v]mulrC -!mulrA mulKf //.
  by congr (_ * _); rewrite mulrCA.
by rewrite telescope h1 invr1 mulr1 /history_mass mass_refl mulr1 weight_copied.
Qed.

(* The flow of the h-transform is that of the base policy, shared among the lifts by h.           *)
Theorem h_transform_flow (G : pointedDAG) (L : lift G) (K : fieldType) (pB : G -> G -> K)
    (R : G -> K) :
  backward_policy pB -> (forall v : L, history_mass pB v != 0) ->
  forall v : L, backward_flow (h_transform pB) (fun x => R (base x)) v =
                backward_flow pB R (base v) * history_mass pB v.
Proof.
move=> norm h0 v; elim/reverse_topological_ind: v => v IH; case: (boolP (terminal v)) => tv.
  rewrite !flow_terminal ?terminal_base //; suff -> : history_mass pB v = 1 by rewrite mulr1.
  rewrite -(copied_weight_sums_to_one norm tv); apply: eq_bigr => p _; exact: weight_copied.
rewrite !flow_children ?terminal_base // mulr_suml sum_children; apply: eq_bigr => s vs.
rewrite IH ?step_edge // base_step // /h_transform /copied_policy base_step //.
by rewrite [backward_flow _ _ _ * _]mulrC mulrA divfK // mulrAC.
Qed.

(* prop:markovian for a p_B on the lift that is a function k of the states alone, normalised on the
   base or not: p_F is Markovian where it goes.                                                   *)
Theorem copied_policy_is_markovian (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF : L -> L -> K) (k : G -> G -> K) (R : G -> K) (Z : K) :
  forward_policy pF ->
  trajectory_balance pF (weight (copied_policy k) src) (fun x => R (base x)) Z -> Z != 0 ->
  forall u v : L, mass pF src u != 0 -> edge u v -> pF u v = flow_policy k R (base u) (base v).
Proof.
move=> norm tb Z0; apply: (markovian_where_visited norm _ Z0) => p cp.
by rewrite -weight_copied; apply: tb.
Qed.
