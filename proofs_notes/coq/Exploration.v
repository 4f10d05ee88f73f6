(* Exploration on finite graphs: which policies see every trajectory (exploratory-policy), and where
   a chain of steps settles (gibbs).                                                              *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Dag Policies Flow Lift LatentLift.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* A policy gives every complete trajectory a positive probability if and only if it gives every
   edge one.                                                                                      *)
Theorem explores_trajectories (G : pointedDAG) (K : numFieldType) (pE : G -> G -> K) :
  (forall u v, edge u v -> 0 <= pE u v) ->
  (forall u v, edge u v -> 0 < pE u v) <-> (forall p, complete p -> 0 < weight pE src p).
Proof.
move=> ge0; split=> [pos p /andP[sp _]|pos u v uv]; first exact: weight_positive.
have [p /andP[sp /eqP pu]] := reached u; have [q /andP[vq tq]] := reaches_terminal v.
have := pos (p ++ v :: q); rewrite /complete cat_path last_cat pu sp /= uv vq tq => /(_ isT).
rewrite weight_cat pu /=; rewrite lt0r => /andP[+ _].
by rewrite !mulf_eq0 !negb_or lt0r ge0 // => /and3P[_ -> _].
Qed.

(* Mixed in any part with the uniform policy, any policy explores.                                *)
Theorem mixture_explores (G : dag) (K : numFieldType) (pF : G -> G -> K) (eps : K) :
  (forall u v, edge u v -> 0 <= pF u v) -> 0 < eps <= 1 ->
  forall u v, edge u v -> 0 < (1 - eps) * pF u v + eps * #|[pred w | edge u w]|%:R^-1.
Proof.
move=> ge0 /andP[eps0 eps1] u v uv; apply: ltr_paddl.
  by rewrite mulr_ge0 ?subr_ge0 // ge0.
by rewrite mulr_gt0 // invr_gt0 ltr0n; apply/card_gt0P; exists v.
Qed.

(* P_E << kappa_F says only that no mass goes where there is no edge: on the fork s_o -> {x, y} the
   policy that always takes x satisfies it, and its loss is zero for p_F = (9/10, 1/10), Z = 10/9
   and a uniform target.                                                                          *)
Theorem absolute_continuity_does_not_suffice :
  let p_E : seq rat := [:: 1; 0] in let p_F : seq rat := [:: 9%:R / 10%:R; 1 / 10%:R] in
  let Z : rat := 10%:R / 9%:R in let R : seq rat := [:: 1; 1] in
  (forall i, (i < 2)%N -> p_E`_i != 0 -> Z * p_F`_i = R`_i) /\
  p_F`_0 != R`_0 / (R`_0 + R`_1).
Proof. by split=> [[|[|//]]|]. Qed.

(* gibbs: terminal states stay where they are, other states move by p_F.  Every law that a step
   leaves as it is lives on terminal states, as the graph has no cycle.                           *)
Definition stationary (G : dag) (K : fieldType) (pF : G -> G -> K) (nu : G -> K) :=
  forall v, nu v = (if terminal v then nu v else 0)
                   + \sum_(u | edge u v) nu u * pF u v.

Theorem stationary_is_terminal (G : dag) (K : fieldType) (pF : G -> G -> K) (nu : G -> K) :
  stationary pF nu -> forall v, ~~ terminal v -> nu v = 0.
Proof.
move=> stat v; elim/topological_ind: v => v IH nv; rewrite stat (negbTE nv) add0r big1 // => u uv.
by rewrite IH ?mul0r //; apply/forallPn; exists v; rewrite uv.
Qed.

(* In form, a step of a lift is two half-steps: s' is a child of s, and then w' is a function of
   (s', w), or there is none at a terminal state.                                                 *)
Theorem half_steps (G : pointedDAG) (Omega : eqType) (update : G -> Omega -> Omega) (W0 : Omega)
    (a : latent_lift update W0) (s : G) (W : Omega) : val a = (s, Some W) ->
  forall s' (b : latent_lift update W0),
  (edge a b && (base b == s')) = edge s s' && (val b == lifted_state s' (update s' W)).
Proof.
move=> aE s' b; rewrite latent_lift_edges aE /=; apply/andP/andP.
  case=> /andP[sb /eqP bE] /eqP bs; rewrite /base /= /latent_base in bs.
  by rewrite -bs; split=> //; rewrite [X in X == _]bE.
case=> ss' /eqP bE; rewrite /base /= /latent_base bE /= eqxx ss'; split=> //.
by rewrite bE.
Qed.
