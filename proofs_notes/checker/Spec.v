(* What an accepted certificate is right about.  Nothing here is run: [right] at the end is the
   claim, and [check_sound] of Sound.v proves it of every certificate that [check] accepts.        *)
From Coq Require Import List ZArith QArith Qabs.
Import ListNotations.
Local Open Scope Q_scope.

(* What the reader hands over: numbers of any size and sign, nothing is assumed about them.        *)
Definition node := Z.
Inductive row :=
  | Terminal (reward : Z)
  | Inner (denominator : Z) (steps : list (node * Z)).       (* (child, numerator of p_F)          *)
Inductive relation := Equal | AtMost | AtLeast.
Inductive arithmetic := Exact | Rounded (scale : Z).         (* how to compute: no part of a claim *)
Record head := Head {
  size : Z;                                                  (* the number of rows                 *)
  arith : arithmetic;
  reward_sum : Z; reward_den : Z;                            (* Z = reward_sum / reward_den, the   *)
  claim : relation; tv_num : Z; tv_den : Z                   (* denominator of all rewards; TV is  *)
}.                                                           (* [claim] tv_num / tv_den            *)
Record cert := Cert { given : head; rows : list row }.       (* row i is that of node i            *)
Definition ratio (a b : Z) : Q := inject_Z a / inject_Z b.
Definition holds (r : relation) (a b : Q) : Prop :=
  match r with Equal => a == b | AtMost => a <= b | AtLeast => b <= a end.

Section Meaning.
Variable c : cert.
Notation h := (given c).

(* The graph.  Node 0 is s_o; terminal states are the nodes without children.                      *)
Definition nodes : list node := map Z.of_nat (seq 0 (length (rows c))).
Definition row_of (u : node) : option row :=
  if (u <? 0)%Z then None else nth_error (rows c) (Z.to_nat u).
Definition children (u : node) : list node :=
  match row_of u with Some (Inner _ steps) => map fst steps | _ => [] end.
Definition edge (u v : node) : Prop := In v (children u).
Definition terminals : list node :=
  filter (fun x => match children x with [] => true | _ => false end) nodes.

(* p_F(v | u) and R(x).                                                                            *)
Definition pF (u v : node) : Q :=
  match row_of u with
  | Some (Inner d steps) =>
      match find (fun step => Z.eqb (fst step) v) steps with
      | Some (_, w) => ratio w d
      | None => 0
      end
  | _ => 0
  end.
Definition R (x : node) : Q :=
  match row_of x with Some (Terminal r) => ratio r (reward_den h) | _ => 0 end.

(* A path s_0 -> s_1 -> ... -> s_T is given by s_0 and the list [s_1; ...; s_T].                   *)
Fixpoint path (u : node) (t : list node) : Prop :=
  match t with [] => True | v :: t' => edge u v /\ path v t' end.
Fixpoint weight (u : node) (t : list node) : Q :=
  match t with [] => 1 | v :: t' => pF u v * weight v t' end.
Definition trajectory (x : node) (t : list node) : Prop := path 0%Z t /\ last t 0%Z = x.

(* q = p_T(x): the sum of the weights of all trajectories from s_o to x, each counted once.        *)
Definition sum (qs : list Q) : Q := fold_right Qplus 0 qs.
Definition is_pT (x : node) (q : Q) : Prop :=
  exists ts, NoDup ts /\ (forall t, In t ts <-> trajectory x t) /\ q == sum (map (weight 0%Z) ts).

(* Z, and the total variation between a law p on the terminal states and R / Z.                    *)
Definition partition : Q := sum (map R terminals).
Definition TV (p : node -> Q) : Q :=
  (1 # 2) * sum (map (fun x => Qabs (p x - R x / partition)) terminals).

Record right : Prop := Right {
  size_claimed : Z.of_nat (length (rows c)) = size h;
  edges_in_graph : forall u v, edge u v -> In u nodes /\ In v nodes;
  edges_once : forall u, NoDup (children u);
  acyclic : forall u t, path u t -> last t u = u -> t = [];
  one_source : In 0%Z nodes /\ forall v, In v nodes -> ((forall u, ~ edge u v) <-> v = 0%Z);
  pF_nonnegative : forall u v, 0 <= pF u v;
  pF_normalised : forall u, In u nodes -> ~ In u terminals -> sum (map (pF u) (children u)) == 1;
  R_given : forall x, In x terminals -> exists r, row_of x = Some (Terminal r);
  R_nonnegative : forall x, 0 <= R x;
  Z_positive : 0 < partition;
  Z_claimed : partition == ratio (reward_sum h) (reward_den h);
  TV_claimed : exists pT, (forall x, In x terminals -> is_pT x (pT x)) /\
                          holds (claim h) (TV pT) (ratio (tv_num h) (tv_den h))
}.
End Meaning.
