"""What is refused, and in which words: the object, the value, the rule and the fix."""

from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pdai.cli import main
from reference import (
    BALL,
    FLOAT64,
    RATIONAL,
    Additive,
    BackwardKernel,
    BackwardPolicy,
    ForwardPolicy,
    History,
    InputError,
    TooLargeError,
    enumerate_dag,
    enumerate_rewards,
    fcs,
    forward_from_backward,
    lift,
    log_tb_residuals,
    normalize,
    pointed_dag,
    tb_residuals,
    total_variation,
)
from reference.expressivity.aliasing import TiedPolicies
from reference.problems import (
    BitSequences,
    Grid,
    Ising,
    Lines,
    Sets,
    SyntheticSequences,
    TableSequences,
)
from verify.lib.named_dags import DIAMOND, FORK

HALF, ONE, NONE = Fraction(1, 2), Fraction(1), Fraction(0)
P_F, P_B = ForwardPolicy.uniform(FORK, RATIONAL), BackwardPolicy.uniform(FORK, RATIONAL)
OTHER = BackwardPolicy.uniform(enumerate_dag(Grid(2)), RATIONAL)
PATH = pointed_dag({"o": ["a"], "a": ["x"], "x": []})
BAD: Any = float("nan")
LISTS: Any = SimpleNamespace(initial=None, advance=lambda state, latent: [state])


class Mutable:
    """A state whose hash moves."""

    def __init__(self, at: int = 0):
        self.at = at

    def __hash__(self) -> int:
        return hash(self.at)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mutable) and other.at == self.at

    def grown(self) -> "list[Mutable]":
        """Children, after a change of this one."""
        if self.at == 1:
            return []
        self.at = 10
        return [Mutable(1)]


def rewards(**members: Any) -> Any:
    """The rewards of a problem with these members, and right ones for the rest."""
    children = lambda state: ("x", "y") if state == "o" else ()  # noqa: E731
    right = {"initial": "o", "children": children, "reward": lambda _: 1}
    problem: Any = SimpleNamespace(**{**right, **members})
    return enumerate_rewards(problem, enumerate_dag(problem, max_nodes=1_000))


GRAPHS: list[tuple[Any, dict[str, Any], str]] = [
    ({"o": ["a"], "a": ["b"], "b": ["a", "x"], "x": []}, {}, "cycle .*remove one"),
    ({"o": ["o", "x"], "x": []}, {}, "cycle 'o' -> 'o'"),
    ({"o": ["x"], "u": ["x"], "x": []}, {}, "has 2: 'o', 'u'; connect"),
    ({"o": ["x"], "x": [], "z": []}, {"initial": "o"}, "not reachable from .*'o': 'z'"),
    ({"o": ["x"], "x": []}, {"initial": "x"}, "'x' is not a state without incoming"),
    ({"o": ["x"], "x": []}, {"initial": np.zeros((0, 2))}, "initial state is array.*tuple"),
    ({"o": ["x"], "x": ["y"], "y": []}, {"terminals": ["x", "y"]}, "terminal 'x' has .*'y'"),
    ({"o": {"x"}, "x": set()}, {"terminals": ["o"]}, "terminal 'o' has the child 'x'"),
    ({"o": ["x", "d"], "x": [], "d": []}, {"terminals": ["x"]}, "'d' is not terminal but"),
    ({"o": ["x"], "x": []}, {"terminals": ["x", "z"]}, "terminal 'z' is not a state"),
    ({"o": ["x"]}, {}, "'o' has the child 'x', which is not a state.*entry"),
    ({"o": ["x", "x"], "x": []}, {}, "'o' lists the child 'x' twice.*once"),
    ({"o": []}, {}, "'o' has no children.*give it"),
    ({}, {}, "has 0: none"),
]
REWARDS = [
    (0, "'x' is 0, where .*log R: leave it out .*log_reward"),
    (Fraction(-1, 2), "'x' is -1/2.*negative"),
    (BAD, "'x' is nan.*finite"),
    (float("inf"), "'x' is inf.*finite"),
]
Row = tuple[str, Callable[[], object], str]
REFUSED: list[Row] = [
    *(("graph", lambda c=c, o=o: pointed_dag(c, **o), words) for c, o, words in GRAPHS),
    *(("reward", lambda v=v: rewards(reward=lambda _: v), words) for v, words in REWARDS),
    ("reward", lambda: rewards(reward=lambda x: {"x": 1}[x]), r"'y'\) raises KeyError, 'y' .*line"),
    ("reward", lambda: rewards(reward=lambda x, scale: 1), "reward is .* 1 argument .*'scale'"),
    ("children", lambda: rewards(children=lambda _: range(1, 10**30)), "1,000 states .*depth 1"),
    ("children", lambda: rewards(children=lambda _: ["x"] * 10**4), "more than 1,000 states"),
    ("children", lambda: rewards(children=("x",)), r"children is \('x',\), but must be a function"),
    ("initial", lambda: rewards(initial=Mutable().grown), "initial is a method, but must be"),
    ("initial", lambda: enumerate_dag(Grid), r"is a class, but must be .* Grid\(\)"),
    ("children", lambda: rewards(initial=Mutable(), children=Mutable.grown), "was changed .* copy"),
    ("size", lambda: enumerate_dag(Grid(16), max_nodes=50), r"more than 50 states .* --max-nodes"),
    ("size", lambda: lift(enumerate_dag(Grid(4)), History(), 30), "lift has more than 30 states"),
    ("size", lambda: list(enumerate_dag(Grid(4)).trajectories(10)), "trajectories, and at most 10"),
    ("policy", lambda: ForwardPolicy(FORK, RATIONAL, [HALF, HALF / 2]), "'o' sums to 3/4"),
    ("policy", lambda: ForwardPolicy(FORK, FLOAT64, [0.5, 0.5 + 1e-9]), "'o' sums to 1.00"),
    ("policy", lambda: BackwardPolicy(FORK, RATIONAL, [HALF, HALF]), "'x' sums to 1/2"),
    ("policy", lambda: ForwardPolicy(FORK, RATIONAL, [HALF]), "1 values for a DAG of 2 edges"),
    ("policy", lambda: ForwardPolicy(FORK, RATIONAL, [3 * HALF, -HALF]), "'o' -> 'y' is -1/2"),
    ("policy", lambda: ForwardPolicy(FORK, FLOAT64, [BAD, 1.0]), "'o' -> 'x' is nan"),
    ("policy", lambda: ForwardPolicy(FORK, BALL, [HALF, HALF]), "Fraction"),
    ("weights", lambda: ForwardPolicy.from_weights(FORK, RATIONAL, [0, 0]), "weights at state"),
    ("weights", lambda: ForwardPolicy.from_weights(FORK, RATIONAL, [1]), "1 weights for a DAG"),
    ("rows", lambda: ForwardPolicy.from_rows(FORK, RATIONAL, {}), "no row for the state 'o'"),
    ("rows", lambda: ForwardPolicy.from_rows(FORK, RATIONAL, {"o": {"z": ONE}}), "'z', which is"),
    ("balance", lambda: list(tb_residuals(P_F, OTHER, (HALF, NONE), HALF)), "different DAGs"),
    ("balance", lambda: list(tb_residuals(P_F, P_B, (HALF,), HALF)), "1 rewards for 2 terminal"),
    ("balance", lambda: forward_from_backward(P_B, (HALF,)), "1 rewards for 2 terminal states"),
    ("balance", lambda: forward_from_backward(P_B, (NONE, NONE)), "sum to zero"),
    ("balance", lambda: list(log_tb_residuals(P_F, P_B, (ONE, NONE), 0.0)), "R = 0, but the log"),
    ("metrics", lambda: normalize((NONE, NONE)), "sum to zero"),
    ("metrics", lambda: total_variation((HALF,), (HALF, HALF)), "laws on 1 and 2 states"),
    ("metrics", lambda: fcs((ONE, NONE), (ONE, NONE), 3), "batch_size is 3"),
    ("metrics", lambda: fcs((ONE, NONE), (ONE, NONE), 1), r"batch \(1,\) has probability zero"),
    ("latent", lambda: lift(PATH, LISTS), "'a' is .*, a list that is not hashable"),
    ("latent", lambda: lift(PATH, Additive(lambda s, w: [s], initial=[])), "'o' is .*, a list"),
    ("problem", lambda: Lines((ONE,)), "N = 0, but N must be at least 1"),
    ("problem", lambda: Lines((ONE, NONE)), "'q1' is 0"),
    ("problem", lambda: Lines.laplaces(0), "the length N is 0, .*at least 1"),
    ("problem", lambda: Lines.laplaces(4, 0), "the step M is 0, .*at least 1"),
    ("problem", lambda: Lines.sparse(10), "peak 20 lies outside 0..10: .* length of at least 20"),
    ("problem", lambda: Grid(1), "the side H is 1, .*at least 2"),
    ("problem", lambda: Grid(2, 0), "the dimension is 0"),
    ("problem", lambda: SyntheticSequences.random(0), "length is 0"),
    ("problem", lambda: SyntheticSequences.random(3, 27), "number of letters is 27"),
    ("problem", lambda: SyntheticSequences.random(3, 2, "insert"), "build is 'insert'"),  # type: ignore[arg-type]
    ("problem", lambda: SyntheticSequences("ab", 2, "append", (1.0,), (1.0, 2.0)), "u has 1 value"),
    ("problem", lambda: SyntheticSequences("aa", 2), "'aa' must be one or more distinct letters"),
    ("problem", lambda: SyntheticSequences("a", 1, u=(10**400,), v=(1.0,)), "u "),
    ("problem", lambda: TableSequences.six6(exponent=0), "exponent is 0"),
    ("problem", lambda: Ising.random(2, order=10**5_000), "an integer of 16610 bits, but"),  # type: ignore[arg-type]
    ("once", lambda: Sets(iter([ONE] * 4), 1), "must be a sequence, such as"),  # type: ignore[arg-type]
    ("once", lambda: BitSequences(iter(["01"])), "must be a sequence, such as"),  # type: ignore[arg-type]
    ("once", lambda: TiedPolicies(DIAMOND, iter(range(6))), "must be a sequence, such as"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.catches(
    "A p_B whose rows do not sum to one passes, as long as they are positive.",
    "reference/policies.py",
    "            if not self.field.agree(total, self.field.one, 2 * len(row) + 2):\n",
    "            if not self.field.positive(total):\n",
)
@pytest.mark.parametrize(("part", "call", "words"), REFUSED)
def test_a_mistake_is_refused_in_these_words(
    part: str, call: Callable[[], object], words: str
) -> None:
    with pytest.raises(InputError, match=words) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_what_is_nearly_refused_is_accepted() -> None:
    assert BackwardKernel(FORK, RATIONAL, [HALF, HALF]).values == [HALF, HALF]
    expected = pointed_dag({"o": ["x"], "x": []}).children
    assert pointed_dag({"o": iter(["x"]), "x": ()}).children == expected  # type: ignore[dict-item]
    assert pointed_dag({"o": {"x"}, "x": set()}, terminals=["x"]).children == expected  # type: ignore[dict-item]
    base = enumerate_dag(Grid(3))
    states = len(lift(base, History()).dag.labels)
    assert len(lift(base, History(), states).dag.labels) == states
    with pytest.raises(TooLargeError, match=f"more than {states - 1} states"):
        lift(base, History(), states - 1)


def test_messages_have_an_end() -> None:
    ring = {number: [(number + 1) % 100_000] for number in range(100_000)}
    words = r"has the cycle .* 0 -> 1 .* \[\.\.\. [0-9,]+ characters"
    with pytest.raises(InputError, match=words) as refused:
        pointed_dag(ring)
    assert len(str(refused.value)) < 2_100


@pytest.mark.parametrize("words", [["sample", "x" * 5_000], ["plot", "\udcff"], ["trian"]])
def test_the_command_line_ends_in_one_line_and_the_code_2(words: list[str], capsys: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "Traceback" not in capsys.readouterr().err
