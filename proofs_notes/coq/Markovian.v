(* When is the sampler Markovian (prop:markovian, repaired).

   As printed, prop:markovian assumes that a backward policy of the base, copied to the edges of
   the lift, is a backward policy there; then the lift has no memory (Triviality.v).  Repaired, the
   hypothesis is on the law of trajectories: balance holds on every complete trajectory with the
   product of p~_B along the base trajectory as its backward probability.                         *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Dag Policies Normalisation TrajectoryBalance ContrastiveBalance.
From Pdai Require Import SubtrajectoryBalance Flow Lift.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* The product of p~_B(s_t | s_{t+1}) along the base of the lifted trajectory p.                  *)
Definition copied_weight (G : pointedDAG) (L : lift G) (K : fieldType)
    (pB : G -> G -> K) (p : seq L) : K := weight pB src (map base p).

(* It has total one over the trajectories into a terminal state, although p~_B copied to the edges
   of the lift is in general not normalised there.                                                *)
Lemma copied_weight_sums_to_one (G : pointedDAG) (L : lift G) (K : fieldType) (pB : G -> G -> K) :
  backward_policy pB ->
  forall x : L, terminal x -> \sum_(p <- trajs src x) copied_weight pB p = 1.
Proof.
move=> norm x tx; rewrite (sum_lifted_terminal (weight pB src)) //.
exact: backward_mass.
Qed.

(* Z p_F(p) = p~_B(p) F~(s) on every lifted trajectory p, complete or not, s its last state.      *)
Lemma flow_identity (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF : L -> L -> K) (pB : G -> G -> K) (R : G -> K) (Z : K) :
  forward_policy pF ->
  trajectory_balance pF (copied_weight pB) (fun x => R (base x)) Z ->
  forall p : seq L, path edge src p ->
  Z * weight pF src p = copied_weight pB p * backward_flow pB R (base (last src p)).
Proof.
move=> norm tb p; move: {2}(last src p) (erefl (last src p)) => u.
elim/reverse_topological_ind: u p => u IH p lp sp; rewrite lp.
case tu: (terminal u).
  by rewrite flow_terminal ?terminal_base // tb /complete ?sp lp // mulrC.
have nu : ~~ terminal u by rewrite tu.
rewrite -[LHS]mulr1 -(norm u nu) mulr_sumr flow_children ?terminal_base // mulr_sumr.
rewrite sum_children; apply: eq_bigr => s us; pose v := step u s; have uv := step_edge us.
rewrite -{2 3}(base_step us) -/v.
have := IH v uv (rcons p v); rewrite last_rcons rcons_path sp lp uv => /(_ erefl isT).
by rewrite /copied_weight map_rcons !weight_rcons -(base_src L) last_map lp !mulrA.
Qed.

(* prop:markovian, repaired: at every lifted state u that the sampler visits,
   p_F(v | u) = p~_B(s | s') F~(s') / F~(s), which depends only on the states s, s' below u, v.   *)
Theorem markovian_where_visited (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF : L -> L -> K) (pB : G -> G -> K) (R : G -> K) (Z : K) :
  forward_policy pF ->
  trajectory_balance pF (copied_weight pB) (fun x => R (base x)) Z -> Z != 0 ->
  forall u v : L, mass pF src u != 0 -> edge u v ->
  pF u v = flow_policy pB R (base u) (base v).
Proof.
move=> norm tb Z0 u v visited uv.
have [p up pF0] : exists2 p, p \in trajs src u & weight pF src p != 0.
  apply/hasP; apply: contraNT visited => /hasPn none; apply/eqP.
  by rewrite /mass big_seq big1 // => p /none; rewrite negbK => /eqP.
move: up; rewrite mem_trajs => /andP[sp /eqP lp].
have := flow_identity norm tb (p := rcons p v).
rewrite rcons_path sp lp uv last_rcons => /(_ isT).
have := flow_identity norm tb sp; rewrite lp /copied_weight map_rcons !weight_rcons.
rewrite -(base_src L) last_map lp => Zp Zpv.
have nz : Z * weight pF src p != 0 by rewrite mulf_neq0.
have F0 : backward_flow pB R (base u) != 0.
  by apply: contraNneq nz => F0; rewrite Zp F0 mulr0.
apply: (mulfI nz); rewrite -[LHS]mulrA Zpv Zp /flow_policy -!mulrA; congr (_ * _).
by rewrite [RHS]mulrC -!mulrA mulVf // mulr1.
Qed.

(* With R > 0 and p~_B > 0 on every edge, p_F is Markovian everywhere.                            *)
Theorem markovian_everywhere (G : pointedDAG) (L : lift G) (K : numFieldType)
    (pF : L -> L -> K) (pB : G -> G -> K) (R : G -> K) (Z : K) :
  (forall x, terminal x -> 0 < R x) -> (forall s s', edge s s' -> 0 < pB s s') ->
  forward_policy pF ->
  trajectory_balance pF (copied_weight pB) (fun x => R (base x)) Z ->
  forall u v : L, edge u v -> pF u v = flow_policy pB R (base u) (base v).
Proof.
move=> R_pos pB_pos norm tb u; have F_pos := flow_positive R_pos pB_pos.
have Z_src : Z = backward_flow pB R (base (src : L)).
  by have := flow_identity norm tb (p := [::]) isT; rewrite mulr1 mul1r.
have Z0 : Z != 0 by rewrite Z_src lt0r_neq0.
move=> v; apply: (markovian_where_visited norm tb) => //.
suff: Z * mass pF src u != 0 by rewrite mulf_eq0 negb_or => /andP[].
rewrite /mass mulr_sumr lt0r_neq0 //.
have Zp_pos p : p \in trajs src u -> 0 < Z * weight pF src p.
  rewrite mem_trajs => /andP[sp _]; rewrite (flow_identity norm tb) // mulr_gt0 //.
  by apply: weight_positive pB_pos _; rewrite -(base_src L) base_path.
have [p sp] := reached u; rewrite -mem_trajs in sp.
rewrite (big_rem p) //= ltr_paddr ?Zp_pos // big_seq sumr_ge0 // => q /mem_rem qu.
exact/ltW/Zp_pos.
Qed.

(* If p~_B is normalised on the base, the terminal law is the target ...                          *)
Theorem copied_tb_terminal_law (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF : L -> L -> K) (pB : G -> G -> K) (R : G -> K) (Z : K) :
  forward_policy pF -> backward_policy pB ->
  trajectory_balance pF (copied_weight pB) (fun x => R (base x)) Z ->
  \sum_(y : G | terminal y) R y != 0 ->
  Z = \sum_(y : G | terminal y) R y /\
  forall x : L, terminal x -> mass pF src x = R (base x) / \sum_(y : G | terminal y) R y.
Proof.
move=> normF normB tb; rewrite -(sum_terminals L).
exact: tb_total_weight_one normF (copied_weight_sums_to_one normB) tb.
Qed.

(* ... and contrastive balance is as good as trajectory balance.                                  *)
Theorem copied_cb_implies_tb (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF : L -> L -> K) (pB : G -> G -> K) (R : G -> K) :
  forward_policy pF -> backward_policy pB ->
  contrastive_balance pF (copied_weight pB) (fun x => R (base x)) ->
  trajectory_balance pF (copied_weight pB) (fun x => R (base x)) (\sum_(y : G | terminal y) R y).
Proof.
move=> normF normB cb; rewrite -(sum_terminals L).
exact: cb_implies_tb normF (copied_weight_sums_to_one normB) cb.
Qed.

(* The hypotheses can be met, on every lift: by the forward policy of the flow, copied.           *)
Theorem markovian_hypotheses_met (G : pointedDAG) (L : lift G) (K : numFieldType)
    (pB : G -> G -> K) (R : G -> K) :
  (forall x, terminal x -> 0 < R x) -> (forall s s', edge s s' -> 0 < pB s s') ->
  exists pF : L -> L -> K, forward_policy pF /\
  trajectory_balance pF (copied_weight pB) (fun x => R (base x)) (backward_flow pB R src).
Proof.
move=> R_pos pB_pos; have F0 s := lt0r_neq0 (flow_positive R_pos pB_pos s).
pose pF (u v : L) := flow_policy pB R (base u) (base v); exists pF.
have [norm bal] := flow_policy_balances F0; split=> [u nu|p].
  rewrite -(norm (base u)) ?terminal_base // sum_children.
  by apply: eq_bigr => s us; rewrite /pF base_step.
move/(unique_path_lifting L).1 => [cp _].
have -> : weight pF src p = weight (flow_policy pB R) src (map base p).
  by rewrite -(base_src L); elim: p (src : L) {cp} => //= v p IH u; rewrite IH.
rewrite (subtb_implies_tb (@flow_terminal _ _ pB R) bal cp).
by rewrite -(last_map base) base_src.
Qed.
