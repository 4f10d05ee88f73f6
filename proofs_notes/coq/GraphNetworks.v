(* Graph networks as policies on graphs that grow by edges, with and without path features
   (prop:temporal_gnns, fig:graphssgb, symmetry-ties-terminals).

   A network is the ideal of one: any functions of the node and of the multiset of its neighbours,
   any number of rounds, and any symmetric positive score of two nodes for the edge between them. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Dag Policies Normalisation Flow Listed Symmetry Lines.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* States are graphs on the nodes V, all different, and each step adds the edge [added s t].      *)
Record state_graph (V : finType) := StateGraph {
  states :> pointedDAG;
  shape : states -> rel V;
  added : states -> states -> V * V;
  shape_sym : forall s, symmetric (shape s);
  shape_irr : forall s, irreflexive (shape s);
  shape_inj : forall s t, shape s =2 shape t -> s = t;
  shape_new : forall s t, edge s t -> ~~ shape s (added s t).1 (added s t).2;
  shape_added : forall s t v w, edge s t ->
    shape t v w = [|| shape s v w, (v, w) == added s t | (w, v) == added s t]
}.

(* X is the type of what is known of a node; [score] is exp zeta.                                 *)
Record network (K : numDomainType) (X : Type) := Network {
  hidden : eqType;
  embed : X -> hidden;
  layer : nat -> hidden -> seq hidden -> hidden;
  rounds : nat;
  score : hidden -> hidden -> K;
  layer_perm : forall l h s t, perm_eq s t -> layer l h s = layer l h t;
  score_sym : forall h k, score h k = score k h;
  score_pos : forall h k, 0 < score h k
}.

Section Networks.
Variables (V : finType) (K : realFieldType).

(* The state of node v of the graph A after l rounds, and the score of a pair after the last.     *)
Fixpoint node_state X (N : network K X) (A : rel V) (x : V -> X) (l : nat) (v : V) : hidden N :=
  if l is k.+1
  then layer k (node_state N A x k v) [seq node_state N A x k w | w <- enum V & A v w]
  else embed N (x v).
Definition pair_score X (N : network K X) (A : rel V) (x : V -> X) (e : V * V) : K :=
  score (node_state N A x (rounds N) e.1) (node_state N A x (rounds N) e.2).

Variable S : state_graph V.
Implicit Types (s t : S) (p : seq S) (x : V -> K).

Definition normalised (w : S -> K) (s t : S) : K :=
  if edge s t then w t / \sum_(u | edge s u) w u else 0.

(* Without path features the network sees X at the nodes of the state ...                         *)
Definition markovian F (x : V -> F) (N : network K F) s t : K :=
  normalised (fun u => pair_score N (shape s) x (added s u)) s t.

(* ... and with them also m: m_o = 0, m_(i+1) = m_i + alpha(G_i) (A_(i+1) - A_i) 1.               *)
Definition degree s v : nat := size [seq w <- enum V | shape s v w].
Fixpoint gained (alpha : S -> K) s p v : K :=
  if p is t :: q then alpha s * ((degree t v)%:R - (degree s v)%:R) + gained alpha t q v else 0.
Definition feature alpha p v : K := gained alpha src p v.
Definition path_dependent F (x : V -> F) alpha (N : network K (F * K)) p t : K :=
  let s := last src p in
  normalised (fun u => pair_score N (shape s) (fun v => (x v, feature alpha p v)) (added s u)) s t.

Lemma feature_rcons alpha p t v : feature alpha (rcons p t) v =
  feature alpha p v + alpha (last src p) * ((degree t v)%:R - (degree (last src p) v)%:R).
Proof.
rewrite /feature; elim: p src => [|u p IH] s /=; first by rewrite addr0 add0r.
by rewrite IH addrA.
Qed.

(* The laws on terminal states that networks attain: R_M(S) and R_P(S).                           *)
Definition law (pF : seq S -> S -> K) (z : S) : K :=
  \sum_(p <- trajs src z) history_weight pF [::] p.
Definition attained_without F (x : V -> F) (R : S -> K) := exists N : network K F,
  forall z, terminal z -> mass (markovian x N) src z = R z.
Definition attained_with F (x : V -> F) alpha (R : S -> K) := exists N : network K (F * K),
  forall z, terminal z -> law (path_dependent x alpha N) z = R z.

(* Networks that do not look at m: R_M(S) is contained in R_P(S), for every S and gate.           *)
Definition blind F (N : network K F) : network K (F * K) :=
  Network (fun y => embed N y.1) (rounds N) (@layer_perm _ _ N) (@score_sym _ _ N)
    (@score_pos _ _ N).

Theorem features_lose_nothing F (x : V -> F) alpha R :
  attained_without x R -> attained_with x alpha R.
Proof.
case=> N NR; exists (blind N) => z tz; rewrite -NR // /law /mass; apply: eq_big_seq => p _.
have same A m l v : node_state (blind N) A (fun w => (x w, m w)) l v = node_state N A x l v.
  by elim: l v => //= l IH v; rewrite IH (eq_map IH).
have step h t : path_dependent x alpha (blind N) h t = markovian x N (last src h) t.
  rewrite /path_dependent /markovian /normalised /pair_score !same.
  by under eq_bigr do rewrite !same.
rewrite -[src in RHS]/(last src [::]); elim: p [::] => //= t p IH h.
by rewrite step IH last_rcons.
Qed.

Lemma normalised_sum w s : ~~ terminal s -> (forall t, 0 < w t) ->
  \sum_(t | edge s t) normalised w s t = 1.
Proof.
move=> /forallPn[t]; rewrite negbK => st w0.
under eq_bigr => u su do rewrite /normalised su.
rewrite -mulr_suml divff // gt_eqF //.
by rewrite (bigD1 t) //= ltr_paddr // sumr_ge0 // => u _; apply: ltW.
Qed.

Lemma normalised_pos w s t : edge s t -> (forall u, 0 < w u) -> 0 < normalised w s t.
Proof.
move=> st w0; rewrite /normalised st divr_gt0 // (bigD1 t) //= ltr_paddr // sumr_ge0 // => u _.
exact: ltW.
Qed.

Lemma path_dependent_law F (x : V -> F) alpha (N : network K (F * K)) :
  \sum_(z | terminal z) law (path_dependent x alpha N) z = 1.
Proof.
apply: history_sums_to_one => p sp np; apply: normalised_sum np _ => t; exact: score_pos.
Qed.

Lemma weight_pos F (x : V -> F) alpha (N : network K (F * K)) h p : path edge (last src h) p ->
  0 < history_weight (path_dependent x alpha N) h p.
Proof.
elim: p h => [|t p IH] h /=; first by rewrite ltr01.
case/andP=> ht tp; rewrite mulr_gt0 ?IH ?last_rcons //.
by apply: normalised_pos ht _ => u; apply: score_pos.
Qed.

Lemma law_pos F (x : V -> F) alpha (N : network K (F * K)) z : 0 < law (path_dependent x alpha N) z.
Proof.
have [p sp] := reached z; rewrite /law (big_rem p) ?mem_trajs //= ltr_paddr //.
  rewrite big_seq sumr_ge0 // => q /mem_rem; rewrite mem_trajs => /andP[sq _].
  exact/ltW/(@weight_pos _ _ _ _ [::]).
by case/andP: sp => sp _; apply: (@weight_pos _ _ _ _ [::]).
Qed.

Lemma law_last (pF : seq S -> S -> K) z : z != src ->
  law pF z = \sum_(s | edge s z) \sum_(p <- trajs src s) history_weight pF [::] p * pF p z.
Proof.
move=> zs; rewrite /law sum_trajs_last //; apply: eq_bigr => s _; apply: eq_bigr => p _.
by rewrite history_weight_rcons.
Qed.

(* With positive gates m(v) is zero where v has gained no edge since the start, else positive.     *)
Lemma feature_sign alpha p v : (forall s, 0 < alpha s) -> path edge src p ->
  [/\ (degree src v <= degree (last src p) v)%N, 0 <= feature alpha p v
    & (feature alpha p v == 0) = (degree (last src p) v == degree src v)].
Proof.
move=> a0; elim/last_ind: p => [|p t IH]; first by rewrite /feature /= !eqxx.
rewrite rcons_path last_rcons feature_rcons => /andP[/IH[d0 f0 fE] st].
have dt : (degree (last src p) v <= degree t v)%N.
  by rewrite /degree !size_filter; apply: sub_count => w sw; rewrite (shape_added _ _ st) sw.
have g0 : 0 <= alpha (last src p) * ((degree t v)%:R - (degree (last src p) v)%:R).
  by rewrite mulr_ge0 ?(ltW (a0 _)) // subr_ge0 ler_nat.
split; [exact: leq_trans dt|exact: addr_ge0|].
rewrite paddr_eq0 // fE mulf_eq0 (gt_eqF (a0 _)) /= subr_eq0 eqr_nat.
apply/andP/eqP => [[/eqP <- /eqP]//|dE].
by move: d0 dt; rewrite dE => d0 dt; rewrite !eqn_leq d0 dt.
Qed.

(* Where all nodes have as many neighbours and X tells none apart, no network does.               *)
Lemma regular_states_agree F (x : V -> F) (N : network K F) (A : rel V) d :
  (forall u, size [seq y <- enum V | A u y] = d) -> (forall u v, x u = x v) ->
  forall l v w, node_state N A x l v = node_state N A x l w.
Proof.
move=> deg xE; elim=> [|l IH] v w /=; first by rewrite (xE v w).
have same (ys : seq V) :
    [seq node_state N A x l y | y <- ys] = nseq (size ys) (node_state N A x l v).
  by elim: ys => //= y ys ->; rewrite (IH y v).
by rewrite !same !deg (IH v w).
Qed.
End Networks.

(* Renaming: h permutes the states as g permutes the nodes, and neither the features of nodes nor
   the gate read names.  Then a network with path features is equivariant, however deep.          *)
Section Renaming.
Variables (V : finType) (K : realFieldType) (S : state_graph V) (h : S -> S) (g : V -> V).
Variables (F : Type) (x : V -> F) (alpha : S -> K).
Hypotheses (h_bij : bijective h) (h_edge : forall s t, edge (h s) (h t) = edge s t).
Hypotheses (g_bij : bijective g) (h_g : forall s v w, shape (h s) (g v) (g w) = shape s v w).
Hypotheses (x_g : forall v, x (g v) = x v) (alpha_h : forall s, alpha (h s) = alpha s).

Lemma renamed_nodes (P Q : pred V) : (forall v, Q (g v) = P v) ->
  perm_eq [seq v <- enum V | Q v] (map g [seq v <- enum V | P v]).
Proof.
have [f fg gf] := g_bij => QP; apply: uniq_perm => [||v]; first exact/filter_uniq/enum_uniq.
  by rewrite (map_inj_uniq (can_inj fg)); apply/filter_uniq/enum_uniq.
rewrite mem_filter mem_enum andbT; apply/idP/mapP => [Qv|[w]].
  by exists (f v); rewrite ?gf // mem_filter mem_enum -QP gf Qv.
by rewrite mem_filter => /andP[Pw _] ->; rewrite QP.
Qed.

Lemma renamed_state X (N : network K X) (A B : rel V) (y z : V -> X) :
  (forall v w, B (g v) (g w) = A v w) -> (forall v, z (g v) = y v) ->
  forall l v, node_state N B z l (g v) = node_state N A y l v.
Proof.
move=> BA zy; elim=> [|l IH] v /=; first by rewrite zy.
rewrite IH; apply: layer_perm.
have -> : [seq node_state N A y l w | w <- enum V & A v w] =
    [seq node_state N B z l w | w <- map g [seq w <- enum V | A v w]].
  by rewrite -map_comp; apply: eq_map => w; rewrite /= IH.
by apply: perm_map; apply: renamed_nodes => w; apply: BA.
Qed.

Lemma renamed_degree s v : degree (h s) (g v) = degree s v.
Proof. by rewrite /degree (perm_size (renamed_nodes (h_g s v))) size_map. Qed.

Lemma renamed_feature p v : feature alpha (map h p) (g v) = feature alpha p v.
Proof.
rewrite /feature -[in LHS](symmetry_source h_bij h_edge).
by elim: p src => //= t p IH s; rewrite IH alpha_h !renamed_degree.
Qed.

Lemma renamed_pair s t : edge s t ->
  added (h s) (h t) = (g (added s t).1, g (added s t).2) \/
  added (h s) (h t) = (g (added s t).2, g (added s t).1).
Proof.
move=> st; have hst : edge (h s) (h t) by rewrite h_edge.
have: shape (h t) (g (added s t).1) (g (added s t).2).
  by rewrite h_g (shape_added _ _ st) -surjective_pairing eqxx orbT.
rewrite (shape_added _ _ hst) h_g (negbTE (shape_new st)) /=.
by case/orP=> /eqP <-; [left|right].
Qed.

Theorem networks_are_equivariant (N : network K (F * K)) :
  equivariant h (path_dependent x alpha N).
Proof.
move=> p t; have lastE : last src (map h p) = h (last src p).
  by rewrite -[in LHS](symmetry_source h_bij h_edge) last_map.
rewrite /path_dependent lastE; set s := last src p.
pose y v := (x v, feature alpha (map h p) v); pose z v := (x v, feature alpha p v).
rewrite -/y -/z.
have zy v : y (g v) = z v by rewrite /y /z x_g renamed_feature.
have pairs u : edge s u -> pair_score N (shape (h s)) y (added (h s) (h u)) =
    pair_score N (shape s) z (added s u).
  move=> su; rewrite /pair_score; case: (renamed_pair su) => -> /=;
    rewrite !(renamed_state N (h_g s) zy) //; exact: score_sym.
rewrite /normalised h_edge; case: ifP => // st; rewrite pairs //; congr (_ / _).
rewrite (reindex h) /=; last exact: onW_bij.
by apply: eq_big => u; rewrite h_edge // => su; rewrite pairs.
Qed.

Theorem networks_tie (N : network K (F * K)) z :
  law (path_dependent x alpha N) (h z) = law (path_dependent x alpha N) z.
Proof.
have same p hist : Symmetry.history_weight (path_dependent x alpha N) hist p =
    history_weight (path_dependent x alpha N) hist p.
  by elim: p hist => //= t p IH hist; rewrite IH.
have := symmetry_ties h_bij h_edge z (networks_are_equivariant N); rewrite /history_marginal.
by rewrite (eq_bigr _ (fun p _ => same p [::])) [RHS](eq_bigr _ (fun p _ => same p [::])).
Qed.
End Renaming.

(* State graphs that are listed: graph G s, by its edges, on the nodes 0, ..., k at state s.       *)
Definition joined (es : edges) v w : bool := ((v, w) \in es) || ((w, v) \in es).
Lemma each_below n (P : pred nat) : all P (iota 0 n) -> forall i : 'I_n, P i.
Proof. by move=> /allP all_P i; apply: all_P; rewrite mem_iota ltn_ord. Qed.

Section ListedGraphs.
Variables (n k : nat) (es : edges) (ok : listed n es) (pt : one_source n es) (G : nat -> edges).
Let D := listed_pointed ok pt.
Definition new_edge s t : nat * nat :=
  nth (0, 0)%N (G t) (find (fun e => e \notin G s) (G t)).
Definition pairs_of_nodes (P : nat -> nat -> bool) : bool :=
  all (fun v => all (P v) (iota 0 k.+1)) (iota 0 k.+1).
Definition grows (e : nat * nat) : bool := let: (a, b) := new_edge e.1 e.2 in
  [&& (a < k.+1)%N, (b < k.+1)%N, ~~ joined (G e.1) a b & pairs_of_nodes (fun v w =>
    joined (G e.2) v w == [|| joined (G e.1) v w, (v, w) == (a, b) | (w, v) == (a, b)])].
Definition graphs_ok : bool := [&& all (fun s => all (fun v => ~~ joined (G s) v v) (iota 0 k.+1))
    (iota 0 n.+1),
  all (fun s => all (fun t => (s == t) || ~~ pairs_of_nodes (fun v w =>
    joined (G s) v w == joined (G t) v w)) (iota 0 n.+1)) (iota 0 n.+1) & all grows es].
Hypothesis good : graphs_ok.

Definition listed_shape (s : D) : rel 'I_k.+1 := fun v w => joined (G s) v w.
Definition listed_pair (s t : D) : 'I_k.+1 * 'I_k.+1 :=
  (inord (new_edge s t).1, inord (new_edge s t).2).

Lemma listed_grows (s t : D) : edge s t -> grows (val s, val t).
Proof. by case/and3P: good => _ _ /allP grow st; apply: grow. Qed.

Lemma listed_sym s : symmetric (listed_shape s).
Proof. by move=> v w; rewrite /listed_shape /joined orbC. Qed.

Lemma listed_irr s : irreflexive (listed_shape s).
Proof.
by move=> v; apply/negbTE; case/and3P: good => /each_below/(_ s)/each_below/(_ v).
Qed.

Lemma listed_inj (s t : D) : listed_shape s =2 listed_shape t -> s = t.
Proof.
move=> same; apply/val_inj/eqP; case/and3P: good => _ /each_below/(_ s)/each_below/(_ t) + _.
case/orP=> // /negP[]; apply/allP => v; rewrite mem_iota => vk.
apply/allP => w; rewrite mem_iota => wk.
by apply/eqP; apply: (same (Ordinal (vk : (v < k.+1)%N)) (Ordinal (wk : (w < k.+1)%N))).
Qed.

Lemma listed_new (s t : D) : edge s t -> ~~ listed_shape s (listed_pair s t).1 (listed_pair s t).2.
Proof.
move/listed_grows; rewrite /grows /listed_shape /listed_pair /=.
by case: (new_edge s t) => a b /and4P[ak bk new _]; rewrite !inordK.
Qed.

Lemma listed_added (s t : D) (v w : 'I_k.+1) : edge s t -> listed_shape t v w =
  [|| listed_shape s v w, (v, w) == listed_pair s t | (w, v) == listed_pair s t].
Proof.
move/listed_grows; rewrite /grows /listed_shape /listed_pair /=.
case: (new_edge s t) => a b /and4P[ak bk _ /each_below/(_ v)/each_below/(_ w)/eqP->].
by rewrite !xpair_eqE -!val_eqE /= !inordK.
Qed.

Definition listed_states : state_graph (finite 'I_k.+1) :=
  StateGraph listed_sym listed_irr listed_inj listed_new listed_added.

Lemma listed_degree (s : listed_states) (v : 'I_k.+1) :
  degree s v = count (joined (G s) v) (iota 0 k.+1).
Proof. by rewrite -(val_enum_ord k.+1) [RHS]count_map /degree size_filter. Qed.
End ListedGraphs.

(* The state graph of the figure, on six nodes: the start 01 12 45, then 05, then 23 and 34 in
   either order, which makes the cycle; then q_1 adds 02, or q_2 adds 03.                         *)
Definition cycle_edges : edges := [:: (0, 1); (1, 2); (1, 3); (2, 4); (3, 4); (4, 5); (4, 6)]%N.
Lemma cycle_listed : listed 6 cycle_edges. Proof. by []. Qed.
Lemma cycle_one_source : one_source 6 cycle_edges. Proof. by []. Qed.
Definition cycle_graph (s : nat) : edges :=
  [:: (0, 1); (1, 2); (4, 5)]%N ++ [seq e.2 | e <- [:: ([:: 1; 2; 3; 4; 5; 6], (0, 5));
    ([:: 2; 4; 5; 6], (2, 3)); ([:: 3; 4; 5; 6], (3, 4)); ([:: 5], (0, 2)); ([:: 6], (0, 3))]
    & s \in e.1]%N.
Lemma cycle_ok : graphs_ok 6 5 cycle_edges cycle_graph. Proof. by vm_compute. Qed.
Definition cycle : state_graph (finite 'I_6) :=
  listed_states cycle_listed cycle_one_source cycle_ok.

Definition q1 : cycle := Ordinal (isT : (5 < 7)%N).
Definition q2 : cycle := Ordinal (isT : (6 < 7)%N).
Definition fork : cycle := Ordinal (isT : (4 < 7)%N).

Lemma cycle_terminal (z : cycle) : terminal z = (z \in [:: q1; q2]).
Proof.
rewrite listed_terminal !inE -!val_eqE /=.
have : all (fun z => (children cycle_edges z == [::]) == ((z == 5) || (z == 6)))%N (iota 0 7) by [].
by move/each_below/(_ z)/eqP.
Qed.

Lemma q1_terminal : terminal q1. Proof. by rewrite cycle_terminal mem_head. Qed.
Lemma q2_terminal : terminal q2. Proof. by rewrite cycle_terminal inE mem_head orbT. Qed.

Lemma fork_edge (z : cycle) : edge fork z = terminal z.
Proof.
rewrite cycle_terminal !inE -!val_eqE /= /edge /= /listed_edge /=.
have : all (fun z => ((4, z) \in cycle_edges) == ((z == 5) || (z == 6)))%N (iota 0 7) by [].
by move/each_below/(_ z)/eqP.
Qed.

Lemma to_end (s z : cycle) : terminal z -> edge s z = (s == fork).
Proof.
rewrite cycle_terminal !inE -!val_eqE /= /edge /= /listed_edge => ends.
have : all (fun s => all (fun z => (z == 5) || (z == 6) ==> (((s, z) \in cycle_edges) == (s == 4)))
  (iota 0 7))%N (iota 0 7) by [].
by move/each_below/(_ s)/each_below/(_ z)/implyP => /(_ ends)/eqP.
Qed.

Lemma cycle_degree (s : cycle) (v : 'I_6) :
  degree s v = count (joined (cycle_graph s) v) (iota 0 6).
Proof. exact: listed_degree. Qed.

Lemma fork_pairs : added fork q1 = (inord 0, inord 2) /\ added fork q2 = (inord 0, inord 3).
Proof. by []. Qed.

Section Laws.
Variables (K : realFieldType) (F : Type) (c : F).
Let x (v : 'I_6) : F := c.
Implicit Types (R : cycle -> K) (alpha : cycle -> K).

Lemma sum_ends (f : cycle -> K) : \sum_(z | terminal z) f z = f q1 + f q2.
Proof.
rewrite (bigD1 q1) ?cycle_terminal //= (bigD1 q2) ?cycle_terminal //= big1 ?addr0 // => z.
by rewrite cycle_terminal !inE => /andP[/andP[/orP[]->]] //; rewrite andbF.
Qed.

(* Total variation on the two ends.                                                               *)
Definition distance R (p : cycle -> K) : K := (\sum_(z | terminal z) `|R z - p z|) / 2%:R.
Lemma distance_first R p : R q1 + R q2 = 1 -> p q1 + p q2 = 1 -> distance R p = `|R q1 - p q1|.
Proof.
move=> R1 p1; rewrite /distance sum_ends.
have -> : R q2 - p q2 = - (R q1 - p q1).
  have last y z : y + z = 1 -> z = 1 - y :> K by move<-; rewrite addrAC subrr add0r.
  by rewrite (last _ _ R1) (last _ _ p1) !opprB addrC addrA subrK.
by rewrite normrN -mulr2n -[X in X / _]mulr_natr mulfK // pnatr_eq0.
Qed.

(* Without path features every network has the uniform law, ...                                   *)
Theorem uniform_without_features (N : network K F) :
  mass (markovian x N) src q1 = 1 / 2%:R /\ mass (markovian x N) src q2 = 1 / 2%:R.
Proof.
set m := mass _ _; have total : m q1 + m q2 = 1.
  rewrite -sum_ends; apply: marginal_sums_to_one => u nu.
  by apply: normalised_sum nu _ => t; apply: score_pos.
have at_end z : terminal z -> m z = m fork * markovian x N fork z.
  move=> tz; rewrite {1}/m mass_last; last by apply: contraTneq tz => ->; rewrite cycle_terminal.
  by rewrite (big_pred1 fork) // => s; apply: to_end.
have deg u : degree fork u = 2%N.
  rewrite cycle_degree; apply/eqP; move: u.
  have : all (fun v => count (joined (cycle_graph 4) v) (iota 0 6) == 2)%N (iota 0 6) by [].
  by move/each_below=> each6 u; have /eqP := each6 u.
have agree := regular_states_agree (x := x) N deg (fun _ _ => erefl).
have same e e' : pair_score N (shape fork) x e = pair_score N (shape fork) x e'.
  by rewrite /pair_score (agree _ e.1 e'.1) (agree _ e.2 e'.2).
have equal : m q1 = m q2.
  rewrite (at_end _ q1_terminal) (at_end _ q2_terminal) /markovian /normalised !fork_edge.
  rewrite q1_terminal q2_terminal; congr (_ * (_ / _)); exact: same.
have half y : y + y = 1 -> y = 1 / 2%:R :> K.
  have two0 : 2%:R != 0 :> K by rewrite pnatr_eq0.
  by move=> y1; apply: (mulIf two0); rewrite divfK // mulr_natr mulr2n.
by split; apply: half; rewrite -[RHS]total equal.
Qed.

(* ... and with them each positive law is that of a network, whatever the gate: one that sees which
   nodes are next to one that has gained no edge.  At the fork these are 0 and 2.                 *)
Definition marker (t : K) (t01 : 0 < t < 1) : network K (F * K).
Proof.
refine (@Network K (F * K) _ (fun y => y.2 == 0) (fun _ _ hs => true \in hs) 1
  (fun h k => if h && k then t else 1 - t) _ _ _).
- by move=> _ _ hs ks /perm_mem->.
- by move=> h k; rewrite andbC.
by case/andP: t01 => t0 t1 h k; case: ifP; rewrite ?subr_gt0.
Defined.

Lemma marked alpha t (t01 : 0 < t < 1) h e : (forall s, 0 < alpha s) ->
  path edge src h -> last src h = fork ->
  pair_score (marker t01) (shape fork) (fun v => (x v, feature alpha h v)) e =
  if joined (cycle_graph 4) e.1 1%N && joined (cycle_graph 4) e.2 1%N then t else 1 - t.
Proof.
move=> a0 sh hf; have zero v : (feature alpha h v == 0) = (v == 1%N :> nat).
  have [_ _ ->] := feature_sign v a0 sh; rewrite hf !cycle_degree.
  have : all (fun v => (count (joined (cycle_graph 4) v) (iota 0 6) ==
    count (joined (cycle_graph 0) v) (iota 0 6)) == (v == 1))%N (iota 0 6) by [].
  by move/each_below/(_ v)/eqP.
have state v : node_state (marker t01) (shape fork) (fun v => (x v, feature alpha h v)) 1 v =
    joined (cycle_graph 4) v 1%N.
  apply/mapP/idP => [[w]|v1]; rewrite /= ?mem_filter.
    by move=> /andP[vw _] /esym; rewrite zero => /eqP w1; move: vw; rewrite /listed_shape w1.
  exists (Ordinal (isT : (1 < 6)%N)); first by rewrite mem_filter mem_enum andbT.
  by rewrite zero.
by rewrite /pair_score !state.
Qed.

Theorem every_law_with_features alpha t : (forall s, 0 < alpha s) -> 0 < t < 1 ->
  exists N : network K (F * K),
  law (path_dependent x alpha N) q1 = t /\ law (path_dependent x alpha N) q2 = 1 - t.
Proof.
move=> a0 t01; exists (marker t01); set pF := path_dependent _ _ _.
have at_fork h : path edge src h -> last src h = fork -> pF h q1 = t /\ pF h q2 = 1 - t.
  move=> sh hf; have sc e := marked t01 e a0 sh hf; have [e1 e2] := fork_pairs.
  have s1 := sc (added fork q1); have s2 := sc (added fork q2).
  rewrite {}e1 /fst /snd !inordK // in s1; rewrite {}e2 /fst /snd !inordK // in s2.
  rewrite /pF /path_dependent /normalised hf !fork_edge q1_terminal q2_terminal.
  rewrite (eq_bigl _ _ fork_edge) sum_ends s1 s2.
  by rewrite [t + _]addrC subrK !divr1.
have at_end z y : terminal z -> (forall h, path edge src h -> last src h = fork -> pF h z = y) ->
    law pF z = (\sum_(h <- trajs src fork) history_weight pF [::] h) * y.
  move=> tz zy; rewrite law_last; last by apply: contraTneq tz => ->; rewrite cycle_terminal.
  rewrite (big_pred1 fork) => [|s]; last exact: to_end.
  rewrite mulr_suml; apply: eq_big_seq => h; rewrite mem_trajs => /andP[sh /eqP hf].
  by rewrite zy.
have q1E := at_end _ _ q1_terminal (fun h sh hf => proj1 (at_fork h sh hf)).
have q2E := at_end _ _ q2_terminal (fun h sh hf => proj2 (at_fork h sh hf)).
have := path_dependent_law x alpha (marker t01); rewrite sum_ends -/pF q1E q2E -mulrDr.
by rewrite [t + _]addrC subrK mulr1 => ->; rewrite !mul1r.
Qed.

(* prop:temporal_gnns: R_P(S) is not contained in R_M(S), whatever the gate.                      *)
Theorem features_gain alpha : (forall s, 0 < alpha s) ->
  exists R, attained_with x alpha R /\ ~ attained_without x R.
Proof.
move=> a0; pose t : K := 3%:R^-1; have third : 0 < t < 1.
  by rewrite invr_gt0 ltr0n invf_lt1 ?ltr0n // ltr1n.
have [N [law1 _]] := every_law_with_features a0 third.
exists (law (path_dependent x alpha N)); split; first by exists N.
case=> M /(_ _ q1_terminal); rewrite law1; have [-> _] := uniform_without_features M.
by move/eqP; rewrite div1r (inj_eq invr_inj) eqr_nat.
Qed.

(* fig:graphssgb: the distance of a network without path features from a target R, ...            *)
Theorem figure_without R (N : network K F) : R q1 + R q2 = 1 ->
  distance R (mass (markovian x N) src) = `|R q1 - 1 / 2%:R|.
Proof.
move=> R1; have [m1 m2] := uniform_without_features N.
by rewrite (distance_first R1) ?m1 // m2 -mulrDl -[1 + 1]/(2%:R) divff // pnatr_eq0.
Qed.

(* ... and with them: the infimum is zero, and attained unless R lies on one end.                 *)
Theorem figure_with R alpha : (forall s, 0 < alpha s) ->
  0 <= R q1 -> 0 <= R q2 -> R q1 + R q2 = 1 ->
  (forall e, 0 < e -> exists N, distance R (law (path_dependent x alpha N)) < e) /\
  ((exists N, distance R (law (path_dependent x alpha N)) = 0) <-> 0 < R q1 < 1).
Proof.
move=> a0 R1 R2 Rsum; have total N : law (path_dependent x alpha N) q1 +
    law (path_dependent x alpha N) q2 = 1 by rewrite -sum_ends; apply: path_dependent_law.
have dist N := distance_first Rsum (total N); split=> [e e0|]; last first.
  split=> [[N]|t01]; last first.
    have [N [law1 _]] := every_law_with_features a0 t01.
    by exists N; rewrite dist law1 subrr normr0.
  rewrite dist => /eqP; rewrite normr_eq0 subr_eq0 => /eqP->.
  by rewrite law_pos -(total N) -subr_gt0 addrAC subrr add0r law_pos.
pose h : K := 2%:R^-1; pose d := e / (1 + e); pose t := R q1 - d * (R q1 - h).
have h0 : 0 < h by rewrite invr_gt0 ltr0n.
have h1 : h < 1 by rewrite invf_lt1 ?ltr0n // ltr1n.
have e1 : 0 < 1 + e by rewrite addr_gt0 ?ltr01.
have d0 : 0 < d by rewrite divr_gt0.
have dE : d * (1 + e) = e by rewrite divfK ?gt_eqF.
have d1 : d < 1 by rewrite -(ltr_pmul2r e1) dE mul1r -subr_gt0 addrK ltr01.
have de : d < e.
  by rewrite -(ltr_pmul2r e1) dE mulrDr mulr1 -subr_gt0 addrAC subrr add0r mulr_gt0.
have le1 : R q1 <= 1 by rewrite -Rsum ler_addl.
have t01 : 0 < t < 1.
  have -> : t = (1 - d) * R q1 + d * h.
    by rewrite /t mulrBr mulrBl mul1r opprB addrA addrAC.
  apply/andP; split.
    apply: ltr_paddl; last exact: mulr_gt0.
    by apply: mulr_ge0 R1; rewrite subr_ge0 ltW.
  apply: (@le_lt_trans _ _ ((1 - d) + d * h)).
    by rewrite ler_add2r ler_pimulr // subr_ge0 ltW.
  rewrite -subr_gt0 opprD opprB addrA [1 + _]addrC subrK.
  by rewrite -[X in X - _]mulr1 -mulrBr mulr_gt0 // subr_gt0.
have [N [law1 _]] := every_law_with_features a0 t01; exists N.
rewrite dist law1 /t opprB addrCA subrr addr0 normrM (gtr0_norm d0).
apply: le_lt_trans de; rewrite ler_pimulr ?(ltW d0) // ler_norml ler_subr_addr; apply/andP; split.
  by apply: le_trans R1; rewrite addrC -opprB oppr_le0 subr_ge0 ltW.
by rewrite ler_subl_addr (le_trans le1) // ler_addl ltW.
Qed.
End Laws.

(* A gate that reads names breaks the tie: nodes 1, 2 and 3, 4 are joined in either order, then 0 to
   1 or to 3.  The renaming that exchanges the two edges exchanges the ends.                      *)
Definition mirror_edges : edges := [:: (0, 1); (0, 2); (1, 3); (2, 3); (3, 4); (3, 5)]%N.
Lemma mirror_listed : listed 5 mirror_edges. Proof. by []. Qed.
Lemma mirror_one_source : one_source 5 mirror_edges. Proof. by []. Qed.
Definition mirror_graph (s : nat) : edges :=
  [seq e.2 | e <- [:: ([:: 1; 3; 4; 5], (1, 2)); ([:: 2; 3; 4; 5], (3, 4));
    ([:: 4], (0, 1)); ([:: 5], (0, 3))] & s \in e.1]%N.
Lemma mirror_ok : graphs_ok 5 4 mirror_edges mirror_graph. Proof. by vm_compute. Qed.
Definition mirror : state_graph (finite 'I_5) :=
  listed_states mirror_listed mirror_one_source mirror_ok.

Definition swap_states (s : nat) : nat := nth 0%N [:: 0; 2; 1; 3; 5; 4]%N s.
Definition swap_nodes (v : nat) : nat := nth 0%N [:: 0; 3; 4; 1; 2]%N v.
Definition mirror_state (s : mirror) : mirror := (inord (swap_states s) : 'I_6).
Definition mirror_node (v : 'I_5) : 'I_5 := inord (swap_nodes v).

Lemma mirror_stateE s : val (mirror_state s) = swap_states s.
Proof.
by rewrite /= inordK //; have : all (fun s => swap_states s < 6)%N (iota 0 6) by [];
  move/each_below/(_ s).
Qed.

Lemma mirror_nodeE v : val (mirror_node v) = swap_nodes v.
Proof.
by rewrite /= inordK //; have : all (fun v => swap_nodes v < 5)%N (iota 0 5) by [];
  move/each_below/(_ v).
Qed.

Lemma mirror_symmetry : [/\ bijective mirror_state, bijective mirror_node,
  forall s t, edge (mirror_state s) (mirror_state t) = edge s t
  & forall s v w, shape (mirror_state s) (mirror_node v) (mirror_node w) = shape s v w].
Proof.
split=> [||s t|s v w].
- apply: inv_bij => s; apply: val_inj; rewrite !mirror_stateE; apply/eqP; move: s.
  have : all (fun s => swap_states (swap_states s) == s)%N (iota 0 6) by [].
  by move/each_below.
- apply: inv_bij => v; apply: val_inj; rewrite !mirror_nodeE; apply/eqP; move: v.
  have : all (fun v => swap_nodes (swap_nodes v) == v)%N (iota 0 5) by [].
  by move/each_below.
- rewrite /edge /= /listed_edge !mirror_stateE.
  have : all (fun s => all (fun t => ((swap_states s, swap_states t) \in mirror_edges) ==
    ((s, t) \in mirror_edges)) (iota 0 6)) (iota 0 6) by [].
  by move/each_below/(_ s)/each_below/(_ t)/eqP.
rewrite /= /listed_shape mirror_stateE !mirror_nodeE.
have : all (fun s => all (fun v => all (fun w =>
  joined (mirror_graph (swap_states s)) (swap_nodes v) (swap_nodes w) ==
  joined (mirror_graph s) v w) (iota 0 5)) (iota 0 5)) (iota 0 6) by [].
by move/each_below/(_ s)/each_below/(_ v)/each_below/(_ w)/eqP.
Qed.

Definition end1 : mirror := Ordinal (isT : (4 < 6)%N).
Definition end2 : mirror := Ordinal (isT : (5 < 6)%N).
Definition choice : mirror := Ordinal (isT : (3 < 6)%N).

Section LabelGate.
Variable K : realFieldType.
Let c : K := 2%:R^-1.
Definition label_gate (s : mirror) : K := if val s == 1%N then c else 1.
Definition half_seen : network K (unit * K).
Proof.
refine (@Network K (unit * K) _ (fun y => y.2 == c) (fun _ h _ => h) 0
  (fun h k => if h || k then 2%:R else 1) _ _ _) => // h k; first by rewrite orbC.
by case: ifP; rewrite ?ltr01 ?ltr0n.
Defined.

Lemma c_values : ((1 == c) = false) * ((0 == c) = false).
Proof.
have c0 : 0 < c by rewrite invr_gt0 ltr0n.
by split; [rewrite gt_eqF // invf_lt1 ?ltr0n // ltr1n|rewrite lt_eqF].
Qed.

Lemma mirror_histories (h : seq mirror) : path edge src h -> last src h = choice ->
  map val h = [:: 1; 3]%N \/ map val h = [:: 2; 3]%N.
Proof.
move=> sh hc; have sp : path edge src (rcons h end1) by rewrite rcons_path sh hc.
have tp : terminal (last (src : mirror) (rcons h end1)) by rewrite last_rcons listed_terminal.
have := @mem_walks 5 _ mirror_listed ord0 (rcons h end1) sp tp; rewrite map_rcons.
rewrite -[walks _ _ _]/([:: [:: 1; 3; 4]; [:: 1; 3; 5]; [:: 2; 3; 4]; [:: 2; 3; 5]])%N.
rewrite !inE -[[:: 1; 3; 4]%N]/(rcons [:: 1; 3]%N 4%N) -[[:: 1; 3; 5]%N]/(rcons [:: 1; 3]%N 5%N).
rewrite -[[:: 2; 3; 4]%N]/(rcons [:: 2; 3]%N 4%N) -[[:: 2; 3; 5]%N]/(rcons [:: 2; 3]%N 5%N).
by rewrite !eqseq_rcons => /or4P[] /andP[/eqP-> _]; [left|left|right|right].
Qed.

Lemma mirror_feature (h : seq mirror) (a b : nat) v : map val h = [:: a; b] ->
  feature label_gate h v = (count (joined (mirror_graph a) v) (iota 0 5))%:R
    - (count (joined (mirror_graph 0) v) (iota 0 5))%:R
    + (if a == 1%N then c else 1) * ((count (joined (mirror_graph b) v) (iota 0 5))%:R -
    (count (joined (mirror_graph a) v) (iota 0 5))%:R).
Proof.
case: h => [|s [|t [|//]]] // [<- <-]; rewrite /feature /= addr0 /label_gate /= mul1r.
by rewrite !listed_degree.
Qed.

Lemma flags (h : seq mirror) : path edge src h -> last src h = choice ->
  let y := fun v => (tt, feature label_gate h v) in
  let score z := pair_score half_seen (shape choice) y (added choice z) in
  score end1 = 1 /\ score end2 = if map val h == [:: 1; 3]%N then 2%:R else 1.
Proof.
move=> sh hc y score; have e1 : added choice end1 = (inord 0, inord 1) by [].
have e2 : added choice end2 = (inord 0, inord 3) by [].
rewrite /score /pair_score e1 e2 /=.
case: (mirror_histories sh hc) => hE; rewrite !(mirror_feature _ hE) hE !inordK //=.
  by rewrite !subrr !subr0 !mulr0 !mulr1 !addr0 !add0r !c_values eqxx.
by rewrite !subrr !subr0 !mulr0 !mulr1 !addr0 !add0r !c_values.
Qed.

Theorem label_gate_breaks_tie : mirror_state end1 = end2 /\
  law (path_dependent (fun=> tt) label_gate half_seen) end1 !=
  law (path_dependent (fun=> tt) label_gate half_seen) (mirror_state end1).
Proof.
have e12 : mirror_state end1 = end2 by apply: val_inj; rewrite mirror_stateE.
split=> //; rewrite e12; set pF := path_dependent _ _ _.
have to_end (z : mirror) : z \in [:: end1; end2] ->
    [/\ z != src, edge choice z & forall s, edge s z = (s == choice)].
  rewrite !inE => zE; split; first by case/orP: zE => /eqP->.
    by case/orP: zE => /eqP->.
  move=> s; rewrite -val_eqE /= /edge /= /listed_edge.
  have : all (fun s => all (fun z => ((s, z) \in mirror_edges) == (s == 3)) [:: 4; 5])%N (iota 0 6).
    by [].
  move/each_below/(_ s)/allP/(_ (val z)) => sz; apply/eqP; apply: sz.
  by case/orP: zE => /eqP->.
have [[s1 c1 p1] [s2 c2 p2]] := (to_end end1 isT, to_end end2 isT).
rewrite !law_last // (big_pred1 choice) // [X in _ != X](big_pred1 choice) //.
pose w h := history_weight pF [::] h; rewrite -subr_eq0 -sumrB -oppr_eq0 -sumrN.
have step h : h \in trajs src choice -> - (w h * pF h end1 - w h * pF h end2) =
    w h * ((if map val h == [:: 1; 3]%N then 1 else 0) / \sum_(u | edge choice u)
      pair_score half_seen (shape choice) (fun v => (tt, feature label_gate h v)) (added choice u)).
  rewrite mem_trajs => /andP[sh /eqP hc]; have [f1 f2] := flags sh hc.
  rewrite opprB -mulrBr /pF /path_dependent /normalised hc c1 c2 f1 f2 -mulrBl.
  by case: ifP => _; rewrite ?subrr // -(natrB _ (isT : (1 <= 2)%N)).
rewrite (eq_big_seq _ step); pose h0 : seq mirror := [:: Ordinal (isT : (1 < 6)%N); choice].
have S0 h : 0 < \sum_(u | edge choice u)
      pair_score half_seen (shape choice) (fun v => (tt, feature label_gate h v)) (added choice u).
  have pos e : 0 < pair_score half_seen (shape choice)
      (fun v => (tt, feature label_gate h v)) e by apply: score_pos.
  rewrite (bigD1 end1 c1); apply: ltr_paddr (pos _); apply: sumr_ge0 => u _; exact/ltW/pos.
have w_ge0 h : h \in trajs src choice -> 0 < w h.
  by rewrite mem_trajs => /andP[sh _]; apply: (@weight_pos _ _ _ _ _ _ _ [::]).
have h0_in : h0 \in trajs src choice by rewrite mem_trajs eqxx andbT.
rewrite gt_eqF // (big_rem h0) //=; apply: ltr_paddr; last first.
  by apply: mulr_gt0 (w_ge0 _ h0_in) _; apply: divr_gt0 (S0 h0); apply: ltr01.
rewrite big_seq; apply: sumr_ge0 => h /mem_rem/w_ge0/ltW hw; apply: mulr_ge0 hw _.
by apply: divr_ge0 (ltW (S0 h)); case: ifP; rewrite ?ler01.
Qed.
End LabelGate.
