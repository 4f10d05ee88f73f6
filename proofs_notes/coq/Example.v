(* The diamond s_o -> {a, b} -> c -> {x, y} with a latent that remembers the history: the smallest
   lift with memory.  It is an instance of every definition; R(x) = 1, R(y) = 2.                  *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies SubtrajectoryBalance Flow Lift LatentLift Triviality Listed.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* s_o, a, b, c, x, y = 0, ..., 5.                                                                *)
Definition diamond_edges : edges := [:: (0, 1); (0, 2); (1, 3); (2, 3); (3, 4); (3, 5)]%N.

Lemma diamond_listed : listed 5 diamond_edges. Proof. by []. Qed.
Lemma diamond_one_source : one_source 5 diamond_edges. Proof. by []. Qed.

Definition diamond : pointedDAG := listed_pointed diamond_listed diamond_one_source.

(* Omega = finite sequences of states, W0 empty, W' = W followed by s'.                           *)
Definition history_lift : lift diamond := latent_lift (fun s W => rcons W s) [::].

Lemma run_history (G : pointedDAG) (p : seq G) :
  path edge src p -> ~~ terminal (last src p) ->
  run (fun s W => rcons W s) [::] p = (last src p, Some p).
Proof.
elim/last_ind: p => [|p s IH]; first by rewrite /run /= /lifted_state => _ /negbTE ->.
rewrite rcons_path last_rcons => /andP[sp ps] /negbTE ns; rewrite run_rcons IH //.
  by rewrite /next /lifted_state /= ns.
by apply/forallPn; exists s; rewrite ps.
Qed.

(* The state c has two lifts: the histories a, c and b, c.                                        *)
Theorem history_lift_remembers : ~ injective (base : history_lift -> diamond).
Proof.
pose node k (lt : (k < 6)%N) : diamond := Ordinal lt.
pose a := node 1%N isT; pose b := node 2%N isT; pose c := node 3%N isT.
have inner : ~~ terminal c by rewrite (listed_terminal (ok := diamond_listed)).
have lift_of p : path edge src p -> last src p = c ->
    exists v : history_lift, val v = (c, Some p).
  move=> sp lp; apply/latent_lift_nodes; exists p => //.
  by rewrite run_history ?lp.
have [v va] := lift_of [:: a; c] isT erefl; have [w wb] := lift_of [:: b; c] isT erefl.
move=> /(_ v w); rewrite /base /= /latent_base va wb => /(_ erefl) vw.
by move: va; rewrite vw wb => /eqP.
Qed.

(* So the copy of a backward policy of the diamond is never a backward policy on its history lift:
   the printed hypothesis of prop:markovian fails.                                                *)
Theorem copied_policy_not_normalised (pB : diamond -> diamond -> rat) :
  backward_policy pB -> ~ backward_policy (copied_policy (L := history_lift) pB).
Proof.
by move=> norm /(copied_policy_normalised history_lift norm); apply: history_lift_remembers.
Qed.

(* Policies in subtrajectory balance exist on the history lift, and sample x with 1/3.            *)
Theorem balanced_history_policies :
  exists (pF pB : history_lift -> history_lift -> rat) (F : history_lift -> rat),
  [/\ forward_policy pF, backward_policy pB, subtrajectory_balance pF pB F
    & forall z, terminal z ->
      mass pF src z = (if val (base z) == 4%N then 1 / 3%:R else 2%:R / 3%:R)].
Proof.
pose R (v : history_lift) : rat := if val (base v) == 4%N then 1 else 2%:R.
have R_pos z : terminal z -> 0 < R z by rewrite /R; case: ifP.
have [normF normB flow bal _] := balanced_policies_exist R_pos.
exists (flow_policy (@uniform_backward _ _) R), (@uniform_backward _ _),
  (backward_flow (@uniform_backward _ _) R).
split=> // z tz.
have total : \sum_(y : history_lift | terminal y) R y = 3%:R.
  rewrite (sum_terminals history_lift (fun s => if val s == 4%N then 1 else 2%:R)).
  rewrite (sum_terminal diamond_listed (fun k => if k == 4%N then 1 else 2%:R)).
  by vm_compute.
have total0 : \sum_(y : history_lift | terminal y) R y != 0 by rewrite total.
have [F_src ->] := subtb_state_marginals normF normB flow bal total0.
by rewrite F_src total flow // /R; case: ifP.
Qed.

(* On every history lift a positive function k on the edges of the base has copies that are normalised
   there: an inner lifted state has one parent, and a terminal one as many as there are.          *)
Theorem history_copies (G : pointedDAG) (K : numFieldType) :
  exists2 k : G -> G -> K, forall s s', edge s s' -> 0 < k s s' &
  backward_policy (copied_policy (L := latent_lift (fun (s : G) W => rcons W s) [::]) k).
Proof.
set L := latent_lift _ _; pose n s := (\sum_(v : L | base v == s) #|[pred u : L | edge u v]|)%N.
exists (fun s s' => if terminal s' then (n s')%:R^-1 else 1) => [s s' ss'|v nv].
  case: ifP => _; last exact: ltr01.
  rewrite invr_gt0 ltr0n; have [u us] := base_surjective L s.
  have uv : edge u (step u s') by apply: step_edge; rewrite us.
  rewrite /n (bigD1 (step u s')) ?base_step ?us //= ltn_addr //; apply/card_gt0P.
  by exists u.
have inner (w : L) : ~~ terminal (base w) -> exists p, val w = (last src p, Some p).
  have /latent_lift_nodes[p sp wp] : exists u : L, val u = val w by exists w.
  by rewrite /base /= /latent_base wp run_fst => nw; exists p; rewrite ?wp run_history.
rewrite /copied_policy; case: (boolP (terminal (base v))) => tv.
  have -> : n (base v) = #|[pred u : L | edge u v]|.
    rewrite /n (big_pred1 v) // => w; apply/eqP/eqP => [wv|->//].
    by apply/esym/base_terminal; rewrite // wv.
  have /forallPn[u] := nv; rewrite negbK => uv; rewrite sumr_const -[LHS]mulr_natr mulVf //.
  by rewrite pnatr_eq0 -lt0n; apply/card_gt0P; exists u.
have /forallPn[u] := nv; rewrite negbK => uv; rewrite (big_pred1 u) // => w; apply/idP/eqP => [wv|->//].
have parent x : edge x v ->
    exists p, val x = (last src p, Some p) /\ val v = (base v, Some (rcons p (base v))).
  move=> xv; have [p xp] : exists p, val x = (last src p, Some p).
    by apply: inner; apply/forallPn; exists (base v); rewrite negbK base_edge.
  exists p; split=> //; move: xv; rewrite latent_lift_edges => /andP[_ /eqP vE].
  by rewrite [LHS]vE xp /next /lifted_state /= -[(ssval v).1]/(base v) (negbTE tv).
have [p [up vp]] := parent u uv; have [q [wq vq]] := parent w wv.
have pq : p = q by move: vp; rewrite vq => -[/rcons_inj[->]].
by apply: val_inj; rewrite up wq pq.
Qed.
