(* The sign of the couplings v v' (tab:isingsa): aligned spins need not have the least energy.    *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Mattis.
Variables (I : finType) (K : realFieldType) (v : I -> K).
Implicit Types x : I -> K.

(* Spins are 1 or -1.  The energy is - x' J x / 2 for J = v v' - diag (v v').                     *)
Definition spins x := forall i, x i = 1 \/ x i = - 1.
Definition energy x : K := - (\sum_i \sum_(j | j != i) v i * v j * (x i * x j)) / 2%:R.

Lemma spin_square x i : spins x -> x i * x i = 1.
Proof. by case/(_ i) => ->; rewrite ?mulrNN mulr1. Qed.

Lemma energy_square x : spins x ->
  energy x = (\sum_i v i ^+ 2 - (\sum_i v i * x i) ^+ 2) / 2%:R.
Proof.
move=> xs; rewrite /energy; congr (_ / _); apply/eqP.
rewrite eqr_oppLR opprB eq_sym subr_eq expr2 big_distrlr -big_split /=; apply/eqP.
apply: eq_bigr => i _; rewrite (bigD1 i) //= addrC; congr (_ + _).
  by apply: eq_bigr => j _; rewrite mulrACA.
by rewrite mulrACA (spin_square i xs) mulr1 expr2.
Qed.

(* The spins of the signs of v have the least energy ...                                          *)
Theorem signs_minimise x s : spins x -> spins s -> (forall i, v i * s i = `|v i|) ->
  energy s <= energy x.
Proof.
move=> xs ss sign; rewrite !energy_square // ler_pmul2r ?invr_gt0 ?ltr0n // ler_add2l ler_opp2.
have -> : \sum_i v i * s i = \sum_i `|v i| by apply: eq_bigr.
rewrite -[X in X <= _]real_normK ?num_real // ler_sqr ?nnegrE ?sumr_ge0 //.
apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => i _; rewrite normrM.
by case: (xs i) => ->; rewrite ?normrN normr1 mulr1.
Qed.

(* ... so that aligned spins do if and only if no two entries of v differ in sign.                *)
Theorem aligned_minimise :
  (forall x, spins x -> energy (fun=> 1) <= energy x) <-> (forall i j, 0 <= v i * v j).
Proof.
have up : spins (fun=> 1) by left.
pose s i : K := if 0 <= v i then 1 else - 1.
have ss : spins s by move=> i; rewrite /s; case: ifP; [left|right].
have sv i : v i * s i = `|v i|.
  by rewrite /s; case: (ger0P (v i)) => _; rewrite ?mulr1 ?mulrN1.
split=> [least i j|same x xs].
  have := least s ss; rewrite !energy_square // ler_pmul2r ?invr_gt0 ?ltr0n // ler_add2l ler_opp2.
  have -> : \sum_i v i * s i = \sum_i `|v i| by apply: eq_bigr.
  have -> : \sum_i v i * 1 = \sum_i v i by apply: eq_bigr => k _; rewrite mulr1.
  rewrite -[X in _ <= X]real_normK ?num_real // ler_sqr ?nnegrE ?sumr_ge0 //.
  have zero (f : I -> K) : (forall k, 0 <= f k) -> \sum_k f k <= 0 -> forall k, f k = 0.
    move=> f0 f_le k; apply: (psumr_eq0P (P := predT) (fun l _ => f0 l)) => //.
    by apply/eqP; rewrite eq_le f_le sumr_ge0.
  have above l : 0 <= `|v l| - v l by rewrite subr_ge0 ler_norm.
  have below l : 0 <= `|v l| + v l by rewrite -[v l]opprK subr_ge0 normrN ler_norm.
  case: (ger0P (\sum_k v k)) => _ le.
    have sign k : `|v k| - v k = 0 by apply: (zero _ above); rewrite sumrB subr_le0.
    have /eqP := sign i; have /eqP := sign j; rewrite !subr_eq0 => /eqP <- /eqP <-.
    by rewrite mulr_ge0.
  have sign k : `|v k| + v k = 0.
    by apply: (zero _ below); rewrite big_split /= -[X in _ + X]opprK subr_le0.
  have /eqP := sign i; have /eqP := sign j; rewrite !addr_eq0 => /eqP ej /eqP ei.
  by rewrite -[v i]opprK -ei -[v j]opprK -ej mulrNN mulr_ge0.
apply: le_trans (signs_minimise xs ss sv); rewrite !energy_square //.
rewrite ler_pmul2r ?invr_gt0 ?ltr0n // ler_add2l ler_opp2.
have -> : \sum_i v i * s i = \sum_i `|v i| by apply: eq_bigr.
have -> : \sum_i v i * 1 = \sum_i v i by apply: eq_bigr => k _; rewrite mulr1.
rewrite !expr2 !big_distrlr /=; apply: ler_sum => i _; apply: ler_sum => j _.
by rewrite -normrM ger0_norm.
Qed.
End Mattis.

(* The law of the signs of a v without zeros whose law reflections of single coordinates keep, as
   for a uniform direction: all d + 1 of them are equal with probability 2^-d.                    *)
Section Signs.
Variables (d : nat) (K : numFieldType) (P : {ffun 'I_d.+1 -> bool} -> K).
Definition reflected (i : 'I_d.+1) (f : {ffun 'I_d.+1 -> bool}) := [ffun j => (j == i) (+) f j].
Hypotheses (kept : forall i f, P (reflected i f) = P f) (total : \sum_f P f = 1).

Lemma all_signs_alike f g : P f = P g.
Proof.
have flip s : uniq s -> P [ffun j => (j \in s) (+) f j] = P f.
  elim: s => [_|i s IH /= /andP[/negbTE si /IH <-]].
    by congr P; apply/ffunP => j; rewrite ffunE.
  rewrite -(kept i); congr P; apply/ffunP => j; rewrite !ffunE inE.
  by have [->|_] := eqVneq j i; rewrite ?si //; case: (f i).
have differ : uniq [seq j <- enum 'I_d.+1 | f j != g j] by apply/filter_uniq/enum_uniq.
rewrite -(flip _ differ).
congr P; apply/ffunP => j; rewrite ffunE mem_filter mem_enum andbT.
by case: (f j); case: (g j).
Qed.

Theorem one_sign : P [ffun=> true] + P [ffun=> false] = 2%:R ^- d.
Proof.
rewrite (all_signs_alike [ffun=> false] [ffun=> true]); set y := P _.
have y1 : (y + y) * 2%:R ^+ d = 1.
  rewrite -[RHS]total (eq_bigr (fun=> y)) => [|f _]; last exact: all_signs_alike.
  rewrite sumr_const card_ffun card_bool card_ord -natrX mulr_natr -mulr2n -mulrnA.
  by rewrite expnS.
have two : 2%:R ^+ d != 0 :> K by rewrite expf_neq0 // pnatr_eq0.
by apply: (mulIf two); rewrite y1 mulVf.
Qed.
End Signs.
