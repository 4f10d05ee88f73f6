(* KL is not negative (Gibbs' inequality), vanishes for equal laws alone, and adds up along the
   trajectories of a pointed DAG: the KL of two laws on complete trajectories is the sum over states
   of the probability that the first visits it, times the KL of the two rows there.               *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp.
From Pdai Require Import Dag Policies Normalisation.
From PdaiReals Require Import Logs ResidualBound.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Lemma expR_strict (R : realType) (x : R) : x != 0 -> 1 + x < expR x.
Proof.
move=> x0; have [neg|pos] := leP (1 + x) 0; first exact: le_lt_trans neg (expR_gt0 x).
have big : 0 <= 1 + x / 2%:R.
  have two : 0 < 2%:R :> R by rewrite ltr0n.
  rewrite -(ler_pmul2r two) mul0r mulrDl divfK ?gt_eqF // mul1r mulr2n -addrA.
  by rewrite addr_ge0 ?ler01 ?ltW.
apply: lt_le_trans (_ : (1 + x / 2%:R) ^+ 2 <= _).
  rewrite sqrrD expr1n mul1r -mulr_natr divfK ?pnatr_eq0 // ltr_addl lt_neqAle sqr_ge0 andbT.
  by rewrite eq_sym sqrf_eq0 mulf_neq0 ?invr_eq0 ?pnatr_eq0.
by rewrite [in expR x](splitr x) expRD -expr2 ler_pexpn2r ?nnegrE ?expR_above // ltW ?expR_gt0.
Qed.

Lemma ln_strict (R : realType) (x : R) : 0 < x -> x != 1 -> ln x < x - 1.
Proof.
move=> x0 x1; rewrite ltr_subr_addl -{2}[x]lnK ?posrE // expR_strict //.
apply/eqP => l0; move/eqP: x1; apply; apply: ln_inj; rewrite ?posrE ?ltr01 //.
by rewrite l0 ln1.
Qed.

Section Gibbs.
Variables (I : finType) (R : realType) (p q : I -> R).

(* For weights of any sums, on the outcomes of A; q may vanish only where p does.                 *)
Lemma gibbs_weights (A : pred I) : (forall i, A i -> 0 <= p i) ->
  (forall i, A i -> 0 < p i -> 0 < q i) -> (forall i, A i -> 0 <= q i) ->
  \sum_(i | A i) p i - \sum_(i | A i) q i <= \sum_(i | A i) p i * ln (p i / q i).
Proof.
move=> p0 pq q0; rewrite -sumrB; apply: ler_sum => i Ai.
have := p0 i Ai; rewrite le_eqVlt => /predU1P[<-|pi]; first by rewrite mul0r sub0r oppr_le0 q0.
have qi := pq i Ai pi; have := ler_wpmul2l (ltW pi) (ln_below (divr_gt0 qi pi)).
rewrite mulrBr mulr1 mulrCA divff ?gt_eqF // mulr1.
by rewrite -[q i / p i]invf_div lnV ?posrE ?divr_gt0 // mulrN -ler_opp2 opprB opprK.
Qed.

Lemma gibbs_equal (A : pred I) : (forall i, A i -> 0 < p i) -> (forall i, A i -> 0 < q i) ->
  \sum_(i | A i) p i = \sum_(i | A i) q i ->
  \sum_(i | A i) p i * ln (p i / q i) = 0 -> forall i, A i -> p i = q i.
Proof.
move=> p0 q0 same zero i Ai; have pi := p0 i Ai; have qi := q0 i Ai.
pose gap j := p j * ln (p j / q j) - (p j - q j).
have inv j : A j -> ln (q j / p j) = - ln (p j / q j).
  by move=> Aj; rewrite -[q j / p j]invf_div lnV // posrE divr_gt0 ?p0 ?q0.
have gapE j : A j -> gap j = p j * (q j / p j - 1 - ln (q j / p j)).
  move=> Aj; rewrite inv // opprK mulrDr mulrBr mulr1 mulrCA divff ?gt_eqF ?p0 // mulr1.
  by rewrite /gap opprB addrC.
have gap0 j : A j -> 0 <= gap j.
  by move=> Aj; rewrite gapE // mulr_ge0 ?subr_ge0 ?ln_below ?divr_gt0 ?q0 ?p0 // ltW ?p0.
have : \sum_(j | A j) gap j = 0 by rewrite sumrB sumrB same subrr subr0.
move=> /psumr_eq0P - /(_ gap0 i Ai); rewrite gapE // => /eqP.
rewrite mulf_eq0 gt_eqF //= => /eqP flat.
have ratio : 0 < q i / p i by rewrite divr_gt0.
have [one|far] := eqVneq (q i / p i) 1; first by rewrite -[LHS]mul1r -one divfK ?gt_eqF.
by have := ln_strict ratio far; rewrite -subr_gt0 flat ltxx.
Qed.

Theorem kl_ge0 : (forall i, 0 <= p i) -> (forall i, 0 <= q i) -> (forall i, 0 < p i -> 0 < q i) ->
  \sum_i p i = 1 -> \sum_i q i = 1 -> 0 <= kl p q.
Proof.
move=> p0 q0 pq p1 q1.
have := @gibbs_weights predT (fun i _ => p0 i) (fun i _ => pq i) (fun i _ => q0 i).
by rewrite p1 q1 subrr.
Qed.

Theorem kl_eq0 : (forall i, 0 < p i) -> (forall i, 0 < q i) -> \sum_i p i = 1 -> \sum_i q i = 1 ->
  (kl p q = 0 <-> p =1 q).
Proof.
move=> p0 q0 p1 q1; split=> [zero i|same].
  by apply: (@gibbs_equal predT (fun i _ => p0 i) (fun i _ => q0 i)) => //; rewrite p1 q1.
by rewrite /kl big1 // => i _; rewrite same divff ?gt_eqF // ln1 mulr0.
Qed.
End Gibbs.

(* The sum of a cost over the edges of the trajectory that starts at u and continues with p.      *)
Fixpoint path_cost (T : Type) (R : ringType) (c : T -> T -> R) (u : T) (p : seq T) : R :=
  if p is v :: s then c u v + path_cost c v s else 0.

Section Path.
Variables (G : pointedDAG) (R : realType).
Implicit Types (pF pG c : G -> G -> R).

(* A sum over all complete trajectories.                                                         *)
Definition complete_sum (f : seq G -> R) : R :=
  \sum_(x | terminal x) \sum_(p <- trajs (src : G) x) f p.

(* The KL of the rows of two policies at a state.                                                *)
Definition row_kl pF pG u : R := \sum_(v | edge u v) pF u v * ln (pF u v / pG u v).

(* The mean cost from u to the end.                                                              *)
Definition to_go pF c u :=
  \sum_(x | terminal x) \sum_(p <- trajs u x) weight pF u p * path_cost c u p.

Lemma mass_from pF u : forward_policy pF -> \sum_(x | terminal x) mass pF u x = 1.
Proof.
move=> norm; elim/reverse_topological_ind: u => u IH; have [tu|nu] := boolP (terminal u).
  rewrite (bigD1 u) //= mass_refl big1 ?addr0 // => x /andP[_ xu].
  rewrite /mass sum_trajs_first ?[u == x]eq_sym // big1 // => v uv.
  by move/forallP/(_ v): tu; rewrite uv.
have ux x : terminal x -> u != x by apply: contraTneq => <-.
under eq_bigr => x tx do rewrite /mass sum_trajs_first ?ux //=.
rewrite exchange_big /= -(norm u nu); apply: eq_bigr => v uv.
rewrite -[RHS]mulr1 -(IH v uv) mulr_sumr; apply: eq_bigr => x _.
by rewrite /mass mulr_sumr.
Qed.

Lemma to_go_step pF c u : forward_policy pF -> ~~ terminal u ->
  to_go pF c u = \sum_(v | edge u v) pF u v * (c u v + to_go pF c v).
Proof.
move=> norm nu; have ux x : terminal x -> u != x by apply: contraTneq => <-.
rewrite /to_go; under eq_bigr => x tx do rewrite sum_trajs_first ?ux //=.
rewrite exchange_big /=; apply: eq_bigr => v uv.
rewrite mulrDr -[pF u v * c u v]mulr1 -(mass_from v norm) !mulr_sumr -big_split /=.
apply: eq_bigr => x _; rewrite /mass !mulr_sumr -big_split /=; apply: eq_bigr => p _.
by rewrite mulrDr; congr (_ + _); [rewrite -!mulrA; congr (_ * _); rewrite mulrC | rewrite mulrA].
Qed.

Lemma to_go_terminal pF c u : terminal u -> to_go pF c u = 0.
Proof.
move=> tu; rewrite /to_go big1 // => x tx; have [->|xu] := eqVneq x u.
  by rewrite sum_trajs_refl /= mulr0.
rewrite sum_trajs_first ?[u == x]eq_sym // big1 // => v uv.
by move/forallP/(_ v): tu; rewrite uv.
Qed.

Lemma mass_first pF u w :
  mass pF u w = (u == w)%:R + \sum_(v | edge u v) pF u v * mass pF v w.
Proof.
have [<-|uw] := eqVneq u w; last first.
  rewrite add0r /mass sum_trajs_first //; apply: eq_bigr => v uv.
  by rewrite mulr_sumr.
rewrite mass_refl big1 ?addr0 // => v uv; rewrite /mass big_seq big1 ?mulr0 // => p.
rewrite mem_trajs => /andP[vp /eqP lp].
by have := @acyclic G u (v :: p); rewrite /= uv vp lp => /(_ isT erefl).
Qed.

Lemma to_go_flow pF c u : forward_policy pF ->
  to_go pF c u = \sum_w mass pF u w * \sum_(v | edge w v) pF w v * c w v.
Proof.
move=> norm; pose row w := \sum_(v | edge w v) pF w v * c w v; rewrite -/(row _).
elim/reverse_topological_ind: u => u IH.
have -> : \sum_w mass pF u w * row w =
    row u + \sum_(v | edge u v) pF u v * \sum_w mass pF v w * row w.
  under eq_bigr => w _ do rewrite mass_first mulrDl mulr_suml.
  rewrite big_split /= (bigD1 u) //= eqxx mul1r big1 => [|w wu]; last first.
    by rewrite eq_sym (negbTE wu) mul0r.
  rewrite addr0 exchange_big /=; congr (_ + _); apply: eq_bigr => v _.
  by rewrite mulr_sumr; apply: eq_bigr => w _; rewrite mulrA.
have [tu|nu] := boolP (terminal u).
  by rewrite to_go_terminal // /row !big_pred0 ?addr0 // => v; apply/negbTE/(forallP tu).
rewrite to_go_step // /row -big_split; apply: eq_bigr => v uv /=.
by rewrite mulrDr IH.
Qed.

(* The mean of a cost that adds up along edges: over the states, by their visits.                *)
Theorem cost_along_path pF c : forward_policy pF ->
  complete_sum (fun p => weight pF src p * path_cost c src p) =
  \sum_u mass pF src u * \sum_(v | edge u v) pF u v * c u v.
Proof. exact: to_go_flow. Qed.

Lemma log_ratio_cost pF pG u p : path edge u p ->
  (forall u v, edge u v -> 0 < pF u v) -> (forall u v, edge u v -> 0 < pG u v) ->
  [/\ 0 < weight pF u p, 0 < weight pG u p &
      ln (weight pF u p / weight pG u p) = path_cost (fun u v => ln (pF u v / pG u v)) u p].
Proof.
move=> up F0 G0; elim: p u up => [|v p IH] u /=; first by rewrite divr1 ln1 ltr01.
case/andP=> uv /IH[F1 G1 <-]; have Fuv := F0 _ _ uv; have Guv := G0 _ _ uv.
by split; rewrite ?mulr_gt0 // -mulf_div; apply: lnM; rewrite posrE divr_gt0.
Qed.

(* KL adds up.                                                                                    *)
Theorem kl_along_path pF pG : forward_policy pF ->
  (forall u v, edge u v -> 0 < pF u v) -> (forall u v, edge u v -> 0 < pG u v) ->
  complete_sum (fun p => weight pF src p * ln (weight pF src p / weight pG src p)) =
  \sum_u mass pF src u * row_kl pF pG u.
Proof.
move=> norm F0 G0; rewrite -cost_along_path //; apply: eq_bigr => x tx.
apply: eq_big_seq => p; rewrite mem_trajs => /andP[up _].
by have [_ _ ->] := log_ratio_cost up F0 G0.
Qed.

End Path.
