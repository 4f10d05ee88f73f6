(* The checker of statistical certificates of bare samples: what is run.  Values come one by one, each
   as its number in a listed law.  Bets are on events that the values before choose, by a rule that
   is a part of the program.  What is accepted is seldom wrong: [refuted_is_seldom_wrong] of
   BareSound.v.                                                                                    *)
From Coq Require Import List ZArith.
From Cert Require Import Trie Samples.
Import ListNotations.
Local Open Scope Z_scope.

(* What the reader hands over, beside the weights of the law: nothing is assumed about them.       *)
Record claim := Claim {
  grid : Z;                                                  (* capital: multiples of 1 / grid     *)
  odds_num : Z; odds_den : Z;                                (* the level                          *)
  least : Z; least_den : Z;                                  (* TV is at least                     *)
  draws : Z; trace : Z;                                      (* samples, and their [traced]        *)
  gained : Z                                                 (* the capital at the end             *)
}.

(* Squares of scores: an event has the values that came more often than the law says, by more than
   0, 2 or 4 standard deviations.                                                                  *)
Definition thresholds : list Z := [0; 4; 16].

Definition key (j : Z) : key := key_of (Z.to_pos (j + 1)).

Record law := Law { weights : list Z; table : trie Z; whole : Z }.

Fixpoint fill (j : Z) (ws : list Z) (t : trie Z) : trie Z :=
  match ws with [] => t | w :: ws' => fill (j + 1) ws' (update (key j) (fun _ => w) t) end.

(* The sum of weights; none if one is negative.                                                    *)
Fixpoint add (ws : list Z) (sum : Z) : option Z :=
  match ws with [] => Some sum | w :: ws' => if 0 <=? w then add ws' (sum + w) else None end.

Definition counted (j : Z) (counts : trie Z) : Z :=
  match find (key j) counts with None => 0 | Some c => c end.

(* A value of weight w that came c times in n has a score above the root of z.                     *)
Definition above (z n total w c : Z) : bool :=
  let over := c * total - n * w in
  if 0 <? over then z * (n * w * total) <? over * over else false.

Fixpoint mass (z n total : Z) (counts : trie Z) (j : Z) (ws : list Z) (sum : Z) : Z :=
  match ws with
  | [] => sum
  | w :: ws' =>
      mass z n total counts (j + 1) ws'
        (if above z n total w (counted j counts) then sum + w else sum)
  end.

Fixpoint masses (zs : list Z) (n total : Z) (counts : trie Z) (ws : list Z) : list Z :=
  match zs with
  | [] => []
  | z :: zs' => mass z n total counts 0 ws 0 :: masses zs' n total counts ws
  end.

(* What was seen: events are chosen by the first sample, the first two, the first four, and so on.  *)
Record view := View {
  seen : Z; next : Z; counts : trie Z;
  fixed_at : Z; fixed : trie Z; inside : list Z              (* the weights of the events          *)
}.

Definition unseen (l : law) : view := View 0 1 Leaf 0 Leaf (masses thresholds 0 (whole l) Leaf (weights l)).

Definition watch (l : law) (v : view) (j : Z) : view :=
  let n := seen v + 1 in
  let c := update (key j) (fun old => match old with None => 1 | Some k => k + 1 end) (counts v) in
  if n =? next v then View n (2 * n) c n c (masses thresholds n (whole l) c (weights l))
  else View n (next v) c (fixed_at v) (fixed v) (inside v).

(* Bets are those of Samples.v, on one event each, against its weight and the claim together.      *)
Definition game (c : claim) (l : law) : head :=
  Head 0 1 1 (grid c) (odds_num c) (odds_den c) 0 0 (least_den c * whole l) 0 0 0 0.

Fixpoint bet (c : claim) (l : law) (v : view) (j w : Z) (zs ms : list Z) (capitals : list (list Z))
    : list (list Z) :=
  match zs, ms, capitals with
  | z :: zs', m :: ms', capital :: capitals' =>
      settle (game c l) (m * least_den c + least c * whole l)
        (if above z (fixed_at v) (whole l) w (counted j (fixed v)) then grid c else 0) bets capital
      :: bet c l v j w zs' ms' capitals'
  | _, _, _ => []
  end.

Fixpoint opening (x : Z) (zs : list Z) : list (list Z) :=
  match zs with [] => [] | _ :: zs' => each x bets :: opening x zs' end.
Fixpoint together (capitals : list (list Z)) : Z :=
  match capitals with [] => 0 | c :: capitals' => total c + together capitals' end.

(* What is kept between two samples; [traced] is there so that each number that is changed is seen.   *)
Record state := State { law_of : law; at_now : view; traced : Z; capitals : list (list Z) }.

Definition start (c : claim) (ws : list Z) : option state :=
  match add ws 0 with
  | None => None
  | Some sum =>
      if 0 <? sum then if 0 <? grid c then if 0 <? odds_num c then if 0 <? odds_den c then
      if 0 <=? least c then if 0 <? least_den c then
        let l := Law ws (fill 0 ws Leaf) sum in
        Some (State l (unseen l) (grid c) (opening (grid c * odds_num c / odds_den c) thresholds))
      else None else None else None else None else None else None
  end.

Definition step (c : claim) (s : state) (j : Z) : option state :=
  if 0 <=? j then
    match find (key j) (table (law_of s)) with
    | None => None
    | Some w =>
        let v := at_now s in
        Some (State (law_of s) (watch (law_of s) v j) (traced s + (seen v + 1) * (j + 1))
                    (bet c (law_of s) v j w thresholds (inside v) (capitals s)))
    end
  else None.

(* All bets together have won 1 / level, on average, unless nothing is claimed.                     *)
Definition finish (c : claim) (s : state) : bool :=
  if seen (at_now s) =? draws c then if traced s =? trace c then if together (capitals s) =? gained c then
    if least c =? 0 then true else together (opening (grid c) thresholds) <=? gained c
  else false else false else false.

Fixpoint run (c : claim) (s : state) (js : list Z) : option state :=
  match js with
  | [] => Some s
  | j :: js' => match step c s j with None => None | Some s' => run c s' js' end
  end.

Definition check (c : claim) (ws js : list Z) : bool :=
  match start c ws with
  | None => false
  | Some s => match run c s js with None => false | Some s' => finish c s' end
  end.
