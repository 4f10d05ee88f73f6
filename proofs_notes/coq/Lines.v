(* The environment Lines: its graph (fig:lines), trajectory balance on it (eq:lines), and the lift by
   a linear recurrence (lines-lift).

   Nodes are p_0, ..., p_N and q_0, ..., q_N.  From p_i one moves to p_j with i < j <= i + M, or stops
   at q_i.                                                                                        *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Dag Policies Normalisation Lift LatentLift Trees Recursions.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Histories.
Variables (G : pointedDAG) (K : fieldType) (pF : seq G -> G -> K).

(* A policy that may depend on the whole history h, the states after s_o: p_F(v | h), normalised on
   the children.  The probability of continuing h by p is the product of its steps.               *)
Definition history_policy := forall h, path edge src h -> ~~ terminal (last src h) ->
  \sum_(v | edge (last src h) v) pF h v = 1.
Fixpoint history_weight (h p : seq G) : K :=
  if p is v :: q then pF h v * history_weight (rcons h v) q else 1.

Lemma history_weight_rcons h p v :
  history_weight h (rcons p v) = history_weight h p * pF (h ++ p) v.
Proof.
elim: p h => [|u p IH] h /=; first by rewrite cats0 mulr1 mul1r.
by rewrite IH cat_rcons mulrA.
Qed.

Lemma history_sums_to_one : history_policy ->
  \sum_(x | terminal x) \sum_(p <- trajs src x) history_weight [::] p = 1.
Proof.
move=> norm; suff all_from u h : path edge src h -> last src h = u ->
    \sum_(x | terminal x) \sum_(p <- trajs u x) history_weight h p = 1 by exact: all_from.
elim/reverse_topological_ind: u h => u IH h sh hu; case tu: (terminal u).
  rewrite (bigD1 u) //= sum_trajs_refl big1 ?addr0 // => x /andP[_ xu].
  rewrite sum_trajs_first; last by rewrite eq_sym.
  by rewrite big1 // => v uv; move/forallP/(_ v): tu; rewrite uv.
have nu : ~~ terminal u by rewrite tu.
transitivity (\sum_(x | terminal x) \sum_(v | edge u v) pF h v *
    \sum_(p <- trajs v x) history_weight (rcons h v) p).
  apply: eq_bigr => x tx; rewrite sum_trajs_first; last by apply: contraNneq nu => ->.
  by apply: eq_bigr => v _; rewrite mulr_sumr.
rewrite exchange_big -(norm h sh) ?hu //; apply: eq_bigr => v uv.
by rewrite -mulr_sumr IH ?mulr1 ?last_rcons // rcons_path sh hu.
Qed.
End Histories.

Section Lines.
Variables (N M : nat) (M_pos : (0 < M)%N).
Definition line_node : finType := finite ('I_N.+1 + 'I_N.+1).
Definition forward (i j : 'I_N.+1) := (i < j <= i + M)%N.
Definition line_edge : rel line_node := fun u v =>
  match u, v with inl i, inl j => forward i j | inl i, inr j => i == j | _, _ => false end.

Definition depth (u : line_node) : nat := match u with inl i => i | inr _ => N.+1 end.

Lemma line_acyclic u p : path line_edge u p -> last u p = u -> p = [::].
Proof.
have deeper v w : line_edge v w -> (depth v < depth w)%N.
  by case: v w => [i|i] [j|j] //=; case/andP.
case: p => // v p /= /andP[uv vp] lp; suff: (depth v <= depth u)%N by rewrite leqNgt deeper.
rewrite -lp; elim: p v vp {uv lp} => //= w p IH v /andP[/deeper vw /IH].
exact/leq_trans/ltnW.
Qed.
Definition lines_dag := Dag line_acyclic.

Lemma line_source (v : lines_dag) : source v = (v == inl ord0).
Proof.
apply/forallP/eqP => [none|-> [i|i]] //; case: v none => j none; last first.
  by have := none (inl j); rewrite /edge /= eqxx.
congr inl; apply/val_inj/eqP; rewrite -leqn0 leqNgt; apply/negP => j0.
have iN : (j.-1 < N.+1)%N by apply: leq_ltn_trans (leq_pred j) (ltn_ord j).
have := none (inl (Ordinal iN)); rewrite /edge /= /forward /= prednK // leqnn /= -{1}(prednK j0).
by rewrite -addn1 leq_add2l M_pos.
Qed.
Definition lines := PointedDAG line_source.
Definition p_ (i : 'I_N.+1) : lines := inl i.
Definition q_ (i : 'I_N.+1) : lines := inr i.

(* fig:lines.  Lines is a pointed DAG with s_o = p_0; its edges are those that are printed; its inner
   states are the p_i, and its terminal states the q_i.                                           *)
Lemma terminal_p i : terminal (p_ i) = false.
Proof. by apply/negbTE/forallPn; exists (q_ i); rewrite negbK /edge /= eqxx. Qed.
Lemma terminal_q i : terminal (q_ i).
Proof. by apply/forallP. Qed.

Theorem lines_as_printed :
  [/\ src = p_ ord0, forall i, terminal (p_ i) = false, forall i, terminal (q_ i),
      forall i j, edge (p_ i) (q_ j) = (i == j)
    & forall i j, edge (p_ i) (p_ j) <-> exists2 k, (1 <= k <= minn M (N - i))%N & j = (i + k)%N :> nat].
Proof.
split=> // [|i|i j]; [exact: terminal_p|exact: terminal_q|]; split=> [/andP[ij ji]|[k /andP[k0]]].
  exists (j - i)%N; last by rewrite subnKC // ltnW.
  by rewrite subn_gt0 ij leq_min leq_subLR ji leq_sub2r // -ltnS.
by rewrite leq_min => /andP[kM _] jk; rewrite /edge /= /forward jk -[X in (X < _)%N]addn0 ltn_add2l k0 leq_add2l.
Qed.

(* Lines is a tree if and only if M = 1 or N = 1, and then every lift of it is trivial.           *)
Definition is_tree (G : dag) := forall u u' v : G, edge u v -> edge u' v -> u = u'.

Theorem lines_tree : (0 < N)%N -> is_tree lines <-> M = 1%N \/ N = 1%N.
Proof.
move=> N0; split=> [tree|one [i|//] [i'|//] [j|j]]; last 1 first.
- by rewrite /edge /= => /eqP-> /eqP->.
- have [M1|M2] := leqP M 1; first by left; apply/eqP; rewrite eqn_leq M1.
  have [N1|N2] := leqP N 1; first by right; apply/eqP; rewrite eqn_leq N1.
  pose at_ k (kN : (k < N.+1)%N) := p_ (Ordinal kN).
  have := tree (@at_ 0%N isT) (@at_ 1%N N0) (@at_ 2%N N2).
  by rewrite /edge /= /forward /= add0n M2 add1n ltnS ltnW // => /(_ isT isT).
move=> ij ij'; congr inl; apply: val_inj; case: one => [M1|N1].
  have next a b : forward a b -> a.+1 = b :> nat by rewrite /forward M1 addn1 -eqn_leq => /eqP.
  by apply: succn_inj; rewrite (next _ _ ij) (next _ _ ij').
have j1 : (j <= 1)%N by rewrite -N1 -ltnS.
move: ij ij' => /andP[ij _] /andP[ij' _].
by move: (leq_trans ij j1) (leq_trans ij' j1); rewrite !ltnS !leqn0 => /eqP i0 /eqP/esym/(etrans i0).
Qed.

Theorem lines_lifts_are_trivial (L : lift lines) :
  M = 1%N \/ N = 1%N -> injective (base : L -> lines).
Proof.
move=> one; apply: tree_lifts_are_trivial => u u' v _; have [N0|N0] := posnP N.
  have only (i : 'I_N.+1) : i = ord0 by apply: val_inj; case: i => -[|i] //; rewrite N0.
  by case: u u' => [i|//] [i'|//] _ _; rewrite (only i) (only i').
by apply: (lines_tree N0).2.
Qed.

(* With M = 1 it is a grid of one dimension: cells k and a mark "stopped".                        *)
Definition cell (u : lines) : 'I_N.+1 * bool := match u with inl i => (i, false) | inr i => (i, true) end.

Theorem lines_is_grid : M = 1%N -> bijective cell /\
  forall u v, edge u v = ~~ (cell u).2 &&
    (if (cell v).2 then (cell v).1 == (cell u).1 else (cell v).1 == (cell u).1.+1 :> nat).
Proof.
move=> M1; split; first by exists (fun c => if c.2 then q_ c.1 else p_ c.1) => [[i|i]|[i []]].
case=> i [j|j] //=; rewrite /edge /= ?[j == i]eq_sym //.
by rewrite /forward M1 addn1 eqn_leq andbC.
Qed.

(* The number of trajectories that end in q_k is that of the compositions of k into parts of at most
   M: by the last part, a function g with g 0 = 1 and g k = g (k - M) + ... + g (k - 1).          *)
Theorem lines_trajectories (g : nat -> nat) :
  g 0%N = 1%N -> (forall k, (0 < k <= N)%N -> g k = \sum_(0 <= i < k | k <= i + M) g i)%N ->
  forall k, size (trajs src (q_ k)) = g k.
Proof.
move=> g0 gS; pose c (v : lines) := size (trajs src v).
have cE v : (c v)%:R = \sum_(t <- trajs src v) 1 :> rat.
  by rewrite big_const_seq count_predT iter_addr_0.
have in_rat (m k : nat) : (m == k) = (m%:R == k%:R :> rat) by rewrite eqr_nat.
have c_last v : v != src -> c v = (\sum_(u | edge u v) c u)%N.
  move=> vs; apply/eqP; rewrite in_rat natr_sum cE sum_trajs_last //.
  by apply/eqP; apply: eq_bigr => u _; rewrite cE.
have c_p m : forall k : 'I_N.+1, (k <= m)%N -> c (p_ k) = g k.
  elim: m => [|m IH] k km.
    have -> : k = ord0 by apply: val_inj; move: km; rewrite leqn0 => /eqP.
    by apply/eqP; rewrite in_rat cE sum_trajs_refl g0.
  have [k0|k0] := posnP k; first by apply: IH; rewrite k0.
  rewrite c_last; last by apply/eqP => -[k_0]; rewrite k_0 in k0.
  transitivity (\sum_(u : line_node | line_edge u (p_ k)) c u)%N; first by [].
  rewrite big_sumType /= [X in (_ + X)%N]big_pred0 // addn0 gS ?k0 -1?ltnS ?ltn_ord //.
  rewrite big_mkord (big_ord_widen_cond N.+1 (fun i => k <= i + M)%N g) 1?ltnW ?ltn_ord //.
  apply: eq_big => [i|i /andP[ik _]]; first by rewrite /forward andbC.
  by apply: IH; rewrite -ltnS (leq_trans ik).
move=> k; rewrite -(c_p k k (leqnn k)) -/(c (q_ k)) c_last //; apply: big_pred1.
by case=> i.
Qed.

(* All trajectories: N + 1 of them for M = 1, Fib(N + 3) - 1 for M = 2, and 2^N for M >= N.       *)
Fixpoint fib (n : nat) : nat :=
  if n is m.+1 then if m is l.+1 then (fib m + fib l)%N else 1%N else 0%N.
Definition trajectories := (\sum_k size (trajs src (q_ k)))%N.

Theorem lines_count :
  [/\ M = 1%N -> trajectories = N.+1, M = 2%N -> trajectories.+1 = fib N.+3
    & (N <= M)%N -> trajectories = 2 ^ N]%N.
Proof.
have total g : g 0%N = 1%N ->
    (forall k, (0 < k <= N)%N -> g k = \sum_(0 <= i < k | k <= i + M) g i)%N ->
    trajectories = (\sum_(0 <= k < N.+1) g k)%N.
  by move=> g0 gS; rewrite big_mkord; apply: eq_bigr => k _; apply: lines_trajectories.
split=> [M1|M2|NM].
- rewrite (total (fun=> 1%N)) //; first by rewrite big_const_nat iter_addn_0 mul1n.
  case=> // k _; rewrite big_mkcond big_nat_recr // M1 addn1 leqnn big_nat big1 // => i /andP[_ ik].
  by rewrite addn1 ltnS leqNgt ik.
- have fibs n : (\sum_(0 <= k < n.+1) fib k.+1).+1 = fib n.+3.
    by elim: n => [|n IH]; [rewrite big_nat1|rewrite big_nat_recr // -addSn IH].
  rewrite (total (fun k => fib k.+1)) //; case=> // -[_|k _]; first by rewrite M2 big_mkcond big_nat1.
  rewrite big_mkcond big_nat_recr // big_nat_recr // M2 !addn2 leqnn leqnSn big_nat big1 => [|i /andP[_ ik]].
    exact: addnC (fib k.+2) (fib k.+1).
  by rewrite addn2 !ltnS leqNgt ik.
pose g k := if k is j.+1 then (2 ^ j)%N else 1%N.
have sum_g k : (\sum_(0 <= i < k.+1) g i)%N = (2 ^ k)%N.
  elim: k => [|k IH]; first by rewrite big_nat1.
  by rewrite big_nat_recr // IH /= addnn -mul2n expnS.
rewrite (total g) ?sum_g //; case=> // k /andP[_ kN]; transitivity (2 ^ k)%N => //.
rewrite -sum_g big_nat_cond [RHS]big_nat_cond; apply: eq_bigl => i.
by rewrite andbT [RHS]andb_idr // => _; rewrite (leq_trans kN) // (leq_trans NM) // leq_addl.
Qed.

(* eq:lines.  The sequences 0 = i_0 < i_1 < ... < i_k whose steps are at most M are the complete
   trajectories: p_{i_1}, ..., p_{i_k}, and then q_{i_k}.                                         *)
Theorem sequences_are_trajectories p :
  complete p <-> exists2 s, path forward ord0 s & p = rcons (map p_ s) (q_ (last ord0 s)).
Proof.
rewrite /complete -[src]/(p_ ord0); move: (ord0 : 'I_N.+1) => i; split.
  elim: p i => [|[j|j] p IH] i /=; first by rewrite terminal_p.
    by rewrite -andbA => /andP[ij /IH[s js ->]]; exists (j :: s); rewrite /= ?ij.
  rewrite -andbA => /andP[/eqP <-]; case: p {IH} => [_|v p /andP[]//]; by exists [::].
case=> s + ->; elim: s i => [|j s IH] i /=; first by rewrite /edge /= eqxx terminal_q.
by case/andP=> ij /IH; rewrite /= ij.
Qed.

Section Balance.
Variables (K : fieldType) (pF : seq lines -> lines -> K) (pB : lines -> lines -> K).
Variables (R : 'I_N.+1 -> K) (Z : K).
Hypotheses (pF_law : history_policy pF) (pB_pos : forall u v, edge u v -> pB u v != 0).
Hypotheses (Z0 : Z != 0).
(* The printed quotient: h is p_{i_1}, ..., p_{i_k}, the first factors are the products over it.  *)
Hypothesis balance : forall s, path forward ord0 s -> let h := map p_ s in let i := last ord0 s in
  (history_weight pF [::] h * pF h (q_ i)) / (weight pB src h * pB (p_ i) (q_ i)) = R i / Z.
Definition line_law (i : 'I_N.+1) := \sum_(p <- trajs src (q_ i)) history_weight pF [::] p.

Lemma line_law_exact i : line_law i = R i / Z * mass pB src (q_ i).
Proof.
rewrite /line_law /mass mulr_sumr; apply: eq_big_seq => p; rewrite mem_trajs => /andP[sp /eqP lp].
have /sequences_are_trajectories[s fs pE] : complete p by rewrite /complete sp lp terminal_q.
have si : last ord0 s = i by move: lp; rewrite pE last_rcons => -[].
have := balance fs; cbv zeta; rewrite si => <-; rewrite pE history_weight_rcons weight_rcons si.
have ls : last src (map p_ s) = p_ i by rewrite -[src]/(p_ ord0) last_map si.
rewrite cat0s ls divfK // mulf_neq0 ?pB_pos //; last by rewrite /edge /= eqxx.
move: sp; rewrite pE rcons_path => /andP[sp _]; move: (src : lines) sp.
elim: (map p_ s) => [|v q IH] u /=; first by rewrite oner_neq0.
by case/andP=> uv vq; rewrite mulf_neq0 ?pB_pos ?IH.
Qed.

(* With a normalised p_B, the law of the ends is R / Z, and Z is the sum of R.                    *)
Theorem lines_balance : backward_policy pB -> Z = \sum_i R i /\ forall i, line_law i = R i / Z.
Proof.
move=> normB; have law i : line_law i = R i / Z by rewrite line_law_exact backward_mass ?mulr1.
split=> //; have := history_sums_to_one pF_law.
rewrite -[LHS]/(\sum_(x : line_node | terminal (x : lines))
  \sum_(p <- trajs src (x : lines)) history_weight pF [::] p).
rewrite big_sumType /= big_pred0 ?add0r => [|i]; last exact: terminal_p.
under eq_bigl => i do rewrite terminal_q.
under eq_bigr => i _ do rewrite -/(line_law i) law.
by rewrite -mulr_suml => /(canRL (divfK Z0)); rewrite mul1r.
Qed.

(* Not so with weights p_B = 1: they count the trajectories, 1, 1 and 2 of them if N = M = 2.     *)
Theorem weights_one_count_trajectories : (forall u v, pB u v = 1) ->
  forall i, line_law i = R i / Z * (size (trajs src (q_ i)))%:R.
Proof.
move=> pB1 i; rewrite line_law_exact; congr (_ * _).
have -> : mass pB src (q_ i) = \sum_(p <- trajs src (q_ i)) 1.
  by apply: eq_bigr => p _; elim: p (src : lines) => //= v p IH u; rewrite pB1 mul1r IH.
by rewrite big_const_seq count_predT iter_addr_0.
Qed.
End Balance.

(* lines-lift.  Omega = R^d, W_o = a_o and phi(p_i, a) = (w . psi(p_i)) v, which ignores a: a lift, in
   which a trajectory p_{i_1}, ..., p_{i_t} has the latent a_o + sum over j <= t of w . psi(i_j) v. *)
Section Recurrence.
Variables (K : comRingType) (d e : nat) (psi : 'I_N.+1 -> 'rV[K]_e) (a0 v : 'rV[K]_d) (w : 'rV[K]_e).
Definition line_update (s : lines) (a : 'rV[K]_d) : 'rV[K]_d :=
  if s is inl i then a + dot w (psi i) *: v else a.
Definition recurrent_lines : lift lines := latent_lift line_update a0.

Theorem lines_lift s : path forward ord0 s ->
  let a := a0 + \sum_(i <- s) dot w (psi i) *: v in
  run line_update a0 (map p_ s) = (p_ (last ord0 s), Some a) /\
  exists u : recurrent_lines, val u = (p_ (last ord0 s), Some a).
Proof.
move=> fs; set a := a0 + _; have runE : run line_update a0 (map p_ s) = (p_ (last ord0 s), Some a).
  rewrite /a; elim/last_ind: s {a fs} => [|s i IH].
    by rewrite big_nil addr0 /run /lifted_state (terminal_p ord0).
  by rewrite map_rcons run_rcons IH last_rcons /next /lifted_state /= terminal_p -cats1 big_cat big_seq1 addrA.
split=> //; apply/latent_lift_nodes; exists (map p_ s); rewrite ?runE //.
have /andP[] : complete (rcons (map p_ s) (q_ (last ord0 s))).
  by apply/sequences_are_trajectories; exists s.
by rewrite rcons_path => /andP[].
Qed.
End Recurrence.
End Lines.
