(* What `pdai certify --theorem` states of samples: that [check] accepts a file, and that whoever
   writes files after looking at independent draws is seldom wrong with one that is accepted.       *)
From Coq Require Import ZArith Number.
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Residuals Betting.
From Cert Require Export Stated.
From Cert Require Import SamplesSound BareSound.
From Cert Require Samples Bare.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* Trajectories, each with R(x), and the steps of p_F and of p_B: [to n d] has the probability n / d. *)
Inductive trajectories :=
  | no_trajectory
  | trajectory (label : text) (reward denominator : Number.uint) (p_F p_B : steps)
      (rest : trajectories).
Fixpoint samples_of (l : trajectories) : seq Samples.sample :=
  if l is trajectory _ r d f b l' then
    Samples.Sample (number_of r) (number_of d) (steps_of f) (steps_of b) :: samples_of l'
  else [::].
Definition claimed (low high over scale level_num level_den tv_low tv_high tv_den count weights
    won_low won_high : Number.uint) : Samples.head :=
  let z n := number_of n in
  Samples.Head (z low) (z high) (z over) (z scale) (z level_num) (z level_den)
    (z tv_low) (z tv_high) (z tv_den) (z count) (z weights) (z won_low) (z won_high).
Definition level (h : Samples.head) : rat := ratio (Samples.level_num h) (Samples.level_den h).

(* I is the set of all trajectories, p their law, r tau = R(x) p_B(tau | x), and [line tau] what a file
   has of tau.  Z and TV are those of these, and not of the file.                                   *)
Definition trajectories_seldom_mislead (a : rat) : Prop :=
  forall (I : finType) (p r : I -> rat) (line : I -> Samples.sample),
    (forall i, 0 <= p i) -> \sum_i p i = 1 -> (forall i, 0 <= r i) -> 0 < \sum_i r i ->
    (forall i, p i = forward_chance (line i)) -> (forall i, r i = backward_reward (line i)) ->
  let TV := tv p (fun i => r i / \sum_j r j) in
  forall (writer : seq I -> Samples.head) (n : nat),
    (forall t, bounds_Z r (writer t)) -> (forall t, level (writer t) = a) ->
  probability (fun=> p) n [::] (ever n (fun t => let h := writer t in
    Samples.check h (map line t) && ~~ (ratio (Samples.tv_low h) (Samples.tv_den h) <= TV <=
                                        ratio (Samples.tv_high h) (Samples.tv_den h)))) <= a.

Theorem trajectories_bounded (h : Samples.head) (l : trajectories) :
  Samples.check h (samples_of l) = true ->
  Samples.check h (samples_of l) = true /\ trajectories_seldom_mislead (level h).
Proof.
move=> ok; split=> // I p r line p0 p1 r0 r1 pl rl TV writer n within same.
apply: (accepted_is_seldom_wrong p0 p1 r0 r1 pl rl n _ within same).
move: ok; rewrite /Samples.check /Samples.start.
case: ifP => // _; case: ifP => // _; case: ifP => // _; case: ifP => // _.
case: Z.ltb_spec => // n0; case: Z.ltb_spec => // d0 _.
by rewrite /level divr_gt0 ?q_gt0.
Qed.

(* Bare samples: the numbers of values of a listed law, from 0 on.                                   *)
Inductive values := no_value | value (label : text) (weight : Number.uint) (rest : values).
Inductive draws := no_draw | drew (number : Number.uint) (rest : draws).
Fixpoint weights_of (l : values) : seq BZ :=
  if l is value _ w l' then number_of w :: weights_of l' else [::].
Fixpoint numbers_of (l : draws) : seq BZ :=
  if l is drew j l' then number_of j :: numbers_of l' else [::].
Definition refuted (scale level_num level_den least over count trace won : Number.uint) : Bare.claim :=
  let z n := number_of n in
  Bare.Claim (z scale) (z level_num) (z level_den) (z least) (z over) (z count) (z trace) (z won).
Definition odds (c : Bare.claim) : rat := ratio (Bare.odds_num c) (Bare.odds_den c).

(* p is the law of the sampler on the same values; the law that is listed gives i the share
   w_i / (sum of w) .                                                                               *)
Definition draws_seldom_mislead (ws : seq BZ) (a : rat) : Prop :=
  forall (p : 'I_(seq.size ws) -> rat), (forall i, 0 <= p i) -> \sum_i p i = 1 ->
  let TV := tv p (fun i => q (nth 0%B ws i) / \sum_(j < seq.size ws) q (nth 0%B ws j)) in
  forall (writer : seq 'I_(seq.size ws) -> Bare.claim) (n : nat), (forall t, odds (writer t) = a) ->
  probability (fun=> p) n [::] (ever n (fun t => let c := writer t in
    Bare.check c ws [seq Z.of_nat (val i) | i <- t] &&
    ~~ (ratio (Bare.least c) (Bare.least_den c) <= TV))) <= a.

Lemma accepted_law c ws js : Bare.check c ws js ->
  exists sum, [/\ Bare.add ws 0%B = Some sum, (0 < sum)%B & 0 < odds c].
Proof.
rewrite /Bare.check /Bare.start; case add: Bare.add => [sum|] //.
case: Z.ltb_spec => // sum0; case: ifP => // _.
case: Z.ltb_spec => // n0; case: Z.ltb_spec => // d0 _.
by exists sum; rewrite /odds divr_gt0 ?q_gt0.
Qed.

Theorem draws_bounded (c : Bare.claim) (ws : values) (l : draws) :
  Bare.check c (weights_of ws) (numbers_of l) = true ->
  Bare.check c (weights_of ws) (numbers_of l) = true /\
  draws_seldom_mislead (weights_of ws) (odds c).
Proof.
move=> ok; split=> // p p0 p1 TV writer n a; have [sum [add sum0 a0]] := accepted_law ok.
have [_ e] := add_sum add; rewrite q0 add0r in e.
have -> : TV = tv p (share sum) by rewrite /TV /share /SamplesSound.ratio e.
exact: (refuted_is_seldom_wrong add sum0 p0 p1 n a0 a).
Qed.
