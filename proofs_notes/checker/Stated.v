(* What `pdai certify --theorem` states of a table, and how the kernel comes to know it: by one pass
   over the table, which gives what [check] gives, and divides by powers of two in fewer steps.     *)
From Coq Require Import List ZArith QArith Qabs Lia Number Init.Byte.
From Cert Require Import Trie Check Numbers Sound.
From Cert Require Export Spec.
Import ListNotations.
Local Open Scope Z_scope.

(* The table, as it is written.  Labels and the name of the problem are texts: no part of a proof.  *)
Inductive text := Blank | Letter (b : byte) (rest : text).
Declare Scope label_scope.
Bind Scope label_scope with text.
Bind Scope dec_uint_scope with Number.uint.
Inductive steps := done | to (child numerator : Number.uint) (rest : steps).
Inductive states :=
  | no_more
  | inner (label : text) (denominator : Number.uint) (p_F : steps) (rest : states)
  | terminal (label : text) (reward : Number.uint) (rest : states).
Record labelled := Table { problem : text; denominator_of_rewards : Number.uint; listed : states }.

Fixpoint text_of (bs : list byte) : text :=
  match bs with [] => Blank | b :: bs' => Letter b (text_of bs') end.
Fixpoint bytes_of (t : text) : list byte :=
  match t with Blank => [] | Letter b t' => b :: bytes_of t' end.
String Notation text text_of bytes_of : label_scope.
Notation "first ;; rest" := (first rest) (at level 90, right associativity, only parsing).

(* The same as Spec.v has it: node i is line i, from 0 on.  Of the header, the denominator counts.  *)
Notation number_of := Z.of_num_uint.
Fixpoint steps_of (s : steps) : list (node * Z) :=
  match s with done => [] | to v w s' => (number_of v, number_of w) :: steps_of s' end.
Fixpoint rows_of (l : states) : list row :=
  match l with
  | no_more => []
  | inner _ d s l' => Inner (number_of d) (steps_of s) :: rows_of l'
  | terminal _ r l' => Terminal (number_of r) :: rows_of l'
  end.
Definition table_of (t : labelled) : cert :=
  Cert (Head 0 Exact 0 (number_of (denominator_of_rewards t)) Equal 0 1) (rows_of (listed t)).
Coercion table_of : labelled >-> cert.

(* What a theorem says.                                                                             *)
Record is_sampler (c : cert) : Prop := IsSampler {
  edges_stay : forall u v, edge c u v -> In u (nodes c) /\ In v (nodes c);
  edges_differ : forall u, NoDup (children c u);
  no_cycle : forall u t, path c u t -> last t u = u -> t = [];
  source_is_first : In 0 (nodes c) /\ forall v, In v (nodes c) -> ((forall u, ~ edge c u v) <-> v = 0);
  p_F_nonnegative : forall u v, (0 <= pF c u v)%Q;
  p_F_sums_to_one : forall u, In u (nodes c) -> ~ In u (terminals c) ->
    (sum (map (pF c u) (children c u)) == 1)%Q
}.
Record is_target (c : cert) : Prop := IsTarget {
  reward_listed : forall x, In x (terminals c) -> exists r, row_of c x = Some (Terminal r);
  reward_nonnegative : forall x, (0 <= R c x)%Q;
  some_reward : (0 < partition c)%Q
}.
Definition law (c : cert) (p : node -> Q) : Prop := forall x, In x (terminals c) -> is_pT c x (p x).

(* Quotients: a division by a power of two drops bits.                                              *)
Fixpoint exponent (p : positive) (k : Z) : option Z :=
  match p with xH => Some k | xO p' => exponent p' (k + 1) | xI _ => None end.
Definition over (d : Z) : Z -> Z :=
  match match d with Zpos p => exponent p 0 | _ => None end with
  | Some k => fun x => Z.shiftr x k
  | None => fun x => x / d
  end.

Lemma exponent_spec p : forall k e, 0 <= k -> exponent p k = Some e -> k <= e /\ Zpos p * 2 ^ k = 2 ^ e.
Proof.
induction p as [p IH|p IH|]; intros k e Hk; cbn [exponent]; [discriminate| |].
- intros E. apply IH in E as [L E]; [|lia]. split; [lia|].
  rewrite <- E, Z.pow_add_r, Pos2Z.inj_xO by lia. change (2 ^ 1) with 2. ring.
- intros E; inversion E; subst. split; [lia|]. apply Z.mul_1_l.
Qed.

Lemma over_div d x : over d x = x / d.
Proof.
unfold over. destruct d as [|p|p]; try reflexivity.
destruct (exponent p 0) as [e|] eqn:E; [|reflexivity].
apply exponent_spec in E as [L E]; [|lia].
rewrite Z.shiftr_div_pow2, <- E by assumption. now rewrite Z.mul_1_r.
Qed.

(* The pass.                                                                                        *)
Fixpoint pass_on (size : Z) (x : number) (d : Z) (divide : Z -> Z) (s : steps) (before total : Z)
    (m : trie number) : option (Z * trie number) :=
  match s with
  | done => Some (total, m)
  | to v w s' =>
      let v := number_of v in let w := number_of w in
      if before <? v then if v <? size then if 0 <=? w then
        let low := fst x * w in
        let high := low + (snd x - fst x) * w in
        let new := (divide low, divide (high + (d - 1))) in
        pass_on size x d divide s' v (total + w)
          (update (key v)
             (fun old => match old with None => new | Some y => (fst y + fst new, snd y + snd new) end) m)
      else None else None else None
  end.

Fixpoint pass (h : head) (s : state) (l : states) : option state :=
  match l with
  | no_more => Some s
  | terminal _ r l' =>
      match step h s (Terminal (number_of r)) with None => None | Some s' => pass h s' l' end
  | inner _ d steps l' =>
      let k := key (next s) in let d := number_of d in
      match find k (masses s) with
      | None => None
      | Some x =>
          if 0 <? d then
            match pass_on (size h) x d (over d) steps (next s) 0 (remove k (masses s)) with
            | None => None
            | Some (total, m) =>
                if total =? d then pass h (State (next s + 1) m (collected s) (gaps s)) l' else None
            end
          else None
      end
  end.

Lemma update_ext {A} (f g : option A -> A) k : (forall o, f o = g o) ->
  forall t, update k f t = update k g t.
Proof. intros E. induction k; intros []; simpl; congruence. Qed.

Lemma pass_on_push h scale x d s : arith h = Rounded scale -> forall before total m,
  pass_on (size h) x d (over d) s before total m = push h x d (steps_of s) before total m.
Proof.
intros R. induction s as [|v w s IH]; intros before total m; [reflexivity|].
cbn [pass_on steps_of push]. destruct (before <? _); [|reflexivity].
destruct (_ <? size h); [|reflexivity]. destruct (0 <=? _); [|reflexivity].
rewrite IH. f_equal. apply update_ext. intros o. destruct x as [p q]. rewrite !over_div, R.
cbn [fst snd times]. replace (p * number_of w + (q - p) * number_of w) with (q * number_of w) by ring.
destruct o as [[a b]|]; reflexivity.
Qed.

Lemma pass_run h scale l : arith h = Rounded scale -> forall s, pass h s l = run h s (rows_of l).
Proof.
intros R. induction l as [|label d steps l IH|label r l IH]; intros s; [reflexivity| |];
  cbn [pass rows_of run].
- unfold step at 1. destruct (find _ _) as [x|]; [|reflexivity].
  destruct (0 <? number_of d); [|reflexivity]. rewrite (pass_on_push h scale) by assumption.
  destruct (push _ _ _ _ _ _ _) as [[total m]|]; [|reflexivity].
  destruct (total =? _); [|reflexivity]. apply IH.
- destruct (step _ _ _); [apply IH|reflexivity].
Qed.

(* The bounds a / b <= TV <= c / d of a table with so many states and so large a sum of reward
   numerators, by masses that are rounded outward to multiples of 1 / scale.                        *)
Definition head_of (t : labelled) (size scale whole : Z) (r : relation) (a : Z) (b : positive) :=
  Head size (Rounded scale) whole (number_of (denominator_of_rewards t)) r a (Zpos b).

Definition bounded (t : labelled) (size scale whole a : Z) (b : positive) (c : Z) (d : positive) :=
  let h := head_of t size scale whole in
  match start (h AtMost c d) with
  | None => false
  | Some s =>
      match pass (h AtMost c d) s (listed t) with
      | None => false
      | Some s' => if finish (h AtMost c d) s' then finish (h AtLeast a b) s' else false
      end
  end.

Lemma run_claim t size scale whole r a b r' a' b' rest : forall s,
  run (head_of t size scale whole r a b) s rest = run (head_of t size scale whole r' a' b') s rest.
Proof.
assert (P : forall x d steps before total m,
  push (head_of t size scale whole r a b) x d steps before total m =
  push (head_of t size scale whole r' a' b') x d steps before total m).
{ intros x d steps. induction steps as [|[v w] steps IH]; intros before total m; [reflexivity|].
  cbn [push]. now rewrite IH. }
induction rest as [|r0 rest IH]; intros s; [reflexivity|]. cbn [run].
replace (step (head_of t size scale whole r a b) s r0)
  with (step (head_of t size scale whole r' a' b') s r0).
- destruct (step _ s r0); [apply IH|reflexivity].
- unfold step. destruct (find _ _); [|reflexivity]. destruct r0; [reflexivity|]. now rewrite P.
Qed.

Lemma bounded_checks t size scale whole a b c d : bounded t size scale whole a b c d = true ->
  check (Cert (head_of t size scale whole AtMost c d) (rows_of (listed t))) = true /\
  check (Cert (head_of t size scale whole AtLeast a b) (rows_of (listed t))) = true.
Proof.
unfold bounded, check. cbn [given rows].
destruct (start (head_of _ _ _ _ AtMost _ _)) as [s|] eqn:S; [|discriminate].
assert (S' : start (head_of t size scale whole AtLeast a b) = Some s) by exact S.
rewrite S', (pass_run _ scale) by reflexivity.
rewrite (run_claim _ _ _ _ AtLeast a b AtMost c d).
destruct (run _ _ _) as [s'|]; [|discriminate]. destruct (finish _ _); [|discriminate]. auto.
Qed.

Lemma ratio_make a b : (ratio a (Zpos b) == a # b)%Q.
Proof. unfold ratio. rewrite (Qmake_Qdiv a b). reflexivity. Qed.

Lemma TV_same (c : cert) p q : law c p -> law c q -> (TV c p == TV c q)%Q.
Proof.
intros P Q. unfold TV. apply Qmult_comp; [reflexivity|]. apply sum_map_ext. intros x H.
now rewrite (is_pT_unique c x _ _ (P x H) (Q x H)).
Qed.

Theorem between t size scale whole a b c d : bounded t size scale whole a b c d = true ->
  is_sampler t /\ is_target t /\
  (partition t == ratio whole (number_of (denominator_of_rewards t)))%Q /\
  exists p_T, law t p_T /\ (a # b <= TV t p_T <= c # d)%Q.
Proof.
intros B. apply bounded_checks in B as [M L]. apply check_sound in M, L.
destruct M as [_ M1 M2 M3 M4 M5 M6 M7 M8 M9 M10 (p & P & H)].
destruct L as [_ _ _ _ _ _ _ _ _ _ _ (q & Q & L)].
split; [split; assumption|]. split; [split; assumption|]. split; [assumption|].
exists p. split; [assumption|]. cbn in H, L. rewrite ratio_make in H, L.
split; [|assumption]. apply (Qle_trans _ _ _ L). apply Qle_lteq. right. now apply (TV_same t).
Qed.

Theorem exactly t size scale whole a b : bounded t size scale whole a b a b = true ->
  is_sampler t /\ is_target t /\
  (partition t == ratio whole (number_of (denominator_of_rewards t)))%Q /\
  exists p_T, law t p_T /\ (TV t p_T == a # b)%Q.
Proof.
intros B. apply between in B as (S & T & E & p & P & L & U).
do 3 (split; [assumption|]). exists p. split; [assumption|]. now apply Qle_antisym.
Qed.
