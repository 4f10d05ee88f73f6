(* Policies on a DAG, the weight of a trajectory, and the marginal of eq. (1) (eq:marginal).

   Weights live in an arbitrary field K; signs and order play no role unless a theorem says so.  A
   forward policy is a function pF with pF u v = p_F(v | u), a backward policy a function pB with
   pB u v = p_B(u | v); only their values on edges matter.                                        *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* The probabilities of the steps out of every non-terminal state sum to one.                     *)
Definition forward_policy (G : dag) (K : fieldType) (pF : G -> G -> K) :=
  forall u, ~~ terminal u -> \sum_(v | edge u v) pF u v = 1.

(* A forward policy on the transposed graph: the probabilities of the parents sum to one at every
   node that has parents (in a pointed DAG: at every node but s_o).                               *)
Definition backward_policy (G : dag) (K : fieldType) (pB : G -> G -> K) :=
  forall v, ~~ source v -> \sum_(u | edge u v) pB u v = 1.

(* The product of k over the edges of the trajectory that starts at u and continues with p:
   p_F(tau | s_o) for k = pF, p_B(tau | x) for k = pB.                                            *)
Fixpoint weight (T : Type) (K : fieldType) (k : T -> T -> K) (u : T) (p : seq T) : K :=
  if p is v :: q then k u v * weight k v q else 1.

(* The total weight of the trajectories from o to v.  For k = pF this is the probability that the
   sampler visits v, at terminal states the marginal p_T of eq. (1); for k = pB it is the total
   backward probability of the trajectories into v.                                               *)
Definition mass (G : dag) (K : fieldType) (k : G -> G -> K) (o v : G) : K :=
  \sum_(p <- trajs o v) weight k o p.

Section Sums.
Variables (G : dag) (K : fieldType).
Implicit Types (k : G -> G -> K) (u v o : G) (f : seq G -> K).

Lemma weight_cat k u p q : weight k u (p ++ q) = weight k u p * weight k (last u p) q.
Proof. by elim: p u => [|v p IH] u /=; rewrite ?mul1r // IH mulrA. Qed.

Lemma weight_rcons k u p v : weight k u (rcons p v) = weight k u p * k (last u p) v.
Proof. by rewrite -cats1 weight_cat /= mulr1. Qed.

(* Only the empty trajectory leads from a node to itself.                                         *)
Lemma sum_trajs_refl f u : \sum_(p <- trajs u u) f p = f [::].
Proof.
rewrite (perm_big [:: [::]]) ?big_seq1 //.
apply: uniq_perm; rewrite ?uniq_trajs // => p; rewrite mem_trajs inE.
apply/andP/eqP => [[pth /eqP]|->]; last by rewrite /= eqxx.
exact: acyclic pth.
Qed.

Lemma mass_refl k u : mass k u u = 1.
Proof. by rewrite /mass sum_trajs_refl. Qed.

(* Sums over the trajectories into v <> o, by the last edge ...                                   *)
Lemma sum_trajs_last f o v : v != o ->
  \sum_(p <- trajs o v) f p = \sum_(u | edge u v) \sum_(p <- trajs o u) f (rcons p v).
Proof.
move=> vo; rewrite (perm_big (flatten [seq [seq rcons p v | p <- trajs o u]
                                      | u <- enum G & edge u v])); last first.
  apply: uniq_perm; rewrite ?uniq_trajs //.
    apply: allpairs_uniq_dep => [|u _|]; rewrite ?(filter_uniq, uniq_trajs) -?enumT ?enum_uniq //.
    move=> _ _ /allpairsPdep[u [p [_ pu ->]]] /allpairsPdep[u' [p' [_ pu' ->]]] /= /rcons_inj[pp].
    by move: pu pu'; rewrite -{}pp !mem_trajs => /andP[_ /eqP<-] /andP[_ /eqP<-].
  move=> p; rewrite mem_trajs; apply/andP/allpairsPdep => [[]|[u [q []]]].
    case/lastP: p => [|p w] /=; first by move=> _ ov; rewrite eq_sym ov in vo.
    rewrite rcons_path last_rcons => /andP[op pw] /eqP wv; exists (last o p), p.
    by rewrite mem_filter mem_enum mem_trajs op eqxx -wv pw.
  rewrite mem_filter mem_trajs => /andP[uv _] /andP[oq /eqP lq] ->.
  by rewrite rcons_path last_rcons oq lq uv.
rewrite big_flatten big_map big_filter big_enum_cond.
by apply: eq_big => [u|u _]; rewrite ?andbT // big_map.
Qed.

(* ... and over the trajectories from u <> x, by the first edge.                                  *)
Lemma sum_trajs_first f u x : u != x ->
  \sum_(p <- trajs u x) f p = \sum_(v | edge u v) \sum_(p <- trajs v x) f (v :: p).
Proof.
move=> ux; rewrite (perm_big (flatten [seq [seq v :: p | p <- trajs v x]
                                      | v <- enum G & edge u v])); last first.
  apply: uniq_perm; rewrite ?uniq_trajs //.
    apply: allpairs_uniq_dep => [|v _|]; rewrite ?(filter_uniq, uniq_trajs) -?enumT ?enum_uniq //.
    by move=> _ _ /allpairsPdep[v [p [_ _ ->]]] /allpairsPdep[v' [p' [_ _ ->]]] /= [-> ->].
  move=> p; rewrite mem_trajs; apply/andP/allpairsPdep => [[]|[v [q []]]].
    case: p => [|v q] /=; first by move=> _ xu; rewrite xu in ux.
    by case/andP=> uv vq xq; exists v, q; rewrite mem_filter mem_enum mem_trajs uv vq.
  by rewrite mem_filter mem_trajs => /andP[uv _] /andP[vq lq] ->; rewrite /= uv vq.
rewrite big_flatten big_map big_filter big_enum_cond.
by apply: eq_big => [v|v _]; rewrite ?andbT // big_map.
Qed.

(* The visit recursion: m(v) = sum over the parents u of v of m(u) k(u, v).                       *)
Lemma mass_last k o v : v != o -> mass k o v = \sum_(u | edge u v) mass k o u * k u v.
Proof.
move=> vo; rewrite /mass sum_trajs_last //; apply: eq_bigr => u _.
rewrite mulr_suml; apply: eq_big_seq => p; rewrite mem_trajs => /andP[_ /eqP lp].
by rewrite weight_rcons lp.
Qed.

End Sums.
