(* col:cb is false as printed, with pairs of trajectories of the same length T only.              *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies ContrastiveBalance Listed.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* s_o -> x and s_o -> u -> y, with s_o, u, x, y = 0, 1, 2, 3.                                    *)
Definition two_lengths : edges := [:: (0, 2); (0, 1); (1, 3)]%N.

Definition greedy : nat -> nat -> rat := values two_lengths [:: 9%:R / 10%:R; 1 / 10%:R; 1].
Definition backward : nat -> nat -> rat := values two_lengths [:: 1; 1; 1].

(* R = 1 on two terminal states, contrastive balance on all pairs of equal length, and yet the
   sampler gives x = 2 the probability 9/10 instead of 1/2.                                       *)
Theorem equal_lengths_do_not_suffice :
  exists (G : pointedDAG) (pF pB : G -> G -> rat) (x : G),
  [/\ forward_policy pF, backward_policy pB,
      contrastive_balance_on (fun p p' => size p == size p') pF (weight pB src) (fun _ => 1),
      \sum_(y : G | terminal y) 1 = 2%:R :> rat
    & terminal x /\ mass pF src x = 9%:R / 10%:R].
Proof.
have ok : listed 3 two_lengths by [].
have pt : one_source 3 two_lengths by [].
exists (listed_pointed ok pt), (on_edges greedy), (on_edges backward),
  (Ordinal (isT : 2 < 4)%N : listed_dag ok); split.
- by apply: listed_forward; vm_compute.
- by apply: listed_backward; vm_compute.
- move=> p p' /andP[sp tp] /andP[sp' tp'] /=; rewrite -(size_map val p) -(size_map val p').
  rewrite !weight_listed.
  have := mem_walks sp tp; have := mem_walks sp' tp'.
  move: (map val p) (map val p') => q q'; rewrite !inE.
  by do 2!case/orP=> /eqP->; vm_compute.
- by rewrite (sum_terminal ok (fun _ => 1)); vm_compute.
split; first by rewrite listed_terminal.
by rewrite (listed_mass _ (m := nth 0 [:: 1; 1 / 10%:R; 9%:R / 10%:R; 1 / 10%:R])); vm_compute.
Qed.
