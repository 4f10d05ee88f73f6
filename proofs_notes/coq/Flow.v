(* The flow that a backward policy sends from the terminal states to s_o, and the forward policy it
   induces.  Consequence: on every finite pointed DAG and for every positive R, the hypotheses of
   the balance theorems can be met.                                                               *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Dag Policies Normalisation SubtrajectoryBalance.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* F(s) = sum over the terminal x and the trajectories tau : s -> x of R(x) p_B(tau | x).         *)
Definition backward_flow (G : dag) (K : fieldType) (pB : G -> G -> K) (R : G -> K) (s : G) : K :=
  \sum_(x | terminal x) R x * mass pB s x.

(* F is R at terminal states ...                                                                  *)
Lemma flow_terminal (G : dag) (K : fieldType) (pB : G -> G -> K) (R : G -> K) :
  state_flow (backward_flow pB R) R.
Proof.
move=> x tx; rewrite /backward_flow (bigD1 x) //= mass_refl mulr1 big1 ?addr0 // => y /andP[_ yx].
rewrite /mass sum_trajs_first; last by rewrite eq_sym.
by rewrite big1 ?mulr0 // => v xv; move/forallP/(_ v): tx; rewrite xv.
Qed.

(* ... and the sum of p_B(s | v) F(v) over the children v of any other s.                         *)
Lemma flow_children (G : dag) (K : fieldType) (pB : G -> G -> K) (R : G -> K) (s : G) :
  ~~ terminal s -> backward_flow pB R s = \sum_(v | edge s v) pB s v * backward_flow pB R v.
Proof.
move=> ns; rewrite /backward_flow; under [RHS]eq_bigr => v _ do rewrite mulr_sumr.
rewrite exchange_big; apply: eq_bigr => x tx.
rewrite /mass sum_trajs_first; last by apply: contraNneq ns => ->.
rewrite mulr_sumr; apply: eq_bigr => v _.
by rewrite mulrCA; congr (_ * _); rewrite mulr_sumr.
Qed.

(* The forward policy of the flow: p_F(v | u) = p_B(u | v) F(v) / F(u).                           *)
Definition flow_policy (G : dag) (K : fieldType) (pB : G -> G -> K) (R : G -> K) (u v : G) : K :=
  pB u v * backward_flow pB R v / backward_flow pB R u.

(* Wherever the flow vanishes nowhere, its forward policy is normalised and in balance.           *)
Theorem flow_policy_balances (G : pointedDAG) (K : fieldType) (pB : G -> G -> K) (R : G -> K) :
  (forall s : G, backward_flow pB R s != 0) ->
  forward_policy (flow_policy pB R) /\
  subtrajectory_balance (flow_policy pB R) pB (backward_flow pB R).
Proof.
move=> F0; split=> [u nu|p q r _ /=].
  by rewrite -mulr_suml -flow_children // divff.
rewrite last_cat; elim: q (last _ p) => [|v q IH] u /=; first by rewrite mulr1 mul1r.
by rewrite /flow_policy mulrA [backward_flow pB R u * _]mulrC divfK // -!mulrA IH.
Qed.

(* The flow of positive rewards along positive probabilities is positive everywhere.              *)
Lemma flow_positive (G : dag) (K : numFieldType) (pB : G -> G -> K) (R : G -> K) :
  (forall x, terminal x -> 0 < R x) -> (forall u v, edge u v -> 0 < pB u v) ->
  forall s, 0 < backward_flow pB R s.
Proof.
move=> R_pos pB_pos s; elim/reverse_topological_ind: s => s IH; case ts: (terminal s).
  by rewrite flow_terminal ?R_pos.
have ns : ~~ terminal s by rewrite ts.
have /forallPn[v] := ns; rewrite negbK => sv.
rewrite flow_children // (bigD1 v) //= ltr_paddr ?mulr_gt0 ?pB_pos ?IH //=.
by apply: sumr_ge0 => w /andP[sw _]; rewrite ltW // mulr_gt0 ?pB_pos ?IH.
Qed.

(* The uniform backward policy, positive on every edge.                                           *)
Definition uniform_backward (G : dag) (K : numFieldType) (u v : G) : K :=
  #|[pred w | edge w v]|%:R^-1.

Lemma uniform_backward_positive (G : dag) (K : numFieldType) (u v : G) :
  edge u v -> 0 < uniform_backward K u v.
Proof. by move=> uv; rewrite invr_gt0 ltr0n; apply/card_gt0P; exists u. Qed.

Lemma uniform_backward_policy (G : dag) (K : numFieldType) :
  backward_policy (@uniform_backward G K).
Proof.
move=> v /forallPn[u]; rewrite negbK => uv; rewrite sumr_const -[LHS]mulr_natr mulVf //.
by rewrite pnatr_eq0 -lt0n; apply/card_gt0P; exists u.
Qed.

Lemma weight_positive (G : dag) (K : numFieldType) (k : G -> G -> K) (u : G) p :
  (forall v w, edge v w -> 0 < k v w) -> path edge u p -> 0 < weight k u p.
Proof.
move=> k_pos; elim: p u => [|v p IH] u /=; first by rewrite ltr01.
by case/andP=> uv /IH; apply: mulr_gt0; apply: k_pos.
Qed.

(* On every finite pointed DAG and for every R > 0, the uniform p_B, its flow and the forward policy
   of that flow meet all hypotheses of [subtb_state_marginals], hence of [tb_terminal_law] and
   [cb_terminal_law].                                                                             *)
Theorem balanced_policies_exist (G : pointedDAG) (K : numFieldType) (R : G -> K) :
  (forall x, terminal x -> 0 < R x) ->
  let pB := @uniform_backward G K in
  [/\ forward_policy (flow_policy pB R), backward_policy pB, state_flow (backward_flow pB R) R,
      subtrajectory_balance (flow_policy pB R) pB (backward_flow pB R)
    & forall s, 0 < backward_flow pB R s].
Proof.
move=> R_pos pB; have F_pos := flow_positive R_pos (@uniform_backward_positive G K).
have [normF bal] := flow_policy_balances (fun s => lt0r_neq0 (F_pos s)).
by split=> //; [apply: uniform_backward_policy|apply: flow_terminal].
Qed.

(* Conversely, every policy is that of a flow: with R = p_T, the flow is the probability of a visit,
   and p_B its time reversal, with any rows, such as uniform ones, at states that it never visits. *)
Theorem policy_is_of_flow (G : pointedDAG) (K : numFieldType) (pF : G -> G -> K) :
  forward_policy pF -> (forall u v, edge u v -> 0 <= pF u v) ->
  exists pB : G -> G -> K,
  [/\ backward_policy pB, forall u v, edge u v -> 0 <= pB u v,
      forall s, backward_flow pB (mass pF src) s = mass pF src s
    & forall u v, edge u v -> mass pF src u != 0 -> flow_policy pB (mass pF src) u v = pF u v].
Proof.
move=> norm pos; pose m := mass pF src.
have m_ge0 v : 0 <= m v.
  rewrite /m /mass big_seq; apply: sumr_ge0 => p; rewrite mem_trajs => /andP[+ _].
  elim: p (src : G) => [|w p IH] u /=; first by rewrite ler01.
  by case/andP=> uw /IH; apply: mulr_ge0; apply: pos.
have dead u v : edge u v -> m v = 0 -> m u * pF u v = 0.
  move=> uv mv; have vs : v != src by rewrite -src_unique; apply/forallPn; exists u; rewrite uv.
  have := mass_last pF vs; rewrite -/m mv => /esym/eqP; rewrite psumr_eq0 => [|w wv].
    by move/allP/(_ u (mem_index_enum u)); rewrite uv => /eqP.
  by rewrite mulr_ge0 ?m_ge0 ?pos.
pose pB u v := if m v == 0 then uniform_backward K u v else m u * pF u v / m v.
have flow s : backward_flow pB m s = m s.
  elim/reverse_topological_ind: s => s IH; case: (boolP (terminal s)) => ts.
    by rewrite flow_terminal.
  rewrite flow_children // -[RHS]mulr1 -(norm s ts) mulr_sumr; apply: eq_bigr => v sv.
  by rewrite IH // /pB; case: eqP => [mv|/eqP mv]; rewrite ?divfK // mv mulr0 dead.
exists pB; split=> // [v nv|u v uv|u v uv mu].
- rewrite /pB; case: eqP => [mv|/eqP mv]; first exact: uniform_backward_policy.
  by rewrite -mulr_suml -mass_last -?src_unique // divff.
- rewrite /pB; case: ifP => _; first exact/ltW/uniform_backward_positive.
  by rewrite divr_ge0 ?mulr_ge0 ?pos ?m_ge0.
rewrite /flow_policy -/m !flow /pB; case: eqP => [mv|/eqP mv].
  by rewrite mv mulr0 mul0r; apply/esym/(mulfI mu); rewrite mulr0 -/m dead.
by rewrite divfK // mulrC mulKf.
Qed.

(* If actions are deterministic as well, p_T is a point mass.                                     *)
Theorem deterministic_is_point_mass (G : pointedDAG) (K : numFieldType) (pF : G -> G -> K) :
  forward_policy pF -> (forall u v, edge u v -> pF u v = 0 \/ pF u v = 1) ->
  exists2 x, terminal x & forall y, terminal y -> mass pF src y = (y == x)%:R.
Proof.
move=> norm det; have nat y : exists n, mass pF src y = n%:R.
  rewrite /mass big_seq; elim/big_ind: _ => [|_ _ [a ->] [b ->]|p]; first by exists 0%N.
    by exists (a + b)%N; rewrite natrD.
  rewrite mem_trajs => /andP[+ _]; elim: p (src : G) => [|w p IH] u /=; first by exists 1%N.
  case/andP=> uw /IH[n ->]; have [->|->] := det u w uw; first by exists 0%N; rewrite mul0r.
  by exists n; rewrite mul1r.
have ge0 y : 0 <= mass pF src y by have [n ->] := nat y; rewrite ler0n.
have [x /andP[tx mx]|none] := pickP (fun x : G => terminal x && (mass pF src x != 0)); last first.
  have := marginal_sums_to_one norm; rewrite big1 => [/esym/eqP|x tx]; first by rewrite oner_eq0.
  by have := none x; rewrite tx => /negbFE/eqP.
have x1 : 1 <= mass pF src x.
  by have [n mn] := nat x; rewrite mn ler1n lt0n -(pnatr_eq0 K) -mn.
have := marginal_sums_to_one norm; rewrite (bigD1 x) //= => sum1.
have rest : \sum_(y | terminal y && (y != x)) mass pF src y = 0.
  apply/eqP; rewrite eq_le sumr_ge0 // andbT -(ler_add2l (mass pF src x)) sum1 addr0 //.
exists x => // y ty; have [->|yx] := eqVneq y x; first by move: sum1; rewrite rest addr0.
move/eqP: rest; rewrite psumr_eq0 // => /allP/(_ y (mem_index_enum y)).
by rewrite ty yx => /eqP.
Qed.
