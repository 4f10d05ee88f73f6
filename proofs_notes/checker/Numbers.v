(* What the numbers of Check.v stand for: each operation encloses the true result.                 *)
From Coq Require Import List ZArith QArith Qabs Qfield Lia Lqa.
From Cert Require Import Spec Check.
Local Open Scope Z_scope.

Lemma inject_nz z : z <> 0 -> ~ (inject_Z z == 0)%Q.
Proof. unfold Qeq; simpl; lia. Qed.

Lemma inject_pos z : 0 < z -> (0 < inject_Z z)%Q.
Proof. unfold Qlt; simpl; lia. Qed.

Lemma inject_nonneg z : 0 <= z -> (0 <= inject_Z z)%Q.
Proof. unfold Qle; simpl; lia. Qed.

Lemma ratio_nonneg a b : 0 <= a -> 0 < b -> (0 <= ratio a b)%Q.
Proof.
intros Ha Hb. apply Qle_shift_div_l; [now apply inject_pos|].
rewrite Qmult_0_l. now apply inject_nonneg.
Qed.

Lemma ratio_eq a b c d : b <> 0 -> d <> 0 -> (ratio a b == ratio c d)%Q <-> a * d = c * b.
Proof.
intros Hb Hd. unfold ratio.
assert (nb := inject_nz _ Hb). assert (nd := inject_nz _ Hd).
assert (E : (inject_Z a * inject_Z d == inject_Z c * inject_Z b)%Q <-> a * d = c * b).
{ rewrite <- !inject_Z_mult. unfold Qeq; simpl; lia. }
rewrite <- E. split; intro H.
- transitivity (inject_Z a / inject_Z b * (inject_Z b * inject_Z d))%Q; [field; auto|].
  rewrite H. field; auto.
- transitivity (inject_Z a * inject_Z d / (inject_Z b * inject_Z d))%Q; [field; auto|].
  rewrite H. field; auto.
Qed.

Lemma ratio_inj a b c d : (ratio a b == ratio c d)%Q -> b <> 0 -> d <> 0 -> a * d = c * b.
Proof. intros E Hb Hd. now apply (ratio_eq a b c d Hb Hd). Qed.

Lemma ratio_mul a b c d : b <> 0 -> d <> 0 -> (ratio (a * c) (b * d) == ratio a b * ratio c d)%Q.
Proof.
intros Hb Hd. unfold ratio. rewrite !inject_Z_mult. field.
split; now apply inject_nz.
Qed.


Lemma ratio_le a b c d : 0 < b -> 0 < d -> (ratio a b <= ratio c d)%Q <-> a * d <= c * b.
Proof.
intros Hb Hd. assert (nb := inject_nz b ltac:(lia)). assert (nd := inject_nz d ltac:(lia)).
assert (E1 : (ratio a b == inject_Z (a * d) * / inject_Z (b * d))%Q)
  by (unfold ratio; rewrite !inject_Z_mult; field; auto).
assert (E2 : (ratio c d == inject_Z (c * b) * / inject_Z (b * d))%Q)
  by (unfold ratio; rewrite !inject_Z_mult; field; auto).
rewrite E1, E2, Qmult_le_r, <- Zle_Qle; [reflexivity|].
apply Qinv_lt_0_compat, inject_pos. nia.
Qed.

(* What a number encloses.                                                                         *)

Definition low (a : arithmetic) (x : number) : Q :=
  ratio (fst x) (match a with Exact => snd x | Rounded scale => scale end).
Definition high (a : arithmetic) (x : number) : Q :=
  match a with Exact => ratio (fst x) (snd x) | Rounded scale => ratio (snd x) scale end.
Definition sensible (a : arithmetic) : Prop :=
  match a with Exact => True | Rounded scale => 0 < scale end.
Definition contains (a : arithmetic) (x : number) (q : Q) : Prop :=
  (a = Exact -> 0 < snd x) /\ (low a x <= q /\ q <= high a x)%Q.

Lemma contains_eq a x q q' : (q == q')%Q -> contains a x q -> contains a x q'.
Proof. unfold contains. intros E. now rewrite E. Qed.

Lemma contains_exact x q : contains Exact x q <-> 0 < snd x /\ (q == ratio (fst x) (snd x))%Q.
Proof.
unfold contains, low, high. split.
- intros (D & L & U). split; [auto|]. now apply Qle_antisym.
- intros (D & E). rewrite E. split; [auto|]. split; apply Qle_refl.
Qed.

Lemma contains_rounded s x q : 0 < s ->
  contains (Rounded s) x q <-> (inject_Z (fst x) <= q * inject_Z s <= inject_Z (snd x))%Q.
Proof.
intros Hs. assert (P := inject_pos _ Hs). assert (N := inject_nz s ltac:(lia)).
assert (E : forall z, (inject_Z z == ratio z s * inject_Z s)%Q) by (intros z; unfold ratio; field; auto).
unfold contains, low, high. rewrite (E (fst x)), (E (snd x)), !Qmult_le_r by assumption.
split; [easy|]. now split.
Qed.

Lemma contains_zero a : sensible a -> contains a (zero a) 0.
Proof.
destruct a as [|s]; simpl; intros Hs.
- apply contains_exact. simpl. split; [lia|reflexivity].
- apply contains_rounded; [assumption|]. simpl. rewrite Qmult_0_l. split; apply Qle_refl.
Qed.

Lemma contains_one a : sensible a -> contains a (one a) 1.
Proof.
destruct a as [|s]; simpl; intros Hs.
- apply contains_exact. simpl. split; [lia|reflexivity].
- apply contains_rounded; [assumption|]. simpl. rewrite Qmult_1_l. split; apply Qle_refl.
Qed.

Lemma exact_plus p q r s : 0 < q -> 0 < s ->
  0 < snd (plus Exact (p, q) (r, s)) /\
  (ratio (fst (plus Exact (p, q) (r, s))) (snd (plus Exact (p, q) (r, s))) == ratio p q + ratio r s)%Q.
Proof.
intros Hq Hs. unfold plus. destruct (Z.eqb_spec q s) as [->|ne]; cbn [fst snd].
- split; [assumption|]. unfold ratio. rewrite inject_Z_plus. field. apply inject_nz; lia.
- set (g := Z.gcd q s).
  assert (Hg : 0 < g).
  { assert (0 <= g) by apply Z.gcd_nonneg. assert (g <> 0); [|lia].
    unfold g. rewrite Z.gcd_eq_0. lia. }
  destruct (Z.gcd_divide_l q s) as [q' Eq]. destruct (Z.gcd_divide_r q s) as [s' Es].
  fold g in Eq, Es.
  assert (E1 : q / g = q') by (rewrite Eq; apply Z.div_mul; lia).
  assert (E2 : s / g = s') by (rewrite Es; apply Z.div_mul; lia).
  cbn [fst snd]. rewrite E1, E2. clear E1 E2.
  assert (0 < q') by nia. assert (0 < s') by nia.
  split; [nia|].
  clearbody g. subst q s. unfold ratio.
  rewrite !inject_Z_plus, !inject_Z_mult. field.
  repeat split; apply inject_nz; lia.
Qed.

Lemma contains_plus a x y q r : sensible a -> contains a x q -> contains a y r ->
  contains a (plus a x y) (q + r).
Proof.
destruct a as [|s]; cbn [sensible]; intros Hs.
- rewrite !contains_exact. intros (Dx & Ex) (Dy & Ey). rewrite Ex, Ey.
  destruct x, y. destruct (exact_plus z z0 z1 z2 Dx Dy) as [D E]. split; [exact D|].
  symmetry. exact E.
- rewrite !contains_rounded by assumption. destruct x, y; cbn [plus fst snd].
  rewrite !inject_Z_plus. lra.
Qed.

Lemma contains_times a x q w d : sensible a -> 0 <= w -> 0 < d -> contains a x q ->
  contains a (times a x w d) (q * ratio w d).
Proof.
intros Hs Hw Hd. assert (Pd := inject_pos _ Hd). assert (Nd := inject_nz d ltac:(lia)).
destruct x as [l h]. destruct a as [|s]; cbn [sensible] in Hs.
- rewrite !contains_exact. cbn [times fst snd]. intros (D & E). split; [nia|].
  rewrite E, ratio_mul by lia. reflexivity.
- rewrite !contains_rounded by assumption. cbn [times fst snd]. intros [L U].
  assert (E : (q * ratio w d * inject_Z s == q * inject_Z s * inject_Z w / inject_Z d)%Q)
    by (unfold ratio; field; auto).
  rewrite E. assert (Pw := inject_nonneg _ Hw). split.
  + apply Qle_shift_div_l; [assumption|].
    apply Qle_trans with (inject_Z l * inject_Z w)%Q; [|now apply Qmult_le_compat_r].
    rewrite <- !inject_Z_mult, <- Zle_Qle, Z.mul_comm. now apply Z.mul_div_le.
  + apply Qle_shift_div_r; [assumption|].
    apply Qle_trans with (inject_Z h * inject_Z w)%Q; [now apply Qmult_le_compat_r|].
    rewrite <- !inject_Z_mult, <- Zle_Qle.
    assert (M := Z.mod_pos_bound (h * w + (d - 1)) d Hd).
    assert (V := Z.div_mod (h * w + (d - 1)) d ltac:(lia)). lia.
Qed.

Lemma contains_gap a x q S r : sensible a -> 0 < S -> contains a x q ->
  contains a (gap a x S r) (Qabs (q * inject_Z S - inject_Z r)).
Proof.
intros Hs HS. destruct x as [l h]. destruct a as [|s]; cbn [sensible] in Hs.
- rewrite !contains_exact. cbn [gap fst snd]. intros (D & E). split; [assumption|].
  assert (PD := inject_pos _ D). rewrite E. unfold ratio.
  transitivity (Qabs (inject_Z (l * S - r * h)) / Qabs (inject_Z h))%Q.
  + unfold Qdiv. rewrite <- Qabs_Qinv, <- Qabs_Qmult. apply Qabs_wd.
    unfold Zminus. rewrite inject_Z_plus, inject_Z_opp, !inject_Z_mult. field. apply inject_nz; lia.
  + rewrite (Qabs_pos (inject_Z h)) by now apply Qlt_le_weak. reflexivity.
- rewrite !contains_rounded by assumption. cbn [gap fst snd]. intros [L U].
  replace (l * S - s * r + (h - l) * S) with (h * S - s * r) by ring.
  assert (PS := inject_pos _ HS). assert (Ps := inject_pos _ Hs).
  set (lo := l * S - s * r). set (hi := h * S - s * r).
  set (y := ((q * inject_Z S - inject_Z r) * inject_Z s)%Q).
  assert (Ey : (Qabs (q * inject_Z S - inject_Z r) * inject_Z s == Qabs y)%Q).
  { unfold y. rewrite Qabs_Qmult, (Qabs_pos (inject_Z s)) by now apply Qlt_le_weak. reflexivity. }
  assert (L' : (inject_Z lo <= y)%Q).
  { unfold lo, y, Zminus. rewrite inject_Z_plus, inject_Z_opp, !inject_Z_mult. nra. }
  assert (U' : (y <= inject_Z hi)%Q).
  { unfold hi, y, Zminus. rewrite inject_Z_plus, inject_Z_opp, !inject_Z_mult. nra. }
  rewrite Ey. clearbody lo hi y. clear - L' U'. split.
  + destruct (Z.leb_spec 0 lo) as [H|H]; [|destruct (Z.leb_spec hi 0) as [H'|H']].
    * apply Qle_trans with y; [assumption|]. apply Qle_Qabs.
    * rewrite Z.abs_neq, inject_Z_opp by assumption. rewrite <- Qabs_opp.
      apply Qle_trans with (- y)%Q; [lra|]. apply Qle_Qabs.
    * apply Qabs_nonneg.
  + assert (A : (Qabs y <= inject_Z (Z.max (Z.abs lo) (Z.abs hi)))%Q).
    { apply Qabs_Qle_condition. split.
      - apply Qle_trans with (inject_Z lo); [|assumption].
        rewrite <- inject_Z_opp, <- Zle_Qle. lia.
      - apply Qle_trans with (inject_Z hi); [assumption|]. rewrite <- Zle_Qle. lia. }
    destruct (Z.leb_spec (Z.abs lo) (Z.abs hi)).
    * now rewrite Z.max_r in A.
    * now rewrite Z.max_l in A by lia.
Qed.
