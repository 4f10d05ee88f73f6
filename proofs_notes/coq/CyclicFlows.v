(* Balance on finite graphs with cycles (cyclic-flows).

   Nothing leads to the initial state o, every state is reached from o, and every state reaches one
   without children.  p_B > 0 is a law on the parents of each state but o, and R > 0.             *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* A mass h that is at most what the chances k send in, and whose part at the states of out is sent
   nowhere, is zero, if every state is reached from out.                                          *)
Lemma leaks (S : finType) (K : realFieldType) (k : S -> S -> K) (out : pred S) (e : rel S)
    (h : S -> K) :
  (forall s v, 0 <= k s v) -> (forall v, \sum_s k s v = (~~ out v)%:R) ->
  (forall s v, e s v -> 0 < k s v) -> (forall v, exists2 a, out a & connect e a v) ->
  (forall s, 0 <= h s) -> (forall s, h s <= \sum_v k s v * h v) -> forall v, h v = 0.
Proof.
move=> k0 sums e_pos reach h0 le.
have total : \sum_s (\sum_v k s v * h v - h s) = - \sum_(v | out v) h v.
  rewrite sumrB exchange_big /=; under eq_bigr => v _ do rewrite -mulr_suml sums.
  rewrite [X in _ - X](bigID out) /= opprD addrA addrAC -[RHS]add0r; congr (_ - _).
  apply/eqP; rewrite subr_eq0 [X in _ == X]big_mkcond /=; apply/eqP/eq_bigr => v _.
  by case: (out v); rewrite ?mul0r ?mul1r.
have slack s : 0 <= \sum_v k s v * h v - h s by rewrite subr_ge0.
have outs0 : \sum_(v | out v) h v = 0.
  apply/eqP; rewrite eq_le sumr_ge0 // andbT -oppr_ge0 -total.
  by apply: sumr_ge0 => s _; apply: slack.
have out0 v : out v -> h v = 0.
  move/eqP: outs0; rewrite psumr_eq0 // => /allP/(_ v (mem_index_enum v)).
  by case: (out v) => // /eqP.
have equal s : h s = \sum_v k s v * h v.
  move/eqP: total; rewrite outs0 oppr0 psumr_eq0 // => /allP/(_ s (mem_index_enum s)) /=.
  by rewrite subr_eq0 => /eqP.
have next s v : e s v -> h s = 0 -> h v = 0.
  move=> sv hs; have := equal s; rewrite hs => /esym/eqP; rewrite psumr_eq0 => [|w _].
    move/allP/(_ v (mem_index_enum v)) => /=.
    by rewrite mulf_eq0 gt_eqF ?e_pos // => /eqP.
  by rewrite mulr_ge0.
move=> v; have [a ao /connectP[p ap ->]] := reach v; have := out0 a ao.
by elim: p a ap {ao} => //= w p IH a /andP[aw wp] a0; apply: IH wp (next _ _ aw a0).
Qed.

Section Flows.
Variables (S : finType) (K : realFieldType) (edge : rel S) (o : S) (pB : S -> S -> K) (R : S -> K).
Definition ends x := [forall v, ~~ edge x v].
Hypotheses (to_o : forall s, ~~ edge s o) (from_o : forall v, connect edge o v).
Hypothesis to_ends : forall s, exists2 x, ends x & connect edge s x.
Hypotheses (pB_pos : forall s v, edge s v -> 0 < pB s v).
Hypothesis pB_law : forall v, v != o -> \sum_(s | edge s v) pB s v = 1.
Hypothesis R_pos : forall x, ends x -> 0 < R x.

(* Detailed balance summed over the children, and R at the ends.                                  *)
Definition flow (F : S -> K) := forall s,
  F s = (if ends s then R s else 0) + \sum_(v | edge s v) pB s v * F v.

(* Detailed balance with a law p on the children gives a flow.                                    *)
Theorem balance_is_flow F (p : S -> S -> K) : (forall x, ends x -> F x = R x) ->
  (forall s, ~~ ends s -> \sum_(v | edge s v) p s v = 1) ->
  (forall s v, edge s v -> F s * p s v = F v * pB s v) -> flow F.
Proof.
move=> at_ends law bal s; case: (boolP (ends s)) => es.
  by rewrite big_pred0 ?addr0 ?at_ends // => v; apply/negbTE/(forallP es).
rewrite add0r -[LHS]mulr1 -(law s es) mulr_sumr; apply: eq_bigr => v sv.
by rewrite bal // mulrC.
Qed.

Let k s v : K := if edge s v then pB s v else 0.
Lemma flow_k s (h : S -> K) : \sum_(v | edge s v) pB s v * h v = \sum_v k s v * h v.
Proof. by rewrite big_mkcond; apply: eq_bigr => v _; rewrite /k; case: ifP; rewrite ?mul0r. Qed.

Lemma vanishes h : (forall s, 0 <= h s) -> (forall s, h s <= \sum_v k s v * h v) ->
  forall v, h v = 0.
Proof.
apply: (@leaks _ _ k (pred1 o) edge) => [s v|v|s v sv|v].
- by rewrite /k; case: ifP => // /pB_pos/ltW.
- rewrite /k -big_mkcond /=; have [->|/pB_law //] := eqVneq v o.
  by rewrite big_pred0 // => s; apply/negbTE.
- by rewrite /k sv pB_pos.
by exists o; rewrite ?inE.
Qed.

(* 1. There is at most one flow, ...                                                              *)
Theorem one_flow F F' : flow F -> flow F' -> F =1 F'.
Proof.
move=> bal bal' v; apply/eqP; rewrite -subr_eq0 -normr_eq0; apply/eqP.
apply: (vanishes (h := fun v => `|F v - F' v|)) => [s|s] //; rewrite bal bal'.
rewrite opprD addrACA subrr add0r !flow_k -sumrB; apply: le_trans (ler_norm_sum _ _ _) _.
apply: ler_sum => w _; rewrite -mulrBr normrM ger0_norm // /k.
by case: ifP => // /pB_pos/ltW.
Qed.

(* ... there is one, ...                                                                          *)
Theorem some_flow : exists F, flow F.
Proof.
pose A : 'M[K]_#|S| := \matrix_(j, i) ((i == j)%:R - k (enum_val i) (enum_val j)).
have unit_A : A \in unitmx.
  rewrite -row_free_unit; apply: inj_row_free => c cA.
  have c0 v : c 0 (enum_rank v) = 0.
    apply/eqP; rewrite -normr_eq0; apply/eqP; move: v.
    apply: (vanishes (h := fun v => `|c 0 (enum_rank v)|)) => // s.
    move/matrixP/(_ 0 (enum_rank s)): cA; rewrite !mxE.
    under eq_bigr => j _ do rewrite mxE mulrBr enum_rankK.
    rewrite sumrB (bigD1 (enum_rank s)) //= eqxx mulr1 big1 ?addr0 => [|j /negbTE js]; last first.
      by rewrite eq_sym js mulr0.
    move/eqP; rewrite subr_eq0 => /eqP->; rewrite (reindex enum_rank) /=; last first.
      by apply: onW_bij; apply: enum_rank_bij.
    apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => v _.
    rewrite enum_rankK normrM mulrC ger0_norm // /k; by case: ifP => // /pB_pos/ltW.
  by apply/rowP => j; rewrite mxE -(enum_valK j) c0.
pose b : 'rV[K]_#|S| := \row_i (if ends (enum_val i) then R (enum_val i) else 0).
exists (fun s => (b *m invmx A) 0 (enum_rank s)) => s.
move: (b *m invmx A) (mulmxKV unit_A b) => c /matrixP/(_ 0 (enum_rank s)); rewrite !mxE enum_rankK.
under eq_bigr => j _ do rewrite mxE mulrBr enum_rankK.
rewrite sumrB (bigD1 (enum_rank s)) //= eqxx mulr1 big1 ?addr0 => [|j /negbTE js]; last first.
  by rewrite eq_sym js mulr0.
move=> <-; rewrite flow_k (reindex enum_rank) /=; last by apply: onW_bij; apply: enum_rank_bij.
under [X in _ - X]eq_bigr => v _ do rewrite enum_rankK mulrC.
by rewrite subrK.
Qed.

(* ... and it is positive.                                                                        *)
Theorem flow_is_positive F : flow F -> forall s, 0 < F s.
Proof.
move=> bal; have pos s : 0 <= F s.
  suff: `|F s| - F s = 0 by move/eqP; rewrite subr_eq0 => /eqP <-.
  apply: (vanishes (h := fun s => `|F s| - F s)) => {s} s; first by rewrite subr_ge0 ler_norm.
  rewrite [F s]bal flow_k; case: ifP => es.
    have no v : k s v = 0 by rewrite /k (negbTE (forallP es v)).
    have Rs := ltW (R_pos es); rewrite big1 => [|v _]; last by rewrite no mul0r.
    by rewrite addr0 ger0_norm // subrr big1 // => v _; rewrite no mul0r.
  rewrite add0r; under [X in _ <= X]eq_bigr => v _ do rewrite mulrBr.
  rewrite sumrB ler_add2r; apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => v _.
  by rewrite normrM ger0_norm // /k; case: ifP => // /pB_pos/ltW.
move=> s; have [x ex /connectP[p sp xE]] := to_ends s; elim: p s sp xE => [|v p IH] s /=.
  move=> _ <-; rewrite bal ex ltr_paddr ?R_pos // sumr_ge0 // => v xv.
  by rewrite mulr_ge0 // (ltW (pB_pos xv)).
case/andP=> sv /IH pos_v /pos_v Fv; rewrite bal ltr_paddl //; first by case: ifP => // /R_pos/ltW.
rewrite (bigD1 v) //= ltr_paddr ?mulr_gt0 ?pB_pos // sumr_ge0 // => w /andP[sw _].
by rewrite mulr_ge0 // (ltW (pB_pos sw)).
Qed.

(* 2. The policy p_F of the flow is a law on children, and F is the only solution of the equations of
   visits that starts with F(o): u(v) = [v = o] F(o) + sum over parents of u(s) p_F(v | s).       *)
Definition forced F s v : K := F v * pB s v / F s.
Definition visits (p : S -> S -> K) (z : K) (u : S -> K) := forall v,
  u v = (v == o)%:R * z + \sum_(s | edge s v) u s * p s v.

Theorem forced_law F : flow F -> forall s, ~~ ends s -> \sum_(v | edge s v) forced F s v = 1.
Proof.
move=> bal s es; have Fs : F s != 0 by rewrite gt_eqF ?flow_is_positive.
rewrite -mulr_suml -(divff Fs); congr (_ / _); rewrite [RHS]bal (negbTE es) add0r.
by apply: eq_bigr => v _; rewrite mulrC.
Qed.

Theorem flow_is_visits F : flow F -> visits (forced F) (F o) F.
Proof.
move=> bal v; have pos := flow_is_positive bal.
have -> : \sum_(s | edge s v) F s * forced F s v = F v * \sum_(s | edge s v) pB s v.
  by rewrite mulr_sumr; apply: eq_bigr => s _; rewrite /forced mulrC divfK // gt_eqF.
have [->|vo] := eqVneq v o; last by rewrite mul0r add0r pB_law ?mulr1.
by rewrite big_pred0 ?mulr0 ?addr0 ?mul1r // => s; apply/negbTE.
Qed.

Theorem one_visits F u : flow F -> visits (forced F) (F o) u -> u =1 F.
Proof.
move=> bal vis v; have vis' := flow_is_visits bal; have pos := flow_is_positive bal.
have p_ge0 s w : edge s w -> 0 < forced F s w.
  by move=> sw; rewrite divr_gt0 ?mulr_gt0 ?pB_pos.
apply/eqP; rewrite -subr_eq0 -normr_eq0; apply/eqP.
pose q w s : K := if edge s w then forced F s w else 0.
apply: (@leaks _ _ q ends (fun w s => edge s w) (fun v => `|u v - F v|)) => [w s|s|w s sw|w|w|w] //.
- by rewrite /q; case: ifP => // /p_ge0/ltW.
- rewrite /q -big_mkcond /=; case: (boolP (ends s)) => es; last by rewrite forced_law.
  by rewrite big_pred0 // => w; apply/negbTE/(forallP es).
- by rewrite /q sw p_ge0.
- by have [x ex wx] := to_ends w; exists x => //; rewrite connect_rev.
have -> : u w - F w = \sum_s q w s * (u s - F s).
  rewrite vis (vis' w) opprD addrACA subrr add0r -sumrB big_mkcond; apply: eq_bigr => s _.
  by rewrite /q; case: ifP; rewrite ?mul0r // -mulrBl mulrC.
apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => s _.
by rewrite normrM ger0_norm // /q; case: ifP => // /p_ge0/ltW.
Qed.

(* Z = F(o) is the sum of R, if o is no end: so p_T = R / Z.                                      *)
Theorem flow_of_o F : flow F -> F o = \sum_(x | ends x) R x.
Proof.
move=> bal; have : \sum_s F s = \sum_(x | ends x) R x + \sum_(v | v != o) F v.
  rewrite (eq_bigr _ (fun s _ => bal s)) big_split -big_mkcond /=; congr (_ + _).
  rewrite (exchange_big_dep predT) //= (bigD1 o) //= big_pred0 ?add0r => [|s]; last exact/negbTE.
  by apply: eq_bigr => v vo; rewrite -mulr_suml pB_law ?mul1r.
by rewrite (bigD1 o) //= => /addIr.
Qed.

(* The walk by a policy p: the law of its state after n steps, if it has not ended before.        *)
Definition push (p : S -> S -> K) (a : S -> K) v : K := \sum_(s | edge s v) a s * p s v.
Definition walk p n : S -> K := iter n (push p) (fun v => (v == o)%:R).
Definition tends (a : nat -> K) (l : K) :=
  forall e, 0 < e -> exists m, forall n, (m <= n)%N -> `|a n - l| < e.

Section Walk.
Variable F : S -> K.
Hypotheses (bal : flow F) (archimedean : forall y : K, exists n : nat, y < n%:R).
Let p := forced F.
Let at_time n v := walk p n v.
Let alive n := \sum_v at_time n v.

Lemma p_pos s v : edge s v -> 0 < p s v.
Proof. by move=> sv; rewrite divr_gt0 ?mulr_gt0 ?pB_pos ?flow_is_positive. Qed.

Lemma push_le a b : (forall v, a v <= b v) -> forall v, push p a v <= push p b v.
Proof. by move=> ab v; apply: ler_sum => s /p_pos/ltW p0; apply: ler_wpmul2r. Qed.

Lemma iter_le n a b : (forall v, a v <= b v) ->
  forall v, iter n (push p) a v <= iter n (push p) b v.
Proof. by move=> ab; elim: n => //= n IH; apply: push_le. Qed.

Lemma iter_scaled_sum n c m (a : nat -> S -> K) v :
  iter n (push p) (fun w => c * \sum_(k < m) a k w) v = c * \sum_(k < m) iter n (push p) (a k) v.
Proof.
elim: n v => //= n IH v; rewrite /push exchange_big /= mulr_sumr.
by apply: eq_bigr => s _; rewrite IH -mulrA mulr_suml.
Qed.

Lemma at_time_ge0 n v : 0 <= at_time n v.
Proof.
elim: n v => [|n IH] v; first by rewrite ler0n.
by apply: sumr_ge0 => s /p_pos/ltW p0; apply: mulr_ge0 => //; apply: IH.
Qed.

(* A step takes all that has not ended.                                                           *)
Lemma push_total a : \sum_v push p a v = \sum_(s | ~~ ends s) a s.
Proof.
rewrite (exchange_big_dep predT) //= [RHS]big_mkcond; apply: eq_bigr => s _.
rewrite -mulr_sumr; case: ifP => [es|/negbFE es]; first by rewrite (forced_law bal) ?mulr1.
by rewrite big_pred0 ?mulr0 // => v; apply/negbTE/(forallP es).
Qed.

Lemma alive_falls n m : (n <= m)%N -> alive m <= alive n.
Proof.
move=> /subnK <-; elim: (m - n)%N => // i IH; apply: le_trans IH; rewrite addSn.
rewrite /alive push_total [X in _ <= X](bigID (fun s => ends s)) /= ler_addr.
by apply: sumr_ge0 => s _; apply: at_time_ge0.
Qed.

(* What of F is not yet visited after n steps.                                                    *)
Lemma one_more n v : iter n (push p) F v = F o * at_time n v + iter n.+1 (push p) F v.
Proof.
elim: n v => [|n IH] v; first by rewrite [LHS](flow_is_visits bal) mulrC.
rewrite /at_time /walk !iterS mulr_sumr -big_split /=; apply: eq_bigr => s _.
by rewrite mulrA -mulrDl -iterS -IH.
Qed.

Lemma visits_until n v : F v = F o * (\sum_(i < n) at_time i v) + iter n (push p) F v.
Proof.
elim: n => [|n IH]; first by rewrite big_ord0 mulr0 add0r.
by rewrite big_ord_recr /= mulrDr -addrA -iterS -one_more.
Qed.

Lemma reached_in_time v : exists n, 0 < at_time n v.
Proof.
have /connectP[q oq ->] := from_o v; exists (size q); elim/last_ind: q oq => [|q w IH].
  by rewrite /at_time /= eqxx ltr01.
rewrite rcons_path last_rcons size_rcons => /andP[/IH pos qw]; rewrite /at_time /= /push.
rewrite (bigD1 (last o q)) //=; apply: ltr_paddr; last exact: mulr_gt0 (p_pos qw).
apply: sumr_ge0 => s /andP[/p_pos/ltW sw _]; apply: mulr_ge0 sw; exact: at_time_ge0.
Qed.

Lemma left_ge0 n v : 0 <= iter n (push p) F v.
Proof.
have Fo : 0 < F o by apply: flow_is_positive.
elim: n v => [|n IH] v; first by rewrite ltW // flow_is_positive.
by apply: sumr_ge0 => s /p_pos/ltW p0; apply: mulr_ge0 => //; apply: IH.
Qed.

(* As what lives falls and its sum is bounded, it falls like 1 / n.                               *)
Lemma alive_bound n : n%:R * alive n <= (\sum_v F v) / F o.
Proof.
have Fo : 0 < F o by apply: flow_is_positive.
rewrite ler_pdivl_mulr // mulrC; apply: (@le_trans _ _ (F o * \sum_(i < n) alive i)).
  have -> : n%:R * alive n = \sum_(i < n) alive n by rewrite sumr_const card_ord mulr_natl.
  apply: (ler_wpmul2l (ltW Fo)); apply: ler_sum => i _; exact/alive_falls/ltnW.
rewrite /alive exchange_big /= mulr_sumr; apply: ler_sum => v _.
by rewrite [X in _ <= X](visits_until n v) ler_addl left_ge0.
Qed.

(* F is at most a multiple of the visits in the first steps, so that what is left falls as well.  *)
Lemma left_bound : exists c, forall n v, n%:R * iter n (push p) F v <= c.
Proof.
pose at_ v := xchoose (reached_in_time v); pose m := (\max_v at_ v).+1.
pose M := \sum_v F v / at_time (at_ v) v; have M0 v : 0 <= F v / at_time (at_ v) v.
  by rewrite divr_ge0 ?at_time_ge0 // ltW // flow_is_positive.
have F_le v : F v <= M * \sum_(i < m) at_time i v.
  have lt_m : (at_ v < m)%N by rewrite ltnS leq_bigmax.
  have pos : 0 < at_time (at_ v) v := xchooseP (reached_in_time v).
  have -> : F v = F v / at_time (at_ v) v * at_time (at_ v) v by rewrite divfK // gt_eqF.
  apply: ler_pmul => //; first exact: at_time_ge0.
    by rewrite /M (bigD1 v) //= ler_addl sumr_ge0.
  rewrite (bigD1 (Ordinal lt_m)) //= ler_addl sumr_ge0 // => i _; exact: at_time_ge0.
exists (M * m%:R * ((\sum_v F v) / F o)) => n v.
have left_le : iter n (push p) F v <= M * (m%:R * alive n).
  apply: le_trans (iter_le n F_le v) _; rewrite iter_scaled_sum ler_wpmul2l ?sumr_ge0 //.
  have -> : m%:R * alive n = \sum_(i < m) alive n by rewrite sumr_const card_ord mulr_natl.
  apply: ler_sum => i _; rewrite /at_time /walk -iterD (le_trans _ (alive_falls (leq_addr i n))) //.
  by rewrite /alive (bigD1 v) //= ler_addl sumr_ge0 // => w _; apply: at_time_ge0.
apply: le_trans (ler_wpmul2l (ler0n _ n) left_le) _; rewrite mulrCA [n%:R * _]mulrCA mulrA.
by apply: ler_wpmul2l (alive_bound n); rewrite mulr_ge0 ?ler0n ?sumr_ge0.
Qed.

Lemma falls_to_zero (a : nat -> K) c :
  (forall n, 0 <= a n) -> (forall n, n%:R * a n <= c) -> tends a 0.
Proof.
move=> a0 ac e e0; have [m cm] := archimedean (c / e); exists m => n mn.
have n0 : 0 < n%:R :> K.
  have c0 : 0 <= c by have := ac 0%N; rewrite mul0r.
  by apply: lt_le_trans (le_lt_trans (divr_ge0 c0 (ltW e0)) cm) _; rewrite ler_nat.
rewrite subr0 ger0_norm // -(ltr_pmul2r n0) mulrC; apply: le_lt_trans (ac n) _.
have -> : c = c / e * e by rewrite divfK // gt_eqF.
rewrite [e * _]mulrC ltr_pmul2r //; apply: lt_le_trans cm _; by rewrite ler_nat.
Qed.

(* 2. The walk ends: its chance of going on goes to zero.  Its visits of v are F(v) / Z in the
   limit, ...                                                                                     *)
Theorem walk_ends : tends alive 0.
Proof.
apply: falls_to_zero alive_bound => n; apply: sumr_ge0 => v _; exact: at_time_ge0.
Qed.

Theorem visits_tend v : tends (fun n => \sum_(i < n) at_time i v) (F v / F o).
Proof.
have Fo : 0 < F o by apply: flow_is_positive.
have [c left_c] := left_bound; move=> e e0.
have small := falls_to_zero (fun n => left_ge0 n v) (fun n => left_c n v).
have [|m near] := small (F o * e); first by rewrite mulr_gt0.
exists m => n /near; rewrite subr0 ger0_norm ?left_ge0 // => lt.
rewrite distrC {1}(visits_until n v) mulrDl [F o * _]mulrC mulfK ?gt_eqF // addrAC subrr add0r.
rewrite ger0_norm ?divr_ge0 ?left_ge0 ?(ltW Fo) //.
by rewrite -(ltr_pmul2r Fo) divfK ?gt_eqF // mulrC.
Qed.

(* ... so that x is where it ends with probability R(x) / Z, and its expected length, the sum of the
   chances of being on the way at each time, is the flow of the states with children, over Z.     *)
Theorem ends_tend x : ends x ->
  tends (fun n => \sum_(i < n) at_time i x) (R x / \sum_(y | ends y) R y).
Proof.
move=> ex; rewrite -(flow_of_o bal); have -> : R x = F x; last exact: visits_tend.
by rewrite bal ex big_pred0 ?addr0 // => v; apply/negbTE/(forallP ex).
Qed.

Lemma tends_sum (J : finType) (P : pred J) (a : J -> nat -> K) (l : J -> K) :
  (forall j, tends (a j) (l j)) -> tends (fun n => \sum_(j | P j) a j n) (\sum_(j | P j) l j).
Proof.
move=> al e e0; pose d := e / (#|J|.+1)%:R; have J0 : 0 < (#|J|.+1)%:R :> K by rewrite ltr0n.
have d0 : 0 < d by rewrite divr_gt0.
have [m near] : exists m, forall j n, (m <= n)%N -> `|a j n - l j| < d.
  have near_j j : exists m, forall n, (m <= n)%N -> `|a j n - l j| < d by apply: al.
  suff [m near] : exists m, forall j n, j \in enum J -> (m <= n)%N -> `|a j n - l j| < d.
    by exists m => j n; apply: near; rewrite mem_enum.
  elim: (enum J) => [|j js [m near]]; first by exists 0%N.
  have [m' near_j'] := near_j j; exists (maxn m' m) => i n; rewrite inE geq_max.
  by case/orP=> [/eqP-> /andP[/near_j']|/near lt /andP[_ /lt]].
exists m => n mn; rewrite -sumrB; apply: le_lt_trans (ler_norm_sum _ _ _) _.
apply: (@le_lt_trans _ _ (\sum_(j : J) d)); last first.
  have dE : d * (#|J|.+1)%:R = e by rewrite divfK // gt_eqF.
  by rewrite sumr_const -dE -mulr_natr -subr_gt0 -mulrBr mulr_gt0 // subr_gt0 ltr_nat.
rewrite big_mkcond; apply: ler_sum => j _; case: ifP => _; last exact: ltW.
by apply/ltW/near.
Qed.

Theorem length_tends : tends (fun n => \sum_(i < n) \sum_(s | ~~ ends s) at_time i s)
  ((\sum_(s | ~~ ends s) F s) / \sum_(y | ends y) R y).
Proof.
rewrite -(flow_of_o bal) mulr_suml => e e0.
have [m near] := tends_sum (fun s => ~~ ends s) visits_tend e0.
by exists m => n /near; rewrite exchange_big.
Qed.
End Walk.
End Flows.

(* 3. The flows of the states with children are at least the sum of R(x) d(x), with d the distance
   from o, and equal iff no edge with flow is a detour.  Here p_B may be zero somewhere.          *)
Definition distance_from (S : finType) (edge : rel S) (o : S) (d : S -> nat) := forall v,
  (exists p, [/\ path edge o p, last o p = v & size p = d v]) /\
  (forall p, path edge o p -> last o p = v -> (d v <= size p)%N).

Section Shortest.
Variables (S : finType) (K : realFieldType) (edge : rel S) (o : S) (pB : S -> S -> K) (R F : S -> K).
Variable d : S -> nat.
Hypotheses (to_o : forall s, ~~ edge s o) (d_dist : distance_from edge o d).
Hypotheses (pB_ge0 : forall s v, edge s v -> 0 <= pB s v) (F_ge0 : forall s, 0 <= F s).
Hypothesis pB_law : forall v, v != o -> \sum_(s | edge s v) pB s v = 1.
Hypothesis bal : flow edge pB R F.
Let ends := ends edge.

Lemma d_o : d o = 0%N.
Proof. by apply/eqP; rewrite -leqn0; apply: ((d_dist o).2 [::]). Qed.

Lemma d_edge s v : edge s v -> (d v <= (d s).+1)%N.
Proof.
move=> sv; have [[p [op lp <-]] _] := d_dist s; rewrite -(size_rcons p v).
by apply: (d_dist v).2; rewrite ?last_rcons // rcons_path op lp.
Qed.

(* The steps along an edge, each counted with its flow.                                           *)
Let slack s v : K := pB s v * F v * ((d s).+1%:R - (d v)%:R).

Lemma length_and_distance :
  \sum_(s | ~~ ends s) F s =
  \sum_(x | ends x) R x * (d x)%:R + \sum_s \sum_(v | edge s v) slack s v.
Proof.
have inner s : ~~ ends s -> F s = \sum_(v | edge s v) pB s v * F v.
  by move=> /negbTE es; rewrite [LHS]bal -/(ends s) es add0r.
have none s v : ends s -> edge s v = false by move/forallP/(_ v)/negbTE.
have at_end x : ends x -> F x = R x.
  by move=> ex; rewrite bal -/(ends x) ex big_pred0 ?addr0 // => v; apply: none.
have into (f : S -> K) : f o = 0 ->
    \sum_s \sum_(v | edge s v) pB s v * F v * f v = \sum_v F v * f v.
  move=> fo; rewrite (exchange_big_dep predT) //=; apply: eq_bigr => v _.
  have [->|vo] := eqVneq v o; first by rewrite fo mulr0 big1 // => s _; rewrite mulr0.
  by rewrite -[F v in RHS]mul1r -(pB_law vo) !mulr_suml.
have out (f : S -> K) :
    \sum_s \sum_(v | edge s v) pB s v * F v * f s = \sum_(s | ~~ ends s) F s * f s.
  rewrite [RHS]big_mkcond; apply: eq_bigr => s _; rewrite -mulr_suml; case: ifP => es.
    by rewrite -inner.
  by rewrite big_pred0 ?mul0r // => v; apply: none; apply: negbFE.
have -> : \sum_s \sum_(v | edge s v) slack s v =
    \sum_(s | ~~ ends s) F s * (d s).+1%:R - \sum_v F v * (d v)%:R.
  rewrite -out -(into (fun v => (d v)%:R)) ?d_o // -sumrB; apply: eq_bigr => s _.
  by rewrite -sumrB; apply: eq_bigr => v _; rewrite -mulrBr.
have -> : \sum_(s | ~~ ends s) F s * (d s).+1%:R =
    \sum_(s | ~~ ends s) F s + \sum_(s | ~~ ends s) F s * (d s)%:R.
  by rewrite -big_split; apply: eq_bigr => s _; rewrite -addn1 natrD mulrDr mulr1 addrC.
have -> : \sum_v F v * (d v)%:R =
    \sum_(x | ends x) R x * (d x)%:R + \sum_(s | ~~ ends s) F s * (d s)%:R.
  by rewrite (bigID ends) /=; congr (_ + _); apply: eq_bigr => x /at_end->.
by rewrite opprD addrACA subrr addr0 addrC subrK.
Qed.

Lemma slack_ge0 s v : edge s v -> 0 <= slack s v.
Proof.
by move=> sv; rewrite !mulr_ge0 ?pB_ge0 // subr_ge0 ler_nat d_edge.
Qed.

Theorem length_at_least_distance :
  \sum_(x | ends x) R x * (d x)%:R <= \sum_(s | ~~ ends s) F s.
Proof.
rewrite length_and_distance ler_addl sumr_ge0 // => s _; apply: sumr_ge0 => v; exact: slack_ge0.
Qed.

Theorem shortest_iff_no_detour :
  \sum_(s | ~~ ends s) F s = \sum_(x | ends x) R x * (d x)%:R <->
  (forall s v, edge s v -> pB s v * F v != 0 -> d v = (d s).+1).
Proof.
rewrite length_and_distance -[X in _ = X]addr0; split=> [/addrI/eqP|no_detour]; last first.
  congr (_ + _); apply: big1 => s _; apply: big1 => v sv; rewrite /slack.
  have [->|pos] := eqVneq (pB s v * F v) 0; first by rewrite mul0r.
  by rewrite (no_detour s v sv pos) subrr mulr0.
have outer s : 0 <= \sum_(v | edge s v) slack s v by apply: sumr_ge0 => v; apply: slack_ge0.
rewrite psumr_eq0 // => /allP zero s v sv flows; have /eqP := zero s (mem_index_enum s).
move/eqP; rewrite psumr_eq0 => [/allP/(_ v (mem_index_enum v))|w]; last exact: slack_ge0.
rewrite sv /= /slack mulf_eq0 (negbTE flows) /= subr_eq0 eqr_nat.
by move/eqP.
Qed.
End Shortest.

(* There is such a distance.  With a positive p_B each edge has flow: the length is least iff the
   graph has no detour.                                                                           *)
Lemma distance_exists (S : finType) (edge : rel S) (o : S) : (forall v, connect edge o v) ->
  exists d, distance_from edge o d.
Proof.
move=> from_o; pose steps v n := [exists p : n.-tuple S, path edge o p && (last o p == v)].
have some v : exists n, steps v n.
  have /connectP[p op lp] := from_o v; exists (size p); apply/existsP; exists (in_tuple p).
  by rewrite op lp eqxx.
exists (fun v => ex_minn (some v)) => v; case: ex_minnP => n /existsP[p /andP[op /eqP lp]] least.
split=> [|q oq lq]; first by exists p; rewrite size_tuple.
by apply: least; apply/existsP; exists (in_tuple q); rewrite oq lq eqxx.
Qed.
