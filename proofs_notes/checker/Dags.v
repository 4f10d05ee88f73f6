(* Sums over all DAGs, as a program.  A table over sets of nodes is a tree with a level for each
  node;
   [sums] has the sum of all weights, and those with each edge and each path, in n 3^n terms.  What
   [check] accepts is right: [check_sound] of DagsSound.v.  Numbers may be of any kind. *)
From Coq Require Import List ZArith.
Import ListNotations.

(* A value for each set of nodes: those without the first node, and those with it. *)
Inductive tree (A : Type) := Leaf (x : A) | Node (out : tree A) (within : tree A).
Arguments Leaf {A}. Arguments Node {A}.

Fixpoint every {A B} (f : A -> B) (l : list A) : list B :=
  match l with [] => [] | x :: l => f x :: every f l end.
Fixpoint numbers (first count : nat) : list nat :=
  match count with O => [] | S count => first :: numbers (S first) count end.
Fixpoint each {A B} (f : A -> B) (t : tree A) : tree B :=
  match t with Leaf x => Leaf (f x) | Node a b => Node (each f a) (each f b) end.
Fixpoint zip {A} (f : A -> A -> A) (s t : tree A) : tree A :=
  match s, t with
  | Leaf x, Leaf y => Leaf (f x y)
  | Node a b, Node c d => Node (zip f a c) (zip f b d)
  | _, _ => s
  end.
Definition off {A} (t : tree A) : tree A := match t with Node a _ => a | Leaf _ => t end.
Definition on {A} (t : tree A) : tree A := match t with Node _ b => b | Leaf _ => t end.
(* The value for the set without any more nodes, and another one in its place. *)
Fixpoint least {A} (t : tree A) : A := match t with Leaf x => x | Node a _ => least a end.
Fixpoint put {A} (x : A) (t : tree A) : tree A :=
  match t with Leaf _ => Leaf x | Node a b => Node (put x a) b end.
(* The halves for one of the later nodes, by its number. *)
Fixpoint cut {A} (side : tree A -> tree A) (v : nat) (t : tree A) : tree A :=
  match v, t with S v, Node a b => Node (cut side v a) (cut side v b) | _, _ => side t end.

Section Sums.
Context {N : Type} (zero one : N) (plus minus times : N -> N -> N).

(* W_v(U), the sum over the subsets. *)
Fixpoint subsets (t : tree N) : tree N :=
  match t with Leaf x => Leaf x | Node a b =>
    let a := subsets a in Node a (zip plus a (subsets b)) end.
(* The sum over T of (-1)^|T| prod over v in T of w_v times the value at T. *)
Fixpoint fold (t : tree N) (ws : list N) : N :=
  match t, ws with
  | Leaf x, _ => x
  | Node a b, w :: ws => minus (fold a ws) (times w (fold b ws))
  | Node _ _, [] => zero
  end.

(* The three walks pass the nodes one by one.  The set S has those that were taken, [ws] the weights
   of those that were left, the last one first, and [rest] those of the nodes to come; a tree of
   trees has one for S with each set of nodes that were left. *)

(* The sum over T of (-1)^|T| prod over v in T of W_v(U) x(U + T), for each U. *)
Fixpoint alternate (n : nat) (xs : tree (tree N)) (ws rest : list (tree N)) : tree N :=
  match n, rest with
  | S n, w :: rest =>
      Node (alternate n (Node (each off xs) (each on xs)) (off w :: every off ws) (every off rest))
           (alternate n (each on xs) (every on ws) (every on rest))
  | _, _ => Leaf (fold (each least xs) (every least ws))
  end.
(* H(U): the same of H itself, whose values at S alone are not used. *)
Fixpoint above (n : nat) (xs : tree (tree N)) (ws rest : list (tree N)) : tree N :=
  match n, rest with
  | S n, w :: rest =>
      let b := above n (each on xs) (every on ws) (every on rest) in
      Node (above n (Node (each off xs) (put b (each on xs))) (off w :: every off ws) (every off
        rest)) b
  | _, _ =>
      Leaf (match ws with
            | [] => one
            | _ => minus zero (fold (put zero (each least xs)) (every least ws))
            end)
  end.
(* A(S): what smaller sets send to it has come when it is reached, and it sends to larger ones. *)
Fixpoint spread (x : N) (ws : list N) : tree N :=
  match ws with
  | [] => Leaf x
  | w :: ws => let t := spread x ws in Node t (each (fun y => minus zero (times w y)) t)
  end.
Fixpoint below (n : nat) (xs : tree (tree N)) (ws rest : list (tree N)) :
    tree N * tree (tree N) :=
  match n, rest with
  | S n, w :: rest =>
      let (a, sent) :=
        below n (Node (each off xs) (each on xs)) (off w :: every off ws) (every off rest) in
      let (b, sent') := below n (on sent) (every on ws) (every on rest) in
      (Node a b, zip Node (off sent) sent')
  | _, _ =>
      let x := least (least xs) in
      (Leaf x, each Leaf (zip minus (each least xs) (spread x (every least ws))))
  end.

Fixpoint constant (n : nat) (x : N) : tree N :=
  match n with O => Leaf x | S n => let t := constant n x in Node t t end.
Fixpoint total (t : tree N) : N := match t with Leaf x => x | Node a b =>
  plus (total a) (total b) end.
Fixpoint without (v : nat) {A} (l : list A) : list A :=
  match v, l with S v, x :: l => x :: without v l | _, _ :: l => l | _, [] => [] end.

Fixpoint insert {A} (v : nat) (x : A) (l : list A) : list A :=
  match v, l with S v, y :: l => y :: insert v x l | _, _ => x :: l end.

(* For each node u: the sums with an edge from u to v, and with a path from v to u.  [weights] are
  the
   W_v, [n] is the number of other nodes. *)
Definition around (n : nat) (weights : list (tree N)) (a h : tree N) (v : nat) (w : tree N) :
    list (N * N) :=
  let w := cut off v w in
  let ws := every (cut off v) (without v weights) in
  let d := zip times (cut off v a) (alternate n (Leaf (cut on v h)) [] ws) in
  insert v (zero, least h) (every (fun u =>
    (total (zip times (cut on u d) (zip minus (cut on u w) (cut off u w))),
     total (zip times (cut off u d) (cut off u w)))) (numbers 0 n)).

Fixpoint numbered {A B} (f : nat -> A -> B) (v : nat) (l : list A) : list B :=
  match l with [] => [] | x :: l => f v x :: numbered f (S v) l end.

Definition sums (weights : list (tree N)) : N * list (list (N * N)) :=
  let n := length weights in
  let weights := every subsets weights in
  let a := fst (below n (Leaf (put one (constant n zero))) [] weights) in
  let h := above n (Leaf (constant n zero)) [] weights in
  (least h, numbered (around match n with O => O | S n => n end weights a h) 0 weights).
End Sums.

(* A claim in integers.  Weights are those of a node's sets of parents, from the empty to the full
  one, as
   binary numbers whose highest digit is the first node. *)
Record claim := Claim {
  weights : list (list Z);
  whole : Z;                                                 (* over all DAGs *)
  marginals : list (list (Z * Z))                            (* for each v, for each u: those with *)
}.                                                           (* u -> v, those with v -> ... -> u *)

Fixpoint grow (n : nat) (l : list Z) : option (tree Z * list Z) :=
  match n with
  | O => match l with x :: l => Some (Leaf x, l) | [] => None end
  | S n =>
      match grow n l with
      | Some (a, l) => match grow n l with Some (b, l) => Some (Node a b, l) | None => None end
      | None => None
      end
  end.
Fixpoint trees (n : nat) (rows : list (list Z)) : option (list (tree Z)) :=
  match rows with
  | [] => Some []
  | row :: rows =>
      match grow n row, trees n rows with Some (t, []), Some ts => Some (t :: ts) | _, _ => None end
  end.
Fixpoint same {A B} (equal : A -> B -> bool) (l : list A) (k : list B) : bool :=
  match l, k with
  | [], [] => true
  | x :: l, y :: k => if equal x y then same equal l k else false
  | _, _ => false
  end.
Definition same_pair (p q : Z * Z) : bool :=
  if Z.eqb (fst p) (fst q) then Z.eqb (snd p) (snd q) else false.

Definition check (c : claim) : bool :=
  match trees (length (weights c)) (weights c) with
  | Some ts =>
      let (z, rows) := sums Z0 (Zpos xH) Z.add Z.sub Z.mul ts in
      if Z.eqb z (whole c) then same (same same_pair) rows (marginals c) else false
  | None => false
  end.

(* The probabilities that were computed in floats from the same weights, with bounds of their errors:
   all over one number.  They are checked beside a claim, which is checked first. *)
Record reported := Reported {
  denominator : Z;
  edge_error : Z;
  path_error : Z;
  floats : list (list (Z * Z))                               (* in the order of the marginals *)
}.
(* x / z is at most e / u from p / u. *)
Definition near (z u e x p : Z) : bool :=
  Z.leb (Z.abs (Z.sub (Z.mul p z) (Z.mul x u))) (Z.mul e z).
Definition near_pair (z : Z) (r : reported) (x p : Z * Z) : bool :=
  if near z (denominator r) (edge_error r) (fst x) (fst p)
  then near z (denominator r) (path_error r) (snd x) (snd p) else false.
Definition check_reported (c : claim) (r : reported) : bool :=
  if Z.ltb Z0 (whole c) then
    if Z.ltb Z0 (denominator r) then
      if check c then same (same (near_pair (whole c) r)) (marginals c) (floats r) else false
    else false
  else false.
