(* Sequences that are built from left to right: their graph is a tree, so that all its lifts are
   trivial (sequences).                                                                            *)
From mathcomp Require Import all_ssreflect.
From Pdai Require Import Dag Lift Trees.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Sequences.
Variables (A : finType) (n : nat).
Definition appended : rel (n.-bseq A) := fun s t => [exists a, val t == rcons s a].

Lemma appended_longer s p : path appended s p -> size (last s p) = size s + size p.
Proof.
elim: p s => [|t p IH] s /=; first by rewrite addn0.
by case/andP => /existsP[a /eqP ta] /IH->; rewrite ta size_rcons addSnnS.
Qed.

Lemma appended_acyclic s p : path appended s p -> last s p = s -> p = [::].
Proof.
by move/appended_longer => + E; rewrite E -{1}[size s]addn0 => /eqP; rewrite eqn_add2l; case: p {E}.
Qed.
Definition sequences_dag := Dag appended_acyclic.
Definition empty : n.-bseq A := [bseq].

Lemma empty_is_source (s : sequences_dag) : source s = (s == empty).
Proof.
apply/forallP/eqP => [|-> t]; last first.
  by apply/existsP => -[a /eqP]; rewrite /=; case: (val t).
case: s => s; case/lastP: s => [|p a] sn none; first exact: val_inj.
have pn : size p <= n by apply: leq_trans (sn : size (rcons p a) <= n); rewrite size_rcons.
by have := none (Bseq pn); rewrite /= negb_exists => /forallP/(_ a); rewrite /= eqxx.
Qed.
Definition sequences := PointedDAG empty_is_source.

Theorem one_parent : inner_tree sequences.
Proof.
move=> s s' t _ /existsP[a /eqP ta] /existsP[a' /eqP ta']; apply: val_inj.
by move: ta; rewrite ta' => /rcons_inj[].
Qed.

(* |S*| = |S|, whatever is remembered.                                                             *)
Theorem lifts_of_sequences_are_trivial (L : lift sequences) :
  injective (base : L -> sequences) /\ #|L| = #|sequences|.
Proof.
have inj := tree_lifts_are_trivial (L := L) one_parent; split=> //.
by rewrite -(card_codom inj); apply: eq_card => s; have [u <-] := base_surjective L s; rewrite codom_f.
Qed.
End Sequences.
