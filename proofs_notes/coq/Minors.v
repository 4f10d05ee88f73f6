(* The least cost of bringing a 2 x 2 minor to zero, and a lower bound of TV from minors that a
   class of policies cannot have (price-of-class).                                                *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Dag Policies Flow SubtrajectoryBalance Residuals Betting Listed.
From Pdai Require Import Aliasing Lines.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Minor.
Variable K : rcfType.
Implicit Types a b c d l s t u v w x y r : K.

(* What b and c are raised by in all, at least, where their product reaches a d.                  *)
Definition raising a b c d : K :=
  if Num.sqrt (a * d) <= Num.max b c then (a * d - b * c) / Num.max b c
  else 2%:R * Num.sqrt (a * d) - b - c.

Lemma raise_larger a b c d v1 v2 : 0 <= b -> c <= b -> b * c < a * d -> 0 <= a * d ->
  Num.sqrt (a * d) <= b -> 0 <= v1 -> 0 <= v2 -> b * (v1 + v2) = a * d - b * c ->
  (b + v1) * (c + v2) <= a * d.
Proof.
move=> b0 cb D0 ad0 qb v1_0 v2_0 sumE; have bb : a * d <= b * b.
  by rewrite -[a * d]sqr_sqrtr // expr2 ler_pmul ?sqrtr_ge0.
have b_pos : 0 < b.
  rewrite lt_neqAle b0 andbT eq_sym; apply: contraTneq bb => bE; move: D0.
  by rewrite bE !mul0r -ltNge.
have cv : c + v2 <= b.
  rewrite -(ler_pmul2l b_pos); apply: le_trans bb.
  rewrite mulrDr -[a * d](subrK (b * c)) -sumE addrC.
  by rewrite ler_add2r mulrDr ler_addr mulr_ge0.
have -> : (b + v1) * (c + v2) = b * c + b * v2 + v1 * (c + v2) by rewrite mulrDl mulrDr.
apply: (@le_trans _ _ (b * c + b * v2 + v1 * b)); first by rewrite ler_add2l ler_wpmul2l.
by rewrite -addrA [v1 * b]mulrC -mulrDr [v2 + _]addrC sumE addrC subrK.
Qed.

Lemma raising_enough a b c d v1 v2 : 0 <= b -> 0 <= c -> b * c < a * d -> 0 <= v1 -> 0 <= v2 ->
  v1 + v2 = raising a b c d -> (b + v1) * (c + v2) <= a * d.
Proof.
move=> b0 c0 D0 v1_0 v2_0; have ad0 : 0 <= a * d by rewrite (le_trans _ (ltW D0)) ?mulr_ge0.
have q0 : 0 < Num.sqrt (a * d) by rewrite sqrtr_gt0 (le_lt_trans _ D0) ?mulr_ge0.
rewrite /raising; case: (leP (Num.sqrt (a * d)) (Num.max b c)) => [qm|_] vE; last first.
  have -> : c + v2 = 2%:R * Num.sqrt (a * d) - (b + v1).
    have -> : 2%:R * Num.sqrt (a * d) = v1 + v2 + c + b by rewrite vE !subrK.
    by rewrite opprD addrA addrK [v1 + v2]addrC addrAC addrK addrC.
  rewrite -subr_ge0 -{1}[a * d]sqr_sqrtr //.
  set q := Num.sqrt _; set y := b + v1; have -> : q ^+ 2 - y * (2%:R * q - y) = (q - y) ^+ 2.
    rewrite sqrrB mulrBr opprB addrCA addrC; congr (_ - _ + _).
    by rewrite mulrCA mulr_natl [y * q]mulrC.
  exact: sqr_ge0.
have m0 : 0 < Num.max b c by apply: lt_le_trans qm.
have {}vE : Num.max b c * (v1 + v2) = a * d - b * c by rewrite vE mulrC divfK ?gt_eqF.
case: (leP b c) qm vE m0 => [bc|/ltW cb] qm vE m0; last exact: raise_larger vE.
rewrite mulrC; apply: (@raise_larger a c b d) => //; first by rewrite mulrC.
by rewrite [v2 + v1]addrC vE [c * b]mulrC.
Qed.

Lemma raising_pos a b c d : 0 <= b -> 0 <= c -> b * c < a * d -> 0 < raising a b c d.
Proof.
move=> b0 c0 D0; have q0 : 0 < Num.sqrt (a * d) by rewrite sqrtr_gt0 (le_lt_trans _ D0) ?mulr_ge0.
rewrite /raising; case: (leP (Num.sqrt (a * d)) (Num.max b c)) => [qm|mq].
  by rewrite divr_gt0 ?subr_gt0 // (lt_le_trans q0).
have [bq cq] : b < Num.sqrt (a * d) /\ c < Num.sqrt (a * d).
  by split; apply: le_lt_trans mq; rewrite le_maxr lexx ?orbT.
rewrite mulr_natl mulr2n -addrA addrACA; apply: addr_gt0; by rewrite subr_gt0.
Qed.

(* Raising by less brings the product b c at most as far as the chord.                            *)
Lemma raising_less a b c d u1 u2 : 0 <= b -> 0 <= c -> b * c < a * d -> 0 <= u1 -> 0 <= u2 ->
  u1 + u2 <= raising a b c d ->
  (b + u1) * (c + u2) <= b * c + (u1 + u2) / raising a b c d * (a * d - b * c).
Proof.
move=> b0 c0 D0 u1_0 u2_0; have r0 := raising_pos b0 c0 D0; set r := raising _ _ _ _ in r0 *.
move=> sr; have [s0|s0] := eqVneq (u1 + u2) 0.
  have [-> ->] : u1 = 0 /\ u2 = 0 by move/eqP: s0; rewrite paddr_eq0 // => /andP[/eqP-> /eqP->].
  by rewrite !addr0 !mul0r addr0.
have s_pos : 0 < u1 + u2 by rewrite lt_neqAle eq_sym s0 addr_ge0.
set t := (u1 + u2) / r; have t0 : 0 < t by rewrite divr_gt0.
have t1 : t <= 1 by rewrite ler_pdivr_mulr ?mul1r.
have scaled u : u = t * (u / t) by rewrite mulrC divfK // gt_eqF.
set v1 := u1 / t; set v2 := u2 / t; have v1_0 : 0 <= v1 by rewrite divr_ge0 // ltW.
have v2_0 : 0 <= v2 by rewrite divr_ge0 // ltW.
have vr : v1 + v2 = r by rewrite -mulrDl /t invf_div mulrC divfK.
have enough := raising_enough b0 c0 D0 v1_0 v2_0 vr.
rewrite (scaled u1) (scaled u2) -/v1 -/v2.
have -> : (b + t * v1) * (c + t * v2) = b * c + t * (b * v2 + v1 * c + t * (v1 * v2)).
  rewrite mulrDl !mulrDr -!addrA; congr (_ + (_ + (_ + _))).
  - by rewrite mulrCA.
  - by rewrite mulrA.
  by rewrite mulrACA -mulrA.
rewrite ler_add2l ler_pmul2l //; apply: (@le_trans _ _ (b * v2 + v1 * c + v1 * v2)).
  by rewrite ler_add2l mulrC ler_pimulr // mulr_ge0.
rewrite ler_subr_addl; apply: le_trans enough.
by rewrite mulrDl !mulrDr -!addrA.
Qed.

(* The cost of a change of a minor: 1 - w for a unit of lowering, w for one of raising.           *)
Definition over x y : K := Num.max (x - y) 0.
Definition minor_cost w a b c d : K :=
  Num.min ((1 - w) * ((a * d - b * c) / Num.max a d)) (w * raising a b c d).

Lemma over_ge0 x y : 0 <= over x y.
Proof. by rewrite /over le_maxr lexx orbT. Qed.

Lemma over_le x y : x - over x y <= y.
Proof. by rewrite ler_subl_addl -ler_subl_addr le_maxr lexx. Qed.

Lemma over_small x y : 0 <= x -> 0 <= y -> 0 <= x - over x y.
Proof. by move=> x0 y0; rewrite subr_ge0 le_maxl x0 ler_subl_addr ler_addl y0. Qed.

Theorem minor_has_cost w a b c d a' b' c' d' : 0 <= w <= 1 ->
  [/\ 0 <= a, 0 <= b, 0 <= c & 0 <= d] -> [/\ 0 <= a', 0 <= b', 0 <= c' & 0 <= d'] ->
  b * c < a * d -> a' * d' = b' * c' ->
  minor_cost w a b c d <=
  (1 - w) * (over a a' + over b b' + over c c' + over d d') +
  w * (over a' a + over b' b + over c' c + over d' d).
Proof.
move=> /andP[w0 w1] [a0 b0 c0 d0] [a0' b0' c0' d0'] D0 zero.
set r := raising a b c d; have r0 : 0 < r by apply: raising_pos.
set M := Num.max a d; have ad0 : 0 < a * d by rewrite (le_lt_trans _ D0) ?mulr_ge0.
have M0 : 0 < M.
  rewrite lt_neqAle le_maxr a0 andbT eq_sym; apply: contraTneq ad0 => ME.
  have : a <= 0 by rewrite -ME le_maxr lexx.
  by move=> a_0; rewrite -leNgt mulr_le0_ge0.
pose l := over a a' + over d d'; pose s := over b' b + over c' c.
have l_s : (1 - w) * l + w * s <= (1 - w) * (over a a' + over b b' + over c c' + over d d') +
    w * (over a' a + over b' b + over c' c + over d' d).
  have w1' : 0 <= 1 - w by rewrite subr_ge0.
  apply: ler_add; [apply: (ler_wpmul2l w1')|apply: (ler_wpmul2l w0)].
    by rewrite addrAC [_ + over d d']addrAC -addrA -/l ler_addl addr_ge0 ?over_ge0.
  by rewrite [_ + over b' b]addrC [_ + over c' c]addrAC -addrA -/s ler_addl addr_ge0 ?over_ge0.
apply: le_trans l_s; rewrite /minor_cost -/r -/M; have [rs|sr] := leP r s.
  apply: (@le_trans _ _ (w * r)); first by rewrite le_minl lexx orbT.
  apply: (@le_trans _ _ (w * s)); first exact: ler_wpmul2l.
  by rewrite ler_addr mulr_ge0 ?subr_ge0 // addr_ge0 ?over_ge0.
set t := s / r; have t0 : 0 <= t by rewrite divr_ge0 ?addr_ge0 ?over_ge0 // ltW.
have t1 : 0 <= 1 - t by rewrite subr_ge0 ler_pdivr_mulr // mul1r ltW.
have [Ma Md] : a <= M /\ d <= M by rewrite /M !le_maxr !lexx orbT.
have low : a * d - l * M <= (a - over a a') * (d - over d d').
  have -> : (a - over a a') * (d - over d d') =
      a * d - (over a a' * d + a * over d d') + over a a' * over d d'.
    rewrite mulrBl !mulrBr opprB addrA addrAC -[_ - _ - _]addrA -opprD; congr (_ - _ + _).
    exact: addrC.
  apply: (@le_trans _ _ (a * d - (over a a' * d + a * over d d'))); last first.
    by rewrite ler_addl mulr_ge0 ?over_ge0.
  rewrite ler_add2l ler_opp2 mulrDl [a * _]mulrC.
  by apply: ler_add; apply: ler_wpmul2l; rewrite ?over_ge0.
have high : (a - over a a') * (d - over d d') <= (b + over b' b) * (c + over c' c).
  apply: (@le_trans _ _ (a' * d')); first by rewrite ler_pmul ?over_small ?over_le.
  have up y z : y <= z + over y z by have := over_le y z; rewrite ler_subl_addr.
  by rewrite zero ler_pmul // up.
have chord := raising_less b0 c0 D0 (over_ge0 b' b) (over_ge0 c' c) (ltW sr).
have enough : (a * d - b * c) * (1 - t) <= l * M.
  have := le_trans (le_trans low high) chord; rewrite -/r -/s -/t ler_subl_addr => le.
  by rewrite mulrBr mulr1 !ler_subl_addr [_ * t]mulrC addrC [l * M + _]addrC addrA.
apply: (@le_trans _ _ ((1 - t) * ((1 - w) * ((a * d - b * c) / M)) + t * (w * r))).
  set X := (1 - w) * _; set Y := w * r.
  have -> : Num.min X Y = (1 - t) * Num.min X Y + t * Num.min X Y by rewrite -mulrDl subrK mul1r.
  by apply: ler_add; apply: ler_wpmul2l; rewrite // le_minl lexx ?orbT.
apply: ler_add; last by rewrite mulrCA /t divfK // gt_eqF.
rewrite mulrCA; apply: ler_wpmul2l; first by rewrite subr_ge0.
by rewrite mulrA ler_pdivr_mulr // [(1 - t) * _]mulrC.
Qed.
End Minor.

(* Costs of minors without a common cell add up.  The cells of minor i are of two beginnings and two
   endings: a and d at (false, false) and (true, true), b and c at the others.                    *)
Section Bound.
Variables (K : rcfType) (X I : finType) (pi p : X -> K) (w : K).
Variable cell : I -> bool -> bool -> X.
Hypotheses (w01 : 0 <= w <= 1) (pi_ge0 : forall x, 0 <= pi x) (p_ge0 : forall x, 0 <= p x).
Hypotheses (pi1 : \sum_x pi x = 1) (p1 : \sum_x p x = 1).
Hypothesis apart : injective (fun c : I * bool * bool => cell c.1.1 c.1.2 c.2).
Hypothesis minor_pos : forall i,
  pi (cell i false true) * pi (cell i true false) < pi (cell i false false) * pi (cell i true true).
Hypothesis minor_zero : forall i,
  p (cell i false false) * p (cell i true true) = p (cell i false true) * p (cell i true false).

Lemma over_split (x y : K) : over x y + over y x = `|x - y| /\ over x y - over y x = x - y.
Proof.
rewrite /over -[y - x]opprB; set z := x - y; have [z0|] := boolP (0 <= z).
  by rewrite max_l // max_r ?oppr_le0 // addr0 subr0 ger0_norm.
rewrite -ltNge => /ltW z0.
by rewrite max_r // max_l ?oppr_ge0 // add0r sub0r opprK ler0_norm.
Qed.

Lemma over_tv : \sum_x over (pi x) (p x) = tv pi p /\ \sum_x over (p x) (pi x) = tv pi p.
Proof.
have same : \sum_x over (pi x) (p x) = \sum_x over (p x) (pi x).
  apply/eqP; rewrite -subr_eq0 -sumrB (eq_bigr (fun x => pi x - p x)) => [|x _].
    by rewrite sumrB pi1 p1 subrr.
  by have [_ ->] := over_split (pi x) (p x).
have abs : \sum_x `|pi x - p x| = \sum_x over (pi x) (p x) + \sum_x over (p x) (pi x).
  by rewrite -big_split /=; apply: eq_bigr => x _; have [-> _] := over_split (pi x) (p x).
by rewrite /tv abs same -mulr2n -[X in X / _]mulr_natr mulfK // pnatr_eq0.
Qed.

Lemma cells_le (f : X -> K) : (forall x, 0 <= f x) ->
  \sum_i (f (cell i false false) + f (cell i false true) + f (cell i true false) +
    f (cell i true true)) <= \sum_x f x.
Proof.
move=> f0; pose g (c : I * bool * bool) := cell c.1.1 c.1.2 c.2.
have -> : \sum_i (f (cell i false false) + f (cell i false true) + f (cell i true false) +
    f (cell i true true)) = \sum_(c : I * bool * bool) f (g c).
  rewrite -(pair_big predT predT (fun ir e => f (g (ir, e)))) /=.
  rewrite -(pair_big predT predT (fun i r => \sum_e f (g (i, r, e)))) /=.
  apply: eq_bigr => i _; rewrite !big_bool /g /= addrC [_ + f (cell i true false)]addrC.
  by rewrite [f (cell i false false) + _]addrC addrA.
have -> : \sum_c f (g c) = \sum_(x in g @: predT) f x by rewrite big_imset //; apply: in2W.
by rewrite [X in _ <= X](bigID (fun x => x \in g @: predT)) /= ler_addl sumr_ge0.
Qed.

Theorem minors_bound_tv :
  \sum_i minor_cost w (pi (cell i false false)) (pi (cell i false true)) (pi (cell i true false))
    (pi (cell i true true)) <= tv pi p.
Proof.
have [lower upper] := over_tv; have [w0 w1] := andP w01.
have -> : tv pi p = (1 - w) * (\sum_x over (pi x) (p x)) + w * (\sum_x over (p x) (pi x)).
  by rewrite lower upper -mulrDl subrK mul1r.
have w1' : 0 <= 1 - w by rewrite subr_ge0.
have l := cells_le (fun x => over_ge0 (pi x) (p x)).
have u := cells_le (fun x => over_ge0 (p x) (pi x)).
apply: le_trans (ler_add (ler_wpmul2l w1' l) (ler_wpmul2l w0 u)).
rewrite !mulr_sumr -big_split /=; apply: ler_sum => i _.
exact: minor_has_cost (minor_pos i) (minor_zero i).
Qed.
End Bound.

(* Strings of n letters that are built from left to right, where a policy sees [see s] of what is
   built: the laws that it attains.                                                               *)
Section Class.
Variables (K : realFieldType) (A : finType) (n : nat).
Definition attains (T : Type) (see : seq A -> T) (p : n.-tuple A -> K) := exists row : T -> A -> K,
  [/\ forall t a, 0 <= row t a, forall s, \sum_a row (see s) a = 1
    & forall x, p x = chance (fun s => row (see s)) [::] x].

Lemma chance_cat (law : seq A -> A -> K) h s y :
  chance law h (s ++ y) = chance law h s * chance law (h ++ s) y.
Proof.
by elim: s h => [|a s IH] h /=; rewrite ?cats0 ?mul1r // IH mulrA cat_rcons.
Qed.

(* After two beginnings that look alike, and go on to look alike, a minor vanishes.               *)
Theorem minors_vanish (T : Type) (see : seq A -> T) (row : T -> A -> K) s s' y y' :
  (forall r r' a, see r = see r' -> see (rcons r a) = see (rcons r' a)) -> see s = see s' ->
  let p := chance (fun r => row (see r)) [::] in
  p (s ++ y) * p (s' ++ y') = p (s ++ y') * p (s' ++ y).
Proof.
move=> on ss' p; have alike z r r' : see r = see r' ->
    chance (fun r => row (see r)) r z = chance (fun r => row (see r)) r' z.
  by elim: z r r' => //= a z IH r r' rr'; rewrite rr' (IH _ (rcons r' a)) //; apply: on.
rewrite /p !chance_cat !(alike _ s s') // mulrACA [RHS]mulrACA; congr (_ * _); exact: mulrC.
Qed.

(* Length and last k letters.                                                                     *)
Definition window k (s : seq A) := (size s, drop (size s - k) s).
Lemma window_on k r r' a : window k r = window k r' -> window k (rcons r a) = window k (rcons r' a).
Proof.
case=> sz dr; rewrite /window !size_rcons sz; congr (_, _); case: k dr => [|k] dr.
  by rewrite subn0 !drop_oversize ?size_rcons ?sz.
rewrite subSS !drop_rcons ?leq_subr ?sz ?leq_subr //; congr rcons.
have more (q : seq A) : drop (size q - k) q =
    drop (size q - k - (size q - k.+1)) (drop (size q - k.+1) q).
  by rewrite drop_drop subnK // leq_sub2l.
by rewrite -{1}sz more more dr sz.
Qed.

Theorem chance_is_law (law : seq A -> A -> K) : (forall s, \sum_a law s a = 1) ->
  \sum_(x : n.-tuple A) chance law [::] x = 1.
Proof. by move=> sums; apply: (probability_true sums n [::]). Qed.

(* A class that sees more attains what the other does; ...                                        *)
Theorem sees_more (T T' : Type) (see : seq A -> T) (see' : seq A -> T') (f : T' -> T) p :
  (forall s, see s = f (see' s)) -> attains see p -> attains see' p.
Proof.
move=> seef [row [row0 row1 rowE]]; exists (fun t => row (f t)); split=> // [s|x].
  by rewrite -seef.
rewrite rowE; elim: (tval x) [::] => //= a y IH s; by rewrite IH seef.
Qed.

(* ... and with all its earlier letters it attains every positive law.                            *)
Theorem letters_suffice (a0 : A) (p : n.-tuple A -> K) :
  (forall x, 0 < p x) -> \sum_x p x = 1 -> attains id p.
Proof.
move=> p_pos p1; pose P s := \sum_(x : n.-tuple A | take (size s) x == s) p x.
have P0 : P [::] = 1 by rewrite -p1; apply: eq_bigl => x; rewrite take0.
have P_pos s : (size s <= n)%N -> 0 < P s.
  move=> sn; have szx : size (s ++ nseq (n - size s) a0) == n by rewrite size_cat size_nseq subnKC.
  rewrite /P (bigD1 (Tuple szx)) /=; last by rewrite take_size_cat.
  by rewrite ltr_paddr // sumr_ge0 // => x _; apply: ltW.
have PS s : (size s < n)%N -> P s = \sum_a P (rcons s a).
  move=> sn; rewrite /P (partition_big (fun x : n.-tuple A => nth a0 x (size s)) predT) //=.
  apply: eq_bigr => a _; apply: eq_bigl => x.
  by rewrite size_rcons (take_nth a0) ?size_tuple // eqseq_rcons.
exists (fun s a => if (size s < n)%N then P (rcons s a) / P s else (a == a0)%:R).
split=> [s a|s|x].
- case: ifP => sn; last exact: ler0n.
  by rewrite ltW // divr_gt0 ?P_pos ?size_rcons // ltnW.
- case: (boolP (size s < n)%N) => sn; last first.
    by rewrite (bigD1 a0) //= eqxx big1 ?addr0 // => a /negbTE->.
  by rewrite -mulr_suml -PS // divff // gt_eqF // P_pos // ltnW.
set law := (fun s a => _); suff all_from y s : size (s ++ y) = n -> s ++ y = x ->
    chance law s y = p x / P s.
  by rewrite (all_from _ [::]) ?size_tuple // P0 divr1.
elim: y s => [|a y IH] s /=.
  rewrite cats0 => sn sx; rewrite /P (big_pred1 x) ?divff ?gt_eqF // => z /=.
  by rewrite take_oversize ?size_tuple ?sn // sx.
move=> sz sx; rewrite IH ?cat_rcons // /law.
have sn : (size s < n)%N by rewrite -sz size_cat /= addnS ltnS leq_addr.
by rewrite sn mulrC mulrA divfK // gt_eqF // P_pos // size_rcons.
Qed.
End Class.

(* The bound, for policies that see the length and the last k letters.                            *)
Theorem price_of_window (K : rcfType) (A I : finType) (n k : nat) (pi p : n.-tuple A -> K) (w : K)
    (beginning ending : I -> bool -> seq A) (cell : I -> bool -> bool -> n.-tuple A) :
  0 <= w <= 1 -> (forall x, 0 <= pi x) -> \sum_x pi x = 1 -> attains (window k) p ->
  (forall i r e, cell i r e = beginning i r ++ ending i e :> seq A) ->
  (forall i, window k (beginning i false) = window k (beginning i true)) ->
  injective (fun c : I * bool * bool => cell c.1.1 c.1.2 c.2) ->
  (forall i, pi (cell i false true) * pi (cell i true false) <
    pi (cell i false false) * pi (cell i true true)) ->
  \sum_i minor_cost w (pi (cell i false false)) (pi (cell i false true)) (pi (cell i true false))
    (pi (cell i true true)) <= tv pi p.
Proof.
move=> w01 pi0 pi1 [row [row0 row1 pE]] cellE alike apart pos.
apply: minors_bound_tv => // [x||i]; first by rewrite pE chance_ge0.
  by rewrite (eq_bigr _ (fun x _ => pE x)); apply: chance_is_law.
by rewrite !pE !cellE; apply: minors_vanish (alike i); apply: window_on.
Qed.

(* On any finite graph whose actions determine the next state: a policy that sees its earlier
   actions, and nothing else, attains every positive law.                                         *)
Section Actions.
Variables (G : pointedDAG) (B : eqType) (act : G -> G -> B).
Hypothesis act_inj : forall u v v', edge u v -> edge u v' -> act u v = act u v' -> v = v'.
Fixpoint actions (u : G) (p : seq G) : seq B :=
  if p is v :: q then act u v :: actions v q else [::].
Definition follow (u : G) (b : B) : G := odflt u [pick v | edge u v && (act u v == b)].

Lemma follow_act u v : edge u v -> follow u (act u v) = v.
Proof.
move=> uv; rewrite /follow; case: pickP => [w /andP[uw /eqP wv]|/(_ v)]; last by rewrite uv eqxx.
exact: act_inj wv.
Qed.

Lemma follow_actions u p : path edge u p -> foldl follow u (actions u p) = last u p.
Proof. by elim: p u => //= v p IH u /andP[uv vp]; rewrite follow_act ?IH. Qed.

Theorem actions_suffice (K : numFieldType) (R : G -> K) : (forall x, terminal x -> 0 < R x) ->
  exists f : seq B -> B -> K, let pF h v := f (actions src h) (act (last src h) v) in
  [/\ history_policy pF, forall h v, path edge src h -> edge (last src h) v -> 0 < pF h v
    & forall x, terminal x ->
      \sum_(p <- trajs src x) history_weight pF [::] p = R x / \sum_(y | terminal y) R y].
Proof.
move=> R_pos; pose pB := @uniform_backward G K.
have [norm normB flow bal F_pos] := balanced_policies_exist R_pos.
pose f h b := flow_policy pB R (foldl follow src h) (follow (foldl follow src h) b).
exists f => pF; have pFE h v : path edge src h -> edge (last src h) v ->
    pF h v = flow_policy pB R (last src h) v.
  by move=> sh hv; rewrite /pF /f follow_actions // follow_act.
split=> [h sh nh|h v sh hv|x tx].
- by rewrite -(norm _ nh); apply: eq_bigr => v hv; rewrite pFE.
- by rewrite pFE // divr_gt0 ?mulr_gt0 ?F_pos // /pB uniform_backward_positive.
have total0 : \sum_(y : G | terminal y) R y != 0.
  by rewrite gt_eqF // (bigD1 x) //= ltr_paddr ?R_pos // sumr_ge0 // => y /andP[/R_pos/ltW].
have [F_src visits] := subtb_state_marginals norm normB flow bal total0.
transitivity (mass (flow_policy pB R) src x); last by rewrite visits F_src flow.
apply: eq_big_seq => p; rewrite mem_trajs => /andP[sp _].
have all_from q h : path edge src h -> path edge (last src h) q ->
    history_weight pF h q = weight (flow_policy pB R) (last src h) q.
  elim: q h => //= v q IH h sh /andP[hv vq]; rewrite pFE // IH ?last_rcons //.
  by rewrite rcons_path sh.
exact: (all_from p [::]).
Qed.
End Actions.

(* With memory of observations it may not: 1 and 2 are children of the start that look alike, with
   ends 3, 4 and 5, 6.  The history of observations is one, so that both have the same row.       *)
Definition alike_edges : edges := [:: (0, 1); (0, 2); (1, 3); (1, 4); (2, 5); (2, 6)]%N.
Lemma alike_listed : listed 6 alike_edges. Proof. by []. Qed.
Lemma alike_one_source : one_source 6 alike_edges. Proof. by []. Qed.
Definition alike_dag : pointedDAG := listed_pointed alike_listed alike_one_source.
Definition node k (k7 : (k < 7)%N) : alike_dag := Ordinal k7.

Theorem observations_do_not_suffice : exists R : alike_dag -> rat,
  [/\ forall x, terminal x -> 0 < R x, \sum_(x | terminal x) R x = 1
    & forall pF : alike_dag -> alike_dag -> rat,
      pF (@node 1%N isT) (@node 3%N isT) = pF (@node 2%N isT) (@node 5%N isT) ->
      pF (@node 1%N isT) (@node 4%N isT) = pF (@node 2%N isT) (@node 6%N isT) ->
      exists2 x, terminal x & mass pF src x != R x].
Proof.
pose r (k : nat) : rat := if (k == 3)%N || (k == 6)%N then 2%:R / 5%:R else 1 / 10%:R.
exists (fun x => r (val x)); split=> [x _||pF row3 row4].
- by rewrite /r; case: ifP.
- by rewrite (sum_terminal alike_listed r); vm_compute.
have ends k (k7 : (k < 7)%N) : (2 < k)%N -> terminal (node k7).
  by rewrite (listed_terminal (ok := alike_listed)); case: k k7 => [|[|[|[|[|[|[|k]]]]]]].
have parent k l (k7 : (k < 7)%N) (l7 : (l < 7)%N) :
    all (fun s => ((s, k) \in alike_edges) == (s == l)) (iota 0 7) ->
    mass pF src (node k7) = mass pF src (node l7) * pF (node l7) (node k7).
  move=> /allP only; apply: one_parent_mass => w; apply/eqP.
  by have := only (val w); rewrite mem_iota ltn_ord => /(_ isT).
have m3 := @parent 3%N 1%N isT isT isT; have m4 := @parent 4%N 1%N isT isT isT.
have m5 := @parent 5%N 2%N isT isT isT; have m6 := @parent 6%N 2%N isT isT isT.
have try k (k7 : (k < 7)%N) (out : (2 < k)%N) : mass pF src (node k7) = r k \/
    exists2 x, terminal x & mass pF src x != r (val x).
  case: (eqVneq (mass pF src (node k7)) (r k)) => [|ne]; first by left.
  by right; exists (node k7); rewrite ?ends.
have [e3|//] := try 3%N isT isT; have [e4|//] := try 4%N isT isT.
have [e5|//] := try 5%N isT isT; have [e6|//] := try 6%N isT isT.
have : r 3%N * r 6%N == r 4%N * r 5%N.
  rewrite -e3 -e4 -e5 -e6 m3 m4 m5 m6 row3 row4 mulrACA [X in _ == X]mulrACA.
  by rewrite [X in _ == _ * X]mulrC.
by [].
Qed.
