(* Draws from the table of a certificate by fair bits.  This is run.  The state holds the law of the
   next step given the bits so far: a bit halves its mass, and the half that it names is kept.     *)
From Coq Require Import List ZArith.
From Cert Require Import Spec Trie Check.
Import ListNotations.
Local Open Scope Z_scope.

Record table := Table { every : list row; by_node : trie row }.

Fixpoint enter (u : node) (rest : list row) (t : trie row) : trie row :=
  match rest with
  | [] => t
  | r :: rest' => enter (u + 1) rest' (update (key u) (fun _ => r) t)
  end.

Definition tabulate (all : list row) : table := Table all (enter 0 all Leaf).

(* At a terminal state; among the steps of a row, whose numerators are positive and have the sum d;
   or lost, which no table that is accepted comes to.                                              *)
Inductive state := At (x : node) | Among (d : Z) (steps : list (node * Z)) | Lost.

Fixpoint possible (steps : list (node * Z)) : list (node * Z) :=
  match steps with
  | [] => []
  | (v, w) :: steps' => if 0 <? w then (v, w) :: possible steps' else possible steps'
  end.

(* One step that is left is taken: it needs no bit.                                                *)
Definition settle (go : node -> state) (d : Z) (steps : list (node * Z)) : state :=
  match steps with [(v, _)] => go v | _ => Among d steps end.

(* A path is no longer than there are rows: [fuel].                                                *)
Fixpoint arrive (fuel : list row) (t : trie row) (v : node) : state :=
  match fuel with
  | [] => Lost
  | _ :: fuel' =>
      match find (key v) t with
      | None => Lost
      | Some (Terminal _) => At v
      | Some (Inner d steps) => settle (arrive fuel' t) d (possible steps)
      end
  end.

(* Of the doubled numerators, those in the first d, and those after it.                            *)
Fixpoint lower (d : Z) (steps : list (node * Z)) : list (node * Z) :=
  match steps with
  | [] => []
  | (v, w) :: steps' => if 2 * w <? d then (v, 2 * w) :: lower (d - 2 * w) steps' else [(v, d)]
  end.

Fixpoint double (steps : list (node * Z)) : list (node * Z) :=
  match steps with [] => [] | (v, w) :: steps' => (v, 2 * w) :: double steps' end.

Fixpoint upper (d : Z) (steps : list (node * Z)) : list (node * Z) :=
  match steps with
  | [] => []
  | (v, w) :: steps' =>
      if 2 * w <=? d then upper (d - 2 * w) steps' else (v, 2 * w - d) :: double steps'
  end.

Definition start (t : table) : state := arrive (every t) (by_node t) 0.

Definition feed (t : table) (s : state) (bit : bool) : state :=
  match s with
  | Among d steps =>
      settle (arrive (every t) (by_node t)) d (if bit then upper d steps else lower d steps)
  | _ => s
  end.
