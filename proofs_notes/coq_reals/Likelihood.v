(* Maximum likelihood over rows that are tied (price-of-likelihood).

   A policy of the class gives the step u -> v the probability w(c) / (sum of w over the row of u),
   where c = cls u v is the class of the step and the row of u holds the classes of its steps: one
   weight for each class.  q is a law on complete trajectories, such as the target's pi(x) p_B;
   passes u v is the mean number of times that it takes the step, flow c that of class c.         *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.analysis Require Import reals sequences exp nsatz_realtype.
From Pdai Require Import Dag Policies Residuals.
From PdaiReals Require Import Logs Divergence.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Tied.
Variables (G : pointedDAG) (C : finType) (R : realType) (cls : G -> G -> C).
Implicit Types (w : C -> R) (q : seq G -> R).

Definition row_of (u : G) : {set C} := [set cls u v | v in [pred v | edge u v]].
Definition tied w (u v : G) : R := w (cls u v) / \sum_(c in row_of u) w c.

(* Steps from one state are in different classes.                                                 *)
Hypothesis apart : forall u v v', edge u v -> edge u v' -> cls u v = cls u v' -> v = v'.

Lemma sum_row (f : C -> R) u : \sum_(c in row_of u) f c = \sum_(v | edge u v) f (cls u v).
Proof.
rewrite /row_of big_imset //= => v v' uv uv' same.
exact: apart uv uv' same.
Qed.

Lemma tied_policy w : (forall c, 0 < w c) -> forward_policy (tied w).
Proof.
move=> w0 u nu; rewrite /tied -mulr_suml -sum_row divff // gt_eqF //.
have /forallPn[v] := nu; rewrite negbK => uv.
have inv : cls u v \in row_of u by apply/imsetP; exists v.
by rewrite (bigD1 _ inv) //= ltr_spaddl // sumr_ge0 // => c _; apply: ltW.
Qed.

Section Law.
Variable q : seq G -> R.
Definition passes (u v : G) : R :=
  complete_sum (fun p => q p * path_cost (fun a b => ((a == u) && (b == v))%:R) src p).
Definition flow (c : C) : R := \sum_u \sum_(v | edge u v && (cls u v == c)) passes u v.
Definition log_likelihood (pF : G -> G -> R) : R :=
  complete_sum (fun p => q p * ln (weight pF src p)).

Lemma path_cost_passes (c : G -> G -> R) u p : path edge u p ->
  path_cost c u p = \sum_a \sum_(b | edge a b)
    c a b * path_cost (fun a' b' => ((a' == a) && (b' == b))%:R) u p.
Proof.
elim: p u => [|v p IH] u /=; first by rewrite big1 // => a _; rewrite big1 // => b _; rewrite mulr0.
case/andP=> uv vp; rewrite (IH _ vp).
under [RHS]eq_bigr => a _ do (under eq_bigr => b _ do rewrite mulrDr; rewrite big_split).
rewrite big_split /=; congr (_ + _).
rewrite (bigD1 u) //= (bigD1 v) //= !eqxx mulr1 big1 ?addr0 => [|b /andP[_ bv]]; last first.
  by rewrite /= [v == b]eq_sym (negbTE bv) mulr0.
by rewrite big1 ?addr0 // => a au; rewrite big1 // => b _; rewrite [u == a]eq_sym (negbTE au) mulr0.
Qed.

(* The likelihood is a sum over steps.                                                            *)
Lemma likelihood_steps pF : (forall u v, edge u v -> 0 < pF u v) ->
  log_likelihood pF = \sum_u \sum_(v | edge u v) passes u v * ln (pF u v).
Proof.
move=> pF0; have lnw u p : path edge u p -> 0 < weight pF u p /\
    ln (weight pF u p) = path_cost (fun a b => ln (pF a b)) u p.
  elim: p u => [|v p IH] u /=; first by rewrite ln1 ltr01.
  case/andP=> uv /IH[w0 <-]; split; first by rewrite mulr_gt0 ?pF0.
  by apply: lnM; rewrite posrE ?pF0.
have swap f : complete_sum (fun p => \sum_a \sum_(b | edge a b) f a b p) =
    \sum_a \sum_(b | edge a b) complete_sum (f a b).
  rewrite /complete_sum; under eq_bigr => x _ do rewrite exchange_big.
  rewrite exchange_big; apply: eq_bigr => a _.
  under eq_bigr => x _ do rewrite exchange_big.
  by rewrite exchange_big.
transitivity (complete_sum (fun p => \sum_a \sum_(b | edge a b) q p *
    path_cost (fun a' b' => ((a' == a) && (b' == b))%:R) src p * ln (pF a b))).
  apply: eq_bigr => x _; apply: eq_big_seq => p; rewrite mem_trajs => /andP[up _].
  have [_ ->] := lnw _ _ up; rewrite path_cost_passes // mulr_sumr; apply: eq_bigr => a _.
  by rewrite mulr_sumr; apply: eq_bigr => b _; rewrite -mulrA [ln _ * _]mulrC.
rewrite swap; apply: eq_bigr => a _; apply: eq_bigr => b _.
rewrite /passes /complete_sum mulr_suml; apply: eq_bigr => x _.
by rewrite mulr_suml.
Qed.

Hypothesis q_gt0 : forall p, complete p -> 0 < q p.

(* Every step lies on a complete trajectory.                                                      *)
Lemma passed u v : edge u v -> 0 < passes u v.
Proof.
move=> uv; have [p0 /andP[sp0 /eqP lp0]] := reached u.
have [p1 /andP[vp1 tp1]] := reaches_terminal v.
pose step a b : R := ((a == u) && (b == v))%:R; pose p := p0 ++ v :: p1.
have cost_ge0 a r : 0 <= path_cost step a r.
  by elim: r a => [|b r IH] a //=; rewrite addr_ge0 ?ler0n.
have cost1 : 1 <= path_cost step src p.
  rewrite /p; elim: p0 (src) lp0 {sp0 p} => [|b r IH] a /= lp0.
    by rewrite lp0 {1}/step !eqxx ler_addl cost_ge0.
  by rewrite (le_trans (IH _ lp0)) // ler_addr ler0n.
have path_p : path edge src p by rewrite cat_path sp0 lp0 /= uv.
have complete_p : complete p by rewrite /complete path_p last_cat.
have pos r : complete r -> 0 <= q r * path_cost step src r.
  by move=> cr; rewrite mulr_ge0 ?cost_ge0 // ltW ?q_gt0.
have all (x : G) r : terminal x -> r \in trajs src x -> complete r.
  by move=> tx; rewrite mem_trajs => /andP[sr /eqP lr]; rewrite /complete sr lr.
rewrite /passes /complete_sum (bigD1 (last src p)) /=; last by case/andP: complete_p.
rewrite (bigD1_seq p) ?uniq_trajs ?mem_trajs ?path_p ?eqxx //= -addrA ltr_spaddl //.
  by rewrite mulr_gt0 ?q_gt0 // (lt_le_trans ltr01).
have tp : terminal (last src p) by case/andP: complete_p.
apply: addr_ge0; last apply: sumr_ge0 => x /andP[tx _].
  by rewrite big_seq_cond sumr_ge0 // => r /andP[rp _]; exact: pos (all _ _ tp rp).
by rewrite big_seq sumr_ge0 // => r rp; exact: pos (all _ _ tx rp).
Qed.

(* Rows that share classes in part: weights of two maxima have equal rows, since between them the
   likelihood is the larger where rows differ (geometric means, and Cauchy's inequality).         *)
Lemma geometric_below (x y : R) : 0 <= x -> 0 <= y ->
  (x + y) / 2%:R - Num.sqrt (x * y) = (Num.sqrt x - Num.sqrt y) ^+ 2 / 2%:R.
Proof.
move=> x0 y0; rewrite sqrrB !sqr_sqrtr // sqrtrM // [_ * _ *+ 2]mulr2n.
have : 2%:R^-1 + 2%:R^-1 = 1 :> R by rewrite [RHS](splitr 1) !mul1r.
by move: 2%:R^-1 (Num.sqrt x) (Num.sqrt y) => h a b half; nsatz.
Qed.

Section Masked.
Variables w w' : C -> R.
Hypotheses (w_gt0 : forall c, 0 < w c) (w'_gt0 : forall c, 0 < w' c).
Let geometric c := Num.sqrt (w c * w' c).
Let overlap u := \sum_(v | edge u v) Num.sqrt (tied w u v * tied w' u v).

Lemma tied_gt0 (f : C -> R) u v : (forall c, 0 < f c) -> edge u v -> 0 < tied f u v.
Proof.
move=> f0 uv; rewrite divr_gt0 // sum_row (bigD1 v) //= ltr_spaddl // sumr_ge0 // => b _.
exact: ltW.
Qed.

Lemma geometric_gt0 c : 0 < geometric c.
Proof. by rewrite sqrtr_gt0 mulr_gt0. Qed.

Lemma overlap_gt0 u v : edge u v -> 0 < overlap u.
Proof.
move=> uv; have both := mulr_gt0 (tied_gt0 w_gt0 uv) (tied_gt0 w'_gt0 uv).
rewrite /overlap (bigD1 v) //= ltr_spaddl ?sqrtr_gt0 //.
by rewrite sumr_ge0 // => b _; apply: sqrtr_ge0.
Qed.

Lemma tied_geometric u v : edge u v ->
  tied geometric u v = Num.sqrt (tied w u v * tied w' u v) / overlap u.
Proof.
move=> uv; pose k := Num.sqrt ((\sum_(c in row_of u) w c) * (\sum_(c in row_of u) w' c))^-1.
have W0 (f : C -> R) : (forall c, 0 < f c) -> 0 < \sum_(c in row_of u) f c.
  by move=> f0; have := tied_gt0 f0 uv; rewrite pmulr_rgt0 ?invr_gt0.
have each b : Num.sqrt (tied w u b * tied w' u b) = geometric (cls u b) * k.
  by rewrite /tied mulf_div sqrtrM // mulr_ge0 // ltW.
rewrite /overlap each; under eq_bigr => b _ do rewrite each.
rewrite -mulr_suml -mulf_div divff ?mulr1 -?sum_row //.
by rewrite gt_eqF // sqrtr_gt0 invr_gt0 mulr_gt0 ?W0.
Qed.

Lemma overlap_gap u : ~~ terminal u -> 1 - overlap u =
  \sum_(v | edge u v) (Num.sqrt (tied w u v) - Num.sqrt (tied w' u v)) ^+ 2 / 2%:R.
Proof.
move=> nu; have one : \sum_(v | edge u v) (tied w u v + tied w' u v) / 2%:R = 1.
  by rewrite -mulr_suml big_split /= !tied_policy // mulrDl -splitr.
rewrite -[X in X - _]one -sumrB; apply: eq_bigr => v uv.
by rewrite geometric_below // ltW // tied_gt0.
Qed.

Theorem masked_maximum_is_unique :
  (forall f, (forall c, 0 < f c) -> log_likelihood (tied f) <= log_likelihood (tied w)) ->
  log_likelihood (tied w') = log_likelihood (tied w) ->
  forall u v, edge u v -> tied w u v = tied w' u v.
Proof.
move=> best same u v uv.
have mean : log_likelihood (tied geometric) = log_likelihood (tied w) -
    \sum_a \sum_(b | edge a b) passes a b * ln (overlap a).
  have -> : log_likelihood (tied w) = (log_likelihood (tied w) + log_likelihood (tied w')) / 2%:R.
    by rewrite same mulrDl -splitr.
  rewrite !likelihood_steps; try by move=> a b ab; rewrite tied_gt0 // => c; apply: geometric_gt0.
  rewrite -big_split mulr_suml -sumrB; apply: eq_bigr => a _ /=.
  rewrite -big_split mulr_suml -sumrB; apply: eq_bigr => b ab /=.
  have P0 := tied_gt0 w_gt0 ab; have Q0 := tied_gt0 w'_gt0 ab.
  have both := mulr_gt0 P0 Q0; set s := Num.sqrt (tied w a b * tied w' a b).
  have s0 : 0 < s by rewrite sqrtr_gt0.
  have root : ln s = (ln (tied w a b) + ln (tied w' a b)) / 2%:R.
    have <- : ln (tied w a b * tied w' a b) = ln (tied w a b) + ln (tied w' a b) by apply: lnM.
    rewrite -[tied w a b * _]sqr_sqrtr ?ltW // -/s expr2.
    have -> : ln (s * s) = ln s + ln s by apply: lnM.
    by rewrite mulrDl -splitr.
  rewrite tied_geometric // ln_div ?posrE ?(overlap_gt0 ab) // -/s root.
  by rewrite mulrBr -mulrDr mulrA.
have nu (a b : G) : edge a b -> ~~ terminal a by move=> ab; apply/forallPn; exists b; rewrite ab.
have overlap_le1 a b : edge a b -> overlap a <= 1.
  move=> ab; rewrite -subr_ge0 (overlap_gap (nu _ _ ab)) sumr_ge0 // => c _.
  by rewrite divr_ge0 ?sqr_ge0 ?ler0n.
have term a b : edge a b -> 0 <= - (passes a b * ln (overlap a)).
  move=> ab; have F0 := passed ab; rewrite -mulrN mulr_ge0 ?(ltW F0) // oppr_ge0 -(ln1 R).
  by rewrite ler_ln ?posrE ?ltr01 ?(overlap_gt0 ab) // (overlap_le1 _ _ ab).
have zero : \sum_a \sum_(b | edge a b) - (passes a b * ln (overlap a)) = 0.
  apply/eqP; rewrite eq_le; apply/andP; split; last first.
    by rewrite sumr_ge0 // => a _; rewrite sumr_ge0 // => b; apply: term.
  under eq_bigr => a _ do rewrite sumrN.
  by rewrite sumrN; have := best _ geometric_gt0; rewrite mean ger_addl.
have zero_u : \sum_(b | edge u b) - (passes u b * ln (overlap u)) = 0.
  apply: (psumr_eq0P _ zero) => // a _.
  by rewrite sumr_ge0 // => b; apply: term.
have /eqP := psumr_eq0P (fun b => term u b) zero_u uv.
rewrite oppr_eq0 mulf_eq0 gt_eqF ?passed //= => /eqP ln0.
have one : overlap u = 1.
  by apply: ln_inj; rewrite ?posrE ?ltr01 ?(overlap_gt0 uv) // ln0 ln1.
have := overlap_gap (nu _ _ uv); rewrite one subrr => /esym gap.
pose apart_by b := Num.sqrt (tied w u b) - Num.sqrt (tied w' u b).
have /eqP := psumr_eq0P (fun b _ => divr_ge0 (sqr_ge0 (apart_by b)) (ler0n R 2)) gap uv.
rewrite mulf_eq0 invr_eq0 pnatr_eq0 orbF sqrf_eq0 subr_eq0 => /eqP roots.
by rewrite -[LHS]sqr_sqrtr ?ltW ?tied_gt0 // roots sqr_sqrtr // ltW // tied_gt0.
Qed.
End Masked.

(* Rows that share a class are equal.                                                             *)
Hypothesis linked : forall u u' c, c \in row_of u -> c \in row_of u' -> row_of u = row_of u'.

(* The classes that share a row with c; all of them are those of each row that holds c.           *)
Let block (c : C) : {set C} := [set d | [exists u, (c \in row_of u) && (d \in row_of u)]].
Let used (c : C) := [exists u, c \in row_of u].
Let share w c := w c / \sum_(d in block c) w d.

Lemma block_row u c : c \in row_of u -> block c = row_of u.
Proof.
move=> cu; apply/setP => d; rewrite inE; apply/existsP/idP => [[u' /andP[cu' du']]|du].
  by rewrite (linked cu cu').
by exists u; rewrite cu.
Qed.

Lemma block_sym c d : (d \in block c) = (c \in block d).
Proof. by rewrite !inE; apply: eq_existsb => u; rewrite andbC. Qed.

Lemma block_eq c d : d \in block c -> block d = block c.
Proof. by rewrite inE => /existsP[u /andP[cu du]]; rewrite (block_row cu) (block_row du). Qed.

Lemma block_used c d : d \in block c -> used d.
Proof. by rewrite inE => /existsP[u /andP[_ du]]; apply/existsP; exists u. Qed.

Lemma used_block c : used c -> c \in block c.
Proof. by case/existsP=> u cu; rewrite (block_row cu). Qed.

Lemma edge_row u v : edge u v -> cls u v \in row_of u.
Proof. by move=> uv; apply/imsetP; exists v. Qed.

Lemma tied_share w u v : edge u v -> tied w u v = share w (cls u v).
Proof. by move=> uv; rewrite /tied /share (block_row (edge_row uv)). Qed.

Lemma block_gt0 w c : (forall d, used d -> 0 < w d) -> used c -> 0 < \sum_(d in block c) w d.
Proof.
move=> w0 uc; rewrite (bigD1 c) ?used_block //= ltr_spaddl ?w0 // sumr_ge0 // => d /andP[dc _].
by rewrite ltW // w0 // (block_used dc).
Qed.

Lemma share_gt0 w c : (forall d, used d -> 0 < w d) -> used c -> 0 < share w c.
Proof. by move=> w0 uc; rewrite divr_gt0 ?w0 ?block_gt0. Qed.

Lemma flow_gt0 c : used c -> 0 < flow c.
Proof.
case/existsP=> u /imsetP[v uv ->]; rewrite inE in uv.
rewrite /flow (bigD1 u) //= (bigD1 v) /= ?uv ?eqxx // -addrA ltr_spaddl ?passed //.
apply: addr_ge0; apply: sumr_ge0 => a; first by case/andP=> /andP[ab _] _; rewrite ltW ?passed.
by move=> _; apply: sumr_ge0 => b /andP[ab _]; rewrite ltW ?passed.
Qed.

Lemma likelihood_classes w : (forall c, used c -> 0 < w c) ->
  log_likelihood (tied w) = \sum_(c | used c) flow c * ln (share w c).
Proof.
move=> w0; have pos u v : edge u v -> 0 < tied w u v.
  move=> uv; rewrite tied_share // share_gt0 //.
  by apply/existsP; exists u; apply: edge_row.
rewrite likelihood_steps //.
under [RHS]eq_bigr => c _ do (rewrite /flow mulr_suml; under eq_bigr => u _ do rewrite mulr_suml).
rewrite exchange_big; apply: eq_bigr => u _ /=.
rewrite (partition_big (cls u) used) /= => [|v uv]; last first.
  by apply/existsP; exists u; apply: edge_row.
apply: eq_bigr => c _; apply: eq_bigr => v /andP[uv /eqP <-].
by rewrite tied_share.
Qed.

Lemma shares_keep_flow w : (forall c, used c -> 0 < w c) ->
  \sum_(c | used c) (\sum_(d in block c) flow d) * share w c = \sum_(c | used c) flow c.
Proof.
move=> w0; under eq_bigr => c _ do rewrite mulr_suml.
rewrite (exchange_big_dep used) /= => [|c d _ dc]; last exact: block_used dc.
apply: eq_bigr => d ud; rewrite -mulr_sumr -[RHS]mulr1; congr (_ * _).
transitivity (\sum_(c in block d) w c / \sum_(e in block d) w e).
  apply: eq_big => [c|c /andP[_ dc]]; last by rewrite /share (block_eq dc).
  by rewrite block_sym; apply/andP/idP => [[]//|cd]; split=> //; apply: block_used cd.
by rewrite -mulr_suml divff // gt_eqF ?block_gt0.
Qed.

Lemma likelihood_gap w : (forall c, used c -> 0 < w c) ->
  log_likelihood (tied flow) - log_likelihood (tied w) =
  \sum_(c | used c) flow c * ln (flow c / ((\sum_(d in block c) flow d) * share w c)).
Proof.
move=> w0; rewrite !likelihood_classes //; last exact: flow_gt0.
rewrite -sumrB; apply: eq_bigr => c uc; rewrite -mulrBr.
rewrite -ln_div ?posrE ?share_gt0 //; last exact: flow_gt0.
by congr (_ * ln _); rewrite [in RHS]invfM mulrA.
Qed.

(* price-of-likelihood: the flows of the target through the classes have the largest likelihood,
   and other weights only where each row has the same shares.                                     *)
Theorem flows_have_largest_likelihood w : (forall c, 0 < w c) ->
  log_likelihood (tied w) <= log_likelihood (tied flow).
Proof.
move=> w0; have w0' c : used c -> 0 < w c by [].
rewrite -subr_ge0 likelihood_gap //.
have F0 := flow_gt0; have q0 c : used c -> 0 < (\sum_(d in block c) flow d) * share w c.
  by move=> uc; rewrite mulr_gt0 ?block_gt0 ?share_gt0.
have := gibbs_weights (fun c uc => ltW (F0 c uc)) (fun c uc _ => q0 c uc)
  (fun c uc => ltW (q0 c uc)).
by rewrite shares_keep_flow // subrr.
Qed.

Theorem largest_likelihood_is_unique w : (forall c, 0 < w c) ->
  log_likelihood (tied w) = log_likelihood (tied flow) ->
  forall u v, edge u v -> tied w u v = tied flow u v.
Proof.
move=> w0 same u v uv; have w0' c : used c -> 0 < w c by [].
have F0 := flow_gt0; have q0 c : used c -> 0 < (\sum_(d in block c) flow d) * share w c.
  by move=> uc; rewrite mulr_gt0 ?block_gt0 ?share_gt0.
have uc : used (cls u v) by apply/existsP; exists u; apply: edge_row.
have gap := likelihood_gap w0'; rewrite same subrr in gap.
have e := gibbs_equal F0 q0 (esym (shares_keep_flow w0')) (esym gap) uc.
rewrite !tied_share // [RHS]/share e mulrAC divff ?mul1r //.
by rewrite gt_eqF ?block_gt0.
Qed.
End Law.
End Tied.

(* The two counterexamples of price-of-likelihood, in numbers.                                    *)
Section Examples.
Variable R : realType.

(* The likelihood of a row (t, 1 - t) of two states, where of twenty steps of the target 1 and 4 are
   taken at one state, and 9 and 6 at the other: 1/2 is the average by visits, 2/5 the plain one.  *)
Definition of_two_rows (t : R) : R :=
  ((ln t + ln (1 - t) *+ 4) + (ln t *+ 9 + ln (1 - t) *+ 6)) / 20%:R.

Theorem plain_average_is_less_likely : of_two_rows (2%:R / 5%:R) < of_two_rows (1 / 2%:R).
Proof.
have mean (t : R) : 0 < t -> 0 < 1 - t -> of_two_rows t = ln (t * (1 - t)) *+ 10 / 20%:R.
  by move=> t0 s0; rewrite lnM ?posrE // mulrnDl /of_two_rows addrACA -mulrS -mulrnDr.
have five : 1 - 2%:R / 5%:R = 3%:R / 5%:R :> R.
  by apply: (@mulIf _ 5%:R); rewrite ?pnatr_eq0 // mulrBl mul1r !divfK ?pnatr_eq0 // -natrB.
have half : 1 - 1 / 2%:R = 1 / 2%:R :> R by rewrite {1}[1](splitr 1) addrK.
rewrite !mean ?five ?half ?divr_gt0 ?ltr01 ?ltr0n // ltr_pmul2r ?invr_gt0 ?ltr0n // ltr_pmuln2r //.
rewrite ltr_ln ?posrE ?mulr_gt0 ?invr_gt0 ?ltr01 ?ltr0n // !mulf_div mul1r -!natrM.
by rewrite ltr_pdivr_mulr ?ltr0n // mulrAC ltr_pdivl_mulr ?ltr0n // mul1r -!natrM ltr_nat.
Qed.

(* Two equal bits, where a policy of the class has one law for both places: the averages are 1/2,
   and the root of 1/2 is nearer.                                                                 *)
Definition bits (p : R) (b : bool * bool) : R :=
  (if b.1 then 1 - p else p) * (if b.2 then 1 - p else p).
Definition equal_bits (b : bool * bool) : R := if b.1 == b.2 then 1 / 2%:R else 0.

Lemma tv_bits p : 0 <= p -> p <= 1 -> p * p <= 1 / 2%:R -> (1 - p) * (1 - p) <= 1 / 2%:R ->
  tv (bits p) equal_bits = p * (1 - p) *+ 2.
Proof.
move=> p0; rewrite -subr_ge0; have : p + (1 - p) = 1 by rewrite addrC subrK.
rewrite /tv; have -> : \sum_b `|bits p b - equal_bits b| =
    \sum_a \sum_b `|bits p (a, b) - equal_bits (a, b)| by rewrite pair_bigA; apply: eq_bigr => -[].
rewrite !big_bool /bits /equal_bits /=; move: (1 - p) => q one q0 pp qq.
rewrite !subr0 [q * p]mulrC [`|p * q|]ger0_norm ?mulr_ge0 //.
rewrite [`|p * p - _|]ler0_norm ?[`|q * q - _|]ler0_norm ?subr_le0 // !opprB.
have half : 1 / 2%:R + 1 / 2%:R = 1 :> R by rewrite -splitr.
apply: (@mulIf _ 2%:R); rewrite ?pnatr_eq0 // divfK ?pnatr_eq0 // mulr_natr !mulr2n.
by move: (1 / 2%:R) half one; clear => h half one; nsatz.
Qed.

Theorem likelihood_is_not_nearest :
  tv (bits (1 / 2%:R)) equal_bits = 1 / 2%:R /\
  tv (bits (Num.sqrt (1 / 2%:R))) equal_bits = Num.sqrt (1 / 2%:R) *+ 2 - 1 /\
  Num.sqrt (1 / 2%:R) *+ 2 - 1 < 1 / 2%:R :> R.
Proof.
set h := 1 / 2%:R; have half : h + h = 1 by rewrite -splitr.
have h_gt0 : 0 < h by rewrite /h mul1r invr_gt0 ltr0n.
have h0 := ltW h_gt0.
have h1 : h <= 1 by rewrite -half ler_addl.
split.
  have sub : 1 - h = h by rewrite -half addrK.
  by rewrite tv_bits ?sub ?ler_pimull // -mulrnAl mulr2n half mul1r.
pose s := Num.sqrt h; rewrite -/s; have ss : s * s = h by rewrite -expr2 sqr_sqrtr.
have s0 : 0 <= s by apply: sqrtr_ge0.
have s1 : s <= 1 by rewrite -sqrtr1 ler_wsqrtr.
have hs : h <= s by rewrite -ss ler_pimull.
have below : 1 - s <= s by rewrite ler_subl_addr -half ler_add.
have above : 0 <= 1 - s by rewrite subr_ge0.
split.
  rewrite tv_bits ?ss //; last by rewrite -/h -ss ler_pmul.
  by rewrite mulrBr mulr1 ss mulrnBl [h *+ 2]mulr2n half.
rewrite ltr_subl_addr -(@ltr_pexpn2r _ 2) ?nnegrE ?mulrn_wge0 ?addr_ge0 ?ler01 //.
rewrite exprMn_n expr2 ss sqrrD mulr1 expr1n [h *+ 2]mulr2n half -addrA.
by rewrite -[(2 ^ 2)%N]/(2 + 2)%N mulrnDr mulr2n half ltr_addr exprn_gt0.
Qed.
End Examples.
