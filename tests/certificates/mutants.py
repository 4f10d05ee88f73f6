"""Mutants of the extracted program: in each, one test or operation is another."""

import re
import subprocess
from pathlib import Path

CHECKER = Path(__file__).parents[2] / "proofs_notes" / "checker"
EXTRACTED = ("spec", "trie", "check", "draw", "samples", "bare", "datatypes", "dags")
TWO = "((fun p -> p) ((fun p -> Z.shift_left p 1) Z.one))"
CEILING = "(Z.add (Z.mul q w) (Z.sub d ((fun p -> p) Z.one)))"

# What is replaced must be in the file once: then a mutant is what it says.
MUTANTS: dict[str, tuple[str, str, str]] = {
    "row sum": ("check", "if Z.equal total d", "if true"),
    "negative numerator": ("check", "then if Z.leq Z.zero w", "then if true"),
    "child in range": ("check", "then if Z.lt v h.size", "then if true"),
    "children increase": ("check", "if Z.lt before v", "if true"),
    "absolute value": ("check", "(Z.abs (Z.sub (Z.mul p s) (Z.mul r q)))",
                       "(Z.sub (Z.mul p s) (Z.mul r q))"),
    "Z": ("check", "if Z.equal s.collected h.reward_sum", "if true"),
    "number of nodes": ("check", "if Z.equal s.next h.size", "if true"),
    "positive Z": ("check", "if Z.lt Z.zero h.reward_sum", "if true"),
    "reward denominator": ("check", "if Z.lt Z.zero h.reward_den", "if true"),
    "TV denominator": ("check", "if Z.lt Z.zero h.tv_den", "if true"),
    "scale": ("check", "Rounded scale -> Z.lt Z.zero scale", "Rounded scale -> true"),
    "negative reward": ("check", "if Z.leq Z.zero r0", "if true"),
    "row denominator": ("check", "if Z.lt Z.zero d", "if true"),
    "one half": ("check", TWO, "Z.one"),
    "other parents": ("check", "| Some x -> plus a x new0", "| Some x -> new0"),
    "denominator of a row": ("check", "((Z.mul p w), (Z.mul q d))", "((Z.mul p w), q)"),
    "common denominator": ("check", "(Z.mul r q')), (Z.mul q' s))", "(Z.mul r q')), (Z.mul q s))"),
    "sum of gaps": ("check", "(plus h.arith s.gaps (gap h.arith x h.reward_sum r0))",
                    "(gap h.arith x h.reward_sum r0)"),
    "at most, by the lower end": ("check", "AtMost -> Z.leq (Z.mul hi h.tv_den)",
                                  "AtMost -> Z.leq (Z.mul lo h.tv_den)"),
    "at least, by the upper end": ("check", "AtLeast -> Z.leq claimed (Z.mul lo h.tv_den)",
                                   "AtLeast -> Z.leq claimed (Z.mul hi h.tv_den)"),
    "at most for at least": ("check", "AtLeast -> Z.leq claimed (Z.mul lo h.tv_den)",
                             "AtLeast -> Z.leq (Z.mul lo h.tv_den) claimed"),
    "equal, by the lower end": ("check", "then Z.equal (Z.mul hi h.tv_den) claimed", "then true"),
    "equal, by the upper end": ("check", "if Z.equal (Z.mul lo h.tv_den) claimed", "if true"),
    "upper end rounded down": ("check", CEILING, "(Z.mul q w)"),
    "upper end not rounded up enough": ("check", "(Z.sub d ((fun p -> p) Z.one))", "(Z.sub d d)"),
    "upper end of a sum": ("check", "| Rounded _ -> ((Z.add p r), (Z.add q s))",
                           "| Rounded _ -> ((Z.add p r), q)"),
    "lower end of a sum": ("check", "| Rounded _ -> ((Z.add p r), (Z.add q s))",
                           "| Rounded _ -> (p, (Z.add q s))"),
    "largest gap": ("check", "(if Z.leq (Z.abs lo) (Z.abs hi) then Z.abs hi else Z.abs lo)",
                    "(Z.abs hi)"),
    "smallest gap": ("check", "else if Z.leq hi Z.zero then Z.abs hi else Z.zero",
                     "else Z.abs lo"),
    "binary keys": ("trie", "(fun p0 -> Odd (key_of p0))", "(fun p0 -> Even (key_of p0))"),
    "update of the other branch": ("trie", "Node (l, o, r) -> Node (l, o, (update k0 f r))",
                                   "Node (l, o, r) -> Node (l, o, (update k0 f l))"),
    "number of samples": ("samples", "if Z.equal s.seen h.count", "if true"),
    "sum of weights": ("samples", "if Z.equal s.sum h.weights", "if true"),
    "capital below": ("samples", "if Z.equal (total s.low) h.won_low", "if true"),
    "capital above": ("samples", "if Z.equal (total s.high) h.won_high", "if true"),
    "enough won": ("samples", "Z.leq (total (each h.scale bets)) won", "true"),
    "Z not below zero": ("samples", "if Z.leq Z.zero h.z_low", "if true"),
    "positive level": ("samples", "if Z.lt Z.zero h.level_num then if Z.lt Z.zero h.level_den",
                       "if true then if true"),
    "half of the level": ("samples", "h.level_num) (Z.mul ((fun p -> p) ((fun p -> "
                          "Z.shift_left p 1) Z.one)) h.level_den)", "h.level_num) h.level_den"),
    "number of bare samples": ("bare", "if Z.equal s.at_now.seen c.draws", "if true"),
    "trace": ("bare", "if Z.equal s.traced c.trace", "if true"),
    "capital of bare samples": ("bare", "if Z.equal (together s.capitals) c.gained", "if true"),
    "enough won by bare samples": ("bare", "Z.leq (together (opening c.grid thresholds)) c.gained",
                                   "true"),
    "a weight below zero": ("bare", "if Z.leq Z.zero w then", "if true then"),
    "a law without weight": ("bare", "if Z.lt Z.zero sum", "if true"),
    "claim below zero": ("bare", "if Z.leq Z.zero c.least", "if true"),
    "values from 0 on": ("bare", "if Z.leq Z.zero j", "if true"),
    "events chosen once": ("bare", "if Z.equal n v.next", "if Z.equal n Z.one"),
    "too often, by its weight": ("bare", "Z.sub (Z.mul c total0) (Z.mul n w)",
                                 "Z.mul c total0"),
    "the weight of an event": ("bare", "then Z.add sum w else sum", "then sum else sum"),
    "counts of the draws so far": ("bare", "| Some k -> Z.add k ((fun p -> p) Z.one)",
                                   "| Some k -> k"),
    "the sum over graphs": ("dags", "if Z.equal z c.whole", "if true"),
    "an edge": ("dags", "if Z.equal (fst p) (fst q)", "if true"),
    "a path": ("dags", "then Z.equal (snd p) (snd q)", "then true"),
    "a float of an edge": ("dags", "if near z r.denominator r.edge_error (fst x) (fst p)",
                           "if true"),
    "a float of a path": ("dags", "then near z r.denominator r.path_error (snd x) (snd p)",
                          "then true"),
    "signs of the sum": ("dags", "minus (fold zero minus times a ws0)",
                         "(fun x y -> minus x (minus zero y)) (fold zero minus times a ws0)"),
    "sums over subsets": ("dags", "Node (a0, (zip plus a0 (subsets plus b)))",
                          "Node (a0, (subsets plus b))"),
    "nodes without a row": ("dags", "trees (length c.weights) c.weights", "trees O []"),
}  # fmt: skip

# The draws of these are others.
DOUBLE = "(Z.mul ((fun p -> p) ((fun p -> Z.shift_left p 1) Z.one)) w)"
DRAW_MUTANTS: dict[str, tuple[str, str, str]] = {
    "a half that is not doubled": ("draw", f"else (v, (Z.sub {DOUBLE} d))",
                                   "else (v, (Z.sub d w))"),
    "the end of a share in both halves": ("draw", f"if Z.leq {DOUBLE} d", f"if Z.lt {DOUBLE} d"),
    "too much in the lower half": ("draw", f"(lower (Z.sub d {DOUBLE}) steps')",
                                   "(lower d steps')"),
    "the first step that is left": ("draw", "| _ :: _ -> Among (d, steps)", "| _ :: _ -> go v"),
    "steps of probability 0": ("draw", "if Z.lt Z.zero w", "if Z.leq Z.zero w"),
}  # fmt: skip


# Files that are named on the standard input, one after the other, by the program itself.
MANY = (
    "main",
    "[ path ] -> guarded (fun () -> main (opened path))",
    """[ _ ] -> (try while true do
      let channel = open_in_bin (input_line stdin) in
      Printf.printf "status %d\\n" (guarded (fun () -> main channel));
      close_in channel
    done with End_of_file -> ()); 0""",
)


def build(
    folder: Path, module: str = "", old: str = "", new: str = "", *, counts: bool = False
) -> Path:
    """Compiles the program in a folder, with a text of one of its modules replaced.

    A mutant is compiled to bytecode, which takes a quarter of the time. With `counts`, runs in the
    folder leave there how often each branch was taken.
    """
    files = [*(CHECKER / "extracted" / f"{name}.ml" for name in EXTRACTED)]
    for file in (*files, CHECKER / "main.ml"):
        source = file.read_text()
        if file.stem == module:
            flat = " ".join(source.split())
            assert flat.count(old) == 1, (old, flat.count(old))
            source = flat.replace(old, new)
        (folder / file.name).write_text(source)
    names = [*(file.name for file in files), "main.ml"]
    compiler = ["ocamlcp", "-P", "a"] if counts else ["ocamlc" if module else "ocamlopt"]
    options = ["-w", "-a", "-package", "zarith", "-linkpkg", "-o", "program"]
    subprocess.run(["ocamlfind", *compiler, *options, *names], cwd=folder, check=True)
    return folder / "program"


def branches(folder: Path, module: str) -> list[int]:
    """The times that each branch of a module was taken, in the runs in a folder."""
    ask = ["ocamlprof", f"{module}.ml"]
    run = subprocess.run(ask, cwd=folder, check=True, capture_output=True, text=True)
    return [int(count) for count in re.findall(r"\(\* (\d+) \*\)", run.stdout)]
