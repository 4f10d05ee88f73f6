(* Confidence bounds by betting (betting-bound), over finite sums.

   I is a finite set of outcomes and a history the list of those drawn so far, the oldest first.
   [law h i] is the probability that i comes after h, so that draws may depend on the past.  A
   statement about every history of a sequence holds however one decides to stop.                 *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* The probability that s comes after the history h.                                              *)
Fixpoint chance (I : Type) (K : ringType) (law : seq I -> I -> K) (h s : seq I) : K :=
  if s is i :: t then law h i * chance law (rcons h i) t else 1.

(* The probability of the sequences of n outcomes, after h, with the property A.                  *)
Definition probability (I : finType) (K : ringType) (law : seq I -> I -> K) (n : nat) (h : seq I)
    (A : pred (seq I)) : K :=
  \sum_(s : n.-tuple I | A s) chance law h s.

(* A has held of the history after some number of outcomes, of at most n.                         *)
Definition ever (I : Type) (n : nat) (A : pred (seq I)) (s : seq I) :=
  has (fun k => A (take k s)) (iota 0 n.+1).

Section Draws.
Variables (I : finType) (K : realFieldType) (law : seq I -> I -> K).
Implicit Types (h s : seq I) (A B : pred (seq I)) (w : seq I -> K).
Hypotheses (law_ge0 : forall h i, 0 <= law h i) (law_sum : forall h, \sum_i law h i = 1).

Lemma chance_ge0 h s : 0 <= chance law h s.
Proof. by elim: s h => [|i s IH] h /=; rewrite ?ler01 // mulr_ge0. Qed.

Lemma probability0 h A : probability law 0 h A = (A [::])%:R.
Proof.
rewrite /probability; case a: (A [::]); last by rewrite big1 // => s; rewrite tuple0 a.
by rewrite (big_pred1 [tuple]) // => s; rewrite tuple0 /= a eqxx.
Qed.

Lemma probability_step n h A :
  probability law n.+1 h A =
  \sum_i law h i * probability law n (rcons h i) (fun s => A (i :: s)).
Proof.
rewrite /probability; under [RHS]eq_bigr do rewrite mulr_sumr.
rewrite (pair_big_dep predT (fun i (s : n.-tuple I) => A (i :: s)) _) /=.
rewrite (reindex (fun u : I * n.-tuple I => [tuple of u.1 :: u.2])) /=.
  by apply: eq_bigr => -[i s].
exists (fun s : n.+1.-tuple I => (thead s, [tuple of behead s])) => [[i s] _|s _].
  by congr (_, _); apply/val_inj.
by rewrite -tuple_eta.
Qed.

Lemma probability_true n h : probability law n h predT = 1.
Proof.
elim: n h => [|n IH] h; first by rewrite probability0.
by rewrite probability_step; under eq_bigr do rewrite IH mulr1; apply: law_sum.
Qed.

Lemma probability_mono n h A B :
  (forall s, A s -> B s) -> probability law n h A <= probability law n h B.
Proof.
move=> AB; rewrite /probability [in X in _ <= X](bigID (fun s : n.-tuple I => A s)) /=.
have -> : \sum_(s : n.-tuple I | B s && A s) chance law h s =
          \sum_(s : n.-tuple I | A s) chance law h s.
  by apply: eq_bigl => s; apply: andb_idl; apply: AB.
by rewrite ler_addl sumr_ge0 // => s _; apply: chance_ge0.
Qed.

Lemma probability_or n h A B :
  probability law n h (predU A B) <= probability law n h A + probability law n h B.
Proof.
rewrite /probability (bigID (fun s : n.-tuple I => A s)) /=; apply: ler_add.
  by apply: (@probability_mono _ _ (fun s => predU A B s && A s)) => s /andP[].
by apply: (@probability_mono _ _ (fun s => predU A B s && ~~ A s)) => s /andP[/orP[->|]].
Qed.

Lemma ever_cons n A i s : ever n.+1 A (i :: s) = A [::] || ever n (fun t => A (i :: t)) s.
Proof. by rewrite /ever -[iota 0 n.+2]/(0%N :: iota (1 + 0) n.+1) iotaDl [LHS]/= has_map. Qed.

Lemma ever_mono n A B s : (forall h, A h -> B h) -> ever n A s -> ever n B s.
Proof. by move=> AB; apply: sub_has => k; apply: AB. Qed.

Lemma ever_or n A B s : ever n (predU A B) s = ever n A s || ever n B s.
Proof. by rewrite /ever -has_predU. Qed.

(* Ville's inequality (1939): a capital that is not negative, and is not expected to grow, ever
   reaches c with probability at most its start over c.                                           *)
Theorem ville n h w (c : K) :
  (forall h', 0 <= w h') -> (forall h', \sum_i law h' i * w (rcons h' i) <= w h') -> 0 < c ->
  c * probability law n h (ever n (fun s => c <= w (h ++ s))) <= w h.
Proof.
move=> w0 sup c0; have p1 n' h' A : probability law n' h' A <= 1.
  by rewrite -(probability_true n' h'); apply: probability_mono.
have [reached|below] := lerP c (w h).
  by apply: le_trans reached; rewrite -[X in _ <= X]mulr1 ler_wpmul2l ?p1 // ltW.
elim: n h below => [|n IH] h below.
  by rewrite probability0 /ever /= orbF cats0 [c <= _]leNgt below mulr0.
rewrite probability_step mulr_sumr; apply: le_trans (sup h); apply: ler_sum => i _.
rewrite mulrCA ler_wpmul2l //.
have -> : probability law n (rcons h i) (fun s => ever n.+1 (fun t => c <= w (h ++ t)) (i :: s))
    = probability law n (rcons h i) (ever n (fun s => c <= w (rcons h i ++ s))).
  apply: eq_bigl => s; rewrite ever_cons cats0 [c <= _]leNgt below /=.
  by apply: eq_has => k; rewrite cat_rcons.
have [reached|/IH//] := lerP c (w (rcons h i)).
by apply: le_trans reached; rewrite -[X in _ <= X]mulr1 ler_wpmul2l ?p1 // ltW.
Qed.
End Draws.

(* What each of the bets has won against the mean m, averaged over the bets: 1 + kappa x against
   1 + kappa m with every value x.                                                                *)
Definition capital (I : Type) (K : fieldType) (bets : seq K) (x : I -> K) (m : K) (h : seq I) : K :=
  (\sum_(kappa <- bets) \prod_(i <- h) ((1 + kappa * x i) / (1 + kappa * m))) / (size bets)%:R.

(* A bound that the capital allows: zero, or a mean against which 1 / a has been won.             *)
Definition lower_bound (I : Type) (K : realFieldType) (bets : seq K) (x : I -> K) (a : K)
    (low : seq I -> K) :=
  forall h, low h = 0 \/ 0 <= low h /\ a^-1 <= capital bets x (low h) h.

Section Betting.
Variables (I : finType) (K : realFieldType) (law : seq I -> I -> K) (bets : seq K).
Implicit Types (h : seq I) (m a kappa : K) (x : I -> K) (low : seq I -> K).
Hypotheses (law_ge0 : forall h i, 0 <= law h i) (law_sum : forall h, \sum_i law h i = 1).
Hypotheses (some : bets != [::]) (bets_ge0 : {in bets, forall kappa, 0 <= kappa}).

Lemma odds_gt0 kappa m : 0 <= kappa -> 0 <= m -> 0 < 1 + kappa * m.
Proof. by move=> k0 m0; rewrite ltr_paddr ?mulr_ge0 ?ltr01. Qed.

Lemma win_ge0 kappa x m i : 0 <= kappa -> (forall j, 0 <= x j) -> 0 <= m ->
  0 <= (1 + kappa * x i) / (1 + kappa * m).
Proof. by move=> k0 x0 m0; rewrite divr_ge0 // ltW // odds_gt0. Qed.

Lemma count_gt0 : 0 < (size bets)%:R :> K.
Proof. by rewrite ltr0n lt0n size_eq0. Qed.

Lemma capital_nil x m : capital bets x m [::] = 1.
Proof.
rewrite /capital; under eq_bigr do rewrite big_nil.
by rewrite big_const_seq count_predT iter_addr_0 mulfV // gt_eqF // count_gt0.
Qed.

Lemma capital_ge0 x m h : (forall i, 0 <= x i) -> 0 <= m -> 0 <= capital bets x m h.
Proof.
move=> x0 m0; rewrite divr_ge0 ?ler0n // big_seq sumr_ge0 // => kappa /bets_ge0 k0.
by apply: prodr_ge0 => i _; apply: win_ge0.
Qed.

(* How the capital is expected to change with the next value.                                     *)
Lemma expected_capital x m h :
  \sum_i law h i * capital bets x m (rcons h i) =
  (\sum_(kappa <- bets) (\prod_(i <- h) ((1 + kappa * x i) / (1 + kappa * m)) *
     ((1 + kappa * \sum_i law h i * x i) / (1 + kappa * m)))) / (size bets)%:R.
Proof.
rewrite /capital; under eq_bigr do rewrite mulrA mulr_sumr.
rewrite -mulr_suml exchange_big /=; congr (_ / _); apply: eq_bigr => kappa _.
under eq_bigr => i _ do rewrite -cats1 big_cat big_seq1 mulrCA.
rewrite -mulr_sumr; congr (_ * _); under eq_bigr do rewrite mulrA mulrDr mulr1 mulrCA.
by rewrite -mulr_suml big_split /= law_sum mulr_sumr.
Qed.

(* Bets at fair odds are a martingale ...                                                         *)
Theorem capital_martingale x m h : 0 <= m -> \sum_i law h i * x i = m ->
  \sum_i law h i * capital bets x m (rcons h i) = capital bets x m h.
Proof.
move=> m0 mean; rewrite expected_capital mean; congr (_ / _); apply: eq_big_seq => kappa kb.
by rewrite divff ?mulr1 // gt_eqF // odds_gt0 // bets_ge0.
Qed.

(* ... and against a larger mean a supermartingale.                                               *)
Theorem capital_supermartingale x m h : (forall i, 0 <= x i) -> \sum_i law h i * x i <= m ->
  \sum_i law h i * capital bets x m (rcons h i) <= capital bets x m h.
Proof.
move=> x0 mean; have m0 : 0 <= m by apply: le_trans mean; apply: sumr_ge0 => i _; apply: mulr_ge0.
rewrite expected_capital ler_pmul2r ?invr_gt0 ?count_gt0 // big_seq [X in _ <= X]big_seq.
apply: ler_sum => kappa /bets_ge0 k0; rewrite -[X in _ <= X]mulr1 ler_wpmul2l //.
  by apply: prodr_ge0 => i _; apply: win_ge0.
by rewrite ler_pdivr_mulr ?odds_gt0 // mul1r ler_add2l ler_wpmul2l.
Qed.

(* What is refuted is an interval from 0 on: against a smaller mean no less is won.               *)
Theorem capital_falls x m m' h : (forall i, 0 <= x i) -> 0 <= m' -> m' <= m ->
  capital bets x m h <= capital bets x m' h.
Proof.
move=> x0 m0 le; rewrite ler_pmul2r ?invr_gt0 ?count_gt0 // big_seq [X in _ <= X]big_seq.
apply: ler_sum => kappa /bets_ge0 k0; apply: ler_prod => i _; rewrite win_ge0 //; last first.
  exact: le_trans le.
rewrite ler_wpmul2l ?addr_ge0 ?ler01 ?mulr_ge0 // lef_pinv ?posrE ?odds_gt0 //.
  by rewrite ler_add2l ler_wpmul2l.
exact: le_trans le.
Qed.

(* betting-bound: if the mean of the next value is at most m, whatever came before, 1 / a is ever
   won against m with probability at most a ...                                                   *)
Theorem betting x m a n : (forall i, 0 <= x i) -> (forall h, \sum_i law h i * x i <= m) -> 0 < a ->
  probability law n [::] (ever n (fun h => a^-1 <= capital bets x m h)) <= a.
Proof.
move=> x0 mean a0; have m0 : 0 <= m.
  by apply: le_trans (mean [::]); apply: sumr_ge0 => i _; apply: mulr_ge0.
have ai : 0 < a^-1 by rewrite invr_gt0.
rewrite -(ler_pmul2l ai) mulVf ?gt_eqF // -(capital_nil x m).
apply: ville => // h; first exact: capital_ge0.
exact: capital_supermartingale.
Qed.

(* ... so that a lower bound is ever above m with probability at most a.                          *)
Theorem lower_bound_covers x m a n low : (forall i, 0 <= x i) ->
  (forall h, \sum_i law h i * x i <= m) -> 0 < a -> lower_bound bets x a low ->
  probability law n [::] (ever n (fun h => m < low h)) <= a.
Proof.
move=> x0 mean a0 valid; apply: le_trans (betting n x0 mean a0).
have m0 : 0 <= m by apply: le_trans (mean [::]); apply: sumr_ge0 => i _; apply: mulr_ge0.
apply: probability_mono => // s; apply: ever_mono => h above.
have [low0|[_ won]] := valid h; first by rewrite low0 ltNge m0 in above.
by apply: le_trans won _; apply: capital_falls => //; apply: ltW.
Qed.

(* An interval: the lower bound at half of a for values y whose mean is at most m, and one minus
   that for z of mean at most 1 - m.  It ever misses m with probability at most a, and so does the
   interval at the time when one stops ...                                                        *)
Theorem interval_covers y z m a n low low' : (forall i, 0 <= y i) -> (forall i, 0 <= z i) ->
  (forall h, \sum_i law h i * y i <= m) -> (forall h, \sum_i law h i * z i <= 1 - m) -> 0 < a ->
  lower_bound bets y (a / 2%:R) low -> lower_bound bets z (a / 2%:R) low' ->
  probability law n [::] (ever n (fun h => ~~ (low h <= m <= 1 - low' h))) <= a.
Proof.
move=> y0 z0 below above a0 valid valid'; have h0 : 0 < a / 2%:R by rewrite divr_gt0 ?ltr0n.
rewrite [X in _ <= X](_ : a = a / 2%:R + a / 2%:R); last first.
  by rewrite -mulr2n -[X in _ = X]mulr_natr divfK ?pnatr_eq0.
apply: le_trans (ler_add (lower_bound_covers n y0 below h0 valid)
                         (lower_bound_covers n z0 above h0 valid')).
apply: le_trans (probability_or _ _ _ _ _) => //; apply: probability_mono => // s.
rewrite /= -ever_or; apply: ever_mono => h /=; rewrite negb_and -!ltNge => /orP[->//|high].
by rewrite [X in _ || X](_ : _ = true) ?orbT // ltr_subl_addr addrC -ltr_subl_addr.
Qed.

(* ... as for values y at most a variable x in [0, 1] of mean m, and z at most 1 - x.             *)
Theorem variable_interval_covers x y z m a n low low' :
  (forall i, 0 <= y i <= x i) -> (forall i, 0 <= z i <= 1 - x i) ->
  (forall h, \sum_i law h i * x i = m) -> 0 < a ->
  lower_bound bets y (a / 2%:R) low -> lower_bound bets z (a / 2%:R) low' ->
  probability law n [::] (ever n (fun h => ~~ (low h <= m <= 1 - low' h))) <= a.
Proof.
move=> yx zx mean; apply: interval_covers => [i|i|h|h].
- by case/andP: (yx i).
- by case/andP: (zx i).
- by rewrite -(mean h); apply: ler_sum => i _; apply: ler_wpmul2l => //; case/andP: (yx i).
rewrite -(mean h) -(law_sum h) -sumrB; apply: ler_sum => i _.
by rewrite -[X in X - _]mulr1 -mulrBr ler_wpmul2l //; case/andP: (zx i).
Qed.
End Betting.

(* Values and means that depend on the past (collision-tv-bound, 3): bets on the average of the
   means win no more, as a geometric mean is at most the arithmetic one.                          *)
Section Average.
Variables (I : finType) (K : realFieldType) (law : seq I -> I -> K) (bets : seq K).
Variables (x : seq I -> I -> K) (m : seq I -> K).
Implicit Types (h s : seq I) (a kappa : K).
Hypotheses (law_ge0 : forall h i, 0 <= law h i) (law_sum : forall h, \sum_i law h i = 1).
Hypotheses (some : bets != [::]) (bets_ge0 : {in bets, forall kappa, 0 <= kappa}).
Hypotheses (x_ge0 : forall h i, 0 <= x h i) (mean : forall h, \sum_i law h i * x h i <= m h).

(* The product of f over the steps of s, which comes after h.                                     *)
Fixpoint along (f : seq I -> I -> K) h s : K :=
  if s is i :: t then f h i * along f (rcons h i) t else 1.
Definition total s : K := \sum_(t < size s) m (take t s).

(* What is won against each mean in its turn, and against the average.                            *)
Definition past_capital s : K :=
  (\sum_(kappa <- bets)
     along (fun h i => (1 + kappa * x h i) / (1 + kappa * m h)) [::] s) / (size bets)%:R.
Definition average_capital s : K :=
  (\sum_(kappa <- bets) along (fun h i => 1 + kappa * x h i) [::] s /
                         (1 + kappa * (total s / (size s)%:R)) ^+ size s) / (size bets)%:R.

Lemma along_rcons f h s i : along f h (rcons s i) = along f h s * f (h ++ s) i.
Proof.
elim: s h => [|j s IH] h /=; first by rewrite cats0 mul1r mulr1.
by rewrite IH cat_rcons mulrA.
Qed.

Lemma along_ge0 f h s : (forall h' i, 0 <= f h' i) -> 0 <= along f h s.
Proof. by move=> f0; elim: s h => [|i s IH] h /=; rewrite ?ler01 ?mulr_ge0. Qed.

Lemma along_div f g h s : along (fun h' i => f h' i / g h') h s =
  along f h s / along (fun h' _ => g h') h s.
Proof.
elim: s h => [|i s IH] h /=; first by rewrite divr1.
by rewrite IH invfM mulrACA.
Qed.

Lemma means_ge0 h : 0 <= m h.
Proof. by apply: le_trans (mean h); apply: sumr_ge0 => i _; apply: mulr_ge0. Qed.

(* The inequality of the means.                                                                   *)
Lemma along_means kappa s : 0 <= kappa ->
  along (fun h _ => 1 + kappa * m h) [::] s <= (1 + kappa * (total s / (size s)%:R)) ^+ size s.
Proof.
move=> k0; have -> : along (fun h _ => 1 + kappa * m h) [::] s =
    \prod_(t in 'I_(size s)) (1 + kappa * m (take t s)).
  elim/last_ind: s => [|s i IH]; first by rewrite big_ord0.
  rewrite along_rcons IH size_rcons big_ord_recr /= -cats1 takel_cat // take_size; congr (_ * _).
  by apply: eq_bigr => t _; rewrite takel_cat // ltnW.
have pos (t : 'I_(size s)) : t \in 'I_(size s) -> 0 <= 1 + kappa * m (take t s).
  by rewrite addr_ge0 ?ler01 // mulr_ge0 ?means_ge0.
have [le _] := leif_AGM pos; apply: le_trans le _; rewrite card_ord big_split /=.
have [s0|s0] := posnP (size s); first by rewrite s0 !expr0.
rewrite sumr_const card_ord -mulr_sumr -/(total s) mulrDl -[1 *+ _]/(_%:R).
by rewrite divff ?pnatr_eq0 -?lt0n // mulrA.
Qed.

Lemma past_capital_nil : past_capital [::] = 1.
Proof.
rewrite /past_capital /= big_const_seq count_predT iter_addr_0 mulfV //.
by rewrite pnatr_eq0 size_eq0.
Qed.

Lemma odds_pos kappa h : 0 <= kappa -> 0 < 1 + kappa * m h.
Proof. by move=> k0; rewrite ltr_paddr ?mulr_ge0 ?means_ge0 ?ltr01. Qed.

Lemma gains_ge0 kappa h i : 0 <= kappa -> 0 <= 1 + kappa * x h i.
Proof. by move=> k0; rewrite addr_ge0 ?mulr_ge0 ?ler01. Qed.

Lemma past_capital_ge0 s : 0 <= past_capital s.
Proof.
rewrite divr_ge0 ?ler0n // big_seq sumr_ge0 // => kappa /bets_ge0 k0.
by apply: along_ge0 => h i; rewrite divr_ge0 ?gains_ge0 // ltW ?odds_pos.
Qed.

Lemma past_supermartingale h : \sum_i law h i * past_capital (rcons h i) <= past_capital h.
Proof.
rewrite /past_capital; under eq_bigr do rewrite mulrA mulr_sumr.
rewrite -mulr_suml exchange_big /= ler_wpmul2r ?invr_ge0 ?ler0n //.
rewrite big_seq [X in _ <= X]big_seq; apply: ler_sum => kappa /bets_ge0 k0.
under eq_bigr => i _ do rewrite along_rcons cat0s mulrCA.
rewrite -mulr_sumr -[X in _ <= X]mulr1 ler_wpmul2l //.
  by apply: along_ge0 => h' i; rewrite divr_ge0 ?gains_ge0 // ltW ?odds_pos.
under eq_bigr do rewrite mulrA mulrDr mulr1 mulrCA.
rewrite -mulr_suml big_split /= law_sum -mulr_sumr ler_pdivr_mulr ?odds_pos // mul1r.
by rewrite ler_add2l ler_wpmul2l.
Qed.

Lemma average_below_past s : average_capital s <= past_capital s.
Proof.
rewrite ler_wpmul2r ?invr_ge0 ?ler0n // big_seq [X in _ <= X]big_seq.
apply: ler_sum => kappa /bets_ge0 k0; rewrite along_div ler_wpmul2l //.
  by apply: along_ge0 => h i; apply: gains_ge0.
have pos : 0 < along (fun h (_ : I) => 1 + kappa * m h) [::] s.
  by elim: s [::] => [|i s IH] h /=; rewrite ?ltr01 ?mulr_gt0 ?odds_pos.
by rewrite lef_pinv ?posrE ?(lt_le_trans pos) // along_means.
Qed.

Theorem betting_on_average a n : 0 < a ->
  probability law n [::] (ever n (fun h => a^-1 <= average_capital h)) <= a.
Proof.
move=> a0; have ai : 0 < a^-1 by rewrite invr_gt0.
rewrite -(ler_pmul2l ai) mulVf ?gt_eqF // -past_capital_nil.
have := @ville _ _ _ law_ge0 law_sum n [::] _ _ past_capital_ge0 past_supermartingale ai.
apply: le_trans.
rewrite ler_wpmul2l ?(ltW ai) //; apply: probability_mono => // s; apply: ever_mono => h.
by move/le_trans; apply; apply: average_below_past.
Qed.
End Average.
