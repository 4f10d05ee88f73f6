(* A certificate that [check] accepts is right.                                                    *)
From Coq Require Import List ZArith QArith Qabs Qfield Lia Permutation.
From Cert Require Import Spec Trie Check Numbers.
Import ListNotations.
Local Open Scope Z_scope.

(* Sums.                                                                                           *)

Lemma sum_cons a l : sum (a :: l) = (a + sum l)%Q.
Proof. reflexivity. Qed.

Lemma sum_app l l' : (sum (l ++ l') == sum l + sum l')%Q.
Proof. induction l as [|a l IH]; simpl; [ring|]. rewrite IH; ring. Qed.

Lemma sum_perm l l' : Permutation l l' -> (sum l == sum l')%Q.
Proof.
induction 1; simpl; try reflexivity.
- now rewrite IHPermutation.
- ring.
- now rewrite IHPermutation1.
Qed.

Lemma sum_map_ext {A} (f g : A -> Q) l :
  (forall x, In x l -> (f x == g x)%Q) -> (sum (map f l) == sum (map g l))%Q.
Proof.
induction l as [|a l IH]; simpl; intros H; [reflexivity|].
rewrite H, IH; auto; reflexivity.
Qed.

Lemma sum_map_scale {A} (f : A -> Q) k l : (sum (map (fun x => f x * k) l) == sum (map f l) * k)%Q.
Proof. induction l as [|a l IH]; simpl; [ring|]. rewrite IH; ring. Qed.

(* What [push] does.                                                                               *)

Definition look (v : node) (m : trie number) : option number := Trie.find (key v) m.
Definition step_to (v : node) (steps : list (node * Z)) := List.find (fun s => Z.eqb (fst s) v) steps.
Definition weights (steps : list (node * Z)) : Z := fold_right Z.add 0 (map snd steps).

Lemma key_ne v w : 0 <= v -> 0 <= w -> v <> w -> key v <> key w.
Proof. unfold key. intros Hv Hw ne E. apply key_of_inj in E. lia. Qed.

Lemma look_update v w f m : 0 <= v -> 0 <= w ->
  look v (update (key w) f m) = if v =? w then Some (f (look v m)) else look v m.
Proof.
intros Hv Hw. unfold look. destruct (Z.eqb_spec v w) as [->|ne].
- apply find_update.
- apply find_update_other. now apply key_ne.
Qed.

Lemma look_remove v w m : 0 <= v -> 0 <= w -> v <> w -> look v (remove (key w) m) = look v m.
Proof. intros Hv Hw ne. apply find_remove_other. now apply key_ne. Qed.

Lemma step_to_none v steps : step_to v steps = None <-> ~ In v (map fst steps).
Proof.
induction steps as [|[v' w] steps IH]; simpl; [tauto|].
destruct (Z.eqb_spec v' v); simpl; split; try tauto; try discriminate.
Qed.

Lemma step_to_some v w steps : step_to v steps = Some w -> fst w = v /\ In w steps.
Proof.
intros H. apply find_some in H as [H1 H2]. apply Z.eqb_eq in H2. auto.
Qed.

Lemma push_spec h x d steps : forall before total m total' m',
  0 <= before ->
  push h x d steps before total m = Some (total', m') ->
  total' = total + weights steps /\
  (forall v w, In (v, w) steps -> before < v < size h /\ 0 <= w) /\
  NoDup (map fst steps) /\
  forall v, 0 <= v -> look v m' = match step_to v steps with
                                  | None => look v m
                                  | Some (_, w) =>
                                      Some (receive (arith h) (times (arith h) x w d) (look v m))
                                  end.
Proof.
induction steps as [|[v w] steps IH]; intros before total m total' m' Hb; cbn [push].
- intros E; inversion E; subst. unfold weights; simpl.
  repeat split; try lia; try tauto; try constructor.
- destruct (Z.ltb_spec before v) as [L1|]; [|discriminate].
  destruct (Z.ltb_spec v (size h)) as [L2|]; [|discriminate].
  destruct (Z.leb_spec 0 w) as [L3|]; [|discriminate].
  intros E. apply IH in E as (E1 & E2 & E3 & E4); [|lia].
  unfold weights in *; simpl.
  split; [lia|]. split; [|split].
  + intros v' w' [E|H]; [inversion E; subst; lia|]. apply E2 in H; lia.
  + constructor; [|assumption].
    rewrite in_map_iff. intros ([v' w'] & Ev & H). simpl in Ev; subst.
    apply E2 in H; lia.
  + intros v' Hv'. rewrite E4 by assumption. rewrite look_update by lia.
    fold (step_to v' steps). destruct (Z.eqb_spec v v') as [<-|ne].
    * rewrite Z.eqb_refl. destruct (step_to v steps) as [[v1 w1]|] eqn:S1.
      -- apply step_to_some in S1 as [S1 S2]. simpl in S1; subst. apply E2 in S2; lia.
      -- reflexivity.
    * destruct (Z.eqb_spec v' v) as [->|_]; [congruence|]. reflexivity.
Qed.

(* Rows that pass.                                                                                 *)

Definition row_ok (n u : Z) (r : row) : Prop :=
  match r with
  | Terminal r => 0 <= r
  | Inner d steps =>
      0 < d /\ weights steps = d /\ NoDup (map fst steps) /\
      forall v w, In (v, w) steps -> u < v < n /\ 0 <= w
  end.

(* The sum of the rewards, but for their denominator.                                              *)
Definition reward_of (r : row) : Z := match r with Terminal r => r | _ => 0 end.
Definition rewards (rest : list row) : Z := fold_right Z.add 0 (map reward_of rest).

Lemma step_spec h s r s' : 0 <= next s -> step h s r = Some s' ->
  row_ok (size h) (next s) r /\ next s' = next s + 1 /\ collected s' = collected s + reward_of r.
Proof.
intros Hu. unfold step. destruct (Trie.find _ _) as [x|]; [|discriminate].
destruct r as [r|d steps]; cbn [row_ok reward_of].
- destruct (Z.leb_spec 0 r); [|discriminate]. intros E; inversion E; subst; simpl. lia.
- destruct (Z.ltb_spec 0 d); [|discriminate].
  destruct (push _ _ _ _ _ _ _) as [[total m']|] eqn:Ep; [|discriminate].
  destruct (Z.eqb_spec total d) as [->|]; [|discriminate].
  intros E; inversion E; subst; simpl. apply push_spec in Ep as (E1 & E2 & E3 & _); [|assumption].
  repeat split; try assumption; try lia; apply (E2 _ _ H0).
Qed.

Lemma run_spec h rest : forall s s', 0 <= next s -> run h s rest = Some s' ->
  (forall i r, nth_error rest i = Some r -> row_ok (size h) (next s + Z.of_nat i) r) /\
  next s' = next s + Z.of_nat (length rest) /\ collected s' = collected s + rewards rest.
Proof.
unfold rewards. induction rest as [|r rest IH]; intros s s' Hu; cbn [run].
- intros E; inversion E; subst. cbn. repeat split; try lia. now intros [|i].
- destruct (step h s r) as [s1|] eqn:Es; [|discriminate]. intros E.
  apply step_spec in Es as (R1 & N1 & C1); [|assumption].
  apply IH in E as (R & N & C); [|lia]. cbn [length map fold_right]. split; [|lia].
  intros [|i] r'; simpl nth_error.
  + intros F; inversion F; subst. now rewrite Z.add_0_r.
  + intros F. apply R in F. now replace (next s + Z.of_nat (Datatypes.S i)) with (next s1 + Z.of_nat i) by lia.
Qed.

(* Lists of nodes and their last.                                                                  *)

Lemma last_cons (t : list node) v u : last (v :: t) u = last t v.
Proof.
revert v u. induction t as [|w t IH]; intros v u; [reflexivity|].
change (last (v :: w :: t) u) with (last (w :: t) u). rewrite !IH. reflexivity.
Qed.

Section Certificate.
Variable c : cert.
Notation h := (given c).
Notation a := (arith (given c)).
Notation path := (path c).
Notation weight := (weight c).
Notation edge := (edge c).
Notation trajectory := (trajectory c).

Lemma path_snoc t v : forall u, path u (t ++ [v]) <-> path u t /\ edge (last t u) v.
Proof.
induction t as [|w t IH]; intros u.
- simpl; tauto.
- rewrite last_cons. cbn [app Spec.path]. rewrite IH. tauto.
Qed.

Lemma weight_snoc t v : forall u, (weight u (t ++ [v]) == weight u t * pF c (last t u) v)%Q.
Proof.
induction t as [|w t IH]; intros u.
- simpl; ring.
- rewrite last_cons. cbn [app Spec.weight]. rewrite IH. ring.
Qed.

(* The value of p_T(x) is unique.                                                                  *)
Theorem is_pT_unique x q q' : is_pT c x q -> is_pT c x q' -> (q == q')%Q.
Proof.
intros (ts & N & I & E) (ts' & N' & I' & E'). rewrite E, E'.
apply sum_perm, Permutation_map, NoDup_Permutation; auto.
intros t. rewrite I, I'. reflexivity.
Qed.

Definition count := Z.of_nat (length (rows c)).

Lemma in_nodes u : In u (nodes c) <-> 0 <= u < count.
Proof.
unfold nodes, count. rewrite in_map_iff. split.
- intros (i & <- & H). apply in_seq in H. lia.
- intros H. exists (Z.to_nat u). split; [lia|]. apply in_seq. lia.
Qed.

Lemma row_of_nodes u r : row_of c u = Some r -> In u (nodes c).
Proof.
unfold row_of. destruct (Z.ltb_spec u 0); [discriminate|]. intros E.
assert (Z.to_nat u < length (rows c))%nat by (apply nth_error_Some; congruence).
apply in_nodes. unfold count. lia.
Qed.

Lemma nodes_row_of u : In u (nodes c) -> exists r, row_of c u = Some r.
Proof.
rewrite in_nodes. unfold row_of, count. intros H. destruct (Z.ltb_spec u 0); [lia|].
destruct (nth_error (rows c) (Z.to_nat u)) eqn:E; [eauto|].
apply nth_error_None in E. lia.
Qed.

Hypothesis rows_ok : forall u r, row_of c u = Some r -> row_ok count u r.

Lemma edge_row u v : edge u v -> exists d steps,
  row_of c u = Some (Inner d steps) /\ In v (map fst steps).
Proof.
unfold Spec.edge, children. destruct (row_of c u) as [[r|d steps]|]; try easy. eauto.
Qed.

Lemma edge_lt u v : edge u v -> 0 <= u < v /\ v < count.
Proof.
intros H. apply edge_row in H as (d & steps & E & I).
assert (Hu := row_of_nodes _ _ E). rewrite in_nodes in Hu.
apply rows_ok in E as (_ & _ & _ & O). apply in_map_iff in I as ([v' w] & Ev & I).
simpl in Ev; subst. apply O in I. lia.
Qed.

Lemma path_le t : forall u, path u t -> u <= last t u /\ (t <> [] -> u < last t u).
Proof.
induction t as [|v t IH]; intros u; simpl Spec.path.
- simpl. split; [lia|congruence].
- intros [E P]. apply edge_lt in E. apply IH in P as [L _]. rewrite last_cons. lia.
Qed.

(* A trajectory is [below u] if its last step leaves a node before u.                              *)
Definition below (u : node) (t : list node) : Prop :=
  forall t' v, t = t' ++ [v] -> last t' 0 < u.

Lemma trajectory_snoc v' t v :
  trajectory v' (t ++ [v]) <-> v' = v /\ trajectory (last t 0) t /\ edge (last t 0) v.
Proof.
unfold Spec.trajectory. rewrite path_snoc, last_last. intuition congruence.
Qed.

Lemma trajectory_below v t : trajectory v t -> below v t.
Proof.
intros H t' w ->. apply trajectory_snoc in H as (-> & _ & H). apply edge_lt in H. lia.
Qed.

Lemma below_snoc u t v : below u (t ++ [v]) <-> last t 0 < u.
Proof.
split.
- intros H. now apply (H t v).
- intros H t' v' E. apply app_inj_tail in E as [-> ->]. assumption.
Qed.

(* What the masses are once the rows before u are read.                                            *)
Definition partial (u v : node) (q : Q) : Prop :=
  exists ts, NoDup ts /\ (forall t, In t ts <-> trajectory v t /\ below u t) /\
             (q == sum (map (weight 0%Z) ts))%Q.
Definition has_parent (u v : node) : Prop := exists w, w < u /\ edge w v.
Definition reached (u v : node) : Prop := v = 0 \/ has_parent u v.
Definition mass (u v : node) (f : option number) : Prop :=
  match f with
  | None => v <> 0 /\ ~ has_parent u v
  | Some x => reached u v /\ exists q, contains a x q /\ partial u v q
  end.
Definition inv (u : node) (m : trie number) : Prop := forall v, u <= v -> mass u v (look v m).

Lemma none_partial u v : v <> 0 -> ~ has_parent u v -> partial u v 0.
Proof.
intros H0 HN. exists []. split; [constructor|]. split; [|reflexivity].
intros t. split; [easy|]. intros [T B]. destruct t as [|w t _] using rev_ind.
- destruct T as [_ T]. simpl in T. congruence.
- apply trajectory_snoc in T as (-> & T & E). apply below_snoc in B.
  apply HN. exists (last t 0). auto.
Qed.

Lemma inv_law u m x : inv u m -> look u m = Some x ->
  (u = 0 \/ exists w, edge w u) /\ exists q, contains a x q /\ is_pT c u q.
Proof.
intros I E. specialize (I u (Z.le_refl u)). rewrite E in I.
destruct I as (P & q & C & ts & N & I & V). split.
- destruct P as [P|(w & _ & P)]; [now left|right; now exists w].
- exists q. split; [assumption|]. exists ts. split; [assumption|]. split; [|assumption].
  intros t. rewrite I. split; [tauto|]. intros T; split; [assumption|]. now apply trajectory_below.
Qed.

Lemma inv_start : sensible a -> inv 0 (update (key 0) (fun _ => one a) Leaf).
Proof.
intros sa. assert (np : forall v, ~ has_parent 0 v).
{ intros v (w & L & E). apply edge_lt in E. lia. }
intros v Hv. rewrite look_update by lia. destruct (Z.eqb_spec v 0) as [->|ne].
- cbn. split; [now left|]. exists 1%Q. split; [now apply contains_one|]. exists [[]]. split; [|split].
  + constructor; [easy|constructor].
  + intros t. split.
    * intros [<-|[]]. split; [now split|]. intros t' v. now destruct t'.
    * intros [[P L] _]. left. destruct t as [|w t]; [reflexivity|].
      apply path_le in P as [_ P]. rewrite L in P. assert (0 < 0) by (apply P; discriminate). lia.
  + reflexivity.
- unfold look. rewrite find_leaf. split; auto.
Qed.

(* One more row: nothing changes for nodes that are no children of u ...                           *)
Lemma below_next u v t : ~ edge u v -> trajectory v t -> below (u + 1) t <-> below u t.
Proof.
intros NE T. destruct t as [|w t _] using rev_ind.
- split; intros _ t' v'; now destruct t'.
- rewrite !below_snoc. apply trajectory_snoc in T as (-> & _ & E).
  assert (last t 0 <> u) by congruence. lia.
Qed.

Lemma mass_next u v f : ~ edge u v -> mass u v f -> mass (u + 1) v f.
Proof.
intros NE. assert (P : has_parent (u + 1) v <-> has_parent u v).
{ split; intros (w & L & E); exists w; split; try assumption; try lia.
  assert (w <> u) by congruence. lia. }
destruct f as [x|]; unfold mass, reached; rewrite P; [|tauto].
intros (Q & q & C & ts & N & I & V). split; [assumption|]. exists q. split; [assumption|]. exists ts.
repeat (split; [assumption|]). split; [|assumption]. intros t. rewrite I.
split; intros [T B]; (split; [assumption|]); apply (below_next u v t NE T); assumption.
Qed.

(* ... and children receive the mass of u times p_F.                                               *)
Lemma pF_step u d steps v w : row_of c u = Some (Inner d steps) -> step_to v steps = Some w ->
  pF c u v = ratio (snd w) d.
Proof. intros E S. unfold pF. rewrite E. unfold step_to in S. rewrite S. now destruct w. Qed.

Lemma partial_next u v q q' : 0 <= u -> edge u v -> partial u v q -> is_pT c u q' ->
  partial (u + 1) v (q + q' * pF c u v).
Proof.
intros Hu E (ts & N & I & V) (ts' & N' & I' & V').
exists (ts ++ map (fun t => t ++ [v]) ts'). split; [|split].
- assert (NM : NoDup (map (fun t => t ++ [v]) ts')).
  { clear I' V'. induction N' as [|t ts' Nt N' IH]; simpl; constructor; auto.
    rewrite in_map_iff. intros (t' & Et & H). apply app_inj_tail in Et as [-> _]. auto. }
  assert (DJ : forall t, In t ts -> ~ In t (map (fun t => t ++ [v]) ts')).
  { intros t H1 H2. apply I in H1 as [_ B]. apply in_map_iff in H2 as (t' & <- & H2).
    apply I' in H2 as [_ L]. apply below_snoc in B. lia. }
  clear I V. induction N as [|t ts Nt N IH]; simpl; [assumption|]. constructor.
  + rewrite in_app_iff. intros [H|H]; [auto|]. apply (DJ t); simpl; auto.
  + apply IH. intros t' H. apply DJ. simpl; auto.
- intros t. rewrite in_app_iff, I, in_map_iff. split.
  + intros [[T B]|(t' & <- & H)].
    * split; [assumption|]. intros t' w Et. specialize (B t' w Et). lia.
    * apply I' in H. assert (L := proj2 H). rewrite trajectory_snoc, below_snoc, L.
      repeat split; try assumption; try lia; apply H.
  + intros [T B]. destruct t as [|w t _] using rev_ind.
    * left. split; [assumption|]. intros t' w. now destruct t'.
    * destruct (Z.eq_dec (last t 0) u) as [L|L].
      -- apply trajectory_snoc in T as (-> & T & _). right. exists t. rewrite I', <- L. auto.
      -- left. split; [assumption|]. apply below_snoc. apply below_snoc in B. lia.
- rewrite map_app, sum_app, <- V, map_map.
  rewrite (sum_map_ext _ (fun t => weight 0%Z t * pF c u v))%Q.
  + rewrite sum_map_scale, <- V'. reflexivity.
  + intros t H. apply I' in H as [_ L]. rewrite weight_snoc, L. reflexivity.
Qed.

Lemma partial_eq u v q q' : (q == q')%Q -> partial u v q -> partial u v q'.
Proof.
intros E (ts & N & I & V). exists ts. split; [assumption|]. split; [assumption|].
now rewrite <- E.
Qed.

Lemma inv_terminal u m r : 0 <= u -> row_of c u = Some (Terminal r) -> inv u m ->
  inv (u + 1) (remove (key u) m).
Proof.
intros Hu E I v Hv. rewrite look_remove by lia. apply mass_next; [|apply I; lia].
unfold Spec.edge, children. rewrite E. easy.
Qed.

Lemma inv_inner u m m' x d steps total : sensible a -> 0 <= u ->
  row_of c u = Some (Inner d steps) -> look u m = Some x -> inv u m ->
  push h x d steps u 0 (remove (key u) m) = Some (total, m') -> inv (u + 1) m'.
Proof.
intros sa Hu Er Ef I Ep. destruct (inv_law _ _ _ I Ef) as (_ & q & C & L).
assert (Hd : 0 < d) by apply (rows_ok _ _ Er).
apply push_spec in Ep as (_ & O & _ & Em); [|assumption].
intros v Hv. rewrite Em, look_remove by lia. assert (Iv : mass u v (look v m)) by (apply I; lia).
destruct (step_to v steps) as [[v' w]|] eqn:Es.
- assert (Ew := pF_step _ _ _ _ _ Er Es). simpl in Ew.
  apply step_to_some in Es as [Ev In]. simpl in Ev; subst v'.
  assert (E : edge u v).
  { unfold Spec.edge, children. rewrite Er. apply in_map_iff. now exists (v, w). }
  assert (HP : reached (u + 1) v) by (right; exists u; split; [lia|assumption]).
  assert (Cn := contains_times a x q w d sa (proj2 (O _ _ In)) Hd C).
  rewrite <- Ew in Cn. split; [assumption|].
  destruct (look v m) as [y|]; cbn [receive].
  + destruct Iv as (_ & r & Cr & Pr). exists (r + q * pF c u v)%Q. split.
    * now apply contains_plus.
    * eapply partial_eq; [|eapply partial_next; eauto]. ring.
  + destruct Iv as [v0 HN]. exists (q * pF c u v)%Q. split; [assumption|].
    eapply partial_eq; [|eapply partial_next; eauto using none_partial]. ring.
- apply mass_next; [|assumption]. apply step_to_none in Es.
  unfold Spec.edge, children. rewrite Er. assumption.
Qed.

(* The whole pass.                                                                                 *)
Definition is_terminal (x : node) : bool := match children c x with [] => true | _ => false end.
Definition from (k : nat) (rest : list row) : list node := map Z.of_nat (seq k (length rest)).

Lemma row_at pre r rest : rows c = pre ++ r :: rest -> row_of c (Z.of_nat (length pre)) = Some r.
Proof.
intros E. unfold row_of. destruct (Z.ltb_spec (Z.of_nat (length pre)) 0); [lia|].
rewrite Nat2Z.id, E, nth_error_app2 by lia. now rewrite Nat.sub_diag.
Qed.

Lemma inner_children u d steps : row_of c u = Some (Inner d steps) -> is_terminal u = false.
Proof.
intros E. unfold is_terminal, children. rewrite E. apply rows_ok in E as (D & W & _).
destruct steps; [|reflexivity]. unfold weights in W; simpl in W. lia.
Qed.

Lemma terminal_children u r : row_of c u = Some (Terminal r) -> is_terminal u = true.
Proof. intros E. unfold is_terminal, children. now rewrite E. Qed.

Definition reward (x : node) : Z := match row_of c x with Some r => reward_of r | _ => 0 end.

Definition gap_sum (S : Z) (pT : node -> Q) (xs : list node) : Q :=
  sum (map (fun x => Qabs (pT x * inject_Z S - inject_Z (reward x))) xs).

Lemma run_sound rest : sensible a -> 0 < reward_sum h -> forall pre s s' g,
  rows c = pre ++ rest -> next s = Z.of_nat (length pre) -> inv (next s) (masses s) ->
  contains a (gaps s) g -> run h s rest = Some s' ->
  (forall x, In x (from (length pre) rest) -> x = 0 \/ exists w, edge w x) /\
  exists pT, (forall x, In x (filter is_terminal (from (length pre) rest)) -> is_pT c x (pT x)) /\
    contains a (gaps s') (g + gap_sum (reward_sum h) pT (filter is_terminal (from (length pre) rest))).
Proof.
intros sa HS. unfold gap_sum. induction rest as [|r rest IH]; intros pre s s' g Erows Enext I G; cbn [run].
- intros E; inversion E; subst. split; [easy|]. exists (fun _ => 0%Q). split; [easy|].
  simpl. apply contains_eq with g; [ring|assumption].
- set (u := next s) in *. assert (Hu : 0 <= u) by lia.
  assert (Er := row_at _ _ _ Erows). rewrite <- Enext in Er.
  assert (Erows' : rows c = (pre ++ [r]) ++ rest) by (rewrite <- app_assoc; exact Erows).
  assert (Eu : u + 1 = Z.of_nat (length (pre ++ [r]))) by (rewrite app_length; simpl; lia).
  assert (Efrom : from (length pre) (r :: rest) = u :: from (length (pre ++ [r])) rest).
  { unfold from. simpl. rewrite app_length, Nat.add_1_r, Enext. reflexivity. }
  rewrite Efrom. clear Efrom. unfold step. fold u.
  fold (look u (masses s)). destruct (look u (masses s)) as [x|] eqn:Ef; [|discriminate].
  destruct (inv_law _ _ _ I Ef) as (Pu & q & Cx & L).
  destruct r as [r|d steps].
  + destruct (Z.leb_spec 0 r) as [Hr|]; [|discriminate].
    apply (inv_terminal _ _ _ Hu Er) in I. intros E.
    set (s1 := State _ _ _ _) in E.
    set (dq := Qabs (q * inject_Z (reward_sum h) - inject_Z r)).
    assert (G1 : contains a (gaps s1) (g + dq)).
    { apply contains_plus; [assumption|assumption|]. now apply contains_gap. }
    destruct (IH _ s1 _ _ Erows' Eu I G1 E) as (HP & pT & T & W).
    split; [intros y [Hy|Hy]; [rewrite <- Hy|]; auto|].
    exists (fun y => if y =? u then q else pT y).
    simpl filter. rewrite (terminal_children _ _ Er).
    set (xs := filter _ _) in *.
    assert (ne : forall y, In y xs -> (y =? u) = false).
    { intros y H. apply filter_In in H as [H _]. unfold from in H. apply in_map_iff in H as (i & <- & H).
      apply in_seq in H. apply Z.eqb_neq. rewrite app_length in H. simpl in H. lia. }
    split.
    * intros y [Hy|Hy]; [rewrite <- Hy; now rewrite Z.eqb_refl|]. rewrite (ne y Hy). auto.
    * eapply contains_eq; [|exact W]. cbn [map]. rewrite sum_cons, Z.eqb_refl.
      rewrite (sum_map_ext (fun y => Qabs ((if y =? u then q else pT y) * inject_Z (reward_sum h)
                                           - inject_Z (reward y)))
                 (fun y => Qabs (pT y * inject_Z (reward_sum h) - inject_Z (reward y))) xs);
        [|intros y H; rewrite (ne y H); reflexivity].
      unfold reward at 2. rewrite Er. cbn [reward_of]. fold dq. symmetry. apply Qplus_assoc.
  + destruct (Z.ltb_spec 0 d) as [Hd|]; [|discriminate].
    destruct (push h x d steps u 0 _) as [[total m']|] eqn:Ep; [|discriminate].
    destruct (Z.eqb_spec total d) as [_|]; [|discriminate].
    apply (inv_inner u _ m' x d steps total sa Hu Er Ef I) in Ep.
    set (s1 := State _ _ _ _).
    intros E. destruct (IH _ s1 _ _ Erows' Eu Ep G E) as (HP & pT & T & W).
    split; [intros y [Hy|Hy]; [rewrite <- Hy|]; auto|]. exists pT.
    simpl filter. rewrite (inner_children _ _ _ Er). auto.
Qed.

Lemma partition_rewards rest : reward_den h <> 0 -> forall pre, rows c = pre ++ rest ->
  (sum (map (R c) (filter is_terminal (from (length pre) rest)))
   == ratio (rewards rest) (reward_den h))%Q.
Proof.
intros Hd. induction rest as [|r rest IH]; intros pre Erows; [reflexivity|].
assert (Er := row_at _ _ _ Erows).
assert (Erows' : rows c = (pre ++ [r]) ++ rest) by (rewrite <- app_assoc; exact Erows).
apply IH in Erows'. unfold from in *. rewrite app_length, Nat.add_1_r in Erows'.
cbn [length seq map filter]. unfold rewards; cbn [map fold_right]. fold (rewards rest).
destruct r as [r|d steps].
- rewrite (terminal_children _ _ Er). cbn [map reward_of]. rewrite sum_cons, Erows'.
  unfold R at 1. rewrite Er. unfold ratio. rewrite inject_Z_plus. field. now apply inject_nz.
- rewrite (inner_children _ _ _ Er). exact Erows'.
Qed.

(* Rows that pass hold a policy.                                                                   *)
Lemma step_to_in steps v w : NoDup (map fst steps) -> In (v, w) steps -> step_to v steps = Some (v, w).
Proof.
induction steps as [|[v' w'] steps IH]; simpl; [easy|]. intros N I. inversion N; subst.
destruct (Z.eqb_spec v' v) as [->|ne].
- destruct I as [E|I]; [now rewrite E|]. exfalso. apply H1. apply in_map_iff. now exists (v, w).
- destruct I as [E|I]; [congruence|]. now apply IH.
Qed.

Lemma row_normalised u d steps : row_of c u = Some (Inner d steps) ->
  (sum (map (pF c u) (children c u)) == 1)%Q.
Proof.
intros Er. unfold children. rewrite Er. destruct (rows_ok _ _ Er) as (D & W & N & _).
rewrite map_map, (sum_map_ext _ (fun s => inject_Z (snd s) * / inject_Z d)%Q).
- rewrite sum_map_scale. assert (E : (sum (map (fun s => inject_Z (snd s)) steps) == inject_Z (weights steps))%Q).
  { clear. unfold weights. induction steps as [|[v w] steps IH]; simpl; [reflexivity|].
    now rewrite inject_Z_plus, <- IH. }
  rewrite E, W. apply Qmult_inv_r. apply inject_nz. lia.
- intros [v w] I. cbn [fst]. rewrite (pF_step _ _ _ _ _ Er (step_to_in _ _ _ N I)). reflexivity.
Qed.

Lemma pF_nonneg u v : (0 <= pF c u v)%Q.
Proof.
destruct (row_of c u) as [[r|d steps]|] eqn:Er;
  [unfold pF; rewrite Er; apply Qle_refl| |unfold pF; rewrite Er; apply Qle_refl].
destruct (step_to v steps) as [[v' w]|] eqn:Es.
- rewrite (pF_step _ _ _ _ _ Er Es). apply step_to_some in Es as [_ I].
  apply rows_ok in Er as (D & _ & _ & O). apply O in I. apply ratio_nonneg; simpl; lia.
- unfold pF. rewrite Er. unfold step_to in Es. rewrite Es. apply Qle_refl.
Qed.

End Certificate.

(* TV, from the sum of the gaps.                                                                   *)
Lemma TV_gaps c S pT : 0 < S -> 0 < reward_den (given c) ->
  (partition c == ratio S (reward_den (given c)))%Q ->
  (forall x, In x (terminals c) -> exists r, row_of c x = Some (Terminal r)) ->
  (TV c pT == gap_sum c S pT (terminals c) / inject_Z (2 * S))%Q.
Proof.
intros HS Hr EP R_given. unfold TV, gap_sum. assert (PS := inject_pos _ HS).
rewrite (sum_map_ext _ (fun x => Qabs (pT x * inject_Z S - inject_Z (reward c x)) * / inject_Z S)%Q).
- rewrite sum_map_scale, inject_Z_mult. change (inject_Z 2) with (2 # 1)%Q.
  field. apply inject_nz; lia.
- intros x H. destruct (R_given x H) as [r Er]. unfold reward, R. rewrite Er. cbn [reward_of].
  transitivity (Qabs (pT x * inject_Z S - inject_Z r) * Qabs (/ inject_Z S))%Q.
  + rewrite <- Qabs_Qmult. apply Qabs_wd. rewrite EP. unfold ratio. field.
    split; apply inject_nz; lia.
  + rewrite (Qabs_pos (/ inject_Z S)); [reflexivity|]. apply Qlt_le_weak, Qinv_lt_0_compat. assumption.
Qed.

Lemma over_twice n q S : 0 < q -> 0 < S -> (ratio n q / inject_Z (2 * S) == ratio n (2 * (q * S)))%Q.
Proof.
intros Hq HS. unfold ratio. rewrite !inject_Z_mult. change (inject_Z 2) with (2 # 1)%Q.
field. split; apply inject_nz; lia.
Qed.

Lemma below_twice x y S : 0 < S -> (x <= y -> x / inject_Z (2 * S) <= y / inject_Z (2 * S))%Q.
Proof.
intros HS H. apply Qmult_le_compat_r; [assumption|].
apply Qlt_le_weak, Qinv_lt_0_compat, inject_pos. lia.
Qed.

Lemma finish_sound h s g : sensible (arith h) -> 0 < reward_sum h -> 0 < tv_den h ->
  contains (arith h) (gaps s) g -> finish h s = true ->
  next s = size h /\ collected s = reward_sum h /\
  holds (claim h) (g / inject_Z (2 * reward_sum h)) (ratio (tv_num h) (tv_den h)).
Proof.
intros sa HS Ht C. unfold finish.
destruct (Z.eqb_spec (next s) (size h)) as [En|]; [|discriminate].
destruct (Z.eqb_spec (collected s) (reward_sum h)) as [Ec|]; [|discriminate].
destruct (bounds (arith h) (gaps s)) as [[lo hi] q] eqn:Eb. intros E. split; [assumption|]. split; [assumption|].
assert (B : 0 < q /\ (ratio lo q <= g /\ g <= ratio hi q)%Q).
{ unfold bounds in Eb. destruct C as (D & L & U). unfold low, high in L, U. destruct (gaps s).
  destruct (arith h); inversion Eb; subst; cbn [fst snd sensible] in *; auto. }
destruct B as (Hq & L & U).
apply (below_twice _ _ _ HS) in L, U. rewrite over_twice in L, U by assumption.
assert (Hq2 : 0 < 2 * (q * reward_sum h)) by nia.
assert (E2 : 2 * tv_num h * (q * reward_sum h) = tv_num h * (2 * (q * reward_sum h))) by ring.
rewrite E2 in E. destruct (claim h); cbn [holds].
- destruct (Z.eqb_spec (lo * tv_den h) (tv_num h * (2 * (q * reward_sum h)))) as [E3|]; [|discriminate].
  apply Z.eqb_eq in E. apply Qle_antisym.
  + apply Qle_trans with (1 := U). apply ratio_le; [assumption|assumption|lia].
  + apply Qle_trans with (2 := L). apply ratio_le; [assumption|assumption|lia].
- apply Z.leb_le in E. apply Qle_trans with (1 := U). apply ratio_le; assumption.
- apply Z.leb_le in E. apply Qle_trans with (2 := L). apply ratio_le; assumption.
Qed.

Lemma start_spec h s : start h = Some s ->
  0 < reward_sum h /\ 0 < reward_den h /\ 0 < tv_den h /\ sensible (arith h) /\
  s = State 0 (update (key 0) (fun _ => one (arith h)) Leaf) 0 (zero (arith h)).
Proof.
unfold start.
destruct (Z.ltb_spec 0 (reward_sum h)); [|discriminate].
destruct (Z.ltb_spec 0 (reward_den h)); [|discriminate].
destruct (Z.ltb_spec 0 (tv_den h)); [|discriminate].
destruct (arith h) as [|scale]; [|destruct (Z.ltb_spec 0 scale); [|discriminate]];
  intros E; inversion E; subst; repeat split; assumption.
Qed.

(* What [run] leaves when it has read all rows.                                                    *)
Lemma whole_run c s : sensible (arith (given c)) -> 0 < reward_sum (given c) ->
  (forall u r, row_of c u = Some r -> row_ok (count c) u r) ->
  run (given c) (State 0 (update (key 0) (fun _ => one (arith (given c))) Leaf) 0
                       (zero (arith (given c)))) (rows c) = Some s ->
  (forall x, In x (nodes c) -> x = 0 \/ exists w, edge c w x) /\
  exists pT, (forall x, In x (terminals c) -> is_pT c x (pT x)) /\
    contains (arith (given c)) (gaps s) (gap_sum c (reward_sum (given c)) pT (terminals c)).
Proof.
intros sa HS ok E. set (s0 := State _ _ _ _) in E.
destruct (run_sound c ok (rows c) sa HS [] s0 s 0 eq_refl eq_refl (inv_start c ok sa)
            (contains_zero _ sa) E) as (P & pT & T & W).
split; [exact P|]. exists pT. split; [exact T|]. eapply contains_eq; [|exact W].
change (filter _ _) with (terminals c). ring.
Qed.

Theorem check_sound c : check c = true -> right c.
Proof.
unfold check. destruct (start (given c)) as [s0|] eqn:Es; [|discriminate].
apply start_spec in Es as (HS & Hr & Ht & sa & ->). set (s0 := State _ _ _ _).
destruct (run _ _ _) as [s|] eqn:Er; [|discriminate]. intros Ef.
destruct (run_spec _ _ s0 _ (Z.le_refl 0) Er) as (R & N & C). cbn [next collected s0] in R, N, C.
assert (Esize : count c = size (given c) /\ rewards (rows c) = reward_sum (given c)).
{ unfold finish in Ef.
  destruct (Z.eqb_spec (next s) (size (given c))); [|discriminate].
  destruct (Z.eqb_spec (collected s) (reward_sum (given c))); [|discriminate].
  unfold count. lia. }
destruct Esize as [Esize ES].
assert (ok : forall u r, row_of c u = Some r -> row_ok (count c) u r).
{ intros u r. unfold row_of. destruct (Z.ltb_spec u 0); [discriminate|]. intros E.
  apply R in E. rewrite Z.add_0_l, Z2Nat.id in E by assumption. now rewrite Esize. }
destruct (whole_run c s sa HS ok Er) as (HP & pT & T & W).
apply (finish_sound _ _ _ sa HS Ht W) in Ef as (_ & _ & TVc).
assert (EP : (partition c == ratio (reward_sum (given c)) (reward_den (given c)))%Q).
{ rewrite <- ES. apply (partition_rewards c ok (rows c)) with (pre := []); [lia|reflexivity]. }
assert (PS := inject_pos _ HS). assert (PR := inject_pos _ Hr).
assert (given_R : forall x, In x (terminals c) -> exists r, row_of c x = Some (Terminal r)).
{ intros x H. apply filter_In in H as [H1 H2]. destruct (nodes_row_of _ _ H1) as [[r|d' steps] Er']; [eauto|].
  rewrite (inner_children c ok _ _ _ Er' : match children c x with [] => true | _ => false end = false) in H2.
  discriminate. }
constructor.
- exact Esize.
- intros u v E. rewrite !in_nodes. apply (edge_lt c ok) in E. lia.
- intros u. unfold children. destruct (row_of c u) as [[r|d' steps]|] eqn:Er'; try constructor.
  apply (ok _ _ Er').
- intros u t P L. destruct t; [reflexivity|]. apply (path_le c ok) in P as [_ P].
  assert (u < u) by (rewrite <- L at 2; apply P; discriminate). lia.
- split.
  + apply in_nodes. unfold count. unfold rewards in ES. destruct (rows c); cbn in *; lia.
  + intros v Hv. split.
    * intros Nv. destruct (HP v Hv) as [H|[w H]]; [assumption|]. now apply Nv in H.
    * intros -> u E. apply (edge_lt c ok) in E. lia.
- apply (pF_nonneg c ok).
- intros u Hu NT. destruct (nodes_row_of _ _ Hu) as [[r|d' steps] Er'].
  + exfalso. apply NT. apply filter_In. split; [assumption|]. exact (terminal_children _ _ _ Er').
  + apply (row_normalised c ok _ _ _ Er').
- exact given_R.
- intros x. unfold Spec.R. destruct (row_of c x) as [[r|d' steps]|] eqn:Er'; try apply Qle_refl.
  apply ok in Er'. now apply ratio_nonneg.
- rewrite EP. unfold ratio. apply Qlt_shift_div_l; [assumption|]. now rewrite Qmult_0_l.
- exact EP.
- exists pT. split; [exact T|].
  assert (E := TV_gaps c _ pT HS Hr EP given_R).
  destruct (claim (given c)); cbn [holds] in *; now rewrite E.
Qed.
