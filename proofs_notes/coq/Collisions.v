(* Coincidences of samples bound the distance to a listed law (collision-tv-bound, 1 and 2).

   p and pi are laws on a finite set, H and L events, B the rest; a are weights on B.             *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Residuals.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* On L, |p - pi| is at most p + pi.                                                              *)
Theorem collision_split (I : finType) (K : realFieldType) (p pi : I -> K) (H L : pred I) :
  (forall i, 0 <= p i) -> (forall i, 0 <= pi i) ->
  2%:R * tv p pi <= \sum_(i | H i) `|p i - pi i| +
    (\sum_(i | ~~ H i && L i) p i + \sum_(i | ~~ H i && L i) pi i) +
    \sum_(i | ~~ H i && ~~ L i) `|p i - pi i|.
Proof.
move=> p0 pi0; rewrite /tv mulrC divfK ?pnatr_eq0 // (bigID H) /= -addrA ler_add2l.
rewrite (bigID L) /= ler_add2r -big_split /=; apply: ler_sum => i _.
rewrite ler_norml -subr_ge0 opprK addrACA addNr addr0 addr_ge0 //= ler_add2l.
by rewrite (le_trans _ (pi0 i)) // oppr_le0.
Qed.

Section Coincidences.
Variables (I : finType) (K : fieldType) (p pi a : I -> K) (B : pred I).
Hypothesis p_sum : \sum_i p i = 1.

Definition coincidence x y : K :=
  \sum_(i | B i) a i * ((x == i)%:R - pi i) * ((y == i)%:R - pi i) / pi i.
Definition excess x : K := if B x then a x * (p x - pi x) / pi x else 0.
Definition excess_mass : K := \sum_(i | B i) a i * (p i - pi i).

(* The mean of k(x, y) over a sample y of p, for a given x, is g(x) - d.                          *)
Theorem coincidence_mean x : (forall i, B i -> pi i != 0) ->
  \sum_y p y * coincidence x y = excess x - excess_mass.
Proof.
move=> pi0; have at_y i : \sum_y p y * ((y == i)%:R - pi i) = p i - pi i.
  under eq_bigr do rewrite mulrBr; rewrite sumrB -mulr_suml p_sum mul1r; congr (_ - _).
  rewrite (bigD1 i) //= eqxx mulr1 big1 ?addr0 // => y /negbTE ->.
  by rewrite mulr0.
transitivity (\sum_(i | B i) a i * ((x == i)%:R - pi i) * (p i - pi i) / pi i).
  under eq_bigr do rewrite mulr_sumr; rewrite exchange_big /=; apply: eq_bigr => i _.
  rewrite -at_y mulr_sumr mulr_suml; apply: eq_bigr => y _.
  by rewrite -(mulrA (_ * _)) mulrCA !mulrA.
transitivity (\sum_(i | B i) ((x == i)%:R * (a i * (p i - pi i) / pi i) - a i * (p i - pi i))).
  apply: eq_bigr => i Bi; set e := _%:R; have -> : a i * (e - pi i) * (p i - pi i) =
      a i * (p i - pi i) * e - a i * (p i - pi i) * pi i by rewrite mulrAC mulrBr.
  by rewrite mulrBl mulfK ?pi0 // [_ * e]mulrC !mulrA.
rewrite sumrB; congr (_ - _); rewrite /excess; case Bx: (B x).
  rewrite (bigD1 x) //= eqxx mul1r big1 ?addr0 // => i /andP[_]; rewrite eq_sym => /negbTE ->.
  by rewrite mul0r.
apply: big1 => i Bi; case: eqP => [xi|_]; last by rewrite mul0r.
by rewrite xi Bi in Bx.
Qed.
End Coincidences.
