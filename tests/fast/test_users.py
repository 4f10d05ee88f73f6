"""A module as a user writes it: strictly typed, trained, and without the front's packages."""

import subprocess
from pathlib import Path

import pytest

from tests.command_lines import ROOT, python
from tests.project.test_layering import REFUSING
from tests.users.my_sampler import main

MODULE = ROOT / "tests" / "users" / "my_sampler.py"
FRONT = ("tyro", "rich", "matplotlib", "flint", "sympy", "pytest", "hypothesis", "distributed")


def mypy(*arguments: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "mypy", "--strict", *arguments, cwd=ROOT)


@pytest.mark.long
def test_a_users_module_passes_mypy_strict() -> None:
    outcome = mypy(str(MODULE))
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_control_a_wrong_type_is_seen(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    source = MODULE.read_text()
    assert source.count("run.law().learned") + source.count("law.learned") == 1
    wrong.write_text(source.replace("law.learned", "law.lerned").replace('"a"', "1"))
    outcome = mypy(str(wrong))
    assert outcome.returncode == 1
    assert '"Law" has no attribute "lerned"' in outcome.stdout


@pytest.mark.long
def test_a_users_module_trains(tmp_path: Path) -> None:
    assert main(tmp_path / "run") < 0.5


# Trains and measures by what `fast` and `reference` need alone.
TRAINS = """
import sys
from pathlib import Path
from fast.runs.display import SILENT
from fast.runs.frozen import load_trained
from fast.runs.job import train
from fast.training.compose import configure
config = configure("lines", dynamics="gru", steps=10, batch=8, out=Path({out!r}))
_, report = train(config, display=SILENT)
assert report.learned[0].tv is not None
load_trained(config)
print("trained", file=sys.stderr)
"""


def trained_without(*packages: str, out: Path) -> str:
    """The stderr of a training where none of these packages can be imported."""
    code = REFUSING.format(module="reference") + TRAINS.format(out=str(out))
    return python("-c", code, *packages, cwd=ROOT).stderr


@pytest.mark.long
def test_training_needs_none_of_the_front_s_packages(tmp_path: Path) -> None:
    # A slow machine is told what takes long before.
    assert trained_without(*FRONT, out=tmp_path / "run").endswith("trained\n")


def test_control_a_package_that_is_needed_is_missed(tmp_path: Path) -> None:
    assert "optax is refused" in trained_without(*FRONT, "optax", out=tmp_path / "run")
