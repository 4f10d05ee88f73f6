(* The Markov projection of a path-dependent sampler: a policy on the base graph with the same
   visits of states, the same flows through edges and the same terminal law.  Among unrestricted
   policies, path dependence therefore adds nothing to the set of terminal laws.                  *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Dag Policies Flow Lift.
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

(* representational-power: of laws on trajectories, a lift has more if and only if a state with two
   children has two lifts.                                                                        *)
Theorem more_trajectory_laws (G : pointedDAG) (L : lift G) (K : numFieldType) :
  (forall pF : L -> L -> K, forward_policy pF -> (forall u v, edge u v -> 0 <= pF u v) ->
     exists2 q : G -> G -> K, forward_policy q &
     forall p, complete p -> weight pF src p = weight q src (map base p)) <->
  (forall (u v : L) a b, base u = base v -> edge (base u) a -> edge (base u) b -> a != b -> u = v).
Proof.
split=> [none u v a b uv ua ub ab|one pF norm _].
  have [//|u_v] := eqVneq u v; pose c w x : K := ((w == u) && (x == step u a)).+1%:R.
  have c_pos w x : 0 < c w x by rewrite ltr0n.
  pose pF w x := c w x / \sum_(y | edge w y) c w y.
  have sum_pos w : ~~ terminal w -> 0 < \sum_(y | edge w y) c w y.
    move=> /forallPn[x]; rewrite negbK => wx; rewrite (bigD1 x) //=; apply: ltr_paddr (c_pos w x).
    by apply: sumr_ge0 => y _; apply: ltW (c_pos w y).
  have pF_pos w x : edge w x -> 0 < pF w x.
    by move=> wx; rewrite divr_gt0 ?sum_pos //; apply/forallPn; exists x; rewrite negbK.
  have norm : forward_policy pF by move=> w nw; rewrite -mulr_suml divff // gt_eqF ?sum_pos.
  have [q normq law] := none pF norm (fun w x wx => ltW (pF_pos w x wx)).
  have prefix w p : path edge (src : L) p -> last src p = w ->
      weight pF src p = weight q src (map base p).
    elim/reverse_topological_ind: w p => w IH p sp lp; case: (boolP (terminal w)) => tw.
      by apply: law; rewrite /complete sp lp.
    rewrite -[LHS]mulr1 -(norm w tw) -[RHS]mulr1 -(normq (base w)) ?terminal_base //.
    rewrite sum_children !mulr_sumr; apply: eq_bigr => s' ws.
    have := IH _ (step_edge ws) (rcons p (step w s')).
    rewrite rcons_path sp lp step_edge // last_rcons map_rcons !weight_rcons base_step // lp.
    by rewrite -(base_src L) last_map lp => ->.
  have row w s' : edge (base w) s' -> pF w (step w s') = q (base w) s'.
    move=> ws; have [p /andP[sp /eqP lp]] := reached w.
    have := prefix _ (rcons p (step w s')) _ erefl.
    rewrite rcons_path sp lp step_edge // map_rcons !weight_rcons base_step // lp => /(_ isT).
    rewrite -(prefix w p sp lp) -(base_src L) last_map lp; apply: mulfI.
    by rewrite gt_eqF // weight_positive.
  have vu : (v == u) = false by rewrite eq_sym (negbTE u_v).
  have at_v : q (base u) a = q (base u) b.
    by rewrite uv -!row -?uv // /pF /c vu.
  have at_u : q (base u) a = 2%:R * q (base u) b.
    rewrite -!row // /pF mulrA; congr (_ / _); rewrite /c !eqxx /= -[X in 2%:R * X]/(_.+1%:R).
    have -> : (step u b == step u a) = false; last by rewrite mulr1.
    by apply: contraNF ab => /eqP ba; rewrite -(base_step ua) -ba base_step.
  have : 0 < q (base u) b by rewrite -row // pF_pos // step_edge.
  by rewrite -[q _ b](addKr (q (base u) b)) -mulr2n -mulr_natl -at_u at_v addNr ltxx.
pose q s s' : K := if [pick u : L | base u == s] is Some u then pF u (step u s') else 0.
have same (u : L) s' : edge (base u) s' -> pF u (step u s') = q (base u) s'.
  move=> us; rewrite /q; case: pickP => [w /eqP wu|/(_ u)]; last by rewrite eqxx.
  have [->//|uw] := eqVneq w u; have only (w' : L) : base w' = base u -> pF w' (step w' s') = 1.
    move=> wu'; rewrite -(norm w'); last first.
      by rewrite -terminal_base wu'; apply/forallPn; exists s'; rewrite negbK.
    rewrite (big_pred1 (step w' s')) // => v; apply/idP/eqP => [wv|->]; last first.
      by apply: step_edge; rewrite wu'.
    rewrite (edge_step wv); congr (step _ _); apply/eqP; apply: contraNT uw => vs.
    by apply/eqP; apply: (one w u (base v) s'); rewrite ?wu // -wu' base_edge.
  by rewrite !only.
exists q => [s ns|p /andP[sp _]].
  have [u us] := base_surjective L s; rewrite -us in ns *.
  rewrite -(norm u) -?terminal_base // sum_children; apply: eq_bigr => s' us'.
  by rewrite same.
rewrite -(base_src L); elim: p (src : L) sp => //= v p IH u /andP[uv /IH->].
by rewrite {1}(edge_step uv) same ?base_edge.
Qed.
