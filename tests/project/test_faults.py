"""The mistakes of the `catches` markers can still be made."""

import ast
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.faults import FAULTS, Fault, ending_of, faults_in

ROOT = Path(__file__).parents[2]


def rotten(fault: Fault) -> str:
    """Why a fault cannot be made any more, or "" if it can."""
    if (count := (ROOT / fault.file).read_text().count(fault.right)) != 1:
        return f"its text occurs {count} times"
    source = (ROOT / fault.file).read_text().replace(fault.right, fault.wrong)
    if not fault.file.endswith(".py"):
        return ""
    try:
        ast.parse(source)
    except SyntaxError as error:
        return f"the file is no Python: {error}"
    return ""


def test_every_fault_can_be_made() -> None:
    assert {fault.mistake: why for fault in FAULTS if (why := rotten(fault))} == {}


def complaints(tests: list[str]) -> list[str]:
    """Messages of pytest on tests that it does not find; it leaves their parameters out."""
    options = ["--collect-only", "-q", "-m", "", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run([*command, *tests], cwd=ROOT, capture_output=True, text=True, check=False)
    return [line for line in done.stderr.splitlines() if line.startswith("ERROR")]


def test_every_fault_names_parameters_that_its_test_has() -> None:
    named = sorted({fault.test for fault in FAULTS if "[" in fault.test})
    # A control: this test has no such parameter.
    own = "tests/project/test_faults.py::test_faults_are_spread_over_the_packages"
    (complaint,) = complaints([*named, f"{own}[reference]", f"{own}[nowhere]"])
    assert complaint.endswith(own)


def test_control_a_marker_without_an_argument_is_seen() -> None:
    with pytest.raises(TypeError, match="wrong"):
        list(faults_in('@pytest.mark.catches("a", "b", "c")\ndef test_x(): ...', "t.py"))


def test_the_edits_of_faults_are_distinct() -> None:
    assert len({(fault.file, fault.right, fault.wrong) for fault in FAULTS}) == len(FAULTS)
    assert all(fault.right != fault.wrong for fault in FAULTS)


@pytest.mark.parametrize("package", ["reference", "reference/problems", "fast", "fast/dynamics"])
def test_faults_are_spread_over_the_packages(package: str) -> None:
    assert sum(fault.file.startswith(f"{package}/") for fault in FAULTS) >= 5


def test_a_fault_is_made_in_the_copy_once() -> None:
    fault = FAULTS[0]
    with TemporaryDirectory() as folder:
        copy = Path(folder, fault.file)
        copy.parent.mkdir(parents=True)
        copy.write_text((ROOT / fault.file).read_text())
        fault.apply(Path(folder))
        assert fault.wrong in copy.read_text()
        with pytest.raises(ValueError, match="occurs 0 times"):
            fault.apply(Path(folder))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"right": "no such text"}, "its text occurs 0 times"),
        ({"right": "def "}, "its text occurs .* times"),
        ({"wrong": "("}, "the file is no Python"),
    ],
)
def test_control_a_fault_that_cannot_be_made_is_seen(change: Any, reason: str) -> None:
    assert not rotten(FAULTS[0])
    assert re.match(reason, rotten(replace(FAULTS[0], **change)))


@pytest.mark.parametrize(
    ("endings", "ending"),
    [
        ({"t.py::test_a": "assertion"}, "assertion"),
        ({"t.py::test_a[1]": "passed", "t.py::test_a[2]": "assertion"}, "assertion"),
        ({"t.py::test_a[1]": "passed", "t.py::test_ab": "assertion"}, "passed"),
        ({}, "did not run"),
    ],
)
def test_the_first_ending_that_is_no_success_counts(endings: dict[str, str], ending: str) -> None:
    assert ending_of("t.py::test_a", endings) == ending
