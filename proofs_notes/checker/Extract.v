(* Extraction to OCaml with Zarith's integers.  Every line below is trusted.                       *)
From Coq Require Import ZArith ExtrOcamlBasic.
From Cert Require Import Spec Trie Check Draw Samples Bare Dags.

Extract Inductive positive => "Z.t"
  [ "(fun p -> Z.succ (Z.shift_left p 1))" "(fun p -> Z.shift_left p 1)" "Z.one" ]
  "(fun odd even one p -> if Z.equal p Z.one then one () else if Z.is_odd p then odd (Z.shift_right p 1) else even (Z.shift_right p 1))".
Extract Inductive Z => "Z.t"
  [ "Z.zero" "(fun p -> p)" "Z.neg" ]
  "(fun zero pos neg z -> let s = Z.sign z in if s = 0 then zero () else if s > 0 then pos z else neg (Z.neg z))".
Extract Inlined Constant Z.add => "Z.add".
Extract Inlined Constant Z.mul => "Z.mul".
Extract Inlined Constant Z.sub => "Z.sub".
Extract Inlined Constant Z.abs => "Z.abs".
Extract Inlined Constant Z.gcd => "Z.gcd".
Extract Inlined Constant Z.eqb => "Z.equal".
Extract Inlined Constant Z.ltb => "Z.lt".
Extract Inlined Constant Z.leb => "Z.leq".
Extract Inlined Constant Z.div => "(fun a b -> if Z.equal b Z.zero then Z.zero else Z.fdiv a b)".
Extract Inlined Constant Z.to_pos => "(fun z -> Z.max z Z.one)".

Separate Extraction Check.start Check.step Check.finish Samples.start Samples.step Samples.finish
  Bare.start Bare.step Bare.finish Dags.check check_reported tabulate Draw.start feed.
