(* The converse of Markovian.v: a Markovian p_F forces the backward law of trajectories to be that of
   one backward policy of the base, the time reversal of p_F.                                     *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Dag Policies TrajectoryBalance Flow Lift Markovian.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
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

(* Zeros allowed.  A balanced p_F is Markovian on the lifted states that it visits if and only if one
   base policy has the law of B for every terminal state whose reward is not 0.                   *)
Theorem markovian_iff (G : pointedDAG) (L : lift G) (K : numFieldType)
    (pF : L -> L -> K) (B : seq L -> K) (R : G -> K) (Z : K) :
  forward_policy pF -> (forall u v, edge u v -> 0 <= pF u v) -> Z != 0 ->
  (forall x, terminal x -> \sum_(p <- trajs src x) B p = 1) ->
  trajectory_balance pF B (fun x => R (base x)) Z ->
  (exists q : G -> G -> K,
     forall u v, mass pF src u != 0 -> edge u v -> pF u v = q (base u) (base v)) <->
  (exists2 pB : G -> G -> K, backward_policy pB &
     forall p, complete p -> R (base (last src p)) != 0 -> B p = copied_weight pB p).
Proof.
move=> norm pos Z0 B1 tb; split=> [[q markov]|[pB _ law]]; last first.
  exists (flow_policy pB R); apply: (markovian_where_visited norm _ Z0) => p cp; rewrite tb //.
  by have [->|/(law p cp)->] := eqVneq (R (base (last src p))) 0; rewrite ?mul0r.
have weight_le (H : dag) (k : H -> H -> K) (k0 : forall u v, edge u v -> 0 <= k u v) o p :
    path edge o p -> 0 <= weight k o p <= mass k o (last o p).
  have ge0 u w : path edge u w -> 0 <= weight k u w.
    elim: w u => [|v w IH] u /=; first by rewrite ler01.
    by case/andP=> uv /IH; apply: mulr_ge0; apply: k0.
  move=> op; rewrite ge0 // /mass (big_rem p) ?mem_trajs ?op ?eqxx //= ler_addl big_seq.
  by apply: sumr_ge0 => w /mem_rem; rewrite mem_trajs => /andP[/ge0].
pose seen s := [exists u : L, (base u == s) && (mass pF src u != 0)].
pose Q s s' := if seen s then q s s' else 0; pose m := mass Q src.
have Q_pos s s' : edge s s' -> 0 <= Q s s'.
  move=> ss'; rewrite /Q /seen; case: existsP => // -[u /andP[/eqP us mu]].
  have us' : edge (base u) s' by rewrite us.
  by have := markov u _ mu (step_edge us'); rewrite base_step // us => <-; apply/pos/step_edge.
have same p : path edge (src : L) p -> weight pF src p = weight Q src (map base p).
  elim/last_ind: p => //= p v IH; rewrite rcons_path map_rcons !weight_rcons => /andP[sp pv].
  rewrite -IH // -(base_src L) last_map; have [->|w0] := eqVneq (weight pF src p) 0.
    by rewrite !mul0r.
  have mu : mass pF src (last src p) != 0.
    have /andP[ge0 le] := weight_le _ _ pos _ _ sp.
    by rewrite gt_eqF // (lt_le_trans _ le) // lt0r w0.
  congr (_ * _); rewrite (markov _ _ mu pv) /Q; suff -> : seen (base (last src p)) by [].
  by apply/existsP; exists (last src p); rewrite eqxx.
pose pB s s' := if m s' == 0 then uniform_backward K s s' else m s * Q s s' / m s'.
have reversed p : path edge (src : G) p -> weight pB src p * m (last src p) = weight Q src p.
  elim/last_ind: p => [|p s IH]; first by rewrite /m mass_refl mulr1.
  move=> sps; have /andP[ge0 le] := weight_le _ _ Q_pos _ _ sps; move: sps ge0 le.
  rewrite rcons_path last_rcons !weight_rcons => /andP[sp _] ge0.
  rewrite -/(m s) /pB; case: eqP => [->|/eqP ms _]; last by rewrite -(IH sp) -[LHS]mulrA divfK // mulrA.
  by rewrite mulr0 => le0; apply/eqP; rewrite eq_le ge0 le0.
exists pB => [s|p cp Rx].
  rewrite src_unique => ss; rewrite /pB; case: eqP => [_|/eqP ms].
    by apply: uniform_backward_policy; rewrite src_unique.
  by rewrite -mulr_suml -mass_last // divff.
have /andP[sp tp] := cp; apply: (mulfI Rx); rewrite -tb // same // -reversed; last first.
  by rewrite -(base_src L) base_path.
rewrite mulrCA mulrC; congr (_ * _).
rewrite -[RHS]mulr1 -(B1 _ tp) -(tb_exact tb tp); congr (_ * _).
rewrite -(base_src L) last_map /m /mass -(sum_lifted_terminal _ tp); apply: eq_big_seq => w.
by rewrite mem_trajs => /andP[/same ->].
Qed.
