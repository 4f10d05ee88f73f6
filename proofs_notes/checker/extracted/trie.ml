
type key =
| One
| Even of key
| Odd of key

(** val key_of : Z.t -> key **)

let rec key_of p =
  (fun odd even one p -> if Z.equal p Z.one then one () else if Z.is_odd p then odd (Z.shift_right p 1) else even (Z.shift_right p 1))
    (fun p0 -> Odd (key_of p0))
    (fun p0 -> Even (key_of p0))
    (fun _ -> One)
    p

type 'a trie =
| Leaf
| Node of 'a trie * 'a option * 'a trie

(** val find : key -> 'a1 trie -> 'a1 option **)

let rec find k = function
| Leaf -> None
| Node (l, o, r) ->
  (match k with
   | One -> o
   | Even k0 -> find k0 l
   | Odd k0 -> find k0 r)

(** val update : key -> ('a1 option -> 'a1) -> 'a1 trie -> 'a1 trie **)

let rec update k f t =
  match k with
  | One ->
    (match t with
     | Leaf -> Node (Leaf, (Some (f None)), Leaf)
     | Node (l, o, r) -> Node (l, (Some (f o)), r))
  | Even k0 ->
    (match t with
     | Leaf -> Node ((update k0 f Leaf), None, Leaf)
     | Node (l, o, r) -> Node ((update k0 f l), o, r))
  | Odd k0 ->
    (match t with
     | Leaf -> Node (Leaf, None, (update k0 f Leaf))
     | Node (l, o, r) -> Node (l, o, (update k0 f r)))

(** val branch : 'a1 trie -> 'a1 option -> 'a1 trie -> 'a1 trie **)

let branch l o r =
  match l with
  | Leaf ->
    (match o with
     | Some _ -> Node (l, o, r)
     | None -> (match r with
                | Leaf -> Leaf
                | Node (_, _, _) -> Node (l, o, r)))
  | Node (_, _, _) -> Node (l, o, r)

(** val remove : key -> 'a1 trie -> 'a1 trie **)

let rec remove k = function
| Leaf -> Leaf
| Node (l, o, r) ->
  (match k with
   | One -> branch l None r
   | Even k0 -> branch (remove k0 l) o r
   | Odd k0 -> branch l o (remove k0 r))
