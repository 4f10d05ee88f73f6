(* The sampler of Draw.v has the law of the table.                                               *)
From Coq Require Import List ZArith QArith Qfield Lia Lqa Permutation.
From Cert Require Import Spec Trie Check Numbers Sound Complete Draw.
Import ListNotations.
Local Open Scope Z_scope.

(* All strings of n bits, and the share of those after which the state is one of P.                *)
Fixpoint strings (n : nat) : list (list bool) :=
  match n with
  | O => [[]]
  | S n => map (cons false) (strings n) ++ map (cons true) (strings n)
  end.
Definition share (t : table) (s : state) (n : nat) (P : state -> bool) : Q :=
  ratio (Z.of_nat (length (filter (fun bits => P (fold_left (feed t) bits s)) (strings n))))
        (2 ^ Z.of_nat n).
Definition ended (A : node -> bool) (s : state) : bool := match s with At x => A x | _ => false end.
Definition undecided (s : state) : bool := match s with At _ => false | _ => true end.

Lemma over x y d : 0 < d -> (x / inject_Z d + y / inject_Z d == (x + y) / inject_Z d)%Q.
Proof. intros D. field. apply inject_nz. lia. Qed.

(* Shares.                                                                                         *)

Lemma power_S k : 2 ^ Z.of_nat (S k) = 2 * 2 ^ Z.of_nat k.
Proof. rewrite Nat2Z.inj_succ, Z.pow_succ_r; lia. Qed.

Lemma power_pos k : 0 < 2 ^ Z.of_nat k.
Proof. apply Z.pow_pos_nonneg; lia. Qed.

Lemma filter_map {A B} (g : A -> B) (P : B -> bool) l :
  length (filter P (map g l)) = length (filter (fun x => P (g x)) l).
Proof. induction l as [|x l IH]; simpl; [reflexivity|]. destruct (P (g x)); simpl; auto. Qed.

Lemma share_0 t s P : (share t s 0 P == if P s then 1 else 0)%Q.
Proof. unfold share. cbn. now destruct (P s). Qed.

Lemma share_S t s n P :
  (share t s (S n) P == (1 # 2) * (share t (feed t s false) n P + share t (feed t s true) n P))%Q.
Proof.
unfold share. cbn [strings]. rewrite filter_app, app_length, !filter_map, power_S, Nat2Z.inj_add.
cbn [fold_left]. assert (H := power_pos n). unfold ratio. rewrite inject_Z_plus, inject_Z_mult.
change (inject_Z 2) with (2 # 1)%Q. field. apply inject_nz. lia.
Qed.

Lemma share_bounds t P n : forall s, (0 <= share t s n P <= 1)%Q.
Proof.
induction n as [|n IH]; intros s.
- rewrite share_0. destruct (P s); lra.
- rewrite share_S. generalize (IH (feed t s false)) (IH (feed t s true)). lra.
Qed.

Lemma share_splits t A n : forall s,
  (share t s n (ended A) + share t s n (ended (fun x => negb (A x))) + share t s n undecided == 1)%Q.
Proof.
induction n as [|n IH]; intros s.
- rewrite !share_0. destruct s as [x| |]; cbn; [destruct (A x)| |]; cbn; lra.
- rewrite !share_S. generalize (IH (feed t s false)) (IH (feed t s true)). lra.
Qed.

(* Steps.                                                                                          *)

Definition worth (f : node -> Q) (steps : list (node * Z)) : Q :=
  sum (map (fun s => inject_Z (snd s) * f (fst s))%Q steps).
Definition all_positive (steps : list (node * Z)) : Prop := forall s, In s steps -> 0 < snd s.

Lemma worth_cons f v w steps : (worth f ((v, w) :: steps) == inject_Z w * f v + worth f steps)%Q.
Proof. reflexivity. Qed.

Lemma weights_cons v w steps : weights ((v, w) :: steps) = w + weights steps.
Proof. reflexivity. Qed.

Lemma possible_spec f steps : (forall s, In s steps -> 0 <= snd s) ->
  all_positive (possible steps) /\ weights (possible steps) = weights steps /\
  (worth f (possible steps) == worth f steps)%Q /\ incl (possible steps) steps /\
  (length (possible steps) <= length steps)%nat.
Proof.
induction steps as [|[v w] steps IH]; intros H; cbn [possible].
- now repeat split; try easy.
- destruct IH as (P & W & E & I & L); [intros s Hs; apply H; now right|].
  assert (Hw := H _ (or_introl eq_refl)). cbn [snd] in Hw. destruct (Z.ltb_spec 0 w).
  + rewrite !weights_cons, !worth_cons, E, W. repeat split; try easy; try (cbn; lia).
    * intros s [<-|Hs]; [assumption|now apply P].
    * apply incl_cons; [now left|now apply incl_tl].
  + rewrite weights_cons, worth_cons, E. assert (w = 0) as -> by lia.
    repeat split; try easy; try (cbn; lia); try (change (inject_Z 0) with 0%Q; ring).
    now apply incl_tl.
Qed.

Lemma double_spec f steps : all_positive steps ->
  all_positive (double steps) /\ weights (double steps) = 2 * weights steps /\
  (worth f (double steps) == 2 * worth f steps)%Q /\
  map fst (double steps) = map fst steps.
Proof.
induction steps as [|[v w] steps IH]; intros H; cbn [double].
- now repeat split; try easy.
- destruct IH as (P & W & E & M); [intros s Hs; apply H; now right|].
  rewrite !weights_cons, !worth_cons, E, W, inject_Z_mult. cbn [map fst]. rewrite M.
  change (inject_Z 2) with 2%Q. repeat split; try lia; try ring.
  intros s [<-|Hs]; [|now apply P]. assert (Hw := H _ (or_introl eq_refl)). cbn [snd] in *. lia.
Qed.

Lemma halves f steps : forall d, all_positive steps -> 0 < d <= 2 * weights steps ->
  all_positive (lower d steps) /\ all_positive (upper d steps) /\
  weights (lower d steps) = d /\ weights (upper d steps) = 2 * weights steps - d /\
  (worth f (lower d steps) + worth f (upper d steps) == 2 * worth f steps)%Q /\
  incl (map fst (lower d steps)) (map fst steps) /\ incl (map fst (upper d steps)) (map fst steps) /\
  (length (lower d steps) + length (upper d steps) <= S (length steps))%nat.
Proof.
induction steps as [|[v w] steps IH]; intros d H Hd.
- unfold weights in Hd. cbn in Hd. lia.
- assert (Hw := H _ (or_introl eq_refl)). cbn [snd] in Hw.
  assert (H' : all_positive steps) by (intros s Hs; apply H; now right).
  destruct (double_spec f steps H') as (DP & DW & DE & DM). rewrite weights_cons in *.
  assert (DL : length (double steps) = length steps)
    by (rewrite <- (map_length fst), DM; apply map_length).
  cbn [lower upper]. destruct (Z.ltb_spec (2 * w) d) as [L|L].
  + destruct (Z.leb_spec (2 * w) d) as [_|]; [|lia].
    destruct (IH (d - 2 * w) H' ltac:(lia)) as (P1 & P2 & W1 & W2 & E & I1 & I2 & N).
    rewrite !weights_cons, !worth_cons, inject_Z_mult. change (inject_Z 2) with 2%Q. cbn [map fst length].
    repeat split; try assumption; try lia; try lra.
    * intros s [<-|Hs]; [cbn [snd]; lia|now apply P1].
    * apply incl_cons; [now left|now apply incl_tl].
    * now apply incl_tl.
  + destruct (Z.leb_spec (2 * w) d) as [L'|L'].
    * assert (d = 2 * w) as -> by lia. rewrite Z.sub_diag.
      assert (U : upper 0 steps = double steps).
      { destruct steps as [|[v' w'] steps']; [reflexivity|]. cbn [upper double].
        assert (H1 := H' _ (or_introl eq_refl)). cbn [snd] in H1.
        destruct (Z.leb_spec (2 * w') 0); [lia|]. now rewrite Z.sub_0_r. }
      rewrite U, DW, DM, DL, !worth_cons, !weights_cons, DE, inject_Z_mult.
      change (inject_Z 2) with 2%Q. change (worth f []) with 0%Q. change (weights []) with 0.
      cbn [map fst length]. repeat split; try assumption; try lia; try lra.
      -- intros s [<-|[]]. cbn [snd]. lia.
      -- apply incl_cons; [now left|]. intros x [].
      -- apply incl_tl, incl_refl.
    * rewrite !weights_cons, !worth_cons, DW, DE. cbn [map fst length]. rewrite DM, DL.
      unfold Z.sub. rewrite inject_Z_plus, inject_Z_mult, inject_Z_opp. change (inject_Z 2) with 2%Q.
      change (worth f []) with 0%Q. change (weights []) with 0.
      repeat split; try lia; try lra.
      -- intros s [<-|[]]. cbn [snd]. lia.
      -- intros s [<-|Hs]; [cbn [snd]; lia|now apply DP].
      -- apply incl_cons; [now left|]. intros x [].
      -- apply incl_refl.
Qed.

(* The table that is sampled is that of the certificate.                                           *)

Lemma find_enter rest : forall k t v, 0 <= k -> 0 <= v ->
  Trie.find (key v) (enter k rest t) =
  match nth_error rest (Z.to_nat (v - k)) with
  | Some r => if k <=? v then Some r else Trie.find (key v) t
  | None => Trie.find (key v) t
  end.
Proof.
induction rest as [|r rest IH]; intros k t v Hk Hv; cbn [enter].
- now destruct (Z.to_nat (v - k)).
- rewrite IH by lia. destruct (Z.eq_dec v k) as [->|ne].
  + rewrite Z.sub_diag, find_update. cbn [Z.to_nat nth_error]. rewrite Z.leb_refl.
    destruct (nth_error rest _); [|reflexivity]. destruct (Z.leb_spec (k + 1) k); [lia|reflexivity].
  + rewrite find_update_other by now apply key_ne. destruct (Z.leb_spec k v).
    * replace (Z.to_nat (v - k)) with (S (Z.to_nat (v - (k + 1)))) by lia. cbn [nth_error].
      destruct (nth_error rest _); [|reflexivity]. destruct (Z.leb_spec (k + 1) v); [reflexivity|lia].
    * destruct (Z.leb_spec (k + 1) v); [lia|].
      now destruct (nth_error rest _), (nth_error (r :: rest) _).
Qed.

Section Certificate.
Variable c : cert.
Hypothesis ok : forall u r, row_of c u = Some r -> row_ok (count c) u r.
Notation t := (tabulate (rows c)).

Lemma find_row v : 0 <= v -> Trie.find (key v) (by_node t) = row_of c v.
Proof.
intros Hv. cbn [by_node tabulate]. rewrite find_enter, Z.sub_0_r by lia. unfold row_of.
destruct (Z.ltb_spec v 0); [lia|]. rewrite find_leaf.
destruct (nth_error _ _); [|reflexivity]. destruct (Z.leb_spec 0 v); [reflexivity|lia].
Qed.

(* A function f of nodes that no row raises in the mean bounds the law of where the state ends.    *)

Definition good (s : state) : Prop :=
  match s with
  | At x => exists r, row_of c x = Some (Terminal r)
  | Among d steps => 0 < d /\ weights steps = d /\ all_positive steps /\
      (forall v, In v (map fst steps) -> 0 <= v)
  | Lost => True
  end.
Definition law (f : node -> Q) (s : state) : Q :=
  match s with At x => f x | Among d steps => worth f steps / inject_Z d | Lost => 0 end.

Section Bound.
Variable f : node -> Q.
Hypothesis f_nonneg : forall u, (0 <= f u)%Q.
Hypothesis f_row : forall u d steps, row_of c u = Some (Inner d steps) ->
  (worth f steps <= inject_Z d * f u)%Q.

Lemma worth_one v w : 0 < w -> (worth f [(v, w)] / inject_Z w == f v)%Q.
Proof. intros Hw. unfold worth, sum. cbn [map fold_right fst snd]. field. apply inject_nz. lia. Qed.

Lemma arrive_law fuel : forall v, 0 <= v ->
  good (arrive fuel (by_node t) v) /\ (law f (arrive fuel (by_node t) v) <= f v)%Q.
Proof.
induction fuel as [|r fuel IH]; intros v Hv; cbn [arrive]; [now split|].
rewrite find_row by assumption.
destruct (row_of c v) as [[x|d steps]|] eqn:E; [split; [now exists x|cbn; lra]| |now split].
assert (F := f_row _ _ _ E). destruct (ok _ _ E) as (D & W & _ & O).
destruct (possible_spec f steps) as (P & W' & E' & I & _); [intros [v' w] H; now apply O in H|].
rewrite <- E' in F. rewrite <- W' in W.
assert (N : forall v', In v' (map fst (possible steps)) -> 0 <= v').
{ intros v' H. apply in_map_iff in H as ([v1 w] & <- & H). apply I, O in H. cbn. lia. }
assert (B : (law f (Among d (possible steps)) <= f v)%Q).
{ cbn [law]. apply Qle_shift_div_r; [now apply inject_pos|]. now rewrite Qmult_comm. }
assert (G : good (Among d (possible steps))) by (repeat split; assumption).
unfold settle. destruct (possible steps) as [|[v' w] [|s2 l]]; [now split| |now split].
destruct (IH v' (N v' (or_introl eq_refl))) as [G1 L1]. split; [assumption|].
unfold weights in W; cbn in W. rewrite Z.add_0_r in W. subst w.
eapply Qle_trans; [exact L1|]. eapply Qle_trans; [|exact B]. cbn [law]. rewrite worth_one by assumption. lra.
Qed.

Lemma feed_law s : good s ->
  good (feed t s false) /\ good (feed t s true) /\
  (law f (feed t s false) + law f (feed t s true) <= 2 * law f s)%Q.
Proof.
destruct s as [x|d steps|]; cbn [feed good];
  [intros G; repeat split; try assumption; cbn; lra| |cbn; intros _; repeat split; lra].
intros (D & W & P & N).
destruct (halves f steps d P ltac:(lia)) as (P1 & P2 & W1 & W2 & E & I1 & I2 & _).
assert (K : forall half, all_positive half -> weights half = d -> incl (map fst half) (map fst steps) ->
  let s := settle (arrive (every t) (by_node t)) d half in
  good s /\ (law f s <= worth f half / inject_Z d)%Q).
{ intros half P' W' I. unfold settle. destruct half as [|[v w] [|s2 l]].
  - split; [|cbn [law]; lra]. unfold weights in W'; cbn in W'. lia.
  - unfold weights in W'; cbn in W'. rewrite Z.add_0_r in W'. subst w. rewrite worth_one by assumption.
    apply arrive_law, N, I. now left.
  - split; [|cbn [law]; lra]. repeat split; try assumption. intros v1 H. apply N, I, H. }
destruct (K (lower d steps) P1 W1 I1) as [G1 L1]. destruct (K (upper d steps) P2 ltac:(lia) I2) as [G2 L2].
split; [exact G1|]. split; [exact G2|]. cbn [law].
eapply Qle_trans; [apply Qplus_le_compat; [exact L1|exact L2]|].
rewrite over, E by assumption. unfold Qdiv. lra.
Qed.

Lemma share_law A n : (forall x r, row_of c x = Some (Terminal r) -> A x = true -> (1 <= f x)%Q) ->
  forall s, good s -> (share t s n (ended A) <= law f s)%Q.
Proof.
intros HA. induction n as [|n IH]; intros s G.
- rewrite share_0. destruct s as [x|d steps|]; cbn [ended law].
  + destruct G as [r Er]. destruct (A x) eqn:E; [now apply (HA x r)|apply f_nonneg].
  + destruct G as (D & _ & P & _). apply Qle_shift_div_l; [now apply inject_pos|]. rewrite Qmult_0_l.
    clear - P f_nonneg. induction steps as [|[v w] steps IH]; [cbn; lra|]. rewrite worth_cons.
    assert (Hw := P _ (or_introl eq_refl)). apply inject_pos in Hw. cbn [snd] in Hw.
    assert (H : (0 <= inject_Z w * f v)%Q) by (apply Qmult_le_0_compat; [lra|apply f_nonneg]).
    assert (0 <= worth f steps)%Q by (apply IH; intros s Hs; apply P; now right). lra.
  + lra.
- rewrite share_S. destruct (feed_law s G) as (G1 & G2 & L). generalize (IH _ G1) (IH _ G2). lra.
Qed.
End Bound.

(* The probability to end in A from a node: within k steps, and without a limit.                   *)
Fixpoint reach (A : node -> bool) (k : nat) (u : node) : Q :=
  match k with
  | O => 0
  | S k =>
      match row_of c u with
      | Some (Terminal _) => if A u then 1 else 0
      | Some (Inner d steps) => worth (reach A k) steps / inject_Z d
      | None => 0
      end
  end.

Lemma worth_nonneg f u d steps : row_of c u = Some (Inner d steps) ->
  (forall v, (0 <= f v)%Q) -> (0 <= worth f steps / inject_Z d)%Q.
Proof.
intros E Hf. destruct (ok _ _ E) as (D & _ & _ & O).
apply Qle_shift_div_l; [now apply inject_pos|]. rewrite Qmult_0_l. clear D E.
induction steps as [|[v w] steps IH]; [cbn; lra|]. rewrite worth_cons.
assert (H : (0 <= inject_Z w * f v)%Q).
{ apply Qmult_le_0_compat; [|apply Hf]. apply inject_nonneg, (O v). now left. }
assert (0 <= worth f steps)%Q by (apply IH; intros v' w' Hs; apply O; now right). lra.
Qed.

Lemma worth_ext f g steps : (forall v w, In (v, w) steps -> (f v == g v)%Q) ->
  (worth f steps == worth g steps)%Q.
Proof. intros H. apply sum_map_ext. intros [v w] I. cbn [fst snd]. rewrite (H v w I). reflexivity. Qed.

Lemma reach_nonneg A k : forall u, (0 <= reach A k u)%Q.
Proof.
induction k as [|k IH]; intros u; cbn [reach]; [lra|].
destruct (row_of c u) as [[r|d steps]|] eqn:E; [destruct (A u); lra| |lra]. now apply (worth_nonneg _ u).
Qed.

Lemma reach_both A k : forall u, (reach A k u + reach (fun x => negb (A x)) k u <= 1)%Q.
Proof.
induction k as [|k IH]; intros u; cbn [reach]; [lra|].
destruct (row_of c u) as [[r|d steps]|] eqn:E; [destruct (A u); cbn; lra| |lra].
destruct (ok _ _ E) as (D & W & _ & O). assert (PD := inject_pos _ D).
assert (B : (worth (reach A k) steps + worth (reach (fun x => negb (A x)) k) steps <=
  inject_Z (weights steps))%Q).
{ clear - IH O. induction steps as [|[v w] steps IHs]; [unfold worth, weights, inject_Z; cbn; lra|].
  rewrite !worth_cons, weights_cons, inject_Z_plus.
  assert (H : (0 <= inject_Z w)%Q) by (apply inject_nonneg, (O v); now left).
  assert (H1 := Qmult_le_compat_r _ _ (inject_Z w) (IH v) H).
  assert (H2 := IHs ltac:(intros v' w' Hs; apply O; now right)). lra. }
rewrite W in B. rewrite over by assumption. apply Qle_shift_div_r; [assumption|]. lra.
Qed.

Lemma reach_more A k : forall u, 0 <= u -> count c <= Z.of_nat k + u -> (reach A k u == reach A (S k) u)%Q.
Proof.
induction k as [|k IH]; intros u Hu Hk.
- cbn [reach]. destruct (row_of c u) as [r|] eqn:E; [|reflexivity].
  apply row_of_nodes, in_nodes in E. lia.
- change (reach A (S k) u) with (match row_of c u with
    | Some (Terminal _) => if A u then 1 else 0
    | Some (Inner d steps) => worth (reach A k) steps / inject_Z d
    | None => 0 end)%Q.
  change (reach A (S (S k)) u) with (match row_of c u with
    | Some (Terminal _) => if A u then 1 else 0
    | Some (Inner d steps) => worth (reach A (S k)) steps / inject_Z d
    | None => 0 end)%Q.
  destruct (row_of c u) as [[r|d steps]|] eqn:E; try reflexivity.
  rewrite (worth_ext (reach A k) (reach A (S k)) steps); [reflexivity|].
  intros v w I. apply ok in E as (_ & _ & _ & O). apply O in I. apply IH; lia.
Qed.

Definition value (A : node -> bool) : node -> Q := reach A (S (length (rows c))).

Lemma value_row A u d steps : row_of c u = Some (Inner d steps) ->
  (worth (value A) steps == inject_Z d * value A u)%Q.
Proof.
intros E. destruct (ok _ _ E) as (D & _ & _ & O). assert (Hu := row_of_nodes c _ _ E). apply in_nodes in Hu.
unfold value at 2. cbn [reach]. rewrite E, Qmult_div_r by (apply inject_nz; lia).
apply worth_ext. intros v w I. apply O in I. symmetry. apply reach_more; unfold count; lia.
Qed.

(* That probability is p_T(x), if A is only x.                                                     *)

Fixpoint paths (x : node) (k : nat) (u : node) : list (list node) :=
  match k with
  | O => []
  | S k =>
      match row_of c u with
      | Some (Terminal _) => if x =? u then [[]] else []
      | Some (Inner _ steps) => flat_map (fun v => map (cons v) (paths x k v)) (map fst steps)
      | None => []
      end
  end.

Lemma paths_sum x k : forall u, (sum (map (weight c u) (paths x k u)) == reach (Z.eqb x) k u)%Q.
Proof.
induction k as [|k IH]; intros u; cbn [paths reach]; [reflexivity|].
destruct (row_of c u) as [[r|d steps]|] eqn:E; [destruct (x =? u); reflexivity| |reflexivity].
destruct (ok _ _ E) as (_ & _ & N & _).
assert (S : forall v w, In (v, w) steps -> pF c u v = ratio w d)
  by (intros v w I; exact (pF_step c _ _ _ _ _ E (step_to_in _ _ _ N I))).
clear E N. induction steps as [|[v w] steps IHs]; [reflexivity|].
rewrite worth_cons. cbn [map flat_map fst]. rewrite map_app, sum_app, map_map, IHs.
2: { intros v' w' I. apply S. now right. }
rewrite (sum_map_ext _ (fun t => weight c v t * ratio w d)%Q).
2: { intros t _. cbn [weight]. rewrite (S v w) by now left. apply Qmult_comm. }
rewrite sum_map_scale, IH. unfold ratio, Qdiv. ring.
Qed.

Lemma paths_in x r k : row_of c x = Some (Terminal r) -> forall u t, 0 <= u -> count c <= Z.of_nat k + u ->
  In t (paths x k u) <-> path c u t /\ last t u = x.
Proof.
intros Ex. induction k as [|k IH]; intros u t Hu Hk; cbn [paths].
- split; [easy|]. intros [P L]. exfalso. destruct t as [|v t].
  + cbn in L. subst. apply row_of_nodes, in_nodes in Ex. lia.
  + destruct P as [P _]. apply (edge_lt c ok) in P. lia.
- destruct (row_of c u) as [[r'|d steps]|] eqn:E.
  + destruct (Z.eqb_spec x u) as [<-|ne].
    * split; [intros [<-|[]]; now split|]. intros [P _]. destruct t as [|v t]; [now left|].
      destruct P as [P _]. unfold edge, children in P. now rewrite E in P.
    * split; [easy|]. intros [P L]. destruct t as [|v t]; [now cbn in L; congruence|].
      destruct P as [P _]. unfold edge, children in P. now rewrite E in P.
  + assert (C : children c u = map fst steps) by (unfold children; now rewrite E).
    rewrite in_flat_map. split.
    * intros (v & I & H). apply in_map_iff in H as (t' & <- & H). assert (H' := I). rewrite <- C in H'.
      assert (L := edge_lt c ok u v H'). apply IH in H as [P Q]; [|lia|lia].
      rewrite last_cons. repeat split; assumption.
    * intros [P L]. destruct t as [|v t]; [cbn in L; congruence|]. destruct P as [H P].
      assert (O := edge_lt c ok u v H). unfold edge in H. rewrite C in H. exists v. split; [assumption|].
      apply in_map. rewrite last_cons in L. apply IH; [lia|lia|now split].
  + split; [easy|]. intros [P L]. destruct t as [|v t]; [cbn in L; congruence|].
    destruct P as [P _]. unfold edge, children in P. now rewrite E in P.
Qed.

Lemma paths_once x k : forall u, NoDup (paths x k u).
Proof.
induction k as [|k IH]; intros u; cbn [paths]; [constructor|].
destruct (row_of c u) as [[r|d steps]|] eqn:E; [destruct (x =? u); repeat constructor; easy| |constructor].
destruct (ok _ _ E) as (_ & _ & N & _). clear E. induction N as [|v vs Nv N IHN]; [constructor|].
cbn [flat_map]. assert (H := IH v). induction H as [|t ts Nt H IHt]; [exact IHN|].
cbn [map app]. constructor; [|exact IHt]. rewrite in_app_iff, in_map_iff, in_flat_map.
intros [(t' & E & I)|(v' & I & I')]; [congruence|].
apply in_map_iff in I' as (t' & E & _). congruence.
Qed.

Lemma value_is_pT x q : In x (terminals c) -> is_pT c x q -> (value (Z.eqb x) 0%Z == q)%Q.
Proof.
intros H P. apply filter_In in H as [H T]. destruct (nodes_row_of c _ H) as [[r|d steps] E].
- apply (is_pT_unique c x); [|exact P]. exists (paths x (S (length (rows c))) 0).
  split; [apply paths_once|]. split; [|symmetry; apply paths_sum].
  intros t. apply (paths_in x r); [assumption|lia|unfold count; lia].
- now rewrite (inner_children c ok _ _ _ E : match children c x with [] => true | _ => false end = false) in T.
Qed.

Lemma share_value A n : (share t (start t) n (ended A) <= value A 0%Z)%Q.
Proof.
assert (F : forall u d steps, row_of c u = Some (Inner d steps) ->
  (worth (value A) steps <= inject_Z d * value A u)%Q).
{ intros u d steps E. rewrite (value_row _ _ _ _ E). apply Qle_refl. }
destruct (arrive_law (value A) (reach_nonneg A _) F (every t) 0 (Z.le_refl 0)) as [G L].
eapply Qle_trans; [|exact L]. apply share_law; try assumption.
- apply reach_nonneg.
- intros x r E Hx. unfold value. cbn [reach]. rewrite E, Hx. apply Qle_refl.
Qed.

Lemma law_of_shares x q n : In x (terminals c) -> is_pT c x q ->
  (share t (start t) n (ended (Z.eqb x)) <= q /\
   q <= share t (start t) n (ended (Z.eqb x)) + share t (start t) n undecided)%Q.
Proof.
intros H P. assert (V := value_is_pT x q H P). set (A := Z.eqb x) in *.
assert (U := share_value A n). assert (U' := share_value (fun y => negb (A y)) n).
assert (B : (value A 0%Z + value (fun y => negb (A y)) 0%Z <= 1)%Q) by apply reach_both.
generalize (share_splits t A n (start t)). lra.
Qed.

(* With k bits for each of T choices among at most M + 1, few are left.                            *)

Section Few.
Variables M k : nat.
Hypothesis few : forall u, (length (children c u) <= S M)%nat.

Lemma at_decided x n : (share t (At x) n undecided == 0)%Q.
Proof. induction n as [|n IH]; [apply share_0|]. rewrite share_S. cbn [feed]. rewrite IH. reflexivity. Qed.

Lemma undecided_falls n m : forall s, (share t s (n + m) undecided <= share t s m undecided)%Q.
Proof.
revert n. induction m as [|m IH]; intros n s.
- rewrite Nat.add_0_r, share_0. destruct s; cbn [undecided]; try apply share_bounds.
  rewrite at_decided. apply Qle_refl.
- rewrite Nat.add_succ_r, !share_S. generalize (IH n (feed t s false)) (IH n (feed t s true)). lra.
Qed.

(* Nodes that end within T steps, and the states that lead to them.                                *)
Definition within (T : nat) (v : node) : Prop :=
  0 <= v < count c /\ forall p, path c v p -> (length p <= T)%nat.
Definition ready (T : nat) (d : Z) (steps : list (node * Z)) : Prop :=
  0 < d /\ weights steps = d /\ all_positive steps /\ forall v, In v (map fst steps) -> within T v.
Definition calm (T : nat) (s : state) : Prop :=
  match s with
  | At _ => True
  | Among d steps => (2 <= length steps <= S M)%nat /\ exists T', T = S T' /\ ready T' d steps
  | Lost => False
  end.

Lemma within_S T v : within T v -> within (S T) v.
Proof. intros [H P]. split; [assumption|]. intros p Hp. apply P in Hp. lia. Qed.

Lemma calm_S T s : calm T s -> calm (S T) s.
Proof.
destruct s as [x|d steps|]; cbn [calm]; try easy. intros (L & T' & -> & D & W & P & N).
split; [assumption|]. exists (S T'). split; [reflexivity|]. split; [assumption|].
split; [assumption|]. split; [assumption|]. intros v H. now apply within_S, N.
Qed.

Lemma arrive_calm fuel : forall T v, count c <= Z.of_nat (length fuel) + v -> within T v ->
  calm T (arrive fuel (by_node t) v).
Proof.
induction fuel as [|r fuel IH]; intros T v Hf [Hv P]; cbn [arrive]; [cbn [length] in Hf; lia|].
rewrite find_row by lia. destruct (nodes_row_of c v (proj2 (in_nodes c v) Hv)) as [[x|d steps] E];
  rewrite E; [exact I|].
destruct (ok _ _ E) as (D & W & _ & O).
destruct (possible_spec (fun _ => 0%Q) steps) as (P' & W' & _ & J & L); [intros [v' w] H; now apply O in H|].
assert (C : children c v = map fst steps) by (unfold children; now rewrite E).
assert (F := few v). rewrite C, map_length in F.
assert (H : forall v', In v' (map fst (possible steps)) -> v < v' /\ exists T', T = S T' /\ within T' v').
{ intros v' I. apply in_map_iff in I as ([v1 w] & <- & I). apply J in I. cbn [fst].
  assert (G : edge c v v1) by (unfold edge; rewrite C; apply in_map_iff; now exists (v1, w)).
  apply O in I. split; [lia|]. destruct T as [|T']; [specialize (P [v1] (conj G Logic.I)); cbn in P; lia|].
  exists T'. split; [reflexivity|]. split; [lia|]. intros p Hp. specialize (P (v1 :: p) (conj G Hp)).
  cbn in P. lia. }
destruct (possible steps) as [|[v1 w1] [|[v2 w2] l]]; cbn [settle].
- unfold weights in W' at 1. cbn in W'. lia.
- destruct (H v1 (or_introl eq_refl)) as (Hlt & T' & -> & G).
  apply calm_S, IH; [cbn [length] in Hf; lia|assumption].
- cbn [calm]. split; [cbn [length] in *; lia|]. destruct (H v1 (or_introl eq_refl)) as (_ & T' & -> & _).
  exists T'. split; [reflexivity|]. split; [assumption|]. split; [lia|]. split; [assumption|].
  intros u I. destruct (H u I) as (_ & T1 & E1 & G). now injection E1 as <-.
Qed.

Lemma ready_halves T d steps half (bit : bool) : ready T d steps ->
  half = (if bit then upper d steps else lower d steps) -> ready T d half.
Proof.
intros (D & W & P & N) ->.
destruct (halves (fun _ => 0%Q) steps d P ltac:(lia)) as (P1 & P2 & W1 & W2 & _ & I1 & I2 & _).
destruct bit; (split; [assumption|]; split; [lia|]; split; [assumption|]); intros v I; auto.
Qed.

Lemma stage T j : forall d steps, ready T d steps ->
  (forall s, calm T s -> (share t s (T * k) undecided <= ratio (Z.of_nat (T * M)) (2 ^ Z.of_nat k))%Q) ->
  (share t (settle (arrive (every t) (by_node t)) d steps) (j + T * k) undecided <=
   ratio (Z.of_nat (length steps) - 1) (2 ^ Z.of_nat j) + ratio (Z.of_nat (T * M)) (2 ^ Z.of_nat k))%Q.
Proof.
induction j as [|j IH]; intros d steps R H; set (b := ratio (Z.of_nat (T * M)) _) in *.
all: assert (B : (0 <= b)%Q) by (apply ratio_nonneg; [lia|apply power_pos]).
all: destruct steps as [|[v w] [|s2 steps]];
  [destruct R as (D & W & _); unfold weights in W; cbn in W; lia| |].
1, 3: assert (V := proj2 (proj2 (proj2 R)) v (or_introl eq_refl)); cbn [settle length];
  eapply Qle_trans; [apply undecided_falls|]; eapply Qle_trans;
  [apply H, arrive_calm; [unfold count; cbn [every tabulate]; destruct V as [V _]; lia|exact V]|]; fold b;
  change (Z.of_nat 1 - 1) with 0; unfold ratio at 1; change (inject_Z 0) with 0%Q;
  unfold Qdiv; rewrite Qmult_0_l; lra.
- cbn [Nat.add]. eapply Qle_trans; [apply share_bounds|].
  change (2 ^ Z.of_nat 0) with 1. set (m := Z.of_nat _ - 1).
  assert (1 <= ratio m 1)%Q; [|lra]. apply (ratio_le 1 1); [lia|lia|]. subst m. cbn [length]. lia.
- set (l := (v, w) :: s2 :: steps) in *. change (settle _ d l) with (Among d l).
  cbn [Nat.add]. rewrite share_S. cbn [feed].
  destruct R as (D & W & P & N).
  destruct (halves (fun _ => 0%Q) l d P ltac:(lia)) as (_ & _ & _ & _ & _ & _ & _ & Len).
  assert (R : ready T d l) by exact (conj D (conj W (conj P N))).
  assert (L := IH d _ (ready_halves T d l _ false R eq_refl) H).
  assert (U := IH d _ (ready_halves T d l _ true R eq_refl) H). cbn [ready] in L, U.
  assert (K : (ratio (Z.of_nat (length (lower d l)) - 1) (2 ^ Z.of_nat j) +
               ratio (Z.of_nat (length (upper d l)) - 1) (2 ^ Z.of_nat j) <=
               2 * ratio (Z.of_nat (length l) - 1) (2 ^ Z.of_nat (S j)))%Q).
  { assert (Hp := power_pos j). unfold ratio at 1 2. rewrite over by assumption. rewrite <- inject_Z_plus.
    apply Qle_trans with (ratio (2 * (Z.of_nat (length l) - 1)) (2 ^ Z.of_nat (S j))).
    - apply ratio_le; [assumption|apply power_pos|]. rewrite power_S. nia.
    - unfold ratio. rewrite inject_Z_mult. change (inject_Z 2) with 2%Q. unfold Qdiv. lra. }
  fold b in L, U. lra.
Qed.

Lemma few_left T : forall s, calm T s ->
  (share t s (T * k) undecided <= ratio (Z.of_nat (T * M)) (2 ^ Z.of_nat k))%Q.
Proof.
assert (Hp := power_pos k).
induction T as [|T IH]; intros [x|d steps|] C; try easy;
  try (rewrite at_decided; apply ratio_nonneg; lia).
- destruct C as (_ & T' & ? & _). lia.
- destruct C as (L & T' & E & R). injection E as <-.
  assert (B := stage T k d steps R IH). destruct steps as [|s1 [|s2 steps]]; [cbn in L; lia|cbn in L; lia|].
  cbn [settle] in B. destruct s1 as [v w]. eapply Qle_trans; [exact B|].
  unfold ratio at 1 2. rewrite over by assumption. rewrite <- inject_Z_plus.
  apply ratio_le; [assumption|assumption|]. nia.
Qed.
End Few.
End Certificate.

Lemma accepted_rows c : check c = true -> forall u r, row_of c u = Some r -> row_ok (count c) u r.
Proof. intros H. apply rows_ok; [now apply check_normal|now apply check_sound]. Qed.

(* More bits change nothing that is decided.                                                       *)
Theorem decided_stays t bits x : forall s, s = At x -> fold_left (feed t) bits s = At x.
Proof. induction bits as [|b bits IH]; intros s ->; [reflexivity|now apply IH]. Qed.

(* Among all strings of n bits, the share of those that end at x is p_T(x), but for those that leave
   it open ...                                                                                     *)
Theorem draw_law c x q n : check c = true -> In x (terminals c) -> is_pT c x q ->
  let t := tabulate (rows c) in
  (share t (start t) n (ended (Z.eqb x)) <= q /\
   q <= share t (start t) n (ended (Z.eqb x)) + share t (start t) n undecided)%Q.
Proof. intros H. now apply law_of_shares, accepted_rows. Qed.

(* ... and these become few: T bounds the lengths of paths, M + 1 the children of a node.          *)
Theorem draws_decide c T M k : check c = true ->
  (forall p, path c 0 p -> (length p <= T)%nat) ->
  (forall u, (length (children c u) <= S M)%nat) ->
  let t := tabulate (rows c) in
  (share t (start t) (T * k) undecided <= ratio (Z.of_nat (T * M)) (2 ^ Z.of_nat k))%Q.
Proof.
intros H P F t. assert (ok := accepted_rows c H). apply few_left; [assumption|assumption|].
apply arrive_calm; [assumption|assumption|unfold count; cbn; lia|]. split; [|assumption].
assert (Hz := one_source c (check_sound c H)). apply in_nodes, Hz.
Qed.
