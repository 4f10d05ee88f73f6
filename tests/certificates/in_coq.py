"""The verdicts of the extracted program, of Coq's own evaluation of `check`, and of Python.

`python -m tests.certificates.in_coq [COUNT [EVERY]]`: needs Coq, which gets one text in EVERY, and
takes 35 ms for each.
"""

import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from reference.certificates import check_certificate, write_certificate
from tests.certificates.corruptions import RIGHT, WRONG
from tests.certificates.drawn import sampler, with_a_number_changed, words_of
from tests.certificates.mutants import CHECKER, MANY, branches, build

MODULES = ("Spec", "Trie", "Check")
RELATIONS = {"=": "Equal", "<=": "AtMost", ">=": "AtLeast"}


def texts(folder: Path, count: int) -> list[str]:
    """Those of the tests, and random ones with and without a number changed."""
    result = [*RIGHT, *WRONG.values()]
    rng = random.Random(4)
    for _ in range(count):
        relation = rng.choice(["=", "<=", ">="])
        scale = None if relation == "=" else rng.choice([None, 1, 1000, 10**30])
        path = folder / "certificate"
        write_certificate(path, *sampler(rng), claim=relation, scale=scale)
        result += [path.read_text(), with_a_number_changed(rng, path.read_text())]
    return [text for text in result if len(text) < 10_000]


def term(text: str) -> str:
    """A text that the program has read, as a Coq term."""
    ((nodes,), arithmetic, z, (relation, *tv)), listed = words_of(text)
    kept = "Exact" if arithmetic == ["exact"] else f"(Rounded ({arithmetic[1]}))"
    numbers = [f"({number})" for number in (*z, *tv)]
    head = f"Head ({nodes}) {kept} {numbers[0]} {numbers[1]} {RELATIONS[relation]} "
    rows = []
    for kind, *words in listed:
        if kind == "t":
            rows.append(f"Terminal ({words[0]})")
        else:
            steps = zip(words[1::2], words[2::2], strict=True)
            rows.append(f"Inner ({words[0]}) [{'; '.join(f'({v}, {w})' for v, w in steps)}]")
    return f"check (Cert ({head}{numbers[2]} {numbers[3]}) [{'; '.join(rows)}])"


def verdicts(folder: Path, drawn: list[str]) -> list[tuple[str, bool]]:
    """The texts that the program reads, and whether it accepts them, as Python must."""
    paths = [folder / f"text{number}" for number in range(len(drawn))]
    for path, text in zip(paths, drawn, strict=True):
        path.write_text(text)
    run = subprocess.run(
        [build(folder, *MANY, counts=True), "-"], cwd=folder, check=True, capture_output=True,
        input="".join(f"{path}\n" for path in paths), text=True,
    )  # fmt: skip
    said = re.findall(r"^status (\d)$", run.stdout, re.MULTILINE)
    result = []
    for path, text, status in zip(paths, drawn, said, strict=True):
        if status != "2" and text.endswith("end\n"):
            result.append((text, status == "0"))
            assert check_certificate(path).accepted == result[-1][1]
    return result


def main() -> None:
    """Prints how many verdicts were compared."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    every = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compared = verdicts(folder, texts(folder, count))
        taken = branches(folder, "check")
        in_both = random.Random(5).sample(compared, len(compared) // every)
        terms = [term(text) for text, _ in in_both]
        for module in MODULES:
            shutil.copy(CHECKER / f"{module}.v", folder)
        (folder / "Verdicts.v").write_text(
            "From Coq Require Import List ZArith.\nFrom Cert Require Import Spec Check.\n"
            "Import ListNotations.\nLocal Open Scope Z_scope.\n"
            + "".join(
                f'Goal True. let r := eval vm_compute in ({term}) in idtac "verdict" r. Abort.\n'
                for term in terms
            )
        )
        for module in (*MODULES, "Verdicts"):
            command = ["coqc", "-q", "-Q", ".", "Cert", f"{module}.v"]
            run = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    in_coq = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("verdict")]
    assert in_coq == [str(accepted).lower() for _, accepted in in_both]
    print(
        f"{len(compared):,} texts, {sum(accepted for _, accepted in compared):,} of them accepted: "
        f"OCaml and Python agree, and Coq on {len(in_both):,} of them; {sum(map(bool, taken))} of "
        f"the {len(taken)} branches of check.ml are taken"
    )


if __name__ == "__main__":
    main()
