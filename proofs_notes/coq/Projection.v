(* The Markov projection of a path-dependent sampler: a policy on the base graph with the same
   visits of states, the same flows through edges and the same terminal law.  Among unrestricted
   policies, path dependence therefore adds nothing to the set of terminal laws.                  *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies Lift.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* The probability that the sampler visits the state s, with whatever latent ...                  *)
Definition state_visits (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF : L -> L -> K) (s : G) : K := \sum_(u | base u == s) mass pF src u.

(* ... and that it takes the edge s -> s'.                                                        *)
Definition edge_flow (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF : L -> L -> K) (s s' : G) : K := \sum_(u | base u == s) mass pF src u * pF u (step u s').

(* Visits are what flows in, except at s_o ...                                                    *)
Lemma state_visits_in (G : pointedDAG) (L : lift G) (K : fieldType) (pF : L -> L -> K) (s : G) :
  s != src -> state_visits pF s = \sum_(s' | edge s' s) edge_flow pF s' s.
Proof.
move=> ss; rewrite -(sum_parents (fun u v => mass pF src u * pF u v)); apply: eq_bigr => v /eqP vs.
by rewrite mass_last //; apply: contraNneq ss => vo; rewrite -vs vo base_src.
Qed.

Lemma state_visits_src (G : pointedDAG) (L : lift G) (K : fieldType) (pF : L -> L -> K) :
  state_visits pF src = 1.
Proof.
by rewrite /state_visits (big_pred1 src) ?mass_refl // => v; rewrite base_eq_src.
Qed.

(* ... and what flows out, except at terminal states.                                             *)
Lemma state_visits_out (G : pointedDAG) (L : lift G) (K : fieldType) (pF : L -> L -> K) (s : G) :
  forward_policy pF -> ~~ terminal s ->
  \sum_(s' | edge s s') edge_flow pF s s' = state_visits pF s.
Proof.
move=> norm ns; rewrite exchange_big; apply: eq_bigr => u /eqP us /=.
by rewrite -mulr_sumr -us -sum_children norm ?mulr1 // -terminal_base us.
Qed.

(* A Markovian policy q with q(s' | s) = edge flow / visits has the visits of p_F ...             *)
Theorem projection_visits (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF : L -> L -> K) (q : G -> G -> K) :
  (forall s s', edge s s' -> state_visits pF s * q s s' = edge_flow pF s s') ->
  forall s, mass q src s = state_visits pF s.
Proof.
move=> proj; elim/topological_ind => s IH.
have [->|ss] := eqVneq s src; first by rewrite mass_refl state_visits_src.
by rewrite mass_last // state_visits_in //; apply: eq_bigr => s' ss'; rewrite IH // proj.
Qed.

(* ... hence its terminal law; its edge flows are those of p_F by hypothesis.                     *)
Theorem projection_terminal_law (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF : L -> L -> K) (q : G -> G -> K) :
  (forall s s', edge s s' -> state_visits pF s * q s s' = edge_flow pF s s') ->
  forall x : L, terminal x -> mass q src (base x) = mass pF src x.
Proof.
move=> proj x tx; rewrite (projection_visits proj) /state_visits (big_pred1 x) // => v.
by apply/eqP/eqP => [vx|->//]; apply/esym/base_terminal; rewrite ?terminal_base.
Qed.

(* It is the only Markovian policy with the edge flows of p_F, on the states that are visited.    *)
Theorem projection_unique (G : pointedDAG) (L : lift G) (K : fieldType)
    (pF : L -> L -> K) (q : G -> G -> K) :
  (forall s s', edge s s' -> mass q src s * q s s' = edge_flow pF s s') ->
  forall s s', edge s s' -> state_visits pF s != 0 ->
  q s s' = edge_flow pF s s' / state_visits pF s.
Proof.
move=> same s s' ss' visited; apply: (mulfI visited); rewrite mulrCA mulfV // mulr1 -same //.
congr (_ * _); have [->|so] := eqVneq s src; first by rewrite mass_refl state_visits_src.
by rewrite mass_last // state_visits_in //; apply: eq_bigr => u us; rewrite same.
Qed.

(* With probabilities, p_F >= 0, a Markov projection exists; it is uniform where p_F never goes.  *)
Theorem projection_exists (G : pointedDAG) (L : lift G) (K : numFieldType) (pF : L -> L -> K) :
  forward_policy pF -> (forall u v, edge u v -> 0 <= pF u v) ->
  exists q : G -> G -> K,
  [/\ forward_policy q, forall s s', edge s s' -> 0 <= q s s',
      forall s, mass q src s = state_visits pF s,
      forall s s', edge s s' -> mass q src s * q s s' = edge_flow pF s s'
    & forall x : L, terminal x -> mass q src (base x) = mass pF src x].
Proof.
move=> norm pos; have mass_ge0 (u : L) : 0 <= mass pF src u.
  rewrite /mass big_seq sumr_ge0 // => p; rewrite mem_trajs => /andP[sp _].
  elim: p (src : L) sp => [|v p IH] w /=; first by rewrite ler01.
  by case/andP=> wv /IH; apply: mulr_ge0; apply: pos.
pose q s s' := if state_visits pF s == 0 then #|[pred t | edge s t]|%:R^-1
               else edge_flow pF s s' / state_visits pF s.
have proj s s' : edge s s' -> state_visits pF s * q s s' = edge_flow pF s s'.
  move=> ss'; rewrite /q; case: eqP => [v0|/eqP v0]; last by rewrite mulrCA mulfV ?mulr1.
  rewrite v0 mul0r /edge_flow big1 // => u us.
  by rewrite (psumr_eq0P _ v0) ?mul0r.
exists q; split=> //.
- move=> s ns; rewrite /q; case: eqP => [v0|/eqP v0]; last first.
    by rewrite -mulr_suml state_visits_out ?mulfV.
  have /forallPn[t] := ns; rewrite negbK => st.
  by rewrite sumr_const -[LHS]mulr_natr mulVf // pnatr_eq0 -lt0n; apply/card_gt0P; exists t.
- move=> s s' ss'; rewrite /q; case: eqP => _; first by rewrite invr_ge0 ler0n.
  rewrite divr_ge0 ?sumr_ge0 // => u /eqP us.
  by rewrite mulr_ge0 // pos // step_edge ?us.
- exact: projection_visits.
- by move=> s s' ss'; rewrite (projection_visits proj) proj.
- exact: projection_terminal_law.
Qed.
