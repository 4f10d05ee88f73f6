(* Lifts are trivial exactly where no inner state has two parents (trees).                        *)
From mathcomp Require Import all_ssreflect.
From Pdai Require Import Dag Lift LatentLift Example.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(* No inner state has two parents; branches may still meet in terminal states.                    *)
Definition inner_tree (G : dag) :=
  forall u u' v : G, ~~ terminal v -> edge u v -> edge u' v -> u = u'.

Theorem tree_lifts_are_trivial (G : pointedDAG) (L : lift G) :
  inner_tree G -> injective (base : L -> G).
Proof.
move=> tree u v uv; case tu: (terminal (base u)); first exact: base_terminal uv.
have {tu} := negbT tu; elim/topological_ind: u v uv => u IH v uv nu.
have [us|us] := eqVneq u src.
  by apply/esym/eqP; rewrite us -base_eq_src -uv us base_src.
have /forallPn[a] : ~~ source u by rewrite src_unique.
rewrite negbK => au; have /forallPn[b] : ~~ source v.
  by rewrite src_unique -base_eq_src -uv base_eq_src.
rewrite negbK => bv; have ab : base a = base b.
  by apply: (tree _ _ (base u) nu); [|rewrite uv]; apply: base_edge.
rewrite (edge_step au) (edge_step bv) -uv; congr (step _ _); apply: IH => //.
by apply/forallPn; exists (base u); rewrite negbK base_edge.
Qed.

(* Conversely, two parents of an inner state give it two lifts, if the latent is the history.     *)
Theorem history_lift_of_tree (G : pointedDAG) :
  injective (base : latent_lift (fun (s : G) W => rcons W s) [::] -> G) -> inner_tree G.
Proof.
set L := latent_lift _ _ => inj u u' v nv uv u'v.
have lift_of w : edge w v -> exists2 p, last src p = w &
    exists x : L, val x = (v, Some (rcons p v)).
  move=> wv; have [p /andP[sp /eqP pw]] := reached w; exists p => //.
  apply/latent_lift_nodes; exists (rcons p v); first by rewrite rcons_path sp pw.
  by rewrite run_history ?last_rcons // rcons_path sp pw.
have [p pu [x xv]] := lift_of u uv; have [q qu' [y yv]] := lift_of u' u'v.
have xy : x = y by apply: inj; rewrite /base /= /latent_base xv yv.
by move: xv; rewrite xy yv => -[/rcons_inj[qp]]; rewrite -pu -qu' qp.
Qed.
