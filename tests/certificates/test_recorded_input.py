"""Files of samples: text is text until the problem reads it, and what is no sample is named."""

import ast
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pdai
from reference.bounds import one_sided_tv_bound
from reference.certificates.betting import Interval
from reference.certificates.recorded import Record, Recorded, read_record
from reference.certificates.state_texts import StateTexts
from reference.contract.errors import InputError
from reference.fields.field import RATIONAL
from reference.policies import BackwardPolicy, ForwardPolicy
from reference.problems import enumerate_rewards
from reference.rows.functions import BackwardRows, ForwardRows
from reference.rows.walks import Walker
from tests.certificates.problems import DAG, ENDS, GRID, certify_lines, other, uniform
from tests.refusals import refused, refuses

RANDOM = np.random.default_rng(0)
STRINGS = [f"{i:03b}" for i in RANDOM.integers(8, size=400).tolist()]


def flat(name: str, initial: Any, children: Callable[[Any], Any], **more: Any) -> Any:
    """A problem of which all terminal states are as good."""
    members = {"reward": lambda _, x: 1, "parents": None} | more
    return other(name, initial=initial, children=lambda _, s: children(s), **members)


def bits(state: Any) -> Any:
    return [(*state, 0), (*state, 1)] if len(state) < 3 else []


# Strings of three bits; a heap, where 7 to 14 are terminal; tuples, which one reads from digits.
Bits = flat("Bits", "", lambda s: [s + bit for bit in "01"] if len(s) < 3 else [])
Numbers = flat("Numbers", 0, lambda s: [2 * s + 1, 2 * s + 2] if s < 7 else [])
Tuples = flat("Tuples", (), bits)
Read = flat("Read", (), bits, parse=lambda _, text: tuple(map(int, text)))
# States that print alike; 10/13 of the target is the integer 1.
ALIKE: Any = ("o", lambda s: [1, "1", 2, "2"] if s == "o" else [])
TEN = {"reward": lambda _, x: 10 if x == 1 else 1}
Alike = flat("Alike", *ALIKE, **TEN)
Literal = flat("Literal", *ALIKE, **TEN, parse=staticmethod(ast.literal_eval))


@pytest.mark.parametrize(
    ("problem", "text", "state"),
    [
        *((Bits, text, text) for text in ("001", "100", "1e5", "1_0", "True")),
        (Numbers, "10", 10),
        (Tuples, '"(0, 1, 0)"', (0, 1, 0)),
        (Tuples, "(0, 1, 0)", (0, 1, 0)),
        (Read, "010", (0, 1, 0)),
    ],
)
def test_a_state_of_a_file_is_that_of_the_target(
    problem: Any, text: str, state: Any, tmp_path: Path
) -> None:
    # All samples of both are one state: read as another, TV would be at least 0.9.
    file = tmp_path / "target.csv"
    file.write_text("\n".join([text] * 400))
    for target in ([state] * 400, file):
        result = certify_lines(["terminal", *[text] * 400], problem, target=target, max_states=3)
        assert result.interval == Interval(0.0, 1.0)
        assert any("samples of the target, given or drawn by the" in note for note in result.notes)


test_a_text_that_is_no_state_is_refused = refuses(
    lambda problem, lines: certify_lines(lines, problem, target=["001", "010"], max_states=3),
    # Not enumerated: the type of the initial state decides.
    (Bits, ["'001'", "'010'"], "write states without quotes"),
    (Bits, ["001 ", "010 "], "write states without quotes or spaces around them"),
    (Bits, ["00", "001"], "not terminal in Bits|begins with '00'"),
    *((Numbers, [wrong] * 2, "write states as repr does") for wrong in ("007", "1_0", "7.0")),
    *((Tuples, [f'"{wrong}"'] * 2, "write states as repr") for wrong in ("(0,1,0)", "[1]")),
    (GRID, [f'"{ENDS[0]!r}"'] * 2, r"give Grid a parse\(text\)"),
    (Read, ["01x"] * 2, "Read: parse.'01x'. raises ValueError"),
)
test_a_target_of_states_that_no_file_can_hold_is_refused = refuses(
    lambda target: certify_lines(["001"] * 9, Bits, target=target, max_states=3),
    (["00"], "not terminal in Bits"),
    ([1], "states are read as"),
    ([b"001"], "states are read as"),
    ([["0", "0", "1"]], "not hashable"),
)


@dataclass(frozen=True)
class Held:
    bits: Any


def test_a_target_whose_parts_are_of_another_kind_is_refused() -> None:
    """Equal numbers of another library are the same state; their digits as text are not."""
    lines, target = (
        ['"(0, 1, 0)"'] * 400,
        [(0, bit, 0) for bit in RANDOM.integers(2, size=400).tolist()],
    )
    texts = [tuple(map(str, x)) for x in target]
    parse = {"parse": lambda _, text: Held(ast.literal_eval(text))}
    held = flat("Records", Held(()), lambda s: [Held(x) for x in bits(s.bits)], **parse)
    alike = [tuple(map(np.int64, x)) for x in target]
    for problem, right in ((Tuples, target), (Tuples, alike), (held, [*map(Held, target)])):
        assert certify_lines(lines, problem, target=right, max_states=3).interval
    wrong = flat("Wrong", (), bits, parse=lambda _, text: tuple(ast.literal_eval(text)))
    for problem, given, other_kind, words in (
        (Tuples, lines, texts, "has str in it, but .* reach have numbers and tuple"),
        (held, lines, [*map(Held, texts)], "has str in it"),
        (wrong, ["'010'"] * 9, target, "has str in it"),
    ):
        with pytest.raises(InputError, match=words):
            certify_lines(given, problem, target=other_kind, max_states=3)


FIRST = "terminal"


def test_a_target_that_is_not_reached_by_the_parents_is_refused() -> None:
    problem = other("Reversed", children=lambda _, s: Bits.children(s), reward=lambda _, x: 1)
    others = [f"{i:03b}" for i in np.random.default_rng(1).integers(8, size=400).tolist()]
    certify_lines(STRINGS, problem, target=others, max_states=3)
    with pytest.raises(InputError, match="has '0x0', which is not reached in Reversed: parents"):
        certify_lines(STRINGS, problem, target=[*STRINGS, "0x0"], max_states=3)


# Where states are not listed, TV of each was at least 0.9, and is 0.
LETTERS = other("Bits", children=lambda _, s: [s + c for c in "01"] if len(s) < 3 else [])
test_samples_beside_a_target_are_states_as_it_has_them = refuses(
    lambda samples: pdai.certify(samples, LETTERS, target=STRINGS, max_states=3),
    (np.array([[*x] for x in STRINGS]), r"has \('1', .*, which is not reached in Bits"),
    (["0x0", *STRINGS], "has '0x0', which is not reached in Bits"),
    ([x + " " for x in STRINGS], r"has '\d+ ', which is not reached in Bits: parents"),
)


def test_trajectories_that_were_drawn_with_more_exploration_are_refused(tmp_path: Path) -> None:
    """By their numbers, TV was at most 0.0008, where that of terminals is 0.045."""
    problem, path = other(reward=lambda _, x: 2 ** x.count("a")), tmp_path / "recorded.csv"

    def made(exploration: float) -> Any:
        draws = np.random.default_rng(0).random((20_000, 3)) < 2 / 3 - exploration / 6
        lines = ["terminal,log_p_f,log_p_b,log_reward"]
        for row in draws.tolist():
            log_reward = sum(row) * math.log(2)
            word = "".join("ba"[is_a] for is_a in row)
            lines.append(f"{word},{log_reward - math.log(27)},0,{log_reward}")
        path.write_text("\n".join(lines))
        return pdai.certify(path, problem)

    assert made(0.0).interval.high < 0.0008
    refused("by their log p_F: .* with its temperature and explor", made, 0.2)


@pytest.mark.catches(
    "Recorded trajectories may lack those that came before.",
    "reference/certificates/recorded.py",
    "        likeliest.check_drawn(self.terminals)",
    "        assert likeliest",
)
def test_trajectories_without_their_repeats_are_refused() -> None:
    """Where states are not listed; TV was in [0.56, 0.64], and is 0.13."""

    def log_p(x: str, chance: float) -> float:
        return x.count("1") * math.log(chance) + x.count("0") * math.log(1 - chance)

    rare = other(
        "Rare",
        children=lambda _, s: [s + c for c in "01"] if len(s) < 24 else [],
        reward=lambda _, x: math.exp(log_p(x, 0.02)),
        parents=lambda _, s: [s[:-1]],
    )
    draws = np.random.default_rng(0).random((30_000, 24)) < 0.03
    words = ["".join(map(str, row)) for row in draws.astype(int).tolist()]

    def made(terminals: Any) -> Any:
        lines = [f"{x},{log_p(x, 0.03)},0,{log_p(x, 0.02)}" for x in terminals]
        head = "terminal,log_p_f,log_p_b,log_reward"
        return certify_lines([head, *lines], rare, log_z=0.0, max_states=3)

    low, high = made(words).interval
    assert 0.12 < low < 0.1344 < high < 0.15
    seldom = "came in 0 of 575 samples, but have the probability 0.127 by their log p_F"
    refused(seldom, made, dict.fromkeys(words))


def test_a_text_of_two_states_is_refused_unless_the_problem_reads_it() -> None:
    refused("may be 1, a int, or '1', a str, of Alike", certify_lines, ["1"] * 2_000, Alike)
    for text, tv in (("1", Fraction(3, 13)), ("'1'", Fraction(12, 13))):
        low, high = certify_lines([text] * 2_000, Literal).interval
        assert low <= tv <= high < low + 0.2


def test_bare_samples_bound_the_distance_from_both_sides() -> None:
    right = certify_lines([f'"{x!r}"' for x in GRID.sample(20_000, 0)], GRID, level=0.01)
    assert right.regime == "S"
    assert right.interval.low == 0
    assert right.interval.high < 0.05
    first = certify_lines([f'"{ENDS[0]!r}"'] * 500, GRID, level=1e-6)
    true = 1 - GRID.reward(ENDS[0]) / GRID.z()
    assert 0.8 * true < first.interval.low <= true <= first.interval.high


def test_a_few_samples_that_are_no_terminal_states_count_as_wrong(tmp_path: Path) -> None:
    lines = [*STRINGS, *(f"x{i}" for i in range(100))] * 10
    np.random.default_rng(0).shuffle(lines)
    result = certify_lines(lines, Bits)
    assert 0.15 < result.interval.low <= 0.2 <= result.interval.high
    assert result.impossible == 1_000
    assert result.report["wrong for certain"].startswith("1,000 of 5,000 draws have target")
    (tmp_path / "target.csv").write_text("\n".join(lines))
    with pytest.raises(InputError, match="is none of the problem's 8 terminal states"):
        certify_lines(STRINGS, Bits, target=tmp_path / "target.csv")
    with pytest.raises(InputError, match=r"sample '\\n000\\n', which a quotation mark begins"):
        certify_lines([*STRINGS, '"', "000", '"'], Bits)
    assert certify_lines([*STRINGS, '"x\ny"'], Bits).excluded == ["x\ny"]
    (tmp_path / "x.jsonl").write_text("\n".join(f'"{x}"' for x in [*STRINGS, "x\\n000"]))
    assert pdai.certify(tmp_path / "x.jsonl", Bits).interval.low == 0


def test_rewards_alone_leave_samples_bare() -> None:
    rewarded = ["state,log_reward", *(f"{x},0.5" for x in STRINGS)]
    assert certify_lines(rewarded, Bits).interval == certify_lines(STRINGS, Bits).interval


def test_trajectories_that_were_recorded_are_certified() -> None:
    rows = ForwardRows(uniform(GRID), GRID)
    walks = Walker(GRID, rows, BackwardRows(GRID, dag=DAG), 0).draw(4_096, labels=True)
    columns = (walks.log_p_f, walks.log_p_b, walks.log_reward)
    lines = [f'"{x!r}",{a},{b},{c}' for x, a, b, c in zip(walks.terminals, *columns, strict=True)]
    # The header of `pdai sample --format csv`, and another.
    for first in ("state", "terminal"):
        head = f"{first},log_p_f,log_p_b,log_reward"
        result = certify_lines([head, *lines], GRID)
        assert result.regime == "Z"
        policies = ForwardPolicy.uniform(DAG, RATIONAL), BackwardPolicy.uniform(DAG, RATIONAL)
        tv = one_sided_tv_bound(*policies, enumerate_rewards(GRID, DAG), GRID.z())
        assert result.interval.low <= tv <= result.interval.high < result.interval.low + 0.1
    assert any("assumes that the recorded trajectories" in note for note in result.notes)
    for reward, words in (
        ("-9.5", r"is -9\.5 in the record"),
        ("nan", "sample 4096 is 'nan', but must be a number"),
    ):
        with pytest.raises(InputError, match=words):
            certify_lines([head, *lines[:-1], f"{lines[-1].rpartition(',')[0]},{reward}"], GRID)


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
