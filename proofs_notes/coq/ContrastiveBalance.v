(* Contrastive balance (col:cb), for all pairs of complete trajectories, whatever their lengths.
   (With pairs of equal length only, as printed, it is false: EqualLengths.v.)                    *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies Normalisation TrajectoryBalance.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* p_F(tau) p_B(tau' | x') R(x') = p_F(tau') p_B(tau | x) R(x) for all pairs (tau, tau') of complete
   trajectories for which [pair tau tau'] holds.  As above, B = weight pB src.                    *)
Definition contrastive_balance_on (G : pointedDAG) (K : fieldType)
    (pair : seq G -> seq G -> bool) (pF : G -> G -> K) (B : seq G -> K) (R : G -> K) :=
  forall p p', complete p -> complete p' -> pair p p' ->
  weight pF src p * (B p' * R (last src p')) = weight pF src p' * (B p * R (last src p)).

Definition contrastive_balance (G : pointedDAG) (K : fieldType)
    (pF : G -> G -> K) (B : seq G -> K) (R : G -> K) :=
  contrastive_balance_on (fun _ _ => true) pF B R.

(* CB for all pairs is TB with Z = sum R, for weights B of total one into each terminal state.
   Nothing has to be positive.                                                                    *)
Theorem cb_implies_tb (G : pointedDAG) (K : fieldType)
    (pF : G -> G -> K) (B : seq G -> K) (R : G -> K) :
  forward_policy pF ->
  (forall x, terminal x -> \sum_(p <- trajs src x) B p = 1) ->
  contrastive_balance pF B R ->
  trajectory_balance pF B R (\sum_(y | terminal y) R y).
Proof.
move=> normF b1 cb p cp.
have cx (x : G) p' : terminal x -> p' \in trajs src x -> complete p' /\ last src p' = x.
  by rewrite mem_trajs /complete => tx /andP[-> /eqP->].
transitivity (\sum_(x : G | terminal x) \sum_(p' <- trajs src x) weight pF src p * (B p' * R x)).
  rewrite mulr_suml; apply: eq_bigr => x tx.
  by rewrite -mulr_sumr -mulr_suml b1 // mul1r mulrC.
transitivity (\sum_(x : G | terminal x) \sum_(p' <- trajs src x)
                weight pF src p' * (B p * R (last src p))).
  apply: eq_bigr => x tx; apply: eq_big_seq => p' /(cx _ _ tx)[cp' <-].
  exact: cb.
under eq_bigr => x tx do rewrite -mulr_suml -/(mass pF src x).
by rewrite -mulr_suml marginal_sums_to_one // mul1r mulrC.
Qed.

(* Conversely TB with Z <> 0 is CB for all pairs: the two conditions are equivalent.              *)
Theorem tb_implies_cb (G : pointedDAG) (K : fieldType)
    (pF : G -> G -> K) (B : seq G -> K) (R : G -> K) (Z : K) :
  Z != 0 -> trajectory_balance pF B R Z -> contrastive_balance pF B R.
Proof.
move=> Z0 tb p p' cp cp' _; apply: (mulfI Z0); rewrite [LHS]mulrA [RHS]mulrA !tb //.
by rewrite [RHS]mulrC [B p * R _]mulrC [B p' * R _]mulrC.
Qed.

(* col:cb: policies p_F and p_B with contrastive balance sample from R / sum R.                   *)
Theorem cb_terminal_law (G : pointedDAG) (K : fieldType) (pF pB : G -> G -> K) (R : G -> K) :
  forward_policy pF -> backward_policy pB ->
  contrastive_balance pF (weight pB src) R ->
  \sum_(y | terminal y) R y != 0 ->
  forall x, terminal x -> mass pF src x = R x / \sum_(y | terminal y) R y.
Proof.
move=> normF normB cb R0.
have b1 x : terminal x -> \sum_(p <- trajs src x) weight pB src p = 1.
  by move=> _; apply: backward_mass.
by have [] := tb_terminal_law normF normB (cb_implies_tb normF b1 cb) R0.
Qed.
