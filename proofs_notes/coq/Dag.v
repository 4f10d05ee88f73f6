(* Finite pointed DAGs (def:normalpointeddag, repaired) and their trajectories.

   Repairs: the node set is finite and s_o is the only node without incoming edges, so that every
   node is reached from s_o.  Terminal states are the nodes without outgoing edges.  A trajectory
   s_o = s_0 -> s_1 -> ... -> s_T is represented by its start and the list [:: s_1; ...; s_T].    *)
From mathcomp Require Import all_ssreflect.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* A finite directed graph without directed cycles: a path that returns to its start is empty.    *)
Record dag := Dag {
  node :> finType;
  edge : rel node;
  acyclic : forall u p, path edge u p -> last u p = u -> p = [::]
}.
Arguments edge {d} u v : rename.

Definition terminal (G : dag) (x : G) := [forall v, ~~ edge x v].
Definition source (G : dag) (v : G) := [forall u, ~~ edge u v].

(* A pointed DAG: s_o, written [src], is the only source.                                         *)
Record pointedDAG := PointedDAG {
  graph :> dag;
  src : graph;
  src_unique : forall v : graph, source v = (v == src)
}.
Arguments src {p} : rename.

(* p is a complete trajectory: it starts at s_o and finishes at a terminal state.                 *)
Definition complete (G : pointedDAG) (p : seq G) :=
  path edge src p && terminal (last src p).

(* All trajectories from u to v, each once: see [mem_trajs] and [uniq_trajs].  The bound #|G| on
   the length excludes no path, because G is acyclic ([path_short]).                              *)
Definition trajs (G : dag) (u v : G) : seq (seq G) :=
  [seq val p | p <- enum {: #|G|.-bseq G} & path edge u (val p) && (last u (val p) == v)].

Section Paths.
Variable G : dag.
Implicit Types (u v : G) (p : seq G).

Lemma path_uniq u p : path edge u p -> uniq (u :: p).
Proof.
elim: p u => // v q IH u uvq; have /andP[_ vq] := uvq.
have -> : uniq [:: u, v & q] = (u \notin v :: q) && uniq (v :: q) by [].
rewrite IH // andbT; apply/negP => /splitPr uq.
case: uq uvq => p1 p2; rewrite -cat_rcons cat_path => /andP[cyc _].
by have := acyclic cyc; rewrite last_rcons => /(_ erefl); case: p1 {cyc}.
Qed.

Lemma path_short u p : path edge u p -> size p < #|G|.
Proof. by move/path_uniq/card_uniqP => /= <-; apply: max_card. Qed.

Lemma mem_trajs u v p : (p \in trajs u v) = path edge u p && (last u p == v).
Proof.
apply/mapP/idP => [[q]|puv]; first by rewrite mem_filter => /andP[? _] ->.
have /andP[/path_short/ltnW sp _] := puv.
by exists (Bseq sp); rewrite // mem_filter puv mem_enum.
Qed.

Lemma uniq_trajs u v : uniq (trajs u v).
Proof.
rewrite map_inj_uniq; first by rewrite filter_uniq ?enum_uniq.
exact: val_inj.
Qed.

(* Induction in topological order: what follows from all parents holds everywhere ...             *)
Lemma topological_ind (P : G -> Prop) :
  (forall v, (forall u, edge u v -> P u) -> P v) -> forall v, P v.
Proof.
move=> step v; have: forall u p, path edge u p -> last u p = v -> size p <= #|G|.
  by move=> u p /path_short/ltnW.
elim: #|G| v => [|k IH] v short; apply: step => u uv.
  by have := short u [:: v]; rewrite /= uv => /(_ isT erefl).
apply: IH => w p wp lp; rewrite -ltnS -(size_rcons p v).
by apply: (short w); rewrite ?last_rcons ?rcons_path ?wp ?lp.
Qed.

(* ... and what follows from all children holds everywhere.                                       *)
Lemma reverse_topological_ind (P : G -> Prop) :
  (forall u, (forall v, edge u v -> P v) -> P u) -> forall u, P u.
Proof.
move=> step u; have: forall p, path edge u p -> size p <= #|G| by move=> p /path_short/ltnW.
elim: #|G| u => [|k IH] u short; apply: step => v uv.
  by have := short [:: v]; rewrite /= uv => /(_ isT).
by apply: IH => p vp; have := short (v :: p); rewrite /= uv vp ltnS => /(_ isT).
Qed.

(* Every path can be continued to a terminal state.                                               *)
Lemma reaches_terminal u : exists p, path edge u p && terminal (last u p).
Proof.
elim/reverse_topological_ind: u => u IH; case tu: (terminal u); first by exists [::]; rewrite /= tu.
have /forallPn[v] : ~~ terminal u by rewrite tu.
rewrite negbK => uv; have [p vp] := IH v uv; by exists (v :: p); rewrite /= uv.
Qed.

End Paths.

(* In a pointed DAG every node is reached from s_o.                                               *)
Lemma reached (G : pointedDAG) (v : G) : exists p, path edge src p && (last src p == v).
Proof.
elim/topological_ind: v => v IH; have [->|vs] := eqVneq v src.
  by exists [::]; rewrite /= eqxx.
have /forallPn[u] : ~~ source v by rewrite src_unique.
rewrite negbK => uv; have [p /andP[sp /eqP lp]] := IH u uv.
by exists (rcons p v); rewrite rcons_path last_rcons sp lp uv eqxx.
Qed.
