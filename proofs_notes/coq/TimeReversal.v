(* The converse of Markovian.v: a Markovian p_F forces the backward law of trajectories to be that of
   one backward policy of the base, the time reversal of p_F.                                     *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies TrajectoryBalance Lift Markovian.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* p(s | s') = p_T(s) q(s' | s) / p_T(s'), with p_T(s) the probability that q visits s.           *)
Definition time_reversal (G : pointedDAG) (K : fieldType) (q : G -> G -> K) (s s' : G) : K :=
  mass q src s * q s s' / mass q src s'.

(* If q visits every state, its reversal is a backward policy, and q gives a trajectory to s the
   probability of s times that of the reversed trajectory.                                        *)
Theorem time_reversal_law (G : pointedDAG) (K : fieldType) (q : G -> G -> K) :
  (forall s, mass q src s != 0) ->
  backward_policy (time_reversal q) /\
  forall p, weight q src p = mass q src (last src p) * weight (time_reversal q) src p.
Proof.
move=> visited; split=> [s|p].
  by rewrite src_unique => so; rewrite -mulr_suml -mass_last // divff.
elim/last_ind: p => [|p s IH]; first by rewrite mass_refl mulr1.
rewrite !weight_rcons last_rcons IH /time_reversal [RHS]mulrC -[RHS]mulrA divfK //.
by rewrite -mulrA mulrCA.
Qed.

(* Trajectory balance with weights B of total one into each terminal state: if p_F is Markovian, by
   a policy q of the base that visits every state, then B is the law of the reversal of q.        *)
Theorem markovian_only_if (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF : L -> L -> K) (q : G -> G -> K) (B : seq L -> K) (R : G -> K) (Z : K) :
  (forall u v, edge u v -> pF u v = q (base u) (base v)) -> (forall s, mass q src s != 0) ->
  (forall x, terminal x -> R x != 0) ->
  (forall x, terminal x -> \sum_(p <- trajs src x) B p = 1) ->
  trajectory_balance pF B (fun x => R (base x)) Z ->
  forall p, complete p -> B p = copied_weight (time_reversal q) p.
Proof.
move=> markov visited R0 B1 tb p cp; have /andP[sp tp] := cp.
have weight_base w : path edge (src : L) w -> weight pF src w = weight q src (map base w).
  rewrite -(base_src L); elim: w (src : L) => //= v w IH u /andP[uv vw].
  by rewrite markov // IH.
have x_law : Z * mass q src (base (last src p)) = R (base (last src p)).
  rewrite -[RHS]mulr1 -(B1 _ tp) -(tb_exact tb tp) /mass -(sum_lifted_terminal _ tp).
  by congr (_ * _); apply: eq_big_seq => w; rewrite mem_trajs => /andP[/weight_base].
have Rx : R (base (last src p)) != 0 by rewrite R0 ?terminal_base.
apply: (mulfI Rx); rewrite -tb // weight_base // (time_reversal_law visited).2 mulrA.
have -> : last src (map base p) = base (last src p) by rewrite -(base_src L) last_map.
by rewrite x_law.
Qed.
