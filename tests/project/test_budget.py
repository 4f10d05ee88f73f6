"""The size of the house: lines by room, and lines that a file of the core drags with it.

Each number may fall and not rise: a change that needs more says so here, with its reason. Where a
room has become smaller, its number may be lowered, and need not be.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
OURS = ("reference", "fast", "pdai", "verify")
# The faces of packages and what they import are counted, and the names that they load when used.
CLOSURES = {
    "reference.lifted": 1_034,
    # Logarithms of long fractions that have all digits: 4.
    "fast.environments.grid": 1_713,
    "fast.dynamics.srwm": 1_995,
    "fast.balance.losses": 3_095,
    # The check of a user's backward policy: 20.
    "fast.training.trainer": 7_449,
}


# Lines of each room: at most so many now, and the goal. Compiled sums over DAGs are 260 lines of
# posterior; growth, and rates by one policy in all libraries, 170 of benchmarks; seconds beside
# gfnx seed by seed, and its TV within a second, 10.
ROOMS = {
    "reference": (2_892, 2_600),
    "reference/contract": (1_685, 900),
    "reference/problems": (3_519, 3_300),
    # Lines of the file in messages, rows that all miss a value, and names with arrows: 22.
    "reference/posterior": (3_943, 3_200),
    # Rounded probabilities that are divided, with a note: 5.
    "reference/certificates": (4_832, 4_300),
    "reference/rows": (1_624, None),
    "reference/looking": (593, None),
    # Maximum likelihood on exact draws: 27, with 6 of pdai and 13 of verify.
    # A backward policy of one's own, and rewards along trajectories, checked: 62.
    "fast": (16_546, 13_700),
    # 180 lines more for the table and figure of gains, and the verdict on the baseline.
    # Benjamini and Yekutieli's correction, and a share of the level for independence: 12.
    # A page of all runs, and a file in place of a class: 12. What further steps keep: 11.
    "pdai": (13_354, 11_000),
    "pdai/posteriors": (1_174, None),
    # 220 lines more for the claim aliased-forks, in rationals; 5 for the tier of the reals; 40 for
    # the lemma that each proof in Coq lacks.
    # 36 for the mass of the best strings met, 5 for errors of edges, against the reference.
    # Helpers that only checks use, from reference: 6; mistakes that a review found: 29.
    # Gradients under the claim of their losses, from tests: 24; a review of the claims: 23.
    # How weights are seen: 19; errors of expectations, laws of each seed, a full buffer: 12; draws
    # of every sampler: 13.
    "verify": (23_048, 21_000),
    # 400 lines more: texts and branches of the extracted checker, sentences on the baseline as
    # printed and its floor, stumbles of new users, and false bounds over the reals. 55 for the
    # baseline and 32 bits after ten times the steps, 37 for heavy tails and all gains.
    # 38 for a log Z of the wrong sign, and a missing stop; 14 for likelihood on the page on losses.
    # Those of the same review: 47; of one of the command line: 24; of posteriors: 16; of
    # extending: 53; of problems: 33; of the front: 12. The SRWM with biases: 8. Actions to the same
    # state: 17. The block after ten times the steps: 17.
    "tests": (26_807, 18_500),
    # Kernels by number of seeds: 8, with a test as long. Chains over graphs, from pdai: 111.
    "benchmarks": (4_853, 2_500),
    "examples": (3_305, 2_500),
}
# Of `reference`, `fast` and `pdai`: lines, files and functions; and the lines of all Python. Some
# 200 lines more than before describe arguments of `reference.posterior`, 100 (200 of all) measure
# short runs in proportion, and train without a report.
# Theorems about a user's own sampler, and Coq's kernel on them: 420 of tables
# (with tests 660), 280 of samples (400).
# Sums over graphs that a proof confirms: 80, with their tests 160.
# Files as people have them: 450, with their tests 900.
# Real samplers, judged: 420 of all.
# Frames, pages of notebooks and a logger: 120, with their tests 220.
# Strings that become arrays at once, policies by way of NumPy, no collection while compiling: 38.
# Sets that do, draws by a program of their own, FCS after short trainings, children matched all at
# once: 45 (with tests 50).
# Maximum likelihood on exact draws: 33 (61 of all).
# What reviews found: 12 (93 of all), of the command line 17 (41), of posteriors 22 (38), of
# extending 60 (122), of measurements and the front 12 (35).
PRODUCT = {"lines": (50_162, 40_500), "files": (317, 240), "functions": (3_073, 2_300)}
# Lemmas that proofs in Coq lack: 45. Tests of the baseline after ten times the steps: 50. A
# review of the claims: 18; of problems: 42. The SRWM with biases: 8.
# Mistakes in adapters and batches: 30; the block after ten times the steps: 17.
ALL = (108_523, 86_000)


class Size(NamedTuple):
    """Lines, files and functions."""

    lines: int
    files: int
    functions: int


@cache
def sizes() -> dict[str, Size]:
    """The size of each room, and of all that is in none as "elsewhere"."""
    command = ["git", "ls-files", "*.py"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    rooms = dict.fromkeys([*ROOMS, "elsewhere"], Size(0, 0, 0))
    for file in filter(lambda file: (ROOT / file).exists(), listed.stdout.split()):
        top, second = file.split("/")[0], "/".join(file.split("/")[:2])
        within = second if second in ROOMS else top
        room = within if within in ROOMS else "elsewhere"
        text, before = (ROOT / file).read_text(), rooms[room]
        functions = len(re.findall(r"^ *(?:async )?def ", text, re.MULTILINE))
        lines = len(text.splitlines())
        rooms[room] = Size(before.lines + lines, before.files + 1, before.functions + functions)
    return rooms


@cache
def source(module: str) -> tuple[Path, str] | None:
    """The file of a module, and its text."""
    place = ROOT / module.replace(".", "/")
    for path in (place / "__init__.py", place.with_suffix(".py")):
        if path.exists():
            return path, path.read_text()
    return None


@cache
def faces(package: str) -> dict[str, str]:
    """The modules of the names that a package loads when they are used, by name."""
    stub = ROOT / package.replace(".", "/") / "__init__.pyi"
    lines = stub.read_text().splitlines() if stub.exists() else []
    words = (line.split() for line in lines)
    return {name: package + module for _, module, _, name, *_ in words}


def imported(body: list[ast.stmt]) -> Iterator[str]:
    """The modules that are loaded with a file: those at its top, but for types alone."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield faces(node.module).get(alias.name, f"{node.module}.{alias.name}")
            yield node.module
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from imported(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from imported(node.body)


def closure(module: str) -> dict[Path, int]:
    """The files that importing a module loads, with their lines."""
    files, due = dict[Path, int](), [module]
    while due:
        name = due.pop()
        parents = name.split(".")
        for end in range(1, len(parents) + 1):
            package = ".".join(parents[:end])
            if (one := source(package)) is None or one[0] in files:
                continue
            files[one[0]] = len(one[1].splitlines())
            wanted = imported(ast.parse(one[1]).body)
            due += [x for x in wanted if x.split(".")[0] in OURS]
    return files


def test_no_room_grows() -> None:
    grown = {name: sizes()[name].lines - most for name, (most, _) in ROOMS.items()}
    assert {name: lines for name, lines in grown.items() if lines > 0} == {}
    assert sum(size.lines for size in sizes().values()) <= ALL[0]


def test_the_product_does_not_grow() -> None:
    product = [size for name, size in sizes().items() if name.startswith(("ref", "fast", "pdai"))]
    for kind, (most, _) in PRODUCT.items():
        assert sum(getattr(size, kind) for size in product) <= most, kind


@pytest.mark.parametrize("module", CLOSURES)
def test_a_file_of_the_core_drags_few_lines_with_it(module: str) -> None:
    assert sum(closure(module).values()) <= CLOSURES[module]


def test_the_closure_is_what_python_loads() -> None:
    code = "import reference.lifted, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = map(source, (name for name in done.stdout.split() if name.startswith("reference")))
    assert {one[0] for one in loaded if one is not None} == closure("reference.lifted").keys()


def test_the_weekend_is_as_long_as_it_says_and_its_labels_are_there() -> None:
    page = (ROOT / "READING.md").read_text()
    rows = re.findall(r"^\| \[(\S+)\]\(\1\) \| (\S*) \|", page, re.MULTILINE)
    assert f"These {len(rows)} files" in page
    texts = {file: (ROOT / file).read_text() for file, _ in rows}
    assert all(label in texts[file] for file, label in rows)
    assert sum(len(text.splitlines()) for text in texts.values()) < 7_400
    assert "fewer than 7,400 lines" in page


# Functions of `reference`, `fast` and `pdai` that are handed a whole configuration, as an argument
# or by another object; the files that they stand in; and those that return one. The goals of the
# review are 60, 25 and 30.
CONFIGURATIONS = (60, 29, 15)


def is_configuration(annotation: ast.expr | None) -> bool:
    return annotation is not None and "TrainConfig" in ast.unparse(annotation)


def is_handed_a_configuration(function: ast.FunctionDef) -> bool:
    """True if it has such a parameter, or reads that of another object, as in `run.config`."""
    arguments = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    if any(one.arg == "config" or is_configuration(one.annotation) for one in arguments):
        return True
    parts = [x for x in ast.walk(function) if isinstance(x, ast.Attribute) and x.attr == "config"]
    return any(ast.unparse(part.value) not in ("self", "jax") for part in parts)


def test_a_function_is_handed_the_part_of_a_configuration_that_it_reads() -> None:
    handed, returned = list[Path](), 0
    for room in ("reference", "fast", "pdai"):
        for path in (ROOT / room).rglob("*.py"):
            nodes = list(ast.walk(ast.parse(path.read_text())))
            functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
            handed += [path for function in functions if is_handed_a_configuration(function)]
            returned += sum(is_configuration(function.returns) for function in functions)
    now = len(handed), len(set(handed)), returned
    assert all(size <= most for size, most in zip(now, CONFIGURATIONS, strict=True)), now
