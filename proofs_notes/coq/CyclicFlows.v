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
End Flows.
