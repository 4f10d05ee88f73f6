(* Deterministic lifts of a pointed DAG, by their structure (def:pointeddag, repaired).

   A lifted node is a state together with a value of a latent W.  Of the latent only this matters:
   from a lifted node u one reaches, by each step base u -> s' of G, exactly one lifted node above
   s'; and a terminal state carries no latent.  LatentLift.v shows that every dynamics phi on every
   set Omega gives such a lift.  All theorems about pointed DAGs apply to the lifted one.         *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Record lift (G : pointedDAG) := Lift {
  lifted :> pointedDAG;
  (* forgets the latent: base (s, W) = s *)
  base : lifted -> G;
  (* the latent after a move to s': step (s, W) s' = (s', W + phi(s', W)) *)
  step : lifted -> G -> lifted;
  base_src : base src = src;
  base_step : forall u s', edge (base u) s' -> base (step u s') = s';
  edge_lift : forall u v, edge u v = edge (base u) (base v) && (v == step u (base v));
  base_terminal : forall x y, terminal (base x) -> base x = base y -> x = y
}.
Arguments base {G l} u : rename.
Arguments step {G l} u s' : rename.

(* The lifted trajectory above the base trajectory p, from u: its latents are computed along p.   *)
Fixpoint lift_path (G : pointedDAG) (L : lift G) (u : L) (p : seq G) : seq L :=
  if p is s :: q then step u s :: lift_path (step u s) q else [::].

Section Lifting.
Variables (G : pointedDAG) (L : lift G).
Implicit Types (u v x : L) (s : G).

Lemma step_edge u s : edge (base u) s -> edge u (step u s).
Proof. by move=> us; rewrite edge_lift base_step // us eqxx. Qed.

Lemma base_edge u v : edge u v -> edge (base u) (base v).
Proof. by rewrite edge_lift => /andP[]. Qed.

Lemma edge_step u v : edge u v -> v = step u (base v).
Proof. by rewrite edge_lift => /andP[_ /eqP]. Qed.

Lemma terminal_base u : terminal (base u) = terminal u.
Proof.
apply/forallP/forallP => tu v; first exact: contra (@base_edge u v) (tu _).
by apply: contra (tu (step u v)); apply: step_edge.
Qed.

Lemma base_eq_src v : (base v == src) = (v == src).
Proof.
apply/eqP/eqP => [bv|->]; last exact: base_src.
apply/eqP; rewrite -src_unique; apply/forallP => u; apply/negP => /base_edge uv.
have: source (src : G) by rewrite src_unique.
by move/forallP/(_ (base u)); rewrite -bv uv.
Qed.

Lemma base_path u p : path edge u p -> path edge (base u) (map base p).
Proof. by elim: p u => //= v p IH u /andP[/base_edge-> /IH]. Qed.

Lemma lift_path_path u q : path edge (base u) q -> path edge u (lift_path u q).
Proof.
elim: q u => //= s q IH u /andP[us sq].
by rewrite step_edge // IH // base_step.
Qed.

Lemma base_lift_path u q : path edge (base u) q -> map base (lift_path u q) = q.
Proof.
elim: q u => //= s q IH u /andP[us sq].
by rewrite IH base_step.
Qed.

Lemma lift_base_path u p : path edge u p -> lift_path u (map base p) = p.
Proof. by elim: p u => //= v p IH u /andP[/edge_step <- /IH->]. Qed.

(* Unique path lifting: forgetting the latents is a bijection from the complete trajectories of the
   lift to those of the base, and [lift_path src] is its inverse.                                 *)
Theorem unique_path_lifting :
  (forall p : seq L, complete p -> complete (map base p) /\ lift_path src (map base p) = p) /\
  (forall q : seq G, complete q ->
     complete (lift_path (src : L) q) /\ map base (lift_path (src : L) q) = q).
Proof.
split=> [p|q] /andP[].
  move=> sp tp; rewrite lift_base_path // /complete -(base_src L) base_path //.
  by rewrite last_map terminal_base.
rewrite -(base_src L) => sq tq; have bq := base_lift_path sq; rewrite bq /complete.
by rewrite lift_path_path // -terminal_base -last_map bq.
Qed.

(* For sums: the trajectories into the lifts of s, together, are the trajectories into s.         *)
Theorem sum_lifted_trajectories (K : fieldType) (f : seq G -> K) (s : G) :
  \sum_(v : L | base v == s) \sum_(p <- trajs src v) f (map base p) = \sum_(q <- trajs src s) f q.
Proof.
pose above := [seq p | v <- enum [pred v : L | base v == s], p <- trajs src v].
transitivity (\sum_(p <- above) f (map base p)).
  by rewrite big_flatten big_map big_enum; apply: eq_bigr => v _; rewrite map_id.
rewrite -[LHS](big_map (map base) predT); apply: perm_big.
have mem_above p : (p \in above) = path edge (src : L) p && (base (last src p) == s).
  apply/allpairsPdep/andP => [[v [q []]]|[sp lp]].
    by rewrite mem_enum inE mem_trajs => /eqP <- /andP[sq /eqP <-] ->.
  by exists (last src p), p; rewrite mem_enum inE mem_trajs sp lp eqxx.
apply: uniq_perm; last first.
- move=> q; rewrite mem_trajs -(base_src L); apply/mapP/andP => [[p]|[sq lq]].
    by rewrite mem_above => /andP[sp lp] ->; rewrite base_path // last_map.
  exists (lift_path src q); last by rewrite base_lift_path.
  by rewrite mem_above lift_path_path // -last_map base_lift_path.
- exact: uniq_trajs.
rewrite map_inj_in_uniq => [|p p'].
  apply: allpairs_uniq_dep => [|v _|]; rewrite ?enum_uniq ?uniq_trajs //.
  move=> _ _ /allpairsPdep[v [p [_ vp ->]]] /allpairsPdep[v' [p' [_ vp' ->]]] /= pp.
  by move: vp vp'; rewrite -{}pp !mem_trajs => /andP[_ /eqP<-] /andP[_ /eqP<-].
rewrite !mem_above => /andP[sp _] /andP[sp' _] pp.
by rewrite -(lift_base_path sp) pp lift_base_path.
Qed.

(* A terminal state has one lift, so its trajectories correspond one to one.                      *)
Theorem sum_lifted_terminal (K : fieldType) (f : seq G -> K) (x : L) :
  terminal x -> \sum_(p <- trajs src x) f (map base p) = \sum_(q <- trajs src (base x)) f q.
Proof.
rewrite -terminal_base => tx; rewrite -sum_lifted_trajectories (big_pred1 x) // => v.
by apply/eqP/eqP => [bv|->//]; apply/esym/base_terminal.
Qed.

(* Every state has a lift, and a terminal state only one.                                         *)
Theorem base_surjective (s : G) : exists v : L, base v = s.
Proof.
have [q /andP[]] := reached s; rewrite -(base_src L) => sq /eqP <-.
by exists (last src (lift_path src q)); rewrite -(last_map base) base_lift_path.
Qed.

Lemma sum_terminals (K : fieldType) (f : G -> K) :
  \sum_(x : L | terminal x) f (base x) = \sum_(s : G | terminal s) f s.
Proof.
rewrite (partition_big base (@terminal G)) => [|x]; last by rewrite terminal_base.
apply: eq_bigr => s ts; have [x xs] := base_surjective s.
rewrite (big_pred1 x) ?xs // => y; apply/andP/eqP => [[_ /eqP ys]|->].
  by apply: base_terminal; rewrite ys.
by rewrite -terminal_base xs.
Qed.

(* The children of a lifted node correspond one to one to those of its state.                     *)
Lemma sum_children (K : fieldType) (f : L -> K) (u : L) :
  \sum_(v | edge u v) f v = \sum_(s | edge (base u) s) f (step u s).
Proof.
rewrite [RHS](reindex_onto base (step u)) /=; last exact: base_step.
by apply: eq_big => [v|v uv]; rewrite ?edge_lift 1?eq_sym // -edge_step.
Qed.

(* The edges into the lifts of s, by the state that they leave.                                   *)
Lemma sum_parents (K : fieldType) (f : L -> L -> K) (s : G) :
  \sum_(v | base v == s) \sum_(u | edge u v) f u v =
  \sum_(s' | edge s' s) \sum_(u | base u == s') f u (step u s).
Proof.
rewrite (exchange_big_dep predT) //= (partition_big base predT) //= [RHS]big_mkcond /=.
apply: eq_bigr => s' _; case ss': (edge s' s); last first.
  by apply: big1 => u /eqP us; apply: big1 => v /andP[/eqP vs /base_edge]; rewrite us vs ss'.
apply: eq_bigr => u /eqP us; have bs : base (step u s) = s by rewrite base_step ?us.
rewrite (big_pred1 (step u s)) // => v; rewrite edge_lift us.
by apply/andP/eqP => [[/eqP-> /andP[_ /eqP]//]|->]; rewrite bs ss' !eqxx.
Qed.

End Lifting.
