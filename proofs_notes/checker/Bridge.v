(* A right certificate is a pointed DAG in the sense of proofs_notes/coq/Dag.v, and what the
   certificate calls p_T is [mass] of Policies.v: the theorems there are about what is certified.
   Values are carried by any map of Q into a field that respects 0, 1, + and *; [rat_of] is one.   *)
From Coq Require Import ZArith QArith List.
From mathcomp Require Import all_ssreflect all_algebra.
From Pdai Require Import Dag Policies.
From Cert Require Spec Sound.
From Cert Require Import Rat.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import GRing.Theory.

Section Bridge.
Variables (c : Spec.cert) (n : nat).
Hypotheses (ok : Spec.right c) (n_rows : length (Spec.rows c) = n.+1).

Definition z (i : 'I_n.+1) : BinNums.Z := Z.of_nat i.
Definition step : rel 'I_n.+1 := fun u v => List.existsb (Z.eqb (z v)) (Spec.children c (z u)).

Lemma z_inj : injective z.
Proof. by move=> u v /Nat2Z.inj /val_inj. Qed.

Lemma z_in i : In (z i) (Spec.nodes c).
Proof.
apply/in_map_iff; exists (val i); split=> //; apply/in_seq; rewrite n_rows; split; [exact/leP |].
exact/ltP/(ltn_ord i).
Qed.

Lemma z_onto w : In w (Spec.nodes c) -> exists i, w = z i.
Proof.
move=> /in_map_iff [k [<- /in_seq]]; rewrite n_rows => - [_ /leP k_n].
by exists (Ordinal (k_n : (k < n.+1)%N)).
Qed.

Lemma stepP u v : step u v <-> Spec.edge c (z u) (z v).
Proof.
split=> [/existsb_exists[w [uw /Z.eqb_eq ->]] //|uv].
by apply/existsb_exists; exists (z v); split=> //; apply/Z.eqb_eq.
Qed.

Lemma pathP u p : path step u p <-> Spec.path c (z u) (List.map z p).
Proof.
elim: p u => [|v p IH] u //=; split=> [/andP[/stepP uv /IH vp] //|[uv vp]].
by apply/andP; split; [apply/stepP | apply/IH].
Qed.

Lemma lastP u p : List.last (List.map z p) (z u) = z (last u p).
Proof. by elim: p u => [//|v p IH] u; rewrite [List.map _ _]/= Sound.last_cons IH. Qed.

Lemma step_acyclic u p : path step u p -> last u p = u -> p = [::].
Proof.
move=> /pathP up lu; have := Spec.acyclic c ok _ _ up; rewrite lastP lu => /(_ erefl).
by case: p {up lu}.
Qed.

Definition certified_dag : dag := Dag step_acyclic.

Lemma certified_source (v : certified_dag) : source v = (v == ord0).
Proof.
have [zero only] := Spec.one_source c ok; apply/forallP/eqP => [none|-> u].
  apply: z_inj; apply/(only _ (z_in v)) => u uv.
  have [/z_onto[i iu] _] := Spec.edges_in_graph c ok _ _ uv.
  by apply/negP: (none i); rewrite negbK; apply/stepP; rewrite -iu.
by apply/negP => /stepP; apply: (proj2 (only _ zero)).
Qed.

Definition certified : pointedDAG := PointedDAG certified_source.

Variables (K : fieldType) (phi : Q -> K).
Hypotheses (phi_eq : forall a b, Qeq a b -> phi a = phi b) (phi0 : phi (Qmake 0 1) = 0%R)
  (phi1 : phi (Qmake 1 1) = 1%R) (phiD : forall a b, phi (Qplus a b) = (phi a + phi b)%R)
  (phiM : forall a b, phi (Qmult a b) = (phi a * phi b)%R).

Definition certified_pF (u v : certified) : K := phi (Spec.pF c (z u) (z v)).

Lemma certified_weight u p :
  weight certified_pF u p = phi (Spec.weight c (z u) (List.map z p)).
Proof. by elim: p u => [|v p IH] u /=; rewrite ?phi1 // IH phiM. Qed.

Lemma certified_sum (T : Type) (f : T -> Q) s :
  (\sum_(p <- s) phi (f p))%R = phi (Spec.sum (List.map f s)).
Proof. by elim: s => [|p s IH]; rewrite ?big_nil ?phi0 // big_cons IH -phiD. Qed.

Lemma In_mem (T : eqType) (x : T) s : In x s <-> x \in s.
Proof.
elim: s => [|y s IH] //=; rewrite in_cons; split.
  by case=> [->|/IH ->]; rewrite ?eqxx ?orbT.
by case/orP=> [/eqP ->|/IH]; [left | right].
Qed.

Lemma In_trajs (v : certified) (p : seq certified) :
  In p (trajs src v) <-> path edge src p /\ last src p = v.
Proof.
apply: (iff_trans (@In_mem _ p (trajs src v))); rewrite mem_trajs.
by split=> [/andP[? /eqP] //|[-> ->]]; rewrite eqxx.
Qed.

Lemma certified_trajectories (v : certified) :
  Spec.is_pT c (z v) (Spec.sum (List.map (Spec.weight c Z0) (List.map (List.map z) (trajs src v)))).
Proof.
exists (List.map (List.map z) (trajs src v)); split; last split; last by [].
  have map_inj: injective (List.map z).
    by elim=> [|u p IH] [|w q] //= [/Nat2Z.inj /val_inj -> /IH ->].
  have := uniq_trajs (src : certified) v; elim: (trajs _ _) => [|p s IH] /=; first by constructor.
  case/andP=> ps us; constructor; last exact: IH.
  by move=> /in_map_iff[q [/map_inj -> /In_mem]]; apply/negP.
move=> t; split.
  move=> /in_map_iff[p [<- /In_trajs[/pathP sp lp]]].
  by split=> //; rewrite -lp -(lastP ord0).
case=> st lt; apply/in_map_iff.
have [p tp]: exists p, t = List.map z p.
  elim: t {lt} Z0 st => [|w t IH] u /=; first by exists [::].
  case=> uw /IH[p ->]; have [_ /z_onto[i ->]] := Spec.edges_in_graph c ok _ _ uw.
  by exists (i :: p).
exists p; split=> //; apply/In_trajs; split; first by apply/pathP; rewrite -tp.
by apply: z_inj; rewrite -lt tp -lastP.
Qed.

Theorem certified_mass (v : certified) (q : Q) :
  Spec.is_pT c (z v) q -> mass certified_pF src v = phi q.
Proof.
move=> vq; rewrite (phi_eq (Sound.is_pT_unique c _ _ _ vq (certified_trajectories v))) /mass.
rewrite List.map_map -certified_sum; apply: eq_bigr => p _.
exact: certified_weight.
Qed.

End Bridge.

Theorem certified_mass_rat c n (ok : Spec.right c) (n_rows : length (Spec.rows c) = n.+1)
    (v : certified ok n_rows) (q : Q) :
  Spec.is_pT c (z v) q ->
  mass (fun u w : certified ok n_rows => rat_of (Spec.pF c (z u) (z w))) src v = rat_of q.
Proof. exact: certified_mass rat_of_eq rat_of0 rat_of1 rat_ofD rat_ofM v q. Qed.


