(* What [check] of Bare.v accepts is seldom wrong.  ws are the weights of a law that the program takes,
   p is the law of the sampler, on the same numbered values.  Draws are independent; somebody looks at
   them, and may write any certificate after any number of them.                                   *)
From Coq Require Import ZArith Lia.
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Residuals Betting Shortfall.
From Cert Require Import Trie Samples Bare Rat SamplesSound.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.
Lemma thresholds_gt0 : 0 < (size thresholds)%:R :> rat. Proof. by rewrite ltr0n. Qed.
Local Opaque bets grain thresholds.

(* The table has the weights.                                                                      *)
Lemma key_inj i j : (0 <= i)%B -> (0 <= j)%B -> key i = key j -> i = j.
Proof.
move=> i0 j0 /key_of_inj e.
have : Z.pos (Z.to_pos (i + 1)%B) = Z.pos (Z.to_pos (j + 1)%B) by rewrite e.
by rewrite !Z2Pos.id; lia.
Qed.

Lemma find_fill_before ws : forall i j t, (0 <= i)%B -> (i < j)%B ->
  find (key i) (fill j ws t) = find (key i) t.
Proof.
elim: ws => [|w ws IH] //= i j t i0 ij; rewrite IH; [|lia|lia].
by rewrite find_update_other // => /key_inj e; move: (e i0 ltac:(lia)); lia.
Qed.

Lemma find_fill ws : forall j t i, (0 <= j)%B -> (i < size ws)%N ->
  find (key (j + Z.of_nat i)%B) (fill j ws t) = Some (nth 0%B ws i).
Proof.
elim: ws => [|w ws IH] //= j t [|i] j0 lt.
  by rewrite Z.add_0_r find_fill_before ?find_update //; lia.
have -> : (j + Z.of_nat i.+1 = (j + 1) + Z.of_nat i)%B by lia.
by rewrite IH //; lia.
Qed.

Lemma add_sum ws : forall s t, add ws s = Some t ->
  (forall i, (0 <= nth 0 ws i)%B) /\ q t = q s + \sum_(i < size ws) q (nth 0%B ws i).
Proof.
elim: ws => [|w ws IH] s t /=.
  by case=> <-; split=> [i|]; [rewrite nth_nil | rewrite big_ord0 addr0].
case: Z.leb_spec => // w0 /IH[pos ->]; split; first by case.
by rewrite big_ord_recl qD addrA.
Qed.

Lemma mass_sum z n t counts ws : forall j s, q (mass z n t counts j ws s) =
  q s + \sum_(i < size ws | above z n t (nth 0%B ws i) (counted (j + Z.of_nat i)%B counts))
          q (nth 0%B ws i).
Proof.
elim: ws => [|w ws IH] j s /=; first by rewrite big_ord0 addr0.
rewrite IH [in RHS]big_mkcond big_ord_recl [nat_of_ord ord0]/= Z.add_0_r addrA [in LHS]big_mkcond.
congr (_ + _); first by rewrite /=; case: ifP; rewrite ?qD ?addr0.
apply: eq_bigr => i _; rewrite lift0 [nth _ (w :: ws) _]/=.
by have -> : (j + Z.of_nat i.+1 = (j + 1) + Z.of_nat i)%B by lia.
Qed.

(* As [at_most], of the capital on each event.                                                     *)
Fixpoint each_at_most (f : BZ -> BZ -> rat) (zs : seq BZ) (capitals : seq (seq BZ)) : Prop :=
  match zs, capitals with
  | z :: zs', c :: capitals' => at_most (f z) bets c /\ each_at_most f zs' capitals'
  | [::], [::] => True
  | _, _ => False
  end.

Lemma together_at_most f zs capitals : each_at_most f zs capitals ->
  q (together capitals) <= \sum_(z <- zs) \sum_(k <- bets) f z k.
Proof.
elim: zs capitals => [|z zs IH] [|c capitals] //=; first by rewrite big_nil q0.
by case=> /total_at_most le /IH les; rewrite qD big_cons ler_add.
Qed.

Lemma opening_at_most x f zs : (forall z k, q x <= f z k) -> each_at_most f zs (opening x zs).
Proof. by move=> le; elim: zs => //= z zs IH; split=> //; apply: each_at_most. Qed.

Lemma together_opening x (zs : seq BZ) :
  q (together (opening x zs)) = q x * (size bets)%:R * (size zs)%:R.
Proof.
elim: zs => [|z zs IH] /=; first by rewrite q0 mulr0.
by rewrite qD IH total_each [X in _ = _ * X]mulrSr [RHS]mulrDr [X in _ = _ + X]mulr1 addrC.
Qed.

Lemma odds_reached (g a s b t : rat) : 0 < g -> 0 < a -> 0 < b -> 0 < t ->
  g * b * t <= g * a * s -> a^-1 <= s / b / t.
Proof.
move=> g0 a0 b0 t0; rewrite -!mulrA ler_pmul2l // => le.
rewrite -invfM ler_pdivl_mulr ?mulr_gt0 // -(ler_pmul2l a0).
by rewrite mulrA mulfV ?gt_eqF // mul1r.
Qed.

Section Draws.
Variables (ws : seq BZ) (sum : BZ).
Hypotheses (a_law : add ws 0%B = Some sum) (sum_gt0 : (0 < sum)%B).
Let I := 'I_(size ws).
Variable p : I -> rat.
Hypotheses (p_ge0 : forall i, 0 <= p i) (p_sum : \sum_i p i = 1).

Definition line (i : I) : BZ := Z.of_nat i.
Definition share (i : I) : rat := ratio (nth 0%B ws i) sum.
Let TV := tv p share.

Lemma share_ge0 i : 0 <= share i.
Proof. by have [w0 _] := add_sum a_law; rewrite divr_ge0 ?q_ge0 //; lia. Qed.

Lemma share_sum : \sum_i share i = 1.
Proof.
have [_] := add_sum a_law; rewrite q0 add0r -mulr_suml => <-.
by rewrite divff // gt_eqF ?q_gt0.
Qed.

Lemma event_below (A : pred I) : \sum_(i | A i) p i <= \sum_(i | A i) share i + TV.
Proof.
have p1 : 0 < \sum_i p i by rewrite p_sum.
have := event_below_tv share_ge0 share_sum p_ge0 p1 A.
rewrite p_sum ler_subl_addl tv_sym /TV.
have e : (fun i => p i / 1) =1 p by move=> i; rewrite divr1.
rewrite (eq_bigr p) => [|i _]; last exact: e.
by rewrite /tv; under [X in _ + X / _]eq_bigr do rewrite divr1.
Qed.

Let l := Law ws (fill 0%B ws Leaf) sum.
Definition view_at (h : seq I) := foldl (watch l) (unseen l) (map line h).
Definition member (z : BZ) (v : view) (i : I) : bool :=
  above z (fixed_at v) sum (nth 0%B ws i) (counted (line i) (fixed v)).

Lemma inside_at h :
  inside (view_at h) = masses thresholds (fixed_at (view_at h)) sum (fixed (view_at h)) ws.
Proof.
elim/last_ind: h => [|h i IH] //; rewrite /view_at map_rcons foldl_rcons -/(view_at h).
by rewrite /watch; case: ifP.
Qed.

(* The value that is bet on, and a bound of its mean, after the history h.                          *)
Definition value_at (z : BZ) (h : seq I) (i : I) : rat := (member z (view_at h) i)%:R.
Definition mean_at (z : BZ) (h : seq I) : rat := \sum_(i | member z (view_at h) i) share i + TV.

Lemma value_ge0 z h i : 0 <= value_at z h i.
Proof. by rewrite ler0n. Qed.

Lemma mean_bounds z h : \sum_i p i * value_at z h i <= mean_at z h.
Proof.
apply: le_trans (event_below _); rewrite [X in _ <= X]big_mkcond; apply: ler_sum => i _.
by rewrite /value_at; case: member; rewrite ?mulr1 ?mulr0.
Qed.

Lemma mean_ge0 z h : 0 <= mean_at z h.
Proof.
apply: le_trans (mean_bounds z h); apply: sumr_ge0 => i _.
by apply: mulr_ge0; last exact: value_ge0.
Qed.

Lemma mass_member z h : ratio (mass z (fixed_at (view_at h)) sum (fixed (view_at h)) 0%B ws 0%B) sum =
  \sum_(i | member z (view_at h) i) share i.
Proof. by rewrite /ratio mass_sum q0 add0r mulr_suml; apply: eq_big. Qed.

Section Claim.
Variable c : claim.
Hypotheses (g0 : (0 < grid c)%B) (n0 : (0 < odds_num c)%B) (d0 : (0 < odds_den c)%B).
Hypotheses (m0 : (0 <= least c)%B) (md0 : (0 < least_den c)%B).
Hypothesis wrong : TV <= ratio (least c) (least_den c).
Let a := ratio (odds_num c) (odds_den c).

(* What the bet k on the event z has won at most, in multiples of 1 / grid.                         *)
Definition gain (t : seq I) (z k : BZ) : rat :=
  q (grid c) * a *
  Betting.along (fun h i => (1 + kappa k * value_at z h i) / (1 + kappa k * mean_at z h)) [::] t.

Lemma mass_ge0 z n t counts js : (forall i, (0 <= nth 0 js i)%B) -> forall j s, (0 <= s)%B ->
  (0 <= mass z n t counts j js s)%B.
Proof.
elim: js => [|w js IH] pos j s s0 //=; apply: IH => [i|]; first exact: (pos i.+1).
by have := pos 0%N; rewrite /=; case: ifP; lia.
Qed.

Lemma bet_gain t i zs capitals : each_at_most (gain t) zs capitals ->
  each_at_most (gain (rcons t i)) zs
    (bet c l (view_at t) (line i) (nth 0%B ws i) zs
      (masses zs (fixed_at (view_at t)) sum (fixed (view_at t)) ws) capitals).
Proof.
have [w0 _] := add_sum a_law.
elim: zs capitals => [|z zs IH] [|cs capitals] //= [le les]; split; last exact: IH.
have M0 : (0 <= mass z (fixed_at (view_at t)) sum (fixed (view_at t)) 0 ws 0)%B by apply: mass_ge0.
apply: settle_at_most le => /=; try by [lia | nia | apply: bets_ge0].
  by case: ifP; lia.
move=> k k0; have kk : 0 <= kappa k by rewrite divr_ge0 ?q_ge0.
have odds u : 0 <= u -> 0 < 1 + kappa k * u by move=> u0; apply: odds_gt0.
rewrite /gain Betting.along_rcons cat0s [X in _ <= X]mulrA ler_wpmul2l //.
  apply: mulr_ge0; first by rewrite mulr_ge0 ?divr_ge0 ?q_ge0 //; lia.
  apply: Betting.along_ge0 => h j.
  by apply: divr_ge0; apply/ltW/odds; [apply: value_ge0 | apply: mean_ge0].
have -> : ratio (if above z (fixed_at (view_at t)) sum (nth 0%B ws i)
                      (counted (line i) (fixed (view_at t))) then grid c else 0%B) (grid c) =
          value_at z t i.
  rewrite /value_at /member; case: ifP => _; rewrite /ratio ?q0 ?mul0r //.
  by rewrite divff // gt_eqF ?q_gt0.
apply: ler_wpmul2l; first exact/ltW/odds/value_ge0.
have e : ratio (mass z (fixed_at (view_at t)) sum (fixed (view_at t)) 0%B ws 0%B * least_den c +
                least c * sum)%B (least_den c * sum)%B =
         \sum_(j | member z (view_at t) j) share j + ratio (least c) (least_den c).
  rewrite -mass_member /ratio addf_div ?gt_eqF ?q_gt0 // qD !qM.
  by rewrite [q (least_den c) * q sum]mulrC.
rewrite e lef_pinv ?posrE; try apply: odds.
- by rewrite ler_add2l ler_wpmul2l // ler_add2l.
- apply: addr_ge0; last by rewrite divr_ge0 ?q_ge0 //; lia.
  by apply: sumr_ge0 => j _; apply: share_ge0.
exact: mean_ge0.
Qed.

Definition kept (t : seq I) (s : state) :=
  [/\ law_of s = l, at_now s = view_at t & each_at_most (gain t) thresholds (capitals s)].

Lemma step_kept t s i s' : kept t s -> step c s (line i) = Some s' -> kept (rcons t i) s'.
Proof.
case=> [on seen_t most]; rewrite /step; case: Z.leb_spec => // _.
rewrite on -[line i]Z.add_0_l find_fill ?ltn_ord // Z.add_0_l => /Some_inj <- {s'}.
split=> //=; first by rewrite /view_at map_rcons foldl_rcons -/(view_at t) seen_t.
by rewrite seen_t inside_at; apply: bet_gain.
Qed.

Lemma run_kept t' : forall t s s', kept t s -> run c s (map line t') = Some s' -> kept (t ++ t') s'.
Proof.
elim: t' => [|i t' IH] t s s' ok /=; first by case=> <-; rewrite cats0.
by case made: step => [s''|] // /IH; rewrite -cat_rcons; apply; apply: step_kept made.
Qed.
End Claim.

(* The capital of all bets, on average.                                                             *)
Definition wealth (t : seq I) : rat :=
  (\sum_(z <- thresholds) past_capital kappas (value_at z) (mean_at z) t) / (size thresholds)%:R.

Lemma kappas_some : kappas != [::].
Proof. by rewrite -size_eq0 size_map -lt0n bets_gt0. Qed.

Lemma accepted_wealth c t : check c ws (map line t) -> TV < ratio (least c) (least_den c) ->
  0 < ratio (odds_num c) (odds_den c) /\ (ratio (odds_num c) (odds_den c))^-1 <= wealth t.
Proof.
rewrite /check /start a_law; case: Z.ltb_spec => // _; case: Z.ltb_spec => // g0.
case: Z.ltb_spec => // n0; case: Z.ltb_spec => // d0; case: Z.leb_spec => // m0.
case: Z.ltb_spec => // md0; set s := State _ _ _ _; case made: run => [s'|] // + below.
have wrong := ltW below.
have a0 : 0 < ratio (odds_num c) (odds_den c) by rewrite divr_gt0 ?q_gt0.
have begun : kept c [::] s.
  split=> //; apply: opening_at_most => z k; rewrite /gain /= mulr1.
  by apply: le_trans (q_div _ d0) _; rewrite qM mulrA.
have [_ _ most] := run_kept g0 n0 d0 m0 md0 wrong begun made.
rewrite /finish; case: ifP => // _; case: ifP => // _; case: Z.eqb_spec => // <-.
case: Z.eqb_spec => [none _|_ /Z.leb_le enough].
  have := event_below pred0; rewrite !big_pred0_eq add0r => tv0.
  by have := le_lt_trans tv0 below; rewrite /ratio none q0 mul0r ltxx.
split=> //; have := le_trans (q_le enough) (together_at_most most).
rewrite together_opening /gain; under eq_bigr do rewrite -mulr_sumr.
rewrite -mulr_sumr => reached; have -> : wealth t = (\sum_(z <- thresholds) \sum_(k <- bets)
    Betting.along (fun h i => (1 + kappa k * value_at z h i) / (1 + kappa k * mean_at z h)) [::] t) /
    (size bets)%:R / (size thresholds)%:R.
  rewrite /wealth /past_capital size_map -mulr_suml; congr (_ / _ / _).
  by apply: eq_bigr => z _; rewrite big_map.
by apply: odds_reached reached; rewrite ?q_gt0 ?ltr0n ?bets_gt0 ?thresholds_gt0.
Qed.

(* Whatever certificate of the level a somebody writes after each sequence of draws: the probability
   that one of the first n is accepted, and TV is below its claim, is at most a.                     *)
Theorem refuted_is_seldom_wrong (certificate : seq I -> claim) (a : rat) (n : nat) : 0 < a ->
  (forall t, ratio (odds_num (certificate t)) (odds_den (certificate t)) = a) ->
  probability (fun=> p) n [::] (ever n (fun t => let c := certificate t in
    check c ws (map line t) && ~~ (ratio (least c) (least_den c) <= TV))) <= a.
Proof.
move=> a0 level; have ai : 0 < a^-1 by rewrite invr_gt0.
have pos h : 0 <= wealth h.
  rewrite divr_ge0 ?ler0n // sumr_ge0 // => z _.
  by apply: (past_capital_ge0 (law := fun=> p)) => //;
    first [exact: kappas_ge0 | exact: value_ge0 | exact: mean_bounds].
have falls h : \sum_i p i * wealth (rcons h i) <= wealth h.
  rewrite /wealth; under eq_bigr do rewrite mulrA mulr_sumr.
  rewrite -mulr_suml exchange_big /= ler_wpmul2r ?invr_ge0 ?ler0n //.
  by apply: ler_sum => z _; apply: (past_supermartingale (law := fun=> p)) => //;
    first [exact: kappas_ge0 | exact: value_ge0 | exact: mean_bounds].
have one : wealth [::] = 1.
  rewrite /wealth; under eq_bigr do rewrite past_capital_nil ?kappas_some //.
  by rewrite big_const_seq count_predT iter_addr_0 divff // gt_eqF // thresholds_gt0.
rewrite -(ler_pmul2l ai) mulVf ?gt_eqF // -[X in _ <= X]one.
have := @ville _ _ (fun=> p) (fun=> p_ge0) (fun=> p_sum) n [::] wealth _ pos falls ai.
apply: le_trans; rewrite ler_wpmul2l ?(ltW ai) //; apply: probability_mono => // s.
apply: ever_mono => t /andP[ok]; rewrite -ltNge => below.
by have [_] := accepted_wealth ok below; rewrite level.
Qed.
End Draws.
