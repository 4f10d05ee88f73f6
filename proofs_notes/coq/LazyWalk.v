(* The lazy random walk (lazy-random-walk): from 0, with T moves, in the box of the cells whose
   coordinates are at most M in size.                                                             *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Walk.
Variables (d M : nat).
Definition cell := {ffun 'I_d -> int}.
Implicit Types (s r v : cell).
Definition plus r v : cell := [ffun j => r j + v j].
Definition unit_move (i : 'I_d) (z : int) : cell := [ffun j => if j == i then z else 0].
Definition origin : cell := [ffun=> 0].
Definition box s : Prop := forall j, (absz (s j) <= M)%N.
Definition norm s : nat := (\sum_j absz (s j))%N.

(* The moves as printed, and as repaired.                                                         *)
Definition printed v : Prop := v = origin \/ exists i, v = unit_move i 1.
Definition repaired v : Prop :=
  v = origin \/ exists i, v = unit_move i 1 \/ v = unit_move i (- 1).
Fixpoint reached (moves : cell -> Prop) (T : nat) s : Prop :=
  if T is t.+1 then box s /\ exists r v, [/\ reached moves t r, moves v & s = plus r v]
  else s = origin.

Lemma plus_origin r : plus r origin = r.
Proof. by apply/ffunP => j; rewrite !ffunE addr0. Qed.

Lemma norm_move r i z : (norm (plus r (unit_move i z)) <= norm r + absz z)%N.
Proof.
rewrite /norm (bigD1 i) //= [in X in (_ <= X)%N](bigD1 i) //= !ffunE eqxx.
rewrite -addnA [X in (_ <= _ + X)%N]addnC addnA; apply: leq_add.
  have := ler_norm_sum (index_enum _) (fun b : bool => if b then r i else z) predT.
  by rewrite !big_bool /= -lez_nat PoszD !abszE.
by apply: leq_sum => j /negbTE ji; rewrite !ffunE ji addr0.
Qed.

Theorem reached_is_near T s : reached repaired T s -> (norm s <= T)%N.
Proof.
elim: T s => [|T IH] s /=; first by move=> ->; rewrite /norm big1 // => j _; rewrite ffunE.
case=> _ [r [v [/IH rT moves ->]]]; case: moves => [->|[i [->|->]]].
- by rewrite plus_origin leqW.
- by apply: leq_trans (norm_move _ _ _) _; rewrite addn1 ltnS.
by apply: leq_trans (norm_move _ _ _) _; rewrite abszN addn1 ltnS.
Qed.

Lemma origin_in_box : box origin.
Proof. by move=> j; rewrite ffunE. Qed.

(* Walk straight to s, and wait.                                                                  *)
Theorem near_is_reached T s : box s -> (norm s <= T)%N -> reached repaired T s.
Proof.
elim: T s => [|T IH] s sM.
  rewrite leqn0 sum_nat_eq0 => /forallP s0; apply/ffunP => j; rewrite ffunE; apply/eqP.
  by have := s0 j; rewrite absz_eq0.
rewrite leq_eqVlt ltnS => /orP[/eqP sT|sT]; last first.
  by split=> //; exists s, origin; split; [exact: IH|left|rewrite plus_origin].
have [i si] : exists i, s i != 0.
  apply/existsP; apply: contra_eqT sT => /existsPn s0.
  by rewrite /norm big1 // => j _; have := s0 j; rewrite negbK => /eqP->.
pose z : int := if 0 <= s i then 1 else - 1; pose r := plus s (unit_move i (- z)).
have r_i : absz (s i) = (absz (r i)).+1.
  by rewrite !ffunE eqxx /z; case: (s i) si => -[|n] // _; rewrite ?subn1 //= subn1.
have other j : j != i -> r j = s j by move=> /negbTE ji; rewrite !ffunE ji addr0.
have rM : box r.
  by move=> j; have [->|/other->] := eqVneq j i; [apply: ltnW; rewrite -r_i|].
have rT : norm r = T.
  apply: succn_inj; rewrite -sT /norm (bigD1 i) //= [RHS](bigD1 i) //= r_i addSn.
  by congr (_ + _).+1; apply: eq_bigr => j /other->.
split=> //; exists r, (unit_move i z); split.
- by apply: IH rM _; rewrite rT.
- by right; exists i; rewrite /z; case: ifP => _; [left|right].
by apply/ffunP => j; rewrite !ffunE; case: ifP => _; rewrite ?subrK ?addr0.
Qed.

(* So every cell of the box is an end if and only if T >= M d.                                    *)
Theorem every_cell_is_reached T : (forall s, box s -> reached repaired T s) <-> (M * d <= T)%N.
Proof.
have corner_norm : norm [ffun=> M%:Z] = (M * d)%N.
  by rewrite /norm (eq_bigr (fun=> M)) => [|j _]; rewrite ?ffunE // sum_nat_const card_ord mulnC.
split=> [all_reached|MdT s sM].
  by rewrite -corner_norm; apply: reached_is_near; apply: all_reached => j; rewrite ffunE.
apply: near_is_reached => //; apply: leq_trans MdT; rewrite -[d]card_ord mulnC -sum_nat_const.
exact: leq_sum.
Qed.

(* With the printed moves no coordinate is ever negative.                                         *)
Theorem printed_stays T s j : reached printed T s -> 0 <= s j.
Proof.
elim: T s => [|T IH] s /=; first by move=> ->; rewrite ffunE.
case=> _ [r [v [/IH rj moves ->]]]; rewrite ffunE addr_ge0 //.
by case: moves => [->|[i ->]]; rewrite ffunE //; case: ifP.
Qed.

Theorem printed_misses T : (0 < M)%N -> (0 < d)%N -> exists s, box s /\ ~ reached printed T s.
Proof.
move=> M0 d0; exists [ffun=> - 1]; split=> [j|/(@printed_stays T _ (Ordinal d0))].
  by rewrite ffunE.
by rewrite ffunE.
Qed.
End Walk.
