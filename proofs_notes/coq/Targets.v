(* Targets that are products (assumption:targets).                                                *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* The product may vanish everywhere though no factor does: then there is no target.              *)
Theorem product_may_vanish : let R (t x : bool) : rat := (t == x)%:R in
  [/\ forall t x, 0 <= R t x, forall t, exists x, R t x != 0 & forall x, \prod_t R t x = 0].
Proof.
move=> R; split=> [t x|t|x]; first exact: ler0n.
  by exists t; rewrite /R eqxx.
by rewrite (bigD1 (~~ x)) //= /R; case: x; rewrite mul0r.
Qed.

(* Two fair coins that are independent of each other, and x says whether they differ: the product
   of the sub-posteriors knows nothing, and the posterior knows x.  [joint] is the law of the coins
   and of x, and [given t x c] the probability that coin t shows c, given x.                      *)
Theorem independent_data_do_not_suffice :
  let joint (a b x : bool) : rat := ((a (+) b) == x)%:R / 4%:R in
  let pair a b := \sum_x joint a b x in let prior x := \sum_a \sum_b joint a b x in
  let given (t x c : bool) := (if t then \sum_a joint a c x else \sum_b joint c b x) / prior x in
  [/\ forall a b, pair a b = (\sum_b' pair a b') * (\sum_a' pair a' b),
      forall a b x y, given false x a * given true x b = given false y a * given true y b
    & joint true true false / pair true true = 1].
Proof.
by split=> [[] []|[] [] [] []|]; rewrite ?big_bool /=; apply/eqP; vm_compute.
Qed.

(* With data that are independent given x, the posterior is the normalised product of the
   sub-posteriors R_0 = prior l_0 and R_t = l_t: Bayes' rule.                                     *)
Theorem product_is_posterior (X : finType) (K : numFieldType) (T : nat) (prior : X -> K)
    (l : 'I_T.+1 -> X -> K) :
  let joint x := prior x * \prod_t l t x in
  let R (t : 'I_T.+1) x := if t == ord0 then prior x * l t x else l t x in
  \sum_x joint x != 0 ->
  \sum_x \prod_(t < T.+1) R t x != 0 /\
  forall x, (\prod_(t < T.+1) R t x) / (\sum_y \prod_(t < T.+1) R t y) =
            joint x / (\sum_y joint y).
Proof.
move=> joint R total; have same x : \prod_(t < T.+1) R t x = joint x.
  by rewrite /joint !big_ord_recl /R /= mulrA.
by split=> [|x]; rewrite (eq_bigr joint) ?same.
Qed.
