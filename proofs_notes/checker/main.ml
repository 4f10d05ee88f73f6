(* pdai-check: reads a certificate row by row, runs the extracted Check, Samples, Bare or Dags on it, prints the
   verdict and what was claimed, or draws from its table.  Exit status: 0 accepted, 1 refused, 2 not a
   certificate, or too few bits.

   Each line is written again from the numbers that were read, and must come out as it is in the
   file: the reading below is not trusted, only the writing (text_of_...) and [verdict].          *)

exception Malformed of string
exception Short of int

let malformed format = Printf.ksprintf (fun text -> raise (Malformed text)) format

(* As in reference.certificates.format, where they are explained.                                  *)
let max_digits = 4_000
let max_label = 10_000
let max_line = 100_000_000

(* Writing.                                                                                        *)

let add_pairs text pairs =
  List.iter
    (fun (a, b) ->
      Buffer.add_char text ' ';
      Buffer.add_string text (Z.to_string a);
      Buffer.add_char text ' ';
      Buffer.add_string text (Z.to_string b))
    pairs

let text_of_row (row, label) =
  let text = Buffer.create 256 in
  (match row with
  | Spec.Terminal reward ->
      Buffer.add_string text "t ";
      Buffer.add_string text (Z.to_string reward)
  | Spec.Inner (denominator, steps) ->
      Buffer.add_string text "i ";
      Buffer.add_string text (Z.to_string denominator);
      add_pairs text steps);
  Buffer.add_string text " | ";
  Buffer.add_string text label;
  Buffer.contents text

let text_of_sample ((s : Samples.sample), label) =
  let text = Buffer.create 256 in
  Buffer.add_char text 's';
  add_pairs text [ (s.reward, s.reward_den) ];
  Buffer.add_string text " f";
  add_pairs text s.forward;
  Buffer.add_string text " b";
  add_pairs text s.backward;
  Buffer.add_string text " | ";
  Buffer.add_string text label;
  Buffer.contents text

let relations = [ ("=", Spec.Equal); ("<=", Spec.AtMost); (">=", Spec.AtLeast) ]
let text_of_relation relation = fst (List.find (fun (_, r) -> r = relation) relations)

let text_of_head problem (h : Spec.head) =
  [
    "pdai-certificate 1";
    "problem " ^ problem;
    "nodes " ^ Z.to_string h.size;
    ("arithmetic "
    ^ match h.arith with Spec.Exact -> "exact" | Spec.Rounded scale -> "rounded " ^ Z.to_string scale);
    "Z " ^ Z.to_string h.reward_sum ^ " " ^ Z.to_string h.reward_den;
    "TV " ^ text_of_relation h.claim ^ " " ^ Z.to_string h.tv_num ^ " " ^ Z.to_string h.tv_den;
  ]

let text_of_samples problem (h : Samples.head) =
  let line name numbers = String.concat " " (name :: List.map Z.to_string numbers) in
  [
    "pdai-samples 1";
    "problem " ^ problem;
    line "samples" [ h.count ];
    line "scale" [ h.scale ];
    line "Z" [ h.z_low; h.z_high; h.z_den ];
    line "level" [ h.level_num; h.level_den ];
    line "TV" [ h.tv_low; h.tv_high; h.tv_den ];
    line "weights" [ h.weights ];
    line "won" [ h.won_low; h.won_high ];
  ]

let text_of_bare name values (c : Bare.claim) =
  let line name numbers = String.concat " " (name :: List.map Z.to_string numbers) in
  [
    "pdai-bare 1";
    "law " ^ name;
    line "values" [ values ];
    line "samples" [ c.draws ];
    line "scale" [ c.grid ];
    line "level" [ c.odds_num; c.odds_den ];
    line "TV" [ c.least; c.least_den ];
    line "trace" [ c.trace ];
    line "won" [ c.gained ];
  ]

let text_of_value (weight, label) = "v " ^ Z.to_string weight ^ " | " ^ label
let text_of_draw value = "x " ^ Z.to_string value

(* The numbers of sums over graphs are long: hexadecimal, which is read in linear time.            *)
let hexadecimal number = Z.format "%x" number

let text_of_dags name nodes whole bounds =
  let version, within =
    if bounds = [] then ("1", [])
    else ("2", [ String.concat " " ("within" :: List.map hexadecimal bounds) ])
  in
  [
    "pdai-dags " ^ version;
    "posterior " ^ name;
    "nodes " ^ string_of_int nodes;
    "Z " ^ hexadecimal whole;
  ]
  @ within

let text_of_weights (weights, label) =
  String.concat " " ("w" :: List.map hexadecimal weights) ^ " | " ^ label

let text_of_marginals kind (pairs, label) =
  let text (edge, path) = hexadecimal edge ^ " " ^ hexadecimal path in
  String.concat " " (kind :: List.map text pairs) ^ " | " ^ label

(* Reading.                                                                                        *)

let number text =
  let sign = if text <> "" && text.[0] = '-' then 1 else 0 in
  if String.length text - sign > max_digits then malformed "more than %d digits" max_digits;
  try Z.of_string text with Invalid_argument _ -> malformed "%S is no integer" text

let printable text = String.for_all (fun character -> ' ' <= character && character <= '~') text

let label text =
  if text = "" || String.length text > max_label || not (printable text) then
    malformed "a label must be 1 to %d printable ASCII characters" max_label;
  text

let rec steps read = function
  | [] -> List.rev read
  | child :: numerator :: rest -> steps ((number child, number numerator) :: read) rest
  | [ _ ] -> malformed "a child has no numerator, or a numerator no denominator"

let labelled read line =
  match String.index_opt line '|' with
  | Some bar when bar > 1 && bar + 2 <= String.length line ->
      let name = label (String.sub line (bar + 2) (String.length line - bar - 2)) in
      (read (String.split_on_char ' ' (String.sub line 0 (bar - 1))), name)
  | _ -> malformed "expected ' | LABEL' at the end of a row"

let row = function
  | [ "t"; reward ] -> Spec.Terminal (number reward)
  | "i" :: denominator :: rest -> Spec.Inner (number denominator, steps [] rest)
  | _ -> malformed "expected 't REWARD | LABEL' or 'i DENOMINATOR CHILD NUMERATOR ... | LABEL'"

let rec until word read = function
  | first :: rest when first = word -> (List.rev read, rest)
  | first :: rest -> until word (first :: read) rest
  | [] -> malformed "expected %S in a sample" word

let sample = function
  | "s" :: reward :: reward_den :: "f" :: rest ->
      let forward, backward = until "b" [] rest in
      Samples.
        {
          reward = number reward;
          reward_den = number reward_den;
          forward = steps [] forward;
          backward = steps [] backward;
        }
  | _ -> malformed "expected 's REWARD DENOMINATOR f NUMBERS b NUMBERS | LABEL'"

let samples lines =
  match List.map (String.split_on_char ' ') lines with
  | [ _; "problem" :: problem; [ "samples"; count ]; [ "scale"; scale ];
      [ "Z"; z_low; z_high; z_den ]; [ "level"; level_num; level_den ];
      [ "TV"; tv_low; tv_high; tv_den ]; [ "weights"; weights ]; [ "won"; won_low; won_high ] ] ->
      ( label (String.concat " " problem),
        Samples.
          {
            count = number count;
            scale = number scale;
            z_low = number z_low;
            z_high = number z_high;
            z_den = number z_den;
            level_num = number level_num;
            level_den = number level_den;
            tv_low = number tv_low;
            tv_high = number tv_high;
            tv_den = number tv_den;
            weights = number weights;
            won_low = number won_low;
            won_high = number won_high;
          } )
  | _ -> malformed "expected the lines problem, samples, scale, Z, level, TV, weights, won"

let value = function
  | [ "v"; weight ] -> number weight
  | _ -> malformed "expected 'v WEIGHT | LABEL'"

let drawn line =
  match String.split_on_char ' ' line with
  | [ "x"; value ] -> number value
  | _ -> malformed "expected 'x VALUE'"

let bare lines =
  match List.map (String.split_on_char ' ') lines with
  | [ _; "law" :: name; [ "values"; values ]; [ "samples"; draws ]; [ "scale"; grid ];
      [ "level"; odds_num; odds_den ]; [ "TV"; least; least_den ]; [ "trace"; trace ];
      [ "won"; gained ] ] ->
      ( label (String.concat " " name),
        number values,
        Bare.
          {
            grid = number grid;
            odds_num = number odds_num;
            odds_den = number odds_den;
            least = number least;
            least_den = number least_den;
            draws = number draws;
            trace = number trace;
            gained = number gained;
          } )
  | _ -> malformed "expected the lines law, values, samples, scale, level, TV, trace, won"

let hexadecimal_number text =
  try Z.of_string ("0x" ^ text) with Invalid_argument _ -> malformed "%S is no hexadecimal" text

let weights = function
  | "w" :: numbers -> List.map hexadecimal_number numbers
  | _ -> malformed "expected 'w WEIGHTS | NAME'"

let marginals kind = function
  | first :: numbers when first = kind ->
      let rec pairs read = function
        | [] -> List.rev read
        | edge :: path :: rest ->
            pairs ((hexadecimal_number edge, hexadecimal_number path) :: read) rest
        | [ _ ] -> malformed "an edge has no path"
      in
      pairs [] numbers
  | _ -> malformed "expected '%s EDGE PATH ... | NAME'" kind

let dags lines =
  match List.map (String.split_on_char ' ') lines with
  | _ :: ("posterior" :: name) :: [ "nodes"; nodes ] :: [ "Z"; whole ] :: rest
    when String.length nodes < 3 && int_of_string_opt nodes <> None ->
      let bounds =
        match rest with
        | [] -> []
        | [ [ "within"; edges; paths; over ] ] -> List.map hexadecimal_number [ edges; paths; over ]
        | _ -> malformed "expected 'within EDGES PATHS OVER'"
      in
      (label (String.concat " " name), int_of_string nodes, hexadecimal_number whole, bounds)
  | _ -> malformed "expected the lines posterior, nodes, Z"

let head lines =
  match List.map (String.split_on_char ' ') lines with
  | [ [ "pdai-certificate"; "1" ]; "problem" :: problem; [ "nodes"; size ]; "arithmetic" :: arith;
      [ "Z"; reward_sum; reward_den ]; [ "TV"; claim; tv_num; tv_den ] ] ->
      let arith =
        match arith with
        | [ "exact" ] -> Spec.Exact
        | [ "rounded"; scale ] -> Spec.Rounded (number scale)
        | _ -> malformed "expected 'arithmetic exact' or 'arithmetic rounded SCALE'"
      in
      let claim =
        try List.assoc claim relations with Not_found -> malformed "expected one of = <= >= in 'TV'"
      in
      ( label (String.concat " " problem),
        Spec.
          {
            size = number size;
            arith;
            reward_sum = number reward_sum;
            reward_den = number reward_den;
            claim;
            tv_num = number tv_num;
            tv_den = number tv_den;
          } )
  | _ -> malformed "expected the six lines pdai-certificate 1, problem, nodes, arithmetic, Z, TV"

let same written line =
  if written <> line then
    malformed "numbers must be decimal without leading zeros, with one space between"

(* The verdict: that of [Check.check], [Samples.check] or [Bare.check], on the rows in the order in
   which they are read.                                                                            *)

type outcome = Accepted | Refused of string

let verdict start step finish row_name last_names next_row =
  let rec from state =
    match next_row () with
    | None -> if finish state then Accepted else Refused last_names
    | Some row -> (
        match step state row with None -> Refused (row_name state) | Some state -> from state)
  in
  match start with None -> Refused "header" | Some state -> from state

let verdict_of_rows h =
  verdict (Check.start h) (Check.step h) (Check.finish h)
    (fun state -> "row of node " ^ Z.to_string state.Check.next)
    "number of rows, Z or TV"

let verdict_of_samples h =
  verdict (Samples.start h) (Samples.step h) (Samples.finish h)
    (fun state -> "sample " ^ Z.to_string (Z.succ state.Samples.seen))
    "number of samples, weights, or what was won"

let verdict_of_bare c weights =
  verdict (Bare.start c weights) (Bare.step c) (Bare.finish c)
    (fun state -> "sample " ^ Z.to_string (Z.succ state.Bare.at_now.Bare.seen))
    "number of samples, trace, or what was won"

(* a / b, rounded down to 12 places; in what was accepted, a >= 0 and b > 0.                       *)
let decimal a b =
  let one = Z.pow (Z.of_int 10) 12 in
  let whole, part = Z.div_rem (Z.div (Z.mul a one) b) one in
  Z.to_string whole ^ "." ^ Z.format "%012d" part

let report problem (h : Spec.head) =
  let claim name relation a b =
    Printf.printf "%s %s %s/%s = %s...\n" name relation (Z.to_string a) (Z.to_string b) (decimal a b)
  in
  Printf.printf "accepted\nproblem (as the file says): %s\nnodes = %s\n" problem (Z.to_string h.size);
  claim "Z" "=" h.reward_sum h.reward_den;
  claim "TV(p_T, R / Z)" (text_of_relation h.claim) h.tv_num h.tv_den

let report_samples problem (h : Samples.head) =
  let claim name a b =
    Printf.printf "%s %s/%s = %s...\n" name (Z.to_string a) (Z.to_string b) (decimal a b)
  in
  Printf.printf "accepted\nproblem (as the file says): %s\nsamples = %s\n" problem
    (Z.to_string h.count);
  claim "Z >=" h.z_low h.z_den;
  claim "Z <=" h.z_high h.z_den;
  claim "TV(p_F, R p_B / Z) >=" h.tv_low h.tv_den;
  claim "TV(p_F, R p_B / Z) <=" h.tv_high h.tv_den;
  Printf.printf "wrong with probability at most %s/%s, if Z lies between these bounds, and the\n"
    (Z.to_string h.level_num) (Z.to_string h.level_den);
  print_endline "samples are independent draws of p_F: this is assumed, and cannot be checked"

let report_bare name values (c : Bare.claim) =
  Printf.printf "accepted\nlaw (as the file says): %s\nvalues = %s\nsamples = %s\n" name
    (Z.to_string values) (Z.to_string c.draws);
  Printf.printf "TV(p_T, law) >= %s/%s = %s...\n" (Z.to_string c.least) (Z.to_string c.least_den)
    (decimal c.least c.least_den);
  Printf.printf "wrong with probability at most %s/%s, if the samples are independent draws of one\n"
    (Z.to_string c.odds_num) (Z.to_string c.odds_den);
  print_endline "sampler: this is assumed, and cannot be checked"

let report_dags name nodes bounds =
  Printf.printf "accepted\nposterior (as the file says): %s\nnodes = %d\n" name nodes;
  print_endline "the sum of all weights, and those with each edge and each path, are as the file says;";
  if bounds <> [] then print_endline "so are the bounds of its floats, edges and paths apart;";
  print_endline "the weights themselves, which come from scores, are taken as they are"

(* With [draw], the rows of a table are kept and given to it instead of a report.                  *)
let main ?draw channel =
  let kept = ref [] in
  let place = ref 0 in
  let next_line () =
    incr place;
    match input_line channel with
    | line when String.length line > max_line -> malformed "more than %d characters" max_line
    | line -> line
    | exception End_of_file -> malformed "the file ends here"
  in
  let read_same read text_of line =
    let row = read line in
    same (text_of row) line;
    row
  in
  let next read text_of keep () =
    match next_line () with
    | "end" -> (
        match input_char channel with
        | _ -> malformed "something follows 'end'"
        | exception End_of_file -> None)
    | line -> Some (keep (read_same read text_of line))
  in
  let print report = function
    | Accepted -> report (); 0
    | Refused what -> Printf.printf "refused: %s\n" what; 1
  in
  try
    match next_line () with
    | "pdai-samples 1" as first ->
        if Option.is_some draw then malformed "this certificate has no table to draw from";
        let lines = first :: List.init 8 (fun _ -> next_line ()) in
        let problem, h = samples lines in
        List.iter2 same (text_of_samples problem h) lines;
        print (fun () -> report_samples problem h)
          (verdict_of_samples h (next (labelled sample) text_of_sample fst))
    | "pdai-bare 1" as first ->
        if Option.is_some draw then malformed "this certificate has no table to draw from";
        let lines = first :: List.init 8 (fun _ -> next_line ()) in
        let name, values, c = bare lines in
        List.iter2 same (text_of_bare name values c) lines;
        let labels = Hashtbl.create 16 in
        let rec weights left read =
          if Z.sign left <= 0 then List.rev read
          else
            let weight, name = read_same (labelled value) text_of_value (next_line ()) in
            if Hashtbl.mem labels name then malformed "two values have the label %s" name;
            Hashtbl.add labels name ();
            weights (Z.pred left) (weight :: read)
        in
        let weights = weights values [] in
        print (fun () -> report_bare name values c)
          (verdict_of_bare c weights (next drawn text_of_draw Fun.id))
    | ("pdai-dags 1" | "pdai-dags 2") as first ->
        if Option.is_some draw then malformed "this certificate has no table to draw from";
        let count = if first = "pdai-dags 1" then 3 else 4 in
        let lines = first :: List.init count (fun _ -> next_line ()) in
        let name, nodes, whole, bounds = dags lines in
        List.iter2 same (text_of_dags name nodes whole bounds) lines;
        let rows read text_of =
          List.init nodes (fun _ -> read_same (labelled read) text_of (next_line ()))
        in
        let weights, names = List.split (rows weights text_of_weights) in
        let pairs kind =
          let pairs, names' = List.split (rows (marginals kind) (text_of_marginals kind)) in
          if names <> names' then malformed "the names of the nodes come in another order";
          pairs
        in
        let claim = Dags.{ weights; whole; marginals = pairs "m" } in
        let floats = if bounds = [] then [] else pairs "p" in
        if List.length (List.sort_uniq compare names) < nodes then malformed "two nodes have one name";
        if next_line () <> "end" then malformed "expected 'end'";
        (match input_char channel with
        | _ -> malformed "something follows 'end'"
        | exception End_of_file -> ());
        let right =
          match bounds with
          | [ edge_error; path_error; denominator ] ->
              Dags.(check_reported claim { denominator; edge_error; path_error; floats })
          | _ -> Dags.check claim
        in
        print (fun () -> report_dags name nodes bounds)
          (if right then Accepted
           else Refused "number of weights, Z, an edge, a path, or a float beyond its bound")
    | first ->
        let lines = first :: List.init 5 (fun _ -> next_line ()) in
        let problem, h = head lines in
        List.iter2 same (text_of_head problem h) lines;
        let keep row =
          if Option.is_some draw then kept := row :: !kept;
          fst row
        in
        print
          (fun () ->
            match draw with None -> report problem h | Some draw -> draw (List.rev !kept))
          (verdict_of_rows h (next (labelled row) text_of_row keep))
  with Malformed text -> malformed "line %d: %s" !place text

(* Draws.  [Law.v] is about the states that [Draw.feed] leads to, a bit at a time.                *)

let bits_of channel =
  let byte = ref 0 and left = ref 0 in
  fun () ->
    if !left = 0 then begin
      byte := input_byte channel;
      left := 8
    end;
    decr left;
    (!byte lsr !left) land 1 = 1

let draw table bit =
  let rec from = function
    | Draw.At x -> x
    | Draw.Among _ as state -> from (Draw.feed table state (bit ()))
    | Draw.Lost -> failwith "no table that is accepted comes to this"
  in
  from (Draw.start table)

let print_draws count bits kept =
  let rows, labels = List.split kept in
  let table = Draw.tabulate rows and labels = Array.of_list labels and bit = bits_of bits in
  for number = 1 to count do
    match draw table bit with
    | x -> print_endline labels.(Z.to_int x)
    | exception End_of_file -> raise (Short number)
  done

let opened path = if path = "-" then stdin else open_in_bin path

let usage = "usage: pdai-check CERTIFICATE, or pdai-check --sample COUNT CERTIFICATE [BITS]\n\
             (- for standard input; BITS is a file, by default /dev/urandom)"

let () =
  let guarded run =
    try run () with
    | Malformed text | Sys_error text -> prerr_endline ("not a certificate: " ^ text); 2
    | Short draw -> prerr_endline ("the bits end in draw " ^ string_of_int draw); 2
  in
  exit
    (match Array.to_list Sys.argv |> List.tl with
    | [ path ] -> guarded (fun () -> main (opened path))
    | "--sample" :: count :: path :: rest
      when int_of_string_opt count <> None && List.length rest < 2 ->
        let bits = match rest with [] -> "/dev/urandom" | bits :: _ -> bits in
        guarded (fun () ->
            main ~draw:(print_draws (int_of_string count) (opened bits)) (opened path))
    | _ -> prerr_endline usage; 2)
