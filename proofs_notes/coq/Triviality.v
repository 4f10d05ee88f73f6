(* Why prop:markovian is vacuous as printed: the copies of a backward policy on the edges of a lift
   are a backward policy there only if the lift has no memory.                                    *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies Normalisation Lift Markovian.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* p_B(u | v) = p~_B(s | s') for s, s' the states below u, v.                                     *)
Definition copied_policy (G : pointedDAG) (L : lift G) (K : fieldType)
    (pB : G -> G -> K) (u v : L) : K := pB (base u) (base v).

(* Let p~_B be a backward policy of the base.  Its copy is normalised on the lift if and only if no
   state has two lifts, that is, if and only if W is a function of s.

   Proof: summing the rows of the copy over the n(s) lifts of s gives sum_u n(u) p~_B(u | s).  If
   every row sums to one this is n(s), and n = 1 follows from n(s_o) = 1 in topological order.    *)
Theorem copied_policy_normalised (G : pointedDAG) (L : lift G) (K : numFieldType)
    (pB : G -> G -> K) :
  backward_policy pB ->
  (backward_policy (copied_policy (L := L) pB) <-> injective (base : L -> G)).
Proof.
move=> norm; split=> [norm_copied u v uv|inj v nv]; last first.
  rewrite -(norm (base v)); last by rewrite src_unique base_eq_src -src_unique.
  rewrite (partition_big base (fun s => edge s (base v))) => [|u /base_edge //].
  apply: eq_bigr => s sv; have [u us] := base_surjective L s.
  rewrite (big_pred1 u) ?/copied_policy ?us // => w; apply/andP/eqP => [[_ /eqP ws]|->].
    by apply: inj; rewrite ws.
  by rewrite us edge_lift us sv; split=> //; apply/eqP/inj; rewrite base_step ?us.
suff /card_le1_eqP one : (#|[pred w : L | base w == base u]| <= 1)%N.
  by apply: one; rewrite inE ?uv.
suff /eqP : #|[pred w : L | base w == base u]|%:R = 1 :> K by rewrite pnatr_eq1 => /eqP->.
move: (base u) => s; elim/topological_ind: s {u v uv} => s IH.
have [->|ss] := eqVneq s src.
  by rewrite (eq_card (B := pred1 (src : L))) ?card1 // => w; rewrite !inE base_eq_src.
rewrite -sum1_card natr_sum -[RHS](norm s) ?src_unique //.
transitivity (\sum_(v : L | base v == s) \sum_(u | edge u v) copied_policy pB u v).
  by apply: eq_bigr => v /eqP vs; rewrite norm_copied // src_unique -base_eq_src vs.
rewrite sum_parents; apply: eq_bigr => s' s's; rewrite -[RHS]mul1r -(IH s') // -sum1_card.
rewrite natr_sum mulr_suml; apply: eq_bigr => u /eqP us.
by rewrite mul1r /copied_policy us base_step ?us.
Qed.

(* Weaker: p~_B( . | s') is the law of the previous state of the base given (s', W), for every W.
   This too holds only on lifts without memory.                                                   *)
Theorem base_law_given_latent (G : pointedDAG) (L : lift G) (K : fieldType)
    (pB : L -> L -> K) (k : G -> G -> K) :
  backward_policy pB ->
  (forall (v : L) s, ~~ source v -> \sum_(u | edge u v && (base u == s)) pB u v = k s (base v)) ->
  injective (base : L -> G).
Proof.
move=> norm law; suff one s : forall u v : L, base u = s -> base v = s -> u = v.
  by move=> u v uv; apply: (one (base v)).
elim/topological_ind: s => s IH u v us vs; have [so|so] := eqVneq s src.
  have at_src (w : L) : base w = s -> w = src by move=> ws; apply/eqP; rewrite -base_eq_src ws so.
  by rewrite (at_src u) // (at_src v).
have inner (w : L) : base w = s -> ~~ source w by move=> ws; rewrite src_unique -base_eq_src ws.
have [s' ks] : exists s', k s' s != 0.
  have sum1 : \sum_s' k s' s = 1.
    rewrite -(norm u (inner u us)) (partition_big base predT) //=; apply: eq_bigr => s' _.
    by rewrite law ?us ?inner.
  have [s' ks|none] := pickP (fun s' => k s' s != 0); first by exists s'.
  move: sum1; rewrite big1 => [/esym/eqP|s' _]; first by rewrite oner_eq0.
  by have /negbFE/eqP := none s'.
have parent (w : L) : base w = s -> exists2 u', edge u' w & base u' = s'.
  move=> ws; have := law w s' (inner w ws).
  have [u' /andP[u'w /eqP u's] _|none] := pickP (fun u' : L => edge u' w && (base u' == s')).
    by exists u'.
  by rewrite big_pred0 // ws => /esym/eqP; rewrite (negbTE ks).
have [a au sa] := parent u us; have [b bv sb] := parent v vs.
have ab : a = b by apply: (IH s') => //; rewrite -sa -us base_edge.
by rewrite (edge_step au) (edge_step bv) us vs ab.
Qed.
