(* The hypotheses of prop:apx:dist and prop:apx:sm can be met, whatever the lifts and the positive
   targets: by the flow policies of Flow.v on every lift.                                         *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies TrajectoryBalance SubtrajectoryBalance Flow Lift Combination.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* The sampler on the lift L with uniform p_B and the forward policy of its flow.                 *)
Definition flow_sampler (G : pointedDAG) (K : numFieldType) (L : lift G) (R : G -> K) :
    sampler G K :=
  Sampler (flow_policy (@uniform_backward L K) (fun x => R (base x))) (@uniform_backward L K).

Lemma flow_sampler_balanced (G : pointedDAG) (K : numFieldType) (L : lift G) (R : G -> K) :
  (forall x, terminal x -> 0 < R x) ->
  [/\ normalised (flow_sampler L R), full_backward (flow_sampler L R)
    & exists2 Z, Z != 0 & balanced (flow_sampler L R) R Z].
Proof.
move=> R_pos; pose Rb (x : L) := R (base x).
have Rb_pos x : terminal x -> 0 < Rb x by rewrite -terminal_base; apply: R_pos.
have [normF normB flow bal F_pos] := balanced_policies_exist Rb_pos.
split=> // [q /andP[]|].
  rewrite -(base_src L) => /lift_path_path sq _.
  exact/lt0r_neq0/(weight_positive (@uniform_backward_positive L K)).
exists (backward_flow (@uniform_backward L K) Rb src); first exact: lt0r_neq0.
exact: subtb_implies_tb.
Qed.

(* Clients on the lifts L_t and a combiner on the lift L0 that satisfy eq:apx:dist.               *)
Theorem distributed_hypotheses_met (G : pointedDAG) (K : numFieldType) (T : nat)
    (R : 'I_T -> G -> K) (L : 'I_T -> lift G) (L0 : lift G) :
  (forall t x, terminal x -> 0 < R t x) ->
  let client t := flow_sampler (L t) (R t) in
  let S := flow_sampler L0 (fun x => \prod_t R t x) in
  [/\ forall t, full_backward (client t) /\ exists2 Z, Z != 0 & balanced (client t) (R t) Z,
      normalised S, full_backward S
    & forall q q', complete q -> complete q' ->
      ratio S q * \prod_t ratio (client t) q' = \prod_t ratio (client t) q * ratio S q'].
Proof.
move=> R_pos client S; have clients t := flow_sampler_balanced (L t) (R_pos t).
have [normS fullS [Z Z0 balS]] : [/\ normalised S, full_backward S
    & exists2 Z, Z != 0 & balanced S (fun x => \prod_t R t x) Z].
  by apply: flow_sampler_balanced => x tx; apply: prodr_gt0 => t _; apply: R_pos.
split=> // [t|q q' cq cq']; first by have [_ full bal] := clients t.
have Zt t : exists Z, forall p, complete p -> ratio (client t) p = R t (last src p) / Z.
  have [_ full [Zt Zt0 bal]] := clients t; exists Zt => p.
  exact: ratio_of_balanced.
have [Zs Zs_ratio] := fin_all_exists Zt.
have clients_ratio p : complete p ->
    \prod_t ratio (client t) p = \prod_t R t (last src p) / \prod_t Zs t.
  by move=> cp; rewrite -prodf_div; apply: eq_bigr => t _; apply: Zs_ratio.
rewrite !clients_ratio // !(ratio_of_balanced fullS balS Z0) //.
by rewrite [LHS]mulrACA [RHS]mulrACA; congr (_ * _); rewrite mulrC.
Qed.

(* A stream of samplers on the lifts L_T that satisfies eq:apx:sm.                                *)
Theorem streaming_hypotheses_met (G : pointedDAG) (K : numFieldType)
    (R : nat -> G -> K) (L : nat -> lift G) :
  (forall t x, terminal x -> 0 < R t x) ->
  let S T := flow_sampler (L T) (fun x => \prod_(t < T.+1) R t x) in
  [/\ forall T, normalised (S T), forall T, full_backward (S T),
      exists Z, balanced (S 0%N) (R 0%N) Z
    & forall T q q', complete q -> complete q' ->
      ratio (S T.+1) q * (R T.+1 (last src q') * ratio (S T) q') =
      R T.+1 (last src q) * ratio (S T) q * ratio (S T.+1) q'].
Proof.
move=> R_pos S; have ok T : [/\ normalised (S T), full_backward (S T)
    & exists2 Z, Z != 0 & balanced (S T) (fun x => \prod_(t < T.+1) R t x) Z].
  by apply: flow_sampler_balanced => x tx; apply: prodr_gt0 => t _; apply: R_pos.
split=> [T|T||T q q' cq cq']; try by have [] := ok T.
  have [_ _ [Z _ bal]] := ok 0%N; exists Z => p cp.
  by rewrite bal // big_ord1.
have [_ full [Z Z0 bal]] := ok T; have [_ full' [Z' Z0' bal']] := ok T.+1.
rewrite !(ratio_of_balanced full' bal' Z0') // !(ratio_of_balanced full bal Z0) //.
have recur y : \prod_(t < T.+2) R t y = \prod_(t < T.+1) R t y * R T.+1 y.
  by rewrite big_ord_recr.
rewrite !recur [R _ _ * (_ / Z)]mulrA [R _ (last src q) * (_ / Z)]mulrA.
rewrite [R _ (last src q') * _]mulrC [R _ (last src q) * _]mulrC.
by rewrite [LHS]mulrACA [RHS]mulrACA; congr (_ * _); rewrite mulrC.
Qed.
