(* Several backward paths of one end bound the total variation of terminal states, in any number
   (several-paths-tv-bound).

   T is the finite set of trajectories, g gives the end of each, pF is a law on T, pB x the law of
   trajectories backwards from x, and pi > 0 the target on ends.  A draw has an end x and places
   0, ..., n, that is K = n + 1 trajectories to x.                                                *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Residuals Shortfall.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* A sum over n + 1 places, by what is at the place j and what is at the others.                  *)
Section Places.
Variables (T : finType) (n : nat) (j : 'I_n.+1).
Definition insert (s : T) (u : {ffun 'I_n -> T}) : {ffun 'I_n.+1 -> T} :=
  [ffun k => if unlift j k is Some l then u l else s].
Definition remove (t : {ffun 'I_n.+1 -> T}) : {ffun 'I_n -> T} := [ffun k => t (lift j k)].

Lemma insert_at s u : insert s u j = s.
Proof. by rewrite ffunE unlift_none. Qed.
Lemma insert_lift s u k : insert s u (lift j k) = u k.
Proof. by rewrite ffunE liftK. Qed.
Lemma remove_insert s u : remove (insert s u) = u.
Proof. by apply/ffunP => k; rewrite ffunE insert_lift. Qed.

Lemma sum_places (K : ringType) (F : {ffun 'I_n.+1 -> T} -> K) :
  \sum_t F t = \sum_s \sum_u F (insert s u).
Proof.
rewrite pair_bigA (reindex (fun z : T * {ffun 'I_n -> T} => insert z.1 z.2)) //=.
exists (fun t : {ffun 'I_n.+1 -> T} => (t j, remove t)) => [[s u] _|t _] /=; first by rewrite insert_at remove_insert.
by apply/ffunP => k; rewrite ffunE; case: unliftP => [l ->|->] //; rewrite ffunE.
Qed.

Lemma product_places (K : comRingType) (F : 'I_n.+1 -> K) :
  \prod_(k | k != j) F k = \prod_(k < n) F (lift j k).
Proof.
rewrite big_mkcond (bigD1_ord j) //= eqxx mul1r; apply: eq_bigr => k _.
by rewrite eq_sym neq_lift.
Qed.
End Places.

Section Paths.
Variables (T X : finType) (K : realFieldType) (g : T -> X).
Variables (pF : T -> K) (pB : X -> T -> K) (pi : X -> K).
Hypotheses (pF_ge0 : forall t, 0 <= pF t) (pF_sum : \sum_t pF t = 1).
Hypotheses (pB_ge0 : forall x t, 0 <= pB x t) (pB_sum : forall x, \sum_t pB x t = 1).
Hypothesis pB_end : forall x t, pB x t != 0 -> g t = x.
Hypotheses (pi_gt0 : forall x, 0 < pi x) (pi_sum : \sum_x pi x = 1).

Definition ends x t : K := if g t == x then pF t else 0.
(* The laws of the end under p_F, and of a trajectory under the target.                           *)
Definition end_law x : K := \sum_(t | g t == x) pF t.
Definition target_law t : K := pi (g t) * pB (g t) t.

Section Draws.
Variable n : nat.
Implicit Types (x : X) (t : {ffun 'I_n.+1 -> T}).
Definition draw := (X * {ffun 'I_n.+1 -> T})%type.

(* As drawn: the trajectory at the place j by p_F, which gives x, and the others by p_B(. | x).   *)
Definition drawn (j : 'I_n.+1) (i : draw) : K :=
  ends i.1 (i.2 j) * \prod_(k | k != j) pB i.1 (i.2 k).
(* x by pi, and all trajectories by p_B(. | x).                                                   *)
Definition backwards (i : draw) : K := \prod_k pB i.1 (i.2 k).
Definition by_target (i : draw) : K := pi i.1 * backwards i.
(* q, the mean of p_F / p_B, is infinite where some p_B is 0.                                     *)
Definition quotient (i : draw) : K := (\sum_k pF (i.2 k) / pB i.1 (i.2 k)) / n.+1%:R.
Definition lacking_model (i : draw) : K :=
  if backwards i == 0 then 1 else positive_part (1 - pi i.1 / quotient i).
Definition lacking_target (i : draw) : K :=
  if backwards i == 0 then 0 else positive_part (1 - quotient i / pi i.1).

(* B_K = E[(1 - pi(x) / q)_+], the drawn trajectory at place 0.                                   *)
Definition bound : K := \sum_(i : draw) drawn ord0 i * lacking_model i.
(* The same at a place at random.                                                                 *)
Definition mixed (i : draw) : K := (\sum_j drawn j i) / n.+1%:R.

Lemma average (c : K) : c *+ n.+1 / n.+1%:R = c.
Proof. by rewrite -[c *+ _]mulr_natr mulfK // pnatr_eq0. Qed.
Lemma ends_ge0 x s : 0 <= ends x s. Proof. by rewrite /ends; case: ifP. Qed.
Lemma drawn_ge0 j i : 0 <= drawn j i.
Proof. by rewrite mulr_ge0 ?ends_ge0 // prodr_ge0. Qed.
Lemma mixed_ge0 i : 0 <= mixed i.
Proof. by rewrite divr_ge0 ?ler0n // sumr_ge0 // => j _; apply: drawn_ge0. Qed.
Lemma backwards_ge0 i : 0 <= backwards i. Proof. exact: prodr_ge0. Qed.
Lemma by_target_ge0 i : 0 <= by_target i.
Proof. by rewrite mulr_ge0 ?backwards_ge0 // ltW. Qed.

Lemma product_sum m x : \sum_(u : {ffun 'I_m -> T}) \prod_k pB x (u k) = 1.
Proof. by rewrite -(bigA_distr_bigA (fun _ s => pB x s)); apply: big1 => k _; apply: pB_sum. Qed.

Lemma sum_ends x : \sum_s ends x s = end_law x.
Proof. by rewrite /end_law [RHS]big_mkcond. Qed.

Lemma drawn_insert j x s u :
  drawn j (x, insert j s u) = ends x s * \prod_k pB x (u k).
Proof.
rewrite /drawn /= insert_at product_places; congr (_ * _).
by apply: eq_bigr => k _; rewrite insert_lift.
Qed.

Lemma drawn_end j x : \sum_t drawn j (x, t) = end_law x.
Proof.
rewrite (sum_places j) -sum_ends; apply: eq_bigr => s _.
under eq_bigr => u _ do rewrite drawn_insert.
by rewrite -mulr_sumr product_sum mulr1.
Qed.

Lemma mixed_end x : \sum_t mixed (x, t) = end_law x.
Proof.
rewrite -mulr_suml exchange_big /= (eq_bigr (fun=> end_law x)) => [|j _]; last exact: drawn_end.
by rewrite sumr_const card_ord average.
Qed.

Lemma target_end x : \sum_t by_target (x, t) = pi x.
Proof. by rewrite /by_target /backwards /= -mulr_sumr product_sum mulr1. Qed.

Lemma sum_draws (F : draw -> K) : \sum_i F i = \sum_x \sum_t F (x, t).
Proof. by rewrite pair_bigA; apply: eq_bigr => -[]. Qed.

Lemma end_law_sum : \sum_x end_law x = 1.
Proof. by rewrite -pF_sum (partition_big g predT). Qed.

Lemma mixed_sum : \sum_i mixed i = 1.
Proof. by rewrite sum_draws; under eq_bigr do rewrite mixed_end; apply: end_law_sum. Qed.

Lemma by_target_sum : \sum_i by_target i = 1.
Proof. by rewrite sum_draws; under eq_bigr do rewrite target_end. Qed.

(* What does not depend on the order of the places has one mean, wherever the drawn one is.       *)
Lemma any_place (S : draw -> K) x :
  (forall j s u, S (x, insert j s u) = S (x, insert ord0 s u)) ->
  \sum_t drawn ord0 (x, t) * S (x, t) = \sum_t mixed (x, t) * S (x, t).
Proof.
move=> sym; have one j : \sum_t drawn j (x, t) * S (x, t) = \sum_t drawn ord0 (x, t) * S (x, t).
  rewrite (sum_places j) [RHS](sum_places ord0); apply: eq_bigr => s _; apply: eq_bigr => u _.
  by rewrite !drawn_insert sym.
under [RHS]eq_bigr => t _ do rewrite /mixed mulrAC mulr_suml.
rewrite -mulr_suml exchange_big /= (eq_bigr _ (fun j _ => one j)).
by rewrite sumr_const card_ord average.
Qed.

Lemma backwards_insert j x s u : backwards (x, insert j s u) = pB x s * \prod_k pB x (u k).
Proof.
rewrite /backwards /= (bigD1_ord j) //= insert_at; congr (_ * _).
by apply: eq_bigr => k _; rewrite insert_lift.
Qed.

Lemma quotient_insert j x s u :
  quotient (x, insert j s u) = (pF s / pB x s + \sum_k pF (u k) / pB x (u k)) / n.+1%:R.
Proof.
rewrite /quotient /= (bigD1_ord j) //= insert_at; congr ((_ + _) / _).
by apply: eq_bigr => k _; rewrite insert_lift.
Qed.

(* Where all p_B are positive, the mixture is q times the product of the p_B.                     *)
Lemma mixed_quotient i : backwards i != 0 -> mixed i = quotient i * backwards i.
Proof.
case: i => x t b0; rewrite /mixed /quotient [RHS]mulrAC [X in _ = X / _]mulr_suml; congr (_ / _); apply: eq_bigr => j _.
have pj : pB x (t j) != 0 by apply: contraNneq b0 => pj; rewrite /backwards (bigD1 j) //= pj mul0r.
have -> : backwards (x, t) = pB x (t j) * \prod_(k | k != j) pB x (t k).
  by rewrite /backwards (bigD1 j).
by rewrite mulrA divfK // /drawn /ends (pB_end pj) eqxx.
Qed.

Lemma quotient_ge0 i : 0 <= quotient i.
Proof. by rewrite divr_ge0 ?ler0n // sumr_ge0 // => k _; rewrite divr_ge0. Qed.

(* 1. B_K is the distance of the two laws of draws, and the mean over the target is the same.     *)
Theorem bound_is_tv : bound = tv mixed by_target.
Proof.
rewrite tv_event ?mixed_sum ?by_target_sum // -sumrB big_mkcond /= /bound !sum_draws.
apply: eq_bigr => x _; rewrite any_place => [|j s u]; last first.
  by rewrite /lacking_model !backwards_insert !quotient_insert.
apply: eq_bigr => t _; move: (x, t) => i; rewrite /lacking_model.
have -> : (if by_target i < mixed i then mixed i - by_target i else 0) =
    positive_part (mixed i - by_target i).
  rewrite /positive_part; case: ltP => [lt|le]; last by rewrite max_l // subr_le0.
  by rewrite max_r // subr_ge0 ltW.
have [b0|b0] := eqVneq (backwards i) 0.
  by rewrite mulr1 /by_target b0 mulr0 subr0 /positive_part max_r // mixed_ge0.
rewrite positive_part_scale ?mixed_ge0 // mixed_quotient // /by_target mulrBr mulr1.
have [q0|q0] := eqVneq (quotient i) 0.
  rewrite q0 !mul0r subrr sub0r /positive_part maxxx max_l // oppr_le0.
  by rewrite mulr_ge0 ?backwards_ge0 // ltW.
by congr (positive_part (_ - _)); rewrite mulrAC [_ / _]mulrC mulrA divff // mul1r.
Qed.

Theorem bound_over_target : bound = \sum_(i : draw) by_target i * lacking_target i.
Proof.
have sym : tv mixed by_target = tv by_target mixed.
  by rewrite /tv; congr (_ / _); apply: eq_bigr => i _; rewrite distrC.
rewrite bound_is_tv sym tv_event ?mixed_sum ?by_target_sum // -sumrB big_mkcond /=.
apply: eq_bigr => i _; rewrite /lacking_target.
have -> : (if mixed i < by_target i then by_target i - mixed i else 0) =
    positive_part (by_target i - mixed i).
  rewrite /positive_part; case: ltP => [lt|le]; last by rewrite max_l // subr_le0.
  by rewrite max_r // subr_ge0 ltW.
have [b0|b0] := eqVneq (backwards i) 0.
  by rewrite mulr0 /by_target b0 mulr0 sub0r /positive_part max_l // oppr_le0 mixed_ge0.
rewrite positive_part_scale ?by_target_ge0 // mixed_quotient // /by_target mulrBr mulr1.
congr (positive_part (_ - _)); rewrite [RHS]mulrAC; congr (_ * _).
by rewrite [RHS]mulrC divfK // gt_eqF.
Qed.

(* 2. It is at least the distance of the terminal states.                                         *)
Theorem bound_above_tv : tv end_law pi <= bound.
Proof.
have image (F : draw -> K) x : \sum_(i | i.1 == x) F i = \sum_t F (x, t).
  rewrite [LHS]big_mkcond sum_draws (bigD1 x) //= [X in _ + X]big1 ?addr0 => [|y /negbTE yx]; last first.
    by rewrite big1 // => t _; rewrite yx.
  by apply: eq_bigr => t _; rewrite eqxx.
rewrite bound_is_tv; apply: le_trans (image_tv mixed by_target (fun i : draw => i.1)).
rewrite /tv ler_pmul2r ?invr_gt0 ?ltr0n //; apply: ler_sum => x _.
by rewrite !image mixed_end target_end.
Qed.

(* The mean of 1 / q for a given end x is at most 1, summed over draws of that end: so with the law
   given x it is at most 1 / p_T(x).                                                              *)
Theorem mean_of_reciprocal x :
  \sum_t drawn ord0 (x, t) * (if backwards (x, t) == 0 then 0 else (quotient (x, t))^-1) <= 1.
Proof.
rewrite (any_place (S := fun i => if backwards i == 0 then 0 else (quotient i)^-1)); last first.
  by move=> j s u; rewrite !backwards_insert !quotient_insert.
rewrite -(product_sum n.+1 x); apply: ler_sum => t _.
case: eqP => [b0|/eqP b0]; first by rewrite mulr0 -/(backwards (x, t)) b0.
rewrite mixed_quotient // mulrAC; have [->|q0] := eqVneq (quotient (x, t)) 0.
  by rewrite !mul0r; apply: (backwards_ge0 (x, t)).
by rewrite divff // mul1r.
Qed.
End Draws.

(* 3. With one trajectory it is the distance of the laws of trajectories.                         *)
Theorem bound_of_one : bound 0 = tv pF target_law.
Proof.
rewrite bound_is_tv /tv; congr (_ / _); rewrite sum_draws.
transitivity (\sum_x \sum_s `|ends x s - pi x * pB x s|).
  apply: eq_bigr => x _; rewrite (sum_places ord0); apply: eq_bigr => s _.
  rewrite (eq_bigr (fun=> `|ends x s - pi x * pB x s|)) => [|u _].
    by rewrite sumr_const card_ffun card_ord expn0.
  rewrite /mixed /by_target big_ord1 drawn_insert backwards_insert /= big_ord0.
  by rewrite !mulr1 divr1.
rewrite exchange_big; apply: eq_bigr => s _ /=.
rewrite (bigD1 (g s)) //= big1 ?addr0 /ends ?eqxx // => x /negbTE xs.
rewrite eq_sym xs sub0r normrN; have [->|/pB_end sx] := eqVneq (pB x s) 0.
  by rewrite mulr0 normr0.
by rewrite sx eqxx in xs.
Qed.

(* 4. It does not increase with the number of trajectories.                                       *)
Section Fewer.
Variable n : nat.
Implicit Types (x : X) (t : {ffun 'I_n.+2 -> T}).

Lemma one_more x t : \sum_(j : 'I_n.+2) mixed (x, remove j t) * pB x (t j) =
  n.+2%:R * mixed (x, t).
Proof.
pose w i := drawn i (x, t); have other j (i : 'I_n.+1) :
    drawn i (x, remove j t) * pB x (t j) = w (lift j i).
  rewrite /w /drawn /= ffunE -mulrA; congr (_ * _).
  rewrite (bigD1_ord j) ?neq_lift //= mulrC; congr (_ * _).
  by apply: eq_big => [k|k _]; rewrite ?ffunE // (inj_eq (@lift_inj _ j)).
under eq_bigr => j _ do rewrite /mixed mulrAC mulr_suml.
rewrite -mulr_suml.
have -> : \sum_j \sum_(i : 'I_n.+1) drawn i (x, remove j t) * pB x (t j) = n.+1%:R * \sum_i w i.
  transitivity (\sum_(j : 'I_n.+2) (\sum_i w i - w j)).
    apply: eq_bigr => j _; rewrite [in RHS](bigD1_ord j) //= addrC addKr.
    exact: eq_bigr (fun i _ => other j i).
  by rewrite sumrB sumr_const card_ord -[X in _ - X]mulr1n -mulrnBr // subn1 mulr_natl.
rewrite mulrAC divff ?mul1r ?pnatr_eq0 // /mixed -/w mulrC divfK ?pnatr_eq0 //.
Qed.

Lemma target_one_more x t j : by_target (x, t) = by_target (x, remove j t) * pB x (t j).
Proof.
rewrite /by_target /backwards /= -mulrA; congr (_ * _).
rewrite (bigD1_ord j) //= mulrC; congr (_ * _); by apply: eq_bigr => k _; rewrite ffunE.
Qed.

Theorem bound_falls : bound n.+1 <= bound n.
Proof.
rewrite !bound_is_tv /tv ler_pmul2r ?invr_gt0 ?ltr0n // !sum_draws; apply: ler_sum => x _.
pose D (u : {ffun 'I_n.+1 -> T}) := mixed (x, u) - by_target (x, u).
have n2 : n.+2%:R != 0 :> K by rewrite pnatr_eq0.
rewrite -(ler_pmul2l (ltr0n K n.+2)) !mulr_sumr.
apply: le_trans (_ : \sum_t \sum_(j : 'I_n.+2) `|D (remove j t)| * pB x (t j) <= _).
  apply: ler_sum => t _; rewrite -[n.+2%:R in X in X <= _]normr_nat -normrM mulrBr -one_more.
  have -> : n.+2%:R * by_target (x, t) = \sum_(j : 'I_n.+2) by_target (x, remove j t) * pB x (t j).
    under eq_bigr => j _ do rewrite -target_one_more.
    by rewrite sumr_const card_ord mulr_natl.
  rewrite -sumrB; apply: le_trans (ler_norm_sum _ _ _) _; apply: ler_sum => j _.
  by rewrite -mulrBl normrM (ger0_norm (pB_ge0 _ _)).
rewrite exchange_big /= (eq_bigr (fun=> \sum_u `|D u|)) => [|j _].
  by rewrite sumr_const card_ord -mulr_sumr mulr_natl; apply: lexx.
rewrite (sum_places j) exchange_big; apply: eq_bigr => u _ /=.
under eq_bigr => s _ do rewrite insert_at remove_insert.
by rewrite -mulr_sumr pB_sum mulr1.
Qed.
End Fewer.
End Paths.
