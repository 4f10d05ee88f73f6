(* The lifted pointed DAG of a latent dynamics (def:pointeddag, repaired) is a lift.

   Omega is any set with decidable equality (finite or not), W0 its initial value, and
   [update s' W] the latent after the move to s': W + phi(s', W) in the paper.  Repairs: lifted
   states are those reached by paths that start at (s_o, W0) (as printed, a path may start with any
   latent, and then every (s_o, W) is a source), and Omega needs no addition.                     *)
From mathcomp Require Import all_ssreflect.
From Pdai Require Import Dag Lift.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section LatentLift.
Variables (G : pointedDAG) (Omega : eqType) (update : G -> Omega -> Omega) (W0 : Omega).

(* (s, Some W) is the lifted state (s, W); (x, None) is the terminal state x, with no latent.     *)
Definition lifted_state (s : G) (W : Omega) : G * option Omega :=
  (s, if terminal s then None else Some W).

(* One step of the lifted dynamics ...                                                            *)
Definition next (a : G * option Omega) (s' : G) : G * option Omega :=
  if a.2 is Some W then lifted_state s' (update s' W) else (s', None).

(* ... and all steps along a trajectory of G that starts at s_o.                                  *)
Definition run (p : seq G) : G * option Omega := foldl next (lifted_state src W0) p.

(* The lifted nodes are the values of [run] on the paths of G from s_o, as a finite type.         *)
Definition runs : seq (G * option Omega) := [seq run p | v <- enum G, p <- trajs src v].
Definition lifted_node : finType := adhoc_seq_sub_finType runs.
Definition lifted_edge (a b : lifted_node) : bool :=
  edge (val a).1 (val b).1 && (val b == next (val a) (val b).1).

Lemma mem_runs a : reflect (exists2 p, path edge src p & a = run p) (a \in runs).
Proof.
apply: (iffP allpairsPdep) => [[v [p [_ + ->]]]|[p sp ->]].
  by rewrite mem_trajs => /andP[sp _]; exists p.
by exists (last src p), p; rewrite mem_enum mem_trajs sp eqxx.
Qed.

Lemma run_rcons p s : run (rcons p s) = next (run p) s.
Proof. by rewrite /run -cats1 foldl_cat. Qed.

Lemma next_fst a s : (next a s).1 = s.
Proof. by rewrite /next; case: a.2. Qed.

Lemma run_fst p : (run p).1 = last src p.
Proof. by case/lastP: p => // p s; rewrite run_rcons last_rcons next_fst. Qed.

Lemma run_terminal p : terminal (last src p) -> run p = (last src p, None).
Proof.
case/lastP: p => [|p s]; first by rewrite /run /lifted_state /= => ->.
by rewrite run_rcons last_rcons /next /lifted_state => ->; case: (run p).2.
Qed.

Lemma lifted_src_proof : lifted_state src W0 \in runs.
Proof. by apply/mem_runs; exists [::]. Qed.
Definition lifted_src : lifted_node := SeqSub lifted_src_proof.

Lemma next_runs (a : lifted_node) s : edge (val a).1 s -> next (val a) s \in runs.
Proof.
have /mem_runs[p sp ->] := valP a; rewrite run_fst => ps; apply/mem_runs.
by exists (rcons p s); rewrite ?rcons_path ?sp ?run_rcons.
Qed.

Lemma lifted_acyclic (a : lifted_node) p : path lifted_edge a p -> last a p = a -> p = [::].
Proof.
pose fst (b : lifted_node) := (val b).1 => ap pa.
suff: map fst p = [::] by case: p {ap pa}.
apply: (@acyclic _ (fst a)); last by rewrite last_map pa.
by elim: p a ap {pa} => //= b p IH a /andP[/andP[-> _] /IH].
Qed.

Definition lifted_dag : dag := Dag lifted_acyclic.

Lemma lifted_src_unique (v : lifted_dag) : source v = (v == lifted_src).
Proof.
apply/idP/eqP => [/forallP no_parent|->]; last first.
  apply/forallP => u; apply/negP => /andP[us _].
  have: source (src : G) by rewrite src_unique.
  by move/forallP/(_ (val u).1); rewrite us.
apply: val_inj; have /mem_runs[p sp vp] := valP v; rewrite vp.
case/lastP: p => // p s in sp vp *; move: sp; rewrite rcons_path => /andP[sp ps].
have up : run p \in runs by apply/mem_runs; exists p.
have /negP[] := no_parent (SeqSub up : lifted_dag).
rewrite /edge /= /lifted_edge /=.
by rewrite -[ssval v]/(val v) vp run_rcons next_fst run_fst ps eqxx.
Qed.

Definition lifted_pointed_dag : pointedDAG := PointedDAG lifted_src_unique.

Definition latent_base (a : lifted_pointed_dag) : G := (val a).1.
Definition latent_step (a : lifted_pointed_dag) (s : G) : lifted_pointed_dag :=
  insubd a (next (val a) s).

Lemma latent_base_step a s : edge (latent_base a) s -> latent_base (latent_step a s) = s.
Proof. by move=> /next_runs as'; rewrite /latent_base /latent_step insubdK // next_fst. Qed.

Lemma latent_edge_lift (a b : lifted_pointed_dag) :
  edge a b = edge (latent_base a) (latent_base b) && (b == latent_step a (latent_base b)).
Proof.
rewrite -[LHS]/(edge (latent_base a) (latent_base b) && (val b == next (val a) (latent_base b))).
case ab: (edge _ _) => //=; rewrite -[in RHS]val_eqE /latent_step /= insubdK //.
exact: next_runs ab.
Qed.

Lemma latent_base_terminal (x y : lifted_pointed_dag) :
  terminal (latent_base x) -> latent_base x = latent_base y -> x = y.
Proof.
rewrite /latent_base => + xy; move: (xy); have /mem_runs[p _ xp] := valP x.
have /mem_runs[q _ yq] := valP y; rewrite {1 2}xp {1}yq !run_fst => pq tp.
by apply: val_inj; rewrite xp yq !run_terminal -?pq.
Qed.

Definition latent_lift : lift G :=
  @Lift G lifted_pointed_dag latent_base latent_step erefl
    latent_base_step latent_edge_lift latent_base_terminal.

(* Condition 2 of def:pointeddag: the nodes of the lift are the pairs (s, W) reached from
   (s_o, W0) along a path of G, with the terminal states left unlifted ...                        *)
Theorem latent_lift_nodes (a : G * option Omega) :
  (exists v : latent_lift, val v = a) <-> (exists2 p, path edge src p & a = run p).
Proof.
split=> [[v <-]|/mem_runs a_run]; first exact/mem_runs/valP.
by exists (SeqSub a_run : latent_lift).
Qed.

(* ... and conditions 3 and 4: (s, W) -> (s', W') if and only if s -> s' and W' = update s' W, and
   (s, W) -> x if and only if s -> x.                                                             *)
Theorem latent_lift_edges (a b : latent_lift) :
  edge a b = edge (val a).1 (val b).1 && (val b == next (val a) (val b).1).
Proof. by []. Qed.

End LatentLift.
