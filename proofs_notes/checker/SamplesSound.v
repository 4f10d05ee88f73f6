(* What [check] of Samples.v accepts is seldom wrong.  I is the finite set of trajectories, p the law
   p_F on it, r tau = R(x) p_B(tau | x), and [line tau] what a certificate says of tau.  Draws are
   independent; somebody looks at them, and may write any certificate after any number of them.    *)
From Coq Require Import ZArith Lia.
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Residuals Betting Shortfall.
From Cert Require Import Samples Rat.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* MathComp has taken %Z for its own integers.                                                     *)
Delimit Scope Z_scope with B.
Notation BZ := BinNums.Z.
(* Locked, as no tactic is to count to [grain].                                                     *)
Definition q (a : BZ) : rat := locked (fun b => (int_of b)%:~R) a.
Definition ratio (a b : BZ) : rat := q a / q b.

Lemma qD a b : q (a + b)%B = q a + q b. Proof. by rewrite /q -lock int_ofD intrD. Qed.
Lemma qM a b : q (a * b)%B = q a * q b. Proof. by rewrite /q -lock int_ofM intrM. Qed.
Lemma qB a b : q (a - b)%B = q a - q b.
Proof. by rewrite -Z.add_opp_r qD /q -lock int_of_opp mulrNz. Qed.
Lemma q0 : q 0%B = 0. Proof. by rewrite /q -lock. Qed.
Lemma q1 : q 1%B = 1. Proof. by rewrite /q -lock. Qed.
Lemma q2 : q 2%B = 2%:R. Proof. by rewrite /q -lock. Qed.

Lemma q_ge0 a : (0 <= a)%B -> 0 <= q a.
Proof. by move=> a0; rewrite -(Z2Nat.id a a0) /q -lock int_of_nat ler0z. Qed.

Lemma q_le a b : (a <= b)%B -> q a <= q b.
Proof. by move=> ab; rewrite -subr_ge0 -qB q_ge0 //; lia. Qed.

Lemma q_gt0 a : (0 < a)%B -> 0 < q a.
Proof. by move=> a0; apply: lt_le_trans (q_le (_ : 1 <= a)%B); [rewrite q1 | lia]. Qed.

(* Division rounds down.                                                                           *)
Lemma q_div a b : (0 < b)%B -> q (a / b)%B <= q a / q b.
Proof.
move=> b0; rewrite ler_pdivl_mulr ?q_gt0 // -qM; apply: q_le.
by rewrite Z.mul_comm; apply: Z.mul_div_le.
Qed.

Definition kappa (k : BZ) : rat := ratio k grain.
Definition kappas : seq rat := [seq kappa k | k <- bets].

Lemma bets_ge0 : all (Z.leb 0) bets. Proof. by vm_compute. Qed.
Lemma bets_gt0 : (0 < size bets)%N. Proof. by vm_compute. Qed.
Local Opaque bets grain.

Lemma kappas_ge0 : {in kappas, forall k, 0 <= k}.
Proof.
move=> x /(nthP 0)[j]; rewrite size_map => lt <-; rewrite (nth_map 0%B) //.
have /Z.leb_le k0 := (all_nthP 0%B bets_ge0) j lt.
by rewrite divr_ge0 ?q_ge0.
Qed.

(* [at_most f bs cs]: the capital c of each bet k is at most f k.                                  *)
Fixpoint at_most (f : BZ -> rat) (bs cs : seq BZ) : Prop :=
  match bs, cs with
  | k :: bs', c :: cs' => q c <= f k /\ at_most f bs' cs'
  | [::], [::] => True
  | _, _ => False
  end.

Lemma total_at_most f bs cs : at_most f bs cs -> q (total cs) <= \sum_(k <- bs) f k.
Proof.
elim: bs cs => [|k bs IH] [|c cs] //=; first by rewrite big_nil q0.
by case=> le /IH les; rewrite qD big_cons ler_add.
Qed.

Lemma each_at_most x f bs : (forall k, q x <= f k) -> at_most f bs (each x bs).
Proof. by move=> le; elim: bs => //= k bs IH; split. Qed.

Lemma total_each x (bs : seq BZ) : q (total (each x bs)) = q x * (size bs)%:R.
Proof. by elim: bs => [|k bs IH] /=; rewrite ?q0 ?mulr0 // qD IH mulrS mulrDr mulr1. Qed.

Lemma settle_at_most h m y f g bs cs : (0 < scale h)%B -> (0 < tv_den h)%B -> (0 <= m)%B ->
  (0 <= y)%B -> all (Z.leb 0) bs ->
  (forall k, (0 <= k)%B ->
     f k * ((1 + kappa k * ratio y (scale h)) / (1 + kappa k * ratio m (tv_den h))) <= g k) ->
  at_most f bs cs -> at_most g bs (settle h m y bs cs).
Proof.
move=> s0 d0 m0 y0 + fg; have u0 : (0 < grain)%B by [].
elim: bs cs => [|k bs IH] [|c cs] //= /andP[/Z.leb_le k0 ks] [le les].
split; last exact: IH.
have [qs qd qu] : [/\ q (scale h) != 0, q (tv_den h) != 0 & q grain != 0].
  by split; rewrite gt_eqF // q_gt0.
have B0 : (0 < scale h * (grain * tv_den h + k * m))%B.
  apply: Z.mul_pos_pos => //; apply: Z.add_pos_nonneg; first exact: Z.mul_pos_pos.
  exact: Z.mul_nonneg_nonneg.
have A0 : (0 <= (grain * scale h + k * y) * tv_den h)%B.
  apply: Z.mul_nonneg_nonneg; last exact: Z.lt_le_incl.
  apply: Z.add_nonneg_nonneg; apply: Z.mul_nonneg_nonneg => //; exact: Z.lt_le_incl.
apply: le_trans (fg k k0); apply: le_trans (q_div _ B0) _; move: A0 B0.
set A := ((grain * scale h + k * y) * tv_den h)%B; set B := (scale h * (grain * tv_den h + k * m))%B => A0 B0.
have -> : (1 + kappa k * ratio y (scale h)) / (1 + kappa k * ratio m (tv_den h)) = q A / q B.
  rewrite /A /B /kappa /ratio !(qM, qD).
  have -> : 1 + q k / q grain * (q y / q (scale h)) =
      (q grain * q (scale h) + q k * q y) / (q grain * q (scale h)).
    by rewrite mulf_div mulrDl divff ?mulf_neq0.
  have -> : 1 + q k / q grain * (q m / q (tv_den h)) =
      (q grain * q (tv_den h) + q k * q m) / (q grain * q (tv_den h)).
    by rewrite mulf_div mulrDl divff ?mulf_neq0.
  rewrite invf_div mulf_div mulrCA -[q grain * q (scale h) * _]mulrA.
  by rewrite -[LHS]mulf_div divff // mul1r.
by rewrite qM -mulrA ler_wpmul2r // divr_ge0 // q_ge0 //; apply: Z.lt_le_incl.
Qed.

(* The product of the probabilities of all steps.                                                  *)
Definition value (steps : seq (BZ * BZ)) : rat := \prod_(s <- steps) ratio s.1 s.2.

Lemma along_value steps a b c d : (0 <= a)%B -> (0 < b)%B -> along steps a b = Some (c, d) ->
  [/\ (0 <= c)%B, (0 < d)%B & ratio c d = ratio a b * value steps].
Proof.
elim: steps a b => [|[m n] steps IH] a b a0 b0 /=.
  by case=> <- <-; rewrite /value big_nil mulr1.
case: Z.leb_spec => // m0; case: Z.leb_spec => // _; case: Z.ltb_spec => // n0.
move=> /IH[||c0 d0 ->]; [nia | nia |]; split=> //.
by rewrite /value big_cons mulrA /ratio !qM mulf_div.
Qed.

Definition forward_chance (x : sample) : rat := value (forward x).
Definition backward_reward (x : sample) : rat :=
  ratio (reward x) (reward_den x) * value (backward x).

Lemma weight_value x a b : weight x = Some (a, b) ->
  [/\ (0 <= a)%B, (0 < b)%B, 0 < forward_chance x &
      ratio a b = backward_reward x / forward_chance x].
Proof.
rewrite /weight; case: Z.leb_spec => // r0; case: Z.ltb_spec => // d0.
case one: (along (backward x)) => [[c d]|] //; have [c0 d1 cd] := along_value r0 d0 one.
case two: (along (forward x)) => [[e f]|] //.
have [e0 f0] := along_value (Z.le_0_1) (Z.lt_0_1) two.
rewrite [ratio 1%B 1%B]/ratio q1 divr1 mul1r => ef.
case: Z.ltb_spec => // e1 [<- <-]; split; [nia | nia | |].
  by rewrite /forward_chance -ef divr_gt0 // q_gt0.
by rewrite /backward_reward /forward_chance -cd -ef /ratio !qM invf_div mulf_div.
Qed.

Section Draws.
Variables (I : finType) (p r : I -> rat) (line : I -> sample).
Hypotheses (p_ge0 : forall i, 0 <= p i) (p_sum : \sum_i p i = 1).
Hypotheses (r_ge0 : forall i, 0 <= r i) (r_gt0 : 0 < \sum_i r i).
Hypotheses (p_line : forall i, p i = forward_chance (line i)).
Hypotheses (r_line : forall i, r i = backward_reward (line i)).
Let Z := \sum_i r i.
Let TV := tv p (fun i => r i / Z).
Let short := lacking p r Z.

(* The head has bounds of Z.                                                                       *)
Definition bounds_Z (h : head) := ratio (z_low h) (z_den h) <= Z <= ratio (z_high h) (z_den h).

Lemma short_between i : 0 <= short i <= 1.
Proof.
rewrite /short /lacking /positive_part le_maxr lexx /= le_maxl ler01 /= ler_subl_addr ler_addl.
by rewrite divr_ge0 // mulr_ge0 // ltW.
Qed.

Section Head.
Variable h : head.
Hypotheses (s0 : (0 < scale h)%B) (ln0 : (0 < level_num h)%B) (ld0 : (0 < level_den h)%B).
Hypotheses (zh0 : (0 < z_high h)%B) (zd0 : (0 < z_den h)%B) (within : bounds_Z h).
Hypotheses (tl0 : (0 <= tv_low h)%B) (th1 : (tv_high h <= tv_den h)%B) (td0 : (0 < tv_den h)%B).

(* What the bet k has won, exactly, in multiples of 1 / scale.                                     *)
Definition won (x : I -> rat) (m : BZ) (t : seq I) (k : BZ) : rat :=
  q (scale h) * (ratio (level_num h) (level_den h) / 2%:R) *
  \prod_(i <- t) ((1 + kappa k * x i) / (1 + kappa k * ratio m (tv_den h))).

Lemma settle_won x m y t i cs : (0 <= m)%B -> (0 <= y)%B -> (forall j, 0 <= x j) ->
  ratio y (scale h) <= x i -> at_most (won x m t) bets cs ->
  at_most (won x m (rcons t i)) bets (settle h m y bets cs).
Proof.
move=> m0 y0 x0 yx; apply: (settle_at_most s0 td0 m0 y0 bets_ge0) => k k0.
have kk : 0 <= kappa k by rewrite divr_ge0 ?q_ge0.
have mm : 0 <= ratio m (tv_den h) by rewrite divr_ge0 ?q_ge0 //; lia.
have odds : 0 < 1 + kappa k * ratio m (tv_den h) by apply: odds_gt0.
rewrite /won -cats1 big_cat big_seq1 [X in _ <= X]mulrA ler_wpmul2l //.
  apply: mulr_ge0; last by apply: prodr_ge0 => j _; apply: win_ge0.
  by rewrite mulr_ge0 ?divr_ge0 ?ler0n ?q_ge0 //; lia.
by rewrite ler_wpmul2r ?invr_ge0 ?(ltW odds) // ler_add2l ler_wpmul2l.
Qed.

Definition kept (t : seq I) (s : state) :=
  at_most (won short (tv_low h) t) bets (low s) /\
  at_most (won (fun i => 1 - short i) (tv_den h - tv_high h)%B t) bets (high s).

Lemma step_kept t s i s' : kept t s -> step h s (line i) = Some s' -> kept (rcons t i) s'.
Proof.
move=> [lows highs]; rewrite /step; case w: weight => [[a b]|] //.
have [a0 b0] := weight_value w; rewrite -p_line -r_line => p0 v /Some_inj <- {s'}.
have /andP[zl zh] := within.
have Z0 : 0 < Z by [].
have u_eq : r i / (Z * p i) = ratio a b / Z by rewrite v invfM mulrA [RHS]mulrAC.
have v0 : 0 <= ratio a b by rewrite divr_ge0 ?q_ge0 //; lia.
split=> /=; apply: settle_won => //; try by [lia | move=> j; case/andP: (short_between j)].
- by case: Z.ltb_spec => // lt; apply: Z.div_pos; nia.
- have /andP[x0 _] := short_between i.
  case: Z.ltb_spec => [lt|_]; last by rewrite /ratio q0 mul0r.
  have zl0 : (0 < z_low h)%B by nia.
  have den : (0 < b * z_low h)%B by nia.
  rewrite ler_pdivr_mulr ?q_gt0 //; apply: le_trans (q_div _ den) _.
  rewrite qM -mulrA mulrC ler_wpmul2r ?q_ge0 //; first by lia.
  rewrite qB mulrBl divff ?gt_eqF ?q_gt0 // /short /lacking /positive_part le_maxr u_eq.
  apply/orP; right; rewrite ler_add2l ler_opp2 !qM -mulf_div -/(ratio a b) ler_wpmul2l //.
  by rewrite -[q _ / q _]invf_div lef_pinv ?posrE // divr_gt0 // q_gt0.
- case: Z.ltb_spec => _; [apply: Z.div_pos; nia | lia].
- by move=> j; case/andP: (short_between j) => _; rewrite subr_ge0.
have most : (0 < b * z_high h)%B by nia.
have le : q (a * z_den h)%B / q (b * z_high h)%B <= ratio a b / Z.
  rewrite !qM -mulf_div -/(ratio a b) ler_wpmul2l //.
  by rewrite -[q _ / q _]invf_div lef_pinv ?posrE // divr_gt0 // q_gt0.
rewrite /short /lacking /positive_part u_eq; case: Z.ltb_spec => lt.
  rewrite ler_pdivr_mulr ?q_gt0 //; apply: le_trans (q_div _ most) _.
  rewrite qM -mulrA mulrC ler_wpmul2r ?q_ge0 //; first by lia.
  rewrite ler_subr_addr -ler_subr_addl le_maxl !subr_ge0 ler_add2l ler_opp2 le.
  rewrite andbT ler_pdivr_mulr ?q_gt0 // mul1r; apply: q_le; lia.
rewrite /ratio divff ?gt_eqF ?q_gt0 // ler_subr_addr -ler_subr_addl subrr le_maxl lexx subr_le0.
by apply: le_trans le; rewrite ler_pdivl_mulr ?q_gt0 // mul1r q_le.
Qed.

Lemma run_kept t t' s s' : kept t s -> run h s (map line t') = Some s' -> kept (t ++ t') s'.
Proof.
elim: t' t s => [|i t' IH] t s ok /=; first by case=> <-; rewrite cats0.
by case made: step => [s''|] // /IH; rewrite -cat_rcons; apply; apply: step_kept made.
Qed.

Lemma wins_capital x m t cs : at_most (won x m t) bets cs -> wins h m (total cs) ->
  ratio m (tv_den h) = 0 \/
  (ratio (level_num h) (level_den h) / 2%:R)^-1 <= capital kappas x (ratio m (tv_den h)) t.
Proof.
move=> /total_at_most le; rewrite /wins; case: Z.eqb_spec => [->|_ /Z.leb_le reached].
  by left; rewrite /ratio q0 mul0r.
right; have := le_trans (q_le reached) le; rewrite total_each /capital size_map big_map.
rewrite -mulr_sumr -mulrA ler_pmul2l ?q_gt0 // => enough.
rewrite ler_pdivl_mulr; last by rewrite ltr0n bets_gt0.
by rewrite mulrC ler_pdivr_mulr ?[_ * (_ / 2%:R)]mulrC // divr_gt0 ?ltr0n ?divr_gt0 ?q_gt0.
Qed.
End Head.

Lemma accepted_wins h t : bounds_Z h -> check h (map line t) ->
  let a := (ratio (level_num h) (level_den h) / 2%:R)^-1 in
  let l := ratio (tv_low h) (tv_den h) in let u := ratio (tv_high h) (tv_den h) in
  [/\ 0 <= l, u <= 1, l = 0 \/ a <= capital kappas short l t &
      1 - u = 0 \/ a <= capital kappas (fun i => 1 - short i) (1 - u) t].
Proof.
move=> within; rewrite /check /start.
case: Z.leb_spec => // _; case: Z.ltb_spec => // zh0; case: Z.ltb_spec => // zd0.
case: Z.ltb_spec => // s0; case: Z.ltb_spec => // ln0; case: Z.ltb_spec => // ld0.
case: Z.leb_spec => // tl0; case: Z.leb_spec => // _; case: Z.leb_spec => // th1.
case: Z.ltb_spec => // td0.
set s := State _ _ _ _; case made: run => [s'|] //.
have begun : kept h [::] s.
  have le : q (scale h * level_num h / (2 * level_den h))%B <=
      q (scale h) * (ratio (level_num h) (level_den h) / 2%:R).
    apply: le_trans (q_div _ _) _; first by lia.
    by rewrite !qM q2 /ratio -!mulrA invfM [2%:R^-1 * _]mulrC.
  by split; apply: each_at_most => k; rewrite /won big_nil mulr1.
have [lows highs] := run_kept s0 ln0 ld0 zh0 zd0 within tl0 th1 td0 begun made.
rewrite /finish; case: ifP => // _; case: ifP => // _.
case: Z.eqb_spec => // <-; case: Z.eqb_spec => // <-; case: ifP => // one two.
have qd : q (tv_den h) != 0 by rewrite gt_eqF ?q_gt0.
have <- : ratio (tv_den h - tv_high h) (tv_den h) = 1 - ratio (tv_high h) (tv_den h).
  by rewrite /ratio qB mulrBl divff.
split; [by rewrite divr_ge0 ?q_ge0 //; lia | | exact: wins_capital one | exact: wins_capital two].
by rewrite ler_pdivr_mulr ?q_gt0 // mul1r q_le.
Qed.

(* Whatever certificate somebody writes after each sequence of draws, with right bounds of Z and the
   level a: the probability that one of the first n is accepted and wrong is at most a.            *)
Theorem accepted_is_seldom_wrong (certificate : seq I -> head) (a : rat) (n : nat) : 0 < a ->
  (forall t, bounds_Z (certificate t)) ->
  (forall t, ratio (level_num (certificate t)) (level_den (certificate t)) = a) ->
  probability (fun=> p) n [::] (ever n (fun t => let h := certificate t in
    check h (map line t) &&
    ~~ (ratio (tv_low h) (tv_den h) <= TV <= ratio (tv_high h) (tv_den h)))) <= a.
Proof.
move=> a0 within level.
pose good t := check (certificate t) (map line t).
pose l t := if good t then ratio (tv_low (certificate t)) (tv_den (certificate t)) else 0.
pose u t := if good t then 1 - ratio (tv_high (certificate t)) (tv_den (certificate t)) else 0.
have mean : \sum_i p i * short i = TV by apply: model_mean_is_tv.
apply: le_trans (_ : probability (fun=> p) n [::] (ever n (fun t => ~~ (l t <= TV <= 1 - u t))) <= _).
  apply: probability_mono => // s; apply: ever_mono => t /andP[ok].
  by rewrite /l /u /good ok opprB addrC subrK.
apply: (@interval_covers _ _ (fun=> p) kappas _ _ _ kappas_ge0 short (fun i => 1 - short i)) => //.
- by move=> i; case/andP: (short_between i).
- by move=> i; rewrite subr_ge0; case/andP: (short_between i).
- by rewrite mean.
- by move=> _; rewrite -mean -[X in _ <= X - _]p_sum -sumrB; apply: ler_sum => i _; rewrite mulrBr mulr1.
- move=> t; rewrite /l /good; case: ifP => [ok|_]; last by left.
  by have [l0 _ low _] := accepted_wins (within t) ok; rewrite level in low; case: low; [left|right].
move=> t; rewrite /u /good; case: ifP => [ok|_]; last by left.
have [_ u1 _ high] := accepted_wins (within t) ok; rewrite level in high.
by case: high; [left | right; rewrite subr_ge0].
Qed.
End Draws.
