(* Symmetric policies give symmetric states the same probability (symmetry-ties-terminals).       *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Dag Policies SubtrajectoryBalance Flow.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Symmetry.
Variables (G : pointedDAG) (h : G -> G).
Hypotheses (h_bij : bijective h) (h_edge : forall u v, edge (h u) (h v) = edge u v).

(* A symmetry fixes s_o and permutes the terminal states.                                         *)
Lemma symmetry_source : h src = src.
Proof.
have [g hg gh] := h_bij; apply/eqP; rewrite -src_unique; apply/forallP => u.
by rewrite -[u]gh h_edge; move: (src_unique (src : G)); rewrite eqxx => /forallP.
Qed.

Lemma symmetry_terminal x : terminal (h x) = terminal x.
Proof.
have [g hg gh] := h_bij; apply/forallP/forallP => tx v; first by rewrite -h_edge.
by rewrite -[v]gh h_edge.
Qed.

Lemma symmetry_path u p : path edge (h u) (map h p) = path edge u p.
Proof. by elim: p u => //= v p IH u; rewrite h_edge IH. Qed.

(* A law on histories, the lists of the states after s_o: p s' is drawn after the history p.  It is
   equivariant if the renamed step comes after the renamed history as often.                      *)
Variable K : fieldType.
Implicit Types (pF : seq G -> G -> K).
Definition equivariant pF := forall p s, pF (map h p) (h s) = pF p s.

Fixpoint history_weight pF (past p : seq G) : K :=
  if p is s :: q then pF past s * history_weight pF (rcons past s) q else 1.
Definition history_marginal pF (x : G) : K := \sum_(p <- trajs src x) history_weight pF [::] p.

Lemma equivariant_weight pF past p : equivariant pF ->
  history_weight pF (map h past) (map h p) = history_weight pF past p.
Proof. by move=> equi; elim: p past => //= s p IH past; rewrite equi -map_rcons IH. Qed.

(* 1. Whatever is remembered, x and its image are drawn as often.                                 *)
Theorem symmetry_ties pF x : equivariant pF -> history_marginal pF (h x) = history_marginal pF x.
Proof.
move=> equi; have [g hg gh] := h_bij; rewrite /history_marginal.
rewrite (perm_big (map (map h) (trajs src x))); last first.
  apply: uniq_perm; rewrite ?uniq_trajs //.
    by rewrite map_inj_uniq ?uniq_trajs //; apply/inj_map/can_inj/hg.
  move=> p; rewrite mem_trajs; apply/andP/mapP => [[sp /eqP lp]|[q]].
    exists (map g p); last by rewrite mapK.
    have ph : map h (map g p) = p by rewrite mapK.
    rewrite mem_trajs -symmetry_path symmetry_source ph sp /=; apply/eqP/(can_inj hg).
    by rewrite -last_map ph symmetry_source.
  rewrite mem_trajs => /andP[sq /eqP lq] ->; rewrite -{1 2}symmetry_source symmetry_path sq.
  by rewrite last_map lq.
rewrite big_map; apply: eq_bigr => p _.
by rewrite -[RHS](equivariant_weight [::] p equi).
Qed.
End Symmetry.

(* 2. Every positive law that the symmetry keeps is that of an equivariant policy without memory:
   the flow of the uniform p_B, which is in balance with it, is kept as well.                     *)
Theorem symmetric_law_attained (G : pointedDAG) (h : G -> G) (K : numFieldType) (R : G -> K) :
  bijective h -> (forall u v, edge (h u) (h v) = edge u v) ->
  (forall x, terminal x -> 0 < R x) -> (forall x, terminal x -> R (h x) = R x) ->
  let pF := flow_policy (@uniform_backward G K) R in
  [/\ forward_policy pF, forall u v, edge u v -> pF (h u) (h v) = pF u v
    & forall x, terminal x -> mass pF src x = R x / \sum_(y | terminal y) R y].
Proof.
move=> h_bij h_edge R_pos R_same pF; have [g hg gh] := h_bij.
have [normF normB flow bal F_pos] := balanced_policies_exist R_pos.
have total0 : \sum_(y : G | terminal y) R y != 0.
  have [p /andP[_ tx]] := reaches_terminal (src : G).
  rewrite gt_eqF // (bigD1 (last src p)) //=; apply: ltr_paddr; last exact: R_pos.
  by apply: sumr_ge0 => y /andP[ty _]; rewrite ltW ?R_pos.
split=> // [u v uv|x tx]; last first.
  have [F_src ->] := subtb_state_marginals normF normB flow bal total0.
  by rewrite F_src flow.
have same_B a b : uniform_backward K (h a) (h b) = uniform_backward K a b.
  rewrite /uniform_backward; congr (_%:R^-1); rewrite -[RHS](card_image (can_inj hg)).
  apply: eq_card => w; rewrite !inE; apply/idP/imageP => [wb|[c cb ->]]; last by rewrite h_edge.
  by exists (g w); rewrite ?gh // inE -h_edge gh.
have same_F a : backward_flow (@uniform_backward G K) R (h a) =
                backward_flow (@uniform_backward G K) R a.
  elim/reverse_topological_ind: a => a IH; case ta: (terminal a).
    by rewrite !flow_terminal ?symmetry_terminal ?ta // R_same ?ta.
  rewrite !flow_children ?symmetry_terminal ?ta // (reindex h) /=; last exact: onW_bij.
  by apply: eq_big => [b|b]; rewrite h_edge // => ab; rewrite same_B IH.
by rewrite /pF /flow_policy same_B !same_F.
Qed.
