(* What MathComp 1.15 has, and MathComp 2 has not, or under another name: so that all files compile
   with both.  They import this first: where the library has such a lemma, its own is used.         *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* The finite type of a type of the library. *)
Definition finite_of (T : finType) (_ : phant T) : finType := T.
Notation finite T := (finite_of (Phant T)).

Section Domains.
Variable R : numDomainType.
Implicit Types x y z t : R.

Lemma ler_add2l x : {mono +%R x : y z / y <= z}.
Proof. by move=> y z; rewrite -subr_ge0 opprD addrACA subrr add0r subr_ge0. Qed.
Lemma ler_add2r x : {mono +%R^~ x : y z / y <= z}.
Proof. by move=> y z; rewrite ![_ + x]addrC ler_add2l. Qed.
Lemma ler_add x y z t : x <= y -> z <= t -> x + z <= y + t.
Proof. by move=> xy zt; apply: (@le_trans _ _ (y + z)); rewrite ?ler_add2l ?ler_add2r. Qed.
Lemma ler_opp2 : {mono -%R : x y /~ x <= y :> R}.
Proof. by move=> x y; rewrite -subr_ge0 opprK addrC subr_ge0. Qed.
Lemma ler_sub x y z t : x <= y -> z <= t -> x - t <= y - z.
Proof. by move=> xy zt; rewrite ler_add ?ler_opp2. Qed.
Lemma ler_addl x y : (x <= x + y) = (0 <= y).
Proof. by rewrite -subr_ge0 addrAC subrr add0r. Qed.
Lemma ler_addr x y : (x <= y + x) = (0 <= y).
Proof. by rewrite addrC ler_addl. Qed.
Lemma ler_subl_addr x y z : (x - y <= z) = (x <= z + y).
Proof. by rewrite -[LHS]subr_ge0 opprB addrA subr_ge0. Qed.
Lemma ltr_subl_addr x y z : (x - y < z) = (x < z + y).
Proof. by rewrite -[LHS]subr_gt0 opprB addrA subr_gt0. Qed.
Lemma ltr_subl_addl x y z : (x - y < z) = (x < y + z).
Proof. by rewrite ltr_subl_addr addrC. Qed.
Lemma ler_oppl x y : (- x <= y) = (- y <= x).
Proof. by rewrite -[y in LHS]opprK ler_opp2. Qed.
Lemma ler_subl_addl x y z : (x - y <= z) = (x <= y + z).
Proof. by rewrite ler_subl_addr addrC. Qed.
Lemma ler_subr_addr x y z : (x <= y - z) = (x + z <= y).
Proof. by rewrite -[LHS]subr_ge0 -addrA -opprD subr_ge0 addrC. Qed.
Lemma ler_subr_addl x y z : (x <= y - z) = (z + x <= y).
Proof. by rewrite ler_subr_addr addrC. Qed.
Lemma ltr_paddr y x z : 0 <= x -> y < z -> y < z + x.
Proof. by move=> x0 yz; apply: (lt_le_trans yz); rewrite ler_addl. Qed.
Lemma ltr_paddl y x z : 0 <= x -> y < z -> y < x + z.
Proof. by rewrite addrC; apply: ltr_paddr. Qed.
Lemma ltr_spaddl x y z : 0 < x -> y <= z -> y < x + z.
Proof. by move=> x0 yz; apply: (le_lt_trans yz); rewrite -subr_gt0 addrK. Qed.

Lemma ler_wpmul2l x : 0 <= x -> {homo *%R x : y z / y <= z}.
Proof. by move=> x0 y z yz; rewrite -subr_ge0 -mulrBr mulr_ge0 ?subr_ge0. Qed.
Lemma ler_wpmul2r x : 0 <= x -> {homo *%R^~ x : y z / y <= z}.
Proof. by move=> x0 y z yz; rewrite -subr_ge0 -mulrBl mulr_ge0 ?subr_ge0. Qed.
Lemma ler_wnmul2l x : x <= 0 -> {homo *%R x : y z /~ y <= z}.
Proof. by move=> x0 y z yz; rewrite -ler_opp2 -!mulNr ler_wpmul2l ?oppr_ge0. Qed.
Lemma ler_pmul x y z t : 0 <= x -> 0 <= z -> x <= y -> z <= t -> x * z <= y * t.
Proof.
move=> x0 z0 xy zt; apply: (@le_trans _ _ (y * z)); first exact: ler_wpmul2r.
by rewrite ler_wpmul2l // (le_trans x0).
Qed.
Lemma ler_pmul2l x : 0 < x -> {mono *%R x : y z / y <= z}.
Proof. by move=> x0 y z; rewrite -subr_ge0 -mulrBr pmulr_rge0 ?subr_ge0. Qed.
Lemma ler_pmul2r x : 0 < x -> {mono *%R^~ x : y z / y <= z}.
Proof. by move=> x0 y z; rewrite ![_ * x]mulrC ler_pmul2l. Qed.
Lemma ltr_pmul2r x : 0 < x -> {mono *%R^~ x : y z / y < z}.
Proof. by move=> x0 y z; rewrite -subr_gt0 -mulrBl pmulr_lgt0 ?subr_gt0. Qed.
Lemma ler_pimulr x y : 0 <= y -> x <= 1 -> y * x <= y.
Proof. by move=> y0 x1; rewrite -[X in _ <= X]mulr1 ler_wpmul2l. Qed.
End Domains.

Section Reals.
Variable R : realDomainType.
Implicit Types x y z : R.

Lemma le_maxl z x y : (Num.max x y <= z) = (x <= z) && (y <= z).
Proof. by case: (leP x y) => [|/ltW] le; apply/idP/andP => [h|[]//]; rewrite h (le_trans le). Qed.
Lemma le_maxr z x y : (z <= Num.max x y) = (z <= x) || (z <= y).
Proof.
case: (leP x y) => [|/ltW] le; apply/idP/idP => [->|/orP[] h]; rewrite ?orbT //;
  exact: le_trans h le.
Qed.
Lemma le_minl z x y : (Num.min x y <= z) = (x <= z) || (y <= z).
Proof.
case: (leP x y) => [|/ltW] le; apply/idP/idP => [->|/orP[] h]; rewrite ?orbT //;
  exact: le_trans le h.
Qed.
Lemma le_minr z x y : (z <= Num.min x y) = (z <= x) && (z <= y).
Proof.
case: (leP x y) => [|/ltW] le; apply/idP/andP => [h|[] //]; split=> //; exact: le_trans h le.
Qed.
Lemma maxr_pmulr x y z : 0 <= x -> x * Num.max y z = Num.max (x * y) (x * z).
Proof.
by move=> x0; case: (leP y z) => [|/ltW] le; [rewrite max_r|rewrite max_l] => //;
  apply: ler_wpmul2l.
Qed.
Lemma minr_pmulr x y z : 0 <= x -> x * Num.min y z = Num.min (x * y) (x * z).
Proof.
by move=> x0; case: (leP y z) => [|/ltW] le; [rewrite min_l|rewrite min_r] => //;
  apply: ler_wpmul2l.
Qed.
End Reals.

Section Fields.
Variable K : numFieldType.
Implicit Types x y z : K.

Lemma ler_pdivl_mulr z x y : 0 < z -> (x <= y / z) = (x * z <= y).
Proof. by move=> z0; rewrite -[LHS](ler_pmul2r z0) divfK ?gt_eqF. Qed.
Lemma ler_pdivr_mulr z x y : 0 < z -> (y / z <= x) = (y <= x * z).
Proof. by move=> z0; rewrite -[LHS](ler_pmul2r z0) divfK ?gt_eqF. Qed.
Lemma lef_pinv : {in Num.pos &, {mono (@GRing.inv K) : x y /~ x <= y}}.
Proof.
move=> x y x0 y0; rewrite !posrE in x0 y0; rewrite -[LHS](ler_pmul2r x0) mulVf ?gt_eqF //.
by rewrite -[LHS](ler_pmul2r y0) mul1r mulrAC mulVf ?gt_eqF // mul1r.
Qed.
End Fields.
