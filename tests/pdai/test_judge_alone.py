"""The judge without the extra `train`: what it does, and what it says is missing."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

import pdai
from reference import InputError
from reference.errors import TRAIN
from tests.command_lines import ROOT, python

# Judges samples in a Python that has none of the packages that training needs.
JUDGE = """
import sys
from reference.errors import TRAIN
from pdai.cli import main

sys.modules.update(dict.fromkeys(TRAIN))
main(["certify", "s.csv", "--law", "law.csv", "--fail-above", "0.9"])
"""


def test_judging_samples_needs_no_jax(tmp_path: Path) -> None:
    (tmp_path / "law.csv").write_text("a,1\nb,1\n")
    (tmp_path / "s.csv").write_text("a\nb\n" * 50)
    done = python("-c", JUDGE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "TV of terminals [0, " in done.stdout
    code = (
        "import sys, pdai\npdai.certify(['a', 'b'] * 9, law={'a': 1, 'b': 1})\n"
        "wrong = [name for name in ('jax', 'equinox', 'optax', 'matplotlib', 'sympy', 'fast.tasks')"
        " if name in sys.modules]\nassert not wrong, wrong"
    )
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("ask", [("train", "lines"), ("verify", "--claim", "prop:lines")])
def test_what_is_missing_is_named(ask: tuple[str, ...], tmp_path: Path) -> None:
    code = JUDGE.replace(JUDGE.split("main(")[-1], f"{[*ask]!r})")
    done = python("-c", code, cwd=tmp_path)
    assert done.returncode == 2
    assert re.match(r"pdai: this needs \w+, which .* pip install .* -e '\.\[train\]'", done.stderr)
    assert done.stderr.count("\n") == 1


def test_what_is_missing_is_named_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pdai.front", None)
    monkeypatch.setitem(sys.modules, "jax", None)
    # A module of another name is no part of an extra.
    with pytest.raises(ModuleNotFoundError, match=r"pdai\.front"):
        _ = pdai.train
    monkeypatch.setattr("reference.errors.TRAIN", {*TRAIN, "pdai"})
    with pytest.raises(InputError, match=r"this needs pdai.*pip install .* -e '\.\[train\]'"):
        _ = pdai.train


def test_the_extra_brings_what_is_named() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    names = {re.split(r"\W", line)[0] for line in extras["train"]}
    assert names | {"jaxlib"} == TRAIN
    assert "pdai[train,docs,experiments]" in extras["dev"]
    judge = {re.split(r"\W", line)[0] for line in project["dependencies"]}
    assert judge == {"numpy", "scipy", "python", "tyro", "rich"}
