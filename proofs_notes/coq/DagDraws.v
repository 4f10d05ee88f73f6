(* A graph that is drawn layer by layer has the probability of its weight (dag-marginals). *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Dag DagSums.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Draws.
Variables (V : finType) (K : numFieldType) (w : V -> {set V} -> K).
Hypothesis w0 : forall v P, 0 <= w v P.
Implicit Types (f : parents V) (U T L : {set V}).
Notation after := (after w).

(* The sum of w_v over the sets in U that meet L. *)
Definition attached v U L : K := W w v U - W w v (U :\: L).

(* After U with the last layer L, the next layer is T with the probability [share], and then each
  of its
   nodes draws its parents, in proportion to its weights, among the sets in U that meet L. *)
Definition share U L T : K := (\prod_(v in T) attached v U L) * after (U :|: T) T / after U L.
Fixpoint chance k U L f : K :=
  if k is k.+1 then
    if U == setT then 1 else let T := layer U f in
      share U L T * (\prod_(v in T) (w v (f v) / attached v U L)) * chance k (U :|: T) T f
  else 1.
(* The first layer is T with the probability [first_share], and its nodes have no parents. *)
Definition first_share T : K := (\prod_(v in T) w v set0) * after T T / above w set0.

Lemma after_ge0 U L : 0 <= after U L.
Proof. by apply: sumr_ge0 => f _; apply: prodr_ge0. Qed.

Lemma attachedE v U L :
  attached v U L = \sum_(P : {set V} | (P \subset U) && ~~ [disjoint P & L]) w v P.
Proof.
rewrite /attached /W (bigID (fun P : {set V} => [disjoint P & L])) /=.
have -> : \sum_(P : {set V} | P \subset U :\: L) w v P =
          \sum_(P : {set V} | (P \subset U) && [disjoint P & L]) w v P.
  by apply: eq_bigl => P; rewrite subsetD.
by rewrite addrC addKr.
Qed.

Lemma attached_ge v U L (P : {set V}) : P \subset U -> ~~ [disjoint P & L] -> w v P <= attached v U
  L.
Proof.
move=> PU PL; rewrite attachedE (bigD1 P) ?PU ?PL //= ler_addl; exact: sumr_ge0.
Qed.

Lemma after_full L : after setT L = 1.
Proof.
rewrite after_sum setCT (big_pred1 set0) => [|T]; last by rewrite subset0.
by rewrite cards0 big_set0 setU0 above_full !mul1r.
Qed.

Lemma chance_ok f k U L : is_dag f -> (forall v, 0 < w v (f v)) -> (#|~: U| <= k)%N ->
  (forall v, v \notin U -> f v \subset U -> ~~ [disjoint f v & L]) ->
  0 < after U L /\ after U L * chance k U L f = \prod_(v in ~: U) w v (f v).
Proof.
move=> acyc pos; elim: k U L => [|k IH] U L Uk meets; last first.
  have [UT|UT] := eqVneq U setT; last first.
    have sub : layer U f \subset ~: U by apply/subsetP => v; rewrite inE => /andP[].
    have L0 : layer U f != set0.
      have [|v vU fU] := first_member (S := ~: U) acyc;
        first by rewrite -setCT (inj_eq (@setC_inj V)).
      by apply/set0Pn; exists v; rewrite inE vU; rewrite setCK in fU.
    set T := layer U f in sub L0.
    have [|v|aT cT] := IH (U :|: T) T.
    - rewrite -ltnS; apply: leq_trans Uk; apply: proper_card; rewrite setCU; apply/properP; split.
        exact: subsetIl.
      have /set0Pn[v vT] := L0; exists v; first exact: (subsetP sub).
      by rewrite in_setI [v \in ~: T]in_setC vT andbF.
    - rewrite inE negb_or => /andP[vU vT] fU; apply/negP => dis; move/negP: vT; apply.
      rewrite /T !inE vU; apply/subsetP => x xv; have := subsetP fU x xv; rewrite inE =>
        /orP[//|xT].
      by have := pred0P dis x; rewrite /= xv xT.
    have att v : v \in T -> 0 < attached v U L.
      rewrite inE => /andP[+ fU]; rewrite inE => vU; apply: lt_le_trans (pos v) _.
      by apply: attached_ge => //; apply: meets.
    have aU : 0 < after U L.
      rewrite after_layers // (bigD1 T) ?sub //=; apply: ltr_spaddl.
        by rewrite mulr_gt0 // prodr_gt0.
      apply: sumr_ge0 => S _; apply: mulr_ge0; last exact: after_ge0.
      by apply: prodr_ge0 => v _; rewrite -/(attached v U L) attachedE sumr_ge0.
    split=> //=; rewrite (negbTE UT) -/T /share.
    have prods : (\prod_(v in T) attached v U L) * (\prod_(v in T) (w v (f v) / attached v U L)) =
                 \prod_(v in T) w v (f v).
      by rewrite -big_split /=; apply: eq_bigr => v vT; rewrite mulrC divfK // gt_eqF ?att.
    rewrite [RHS](big_setID T) /= (setIidPr sub) setDE -setCU -cT -prods.
    set A := after U L in aU *; set B := after _ T; set p := \prod_(v in T) attached v U L.
    set r := \prod_(v in T) (w v (f v) / _); set c := chance _ _ _ _.
    rewrite [p * B / A]mulrC -!mulrA mulVKf ?gt_eqF //; congr (_ * _); exact: mulrCA.
  by rewrite UT after_full ltr01 /= eqxx mulr1 setCT big_set0.
have UT : U = setT by apply: setC_inj; apply/eqP; rewrite setCT -cards_eq0 -leqn0.
by rewrite UT after_full ltr01 mulr1 setCT big_set0.
Qed.

Theorem graphs_are_drawn_by_weight f : is_dag f -> (forall v, 0 < w v (f v)) -> setT != set0 :>
  {set V} ->
  let T := layer set0 f in
  first_share T * chance #|V| T T f = \prod_v w v (f v) / above w set0.
Proof.
move=> acyc pos V0 T; have empty v : v \in T -> f v = set0.
  by rewrite !inE subset0 => /andP[_ /eqP].
have [|v|aT cT] := @chance_ok f #|V| T T acyc pos; first exact: max_card.
  move=> vT fT; apply/negP => dis; move/negP: vT; apply; rewrite !inE /=.
  apply/subsetP => x xv; have := pred0P dis x; by rewrite /= xv (subsetP fT).
rewrite /first_share mulrAC; congr (_ / _); rewrite -mulrA cT [RHS](bigID (mem T)) /=.
congr (_ * _); last by apply: eq_bigl => v; rewrite inE.
by apply: eq_bigr => v /empty->.
Qed.
End Draws.
