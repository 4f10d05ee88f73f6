(* Maps with keys in binary: what is looked up most is the branch that was reached last.             *)
From Coq Require Import PArith.

Inductive key := One | Even (k : key) | Odd (k : key).

Fixpoint key_of (p : positive) : key :=
  match p with xH => One | xO p => Even (key_of p) | xI p => Odd (key_of p) end.

Lemma key_of_inj p : forall q, key_of p = key_of q -> p = q.
Proof. induction p; intros []; simpl; intros E; inversion E; f_equal; auto. Qed.

Section Map.
Variable A : Type.

Inductive trie := Leaf | Node (even : trie) (here : option A) (odd : trie).

Fixpoint find (k : key) (t : trie) : option A :=
  match t with
  | Leaf => None
  | Node l o r => match k with One => o | Even k => find k l | Odd k => find k r end
  end.

(* The value at a key becomes f of the value that was there.                                       *)
Fixpoint update (k : key) (f : option A -> A) (t : trie) : trie :=
  match k, t with
  | One, Leaf => Node Leaf (Some (f None)) Leaf
  | One, Node l o r => Node l (Some (f o)) r
  | Even k, Leaf => Node (update k f Leaf) None Leaf
  | Even k, Node l o r => Node (update k f l) o r
  | Odd k, Leaf => Node Leaf None (update k f Leaf)
  | Odd k, Node l o r => Node l o (update k f r)
  end.

(* A branch that has become empty is given back.                                                   *)
Definition branch (l : trie) (o : option A) (r : trie) : trie :=
  match l, o, r with Leaf, None, Leaf => Leaf | _, _, _ => Node l o r end.

Fixpoint remove (k : key) (t : trie) : trie :=
  match t with
  | Leaf => Leaf
  | Node l o r =>
      match k with One => branch l None r | Even k => branch (remove k l) o r | Odd k => branch l o (remove k r) end
  end.

Lemma find_leaf k : find k Leaf = None.
Proof. now destruct k. Qed.

Lemma find_update k f : forall t, find k (update k f t) = Some (f (find k t)).
Proof.
induction k; intros []; simpl; rewrite ?IHk, ?find_leaf; reflexivity.
Qed.

Lemma find_update_other k f : forall k' t, k' <> k -> find k' (update k f t) = find k' t.
Proof.
induction k; intros [] []; simpl; intros ne; rewrite ?IHk, ?find_leaf; congruence.
Qed.

Lemma find_branch k l o r : find k (branch l o r) = find k (Node l o r).
Proof. destruct l, o, r; try reflexivity. destruct k; simpl; now rewrite ?find_leaf. Qed.

Lemma find_remove_other k : forall k' t, k' <> k -> find k' (remove k t) = find k' t.
Proof.
induction k; intros k' [|l o r] ne; cbn [remove]; try reflexivity; rewrite find_branch;
  destruct k'; simpl; rewrite ?IHk; congruence.
Qed.
End Map.

Arguments Leaf {A}.
Arguments Node {A}.
Arguments find {A}.
Arguments update {A}.
Arguments remove {A}.
