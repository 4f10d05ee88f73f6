(* In exact arithmetic [check] accepts every right certificate that is written in the normal form:
   positive denominators, the children of each row in increasing order, edges to later nodes.      *)
From Coq Require Import List ZArith QArith Qabs Qfield Lia.
From Cert Require Import Spec Trie Check Numbers Sound.
Import ListNotations.
Local Open Scope Z_scope.

Fixpoint increasing (before : Z) (steps : list (node * Z)) : Prop :=
  match steps with [] => True | (v, _) :: steps' => before < v /\ increasing v steps' end.

Record normal (c : cert) : Prop := Normal {
  reward_den_positive : 0 < reward_den (given c);
  tv_den_positive : 0 < tv_den (given c);
  row_normal : forall u d steps, row_of c u = Some (Inner d steps) ->
    0 < d /\ steps <> [] /\ increasing u steps
}.

Lemma increasing_before steps : forall before v w,
  increasing before steps -> In (v, w) steps -> before < v.
Proof.
induction steps as [|[v' w'] steps IH]; simpl; [easy|]. intros before v w [L I] [E|H].
- now inversion E; subst.
- specialize (IH _ _ _ I H). lia.
Qed.

Lemma push_complete h x d steps : forall before total m, increasing before steps ->
  (forall v w, In (v, w) steps -> v < size h /\ 0 <= w) ->
  exists m', push h x d steps before total m = Some (total + weights steps, m').
Proof.
induction steps as [|[v w] steps IH]; intros before total m; cbn [push increasing].
- intros _ _. exists m. unfold weights; simpl. now rewrite Z.add_0_r.
- intros [L I] H. destruct (H v w (or_introl eq_refl)) as [H1 H2].
  rewrite (proj2 (Z.ltb_lt _ _) L), (proj2 (Z.ltb_lt _ _) H1), (proj2 (Z.leb_le _ _) H2).
  destruct (IH v (total + w) (update (key v) (receive (arith h) (times (arith h) x w d)) m) I)
    as [m' E].
  { intros v' w' H'. apply H. now right. }
  exists m'. rewrite E. unfold weights; simpl. now rewrite Z.add_assoc.
Qed.

Section Certificate.
Variable c : cert.
Notation h := (given c).
Hypothesis N : normal c.
Hypothesis ok : right c.

Lemma nonneg_of_ratio a b : 0 < b -> (0 <= ratio a b)%Q -> 0 <= a.
Proof.
intros Hb H. assert (E : (inject_Z a == ratio a b * inject_Z b)%Q).
{ unfold ratio. field. apply inject_nz. lia. }
assert (H' : (0 <= inject_Z a)%Q).
{ rewrite E. apply Qmult_le_0_compat; [assumption|]. apply inject_nonneg. lia. }
revert H'. unfold Qle; simpl; lia.
Qed.

Lemma rows_ok u r : row_of c u = Some r -> row_ok (count c) u r.
Proof.
intros Er. destruct r as [r|d steps].
- assert (H := R_nonnegative c ok u). unfold R in H. rewrite Er in H.
  now apply nonneg_of_ratio in H; [|apply (reward_den_positive c N)].
- destruct (row_normal c N u d steps Er) as (D & ne & I).
  assert (ND := edges_once c ok u). unfold children in ND. rewrite Er in ND.
  assert (O : forall v w, In (v, w) steps -> u < v < count c /\ 0 <= w).
  { intros v w H. split; [split|].
    - now apply (increasing_before _ _ _ _ I) in H.
    - assert (E : edge c u v).
      { unfold edge, children. rewrite Er. apply in_map_iff. now exists (v, w). }
      apply (edges_in_graph c ok) in E as [_ E]. now apply in_nodes in E.
    - assert (P := pF_nonnegative c ok u v).
      rewrite (pF_step c _ _ _ _ _ Er (step_to_in _ _ _ ND H)) in P.
      now apply nonneg_of_ratio in P. }
  repeat split; try assumption; try apply (O _ _ H).
  assert (Hu := row_of_nodes c _ _ Er).
  assert (NT : ~ In u (terminals c)).
  { intros H. apply filter_In in H as [_ H]. unfold children in H. rewrite Er in H.
    destruct steps; [congruence|discriminate]. }
  assert (S := pF_normalised c ok u Hu NT). unfold children in S. rewrite Er, map_map in S.
  rewrite (sum_map_ext _ (fun s => inject_Z (snd s) * / inject_Z d)%Q) in S.
  + rewrite sum_map_scale in S.
    assert (E : (sum (map (fun s => inject_Z (snd s)) steps) == inject_Z (weights steps))%Q).
    { clear. unfold weights. induction steps as [|[v w] steps IH]; simpl; [reflexivity|].
      now rewrite inject_Z_plus, <- IH. }
    rewrite E in S. change (ratio (weights steps) d == ratio 1 1)%Q in S.
    apply ratio_inj in S; lia.
  + intros [v w] H. cbn [fst].
    rewrite (pF_step c _ _ _ _ _ Er (step_to_in _ _ _ ND H)). reflexivity.
Qed.

Lemma run_complete rest : sensible (arith h) -> forall pre s, rows c = pre ++ rest ->
  next s = Z.of_nat (length pre) -> inv c (next s) (masses s) -> exists s', run h s rest = Some s'.
Proof.
intros sa. induction rest as [|r rest IH]; intros pre s Erows En I; [now exists s|].
set (u := next s) in *. assert (Hu : 0 <= u) by lia.
assert (Er := row_at c _ _ _ Erows). rewrite <- En in Er.
assert (Erows' : rows c = (pre ++ [r]) ++ rest) by (rewrite <- app_assoc; exact Erows).
assert (Eu : u + 1 = Z.of_nat (length (pre ++ [r]))) by (rewrite app_length; simpl; lia).
assert (Iu := I u (Z.le_refl u)). cbn [run]. unfold step. fold u. fold (look u (masses s)).
destruct (look u (masses s)) as [x|] eqn:Ef.
2: { exfalso. destruct Iu as [u0 HN]. apply u0.
     apply (proj2 (one_source c ok) u (row_of_nodes c _ _ Er)).
     intros w E. apply HN. exists w. split; [|assumption]. apply (edge_lt c rows_ok) in E. lia. }
destruct r as [r|d steps].
- rewrite (proj2 (Z.leb_le _ _) (rows_ok _ _ Er)).
  apply (inv_terminal c _ _ _ Hu Er) in I.
  apply (IH _ (State (u + 1) _ _ _) Erows' Eu I).
- destruct (rows_ok _ _ Er) as (D & W & _ & O). rewrite (proj2 (Z.ltb_lt _ _) D).
  destruct (push_complete h x d steps u 0 (remove (key u) (masses s))) as [m' E].
  + apply (row_normal c N u d steps Er).
  + intros v w H. apply O in H. rewrite <- (size_claimed c ok). fold (count c). lia.
  + rewrite E. rewrite Z.add_0_l, W, Z.eqb_refl.
    apply (inv_inner c rows_ok u _ m' x d steps _ sa Hu Er Ef I) in E.
    apply (IH _ (State (u + 1) _ _ _) Erows' Eu E).
Qed.

Theorem check_complete : arith h = Exact -> check c = true.
Proof.
intros exact. assert (sa : sensible (arith h)) by (rewrite exact; exact Logic.I).
unfold check. set (S := reward_sum h) in *.
assert (Hr := reward_den_positive c N). assert (Ht := tv_den_positive c N).
assert (EP : (partition c == ratio (rewards (rows c)) (reward_den h))%Q).
{ apply (partition_rewards c rows_ok (rows c)) with (pre := []); [lia|reflexivity]. }
assert (EZ := Z_claimed c ok). fold S in EZ.
assert (ES : rewards (rows c) = S).
{ rewrite EP in EZ. apply ratio_inj in EZ; [|lia|lia]. apply Z.mul_reg_r in EZ; lia. }
assert (HS : 0 < S).
{ assert (P := Z_positive c ok). rewrite EZ in P.
  assert (P0 := nonneg_of_ratio S (reward_den h) Hr (Qlt_le_weak _ _ P)).
  destruct (Z.eq_dec S 0) as [E0|]; [|lia]. rewrite E0 in P. discriminate P. }
unfold start. fold S. rewrite exact, (proj2 (Z.ltb_lt _ _) HS), (proj2 (Z.ltb_lt _ _) Hr),
  (proj2 (Z.ltb_lt _ _) Ht). rewrite <- exact. set (s0 := State _ _ _ _).
destruct (run_complete (rows c) sa [] s0 eq_refl eq_refl (inv_start c rows_ok sa)) as [s Es].
rewrite Es. destruct (run_spec _ _ s0 _ (Z.le_refl 0) Es) as (_ & En & Ec).
cbn [next collected s0] in En, Ec. rewrite !Z.add_0_l in *.
destruct (whole_run c s sa HS rows_ok Es) as (_ & pT & T & W). fold S in W.
unfold finish. fold S. rewrite En, Ec, ES, Z.eqb_refl.
rewrite (size_claimed c ok), Z.eqb_refl, exact. rewrite exact in W.
apply contains_exact in W as (Dd & W). destruct (gaps s) as [p q]. cbn [fst snd bounds] in Dd, W |- *.
destruct (TV_claimed c ok) as (pT' & T' & E).
assert (E' : (TV c pT' == ratio p (2 * (q * S)))%Q).
{ transitivity (TV c pT).
  - unfold TV. rewrite (sum_map_ext (fun x => Qabs (pT' x - R c x / partition c))
                          (fun x => Qabs (pT x - R c x / partition c))); [reflexivity|].
    intros x H. rewrite (is_pT_unique c x _ _ (T x H) (T' x H)). reflexivity.
  - rewrite (TV_gaps c S pT HS Hr EZ (R_given c ok)), W. now apply over_twice. }
assert (Hq2 : 0 < 2 * (q * S)) by nia.
replace (2 * tv_num h * (q * S)) with (tv_num h * (2 * (q * S))) by ring.
destruct (claim h); cbn [holds] in E; rewrite E' in E.
- apply ratio_inj in E; [|lia|lia]. now rewrite (proj2 (Z.eqb_eq _ _) E).
- apply (ratio_le _ _ _ _ Hq2 Ht) in E. now apply Z.leb_le.
- apply (ratio_le _ _ _ _ Ht Hq2) in E. now apply Z.leb_le.
Qed.

End Certificate.

(* The other way round: what is accepted is in normal form.                                        *)
Lemma push_increasing h x d steps : forall before total m out,
  push h x d steps before total m = Some out -> increasing before steps.
Proof.
induction steps as [|[v w] steps IH]; intros before total m out; cbn [push increasing]; [easy|].
destruct (Z.ltb_spec before v); [|discriminate]. destruct (v <? size h); [|discriminate].
destruct (0 <=? w); [|discriminate]. intros E. split; [assumption|]. now apply IH in E.
Qed.

Lemma step_normal h s s' d steps : step h s (Inner d steps) = Some s' ->
  0 < d /\ steps <> [] /\ increasing (next s) steps.
Proof.
unfold step. destruct (Trie.find _ _) as [x|]; [|discriminate].
destruct (Z.ltb_spec 0 d); [|discriminate].
destruct (push _ _ _ _ _ _ _) as [[total m']|] eqn:Ep; [|discriminate].
destruct (Z.eqb_spec total d) as [->|]; [|discriminate]. intros _.
split; [assumption|]. split; [|now apply push_increasing in Ep].
intros ->. simpl in Ep. inversion Ep. lia.
Qed.

Lemma run_normal h rest : forall s s', 0 <= next s -> run h s rest = Some s' ->
  forall i d steps, nth_error rest i = Some (Inner d steps) ->
  0 < d /\ steps <> [] /\ increasing (next s + Z.of_nat i) steps.
Proof.
induction rest as [|r rest IH]; intros s s' Hu; cbn [run].
- intros _ [|i] d steps; discriminate.
- destruct (step h s r) as [s1|] eqn:Es; [|discriminate]. intros E [|i] d steps; simpl nth_error.
  + intros F; inversion F; subst. rewrite Z.add_0_r. now apply step_normal in Es.
  + apply step_spec in Es as (_ & N1 & _); [|assumption]. intros F.
    apply (IH s1 s' ltac:(lia) E) in F.
    now replace (next s + Z.of_nat (Datatypes.S i)) with (next s1 + Z.of_nat i) by lia.
Qed.

Lemma check_normal c : check c = true -> normal c.
Proof.
unfold check. destruct (start (given c)) as [s0|] eqn:Es; [|discriminate].
apply start_spec in Es as (HS & Hr & Ht & sa & ->). set (s0 := State _ _ _ _).
destruct (run _ _ _) as [s|] eqn:Er; [|discriminate]. intros _.
constructor; try assumption. intros u d steps. unfold row_of.
destruct (Z.ltb_spec u 0); [discriminate|]. intros E.
apply (run_normal _ _ s0 _ (Z.le_refl 0) Er) in E.
cbn [next s0] in E. now rewrite Z.add_0_l, Z2Nat.id in E.
Qed.

Theorem check_exact c : arith (given c) = Exact -> (check c = true <-> normal c /\ right c).
Proof.
intros exact. split.
- intros H. split; [now apply check_normal|now apply check_sound].
- intros [N ok]. now apply check_complete.
Qed.
