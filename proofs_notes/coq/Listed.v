(* Concrete graphs, given by the list of their edges between the nodes 0, ..., n, with s_o = 0, so
   that the hypotheses and conclusions of an example are decided by computation.  Nothing here is
   specific to GFlowNets; Example.v and the counterexamples use it.                               *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Definition edges := seq (nat * nat).

(* Every edge is listed once and leads to a larger node; the nodes are 0, ..., n.                 *)
Definition listed (n : nat) (es : edges) : bool :=
  uniq es && all (fun e => (e.1 < e.2 <= n)%N) es.
(* Every node but 0 is the end of an edge.                                                        *)
Definition one_source (n : nat) (es : edges) : bool :=
  all (fun v => has (fun e => e.2 == v) es) (iota 1 n).

Definition children (es : edges) (u : nat) : seq nat := [seq e.2 | e <- es & e.1 == u].

(* The trajectories from u that cannot be continued, of at most k steps.                          *)
Fixpoint walks (es : edges) (k : nat) (u : nat) : seq (seq nat) :=
  if children es u is [::] then [:: [::]] else
  if k is k'.+1 then flatten [seq [seq v :: q | q <- walks es k' v] | v <- children es u] else [::].

Section ListedGraph.
Variables (n : nat) (es : edges) (ok : listed n es).

Definition listed_edge (u v : 'I_n.+1) : bool := (val u, val v) \in es.

Lemma listed_increasing e : e \in es -> (e.1 < e.2 <= n)%N.
Proof. by move: ok => /andP[_ /allP inc] /inc. Qed.

Lemma listed_acyclic (u : 'I_n.+1) p : path listed_edge u p -> last u p = u -> p = [::].
Proof.
case: p => // v q; rewrite [path _ _ _]/= => /andP[/listed_increasing/andP[/= uv _] vq] last_u.
suff: (val v <= val (last v q))%N by rewrite last_u leqNgt uv.
elim: q v vq {uv last_u} => //= w q IH v /andP[/listed_increasing/andP[/= vw _] /IH].
exact/leq_trans/ltnW.
Qed.

Definition listed_dag : dag := Dag listed_acyclic.

Lemma listed_source (pt : one_source n es) (v : listed_dag) : source v = (v == ord0).
Proof.
apply/forallP/eqP => [no_parent|-> u]; last first.
  by apply/negP => /listed_increasing/andP[].
apply/val_inj/eqP; apply: contraT => v0; move: pt.
move=> /allP/(_ (val v)); rewrite mem_iota add1n ltn_ord lt0n v0.
move=> /(_ isT)/hasP[[u w] uw /= /eqP wv]; have /andP[/= uw' w_n] := listed_increasing uw.
have u_n : (u < n.+1)%N by rewrite ltnS ltnW // (leq_trans uw').
have /negP[] := no_parent (Ordinal u_n).
by rewrite /edge /= /listed_edge /= -wv.
Qed.

Definition listed_pointed (pt : one_source n es) : pointedDAG := PointedDAG (listed_source pt).

Lemma mem_children (u : listed_dag) (v : nat) :
  (v \in children es (val u)) = ((val u, v) \in es).
Proof.
apply/mapP/idP => [[[u' v'] + ->]|uv]; last by exists (val u, v); rewrite ?mem_filter ?eqxx.
by rewrite mem_filter => /andP[/eqP /= ->].
Qed.

Lemma child_node (u : listed_dag) (v : nat) :
  v \in children es (val u) -> exists2 w : listed_dag, val w = v & edge u w.
Proof.
rewrite mem_children => uv; have /andP[/= _ vn] := listed_increasing uv.
by exists (Ordinal (vn : (v < n.+1)%N)).
Qed.

Lemma listed_terminal (u : listed_dag) : terminal u = (children es (val u) == [::]).
Proof.
apply/forallP/eqP => [none|none v]; last first.
  by rewrite /edge /= /listed_edge -mem_children none.
case e: (children _ _) => [//|v s]; have: v \in children es (val u) by rewrite e mem_head.
by case/child_node=> w _ uw; have := none w; rewrite uw.
Qed.

(* Every complete trajectory is among [walks].                                                    *)
Lemma mem_walks (u : listed_dag) p :
  path edge u p -> terminal (last u p) -> map val p \in walks es n (val u).
Proof.
move=> up tp; have := path_short up; rewrite card_ord ltnS; move: up tp.
suff walk k : path edge u p -> terminal (last u p) -> (size p <= k)%N ->
    map val p \in walks es k (val u) by apply: walk.
elim: p k u => [|v p IH] k u /=.
  by rewrite listed_terminal => _ /eqP none _; case: k => [|k] /=; rewrite none mem_seq1.
case/andP=> uv vp tp; case: k => // k sp /=.
have vu : val v \in children es (val u) by rewrite mem_children.
case e: (children _ _) => [|w s]; first by rewrite e in vu.
rewrite -e; apply/flatten_mapP; exists (val v) => //.
by apply: map_f; apply: IH.
Qed.

Variable K : fieldType.

(* Functions on pairs of numbers, given by their values along the list of edges, and read as
   functions on edges.                                                                            *)
Definition values (ws : seq K) (u v : nat) : K := nth 0 ws (index (u, v) es).
Definition on_edges (k : nat -> nat -> K) (u v : listed_dag) : K := k (val u) (val v).

Lemma weight_listed (k : nat -> nat -> K) (u : listed_dag) p :
  weight (on_edges k) u p = weight k (val u) (map val p).
Proof. by elim: p u => //= v p IH u; rewrite IH. Qed.

Definition sum_seq (s : seq K) : K := foldr +%R 0 s.

Lemma sum_seqE (T : Type) (s : seq T) (f : T -> K) : sum_seq (map f s) = \sum_(i <- s) f i.
Proof. by rewrite /sum_seq foldrE big_map. Qed.

Lemma sum_out (k : nat -> nat -> K) (u : listed_dag) :
  \sum_(v | edge u v) on_edges k u v = sum_seq [seq k (val u) v | v <- children es (val u)].
Proof.
transitivity (\sum_(v <- enum [pred v : listed_dag | edge u v]) k (val u) (val v)).
  by rewrite big_enum.
rewrite sum_seqE -(big_map val predT (k (val u))); apply: perm_big.
apply: uniq_perm.
- rewrite map_inj_uniq; last exact: val_inj.
  exact: enum_uniq.
- rewrite map_inj_in_uniq ?filter_uniq //; first by case/andP: ok.
  move=> [a b] [c d]; rewrite !mem_filter /= => /andP[/eqP-> _] /andP[/eqP-> _] /= ->.
  by [].
move=> v; apply/mapP/idP => [[w]|/child_node[w <- uw]].
  by rewrite mem_enum mem_children => uw ->.
by exists w; rewrite // mem_enum.
Qed.

Lemma sum_terminal (f : nat -> K) :
  \sum_(u : listed_dag | terminal u) f (val u) =
  sum_seq [seq f u | u <- iota 0 n.+1 & children es u == [::]].
Proof.
rewrite sum_seqE big_filter -[iota 0 _]/(index_iota 0 n.+1) big_mkord.
by apply: eq_bigl => u; rewrite listed_terminal.
Qed.

Definition parents (v : nat) : seq nat := [seq e.1 | e <- es & e.2 == v].

Lemma sum_in (f : nat -> K) (v : listed_dag) :
  \sum_(u : listed_dag | edge u v) f (val u) = sum_seq (map f (parents (val v))).
Proof.
transitivity (\sum_(u <- enum [pred u : listed_dag | edge u v]) f (val u)).
  by rewrite big_enum.
rewrite sum_seqE -(big_map val predT f); apply: perm_big.
apply: uniq_perm.
- rewrite map_inj_uniq; last exact: val_inj.
  exact: enum_uniq.
- rewrite map_inj_in_uniq ?filter_uniq //; first by case/andP: ok.
  move=> [a b] [c d]; rewrite !mem_filter /= => /andP[/eqP-> _] /andP[/eqP-> _] /= ->.
  by [].
move=> u; apply/mapP/mapP => [[w]|[[a b]]].
  rewrite mem_enum => wv ->.
  by exists (val w, val v); rewrite // mem_filter eqxx.
rewrite mem_filter => /andP[/eqP /= -> av] ->; have /andP[/= lt_av v_n] := listed_increasing av.
have a_n : (a < n.+1)%N by rewrite ltnS ltnW // (leq_trans lt_av).
by exists (Ordinal a_n); rewrite // mem_enum.
Qed.

(* Normalisation, and the recursion of the visits m, as statements about finite lists.            *)
Definition forward_ok (k : nat -> nat -> K) : bool :=
  all (fun u => (children es u == [::]) || (sum_seq [seq k u v | v <- children es u] == 1))
    (iota 0 n.+1).
Definition backward_ok (k : nat -> nat -> K) : bool :=
  all (fun v => (parents v == [::]) || (sum_seq [seq k u v | u <- parents v] == 1)) (iota 0 n.+1).
Definition visits_ok (k : nat -> nat -> K) (m : nat -> K) : bool :=
  (m 0%N == 1) &&
  all (fun v => m v == sum_seq [seq m u * k u v | u <- parents v]) (iota 1 n).

Lemma listed_forward k : forward_ok k -> forward_policy (on_edges k : listed_dag -> _).
Proof.
move=> /allP norm u; rewrite listed_terminal sum_out => nu.
have := norm (val u); rewrite mem_iota ltn_ord (negbTE nu) /=.
by move=> /(_ isT)/eqP.
Qed.

Lemma listed_backward k : backward_ok k -> backward_policy (on_edges k : listed_dag -> _).
Proof.
move=> /allP norm v /forallPn[u]; rewrite negbK => uv.
rewrite (sum_in (k^~ (val v))); have := norm (val v); rewrite mem_iota ltn_ord.
move=> /(_ isT)/orP[/eqP none|/eqP//].
have: val u \in parents (val v) by apply/mapP; exists (val u, val v); rewrite // mem_filter eqxx.
by rewrite none.
Qed.

Lemma listed_mass k m (v : listed_dag) : visits_ok k m -> mass (on_edges k) ord0 v = m (val v).
Proof.
move=> /andP[/eqP m0 /allP rec]; elim/topological_ind: v => v IH.
have [->|v0] := eqVneq v ord0; first by rewrite mass_refl m0.
rewrite mass_last //; under eq_bigr => u uv do rewrite IH //.
rewrite (sum_in (fun u => m u * k u (val v))); apply/esym/eqP; apply: rec.
by rewrite mem_iota add1n ltn_ord lt0n andbT.
Qed.

End ListedGraph.
