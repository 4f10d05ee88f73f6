"""The verified checker of certificates, compiled from the extracted program, and its tests' power.

Without OCaml nothing here can run; `.ci/run` installs it where it can.
"""

import random
import shutil
import subprocess
from collections import defaultdict
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from reference import History, lift
from reference.certificates import (
    BUILD_COMMAND,
    CertifiedSampler,
    Inner,
    Verdict,
    check,
    check_certificate,
    find_checker,
    lifted_states,
    open_certificate,
    run_checker,
    write_certificate,
)
from tests.certificates.corruptions import GOOD, HISTORIES, RIGHT, WRONG, claim
from tests.certificates.drawn import (
    is_right,
    policy,
    sampler,
    tv_by_trajectories,
    with_a_number_changed,
)
from tests.certificates.mutants import CHECKER, DRAW_MUTANTS, EXTRACTED, MUTANTS, branches, build
from tests.certificates.samples import (
    DRAWN,
    EVEN_SUMS,
    HEADER,
    NO_SUMS,
    RIGHT_BARE,
    RIGHT_FLOATS,
    RIGHT_SAMPLES,
    RIGHT_SUMS,
    WRONG_BARE,
    WRONG_FLOATS,
    WRONG_SAMPLES,
    WRONG_SUMS,
    text_of,
)
from tests.refusals import refused
from verify.lib.bits import deciding_strings


@cache
def has_ocaml() -> bool:
    query = ["ocamlfind", "query", "zarith"]
    return bool(
        shutil.which("ocamlfind")
        and not subprocess.run(query, check=False, capture_output=True).returncode
    )


needs_ocaml = pytest.mark.skipif(
    not has_ocaml(), reason="needs Debian's ocaml-findlib and libzarith-ocaml-dev"
)


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("checker"))


def accepts(checker: Path, text: str) -> bool:
    """Whether the program accepts a text, given on its standard input."""
    run = subprocess.run([checker, "-"], input=text.encode(), capture_output=True, check=False)
    assert run.returncode in (0, 1, 2)
    return run.returncode == 0


def both(checker: Path, path: Path, text: str) -> str:
    """The verdict of the program, which must be that of the check in Python."""
    path.write_text(text)
    verdict = run_checker(path, checker)
    assert verdict.verified
    assert check_certificate(path).status == verdict.status, text
    return verdict.status


@needs_ocaml
def test_program_and_python_agree_on_every_text(checker: Path, path: Path) -> None:
    assert {both(checker, path, text) for text in RIGHT} == {"accepted"}
    assert {both(checker, path, text) for text in WRONG.values()} == {"refused", "malformed"}


@needs_ocaml
def test_program_on_random_samplers(checker: Path, path: Path) -> None:
    """Right claims are accepted, and wrong ones refused; a changed number only if still right."""
    rng = random.Random(0)
    little = Fraction(1, 10**30)
    wrong = 0
    for _ in range(40):
        forward, rewards = sampler(rng)
        tv = tv_by_trajectories(forward, rewards)
        assert write_certificate(path, forward, rewards).value == tv
        text = path.read_text()
        assert both(checker, path, text) == "accepted"
        for relation, off in (("=", little), ("=", -little), ("<=", -little), (">=", little)):
            assert both(checker, path, claim(relation, tv + off)(text)) == "refused"
        for _ in range(3):
            changed = with_a_number_changed(rng, text)
            right = both(checker, path, changed) == "accepted"
            assert right == is_right(changed), changed
            wrong += not right
    assert wrong > 40


@needs_ocaml
def test_program_on_random_histories_and_bounds(checker: Path, path: Path) -> None:
    rng = random.Random(1)
    for _ in range(20):
        base, rewards = sampler(rng)
        lifted = lift(base.dag, History())
        forward = policy(rng, lifted.dag)
        tv = tv_by_trajectories(forward, rewards)
        states = lifted_states(lifted)
        for relation, scale in product(("<=", ">="), (None, 10**9, 10**30)):
            asked = {"states": states, "claim": relation, "scale": scale}
            made = write_certificate(path, forward, rewards, **asked)
            assert made.holds(tv, tv)
            assert abs(made.value - tv) <= Fraction(1, 10**6)
            assert both(checker, path, path.read_text()) == "accepted"
        # False bounds are refused at every scale.
        for kept in ("exact", "rounded 3", f"rounded {10**30}"):
            text = path.read_text().replace(f"rounded {10**30}", kept)
            false = claim("<=", tv - Fraction(1, 10**15))(text)
            assert both(checker, path, false) == "refused"


# Draws.


def law_of(path: Path) -> dict[str, Fraction]:
    """`p_T` of a table by label, passed on from row to row."""
    law: dict[str, Fraction] = {}
    masses = defaultdict(Fraction, {0: Fraction(1)})
    with open_certificate(path) as (_, rows):
        for node, row in enumerate(rows):
            if isinstance(row, Inner):
                for child, weight in row.steps:
                    masses[child] += masses[node] * Fraction(weight, row.denominator)
            else:
                law[row.label] = masses[node]
    return law


def shares_drawn(checker: Path, path: Path, text: str, length: int) -> dict[str, Fraction]:
    """The share of each label among all strings of bits, by the program.

    The program gets the strings that decide a draw one after the other, so that one bit too many,
    or too few, shifts all later draws. Its draws must be those of Python.
    """
    path.write_text(text)
    strings = list(deciding_strings(CertifiedSampler.load(path).draw, length))
    decided = {bits: label for bits, label in strings if label is not None}
    stream = "".join(decided)
    octets = int("0" + stream + "0" * (-len(stream) % 8), 2).to_bytes((len(stream) + 7) // 8, "big")
    command = [checker, "--sample", str(len(decided)), path, "-"]
    run = subprocess.run(command, input=octets, capture_output=True, check=False)
    assert run.stdout.decode().splitlines() == list(decided.values())
    shares: dict[str, Fraction] = defaultdict(Fraction)
    for bits, label in decided.items():
        shares[label] += Fraction(1, 2 ** len(bits))
    assert sum(shares.values()) == 1 - Fraction(len(strings) - len(decided), 2**length)
    return shares


# With powers of two: masses 1/8; 1/8 + 3/4 1/4; 3/4 3/4.
DYADIC = GOOD.replace("i 3 4 1 5 2", "i 4 4 1 5 3").replace("TV = 1 10", "TV <= 1 1")
WIDE = "".join(
    [
        "pdai-certificate 1\nproblem wide\nnodes 6\narithmetic exact\nZ 5 1\nTV <= 1 1\n",
        "i 11 1 0 2 2 3 5 4 3 5 1 | o\n",
        *(f"t 1 | {x}\n" for x in "vwxyz"),
        "end\n",
    ]
)


@needs_ocaml
def test_draws_of_the_program_have_the_law_of_the_table(checker: Path, path: Path) -> None:
    assert shares_drawn(checker, path, DYADIC, 5) == law_of(path)
    rng = random.Random(2)
    for number in range(10):
        text = (GOOD, HISTORIES, WIDE)[number] if number < 3 else random_text(rng, path)
        shares = shares_drawn(checker, path, text, 10)
        left_open = 1 - sum(shares.values())
        for label, p in law_of(path).items():
            assert shares[label] <= p <= shares[label] + left_open


def random_text(rng: random.Random, path: Path) -> str:
    write_certificate(path, *sampler(rng))
    return path.read_text()


@pytest.mark.long
@needs_ocaml
@pytest.mark.parametrize("name", DRAW_MUTANTS)
def test_control_mutants_of_the_sampler_are_caught(name: str, tmp_path: Path) -> None:
    mutant = build(tmp_path, *DRAW_MUTANTS[name])
    with pytest.raises(AssertionError):
        _ = [shares_drawn(mutant, tmp_path / "t", text, 8) for text in (GOOD, HISTORIES, WIDE)]


@needs_ocaml
def test_the_program_says_when_bits_run_out(checker: Path, path: Path) -> None:
    path.write_text(GOOD)
    ask = [checker, "--sample", "3", path, "-"]
    run = subprocess.run(ask, input=b"", capture_output=True, check=False)
    assert (run.returncode, run.stdout) == (2, b"")
    assert run.stderr == b"the bits end in draw 1\n"
    path.write_text(GOOD.replace("TV = 1 10", "TV = 0 1"))
    refused = subprocess.run([checker, "--sample", "3", path], capture_output=True, check=False)
    assert refused.returncode == 1
    assert refused.stdout.startswith(b"refused")


@pytest.mark.long
@needs_ocaml
@pytest.mark.parametrize("name", MUTANTS)
def test_control_mutants_of_the_program_are_caught(name: str, tmp_path: Path) -> None:
    mutant = build(tmp_path, *MUTANTS[name])
    assert any(accepts(mutant, text) != right for text, right in expected())


@cache
def expected() -> tuple[tuple[str, bool], ...]:
    """Texts, and whether they are right; first those that most mutants get wrong."""
    wrong = [text for text in reversed(WRONG.values()) if len(text) < 10_000]
    samples = (RIGHT_SAMPLES, text_of(HEADER._replace(tv_low=0), DRAWN))
    right = (*RIGHT, *samples, *RIGHT_BARE, RIGHT_SUMS, EVEN_SUMS, NO_SUMS, RIGHT_FLOATS)
    wrong += [*WRONG_SAMPLES.values(), *WRONG_BARE.values(), *WRONG_SUMS, *WRONG_FLOATS]
    return *((text, True) for text in right), *((text, False) for text in wrong)


@needs_ocaml
def test_the_texts_take_each_branch_that_can_be_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page says of each module how many there are, how many are taken, and why not the others.

    No expression of these raises or stops early: each is evaluated if its branch is taken.
    """
    monkeypatch.chdir(tmp_path)
    program = build(tmp_path, counts=True)
    assert all(accepts(program, text) == right for text, right in expected())
    for text in (GOOD, HISTORIES, WIDE):
        shares_drawn(program, tmp_path / "t", text, 8)
    page = (CHECKER.parents[1] / "docs" / "records" / "verification.md").read_text()
    for module in EXTRACTED[1:]:
        taken = branches(tmp_path, module)
        assert f"| `{module}.ml` | {len(taken)} | {sum(map(bool, taken))} |" in page


def test_the_command_that_builds_the_program_names_a_script() -> None:
    script = BUILD_COMMAND.split()[-1]
    assert (CHECKER.parents[1] / script).resolve() == (CHECKER / "build").resolve()


@needs_ocaml
def test_the_script_builds_the_program(tmp_path: Path) -> None:
    subprocess.run([CHECKER / "build", tmp_path], check=True)
    assert accepts(tmp_path / "pdai-check", GOOD)


def test_the_program_is_found_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: Path
) -> None:
    fake = tmp_path / "pdai-check"
    fake.write_text("#!/bin/sh\necho refused: header\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert find_checker() == fake
    path.write_text(GOOD)
    assert run_checker(path) == Verdict("refused", "header", verified=True)
    fake.write_text("#!/bin/sh\nexit 3\n")
    refused("ended with status 3", run_checker, path)


def test_without_the_program_the_message_says_how_to_build_it(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    monkeypatch.setenv("PATH", str(path.parent))
    monkeypatch.setattr(check, "_FOLDER", path.parent)
    assert find_checker() is None
    refused("No such file", run_checker, path)
    path.write_text(GOOD)
    refused("libzarith-ocaml-dev && proofs_notes/checker/build", run_checker, path)
