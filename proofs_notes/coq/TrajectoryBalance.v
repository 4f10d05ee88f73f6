(* Trajectory balance (col:tb), with its exact form for arbitrary backward weights.               *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies Normalisation.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* Z p_F(tau | s_o) = R(x) B(tau) for every complete trajectory tau, x its terminal state.
   Trajectory balance proper (eq:tb) is B(tau) = p_B(tau | x), that is, B = weight pB src.        *)
Definition trajectory_balance (G : pointedDAG) (K : fieldType)
    (pF : G -> G -> K) (B : seq G -> K) (R : G -> K) (Z : K) :=
  forall p, complete p -> Z * weight pF src p = R (last src p) * B p.

(* Exact form: whatever the weights B, with b(x) the sum of B over the trajectories into x,
   Z p_T(x) = R(x) b(x) at every terminal state and Z is the sum of R b.                          *)
Theorem tb_exact (G : pointedDAG) (K : fieldType)
    (pF : G -> G -> K) (B : seq G -> K) (R : G -> K) (Z : K) :
  trajectory_balance pF B R Z ->
  forall x, terminal x -> Z * mass pF src x = R x * \sum_(p <- trajs src x) B p.
Proof.
move=> tb x tx; rewrite /mass !mulr_sumr; apply: eq_big_seq => p.
by rewrite mem_trajs => /andP[sp /eqP lp]; rewrite tb ?/complete ?sp ?lp.
Qed.

Theorem tb_exact_partition (G : pointedDAG) (K : fieldType)
    (pF : G -> G -> K) (B : seq G -> K) (R : G -> K) (Z : K) :
  forward_policy pF -> trajectory_balance pF B R Z ->
  Z = \sum_(x | terminal x) R x * \sum_(p <- trajs src x) B p.
Proof.
move=> normF tb; rewrite -[LHS]mulr1 -(marginal_sums_to_one normF) mulr_sumr.
by apply: eq_bigr => x tx; rewrite (tb_exact tb).
Qed.

(* col:tb, slightly stronger: it is enough that the trajectories into each terminal state have
   total backward weight one.  Then Z = sum R and p_T = R / sum R.                                *)
Theorem tb_total_weight_one (G : pointedDAG) (K : fieldType)
    (pF : G -> G -> K) (B : seq G -> K) (R : G -> K) (Z : K) :
  forward_policy pF ->
  (forall x, terminal x -> \sum_(p <- trajs src x) B p = 1) ->
  trajectory_balance pF B R Z ->
  \sum_(y | terminal y) R y != 0 ->
  Z = \sum_(y | terminal y) R y /\
  forall x, terminal x -> mass pF src x = R x / \sum_(y | terminal y) R y.
Proof.
move=> normF b1 tb R0; have Z_def : Z = \sum_(y | terminal y) R y.
  by rewrite (tb_exact_partition normF tb); apply: eq_bigr => x tx; rewrite b1 ?mulr1.
split=> // x tx; apply: (mulfI R0); rewrite -{1}Z_def (tb_exact tb) // b1 // mulr1.
by rewrite mulrC divfK.
Qed.

(* col:tb: policies p_F and p_B with trajectory balance sample from R / sum R.                    *)
Theorem tb_terminal_law (G : pointedDAG) (K : fieldType)
    (pF pB : G -> G -> K) (R : G -> K) (Z : K) :
  forward_policy pF -> backward_policy pB ->
  trajectory_balance pF (weight pB src) R Z ->
  \sum_(y | terminal y) R y != 0 ->
  Z = \sum_(y | terminal y) R y /\
  forall x, terminal x -> mass pF src x = R x / \sum_(y | terminal y) R y.
Proof.
by move=> normF normB; apply: tb_total_weight_one => // x _; apply: backward_mass.
Qed.
