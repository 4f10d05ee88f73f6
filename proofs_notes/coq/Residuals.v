(* Residuals that vary little bound the total variation (residual-tv-bound).

   The set of trajectories is any finite type I, p and q are the laws p_F and mu on it, and their
   ratio lies between m and M.  With rho = M / m = exp Delta the bound tanh (Delta / 4) on
   t = TV(p, q) reads ((1 + t) / (1 - t))^2 <= rho, which needs no logarithm and no square root.  *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Definition tv (I : finType) (K : realFieldType) (p q : I -> K) : K :=
  (\sum_i `|p i - q i|) / 2%:R.

Section Bound.
Variables (I : finType) (K : realFieldType) (p q : I -> K).
Hypotheses (p1 : \sum_i p i = 1) (q1 : \sum_i q i = 1).

(* TV is attained by the event that p is the larger.                                              *)
Lemma tv_event : tv p q = \sum_(i | q i < p i) p i - \sum_(i | q i < p i) q i.
Proof.
have split (f : I -> K) : \sum_i f i = \sum_(i | q i < p i) f i + \sum_(i | ~~ (q i < p i)) f i.
  by rewrite (bigID (fun i => q i < p i)).
have e : \sum_(i | ~~ (q i < p i)) q i - \sum_(i | ~~ (q i < p i)) p i =
         \sum_(i | q i < p i) p i - \sum_(i | q i < p i) q i.
  apply/eqP; rewrite subr_eq addrAC eq_sym subr_eq -split p1 addrC -split q1 //.
rewrite /tv split -!sumrB.
have -> : \sum_(i | q i < p i) `|p i - q i| = \sum_(i | q i < p i) (p i - q i).
  by apply: eq_bigr => i lt; rewrite ger0_norm // subr_ge0 ltW.
have -> : \sum_(i | ~~ (q i < p i)) `|p i - q i| = \sum_(i | ~~ (q i < p i)) (q i - p i).
  by apply: eq_bigr => i; rewrite -leNgt => le; rewrite distrC ger0_norm // subr_ge0.
have two : 2%:R != 0 :> K by rewrite pnatr_eq0.
by apply: (mulIf two); rewrite divfK // mulr_natr mulr2n !sumrB e.
Qed.

End Bound.

Section TwoPoints.
Variable K : realFieldType.

(* An event has probability a under p and b under q, where it is less likely.                     *)
Lemma bound_of_event (a b rho : K) :
  0 <= b -> b <= a -> a <= 1 -> 1 <= rho -> a * (1 - b) <= rho * (b * (1 - a)) ->
  (1 + (a - b)) ^+ 2 <= rho * (1 - (a - b)) ^+ 2.
Proof.
move=> b0 ba a1 rho1; set t := a - b; set u := b * (1 - a).
have -> : a * (1 - b) = t + u.
  by rewrite /t /u !mulrBr !mulr1 addrA [b * a]mulrC subrK.
have t0 : 0 <= t by rewrite subr_ge0.
have u0 : 0 <= u by rewrite mulr_ge0 ?subr_ge0.
have side : 1 - t = 1 - a + b by rewrite /t opprB addrCA addrC.
have slack : (1 - t) ^+ 2 * (t + u) - (1 + t) ^+ 2 * u = t * (1 - a - b) ^+ 2.
  have -> : (1 - t) ^+ 2 * (t + u) - (1 + t) ^+ 2 * u =
      (1 - t) ^+ 2 * t + ((1 - t) ^+ 2 - (1 + t) ^+ 2) * u by rewrite mulrDr mulrBl addrA.
  have -> : (1 - t) ^+ 2 - (1 + t) ^+ 2 = - (t *+ 4) by rewrite -opprB subr_sqrDB mul1r.
  rewrite mulNr mulrnAl -mulrnAr [_ ^+ 2 * t]mulrC -mulrBr side; congr (_ * _).
  by rewrite /u [b * _]mulrC -subr_sqrDB opprB addrCA subrr addr0.
move=> ratio; have [u_gt|] := boolP (0 < u).
  rewrite -(ler_pmul2r u_gt); apply: le_trans (_ : (1 - t) ^+ 2 * (t + u) <= _).
    by rewrite -subr_ge0 slack mulr_ge0 // sqr_ge0.
  by rewrite [rho * _ * u]mulrAC [rho * u * _]mulrC; apply: ler_wpmul2l ratio; apply: sqr_ge0.
(* Nothing is left of the event, or nothing but the event: then t = 0.                            *)
rewrite -leNgt => u_le; have u00 : u = 0 by apply/eqP; rewrite eq_le u_le.
have -> : t = 0 by apply/eqP; rewrite eq_le t0 andbT -[t]addr0 -u00 (le_trans ratio) // u00 mulr0.
by rewrite subr0 addr0 expr1n mulr1.
Qed.
End TwoPoints.

(* residual-tv-bound: with m <= p / q <= M and M <= rho m, ((1 + TV) / (1 - TV))^2 <= rho.        *)
Theorem residuals_bound_tv (I : finType) (K : realFieldType) (p q : I -> K) (m M rho : K) :
  \sum_i p i = 1 -> \sum_i q i = 1 -> (forall i, 0 <= p i) -> (forall i, 0 <= q i) ->
  0 < m -> 1 <= rho -> M <= rho * m -> (forall i, m * q i <= p i <= M * q i) ->
  (1 + tv p q) ^+ 2 <= rho * (1 - tv p q) ^+ 2.
Proof.
move=> p1 q1 p0 q0 m0 rho1 Mm within; rewrite tv_event //.
set a := \sum_(i | _) p i; set b := \sum_(i | _) q i.
have rest (f : I -> K) : \sum_i f i = 1 ->
    \sum_(i | ~~ (q i < p i)) f i = 1 - \sum_(i | q i < p i) f i.
  by move=> <-; rewrite [in RHS](bigID (fun i => q i < p i)) /= addrAC subrr add0r.
have b0 : 0 <= b by apply: sumr_ge0.
have ba : b <= a by apply: ler_sum => i /ltW.
have a1 : a <= 1 by rewrite -subr_ge0 -rest //; apply: sumr_ge0.
apply: bound_of_event => //.
have upper : a <= M * b.
  by rewrite mulr_sumr; apply: ler_sum => i _; case/andP: (within i).
have lower : m * (1 - b) <= 1 - a.
  by rewrite -!rest // mulr_sumr; apply: ler_sum => i _; case/andP: (within i).
have b1 : 0 <= 1 - b by rewrite subr_ge0 (le_trans ba).
apply: le_trans (_ : M * b * (1 - b) <= _); first exact: ler_wpmul2r.
apply: le_trans (_ : rho * m * b * (1 - b) <= _); first by rewrite !ler_wpmul2r.
have -> : rho * m * b * (1 - b) = rho * (b * (m * (1 - b))).
  by rewrite -!mulrA; congr (_ * _); rewrite !mulrA [m * b]mulrC.
by rewrite ler_wpmul2l ?ler_wpmul2l // (le_trans ler01).
Qed.
