(* def:normalpointeddag must say that s_o is the only source.  If other sources are allowed, as long
   as s_o is the only one connected to every terminal state, trajectory balance does not suffice. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies Listed.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* s_o -> x, s_o -> y and u -> x, with s_o, u, x, y = 0, 1, 2, 3.                                 *)
Definition two_sources : edges := [:: (0, 2); (0, 3); (1, 2)]%N.

Definition forward : nat -> nat -> rat := values two_sources [:: 1 / 3%:R; 2%:R / 3%:R; 1].
Definition backward : nat -> nat -> rat := values two_sources [:: 1 / 2%:R; 1; 1 / 2%:R].

Lemma child_reached (G : dag) (u v : G) : edge u v -> trajs u v != [::].
Proof.
move=> uv; have: [:: v] \in trajs u v by rewrite mem_trajs /= uv eqxx.
by case: trajs.
Qed.

(* R = 1 on two terminal states, both policies are normalised and trajectory balance holds with
   Z = 3/2 on all trajectories from s_o to a terminal state, but p_T = (1/3, 2/3).                *)
Theorem second_source_breaks_tb :
  exists (G : dag) (o x y : G) (pF pB : G -> G -> rat),
  [/\ forall s : G, source s /\ (forall z, terminal z -> trajs s z != [::]) <-> s = o,
      forward_policy pF, backward_policy pB,
      forall p, path edge o p -> terminal (last o p) ->
        3%:R / 2%:R * weight pF o p = 1 * weight pB o p
    & [/\ forall z, terminal z = (z == x) || (z == y),
          mass pF o x = 1 / 3%:R & mass pF o y = 2%:R / 3%:R]].
Proof.
have ok : listed 3 two_sources by [].
pose node k (lt : (k < 4)%N) : listed_dag ok := Ordinal lt.
exists (listed_dag ok), (ord0 : listed_dag ok), (node 2%N isT), (node 3%N isT), (on_edges forward),
  (on_edges backward); split.
- move=> s; split=> [[no_parent reach]|->]; last first.
    split=> [|z]; first by apply/forallP => -[[|[|[|[|]]]]].
    rewrite listed_terminal; case: z => [[|[|[|[|]]]]] lt //= _; exact: child_reached.
  apply: val_inj; case: s no_parent reach => [[|[|[|[|]]]]] lt //= no_parent reach.
  + have := reach (node 3%N isT); rewrite listed_terminal => /(_ isT).
    case e: trajs => [//|p s] _; have: p \in trajs (Ordinal lt : listed_dag ok) (node 3%N isT).
      by rewrite e mem_head.
    rewrite mem_trajs => /andP[up lp].
    have := mem_walks up; rewrite (eqP lp) listed_terminal => /(_ isT).
    rewrite inE => /eqP p2; move: lp; rewrite -val_eqE -last_map p2 /=.
    by [].
  + by move/forallP/(_ (node 0%N isT)): no_parent.
  + by move/forallP/(_ (node 0%N isT)): no_parent.
- by apply: listed_forward; vm_compute.
- by apply: listed_backward; vm_compute.
- move=> p op tp; rewrite !weight_listed; have := mem_walks op tp.
  by move: (map val p) => q; rewrite !inE => /orP[] /eqP->; vm_compute.
split; first by case=> [[|[|[|[|]]]]] lt //; rewrite listed_terminal.
all: by rewrite (listed_mass _ (m := nth 0 [:: 1; 0; 1 / 3%:R; 2%:R / 3%:R])); vm_compute.
Qed.

(* Repaired, with finitely many nodes and one source, every node is reached from s_o, a walk has
   fewer steps than there are nodes, and every walk can be continued to a terminal state.         *)
Theorem repaired_definition (G : pointedDAG) :
  [/\ forall v : G, exists2 p, path edge src p & last src p = v,
      forall (u : G) p, path edge u p -> (size p < #|G|)%N
    & forall u : G, exists2 p, path edge u p & terminal (last u p)].
Proof.
split=> [v|u p|u]; last by have [p /andP[up tp]] := reaches_terminal u; exists p.
  by have [p /andP[sp /eqP lp]] := reached v; exists p.
exact: path_short.
Qed.

(* With infinitely many, ... -> 2 -> 1 -> 0 has no cycle and no source: a walk backwards need not end. *)
Theorem endless_line : let e : rel nat := fun i j => i == j.+1 in
  (forall u p, path e u p -> last u p = u -> p = [::]) /\ forall v, exists u, e u v.
Proof.
split=> [u p|v]; last by exists v.+1.
suff down q w : path (fun i j : nat => i == j.+1) w q -> (last w q + size q = w)%N.
  by move/down => + E; rewrite E -[X in _ = X]addn0 => /addnI; case: p {E}.
elim: q w => [|v q IH] w /=; first by rewrite addn0.
by case/andP=> /eqP-> /IH {2}<-; rewrite addnS.
Qed.
