(* Kernels with a stochastic latent, on finite spaces (lemma:trajs, forced-visit-measure,
   end_point_identity).

   S is the finite set of pairs of a node and a latent: those at s_o are I, those at other inner
   nodes M, those at terminal nodes X; A is I or M, and B is M or X.  nu is the base measure; kF s t
   is the probability of t after s, kB t s that of s before t.                                    *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Policies.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Lemma kernel_rcons (S : Type) (K : fieldType) (k : S -> S -> K) s p t :
  weight k s (rcons p t) = weight k s p * k (last s p) t.
Proof. by elim: p s => [|r p IH] s /=; rewrite ?mul1r ?mulr1 // IH mulrA. Qed.

Section Kernels.
Variables (S : finType) (K : fieldType) (I M X : pred S) (nu : S -> K) (kF kB : S -> S -> K).

(* Condition (1) of def:cldag.                                                                    *)
Definition dual := forall s t, I s || M s -> M t || X t -> nu s * kF s t = nu t * kB t s.

(* lemma:trajs: from s in A through states of M to t in B, in n steps, n >= 1.                    *)
Theorem duality_of_trajectories s q t : dual -> I s || M s -> all M q -> M t || X t ->
  nu s * weight kF s (rcons q t) = nu t * weight (fun u v => kB v u) s (rcons q t).
Proof.
move=> du As; elim/last_ind: q t => [|q r IH] t; first by move=> _ Bt; rewrite /= !mulr1 du.
rewrite all_rcons => /andP[Mr Mq] Bt.
rewrite kernel_rcons [in RHS]kernel_rcons !last_rcons mulrA IH ?Mr // mulrAC du ?Mr ?orbT //.
by rewrite -mulrA [kB _ _ * _]mulrC.
Qed.

(* With condition (4'), from B one comes from A: then nu is what flows in.                        *)
Theorem measure_flows_in t : dual -> M t || X t -> \sum_(s | I s || M s) kB t s = 1 ->
  nu t = \sum_(s | I s || M s) nu s * kF s t.
Proof.
move=> du Bt absorbed; rewrite -[LHS]mulr1 -absorbed mulr_sumr.
by apply: eq_bigr => s As; rewrite du.
Qed.

(* end_point_identity: with the identity of end points, and P_B absorbed in I after N steps where
   Pi is not zero, xi P_F^N = Pi.  PF s x and PB x s are the N-step probabilities.                *)
Theorem end_points_give_target (xi Pi : S -> K) (PF PB : S -> S -> K) x :
  (forall s, I s -> xi s * PF s x = Pi x * PB x s) ->
  (Pi x != 0 -> \sum_(s | I s) PB x s = 1) -> \sum_(s | I s) xi s * PF s x = Pi x.
Proof.
move=> same absorbed; rewrite (eq_bigr _ same) -mulr_sumr.
by have [->|/absorbed ->] := eqVneq (Pi x) 0; rewrite ?mul0r ?mulr1.
Qed.
End Kernels.

(* forced-visit-measure: on the states of M, let v be what flows in from I, and Q the kernel from M
   to M, which vanishes after N steps, as by (2) the chain has then arrived.  Then nu is the
   sum of the visits after 1, ..., N steps, and nothing else.                                     *)
Theorem measure_is_visits (n N : nat) (K : fieldType) (nu v : 'rV[K]_n.+1) (Q : 'M[K]_n.+1) :
  Q ^+ N = 0 -> nu = v + nu *m Q -> nu = \sum_(k < N) v *m Q ^+ k.
Proof.
move=> nil flow; suff unrolled m : nu = \sum_(k < m) v *m Q ^+ k + nu *m Q ^+ m.
  by rewrite {1}(unrolled N) nil mulmx0 addr0.
elim: m => [|m IH]; first by rewrite big_ord0 add0r mulmx1.
rewrite big_ord_recr -addrA exprS -mulmxE mulmxA -mulmxDl -flow.
exact: IH.
Qed.
