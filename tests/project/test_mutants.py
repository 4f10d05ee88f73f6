"""What mutants are drawn of, which change nothing, and on which tests they are tried."""

from pathlib import Path

import pytest

from tests.mutants.__main__ import files
from tests.mutants.callers import Caller
from tests.mutants.equivalent import EQUIVALENT, Equivalent, reason_for
from tests.mutants.mutant import mutants_of
from tests.mutants.trial import within

SOURCE = """
BLOCK, LIMITS = 64, (2**3, -1.0)
names = (7,)

class Options:
    batch: int = 5
    is_lifted: ClassVar[bool] = True

    def take(self, count: int = 9, keeps=True) -> int:
        return count + 11 + 11
"""


def test_numbers_that_are_settings_are_no_mutants_and_others_are(tmp_path: Path) -> None:
    file = tmp_path / "made_up.py"
    file.write_text(SOURCE)
    found = [(mutant.before, mutant.after) for mutant in mutants_of(str(file))]
    assert sorted(found) == [
        ("11", "(10)"), ("11", "(10)"), ("11", "(12)"), ("11", "(12)"), ("7", "(6)"), ("7", "(8)"),
        ("True", "(False)"), ("True", "(False)"),
        ("count + 11", "(count - 11)"), ("count + 11 + 11", "(count + 11 - 11)"),
    ]  # fmt: skip


def test_a_change_is_known_by_its_place_in_the_line(tmp_path: Path) -> None:
    file = tmp_path / "made_up.py"
    file.write_text(SOURCE)
    places = [mutant.is_in("count + 11") for mutant in mutants_of(str(file)) if "1" in mutant.after]
    assert [mutant.text for mutant in mutants_of(str(file))][-1] == "return count + 11 + 11"
    assert places.count(True) == 4
    assert places.count(False) == 2


def test_checks_of_the_parts_of_others_are_left_out() -> None:
    assert not [file for file in files() if "checking" in file]
    assert "fast/balance/losses.py" in files()


@pytest.mark.parametrize("known", EQUIVALENT, ids=lambda known: known.text)
def test_each_equivalent_mutant_is_there(known: Equivalent) -> None:
    found = [mutant for mutant in mutants_of(known.file) if reason_for(mutant) == known.reason]
    assert any((mutant.before, mutant.after) == known[2:4] for mutant in found)


def test_a_long_test_hides_none_that_is_short() -> None:
    callers = [Caller(f"{seconds}", seconds, frozenset()) for seconds in (3.0, 90.0, 4.0, 5.0, 2.0)]
    assert [caller.test for caller in within(callers, 10.0)] == ["3.0", "4.0", "2.0"]
    assert [caller.test for caller in within(callers[1:], 10.0)] == ["90.0"]
