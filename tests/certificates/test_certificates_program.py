"""The verified checker of certificates, compiled from the extracted program, and its tests' power.

Without OCaml nothing here can run; `.ci/run` installs it where it can.
"""

import random
import shutil
import subprocess
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from reference import History, lift
from reference.certificates import (
    Verdict,
    check_certificate,
    find_checker,
    lifted_states,
    program,
    run_checker,
    write_certificate,
)
from reference.errors import InputError
from tests.certificates.corruptions import GOOD, RIGHT, WRONG, claim
from tests.certificates.drawn import (
    is_right,
    policy,
    sampler,
    tv_by_trajectories,
    with_a_number_changed,
)
from tests.certificates.mutants import CHECKER, MUTANTS, build
from tests.certificates.samples import RIGHT_SAMPLES, WRONG_SAMPLES


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
    random_samplers(checker, path, 40)


def random_samplers(checker: Path, path: Path, count: int) -> None:
    """Right claims are accepted, and wrong ones refused; a changed number only if still right."""
    rng = random.Random(0)
    little = Fraction(1, 10**30)
    wrong = 0
    for _ in range(count):
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
    assert wrong > count


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
            made = write_certificate(
                path, forward, rewards, states=states, claim=relation, scale=scale
            )
            assert made.holds(tv, tv)
            assert abs(made.value - tv) <= Fraction(1, 10**6)
            assert both(checker, path, path.read_text()) == "accepted"
        # False bounds are refused at every scale.
        for kept in ("exact", "rounded 3", f"rounded {10**30}"):
            text = path.read_text().replace(f"rounded {10**30}", kept)
            false = claim("<=", tv - Fraction(1, 10**15))(text)
            assert both(checker, path, false) == "refused"


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
    samples = ((RIGHT_SAMPLES, True), *((text, False) for text in WRONG_SAMPLES.values()))
    return *((text, True) for text in RIGHT), *((text, False) for text in wrong), *samples


def test_the_command_that_builds_the_program_names_a_script() -> None:
    script = program.BUILD_COMMAND.split()[-1]
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
    with pytest.raises(InputError, match="ended with status 3"):
        run_checker(path)


def test_without_the_program_the_message_says_how_to_build_it(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    monkeypatch.setenv("PATH", str(path.parent))
    monkeypatch.setattr(program, "_FOLDER", path.parent)
    assert find_checker() is None
    with pytest.raises(InputError, match="No such file"):
        run_checker(path)
    path.write_text(GOOD)
    with pytest.raises(InputError, match="libzarith-ocaml-dev && proofs_notes/checker/build"):
        run_checker(path)
