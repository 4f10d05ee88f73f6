(* Two states that look alike, without memory (state-aliasing, 1).

   a false and a true are states with two children each, the ends x i and y i, which have no other
   parent.  A policy without memory has the same row at both.                                     *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Dag Policies Normalisation TrajectoryBalance.
From Pdai Require Import SubtrajectoryBalance Flow.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Aliased.
Variables (G : pointedDAG) (K : numFieldType) (a x y : bool -> G).
Hypotheses (a_edge : forall i v, edge (a i) v = (v == x i) || (v == y i)).
Hypotheses (x_edge : forall i u, edge u (x i) = (u == a i)).
Hypotheses (y_edge : forall i u, edge u (y i) = (u == a i)).
Hypotheses (x_y : forall i, y i != x i).
Hypotheses (x_end : forall i, terminal (x i)) (y_end : forall i, terminal (y i)).

Definition alike (pF : G -> G -> K) :=
  pF (a false) (x false) = pF (a true) (x true) /\ pF (a false) (y false) = pF (a true) (y true).

Lemma one_parent_mass (pF : G -> G -> K) (z u : G) : (forall w, edge w z = (w == u)) ->
  mass pF src z = mass pF src u * pF u z.
Proof.
move=> zu; rewrite mass_last ?(big_pred1 u) // -src_unique.
by apply/forallPn; exists u; rewrite zu eqxx.
Qed.

(* The positive laws of such policies are those with p(x_1) p(y_2) = p(x_2) p(y_1).               *)
Theorem laws_without_memory (p : G -> K) :
  (forall z, terminal z -> 0 < p z) -> \sum_(z | terminal z) p z = 1 ->
  (exists pF : G -> G -> K, [/\ forward_policy pF, forall u v, edge u v -> 0 < pF u v, alike pF
     & forall z, terminal z -> mass pF src z = p z]) <->
  p (x false) * p (y true) = p (x true) * p (y false).
Proof.
move=> p_pos p1; split=> [[pF [_ _ [xx yy] law]]|cross].
  rewrite -!law // !(one_parent_mass _ (x_edge _)) !(one_parent_mass _ (y_edge _)) xx yy.
  by rewrite mulrACA [RHS]mulrACA; congr (_ * _); apply: mulrC.
pose pB : G -> G -> K := @uniform_backward G K; pose F := backward_flow pB p.
have [norm normB flow bal F_pos] : [/\ forward_policy (flow_policy pB p), backward_policy pB,
    state_flow F p, subtrajectory_balance (flow_policy pB p) pB F & forall s, 0 < F s].
  exact: balanced_policies_exist.
have p0 : \sum_(z | terminal z) p z != 0 by rewrite p1 oner_eq0.
have [F_src visits] := subtb_state_marginals norm normB flow bal p0.
have one z u : (forall w, edge w z = (w == u)) -> pB u z = 1.
  move=> zu; rewrite /pB /uniform_backward (eq_card (B := pred1 u)) => [|w]; last exact: zu.
  by rewrite card1 invr1.
have Fa i : F (a i) = p (x i) + p (y i).
  have ni : ~~ terminal (a i) by apply/forallPn; exists (x i); rewrite negbK x_edge.
  rewrite /F flow_children // (bigD1 (x i)) ?a_edge ?eqxx //= (bigD1 (y i)) /=; last first.
    by rewrite a_edge eqxx orbT x_y.
  rewrite big1 ?addr0 => [|v /andP[/andP[+ vx] vy]]; last first.
    by rewrite a_edge (negbTE vx) (negbTE vy).
  by rewrite -/pB !(one _ (a i)) ?mul1r ?flow_terminal.
have pos i : p (x i) + p (y i) != 0 by rewrite gt_eqF // addr_gt0 ?p_pos.
have rx i : flow_policy pB p (a i) (x i) = p (x i) / (p (x i) + p (y i)).
  by rewrite /flow_policy one // mul1r -/F Fa /F flow_terminal.
have ry i : flow_policy pB p (a i) (y i) = p (y i) / (p (x i) + p (y i)).
  by rewrite /flow_policy one // mul1r -/F Fa /F flow_terminal.
exists (flow_policy pB p); split=> // [u v uv||z tz].
- by rewrite divr_gt0 ?mulr_gt0 ?F_pos // /pB uniform_backward_positive.
- split; rewrite ?rx ?ry; apply/eqP; rewrite eqr_div //; apply/eqP; rewrite !mulrDr.
    by rewrite cross [p (x false) * _]mulrC.
  by rewrite [p (y false) * p (x true)]mulrC -cross [p (x false) * _]mulrC [p (y false) * _]mulrC.
by rewrite visits F_src p1 divr1 flow.
Qed.
End Aliased.
