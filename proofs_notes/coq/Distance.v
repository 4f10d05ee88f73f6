(* TV is the largest difference of the probabilities that two laws give to one event, in either
   order, and an event attains it: the usual definition, as a theorem on the sum of Residuals.v.  *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Residuals.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Theorem tv_is_largest_difference (I : finType) (K : realFieldType) (p q : I -> K) :
  \sum_i p i = 1 -> \sum_i q i = 1 ->
  (forall A : pred I, `|\sum_(i | A i) p i - \sum_(i | A i) q i| <= tv p q) /\
  exists A : pred I, \sum_(i | A i) p i - \sum_(i | A i) q i = tv p q.
Proof.
move=> p1 q1; split=> [A|]; last by exists (fun i => q i < p i); rewrite tv_event.
have two : 0 < 2%:R :> K by rewrite ltr0n.
have rest : \sum_(i | A i) (p i - q i) = - \sum_(i | ~~ A i) (p i - q i).
  have : \sum_i (p i - q i) = 0 by rewrite sumrB p1 q1 subrr.
  by rewrite (bigID A) /= => /eqP; rewrite addr_eq0 => /eqP.
rewrite -sumrB /tv ler_pdivl_mulr // mulr_natr mulr2n {2}rest normrN [X in _ <= X](bigID A) /=.
by rewrite ler_add // ler_norm_sum.
Qed.
