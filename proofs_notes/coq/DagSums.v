(* Sums over all directed acyclic graphs of products of local weights (dag-sums), and over those
  with
   an edge or a path (dag-marginals), on any finite set of nodes, with weights in any commutative
     ring. *)
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Choices.
Variable V : finType.

(* A graph is a choice of parents for each node.                                                  *)
Definition parents := {ffun V -> {set V}}.
Implicit Types (f g : parents) (S U : {set V}).
Definition arc f : rel V := fun u v => u \in f v.
Definition is_dag f := [forall v, forall u in f v, ~~ connect (arc f) v u].

Lemma is_dagP f : reflect (forall u p, path (arc f) u p -> last u p = u -> p = [::]) (is_dag f).
Proof.
apply: (iffP forallP) => [acyc u p|acyc v].
  case: (lastP p) => // q x; rewrite rcons_path last_rcons => /andP[uq qx] xu; move: qx.
  rewrite xu => qu; have /forall_inP/(_ _ qu)/negP[] := acyc u.
  by apply/connectP; exists q.
apply/forall_inP => u uv; apply/connectP => -[p vp up].
by have := acyc v (rcons p v); rewrite rcons_path vp last_rcons -up => /(_ uv erefl);
  case: p {vp up}.
Qed.

(* In each set of nodes one has no parent in the set, and one no child. *)
Lemma first_member f S : is_dag f -> S != set0 -> exists2 v, v \in S & f v \subset ~: S.
Proof.
move/is_dagP => acyc /set0Pn[v]; elim/(@topological_ind (Dag acyc)): v => v IH vS.
have [sub|/subsetPn[u uv]] := boolP (f v \subset ~: S); first by exists v.
by rewrite inE negbK; apply: (IH u uv).
Qed.

Lemma last_member f S : is_dag f -> S != set0 -> exists2 v, v \in S & [forall u in S, v \notin f u].
Proof.
move/is_dagP => acyc /set0Pn[v]; elim/(@reverse_topological_ind (Dag acyc)): v => v IH vS.
have [sub|/forall_inPn[u uS]] := boolP [forall u in S, v \notin f u]; first by exists v.
by rewrite negbK => /IH/(_ uS).
Qed.

Lemma is_dag_first f :
  (forall S, S != set0 -> exists2 v, v \in S & f v \subset ~: S) -> is_dag f.
Proof.
move=> first; apply/forallP => v; apply/forall_inP => u uv; apply/negP => vu.
pose S := [set x | connect (arc f) v x && connect (arc f) x v].
have vS : v \in S by rewrite inE connect0.
have [|x] := first S; first by apply/set0Pn; exists v.
rewrite inE => /andP[/connectP[p vp xp] xv] /subsetP sub.
have inS y : arc f y x -> connect (arc f) v y -> False.
  move=> yx vy; have := sub y yx; rewrite !inE vy /= => /negP[].
  exact: connect_trans (connect1 yx) xv.
case: (lastP p) vp xp => [_ xv'|q y]; first by apply: (inS u); rewrite // xv'.
rewrite rcons_path last_rcons => /andP[vq qy] xy; apply: (inS (last v q)); first by rewrite xy.
by apply/connectP; exists q.
Qed.

(* f with no parents for the nodes of S. *)
Definition without S f : parents := [ffun v => if v \in S then set0 else f v].

Lemma without_dag S f : is_dag f -> is_dag (without S f).
Proof.
move=> acyc; apply: is_dag_first => X /(first_member acyc)[v vX sub]; exists v => //.
by rewrite ffunE; case: ifP; rewrite ?sub0set.
Qed.
End Choices.


(* Inclusion and exclusion. *)
Section Sieve.
Variables (R : ringType) (V I : finType).

Lemma sum_signs (K : {set V}) : \sum_(S : {set V} | S \subset K) (-1) ^+ #|S| = (K == set0)%:R :> R.
Proof.
have [->|/set0Pn[v vK]] := eqVneq K set0.
  rewrite (big_pred1 set0); first by rewrite cards0.
  by move=> S; rewrite subset0.
rewrite (bigID (fun S : {set V} => v \in S)) /=.
rewrite (reindex_onto (fun S : {set V} => v |: S) (fun S : {set V} => S :\ v)) /=; last first.
  by move=> S /andP[_ vS]; rewrite setD1K.
rewrite (eq_bigl (fun S : {set V} => (S \subset K) && (v \notin S))); last first.
  move=> S; rewrite subUset sub1set vK setU11 andbT /=.
  by congr (_ && _); apply/eqP/idP => [<-|vS]; rewrite ?setD11 // setU1K.
rewrite -big_split big1 //= => S /andP[_ vS].
by rewrite cardsU1 vS exprS mulN1r addNr.
Qed.

(* The sum over those i for which K i is empty, if K i is always a part of B. *)
Lemma sieve (C : pred I) (K : I -> {set V}) (B : {set V}) (F : I -> R) :
  (forall i, C i -> K i \subset B) ->
  \sum_(i | C i && (K i == set0)) F i =
  \sum_(S : {set V} | S \subset B) (-1) ^+ #|S| * \sum_(i | C i && (S \subset K i)) F i.
Proof.
move=> sub; rewrite big_mkcondr /=.
rewrite (eq_bigr (fun i => \sum_(S : {set V} | S \subset K i) (-1) ^+ #|S| * F i)); last first.
  by move=> i _; rewrite -mulr_suml sum_signs; case: eqP; rewrite ?mul1r ?mul0r.
rewrite (exchange_big_dep (fun S : {set V} => S \subset B)) /=; last first.
  by move=> i S /sub KB SK; apply: subset_trans KB.
by apply: eq_bigr => S _; rewrite mulr_sumr.
Qed.
End Sieve.

Section Sums.
Variables (V : finType) (R : comRingType) (w : V -> {set V} -> R).
Implicit Types (f g : parents V) (S T U L X : {set V}) (u v : V).

Definition W v U : R := \sum_(P : {set V} | P \subset U) w v P.

(* Rows of T are any sets in Q, the others are those of g. *)
Lemma split_rows (C D : pred (parents V)) X T (Q : pred {set V}) :
  (forall f, C f = D (without T f) && [forall v in T, Q (f v)]) ->
  (forall g, D g -> [forall v in T, g v == set0]) -> T \subset X ->
  \sum_(f | C f) \prod_(v in X) w v (f v) =
  (\prod_(v in T) \sum_(P | Q P) w v P) * \sum_(g | D g) \prod_(v in X :\: T) w v (g v).
Proof.
move=> CD D0 TX; rewrite (partition_big (without T) D) /=; last by move=> f; rewrite CD => /andP[].
rewrite mulr_sumr; apply: eq_bigr => g Dg.
pose row v := [pred P : {set V} | if v \in T then Q P else P == g v].
transitivity (\sum_(f in family row) \prod_v if v \in X then w v (f v) else 1).
  apply: eq_big => [f|f _]; last by rewrite big_mkcond.
  rewrite CD; apply/andP/familyP => [[/andP[_ /forall_inP sub] /eqP fg] v|fQ].
    by rewrite inE; case: ifP => [/sub|vT] //; rewrite -fg ffunE vT.
  have fg : without T f = g.
    apply/ffunP => v; rewrite ffunE; have := fQ v; rewrite inE.
    by case: ifP => [vT _|_ /eqP//]; have /forall_inP/(_ v vT)/eqP := D0 g Dg.
  by rewrite fg Dg eqxx; split=> //; apply/forall_inP => v vT; have := fQ v; rewrite inE vT.
rewrite -(bigA_distr_big_dep _ (fun v P => if v \in X then w v P else 1)).
rewrite (bigID (mem T)) /=; congr (_ * _).
  by apply: eq_bigr => v vT; apply: eq_big => [P|P _]; rewrite ?vT // (subsetP TX).
rewrite big_mkcond [RHS]big_mkcond /=; apply: eq_bigr => v _; rewrite inE.
by case: (boolP (v \in T)) => //= vT; rewrite big_pred1_eq; case: ifP.
Qed.

(* The sum over the graphs on S, and over what may follow U: parents of the nodes outside of U, so
   that the edges among these close no cycle.  [after U L] wants a parent in L for each node
   outside of U all of whose parents lie in U. *)
Definition below S :=
  \sum_(f | is_dag f && [forall v, f v \subset if v \in S then S else set0]) \prod_(v in S) w v (f
    v).
Definition follows U f := is_dag f && [forall v in U, f v == set0].
Definition above U := \sum_(f | follows U f) \prod_(v in ~: U) w v (f v).
Definition after U L :=
  \sum_(f | follows U f && [forall v, (v \notin U) && (f v \subset U) ==> ~~ [disjoint f v & L]])
     \prod_(v in ~: U) w v (f v).

Lemma follows_without U T f : T \subset ~: U -> (forall v, v \in T -> f v \subset U) ->
  follows U f = follows (U :|: T) (without T f).
Proof.
move=> TU sub; have dis v : v \in T -> v \notin U by move/(subsetP TU); rewrite inE.
apply/andP/andP => [[acyc /forall_inP f0]|[acyc /forall_inP f0]].
  rewrite without_dag //; split=> //; apply/forall_inP => v; rewrite inE ffunE.
  by case: ifP => //= _; rewrite orbF; apply: f0.
have off v : v \in U -> f v = set0.
  move=> vU; have := f0 v; rewrite !inE vU ffunE => /(_ isT).
  by case: ifP => [/dis|_ /eqP//]; rewrite vU.
split; last by apply/forall_inP => v /off->.
apply: is_dag_first => S S0; have [SU|/set0Pn[v]] := eqVneq (S :&: U) set0; last first.
  by rewrite inE => /andP[vS vU]; exists v; rewrite // off // sub0set.
have [ST|/set0Pn[v]] := eqVneq (S :&: T) set0; last first.
  rewrite inE => /andP[vS vT]; exists v => //; apply: subset_trans (sub v vT) _.
  by rewrite -disjoints_subset -setI_eq0 setIC SU.
have [v vS] := first_member acyc S0; rewrite ffunE; case: ifP => [vT _|_ vsub]; last by exists v.
by have := in_set0 v; rewrite -ST inE vS vT.
Qed.

Lemma first_rows U T L : T \subset ~: U ->
  \sum_(f | follows U f && (T \subset [set v in ~: U | f v \subset U :\: L]))
     \prod_(v in ~: U) w v (f v) = \prod_(v in T) W v (U :\: L) * above (U :|: T).
Proof.
move=> TU; rewrite /above setCU -setDE.
apply: (@split_rows _ _ _ _ (fun P => P \subset U :\: L)) => // [f|g /andP[_ /forall_inP g0]];
  last first.
  by apply/forall_inP => v vT; apply: g0; rewrite inE vT orbT.
have -> : (T \subset [set v in ~: U | f v \subset U :\: L]) = [forall v in T, f v \subset U :\: L].
  apply/subsetP/forall_inP => sub v vT; have := sub v vT; rewrite !inE; first by case/andP.
  by have := subsetP TU v vT; rewrite inE => ->.
have [/forall_inP sub|] := boolP [forall v in T, f v \subset U :\: L]; last by rewrite !andbF.
by rewrite !andbT; apply: follows_without => // v /sub/subset_trans-> //; apply: subsetDl.
Qed.

Theorem after_sum U L :
  after U L = \sum_(T : {set V} | T \subset ~: U)
                 (-1) ^+ #|T| * (\prod_(v in T) W v (U :\: L) * above (U :|: T)).
Proof.
rewrite /after (eq_bigl (fun f => follows U f && ([set v in ~: U | f v \subset U :\: L] == set0))).
  rewrite (@sieve _ _ _ _ _ (~: U)) => [|f _]; first by apply: eq_bigr => T TU; rewrite first_rows.
  by apply/subsetP => v; rewrite inE => /andP[].
move=> f; congr (_ && _); apply/forallP/eqP => [all|none v].
  apply/setP => v; have := all v; rewrite !inE subsetD.
  by case: (v \notin U) => //=; case: (f v \subset U) => //= /negbTE.
have := in_set0 v; rewrite -none !inE subsetD.
by case: (v \notin U) => //=; case: (f v \subset U) => //= ->.
Qed.

Theorem above_full : above setT = 1.
Proof.
rewrite /above (big_pred1 [ffun=> set0]) => [|f]; first by rewrite big_pred0 // => v; rewrite !inE.
rewrite /follows; apply/andP/eqP => [[_ /forall_inP f0]|->].
  by apply/ffunP => v; rewrite ffunE; apply/eqP/f0.
split; last by apply/forall_inP => v _; rewrite ffunE.
by apply: is_dag_first => S /set0Pn[v vS]; exists v; rewrite // ffunE sub0set.
Qed.

(* The recursion over first nodes. *)
Theorem above_sum U : U != setT ->
  above U = \sum_(T : {set V} | (T \subset ~: U) && (T != set0))
               (-1) ^+ #|T|.+1 * (\prod_(v in T) W v U * above (U :|: T)).
Proof.
move=> UT; have := after_sum U set0; rewrite /after big_pred0; last first.
  move=> f; apply/negP => /andP[/andP[acyc _] /forallP none].
  have [|v vU] := first_member (S := ~: U) acyc; first by rewrite -setCT (inj_eq (@setC_inj V)).
  rewrite setCK => sub; move: vU (none v).
  by rewrite inE => ->; rewrite sub disjoint_sym disjoints_subset sub0set.
rewrite (bigD1 set0) ?sub0set //= cards0 mul1r big_set0 mul1r setU0 setD0 => /esym/eqP.
rewrite addr_eq0 => /eqP->; rewrite -sumrN; apply: eq_bigr => T _.
by rewrite exprS mulN1r mulNr.
Qed.

(* The next layer is T: the nodes outside of U all of whose parents lie in U. *)
Definition layer U f := [set v in ~: U | f v \subset U].
Lemma layers (Q : pred {set V}) U : U != setT ->
  \sum_(f | follows U f && [forall v in layer U f, Q (f v)]) \prod_(v in ~: U) w v (f v) =
  \sum_(T : {set V} | (T \subset ~: U) && (T != set0))
     (\prod_(v in T) \sum_(P : {set V} | (P \subset U) && Q P) w v P) * after (U :|: T) T.
Proof.
move=> UT; rewrite (partition_big (layer U) (fun T => (T \subset ~: U) && (T != set0))) /=;
  last first.
  move=> f /andP[/andP[acyc _] _]; apply/andP; split; first by apply/subsetP => v; rewrite inE =>
    /andP[].
  have [|v vU] := first_member (S := ~: U) acyc; first by rewrite -setCT (inj_eq (@setC_inj V)).
  by rewrite setCK => sub; apply/set0Pn; exists v; rewrite inE vU.
apply: eq_bigr => T /andP[TU T0]; rewrite /after setCU -setDE.
apply: (@split_rows _ _ _ _ (fun P => (P \subset U) && Q P)) =>
  // [f|g /andP[/andP[_ /forall_inP g0] _]]; last first.
  by apply/forall_inP => v vT; apply: g0; rewrite inE vT orbT.
apply/andP/andP => [[/andP[Uf /forall_inP Qf] /eqP fT]|[/andP[Uf /forallP next] /forall_inP Tf]].
  have sub v : v \in T -> f v \subset U by rewrite -fT inE => /andP[].
  rewrite -follows_without // Uf; split; last by apply/forall_inP => v vT; rewrite sub // Qf // fT.
  apply/forallP => v; apply/implyP; rewrite inE negb_or ffunE => /andP[/andP[vU /negbTE vT]].
  rewrite vT => fU; apply/negP => dis; suff : v \in T by rewrite vT.
  rewrite -fT !inE vU; apply/subsetP => x xv; have := subsetP fU x xv; rewrite inE => /orP[//|xT].
  by have := pred0P dis x; rewrite /= xv xT.
have sub v : v \in T -> f v \subset U by case/Tf/andP.
rewrite (follows_without TU sub) Uf; have fT : layer U f = T.
  apply/setP => v; rewrite !inE; apply/andP/idP => [[vU fU]|vT]; last first.
    by rewrite sub //; have := subsetP TU v vT; rewrite inE.
  apply/negPn/negP => vT; have := implyP (next v); rewrite inE negb_or vU vT ffunE (negbTE vT).
  rewrite (subset_trans fU (subsetUl _ _)) => /(_ isT)/pred0Pn[x /andP[/= xv xT]].
  by have := subsetP TU x xT; rewrite inE (subsetP fU).
by rewrite fT; split=> //; apply/forall_inP => v /Tf/andP[].
Qed.

Theorem after_layers U L : U != setT ->
  after U L = \sum_(T : {set V} | (T \subset ~: U) && (T != set0))
                 (\prod_(v in T) (W v U - W v (U :\: L))) * after (U :|: T) T.
Proof.
move=> UT; rewrite /after (eq_bigl (fun f =>
  follows U f && [forall v in layer U f, ~~ [disjoint f v & L]])).
  rewrite (layers (fun P => ~~ [disjoint P & L]) UT); apply: eq_bigr => T _; congr (_ * _);
    apply: eq_bigr => v _.
  apply/eqP; rewrite eq_sym subr_eq /W (bigID (fun P : {set V} => ~~ [disjoint P & L])) /=;
    apply/eqP.
  by congr (_ + _); apply: eq_bigl => P; rewrite subsetD negbK.
by move=> f; congr (_ && _); apply: eq_forallb => v; rewrite !inE.
Qed.

Theorem first_layer : setT != set0 :> {set V} ->
  above set0 = \sum_(T : {set V} | T != set0) (\prod_(v in T) w v set0) * after T T.
Proof.
move=> V0; rewrite /above (eq_bigl (fun f =>
  follows set0 f && [forall v in layer set0 f, predT (f v)])).
  rewrite (layers predT) ?[set0 == _]eq_sym //; apply: eq_big => [T|T _];
    first by rewrite setC0 subsetT.
  rewrite set0U; congr (_ * _); apply: eq_bigr => v _; apply: big_pred1 => P.
  by rewrite /= andbT subset0.
by move=> f; rewrite andbC; case: forall_inP => // -[].
Qed.

(* The recursion over last nodes. *)
Lemma last_rows S T : T \subset S ->
  \sum_(f | is_dag f && [forall v, f v \subset if v \in S then S else set0] &&
            (T \subset [set v in S | [forall u, v \notin f u]])) \prod_(v in S) w v (f v) =
  \prod_(v in T) W v (S :\: T) * below (S :\: T).
Proof.
move=> TS; apply: (@split_rows _ _ _ _ (fun P => P \subset S :\: T)) =>
  // [f|g /andP[_ /forallP sub]]; last first.
  by apply/forall_inP => v vT; have := sub v; rewrite inE vT subset0.
apply/andP/andP => [[/andP[acyc /forallP sub] /subsetP TK]|[/andP[acyc /forallP sub] /forall_inP
  free]].
  have subD v : f v \subset S :\: T.
    rewrite subsetD; apply/andP; split; first by apply: subset_trans (sub v) _; case: ifP;
      rewrite ?sub0set.
    rewrite disjoint_sym disjoints_subset; apply/subsetP => u /TK.
    by rewrite !inE => /andP[_ /forallP].
  split; last by apply/forall_inP.
  rewrite without_dag //=; apply/forallP => v; rewrite ffunE inE.
  case: ifP => //= _; case: ifP => [_|vS]; first exact: subD.
  by have := sub v; rewrite vS.
have subD v : f v \subset S :\: T.
  have [vT|vT] := boolP (v \in T); first exact: free.
  by have := sub v; rewrite ffunE (negbTE vT); case: ifP => // _ /subset_trans-> //; apply: sub0set.
split; last first.
  apply/subsetP => v vT; rewrite inE (subsetP TS) //=; apply/forallP => u.
  by apply/negP => /(subsetP (subD u)); rewrite inE vT.
apply/andP; split; last first.
  apply/forallP => v; case: ifP => vS; first exact: subset_trans (subD v) (subsetDl _ _).
  by have := sub v; rewrite ffunE inE vS andbF; case: ifP => // /(subsetP TS); rewrite vS.
apply: is_dag_first => X X0; have [XT|XT] := boolP (X \subset T).
  have /set0Pn[v vX] := X0; exists v => //; apply: subset_trans (subD v) _.
  by rewrite setDE subIset // setCS XT orbT.
have [|v] := first_member acyc (S := X :\: T); first by rewrite setD_eq0.
rewrite inE ffunE => /andP[vT vX]; rewrite (negbTE vT) => sub'; exists v => //.
apply/subsetP => u uv; have := subsetP sub' u uv; have := subsetP (subD v) u uv.
by rewrite !inE => /andP[-> _].
Qed.

Theorem below_empty : below set0 = 1.
Proof.
rewrite /below (big_pred1 [ffun=> set0]) => [|f]; first by rewrite big_pred0 // => v; rewrite inE.
apply/andP/eqP => [[_ /forallP f0]|->].
  by apply/ffunP => v; rewrite ffunE; have := f0 v; rewrite if_same subset0 => /eqP.
split; last by apply/forallP => v; rewrite ffunE sub0set.
by apply: is_dag_first => S /set0Pn[v vS]; exists v; rewrite // ffunE sub0set.
Qed.

Theorem below_sum S : S != set0 ->
  below S = \sum_(T : {set V} | (T \subset S) && (T != set0))
               (-1) ^+ #|T|.+1 * (\prod_(v in T) W v (S :\: T) * below (S :\: T)).
Proof.
move=> S0; have K_sub f : [set v in S | [forall u, v \notin f u]] \subset S.
  by apply/subsetP => v; rewrite inE => /andP[].
have := sieve (fun f => \prod_(v in S) w v (f v)) (fun f _ => K_sub f).
move=> /(_ (fun f => is_dag f && [forall v, f v \subset if v \in S then S else set0])).
rewrite big_pred0 => [|f]; last first.
  apply/negP => /andP[/andP[acyc /forallP sub] /eqP K0].
  have [v vS /forall_inP last_v] := last_member acyc S0.
  have := in_set0 v; rewrite -K0 inE vS => /forallP[] u; apply/negP => vu.
  have [uS|uS] := boolP (u \in S); first by have := last_v u uS; rewrite vu.
  by have := subsetP (sub u) v vu; rewrite (negbTE uS) inE.
rewrite (bigD1 set0) ?sub0set //= cards0 mul1r last_rows ?sub0set // big_set0 mul1r setD0.
move=> /esym/eqP; rewrite addr_eq0 => /eqP->; rewrite -sumrN; apply: eq_bigr => T /andP[TS _].
by rewrite last_rows // exprS mulN1r mulNr.
Qed.

Theorem above_all : above set0 = \sum_(f | is_dag f) \prod_v w v (f v).
Proof.
apply: eq_big => [f|f _]; last by apply: eq_bigl => v; rewrite !inE.
by rewrite /follows; case: is_dag => //=; apply/forall_inP => v; rewrite inE.
Qed.

Theorem below_all : below setT = \sum_(f | is_dag f) \prod_v w v (f v).
Proof.
apply: eq_big => [f|f _]; last by apply: eq_bigl => v; rewrite inE.
by case: is_dag => //=; apply/forallP => v; rewrite inE subsetT.
Qed.

(* Each graph is cut once, between the layer with v and those before it: the sum is linear in the
   row of v. *)
Lemma cut v :
  \sum_(f | is_dag f) \prod_x w x (f x) =
  \sum_(U : {set V} | v \notin U) \sum_(T : {set V} | (T \subset ~: U) && (v \in T))
     (-1) ^+ #|T|.+1 * (\prod_(t in T) W t U * above (U :|: T)) * below U.
Proof.
have back (S T : {set V}) : (S :\: T :|: T == S) = (T \subset S).
  by rewrite setDE setUIl [~: T :|: T]setUC setUCr setIT (sameP eqP setUidPl).
pose c U T := (-1) ^+ #|T|.+1 * (\prod_(t in T) W t U * above (U :|: T)) * below U.
pose Y := \sum_(T : {set V} | (T != set0) && (v \notin T))
            \sum_(U : {set V} | (v \notin U) && (T \subset ~: U)) c U T.
have low : \sum_(S : {set V} | v \notin S) above S * below S = above set0 + Y.
  rewrite (bigD1 set0) ?inE //= below_empty mulr1; congr (_ + _).
  rewrite (eq_bigr (fun S => \sum_(T : {set V} | (T \subset S) && (T != set0)) c (S :\: T) T));
    last first.
    move=> S /andP[_ S0]; rewrite (below_sum S0) mulr_sumr; apply: eq_bigr => T /andP[TS _].
    rewrite /c (eqP (etrans (back S T) TS)) mulrCA -!mulrA; congr (_ * _).
    exact: mulrCA.
  rewrite (exchange_big_dep (fun T : {set V} => (T != set0) && (v \notin T))) /=; last first.
    by move=> S T /andP[vS _] /andP[/subsetP TS ->]; apply: contra vS => /TS.
  apply: eq_bigr => T /andP[T0 vT].
  rewrite [RHS](reindex_onto (fun S => S :\: T) (fun U => U :|: T)) /=; last first.
    move=> U /andP[_]; rewrite subsetC -disjoints_subset => /setDidPl UT.
    by rewrite setDUl setDv setU0 UT.
  apply: eq_bigl => S; rewrite T0 andbT inE vT /=.
  have -> : T \subset ~: (S :\: T) by rewrite setCD subsetUr.
  rewrite andbT back.
  have [TS|_] := boolP (T \subset S); last by rewrite !andbF.
  rewrite andbT -(negbK (S == set0)); case: eqP => [S0|_]; last by rewrite andbT.
  by move: TS; rewrite S0 subset0 (negbTE T0).
apply: (@addIr _ Y); rewrite -above_all -low.
rewrite (eq_bigr (fun U => \sum_(T : {set V} | (T \subset ~: U) && (T != set0)) c U T)); last first.
  move=> U vU; rewrite above_sum ?mulr_suml //; apply: contraNneq vU => ->; exact: in_setT.
rewrite (eq_bigr (fun U => \sum_(T : {set V} | (T \subset ~: U) && (v \in T)) c U T +
                           \sum_(T : {set V} | (T \subset ~: U) && (T != set0) && (v \notin T)) c U
                             T)).
  rewrite big_split /=; congr (_ + _); rewrite /Y.
  rewrite [RHS](exchange_big_dep (fun U : {set V} => v \notin U)) /= => [|T U _ /andP[]//].
  apply: eq_bigr => U vU; apply: eq_bigl => T.
  by rewrite vU /= -andbA andbC.
move=> U vU; rewrite (bigID (fun T : {set V} => v \in T)) /=; congr (_ + _).
apply: eq_bigl => T; case vT: (v \in T); rewrite ?andbF // !andbT.
by rewrite andbC; case: eqP vT => // ->; rewrite inE.
Qed.

(* What u reaches, itself included: those with a parent in the set. *)
Variable u : V.
Definition reached_set (D : {set V}) f :=
  [forall x, (x \in D) == (x == u) || ~~ [disjoint f x & D]].

Lemma reached_setP D f : is_dag f -> reached_set D f = ([set x | connect (arc f) u x] == D).
Proof.
move=> /is_dagP acyc; apply/forallP/eqP => [step|<- x].
  apply/setP => x; rewrite inE; apply/connectP/idP => [[p up ->]|].
    elim/last_ind: p up => [_|p y IH]; first by rewrite (eqP (step u)) eqxx.
    rewrite rcons_path last_rcons => /andP[/IH lD ly]; rewrite (eqP (step y)); apply/orP; right.
    by apply/pred0Pn; exists (last u p); rewrite /= lD andbT.
  elim/(@topological_ind (Dag acyc)): x => x IH; rewrite (eqP (step x)) => /orP[/eqP->|];
    first by exists [::].
  case/pred0Pn => y /= /andP[yx /(IH y yx)[p up py]]; exists (rcons p x); rewrite ?last_rcons //.
  by rewrite rcons_path up -py.
apply/eqP; rewrite inE; apply/connectP/orP => [[p]|].
  elim/last_ind: p => [_ ->|p y _]; first by left.
  rewrite rcons_path last_rcons => /andP[up py] ->; right; apply/pred0Pn; exists (last u p).
  by rewrite /= inE; apply/andP; split; [exact: py | apply/connectP; exists p].
case=> [/eqP->|]; first by exists [::].
case/pred0Pn => y /= /andP[yx]; rewrite inE => /connectP[p up py].
by exists (rcons p x); rewrite ?last_rcons // rcons_path up -py.
Qed.

Lemma reached_rows (D : {set V}) : u \in D ->
  \sum_(f | is_dag f && reached_set D f) \prod_x w x (f x) =
  W u (~: D) * \sum_(f | [&& is_dag f, f u == set0 & reached_set D f]) \prod_(x | x != u) w x (f x).
Proof.
move=> uD; rewrite (eq_bigr (fun f => \prod_(x in setT) w x (f x))); last first.
  by move=> f _; apply: eq_bigl => x; rewrite inE.
rewrite (@split_rows _ (fun f => [&& is_dag f, f u == set0 & reached_set D f]) _ [set u] (fun P =>
  P \subset ~: D)) ?subsetT //.
- rewrite big_set1; congr (_ * _); apply: eq_bigr => f _; apply: eq_bigl => x;
  by rewrite !inE andbT.
- move=> f; have same x : x != u -> without [set u] f x = f x by rewrite ffunE inE => /negbTE->.
  have -> : reached_set D (without [set u] f) = reached_set D f.
    apply: eq_forallb => x; have [->|xu] := eqVneq x u; last by rewrite same.
    by rewrite uD.
  rewrite ffunE set11 eqxx /= andbAC; have [rD|] := boolP (reached_set D f); last by rewrite !andbF.
  rewrite !andbT; have none x : x \in ~: D -> f x \subset ~: D.
    rewrite inE => xD; have /eqP := forallP rD x; rewrite (negbTE xD) => /esym/negbT.
    by rewrite negb_or negbK disjoints_subset => /andP[].
  apply/idP/andP => [acyc|[acyc /forall_inP/(_ u (set11 u)) fu]].
    rewrite without_dag //; split=> //; apply/forall_inP => x /set1P->.
    have [|x' xD sub] := first_member (S := D) acyc; first by apply/set0Pn; exists u.
    have /eqP := forallP rD x'; rewrite xD => /esym/orP[/eqP<- //|].
    by rewrite disjoints_subset sub.
  apply: is_dag_first => X X0; have [XD|XD] := boolP (X \subset D).
    have [uX|uX] := boolP (u \in X); first by exists u => //; apply: subset_trans fu _;
      rewrite setCS.
    have [x xX] := first_member acyc X0; rewrite same; first by exists x.
    by apply: contraNneq uX => <-.
  have [|x] := first_member (S := X :\: D) acyc; first by rewrite setD_eq0.
  rewrite inE => /andP[xD xX]; rewrite same => [sub|]; last by apply: contraNneq xD => ->.
  exists x => //; apply/subsetP => y yx; have := subsetP sub y yx.
  have := none x; rewrite !inE => /(_ xD)/subsetP/(_ y yx); rewrite inE => yD.
  by rewrite yD.
by move=> g /and3P[_ g0 _]; apply/forall_inP => x /set1P->.
Qed.

Lemma reached_parts (D : {set V}) : u \in D ->
  \sum_(f | [&& is_dag f, f u == set0 & reached_set D f]) \prod_(x | x != u) w x (f x) =
  below (~: D) * after (u |: ~: D) [set u].
Proof.
move=> uD; rewrite /below /after big_distrlr pair_big /=.
rewrite (reindex_onto (fun p : parents V * parents V => [ffun x => p.1 x :|: p.2 x] : parents V)
   (fun f => (without D f, without (~: D) f))) /=; last first.
  by move=> f _; apply/ffunP => x; rewrite !ffunE inE; case: (x \in D); rewrite ?set0U ?setU0.
have outside x : (x \in ~: (u |: ~: D)) = (x \in D) && (x != u).
  by rewrite !inE negb_or negbK andbC.
apply: eq_big => [[g h]|[g h]] /=; last first.
  move=> /andP[_ /eqP[/ffunP Fg /ffunP Fh]]; rewrite (bigID (mem (~: D))) /=; congr (_ * _).
    apply: eq_big => [x|x /andP[_]]; first by rewrite inE; case: eqP => // ->; rewrite uD.
    rewrite inE => xD; by have := Fg x; rewrite !ffunE (negbTE xD) => ->.
  apply: eq_big => [x|x /andP[_]]; first by rewrite outside inE negbK andbC.
  by rewrite inE negbK => xD; have := Fh x; rewrite !ffunE inE xD /= => ->.
set F : parents V := [ffun x => g x :|: h x].
apply/andP/andP => [[/and3P[acyc /eqP Fu /forallP rD] /eqP[gE hE]]|].
  have gx x : g x = if x \in D then set0 else F x by rewrite -gE ffunE.
  have hx x : h x = if x \in D then F x else set0 by rewrite -hE ffunE inE; case: (x \in D).
  rewrite /follows -{1}gE -{1}hE !without_dag //=; split.
    apply/forallP => x; rewrite gx inE; case: ifP => //= xD.
    have := eqP (rD x); rewrite xD => /esym/negbT.
    by rewrite negb_or negbK disjoints_subset => /andP[].
  apply/andP; split.
    by apply/forall_inP => x; rewrite hx !inE => /orP[/eqP->|/negbTE->] //; rewrite uD Fu.
  apply/forallP => x; apply/implyP => /andP[]; rewrite !inE negb_or negbK => /andP[xu xD].
  have := eqP (rD x); rewrite hx xD (negbTE xu) =>
    /esym/pred0Pn[y /= /andP[yx yD]] /subsetP/(_ y yx).
  by rewrite !inE yD orbF => /eqP yu; apply/pred0Pn; exists y; rewrite /= yx yu set11.
case=> /andP[acg /forallP subg] /andP[/andP[ach /forall_inP h0] /forallP meet].
have gD x : x \in D -> g x = set0.
  by move=> xD; have := subg x; rewrite inE xD subset0 => /eqP.
have hD x : x \notin D -> h x = set0 by move=> xD; apply/eqP/h0; rewrite !inE xD orbT.
have hu : h u = set0 by apply/eqP/h0; rewrite !inE eqxx.
have FD x : x \in D -> F x = h x by move=> xD; rewrite ffunE gD // set0U.
have FnD x : x \notin D -> F x = g x by move=> xD; rewrite ffunE hD // setU0.
split; last first.
  apply/eqP; congr (_, _); apply/ffunP => x; rewrite ffunE ?inE; case: (boolP (x \in D)) => xD /=.
  - by rewrite gD.
  - exact: FnD.
  - exact: FD.
  - by rewrite hD.
rewrite FD // hu eqxx /=; apply/andP; split.
  apply: is_dag_first => X X0; have [XD|XD] := boolP (X \subset D).
    by have [x xX sub] := first_member ach X0; exists x; rewrite // FD // (subsetP XD).
  have [|x] := first_member (S := X :\: D) acg; first by rewrite setD_eq0.
  rewrite inE => /andP[xD xX] sub; exists x => //; rewrite FnD //.
  apply/subsetP => y yx; have := subsetP sub y yx; rewrite !inE.
  by have := subsetP (subg x) y yx; rewrite inE xD inE => ->.
apply/forallP => x; have [xD|xD] := boolP (x \in D); last first.
  have := subg x; rewrite inE xD FnD // -disjoints_subset => ->.
  by case: (x =P u) xD => // ->; rewrite uD.
have [->|xu] := eqVneq x u; rewrite //= FD // eq_sym eqb_id; apply/negP => dis.
have sub : h x \subset u |: ~: D by apply: subset_trans (subsetUr _ _); rewrite -disjoints_subset.
have := implyP (meet x); rewrite !inE negb_or negbK xu xD sub => /(_ isT)/pred0Pn[y].
by move=> /andP[/= yx /set1P yu]; have := pred0P dis u; rewrite /= -{1}yu yx uD.
Qed.

(* The sum over the graphs with a path from u to v. *)
Theorem paths v :
  \sum_(f | is_dag f && connect (arc f) u v) \prod_x w x (f x) =
  \sum_(D : {set V} | (u \in D) && (v \in D))
     below (~: D) * W u (~: D) * after (u |: ~: D) [set u].
Proof.
pose reach f := [set x | connect (arc f) u x].
rewrite (partition_big reach (fun D : {set V} => (u \in D) && (v \in D))) /=; last first.
  by move=> f /andP[_ uv]; rewrite !inE connect0.
apply: eq_bigr => D /andP[uD vD]; rewrite mulrAC mulrC -reached_parts // -reached_rows //.
apply: eq_bigl => f; rewrite -andbA; have [acyc|//] := boolP (is_dag f).
rewrite reached_setP // /reach; case: eqP => [E|]; rewrite ?andbF // andbT /=.
by rewrite -E inE in vD.
Qed.
End Sums.

(* The sum over the graphs in which the parents of v belong to a family F of sets. *)
Section Families.
Variables (V : finType) (R : comRingType) (w : V -> {set V} -> R) (v : V).
Implicit Types (f : parents V) (U T P : {set V}).

Definition derivative U : R :=
  below w U * \sum_(T : {set V} | (T \subset ~: U) && (v \in T))
                 (-1) ^+ #|T|.+1 * (\prod_(t in T :\ v) W w t U * above w (U :|: T)).

Theorem family (F : pred {set V}) :
  \sum_(f | is_dag f && F (f v)) \prod_x w x (f x) =
  \sum_(U : {set V} | v \notin U) derivative U * \sum_(P : {set V} | (P \subset U) && F P) w v P.
Proof.
pose w' x P := if (x == v) && ~~ F P then 0 else w x P.
have off x P : x != v -> w' x P = w x P by rewrite /w' => /negbTE->.
transitivity (\sum_(f | is_dag f) \prod_x w' x (f x)).
  rewrite big_mkcondr; apply: eq_bigr => f _; case: ifP => Fv.
    by apply: eq_bigr => x _; rewrite /w'; case: eqP => // ->; rewrite Fv.
  by rewrite (bigD1 v) //= /w' eqxx Fv mul0r.
rewrite (cut w' v); apply: eq_bigr => U vU; rewrite -mulr_suml mulrC /derivative -mulrA.
congr (_ * _).
  apply: eq_bigr => f _; apply: eq_bigr => x xU; apply: off; by apply: contraNneq vU => <-.
rewrite mulr_suml; apply: eq_bigr => T /andP[TU vT].
have -> : above w' (U :|: T) = above w (U :|: T).
  apply: eq_bigr => f _; apply: eq_bigr => x; rewrite !inE negb_or => /andP[_ xT]; apply: off.
  by apply: contraNneq xT => ->.
have -> : \sum_(P : {set V} | (P \subset U) && F P) w v P = W w' v U.
  by rewrite big_mkcondr; apply: eq_bigr => P _; rewrite /w' eqxx; case: (F P).
rewrite (big_setD1 v) //= -[RHS]mulrA; congr (_ * _).
rewrite -[LHS]mulrA [LHS]mulrC; congr (_ * _ * _).
apply: eq_bigr => t; rewrite !inE => /andP[tv _]; apply: eq_bigr => P _; exact: off.
Qed.

(* An edge from u to v is a family of sets, those with u. *)
Theorem edges u :
  \sum_(f | is_dag f && (u \in f v)) \prod_x w x (f x) =
  \sum_(U : {set V} | v \notin U) derivative U * (W w v U - W w v (U :\ u)).
Proof.
rewrite (family (fun P => u \in P)); apply: eq_bigr => U _; congr (_ * _).
apply/eqP; rewrite eq_sym subr_eq /W (bigID (fun P : {set V} => u \in P)) /=; apply/eqP.
by congr (_ + _); apply: eq_bigl => P; rewrite subsetD1.
Qed.

(* The sum over the graphs with a path from v to u: v and all that it reaches come after U. *)
Lemma derivative_after U : v \notin U -> derivative U = below w U * after w (v |: U) [set v].
Proof.
move=> vU; rewrite /derivative after_sum; congr (_ * _).
rewrite (reindex_onto (fun T : {set V} => v |: T) (fun T => T :\ v)) /= => [|T /andP[_ vT]];
  last first.
  by rewrite setD1K.
apply: eq_big => [T|T /andP[/andP[_ _] /eqP TE]]; last first.
  have vT : v \notin T by rewrite -TE setD11.
  rewrite TE cardsU1 vT exprS exprS !mulN1r opprK setUA [U :|: _]setUC; congr (_ * (_ * _)).
  by apply: eq_bigr => t _; congr (W w t _); rewrite setU1K.
rewrite setU11 andbT subUset sub1set inE vU setCU subsetI /= [RHS]andbC; congr (_ && _).
rewrite -disjoints_subset disjoint_sym disjoints1.
by apply/eqP/idP => [<-|vT]; rewrite ?setD11 // setU1K.
Qed.

Theorem paths_by_derivative u :
  \sum_(f | is_dag f && connect (arc f) v u) \prod_x w x (f x) =
  \sum_(U : {set V} | (v \notin U) && (u \notin U)) derivative U * W w v U.
Proof.
rewrite paths (reindex_inj (@setC_inj V)) /=; apply: eq_big => [U|U]; first by rewrite !inE.
by rewrite inE setCK => /andP[vU _]; rewrite derivative_after // mulrAC.
Qed.
End Families.
