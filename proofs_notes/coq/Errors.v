(* Errors of clients and steps multiply (combined-tv-bound).

   On any finite set of trajectories, p = p_F and q = mu of the combined sampler, and p / q is a
   product of factors f_0, ..., f_T, such as the combiner's exp delta_0, the clients' exp delta_t,
   or the steps of a stream.  With rho_t = exp Delta_t the bound tanh (sum Delta_t / 4) reads
   ((1 + TV) / (1 - TV))^2 <= prod rho_t.                                                         *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Residuals.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Theorem errors_multiply (I : finType) (K : realFieldType) (T : nat) (p q : I -> K)
    (f : 'I_T -> I -> K) (m M rho : 'I_T -> K) :
  \sum_i p i = 1 -> \sum_i q i = 1 -> (forall i, 0 <= p i) -> (forall i, 0 <= q i) ->
  (forall i, p i = (\prod_t f t i) * q i) ->
  (forall t i, m t <= f t i <= M t) -> (forall t, 0 < m t) ->
  (forall t, 1 <= rho t) -> (forall t, M t <= rho t * m t) ->
  (1 + tv p q) ^+ 2 <= (\prod_t rho t) * (1 - tv p q) ^+ 2.
Proof.
move=> p1 q1 p0 q0 ratio within m0 rho1 Mm.
have f0 t i : 0 <= f t i by case/andP: (within t i) => lo _; apply: le_trans lo; apply: ltW.
have M0 t : 0 <= M t.
  have [i _|none] := pickP (fun _ : I => true).
    by case/andP: (within t i) => _; apply: le_trans.
  by move: p1; rewrite big1 => [/eqP|i]; [rewrite eq_sym oner_eq0 | have := none i].
apply: (@residuals_bound_tv _ _ _ _ (\prod_t m t) (\prod_t M t)) => //.
- by apply: prodr_gt0.
- by elim/big_ind: _ => // x y; apply: mulr_ege1.
- by rewrite -big_split /=; apply: ler_prod => t _; rewrite M0 Mm.
move=> i; rewrite ratio; apply/andP; split; apply: ler_wpmul2r => //.
  by apply: ler_prod => t _; case/andP: (within t i) => -> _; rewrite ltW.
by apply: ler_prod => t _; case/andP: (within t i) => _ ->; rewrite f0.
Qed.

(* Attained: two terminal states, R_t = (1, 2) and clients of the law (2, 1) / 3, combined exactly:
   the law is proportional to (2^T, 1) where (1, 2^T) is wanted, and rho_t = 4.                   *)
Theorem errors_attained (K : realFieldType) (T : nat) :
  let c := 2%:R ^+ T : K in
  let p (b : bool) := (if b then c else 1) / (c + 1) in
  let q (b : bool) := (if b then 1 else c) / (c + 1) in
  (1 + tv p q) ^+ 2 = 4%:R ^+ T * (1 - tv p q) ^+ 2.
Proof.
move=> c p q; have c1 : 1 <= c by rewrite /c exprn_ege1 // ler1n.
have c0 : c + 1 != 0 by rewrite gt_eqF // ltr_paddl ?ltr01 // (le_trans ler01).
have tvE : tv p q = (c - 1) / (c + 1).
  rewrite /tv big_bool /= /p /q -!mulrBl !normrM [`|1 - c|]distrC ger0_norm ?subr_ge0 //.
  rewrite ger0_norm ?invr_ge0 ?addr_ge0 ?(le_trans ler01) //.
  by rewrite -mulr2n -[_ *+ 2]mulr_natr mulfK // pnatr_eq0.
have -> : 1 + tv p q = (c *+ 2) / (c + 1).
  rewrite tvE -[X in X + _](divff c0) -mulrDl; congr (_ / _).
  by rewrite addrACA subrr addr0 mulr2n.
have -> : 1 - tv p q = 2%:R / (c + 1).
  rewrite tvE -[X in X - _](divff c0) -mulrBl; congr (_ / _).
  by rewrite opprB [c + 1]addrC addrACA subrr addr0.
rewrite !expr_div_n mulrA; congr (_ / _).
rewrite -[c *+ 2]mulr_natl exprMn mulrC; congr (_ * _).
by rewrite /c -exprM mulnC exprM expr2 -natrM.
Qed.
