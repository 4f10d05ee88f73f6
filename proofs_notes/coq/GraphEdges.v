(* The two ways to write an edge that is added, and what graph networks without memory cannot tell
   apart (eq:graphss).  [zeta] stands for exp zeta: positive, and symmetric where it is said.     *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Dag Policies Listed GraphNetworks.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Edges.
Variables (V : finType) (K : realFieldType) (X : Type).
Definition written (N : network K X) (zeta : hidden N -> hidden N -> K) (A : rel V) (x : V -> X)
    (e : V * V) : K :=
  zeta (node_state N A x (rounds N) e.1) (node_state N A x (rounds N) e.2).

(* (m, n) and (n, m) as two actions with one result: the weight of the edge is their sum, the score
   of a network that is symmetric; and each symmetric score is such a sum.                        *)
Theorem two_actions (N : network K X) (zeta : hidden N -> hidden N -> K) :
  (forall h k, 0 < zeta h k) -> exists N' : network K X, forall A x (e : V * V),
  pair_score N' A x e = written zeta A x e + written zeta A x (e.2, e.1).
Proof.
move=> z0; have sym h k : zeta h k + zeta k h = zeta k h + zeta h k by apply: addrC.
have pos h k : 0 < zeta h k + zeta k h by rewrite addr_gt0.
exists (Network (embed N) (rounds N) (@layer_perm _ _ N) sym pos) => A x e.
have same l v : node_state (Network (embed N) (rounds N) (@layer_perm _ _ N) sym pos) A x l v =
    node_state N A x l v.
  by elim: l v => //= l IH v; rewrite IH (eq_map IH).
by rewrite /pair_score !same.
Qed.

Theorem symmetric_is_two_actions (N : network K X) A x (e : V * V) :
  let zeta h k := score h k / 2%:R in
  pair_score N A x e = written (N := N) zeta A x e + written (N := N) zeta A x (e.2, e.1).
Proof.
rewrite /written /pair_score /= [score (node_state _ _ _ _ e.2) _]score_sym -mulrDl -mulr2n.
by rewrite -[X in X / _]mulr_natr mulfK // pnatr_eq0.
Qed.

(* Policies without memory are equivariant, ...                                                   *)
Variables (S : state_graph V) (h : S -> S) (g : V -> V) (x : V -> X).
Theorem markovian_is_equivariant (N : network K X) : bijective h ->
  (forall s t, edge (h s) (h t) = edge s t) -> bijective g ->
  (forall s v w, shape (h s) (g v) (g w) = shape s v w) -> (forall v, x (g v) = x v) ->
  forall s t, markovian x N (h s) (h t) = markovian x N s t.
Proof.
move=> h_bij h_edge g_bij h_g x_g s t.
have pairs u : edge s u -> pair_score N (shape (h s)) x (added (h s) (h u)) =
    pair_score N (shape s) x (added s u).
  move=> su; rewrite /pair_score; case: (renamed_pair h_edge h_g su) => -> /=;
    rewrite !(renamed_state g_bij N (h_g s) x_g) //; exact: score_sym.
rewrite /markovian /normalised h_edge; case: ifP => // st; rewrite pairs //; congr (_ / _).
rewrite (reindex h) /=; last exact: onW_bij.
by apply: eq_big => u; rewrite h_edge // => su; rewrite pairs.
Qed.

(* ... and two ends with one parent, whose edges join nodes in equal states, are as likely.       *)
Theorem alike_ends_tie (N : network K X) (p q q' : S) :
  (forall s, edge s q = (s == p)) -> (forall s, edge s q' = (s == p)) ->
  let c v := node_state N (shape p) x (rounds N) v in
  let (a, b) := added p q in let (a', b') := added p q' in
  (c a = c a' /\ c b = c b') \/ (c a = c b' /\ c b = c a') ->
  mass (markovian x N) src q = mass (markovian x N) src q'.
Proof.
move=> pq pq' c; case e: (added p q) => [a b]; case e': (added p q') => [a' b'] same.
have scores : pair_score N (shape p) x (added p q) = pair_score N (shape p) x (added p q').
  rewrite e e' /pair_score /=; move: same; rewrite /c => -[[-> ->]|[-> ->]] //; exact: score_sym.
have not_src z : (forall s, edge s z = (s == p)) -> z != src.
  by move=> pz; rewrite -src_unique; apply/forallPn; exists p; rewrite pz eqxx.
rewrite !mass_last ?not_src // (big_pred1 p) // [RHS](big_pred1 p) //.
by rewrite /markovian /normalised pq pq' !eqxx scores.
Qed.
End Edges.

(* With the lesser node first the laws depend on names.  Three nodes, and an edge: to join the third
   to either end, all weights are equal if the edge is 01, and may be 2 and 1 if it is 02.        *)
Section Names.
Variables (K : realFieldType) (X : Type) (c : X).
Definition one_edge (a b : nat) : rel 'I_3 := fun v w => joined [:: (a, b)] v w.
Definition at_ k (k3 : (k < 3)%N) : 'I_3 := Ordinal k3.
Let n0 := @at_ 0 isT.
Let n1 := @at_ 1 isT.
Let n2 := @at_ 2 isT.

Theorem lesser_first_01 (N : network K X) (zeta : hidden N -> hidden N -> K) :
  written zeta (one_edge 0 1) (fun=> c) (n0, n2) = written zeta (one_edge 0 1) (fun=> c) (n1, n2).
Proof.
pose f (v : 'I_3) : 'I_3 := if v == n0 then n1 else if v == n1 then n0 else v.
have ff : involutive f by case=> -[|[|[|]]] // lt; apply: val_inj.
have keeps v w : one_edge 0 1 (f v) (f w) = one_edge 0 1 v w.
  by case: v w => -[|[|[|]]] // lt [[|[|[|]]] lt'].
have same := renamed_state (inv_bij ff) N keeps (fun _ => erefl (c : X)) (rounds N).
by rewrite /written /= -(same n0) -(same n2).
Qed.

Theorem lesser_first_02 : exists (N : network K X) (zeta : hidden N -> hidden N -> K),
  [/\ forall h k, 0 < zeta h k,
      written zeta (one_edge 0 2) (fun=> c) (n0, n1) = 2%:R
    & written zeta (one_edge 0 2) (fun=> c) (n1, n2) = 1].
Proof.
have perm_size (l : nat) (b : bool) (s t : seq bool) : perm_eq s t -> (s != [::]) = (t != [::]).
  by move/perm_size; rewrite -!size_eq0 => ->.
exists (@Network K X _ (fun=> true) (fun _ _ s => s != [::]) 1 (fun _ _ => 1) perm_size
  (fun _ _ => erefl) (fun _ _ => ltr01)), (fun h k => if h && ~~ k then 2%:R else 1).
have joins (v : 'I_3) : ([seq true | w <- enum 'I_3 & one_edge 0 2 v w] != [::]) =
    has (joined [:: (0, 2)]%N v) (iota 0 3).
  by rewrite -(val_enum_ord 3) has_map -size_eq0 -lt0n size_map size_filter -has_count.
split=> [h k||]; first by case: ifP; rewrite ?ltr01 ?ltr0n.
- by rewrite /written /= !joins.
by rewrite /written /= !joins.
Qed.
End Names.
