(* prop:apx:dist needs p_B > 0.  If the backward policy of a client vanishes on a trajectory, the
   cross-multiplied condition says nothing about that trajectory.                                 *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies TrajectoryBalance Listed.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* s_o -> x, s_o -> b -> x and s_o -> y, with s_o, b, x, y = 0, 1, 2, 3.                          *)
Definition detour : edges := [:: (0, 2); (0, 1); (1, 2); (0, 3)]%N.

(* The client never goes through b; the combiner may.                                             *)
Definition client_forward : nat -> nat -> rat := values detour [:: 1 / 2%:R; 0; 1; 1 / 2%:R].
Definition client_backward : nat -> nat -> rat := values detour [:: 1; 1; 0; 1].
Definition forward : nat -> nat -> rat :=
  values detour [:: 1 / 10%:R; 7%:R / 10%:R; 1; 1 / 5%:R].
Definition backward : nat -> nat -> rat := values detour [:: 1 / 2%:R; 1; 1 / 2%:R; 1].

(* One client in balance for R = 1 on two terminal states, and a combiner in balance with it in the
   cross-multiplied form, which samples x = 2 with probability 4/5 instead of 1/2.                *)
Theorem zero_backward_breaks_distributed :
  exists (G : pointedDAG) (pF1 pB1 pF pB : G -> G -> rat) (x : G),
  [/\ forward_policy pF1 /\ backward_policy pB1,
      trajectory_balance pF1 (weight pB1 src) (fun _ => 1) 2%:R,
      forward_policy pF /\ backward_policy pB,
      forall p p', complete p -> complete p' ->
        (weight pF src p * weight pB src p') * (weight pF1 src p' * weight pB1 src p) =
        (weight pF1 src p * weight pB1 src p') * (weight pF src p' * weight pB src p)
    & [/\ \sum_(y : G | terminal y) 1 = 2%:R :> rat, terminal x & mass pF src x = 4%:R / 5%:R]].
Proof.
have ok : listed 3 detour by [].
have pt : one_source 3 detour by [].
exists (listed_pointed ok pt), (on_edges client_forward), (on_edges client_backward),
  (on_edges forward), (on_edges backward), (Ordinal (isT : 2 < 4)%N : listed_dag ok); split.
- by split; [apply: listed_forward|apply: listed_backward]; vm_compute.
- move=> p /andP[sp tp]; rewrite !weight_listed; have := mem_walks sp tp.
  by move: (map val p) => q; rewrite !inE => /or3P[] /eqP->; vm_compute.
- by split; [apply: listed_forward|apply: listed_backward]; vm_compute.
- move=> p p' /andP[sp tp] /andP[sp' tp']; rewrite !weight_listed.
  have := mem_walks sp tp; have := mem_walks sp' tp'.
  move: (map val p) (map val p') => q q'; rewrite !inE.
  by do 2!case/or3P=> /eqP->; vm_compute.
split; first by rewrite (sum_terminal ok (fun _ => 1)); vm_compute.
  by rewrite listed_terminal.
by rewrite (listed_mass _ (m := nth 0 [:: 1; 7%:R / 10%:R; 4%:R / 5%:R; 1 / 5%:R])); vm_compute.
Qed.
