(* Distributed and streaming combination of samplers (prop:apx:dist, prop:apx:sm), repaired.

   Repairs: the last denominator is p_B(tau' | x'); trajectories are those of the base graph, which
   every sampler lifts in its own way, so that lifts, latents and backward policies may all differ;
   and p_B is nonzero on every complete trajectory, so that the ratios mean something.            *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies Normalisation TrajectoryBalance ContrastiveBalance Lift.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* A path-dependent sampler over G: a lift of G, with a forward and a backward function on it.    *)
Record sampler (G : pointedDAG) (K : fieldType) := Sampler {
  lift_of : lift G;
  p_f : lift_of -> lift_of -> K;
  p_b : lift_of -> lift_of -> K
}.

(* p_F(q | s_o) and p_B(q | x) of a base trajectory q, in the lift of the sampler.                *)
Definition forward_weight (G : pointedDAG) (K : fieldType) (S : sampler G K) (q : seq G) : K :=
  weight (@p_f _ _ S) src (lift_path src q).
Definition backward_weight (G : pointedDAG) (K : fieldType) (S : sampler G K) (q : seq G) : K :=
  weight (@p_b _ _ S) src (lift_path src q).
Definition ratio (G : pointedDAG) (K : fieldType) (S : sampler G K) (q : seq G) : K :=
  forward_weight S q / backward_weight S q.

(* p_B(q | x) <> 0 for every complete trajectory.                                                 *)
Definition full_backward (G : pointedDAG) (K : fieldType) (S : sampler G K) :=
  forall q, complete q -> backward_weight S q != 0.

(* The sampler is in trajectory balance for the target R, with constant Z.                        *)
Definition balanced (G : pointedDAG) (K : fieldType) (S : sampler G K) (R : G -> K) (Z : K) :=
  trajectory_balance (@p_f _ _ S) (weight (@p_b _ _ S) src) (fun x => R (base x)) Z.

(* p_F and p_B are policies on the lift.                                                          *)
Definition normalised (G : pointedDAG) (K : fieldType) (S : sampler G K) :=
  forward_policy (@p_f _ _ S) /\ backward_policy (@p_b _ _ S).

Lemma ratio_of_balanced (G : pointedDAG) (K : fieldType) (S : sampler G K) (R : G -> K) (Z : K) :
  full_backward S -> balanced S R Z -> Z != 0 ->
  forall q, complete q -> ratio S q = R (last src q) / Z.
Proof.
move=> full bal Z0 q cq; have [cp pq] := (unique_path_lifting (lift_of S)).2 q cq.
apply: (mulfI Z0); rewrite /ratio mulrA bal //.
by rewrite -/(backward_weight S q) mulfK ?full // -(last_map base) pq base_src mulrCA mulfV ?mulr1.
Qed.

Lemma cross_multiply (K : fieldType) (a b r a' b' r' : K) :
  b != 0 -> b' != 0 -> a / b * r' = r * (a' / b') -> a * (b' * r') = a' * (b * r).
Proof.
move=> b0 b0'; rewrite mulrAC mulrA => /eqP; rewrite eqr_div // => /eqP e.
by rewrite [b' * r']mulrC [LHS]mulrA e [r * a']mulrC [b * r]mulrC mulrA.
Qed.

(* If the ratios of S are proportional to R, in the sense r(q) R(x') = R(x) r(q'), then S is in
   trajectory balance for R.                                                                      *)
Lemma balanced_of_ratios (G : pointedDAG) (K : fieldType) (S : sampler G K) (R : G -> K) :
  normalised S -> full_backward S ->
  (forall q q', complete q -> complete q' ->
     ratio S q * R (last src q') = R (last src q) * ratio S q') ->
  balanced S R (\sum_(y | terminal y) R y).
Proof.
move=> [normF normB] full prop; rewrite /balanced -(sum_terminals (lift_of S)).
apply: cb_implies_tb => // [x _|p p' cp cp' _]; first exact: backward_mass.
have [cq pq] := (unique_path_lifting _).1 p cp; have [cq' pq'] := (unique_path_lifting _).1 p' cp'.
have := prop _ _ cq cq'; have := full _ cq; have := full _ cq'.
rewrite /ratio /forward_weight /backward_weight pq pq' -(base_src (lift_of S)) !last_map.
by move=> b0' b0; apply: cross_multiply.
Qed.

(* prop:apx:dist.  Client t is in balance for its own target R_t; the combiner S satisfies
   eq:apx:dist for all pairs of complete trajectories.  Then S samples from prod_t R_t.           *)
Theorem distributed (G : pointedDAG) (K : fieldType) (T : nat)
    (client : 'I_T -> sampler G K) (R : 'I_T -> G -> K) (Z : 'I_T -> K) (S : sampler G K) :
  (forall t, full_backward (client t)) ->
  (forall t, balanced (client t) (R t) (Z t)) -> (forall t, Z t != 0) ->
  normalised S -> full_backward S ->
  (forall q q', complete q -> complete q' ->
     ratio S q * \prod_t ratio (client t) q' = \prod_t ratio (client t) q * ratio S q') ->
  let target y := \prod_t R t y in
  \sum_(y | terminal y) target y != 0 ->
  forall x : lift_of S, terminal x ->
  mass (@p_f _ _ S) src x = target (base x) / \sum_(y | terminal y) target y.
Proof.
move=> full bal Z0 normS fullS dist target target0.
have client_ratio q : complete q ->
    \prod_t ratio (client t) q = target (last src q) / \prod_t Z t.
  move=> cq; rewrite -prodf_div; apply: eq_bigr => t _.
  exact: (ratio_of_balanced (full t) (bal t) (Z0 t)).
have balS : balanced S target (\sum_(y | terminal y) target y).
  apply: balanced_of_ratios => // q q' cq cq'.
  have Z0' : (\prod_t Z t)^-1 != 0 by rewrite invr_eq0; apply/prodf_neq0 => t _.
  by apply: (mulIf Z0'); rewrite -mulrA -client_ratio // dist // client_ratio // mulrAC.
rewrite -(sum_terminals (lift_of S)) in target0 *.
by have [_] := tb_terminal_law normS.1 normS.2 balS target0.
Qed.

(* prop:apx:sm.  Sampler 0 is in balance for R_0, and sampler T + 1 satisfies eq:apx:sm with sampler
   T and the new factor R_(T+1).  Then sampler T samples from R_0 ... R_T, for every T.           *)
Theorem streaming (G : pointedDAG) (K : fieldType)
    (S : nat -> sampler G K) (R : nat -> G -> K) (Z : K) :
  (forall T, normalised (S T)) -> (forall T, full_backward (S T)) ->
  balanced (S 0%N) (R 0%N) Z ->
  (forall T q q', complete q -> complete q' ->
     ratio (S T.+1) q * (R T.+1 (last src q') * ratio (S T) q') =
     R T.+1 (last src q) * ratio (S T) q * ratio (S T.+1) q') ->
  let target T y := \prod_(t < T.+1) R t y in
  (forall T, \sum_(y | terminal y) target T y != 0) ->
  forall T (x : lift_of (S T)), terminal x ->
  mass (@p_f _ _ (S T)) src x = target T (base x) / \sum_(y | terminal y) target T y.
Proof.
move=> norm full bal0 stream target target0.
have bal T : balanced (S T) (target T) (\sum_(y | terminal y) target T y).
  elim: T => [|T IH].
    have target_0 y : target 0%N y = R 0%N y by rewrite /target big_ord1.
    have := target0 0%N; under eq_bigr => y _ do rewrite target_0.
    rewrite -(sum_terminals (lift_of (S 0%N))) => R0.
    have [<- _] := tb_terminal_law (norm 0%N).1 (norm 0%N).2 bal0 R0.
    by move=> p cp; rewrite bal0 // target_0.
  apply: balanced_of_ratios => // q q' cq cq'.
  have Z0' := target0 T; rewrite -invr_eq0 in Z0'; apply: (mulIf Z0').
  have recur y : target T.+1 y = R T.+1 y * target T y by rewrite /target big_ord_recr mulrC.
  have := stream T q q' cq cq'; rewrite !(ratio_of_balanced (full T) IH) // !recur.
  by rewrite !mulrA => ->; rewrite [RHS]mulrAC; congr (_ / _); rewrite mulrAC.
move=> T x tx; have := target0 T; rewrite -(sum_terminals (lift_of (S T))) => target0'.
by have [_ ->] := tb_terminal_law (norm T).1 (norm T).2 (bal T) target0'.
Qed.
