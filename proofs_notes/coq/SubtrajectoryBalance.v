(* Subtrajectory balance (prop:lifted_balance), with its exact form for arbitrary p_B.

   The theorems hold for every pointed DAG; prop:lifted_balance is their instance at a lifted one
   (Lift.v, LatentLift.v).  p_B must then be normalised on the transposed LIFTED graph.           *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies Normalisation TrajectoryBalance.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* F is a state flow for R (def:flows).                                                           *)
Definition state_flow (G : dag) (K : fieldType) (F R : G -> K) :=
  forall x, terminal x -> F x = R x.

(* eq:conditionsa: whenever a complete trajectory is cut in three, F(s_i) p_F(s_{i+1:j} | s_i) =
   p_B(s_{i:j-1} | s_j) F(s_j) on the piece q in the middle, from s_i to s_j.                     *)
Definition subtrajectory_balance (G : pointedDAG) (K : fieldType)
    (pF pB : G -> G -> K) (F : G -> K) :=
  forall p q r, complete (p ++ q ++ r) ->
  let si := last src p in let sj := last src (p ++ q) in
  F si * weight pF si q = weight pB si q * F sj.

(* The pieces that start at s_o say: balance holds on every trajectory, complete or not.          *)
Lemma subtb_from_source (G : pointedDAG) (K : fieldType) (pF pB : G -> G -> K) (F : G -> K) :
  subtrajectory_balance pF pB F ->
  forall q, path edge src q -> F src * weight pF src q = weight pB src q * F (last src q).
Proof.
move=> bal q sq; have [r /andP[qr tr]] := reaches_terminal (last src q).
by apply: (bal [::] q r); rewrite /complete /= cat_path last_cat sq qr.
Qed.

(* Exact form: with b(v) the total p_B-weight of the trajectories into v,
   F(s_o) p_T(v) = F(v) b(v) at every node v.                                                     *)
Theorem subtb_exact (G : pointedDAG) (K : fieldType) (pF pB : G -> G -> K) (F : G -> K) :
  subtrajectory_balance pF pB F ->
  forall v, F src * mass pF src v = F v * mass pB src v.
Proof.
move=> bal v; rewrite /mass !mulr_sumr; apply: eq_big_seq => p.
rewrite mem_trajs => /andP[sp /eqP lp].
by rewrite (subtb_from_source bal sp) lp mulrC.
Qed.

(* prop:lifted_balance: the sampler visits v with probability F(v) / F(s_o), for every node v,
   terminal or not, and F(s_o) = sum R.                                                           *)
Theorem subtb_state_marginals (G : pointedDAG) (K : fieldType)
    (pF pB : G -> G -> K) (F R : G -> K) :
  forward_policy pF -> backward_policy pB -> state_flow F R ->
  subtrajectory_balance pF pB F ->
  \sum_(y | terminal y) R y != 0 ->
  F src = \sum_(y | terminal y) R y /\ forall v, mass pF src v = F v / F src.
Proof.
move=> normF normB flow bal R0.
have F_mass v : F src * mass pF src v = F v.
  by rewrite (subtb_exact bal) (backward_mass _ normB) mulr1.
have F_src : F src = \sum_(y | terminal y) R y.
  rewrite -[LHS]mulr1 -(marginal_sums_to_one normF) mulr_sumr.
  by apply: eq_bigr => x tx; rewrite F_mass flow.
by split=> // v; rewrite -F_mass mulrC mulKf // F_src.
Qed.

(* Its pieces with i = 0 and j = T are trajectory balance with Z = F(s_o).                        *)
Theorem subtb_implies_tb (G : pointedDAG) (K : fieldType)
    (pF pB : G -> G -> K) (F R : G -> K) :
  state_flow F R -> subtrajectory_balance pF pB F ->
  trajectory_balance pF (weight pB src) R (F src).
Proof.
by move=> flow bal p /andP[sp tp]; rewrite (subtb_from_source bal) // flow // mulrC.
Qed.

(* def:flows: weights on the edges and R leave one flow.  If F is in detailed balance with a forward
   policy, F(s) is the sum of B(s | v) F(v) over the children of s, from R on backwards.          *)
Theorem flow_is_unique (G : dag) (K : fieldType) (pF pF' B : G -> G -> K) (F F' R : G -> K) :
  forward_policy pF -> forward_policy pF' -> state_flow F R -> state_flow F' R ->
  (forall u v, edge u v -> F u * pF u v = B u v * F v) ->
  (forall u v, edge u v -> F' u * pF' u v = B u v * F' v) ->
  forall s, F s = F' s.
Proof.
move=> norm norm' flow flow' bal bal' s; elim/reverse_topological_ind: s => s IH.
case: (boolP (terminal s)) => ts; first by rewrite flow ?flow'.
rewrite -[LHS]mulr1 -[RHS]mulr1 -{1}(norm s ts) -(norm' s ts) !mulr_sumr.
by apply: eq_bigr => v sv; rewrite bal // bal' // IH.
Qed.
