"""Files of samples: text is text until the problem reads it, and what is no sample is named."""

import ast
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import pdai
from reference.certificates.betting import Interval
from reference.certificates.recorded import Record, Recorded, read_record
from reference.certificates.state_texts import StateTexts
from reference.errors import InputError
from reference.problems import Grid


class Bits:
    """Strings of three bits, all as good."""

    initial: Any = ""

    def children(self, state: Any) -> Any:
        return [state + bit for bit in "01"] if len(state) < 3 else []

    def reward(self, terminal: Any) -> int:
        return 1


def also(name: str, initial: Any, children: Any, **more: Any) -> Any:
    """A problem that differs from `Bits`."""
    return type(name, (Bits,), {"initial": initial, "children": children, **more})


# A heap, where 7 to 14 are terminal; the bits as tuples, which one reads from three digits.
Numbers = also("Numbers", 0, lambda _, s: [2 * s + 1, 2 * s + 2] if s < 7 else [])
Tuples = also("Tuples", (), lambda _, s: [(*s, 0), (*s, 1)] if len(s) < 3 else [])
Read = also("Read", (), Tuples.children, parse=lambda _, text: tuple(map(int, text)))
# States that print alike; 10/13 of the target is the integer 1.
ALIKE: Any = ("o", lambda _, s: [1, "1", 2, "2"] if s == "o" else [])
Alike = also("Alike", *ALIKE, reward=lambda _, x: 10 if x == 1 else 1)
Literal = also("Literal", *ALIKE, reward=Alike.reward, parse=staticmethod(ast.literal_eval))


def certified(path: Path, lines: list[str], problem: Any, **options: Any) -> Any:
    path.write_text("\n".join(lines))
    return pdai.certify(path, problem, level=1e-3, **options)


@pytest.mark.parametrize(
    ("problem", "text", "state"),
    [
        (Bits, "001", "001"),
        (Bits, "100", "100"),
        (Bits, "1e5", "1e5"),
        (Bits, "1_0", "1_0"),
        (Bits, "True", "True"),
        (Numbers, "10", 10),
        (Tuples, '"(0, 1, 0)"', (0, 1, 0)),
        (Read, "010", (0, 1, 0)),
    ],
)
def test_a_state_of_a_file_is_that_of_the_target(
    problem: Any, text: str, state: Any, tmp_path: Path
) -> None:
    # All samples of both are one state: read as another, TV would be at least 0.9.
    target = [state] * 400
    found = certified(
        tmp_path / "x.csv", ["terminal", *[text] * 400], problem, target=target, max_states=3
    )
    assert found.interval == Interval(0.0, 1.0)
    (tmp_path / "target.csv").write_text("\n".join([text] * 400))
    assert (
        certified(
            tmp_path / "x.csv", [text] * 400, problem, target=tmp_path / "target.csv", max_states=3
        ).interval
        == found.interval
    )


@pytest.mark.parametrize(
    ("problem", "lines", "words"),
    [
        # Not enumerated: the type of the initial state decides.
        (Bits, ["'001'", "'010'"], "write states without quotes"),
        (Bits, ["001 ", "010 "], "write states without quotes or spaces around them"),
        (Bits, ["00", "001"], "not terminal in Bits|begins with '00'"),
        *((Numbers, [wrong] * 2, "write states as repr does") for wrong in ("007", "1_0", "7.0")),
        *((Tuples, [f'"{wrong}"'] * 2, "write states as repr") for wrong in ("(0,1,0)", "[1]")),
        (
            Grid(3, 2),
            ['"Cell(coordinates=(0, 0), stopped=True)"'] * 2,
            r"give Grid a parse\(text\)",
        ),
        (Read, ["01x"] * 2, "Read: parse.'01x'. raises ValueError"),
    ],
)
def test_a_text_that_is_no_state_is_refused(
    problem: Any, lines: list[str], words: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=words):
        certified(tmp_path / "x.csv", lines, problem, target=["001", "010"], max_states=3)


@pytest.mark.parametrize("target", [["00"], [1], [np.str_("001")], [["0", "0", "1"]]], ids=repr)
def test_a_target_of_states_that_no_file_can_hold_is_refused(target: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not terminal in Bits|files? are read as|not hashable"):
        certified(tmp_path / "x.csv", ["001"] * 9, Bits, target=target, max_states=3)


def test_a_target_whose_parts_are_of_another_kind_is_refused(tmp_path: Path) -> None:
    """Equal numbers of another library are the same state; their digits as text are not."""
    lines, bits = ['"(0, 1, 0)"'] * 400, [(0, 1, 0), (1, 1, 0)] * 200
    alike = [tuple(map(np.int64, x)) for x in bits]
    for target in (bits, alike):
        assert certified(tmp_path / "x.csv", lines, Tuples, target=target, max_states=3).interval
    texts = [tuple(map(str, x)) for x in bits]
    with pytest.raises(InputError, match=r"has str in it, but .* reach have numbers and tuple"):
        certified(tmp_path / "x.csv", lines, Tuples, target=texts, max_states=3)

    @dataclass(frozen=True)
    class Held:
        bits: Any

    held = also("Records", Held(()), lambda _, s: [Held(x) for x in Tuples.children(None, s.bits)])
    held.parse = lambda _, text: Held(ast.literal_eval(text))
    certified(tmp_path / "x.csv", lines, held, target=[*map(Held, bits)], max_states=3)
    with pytest.raises(InputError, match="has str in it"):
        certified(tmp_path / "x.csv", lines, held, target=[*map(Held, texts)], max_states=3)
    digits = {"parse": lambda _, text: tuple(ast.literal_eval(text))}
    wrong = also("Wrong", (), Tuples.children, **digits)
    with pytest.raises(InputError, match="has str in it"):
        certified(tmp_path / "x.csv", ["'010'"] * 9, wrong, target=bits, max_states=3)


def test_a_target_that_is_not_reached_by_the_parents_is_refused(tmp_path: Path) -> None:
    members = {"parents": lambda _, state: [state[:-1]]}
    problem = also("Reversed", "", Bits.children, **members)
    certified(tmp_path / "x.csv", STRINGS, problem, target=STRINGS, max_states=3)
    with pytest.raises(InputError, match="has '0x0', which is not reached in Reversed: parents"):
        certified(tmp_path / "x.csv", STRINGS, problem, target=[*STRINGS, "0x0"], max_states=3)


def test_a_text_of_two_states_is_refused_unless_the_problem_reads_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="may be 1, a int, or '1', a str, of Alike"):
        certified(tmp_path / "x.csv", ["1"] * 2_000, Alike)
    for text, tv in (("1", Fraction(3, 13)), ("'1'", Fraction(12, 13))):
        low, high = certified(tmp_path / "x.csv", [text] * 2_000, Literal).interval
        assert low <= tv <= high
        assert high - low < 0.2


FIRST, STRINGS = "terminal", [f"{i % 8:03b}" for i in range(400)]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([f"{FIRST},count", *(f"{x},7" for x in STRINGS)], "columns terminal, count, but must"),
        ([f"{FIRST},{FIRST}", *(f"{x},000" for x in STRINGS)], "columns terminal, terminal, but"),
        (["state,weight", *(f"{x},7" for x in STRINGS)], "columns terminal, weight, but must"),
        (["string,weight", *(f"{x},7" for x in STRINGS)], "sample 1 has 2 columns"),
        ([f"{FIRST},log_p_f", *(f"{x},-1" for x in STRINGS)], "add those that are missing"),
        (["string", *STRINGS], "begins with 'string'.* call it 'terminal'"),
        (["0"] * 2, "'0' is none of the problem's 8 terminal states"),
        ([""], "has no samples"),
        ([*["banana"] * 400, *STRINGS], "'banana' is none of .* 8 terminal states.* such as 000"),
        *(
            ([f"{FIRST},log_p_f,log_p_b,log_reward", f"000,{x},0,0"], f"sample 1 is '{x}'")
            for x in ("1_0", "nan", "", "\u0661")
        ),
    ],
)
@pytest.mark.parametrize("name", ["x.csv", "target.csv"])
def test_a_file_of_another_form_is_refused_in_words(
    lines: list[str], words: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / "x.csv").write_text("\n".join(STRINGS))
    (tmp_path / name).write_text("\n".join(lines))
    with pytest.raises(InputError, match=words):
        pdai.certify(tmp_path / "x.csv", Bits, target=tmp_path / name)


def test_a_few_samples_that_are_no_terminal_states_count_as_wrong(tmp_path: Path) -> None:
    lines = [*STRINGS, *(f"x{i}" for i in range(100))] * 10
    np.random.default_rng(0).shuffle(lines)
    found = certified(tmp_path / "x.csv", lines, Bits)
    assert 0.15 < found.interval.low <= 0.2 <= found.interval.high
    assert any(note.startswith("1,000 of 5,000 samples are no") for note in found.notes)
    with pytest.raises(InputError, match="is none of the problem's 8 terminal states"):
        certified(tmp_path / "y.csv", STRINGS, Bits, target=tmp_path / "x.csv")


def test_a_pipe_or_a_device_in_the_place_of_samples_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    for path, kind in ((tmp_path / "pipe.csv", "a pipe"), (Path("/dev/zero"), "a device")):
        with pytest.raises(InputError, match=f"is {kind}, which is not read"):
            read_record(path, StateTexts(None))


@pytest.mark.catches(
    "Log rewards that were recorded in float32 count, though the problem tells its own.",
    "reference/certificates/recorded.py",
    "reward, off = np.array([",
    "_, off = np.array([",
)
def test_the_rewards_of_the_problem_count_not_those_that_were_recorded() -> None:
    """Off by 5e-5 of themselves, 0.02 nats, which float32 may explain."""
    problem = SimpleNamespace(children=lambda state: (), log_reward=lambda x: -460.0)
    zeros = np.zeros(9)
    columns = {"log_p_f": zeros, "log_p_b": zeros, "log_reward": zeros - 459.98}
    walks = Recorded(Record(["a"] * 9, columns), problem).draw(9)
    assert (np.abs(walks.log_reward + 460) <= walks.error).all()
    assert walks.error.max() < 1e-11


def test_a_display_of_another_kind_is_refused_before_a_folder_is_made(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="display"):
        pdai.train("grid", steps=1, out=tmp_path / "run", display=cast(Any, "loud"))
    assert not (tmp_path / "run").exists()
