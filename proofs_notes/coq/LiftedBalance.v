(* prop:lifted_balance, col:tb and col:cb on a lifted pointed DAG, for a target R on the states of
   the base: the theorems about pointed DAGs, read on the lift.  p_B is a backward policy on the
   transposed lifted graph.                                                                       *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies TrajectoryBalance SubtrajectoryBalance ContrastiveBalance.
From Pdai Require Import Lift.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* prop:lifted_balance: every lifted state v is visited with probability F(v) / F(s_o).           *)
Theorem lifted_subtb (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF pB : L -> L -> K) (F : L -> K) (R : G -> K) :
  forward_policy pF -> backward_policy pB -> state_flow F (fun x => R (base x)) ->
  subtrajectory_balance pF pB F ->
  \sum_(y : G | terminal y) R y != 0 ->
  F src = \sum_(y : G | terminal y) R y /\ forall v, mass pF src v = F v / F src.
Proof. by rewrite -(sum_terminals L); apply: subtb_state_marginals. Qed.

(* col:tb.                                                                                        *)
Theorem lifted_tb (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF pB : L -> L -> K) (R : G -> K) (Z : K) :
  forward_policy pF -> backward_policy pB ->
  trajectory_balance pF (weight pB src) (fun x => R (base x)) Z ->
  \sum_(y : G | terminal y) R y != 0 ->
  Z = \sum_(y : G | terminal y) R y /\
  forall x : L, terminal x -> mass pF src x = R (base x) / \sum_(y : G | terminal y) R y.
Proof. by rewrite -(sum_terminals L); apply: tb_terminal_law. Qed.

(* col:cb, for all pairs of complete trajectories.                                                *)
Theorem lifted_cb (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF pB : L -> L -> K) (R : G -> K) :
  forward_policy pF -> backward_policy pB ->
  contrastive_balance pF (weight pB src) (fun x => R (base x)) ->
  \sum_(y : G | terminal y) R y != 0 ->
  forall x : L, terminal x -> mass pF src x = R (base x) / \sum_(y : G | terminal y) R y.
Proof. by rewrite -(sum_terminals L); apply: cb_terminal_law. Qed.
