(* What Dags.v computes: each tree holds the values of a function of sets of nodes. *)
From Coq Require Import ZArith List.
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Versions Dag DagSums.
From Cert Require Import Dags Rat.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Tables.
Variable V : finType.
Implicit Types (S Q D : {set V}) (vs zs : seq V).

(* P holds of the entry of each set that consists of S and some of the nodes vs. *)
Fixpoint table A (P : A -> {set V} -> Prop) vs (t : tree A) S : Prop :=
  match vs, t with
  | [::], Leaf x => P x S
  | v :: vs, Node a b => table P vs a S /\ table P vs b (v |: S)
  | _, _ => False
  end.
(* P holds of each element of a list and the node at its place. *)
Fixpoint matched A (P : A -> V -> Prop) (l : seq A) zs : Prop :=
  match l, zs with
  | [::], [::] => True
  | x :: l, z :: zs => P x z /\ matched P l zs
  | _, _ => False
  end.

Lemma matched_size A (P : A -> V -> Prop) l zs : matched P l zs -> size l = size zs.
Proof. by elim: l zs => [|x l IH] [|z zs] //= [_ /IH->]. Qed.

Lemma matched_map A B (f : A -> B) (P : A -> V -> Prop) (P' : B -> V -> Prop) l zs :
  matched P l zs -> (forall x z, z \in zs -> P x z -> P' (f x) z) -> matched P' (every f l) zs.
Proof.
elim: l zs => [|x l IH] [|z zs] //= [Px Pl] step; split; first by apply: step; rewrite ?mem_head.
by apply: IH => // y t tz; apply: step; rewrite inE tz orbT.
Qed.

Lemma table_each A B (f : A -> B) (P : A -> {set V} -> Prop) (P' : B -> {set V} -> Prop) D vs t S :
  table P vs t S -> (forall x Q, P x Q -> P' (f x) (D :|: Q)) -> table P' vs (each f t) (D :|: S).
Proof.
move=> + step; elim: vs t S => [|v vs IH] [x|a b] S //=; first exact: step.
by case=> /IH ha /IH; rewrite setUCA.
Qed.

Lemma table_map A B (f : A -> B) (P : A -> {set V} -> Prop) (P' : B -> {set V} -> Prop) vs t S :
  table P vs t S -> (forall x Q, P x Q -> P' (f x) Q) -> table P' vs (each f t) S.
Proof. by move=> + step; rewrite -{2}(set0U S) => /table_each; apply=> x Q; rewrite set0U;
  apply: step. Qed.

Lemma table_weaken A (P P' : A -> {set V} -> Prop) vs t S :
  table P vs t S -> (forall x Q, S \subset Q -> Q \subset S :|: [set z in vs] -> P x Q -> P' x Q) ->
  table P' vs t S.
Proof.
elim: vs t S => [|v vs IH] [x|a b] S //=; first by move=> Px; apply => //; rewrite subsetUl.
case=> ta tb step; split; [apply: IH ta _ | apply: IH tb _] => x Q SQ QS; apply: step.
- exact: SQ.
- by apply: subset_trans QS _; apply: setUS; apply/subsetP => z; rewrite !inE orbC => ->.
- by apply: subset_trans SQ; rewrite subsetUr.
- apply: subset_trans QS _; rewrite -setUA setUCA; apply: setUS.
  by apply/subsetP => z; rewrite !inE.
Qed.

Lemma table_zip A (f : A -> A -> A) (P P' P'' : A -> {set V} -> Prop) D E vs s t S :
  table P vs s S -> table P' vs t (D :|: S) ->
  (forall x y Q, P x Q -> P' y (D :|: Q) -> P'' (f x y) (E :|: Q)) ->
  table P'' vs (zip f s t) (E :|: S).
Proof.
move=> + + step; elim: vs s t S => [|v vs IH] [x|a b] [y|c d] S //=; first exact: step.
by move=> -[ta tb] [tc td]; split; [apply: IH | rewrite setUCA; apply: IH => //; rewrite setUCA].
Qed.

Lemma table_put A (P : A -> {set V} -> Prop) x zs t S :
  table (fun y Q => Q <> S -> P y Q) zs t S -> P x S -> (forall z, z \in zs -> z \notin S) ->
  table P zs (put x t) S.
Proof.
elim: zs t => [|z zs IH] [y|a b] //= [ta tb] Px out; split.
  by apply: IH => // v vz; apply: out; rewrite inE vz orbT.
apply: table_weaken tb _ => y Q SQ _; apply=> QS; have := out z (mem_head _ _).
by rewrite -QS (subsetP SQ) // setU11.
Qed.

Lemma table_least A (P : A -> {set V} -> Prop) zs t S : table P zs t S -> P (least t) S.
Proof. by elim: zs t => [|z zs IH] [x|a b] //= [/IH]. Qed.

(* The rest of [table P (v :: vs) t Q], for a tree of trees. *)
Lemma table_off A (P : A -> {set V} -> Prop) v vs t S : table P (v :: vs) t S -> table P vs (off t)
  S.
Proof. by case: t => [x|a b] //= []. Qed.
Lemma table_on A (P : A -> {set V} -> Prop) v vs t S :
  table P (v :: vs) t S -> table P vs (on t) (v |: S).
Proof. by case: t => [x|a b] //= []. Qed.
End Tables.

(* Numbers that stand for elements of a ring. *)
Section Sums.
Variables (V : finType) (K : comRingType) (w : V -> {set V} -> K).
Variables (N : Type) (zero one : N) (plus minus times : N -> N -> N) (R : N -> K -> Prop).
Hypotheses (R0 : R zero 0) (R1 : R one 1).
Hypothesis R_plus : forall x y a b, R x a -> R y b -> R (plus x y) (a + b).
Hypothesis R_minus : forall x y a b, R x a -> R y b -> R (minus x y) (a - b).
Hypothesis R_times : forall x y a b, R x a -> R y b -> R (times x y) (a * b).
Implicit Types (S Q T U : {set V}) (vs zs : seq V).
Notation fold := (fold zero minus times).

Definition values (f : {set V} -> K) vs t S := table (fun x Q => R x (f Q)) vs t S.

Lemma values_eq (f g : {set V} -> K) vs t S : values f vs t S ->
  (forall Q, S \subset Q -> Q \subset S :|: [set z in vs] -> f Q = g Q) -> values g vs t S.
Proof. by move=> ft fg; apply: table_weaken ft _ => x Q SQ QS; rewrite fg. Qed.

Lemma values_subsets (f : {set V} -> K) vs t S : uniq vs -> (forall v, v \in vs -> v \notin S) ->
  values f vs t S ->
  values (fun Q => \sum_(P : {set V} | (S \subset P) && (P \subset Q)) f P) vs (subsets plus t) S.
Proof.
elim: vs t S => [|v vs IH] [x|a b] S //=.
  by move=> _ _ fx; rewrite /values /= (big_pred1 S) // => P; rewrite /= eqEsubset andbC.
move=> /andP[vvs uvs] out [ta tb]; have vS := out v (mem_head _ _).
have ha : values (fun Q => \sum_(P : {set V} | (S \subset P) && (P \subset Q)) f P) vs
            (subsets plus a) S by apply: IH => // z zv; apply: out; rewrite inE zv orbT.
have hb : values (fun Q => \sum_(P : {set V} | (v |: S \subset P) && (P \subset Q)) f P) vs
            (subsets plus b) (v |: S).
  apply: IH => // z zv; rewrite !inE negb_or out ?andbT; last by rewrite inE zv orbT.
  by apply: contraNneq vvs => <-.
split=> //; have ha' : table (fun x Q => v \notin Q /\
    R x (\sum_(P : {set V} | (S \subset P) && (P \subset Q)) f P)) vs (subsets plus a) S.
  apply: table_weaken ha _ => x Q _ QS Rx; split=> //; apply: contra vS => /(subsetP QS).
  by rewrite !inE (negbTE vvs) orbF.
apply: (table_zip (E := [set v]) ha' hb) => x y Q [vQ Rx] Ry.
rewrite (bigID (fun P : {set V} => v \notin P)) /=.
rewrite (eq_bigl (fun P : {set V} => (S \subset P) && (P \subset Q))); last first.
  move=> P; have [vP|vP] := boolP (v \in P);
    last by rewrite andbT -{2}(setU1K vQ) subsetD1 vP andbT.
  by rewrite andbF; apply/esym/negP => /andP[_ /subsetP/(_ v vP)]; apply/negP.
rewrite [X in _ + X](eq_bigl (fun P : {set V} => (v |: S \subset P) && (P \subset v |: Q))).
  exact: R_plus.
by move=> P; rewrite negbK subUset sub1set [_ && (v \in P)]andbC andbA.
Qed.

Fixpoint signed (c : V -> K) zs S (X : {set V} -> K) : K :=
  if zs is z :: zs then signed c zs S X - c z * signed c zs (z |: S) X else X S.

Lemma fold_signed c zs t ws S X : values X zs t S -> matched (fun x z => R x (c z)) ws zs ->
  R (fold t ws) (signed c zs S X).
Proof.
elim: zs t ws S => [|z zs IH] [x|a b] [|y ws] S //= [ta tb] [Ry Rws].
by apply: R_minus; [apply: IH | apply: R_times; last exact: IH].
Qed.

Lemma signed_sum c zs S X : uniq zs ->
  signed c zs S X = \sum_(T : {set V} | T \subset [set z in zs])
                       (-1) ^+ #|T| * (\prod_(t in T) c t * X (S :|: T)).
Proof.
elim: zs S => [|z zs IH] S /=.
  rewrite (big_pred1 set0) => [|T]; first by rewrite cards0 mul1r big_set0 mul1r setU0.
  have -> : [set z in [::]] = set0 :> {set V} by apply/setP => v; rewrite !inE.
  by rewrite subset0.
move=> /andP[zzs uzs]; rewrite !IH // [RHS](bigID (fun T : {set V} => z \in T)) /= addrC.
have sub T : z \notin T -> (T \subset [set t in z :: zs]) = (T \subset [set t in zs]).
  move=> zT; apply/subsetP/subsetP => TS t tT; have := TS t tT; rewrite !inE; last by move=> ->;
    rewrite orbT.
  by case/orP => // /eqP tz; rewrite -tz tT in zT.
have not_z T : T \subset [set t in zs] -> z \notin T.
  by move/subsetP => TS; apply: contra zzs => /TS; rewrite inE.
congr (_ + _); last first.
  apply: eq_bigl => T; case zT: (z \in T); last by rewrite andbT sub ?zT.
  by rewrite andbF; apply/negP => /not_z; rewrite zT.
rewrite [RHS](reindex_onto (fun T : {set V} => z |: T) (fun T => T :\ z)) /= => [|T /andP[_ zT]];
  last by rewrite setD1K.
rewrite mulr_sumr -sumrN; apply: eq_big => [T|T Tzs].
  rewrite setU11 andbT; apply/idP/andP => [Tzs|[TS /eqP<-]].
    have zT := not_z T Tzs; rewrite setU1K // eqxx; split=> //;
      rewrite subUset sub1set inE mem_head sub //.
  have zT : z \notin (z |: T) :\ z by rewrite setD11.
  by rewrite -sub //; apply: subset_trans TS; apply: subsetDl.
have zT := not_z T Tzs; rewrite cardsU1 zT exprS mulN1r mulNr (big_setU1 _ zT) /= setUCA setUA.
by congr (- _); rewrite mulrCA -!mulrA.
Qed.

(* The nodes left and those to come are those of A outside of S, each once. *)
Definition walk (A : {set V}) zs vs S :=
  uniq (zs ++ vs) /\ forall z, (z \in zs ++ vs) = (z \in A) && (z \notin S).

Lemma walk_off A v zs vs S : walk A zs (v :: vs) S -> walk A (v :: zs) vs S.
Proof.
move=> [un out]; have p : perm_eq (zs ++ v :: vs) ((v :: zs) ++ vs) by rewrite -cat1s perm_catCA.
by split=> [|z]; rewrite -?(perm_uniq p) // -(perm_mem p).
Qed.

Lemma walk_on A v zs vs S : walk A zs (v :: vs) S -> walk A zs vs (v |: S).
Proof.
move/walk_off=> [/= /andP[vl un] out]; split=> // z; rewrite !inE negb_or andbCA -out inE.
by case: eqP => // ->; rewrite (negbTE vl).
Qed.

Definition carried vs l zs S := matched (fun t z => values (W w z) vs t S) l zs.

Lemma carried_off v vs l zs S : carried (v :: vs) l zs S -> carried vs (every off l) zs S.
Proof. by move=> lw; apply: matched_map lw _ => t z _; apply: table_off. Qed.
Lemma carried_on v vs l zs S : carried (v :: vs) l zs S -> carried vs (every on l) zs (v |: S).
Proof. by move=> lw; apply: matched_map lw _ => t z _; apply: table_on. Qed.
Lemma carried_least l zs S :
  carried [::] l zs S -> matched (fun x z => R x (W w z S)) (every least l) zs.
Proof. by move=> lw; apply: matched_map lw _ => t z _; apply: table_least. Qed.

Lemma tables_off (P : seq V -> tree N -> {set V} -> Prop) v vs zs xs S :
  (forall t Q, P (v :: vs) t Q -> P vs (off t) Q) ->
  table (P (v :: vs)) zs xs S -> table (P vs) zs (each off xs) S.
Proof. by move=> step ht; apply: table_map ht _. Qed.
Lemma tables_on (P : seq V -> tree N -> {set V} -> Prop) v vs zs xs S :
  (forall t Q, P (v :: vs) t Q -> P vs (on t) (v |: Q)) ->
  table (P (v :: vs)) zs xs S -> table (P vs) zs (each on xs) (v |: S).
Proof. by move=> step ht; apply: table_each ht _. Qed.

Lemma walk_end A zs S : walk A zs [::] S -> uniq zs /\ [set z in zs] = A :\: S.
Proof. by rewrite /walk cats0 => -[un out]; split=> //; apply/setP => z;
  rewrite !inE out andbC. Qed.

Lemma alternate_ok A X vs zs xs ws rest S : walk A zs vs S ->
  table (values X vs) zs xs S -> carried vs ws zs S -> carried vs rest vs S ->
  values (fun Q => \sum_(T : {set V} | T \subset A :\: Q)
                     (-1) ^+ #|T| * (\prod_(t in T) W w t Q * X (Q :|: T))) vs
         (alternate zero minus times (size vs) xs ws rest) S.
Proof.
elim: vs zs xs ws rest S => [|v vs IH] zs xs ws rest S wk tx tw tr.
  have [un out] := walk_end wk; rewrite /values /= -out -signed_sum //.
  apply: fold_signed; last exact: carried_least.
  by apply: table_map tx _ => t Q; apply: table_least.
case: rest tr => //= x rest [tx0 tr]; split; last first.
  apply: IH (carried_on tw) (carried_on tr); first exact: walk_on wk.
  by apply: tables_on tx => t Q; apply: table_on.
apply: IH (carried_off tr); first exact: walk_off wk.
  by split; [apply: tables_off tx => t Q; apply: table_off | apply: tables_on tx => t Q;
    apply: table_on].
by split; [apply: table_off tx0 | apply: carried_off tw].
Qed.

Lemma above_ok vs zs xs ws rest S : walk setT zs vs S ->
  table (fun t Q => Q <> S -> values (DagSums.above w) vs t Q) zs xs S ->
  carried vs ws zs S -> carried vs rest vs S ->
  values (DagSums.above w) vs (above zero one minus times (size vs) xs ws rest) S.
Proof.
elim: vs zs xs ws rest S => [|v vs IH] zs xs ws rest S wk tx tw tr.
  have [un out] := walk_end wk; case: ws tw => [|x ws] tw.
    case: zs out tw {wk un tx} => // + _; rewrite setTD => /(congr1 (@setC V)).
    rewrite setCK /values /= => <-; have -> : ~: [set z in [::]] = setT :> {set V}.
      by apply/setP => z; rewrite !inE.
    by rewrite above_full.
  have ST : S != setT.
    by case: zs out tw {wk un tx} => //= z zs /setP/(_ z); rewrite !inE eqxx => /esym/andP[zS _] _;
       apply: contraNneq zS => ->; rewrite inE.
  pose X Q := if Q == S then 0 else DagSums.above w Q.
  rewrite /values /=; have -> : DagSums.above w S = 0 - signed (fun z => W w z S) zs S X.
    rewrite signed_sum // out setTD (bigD1 set0) ?sub0set //= cards0 big_set0 !mul1r setU0 /X eqxx
      !add0r.
    rewrite above_sum // -sumrN; apply: eq_bigr => T /andP[TS T0].
    rewrite exprS mulN1r mulNr ifN //; apply: contra T0 => /eqP/setUidPl TS'.
    by rewrite -subset0 -(setICr S) subsetI TS'.
  apply: (R_minus R0); apply: fold_signed; last exact: (carried_least tw).
  apply: table_put => [||z]; last by move=> zs0; have := wk.2 z; rewrite cats0 zs0 inE => /esym.
    apply: table_map tx _ => t Q RQ QS.
    by rewrite /X ifN; [apply: table_least (RQ _); exact: QS | apply/eqP].
  by rewrite /X eqxx.
case: rest tr => //= x rest [tx0 tr].
have hb : values (DagSums.above w) vs
    (above zero one minus times (size vs) (each on xs) (every on ws) (every on rest)) (v |: S).
  apply: IH (carried_on tw) (carried_on tr); first exact: walk_on wk.
  apply: table_each tx _ => t Q RQ QS; apply: table_on; apply: RQ => E; apply: QS; by rewrite E.
split=> //; apply: IH (carried_off tr); first exact: walk_off wk.
  split.
    by apply: table_map tx _ => t Q RQ QS; apply: table_off (RQ QS).
  apply: table_put => [||z zzs].
  - apply: table_each tx _ => t Q RQ QS _; apply: table_on; apply: RQ => E; apply: QS; by rewrite E.
  - by move=> _.
  have [/andP[vl _] /(_ z)] := walk_off wk; rewrite mem_cat inE zzs orbT in_setT /= => /esym zS.
  rewrite !inE negb_or zS andbT; apply: contraNneq vl => <-; by rewrite mem_cat zzs.
by split; [apply: table_off tx0 | apply: carried_off tw].
Qed.

(* What the sets of [past] have sent to Q;
  a set sends its own number away.                        *)
Definition sent (past : {set {set V}}) Q : K :=
  (Q == set0)%:R - \sum_(U in past | U \subset Q) \prod_(t in Q :\: U) - W w t U * DagSums.below w
    U.
Definition cube vs S : {set {set V}} := 
  [set U : {set V} | (S \subset U) && (U \subset S :|: [set z in vs])].

Lemma spread_ok (c : V -> K) x a zs ws S : R x a -> matched (fun y z => R y (c z)) ws zs ->
  uniq zs -> (forall z, z \in zs -> z \notin S) ->
  values (fun Q => \prod_(t in Q :\: S) - c t * a) zs (spread zero minus times x ws) S.
Proof.
move=> Ra; elim: zs ws => [|z zs IH] [|y ws] //=.
  by move=> _ _ _; rewrite /values /= setDv big_set0 mul1r.
move=> [Ry mt] /andP[zzs uzs] out.
have tail : values (fun Q => \prod_(t in Q :\: S) - c t * a) zs (spread zero minus times x ws) S.
  by apply: IH => // t tz; apply: out; rewrite inE tz orbT.
have zS := out z (mem_head _ _); split=> //.
have {}tail : table (fun x Q => z \notin Q /\ R x (\prod_(t in Q :\: S) - c t * a)) zs
    (spread zero minus times x ws) S.
  apply: table_weaken tail _ => q Q _ QS Rq; split=> //; apply: contra zS => /(subsetP QS).
  by rewrite !inE (negbTE zzs) orbF.
apply: table_each tail _ => q Q [zQ Rq].
have -> : (z |: Q) :\: S = z |: (Q :\: S).
  by rewrite setDUl; congr (_ :|: _); apply/setDidPl; rewrite disjoints1.
rewrite big_setU1 ?inE ?(negbTE zQ) ?andbF //= -mulrA mulNr -[- (_ * _)]sub0r.
by apply: R_minus => //; apply: R_times.
Qed.

Lemma below_value (past : {set {set V}}) S : S \notin past ->
  (forall U, U \proper S -> U \in past) -> sent past S = DagSums.below w S.
Proof.
move=> Sd proper_done; rewrite /sent; have [S_0|S0] := eqVneq S set0.
  rewrite S_0 big_pred0 ?subr0 ?below_empty // => U; apply/negP => /andP[Ud]; rewrite subset0 =>
    /eqP U0.
  by move: Sd; rewrite S_0 -U0 Ud.
rewrite sub0r below_sum // -sumrN (reindex_onto (fun T => S :\: T) (fun U => S :\: U)) /=;
  last first.
  by move=> U /andP[_ US]; rewrite setDDr setDv set0U; apply/setIidPr.
have back T : S :\: (S :\: T) = S :&: T by rewrite setDDr setDv set0U.
apply: eq_big => [T|T /andP[_ /eqP->]]; last by rewrite prodrN exprS mulN1r mulNr mulrA.
rewrite subsetDl andbT back (sameP eqP setIidPr); have [TS|_] := boolP (T \subset S);
  last by rewrite andbF.
rewrite andbT; have [->|T0] := eqVneq T set0; first by rewrite setD0 (negbTE Sd).
apply: proper_done; rewrite properE subsetDl /=; apply/negP => /subsetDP[_]; rewrite -setI_eq0.
by rewrite (setIidPr TS) (negbTE T0).
Qed.

Lemma cube_cons v vs S : cube (v :: vs) S = cube vs S :|: cube vs (v |: S).
Proof.
apply/setP => U; rewrite !inE -setUA.
have -> : S :|: [set z in v :: vs] = v |: (S :|: [set z in vs]).
  by apply/setP => z; rewrite !inE orbCA.
have [vU|vU] := boolP (v \in U).
  rewrite subUset sub1set vU /=; case: (S \subset U) => //=.
  by apply/idP/orP => [|[h|]] //; [right | apply: subset_trans h (subsetUr _ _)].
rewrite [v |: S \subset U]subUset sub1set (negbTE vU) /= orbF -subDset.
by have /setDidPl-> : [disjoint U & [set v]] by rewrite disjoint_sym disjoints1.
Qed.

Lemma sent_without (past B : {set {set V}}) Q : (forall U, U \in B -> ~~ (U \subset Q)) ->
  sent (past :|: B) Q = sent past Q.
Proof.
move=> none; rewrite /sent; congr (_ - _); apply: eq_bigl => U; rewrite inE.
by case UB: (U \in B); rewrite ?orbF // (negbTE (none U UB)) !andbF.
Qed.

Lemma sent_next (past : {set {set V}}) S Q : S \notin past -> S \subset Q ->
  sent (past :|: [set S]) Q = sent past Q - \prod_(t in Q :\: S) - W w t S * DagSums.below w S.
Proof.
move=> Sp SQ; rewrite /sent -addrA -opprD; congr (_ - _).
rewrite (bigD1 S) /= ?inE ?eqxx ?orbT // addrC; congr (_ + _); apply: eq_bigl => U; rewrite !inE.
by have [->|US] := eqVneq U S; rewrite ?(negbTE Sp) ?andbF // orbF andbT.
Qed.

Lemma below_ok vs zs xs ws rest (past : {set {set V}}) S : walk setT zs vs S ->
  (forall U Q, U \proper Q -> Q \in cube vs S -> U \in past :|: cube vs S) ->
  [disjoint past & cube vs S] ->
  table (values (sent past) vs) zs xs S -> carried vs ws zs S -> carried vs rest vs S ->
  let r := below zero minus times (size vs) xs ws rest in
  values (DagSums.below w) vs r.1 S /\ table (values (sent (past :|: cube vs S)) vs) zs r.2 S.
Proof.
elim: vs zs xs ws rest past S => [|v vs IH] zs xs ws rest past S wk early new tx tw tr.
  have [un out] := walk_end wk; have e : S :|: [set z in [::]] = S.
    by apply/setP => z; rewrite !inE orbF.
  have cS : cube [::] S = [set S] by apply/setP => U; rewrite !inE e eqEsubset andbC.
  have Sd : S \notin past by move: new; rewrite cS disjoint_sym disjoints1.
  have vS : sent past S = DagSums.below w S.
    apply: below_value => // U US; have := early U S US; rewrite cS set11 !inE =>
      /(_ isT)/orP[//|/eqP US'].
    by rewrite US' properxx in US.
  have Rx : R (least (least xs)) (DagSums.below w S).
    by rewrite -vS; apply: table_least (table_least tx).
  split=> //; rewrite cS.
  have hs : values (fun Q => \prod_(t in Q :\: S) - W w t S * DagSums.below w S) zs
      (spread zero minus times (least (least xs)) (every least ws)) S.
    apply: spread_ok Rx (carried_least tw) un _ => z zzs.
    by have := wk.2 z; rewrite cats0 zzs in_setT => /esym.
  have hx : values (sent past) zs (each least xs) S.
    by apply: table_map tx _ => t Q; apply: table_least.
  apply: (table_map (P := fun x Q => R x (sent (past :|: [set S]) Q))); last by [].
  rewrite -{2}(set0U S); apply: (table_zip (D := set0) (P' := fun x Q => S \subset Q /\
    R x (\prod_(t in Q :\: S) - W w t S * DagSums.below w S)) hx) => [|x y Q Rq].
    by rewrite set0U; apply: table_weaken hs _.
  by rewrite !set0U => -[SQ Ry]; rewrite sent_next //; apply: R_minus.
case: rest tr => //= x rest [tx0 tr].
have [/= vout zs_out] := walk_off wk.
have vS : v \notin S.
  by have := zs_out v; rewrite !inE eqxx => /esym.
have v_vs : v \notin vs by move: vout; rewrite mem_cat negb_or => /andP[/andP[]].
have v_zs : v \notin zs by move: vout; rewrite mem_cat negb_or => /andP[/andP[]].
have in0 U : U \in cube vs S -> v \notin U.
  by rewrite inE => /andP[_ /subsetP US]; apply: contra vS => /US; rewrite !inE (negbTE v_vs) orbF.
have in1 U : U \in cube vs (v |: S) -> v \in U.
  by rewrite inE => /andP[/subsetP SU _]; apply: SU; rewrite setU11.
have := IH (v :: zs) (Node (each off xs) (each on xs)) (off x :: every off ws) (every off rest)
  past S.
case: (below _ _ _ _ _ _ _) => a sent0 /= IH0.
have {IH0} [ha h0] : values (DagSums.below w) vs a S /\
    table (values (sent (past :|: cube vs S)) vs) (v :: zs) sent0 S.
  apply: IH0; first exact: walk_off wk.
  - move=> U Q UQ QS; have := early U Q UQ; rewrite cube_cons setUA inE QS => /(_ isT).
    rewrite inE => /orP[//|/in1 vU]; have := in0 Q QS.
    by rewrite (subsetP (proper_sub UQ)).
  - by apply: disjointWr new; rewrite cube_cons subsetUl.
  - split; first by apply: tables_off tx => t Q; apply: table_off.
    by apply: tables_on tx => t Q; apply: table_on.
  - by split; [apply: table_off tx0 | apply: carried_off tw].
  - exact: carried_off tr.
have := IH zs (on sent0) (every on ws) (every on rest) (past :|: cube vs S) (v |: S).
case: (below _ _ _ _ _ _ _) => b sent1 /= IH1.
have {IH1} [hb h1] : values (DagSums.below w) vs b (v |: S) /\
    table (values (sent (past :|: cube vs S :|: cube vs (v |: S))) vs) zs sent1 (v |: S).
  apply: IH1; first exact: walk_on wk.
  - by move=> U Q UQ QS; have := early U Q UQ; rewrite cube_cons setUA => -> //;
    rewrite inE QS orbT.
  - rewrite -setI_eq0 setIUl setU_eq0 !setI_eq0; apply/andP; split.
      by apply: disjointWr new; rewrite cube_cons subsetUr.
    by apply/pred0P => U /=; apply/negP => /andP[/in0/negP + /in1].
  - exact: table_on h0.
  - exact: carried_on tw.
  - exact: carried_on tr.
split=> //; rewrite cube_cons setUA -[X in table _ _ _ X](set0U S).
have {}h0 : table (fun t Q => v \notin Q /\ values (sent (past :|: cube vs S)) vs t Q) zs (off
  sent0) S.
  apply: table_weaken (table_off h0) _ => t Q _ QS tQ; split=> //; apply: contra vS =>
    /(subsetP QS).
  by rewrite !inE (negbTE v_zs) orbF.
apply: (table_zip h0 h1) => s t Q [vQ sQ] tQ; rewrite set0U; split=> //.
apply: values_eq sQ _ => Q' _ QQ; apply/esym/sent_without => U /in1 vU.
apply: contra vQ => /subsetP/(_ v vU)/(subsetP QQ).
by rewrite !inE (negbTE v_vs) orbF.
Qed.

(* One node's level taken away, and sums over tables. *)
Lemma cut_off A (P : A -> {set V} -> Prop) l v l' t S :
  table P (l ++ v :: l') t S -> table P (l ++ l') (cut off (size l) t) S.
Proof.
elim: l t S => [|x l IH] [y|a b] S //=; first by case.
by case=> ta tb; split; apply: IH.
Qed.
Lemma cut_on A (P : A -> {set V} -> Prop) l v l' t S :
  table P (l ++ v :: l') t S -> table (fun x Q => P x (v |: Q)) (l ++ l') (cut on (size l) t) S.
Proof.
elim: l t S => [|x l IH] [y|a b] S //=; last by case=> ta tb; split; apply: IH.
case=> _; elim: l' b S {a} => [|z l IH] [y|a b] S //= [ta tb]; split; first exact: IH.
by apply: IH; rewrite setUCA.
Qed.

Lemma values_zip (op : N -> N -> N) (h : K -> K -> K) f g vs s t S :
  (forall x y a b, R x a -> R y b -> R (op x y) (h a b)) ->
  values f vs s S -> values g vs t S -> values (fun Q => h (f Q) (g Q)) vs (zip op s t) S.
Proof.
move=> R_op fs gt; rewrite /values -(set0U S).
apply: (table_zip (D := set0) fs (P' := fun x Q => R x (g Q))) => [|x y Q fx]; rewrite ?set0U //.
exact: R_op.
Qed.

Lemma total_ok f vs t S : uniq vs -> (forall v, v \in vs -> v \notin S) -> values f vs t S ->
  R (total plus t) (\sum_(Q in cube vs S) f Q).
Proof.
elim: vs t S => [|v vs IH] [x|a b] S //=.
  move=> _ _; rewrite (big_pred1 S) // => U; rewrite !inE eqEsubset andbC; congr (_ && _).
  by have -> : S :|: [set z in [::]] = S by apply/setP => z; rewrite !inE orbF.
move=> /andP[v_vs uvs] out [ta tb]; have vS := out v (mem_head _ _).
rewrite (bigID (fun Q : {set V} => v \notin Q)) /=; apply: R_plus.
  rewrite (eq_bigl (fun Q => Q \in cube vs S)); last first.
    move=> Q; rewrite cube_cons inE; case QS : (Q \in cube vs S) => /=.
      move: QS; rewrite inE => /andP[_ /subsetP QS]; apply: contra vS => /QS.
      by rewrite !inE (negbTE v_vs) orbF.
    apply/negP => /andP[]; rewrite inE => /andP[/subsetP SQ _]; apply/negP; rewrite negbK.
    by apply: SQ; rewrite setU11.
  by apply: IH => // z zvs; apply: out; rewrite inE zvs orbT.
rewrite (eq_bigl (fun Q => Q \in cube vs (v |: S))); last first.
  move=> Q; rewrite cube_cons inE negbK orbC; case Q1 : (Q \in cube vs (v |: S)) => /=.
    by move: Q1; rewrite inE => /andP[/subsetP SQ _]; apply: SQ; rewrite setU11.
  apply/negP => /andP[]; rewrite inE => /andP[_ /subsetP QS] /QS.
  by rewrite !inE (negbTE v_vs) (negbTE vS).
apply: IH => // z zvs; rewrite !inE negb_or out ?inE ?zvs ?orbT // andbT.
by apply: contraNneq v_vs => <-.
Qed.

Lemma matched_without A (P : A -> V -> Prop) ts l v l' :
  matched P ts (l ++ v :: l') -> matched P (without (size l) ts) (l ++ l').
Proof. by elim: l ts => [|x l IH] [|t ts] //= [Pt]; [|move/IH; split]. Qed.

Lemma matched_numbered A B (P : A -> V -> Prop) (P' : B -> V -> Prop) g ts l l' :
  matched P ts l' ->
  (forall m v m' t, l ++ l' = m ++ v :: m' -> P t v -> P' (g (size m) t) v) ->
  matched P' (numbered g (size l) ts) l'.
Proof.
elim: l' l ts => [|v l' IH] l [|t ts] //= [Pt Pts] step; split; first exact: step Pt.
by have := IH (rcons l v) ts Pts; rewrite size_rcons; apply=> m x m' y; rewrite cat_rcons;
  apply: step.
Qed.

Lemma matched_seq A (P : A -> V -> Prop) (g : nat -> A) l l' :
  (forall m u m', l ++ l' = m ++ u :: m' -> P (g (size m)) u) ->
  matched P (every g (numbers (size l) (size l'))) l'.
Proof.
elim: l' l => [|u l' IH] l //= step; split; first exact: step.
by have := IH (rcons l u); rewrite size_rcons; apply=> m x m'; rewrite cat_rcons; apply: step.
Qed.

Definition edge_and_path v (p : N * N) u :=
  R p.1 (\sum_(f | is_dag f && (u \in f v)) \prod_x w x (f x)) /\
  R p.2 (\sum_(f | is_dag f && connect (arc f) v u) \prod_x w x (f x)).

Lemma matched_insert A (P : A -> V -> Prop) l v l' row x :
  matched P row (l ++ l') -> P x v -> matched P (insert (size l) x row) (l ++ v :: l').
Proof. by elim: l row => [|z l IH] [|y row] //= [Py Prow] Px; split=> //; apply: IH. Qed.

Lemma around_ok l v l' ts a h t : uniq (l ++ v :: l') -> (forall z, z \in l ++ v :: l') ->
  carried (l ++ v :: l') ts (l ++ v :: l') set0 ->
  values (DagSums.below w) (l ++ v :: l') a set0 -> values (DagSums.above w) (l ++ v :: l') h set0
    ->
  values (W w v) (l ++ v :: l') t set0 ->
  matched (edge_and_path v) (around zero plus minus times (size (l ++ l')) ts a h (size l) t)
    (l ++ v :: l').
Proof.
move=> un all tw ta th tt; rewrite /around.
have p : perm_eq (l ++ v :: l') (v :: l ++ l') by rewrite -cat1s perm_catCA.
have /= /andP[v_l ul] : uniq (v :: l ++ l') by rewrite -(perm_uniq p).
have in_l z : (z \in l ++ l') = (z != v).
  by have := all z; rewrite (perm_mem p) inE; case: eqP => [->|//]; rewrite (negbTE v_l).
have twc : carried (l ++ l') (every (cut off (size l)) (without (size l) ts)) (l ++ l') set0.
  by apply: matched_map (matched_without tw) _ => x z _; apply: cut_off.
have wk : walk (~: [set v]) [::] (l ++ l') set0.
  by split=> // z; rewrite in_l !inE andbT.
have := @alternate_ok _ (fun Q => DagSums.above w (v |: Q)) (l ++ l') [::]
  (Leaf (cut on (size l) h)) [::] _ set0 wk (cut_on th) I twc.
set d := zip _ _ _; set s := alternate _ _ _ _ _ _ _ => ts_.
have td : values (derivative w v) (l ++ l') d set0.
  apply: values_eq (values_zip R_times (cut_off ta) ts_) _ => Q _ QS.
  have vQ : v \notin Q by apply: contra v_l => /(subsetP QS); rewrite !inE.
  rewrite derivative_after // after_sum setU1K //; congr (_ * _).
  apply: eq_big => [T|T _]; first by rewrite setCU setDE.
  by rewrite setUA.
have tc := cut_off tt; set w' := cut off _ _ in tc *.
apply: matched_insert; last first.
  split=> /=; last first.
    rewrite (eq_bigl (@is_dag V)) => [|f]; last by rewrite connect0 andbT.
    by rewrite -above_all; apply: table_least th.
  rewrite big_pred0 // => f; apply/negP => /andP[/forallP/(_ v)/forall_inP acyc /acyc].
  by rewrite connect0.
apply: (@matched_seq _ _ _ [::]) => m u m' /= E; rewrite E in td tc in_l ul.
have q : perm_eq (m ++ u :: m') (u :: m ++ m') by rewrite -cat1s perm_catCA.
have /= /andP[u_m um] : uniq (u :: m ++ m') by rewrite -(perm_uniq q).
have in_m z : (z \in m ++ m') = (z != v) && (z != u).
  by rewrite -in_l (perm_mem q) inE; case: eqP => [->|_]; rewrite ?(negbTE u_m) // andbT.
have uv : u != v by rewrite -in_l (perm_mem q) mem_head.
have in_cube Q : (Q \in cube (m ++ m') set0) = (v \notin Q) && (u \notin Q).
  rewrite inE sub0set set0U; apply/subsetP/andP => [Qm|[vQ uQ] z zQ].
    by split; apply/negP => /Qm; rewrite inE in_m eqxx ?andbF.
  rewrite inE in_m; apply/andP; split; first by apply: contraNneq vQ => <-.
  by apply: contraNneq uQ => <-.
have none z : z \in m ++ m' -> z \notin (set0 : {set V}) by rewrite inE.
split=> /=; last first.
  rewrite paths_by_derivative; rewrite (eq_bigl (fun Q => Q \in cube (m ++ m') set0)); last first.
    by move=> Q; rewrite in_cube.
  by apply: (total_ok um none); apply: (values_zip R_times (cut_off td) (cut_off tc)).
have := total_ok um none (values_zip R_times (cut_on td) (values_zip R_minus (cut_on tc) (cut_off
  tc))).
congr (R _ _); rewrite edges [RHS](bigID (fun U : {set V} => u \in U)) /= [X in _ + X]big1 ?addr0.
  rewrite [RHS](reindex_onto (fun Q => u |: Q) (fun U => U :\ u)) /= => [|U /andP[_ uU]];
    last by rewrite setD1K.
  apply: eq_big => [Q|Q]; last by rewrite in_cube => /andP[_ uQ]; rewrite setU1K.
  rewrite in_cube !inE eqxx eq_sym (negbTE uv) /= andbT; congr (_ && _).
  by apply/idP/eqP => [uQ|<-]; [rewrite setU1K | rewrite setD11].
move=> U /andP[_ uU]; have /setDidPl-> : [disjoint U & [set u]] by rewrite disjoint_sym disjoints1.
by rewrite subrr mulr0.
Qed.

Theorem sums_ok (ts : seq (tree N)) : matched (fun t z =>
  values (w z) (enum V) t set0) ts (enum V) ->
  R (sums zero one plus minus times ts).1 (\sum_(f | is_dag f) \prod_x w x (f x)) /\
  matched (fun row v => matched (edge_and_path v) row (enum V))
    (sums zero one plus minus times ts).2 (enum V).
Proof.
move=> tts; have none z : z \in enum V -> z \notin (set0 : {set V}) by rewrite inE.
have size_ts := matched_size tts.
rewrite /sums; set ws := every _ _; have tw : carried (enum V) ws (enum V) set0.
  apply: matched_map tts _ => t z _ tz.
  apply: values_eq (values_subsets (enum_uniq V) none tz) _ => Q _ _.
  by apply: eq_bigl => P; rewrite sub0set.
have wk : walk setT [::] (enum V) set0.
  by split=> [|z]; rewrite ?enum_uniq // mem_enum !inE.
have constant_ok vs S : values (fun=> 0) vs (constant (size vs) zero) S.
  by elim: vs S => [|z vs IH] S //=; split; apply: IH.
have -> : length ts = size (enum V) := size_ts.
set a := (below _ _ _ _ _ _ _).1; set h := above _ _ _ _ _ _ _ _.
have ha : values (DagSums.below w) (enum V) a set0.
  have allV : cube (enum V) set0 = setT.
    by apply/setP => U; rewrite !inE sub0set set0U; apply/subsetP => z _; rewrite inE mem_enum.
  apply: (proj1 (@below_ok _ [::] (Leaf (put one (constant (size (enum V)) zero))) [::] ws set0
    set0 wk _ _ _ I tw)).
  - by move=> U Q _ _; rewrite allV !inE orbT.
  - by rewrite -setI_eq0 set0I.
  apply: table_put => [||z zz]; last exact: none zz.
    apply: table_weaken (constant_ok (enum V) set0) _ => x Q _ _ Rx Q0.
    by rewrite /sent (negbTE (introN eqP Q0)) big_pred0 ?subr0 // => U; rewrite inE.
  by rewrite /sent eqxx big_pred0 ?subr0 // => U; rewrite inE.
have hh : values (DagSums.above w) (enum V) h set0.
  exact: (above_ok wk).
split; first by rewrite -above_all; apply: table_least hh.
apply: (@matched_numbered _ _ _ _ _ _ [::]); first exact: tw.
move=> l v l' t /= E tv; have un := enum_uniq V; rewrite E in un tv tw ha hh *.
rewrite size_cat /= addnS /= -size_cat.
by apply: around_ok => // z; rewrite -E mem_enum.
Qed.
End Sums.

(* What a claim says, if it is right, with the integers of MathComp.  A graph is a choice of
  parents for
   each of n nodes, and the weight of P as parents of v is that at the place of P in the row of v. *)
Section Right.
Variable c : claim.
Let n := size (weights c).
Definition place (P : {set 'I_n}) : nat := foldl (fun k u => k.*2 + (u \in P))%N 0%N (enum 'I_n).
Definition weight (v : 'I_n) (P : {set 'I_n}) : int :=
  int_of (nth Z0 (nth [::] (weights c) v) (place P)).
Definition marginal (u v : 'I_n) := nth (Z0, Z0) (nth [::] (marginals c) v) u.

Record right : Prop := Right {
  rows_right : forall v : 'I_n, size (nth [::] (weights c) v) = (2 ^ n)%N;
  whole_right : int_of (whole c) = \sum_(f | is_dag f) \prod_v weight v (f v);
  edges_right : forall u v : 'I_n, int_of (marginal u v).1 =
    \sum_(f | is_dag f && (u \in f v)) \prod_x weight x (f x);
  paths_right : forall u v : 'I_n, int_of (marginal u v).2 =
    \sum_(f | is_dag f && connect (arc f) v u) \prod_x weight x (f x)
}.
End Right.

Section Grow.
Variable V : finType.
Fixpoint code (vs : seq V) (Q : {set V}) : nat :=
  if vs is v :: vs then ((v \in Q) * 2 ^ size vs + code vs Q)%N else 0%N.

Lemma code_foldl vs (Q : {set V}) k :
  foldl (fun k u => k.*2 + (u \in Q))%N k vs = (k * 2 ^ size vs + code vs Q)%N.
Proof.
elim: vs k => [|v vs IH] k /=; first by rewrite muln1 addn0.
by rewrite IH mulnDl -muln2 -mulnA -expnS addnA.
Qed.

Lemma grow_ok vs l t r (S : {set V}) : uniq vs -> (forall v, v \in vs -> v \notin S) ->
  grow (size vs) l = Some (t, r) ->
  r = drop (2 ^ size vs) l /\ (2 ^ size vs <= size l)%N /\
  table (fun x Q => x = nth Z0 l (code vs Q)) vs t S.
Proof.
elim: vs l t r S => [|v vs IH] l t r S /=.
  by case: l => //= x l _ _ [<- <-]; rewrite drop0.
move=> /andP[v_vs uvs] out.
case E1: (grow _ l) => [[a l1]|] //; case E2: (grow _ l1) => [[b l2]|] // [<- <-].
have vS := out v (mem_head _ _).
have out0 z : z \in vs -> z \notin S by move=> zvs; apply: out; rewrite inE zvs orbT.
have out1 z : z \in vs -> z \notin v |: S.
  by move=> zvs; rewrite !inE negb_or out0 // andbT; apply: contraNneq v_vs => <-.
have [l1E [s1 ta]] := IH _ _ _ _ uvs out0 E1; have [-> [s2 tb]] := IH _ _ _ _ uvs out1 E2.
move: s2 tb; rewrite l1E size_drop => s2 tb; split; first by rewrite drop_drop addnn expnS mul2n.
split; first by rewrite expnS mul2n -addnn -leq_subRL.
split; [apply: table_weaken ta _ | apply: table_weaken tb _] => x Q SQ QS ->.
  have -> : (v \in Q) = false.
    by apply: contraNF vS => /(subsetP QS); rewrite !inE (negbTE v_vs) orbF.
  by rewrite mul0n add0n.
by rewrite (subsetP SQ) ?setU11 // mul1n nth_drop.
Qed.
End Grow.

Lemma sameP A B (equal : A -> B -> bool) l k x0 y0 : same equal l k ->
  size l = size k /\ forall i, (i < size l)%N -> equal (nth x0 l i) (nth y0 k i).
Proof.
elim: l k => [|x l IH] [|y k] //=; case E: (equal x y) => // /IH[-> all].
by split=> // -[|i] //; apply: all.
Qed.

Lemma matched_nth A (V : finType) (P : A -> V -> Prop) l zs x0 z0 i : matched P l zs ->
  (i < size zs)%N -> P (nth x0 l i) (nth z0 zs i).
Proof. by elim: l zs i => [|x l IH] [|z zs] [|i] //= [Px Pl] //; apply: IH. Qed.

Lemma matched_all A (V : finType) (P : A -> V -> Prop) l zs x0 : size l = size zs ->
  (forall i z, (i < size zs)%N -> nth z zs i = z -> P (nth x0 l i) z) -> matched P l zs.
Proof.
elim: zs l => [|z zs IH] [|x l] //= [sz] all; split; first exact: (all 0%N z).
by apply: IH => // i y; apply: (all i.+1).
Qed.

Lemma trees_ok k rows ts : trees k rows = Some ts -> size ts = size rows /\
  forall i, (i < size rows)%N -> grow k (nth [::] rows i) = Some (nth (Leaf Z0) ts i, [::]).
Proof.
elim: rows ts => [|row rows IH] ts /=; first by case=> <-.
case E: (grow _ _) => [[t [|]]|] //; case: (trees _ _) IH => // us /(_ _ erefl)[sz all] [<-].
by split=> [|[|i]] //=; rewrite ?sz // => /all.
Qed.

Lemma check_ok c : check c -> right c /\ size (marginals c) = size (weights c) /\
  forall v : 'I_(size (weights c)), size (nth [::] (marginals c) v) = size (weights c).
Proof.
rewrite /check; case E: (trees _ _) => [ts|] //; set n := length (weights c).
have n_size : n = size (weights c) by [].
pose R (x : BinNums.Z) (k : int) := int_of x = k.
have R_minus x y a b : R x a -> R y b -> R (Z.sub x y) (a - b).
  by rewrite /R -Z.add_opp_r int_ofD int_of_opp => -> ->.
have R_plus x y a b : R x a -> R y b -> R (Z.add x y) (a + b) by rewrite /R int_ofD => -> ->.
have R_times x y a b : R x a -> R y b -> R (Z.mul x y) (a * b) by rewrite /R int_ofM => -> ->.
have {E} tts : matched (fun t z => table (fun x Q =>
  R x (weight z Q)) (enum 'I_n) t set0) ts (enum 'I_n) /\
    forall v : 'I_n, size (nth [::] (weights c) v) = (2 ^ n)%N.
  have [sz all] := trees_ok E; have row (v : 'I_n) := all v (ltn_ord v).
  have n_e : n = size (enum 'I_n) by rewrite size_enum_ord.
  have none z : z \in enum 'I_n -> z \notin (set0 : {set 'I_n}) by rewrite inE.
  split=> [|v]; last first.
    have := row v; rewrite [X in grow X _]n_e => /(grow_ok (enum_uniq _) none)[+ [+ _]].
    rewrite -n_e => /esym/(congr1 size)/eqP; rewrite size_drop subn_eq0 => le ge.
    by apply/eqP; rewrite eqn_leq le ge.
  apply: (@matched_all _ (finite 'I_n) _ _ _ (Leaf Z0)) => [|i z]; first by rewrite sz -n_e.
  rewrite -n_e => i_n z_i; have {z_i} -> : i = z by rewrite -(nth_enum_ord z i_n) z_i.
  have := row z; rewrite [X in grow X _]n_e => /(grow_ok (enum_uniq _) none)[_ [_]].
  by move=> tz; apply: table_weaken tz _ => x Q _ _ ->; rewrite /R /weight /place code_foldl.
have [tw rows] := tts.
have := @sums_ok (finite 'I_n) _ (@weight c) _ Z0 (Zpos xH) Z.add Z.sub Z.mul R erefl erefl
  R_plus R_minus R_times ts tw.
case: (sums _ _ _ _ _ ts) => z ms /= [hz hm]; case: Z.eqb_spec => // zE ok.
have [size_m all] := sameP [::] [::] ok; have ms_n := matched_size hm.
have one (u v : 'I_n) : edge_and_path (@weight c) R v (@marginal c u v) u.
  have v_n : (v < size (enum 'I_n))%N by rewrite size_enum_ord.
  have u_n : (u < size (enum 'I_n))%N by rewrite size_enum_ord.
  have hv := matched_nth [::] v hm v_n; rewrite nth_ord_enum in hv.
  have hu := matched_nth (Z0, Z0) u hv u_n; rewrite nth_ord_enum in hu.
  have ok_v := all v; rewrite ms_n in ok_v.
  have [size_r all_r] := sameP (Z0, Z0) (Z0, Z0) (ok_v v_n).
  have := all_r u; rewrite (matched_size hv) => /(_ u_n); rewrite /same_pair /marginal.
  by case: Z.eqb_spec => // E1; case: Z.eqb_spec => // E2 _; move: hu;
    rewrite /edge_and_path -E1 -E2.
split; last split=> [|v].
- split=> [//||u v|u v]; first by rewrite -zE.
    by have [] := one u v.
  by have [] := one u v.
- by rewrite -size_m ms_n size_enum_ord.
have v_n : (v < size (enum 'I_n))%N by rewrite size_enum_ord.
have ok_v := all v; rewrite ms_n in ok_v; have [<- _] := sameP (Z0, Z0) (Z0, Z0) (ok_v v_n).
by have := matched_nth [::] v hm v_n => /matched_size ->; rewrite size_enum_ord.
Qed.

Theorem check_sound c : check c -> right c.
Proof. by case/check_ok. Qed.

(* What it says of floats, if it is right, as fractions of MathComp: each probability is within its
   bound of the float. *)
Section Enclosed.
Variables (c : claim) (r : reported).
Let n := size (weights c).
Definition over (a b : Z) : rat := (int_of a)%:~R / (int_of b)%:~R.
Definition float (u v : 'I_n) := nth (Z0, Z0) (nth [::] (floats r) v) u.
Definition mass (p : pred {ffun 'I_n -> {set 'I_n}}) : rat :=
  (\sum_(f | is_dag f && p f) \prod_v weight v (f v))%:~R.

Record enclosed : Prop := Enclosed {
  mass_positive : 0 < mass xpredT;
  edges_enclosed : forall u v : 'I_n,
    `|over (float u v).1 (denominator r) - mass (fun f => u \in f v) / mass xpredT| <=
      over (edge_error r) (denominator r);
  paths_enclosed : forall u v : 'I_n,
    `|over (float u v).2 (denominator r) - mass (fun f => connect (arc f) v u) / mass xpredT| <=
      over (path_error r) (denominator r)
}.
End Enclosed.

Lemma int_of_ge0 a : Z.le Z0 a -> 0 <= int_of a.
Proof. by case: a => //= p []. Qed.
Lemma int_of_le a b : Z.le a b -> int_of a <= int_of b.
Proof.
by move=> /Z.le_0_sub/int_of_ge0; rewrite -Z.add_opp_r int_ofD int_of_opp subr_ge0.
Qed.
Lemma int_of_gt0 a : Z.lt Z0 a -> 0 < int_of a.
Proof. by case: a => // p _; rewrite /int_of ltz_nat; apply/ssrnat.ltP; apply: Pos2Nat.is_pos. Qed.
Lemma int_of_abs a : int_of (Z.abs a) = `|int_of a|.
Proof. by case: a => [|p|p] //=; rewrite ?normrN ger0_norm. Qed.

Lemma near_ok z u e x p : Z.lt Z0 z -> Z.lt Z0 u -> near z u e x p ->
  `|over p u - over x z| <= over e u.
Proof.
move=> /int_of_gt0 z0 /int_of_gt0 u0 /Z.leb_le/int_of_le.
rewrite int_of_abs -Z.add_opp_r int_ofD int_of_opp !int_ofM /over.
have -> (m k : int) : (m <= k) = (m%:~R <= k%:~R :> rat) by rewrite ler_int.
have {z0} z0 : 0 < (int_of z)%:~R :> rat by rewrite ltr0z.
have {u0} u0 : 0 < (int_of u)%:~R :> rat by rewrite ltr0z.
rewrite intr_norm rmorphD rmorphN !rmorphM /= => le.
rewrite -mulNr addf_div ?lt0r_neq0 // mulNr normrM normfV (gtr0_norm (mulr_gt0 u0 z0)).
by rewrite ler_pdivr_mulr ?mulr_gt0 // mulrA divfK ?lt0r_neq0.
Qed.

Theorem check_reported_sound c r : check_reported c r -> right c /\ enclosed c r.
Proof.
rewrite /check_reported; case: Z.ltb_spec => // z0; case: Z.ltb_spec => // u0.
case E: (check c) => // ok; have [R [size_m size_r]] := check_ok E; split=> //.
have all_mass : @mass c xpredT = (int_of (whole c))%:~R.
  by rewrite /mass (whole_right R); congr (_%:~R); apply: eq_bigl => f; rewrite andbT.
have [sz all] := sameP [::] [::] ok.
have one (u v : 'I_(size (weights c))) : near_pair (whole c) r (marginal u v) (@float c r u v).
  have ok_v := all v; rewrite size_m ltn_ord in ok_v.
  have [_ all_r] := sameP (Z0, Z0) (Z0, Z0) (ok_v isT).
  by have := all_r u; rewrite size_r ltn_ord => /(_ isT).
split; first by rewrite all_mass ltr0z int_of_gt0.
  move=> u v; have := one u v; rewrite /near_pair; case E1: (near _ _ _ _ _) => // _.
  by have := near_ok z0 u0 E1; rewrite all_mass /mass -(edges_right R).
move=> u v; have := one u v; rewrite /near_pair; case: (near _ _ _ _ _) => // E2.
by have := near_ok z0 u0 E2; rewrite all_mass /mass -(paths_right R).
Qed.
