(* Cutting and growing tails keeps the target (tail-chain).

   A trajectory p is drawn given its end x, cut after t of its edges, t uniform below their number,
   and a tail is grown by p_F; the new trajectory p' is accepted as Hastings (1970) does.  On a lift
   the theorem is about the lifted graph.                                                         *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Dag Policies Flow.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Chain.
Variables (G : pointedDAG) (K : realFieldType) (pF pB : G -> G -> K) (R : G -> K).
Implicit Types (p q : seq G) (x y : G) (t : nat).

(* The weight of what comes after the first t edges.                                              *)
Definition tail (k : G -> G -> K) p t : K := weight k (last src (take t p)) (drop t p).

Definition acceptance p q t : K :=
  Num.min 1 (R (last src q) * tail pB q t * tail pF p t * (size p)%:R /
             (R (last src p) * tail pB p t * tail pF q t * (size q)%:R)).

(* The probability to go from p to q, for q that is not a rejection.                              *)
Definition move p q : K :=
  \sum_(t < size p | take t p == take t q) tail pF q t / (size p)%:R * acceptance p q t.

Definition step x y : K :=
  \sum_(p <- trajs src x) weight pB src p *
    (\sum_(q <- trajs src y) move p q +
     (if x == y then 1 - \sum_(z | terminal z) \sum_(q <- trajs src z) move p q else 0)).

Hypotheses (pF_pos : forall u v, edge u v -> 0 < pF u v).
Hypotheses (pB_pos : forall u v, edge u v -> 0 < pB u v).
Hypotheses (R_pos : forall x, terminal x -> 0 < R x).
Hypothesis pB_mass : forall x, terminal x -> mass pB src x = 1.

(* It is a step: its probabilities sum to one.                                                    *)
Theorem step_sum x : terminal x -> \sum_(y | terminal y) step x y = 1.
Proof.
move=> tx; rewrite exchange_big /= -[RHS](pB_mass tx); apply: eq_bigr => p _.
rewrite -mulr_sumr big_split /= [X in _ + X](bigD1 x) //= eqxx [X in _ + (_ + X)]big1 => [|y].
  by rewrite addr0 addrC subrK mulr1.
by rewrite eq_sym => /andP[_ /negbTE ->].
Qed.

Lemma tail_pos k p t : (forall u v, edge u v -> 0 < k u v) -> path edge src p -> 0 < tail k p t.
Proof.
move=> k_pos; rewrite -{1}(cat_take_drop t p) cat_path => /andP[_].
exact: weight_positive.
Qed.

(* A complete trajectory that begins as another does is no shorter than what they share.          *)
Lemma cut_both p q t : complete p -> complete q -> (t < size p)%N -> take t p = take t q ->
  (t < size q)%N.
Proof.
move=> /andP[sp _] /andP[_ tq] tp same; rewrite ltnNge; apply/negP => qt.
have qp : take t p = q by rewrite same take_oversize.
move: sp; rewrite -(cat_take_drop t p) (drop_nth src tp) qp cat_path /= => /andP[_ /andP[qv _]].
by move/forallP/(_ (nth src p t)): tq; rewrite qv.
Qed.

Lemma hastings (a b n n' : K) : 0 < a -> 0 < n -> 0 < n' ->
  a / n * Num.min 1 (b * n / (a * n')) = Num.min (a / n) (b / n').
Proof.
move=> a0 n0 n0'; rewrite minr_pmulr ?mulr1; last by rewrite ltW // divr_gt0.
congr (Num.min _ _); rewrite invfM [b * n * _]mulrACA [LHS]mulrACA [a * _]mulrCA.
by rewrite mulfV ?gt_eqF // mulr1 mulKf ?gt_eqF.
Qed.

(* Detailed balance on trajectories, for R(x) p_B(p | x).                                         *)
Lemma balance_at p q t : complete p -> complete q -> (t < size p)%N -> take t p = take t q ->
  R (last src p) * weight pB src p * (tail pF q t / (size p)%:R * acceptance p q t) =
  weight pB src (take t p) *
  Num.min (R (last src p) * tail pB p t * tail pF q t / (size p)%:R)
          (R (last src q) * tail pB q t * tail pF p t / (size q)%:R).
Proof.
move=> cp cq lt same; have lt' := cut_both cp cq lt same.
have [/andP[sp tp] /andP[sq tq]] := (cp, cq).
rewrite -hastings ?ltr0n ?(leq_trans _ lt) ?(leq_trans _ lt') //; last first.
  by rewrite !mulr_gt0 ?R_pos ?tail_pos.
have -> : weight pB src p = weight pB src (take t p) * tail pB p t.
  by rewrite -{1}(cat_take_drop t p) weight_cat.
by rewrite -/(acceptance p q t) [R _ * (_ * _)]mulrCA -!mulrA.
Qed.

Lemma detailed_balance p q : complete p -> complete q ->
  R (last src p) * weight pB src p * move p q = R (last src q) * weight pB src q * move q p.
Proof.
move=> cp cq; pose cut p' q' t := (t < size p')%N && (take t p' == take t q').
have moveE p' q' : (size p' <= #|G|)%N -> move p' q' =
    \sum_(t < #|G| | cut p' q' t) tail pF q' t / (size p')%:R * acceptance p' q' t.
  move=> le; rewrite /move (big_ord_widen_cond _ (fun t => take t p' == take t q')
    (fun t => tail pF q' t / (size p')%:R * acceptance p' q' t) le).
  by apply: eq_bigl => t; rewrite andbC.
have short p' : complete p' -> (size p' <= #|G|)%N by case/andP => /path_short/ltnW.
rewrite !moveE ?short // !mulr_sumr; apply: eq_big => [t|t /andP[lt /eqP same]].
  by rewrite /cut; apply/andP/andP => -[lt /eqP same]; rewrite (cut_both _ _ lt same) // same.
rewrite balance_at // [RHS]balance_at ?(cut_both _ _ lt same) // same minC.
by [].
Qed.

(* R / Z is left as it is.                                                                        *)
Theorem target_is_kept y : terminal y -> \sum_(x | terminal x) R x * step x y = R y.
Proof.
move=> ty; pose m p := R (last src p) * weight pB src p.
pose flow := \sum_(p <- trajs src y) \sum_(z | terminal z) \sum_(q <- trajs src z) m p * move p q.
have inflow : \sum_(x | terminal x) \sum_(p <- trajs src x) \sum_(q <- trajs src y) m p * move p q
    = flow.
  transitivity (\sum_(x | terminal x) \sum_(q <- trajs src y) \sum_(p <- trajs src x)
      m p * move p q); first by apply: eq_bigr => x _; rewrite exchange_big.
  rewrite exchange_big /=; apply: eq_big_seq => q; rewrite mem_trajs => /andP[sq /eqP lq].
  apply: eq_bigr => x tx; apply: eq_big_seq => p; rewrite mem_trajs => /andP[sp /eqP lp].
  by apply: detailed_balance; rewrite /complete ?sp ?sq ?lp ?lq.
have split x : terminal x -> R x * step x y =
    \sum_(p <- trajs src x) \sum_(q <- trajs src y) m p * move p q +
    (if x == y then \sum_(p <- trajs src y) m p -
       \sum_(p <- trajs src y) \sum_(z | terminal z) \sum_(q <- trajs src z) m p * move p q
     else 0).
  move=> tx; rewrite /step mulr_sumr.
  transitivity (\sum_(p <- trajs src x) (\sum_(q <- trajs src y) m p * move p q + m p *
      (if x == y then 1 - \sum_(z | terminal z) \sum_(q <- trajs src z) move p q else 0))).
    apply: eq_big_seq => p; rewrite mem_trajs => /andP[_ /eqP lp].
    by rewrite mulrA -[X in R X]lp mulrDr mulr_sumr.
  rewrite big_split /=; congr (_ + _); case: eqP => [->|_]; last first.
    by apply: big1 => p _; rewrite mulr0.
  rewrite -sumrB; apply: eq_bigr => p _; rewrite mulrBr mulr1 mulr_sumr; congr (_ - _).
  by apply: eq_bigr => z _; rewrite mulr_sumr.
rewrite (eq_bigr _ split) big_split /= inflow -big_mkcondr /= (big_pred1 y) => [|x]; last first.
  by rewrite /=; case: eqP => [->|_]; rewrite ?ty ?andbF.
rewrite -/flow addrC subrK -[RHS]mulr1 -(pB_mass ty) mulr_sumr.
by apply: eq_big_seq => p; rewrite mem_trajs => /andP[_ /eqP lp]; rewrite /m lp.
Qed.
End Chain.
