"""Bad input to the reference: one clear message that names object, value, rule and fix."""

import contextlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference import (
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
from reference.problems import (
    Grid,
    Ising,
    Lines,
    SyntheticSequences,
    TableSequences,
    positive_reward,
)
from verify.lib.named_dags import FORK


@pytest.mark.parametrize(
    ("children", "options", "message"),
    [
        ({"o": ["a"], "a": ["b"], "b": ["a", "x"], "x": []}, {}, "cycle .*remove one"),
        ({"o": ["o", "x"], "x": []}, {}, "cycle 'o' -> 'o'"),
        ({"o": ["x"], "u": ["x"], "x": []}, {}, "has 2: 'o', 'u'; connect"),
        ({"o": ["x"], "x": [], "z": []}, {"initial": "o"}, "not reachable from .*'o': 'z'"),
        ({"o": ["x"], "x": []}, {"initial": "x"}, "'x' is not a state without incoming"),
        ({"o": ["x"], "x": []}, {"initial": np.zeros((0, 2))}, "initial state is array.*tuple"),
        ({"o": ["x"], "x": ["y"], "y": []}, {"terminals": ["x", "y"]}, "terminal 'x' has .*'y'"),
        ({"o": ["x", "d"], "x": [], "d": []}, {"terminals": ["x"]}, "'d' is not terminal but"),
        ({"o": ["x"], "x": []}, {"terminals": ["x", "z"]}, "terminal 'z' is not a state"),
        ({"o": ["x"]}, {}, "'o' has the child 'x', which is not a state.*entry"),
        ({"o": ["x", "x"], "x": []}, {}, "'o' lists the child 'x' twice.*once"),
        ({"o": []}, {}, "'o' has no children.*give it"),
        ({}, {}, "has 0: none"),
    ],
)
def test_a_graph_that_is_no_pointed_dag_is_refused(
    children: Any, options: Any, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        pointed_dag(children, **options)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "'x' is 0, where .*log R: leave it out .*log_reward"),
        (Fraction(-1, 2), "'x' is -1/2.*negative"),
        (float("nan"), "'x' is nan.*finite"),
        (float("inf"), "'x' is inf.*finite"),
    ],
)
def test_a_reward_that_is_not_positive_and_finite_is_refused(value: Any, message: str) -> None:
    assert positive_reward(np.float32(0.25), "x") == Fraction(1, 4)
    with pytest.raises(InputError, match=message):
        positive_reward(value, "x")

    class Problem:
        initial = "o"

        def children(self, state: str) -> tuple[str, ...]:
            return ("x",) if state == "o" else ()

        def reward(self, terminal: str) -> Any:
            return value

    problem = Problem()
    with pytest.raises(InputError, match=message):
        enumerate_rewards(problem, enumerate_dag(problem))


def test_a_problem_too_large_to_enumerate_says_how_far_it_got() -> None:
    with pytest.raises(
        TooLargeError, match=r"Grid has more than 50 states \(stopped .* inspect` --max-nodes"
    ):
        enumerate_dag(Grid(16), max_nodes=50)
    with pytest.raises(TooLargeError, match=r"the lift has more than 30 states"):
        lift(enumerate_dag(Grid(4)), History(), max_nodes=30)
    with pytest.raises(TooLargeError, match=r"complete trajectories, and at most 10"):
        list(enumerate_dag(Grid(4)).trajectories(limit=10))


HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ForwardPolicy(FORK, RATIONAL, [HALF, HALF / 2]), "row of state 'o' sums to 3/4"),
        (lambda: ForwardPolicy(FORK, FLOAT64, [0.5, 0.5 + 1e-9]), "row of state 'o' sums to 1.00"),
        (lambda: BackwardPolicy(FORK, RATIONAL, [HALF, HALF]), "row of state 'x' sums to 1/2"),
        (lambda: ForwardPolicy(FORK, RATIONAL, [HALF]), "1 values for a DAG of 2 edges"),
        (lambda: ForwardPolicy(FORK, RATIONAL, [2 * HALF + HALF, -HALF]), "'o' -> 'y' is -1/2"),
        (lambda: ForwardPolicy(FORK, FLOAT64, [float("nan"), 1.0]), "'o' -> 'x' is nan"),
        (lambda: ForwardPolicy.from_weights(FORK, RATIONAL, [0, 0]), "weights at state 'o' sum"),
        (lambda: ForwardPolicy.from_weights(FORK, RATIONAL, [1]), "1 weights for a DAG of 2"),
        (lambda: ForwardPolicy.from_rows(FORK, RATIONAL, {}), "no row for the state 'o'"),
        (lambda: ForwardPolicy.from_rows(FORK, RATIONAL, {"o": {"z": 1}}), "'z', which is not"),
    ],
)
def test_a_policy_that_is_none_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_a_kernel_need_not_be_normalised() -> None:
    assert BackwardKernel(FORK, RATIONAL, [HALF, HALF]).values == [HALF, HALF]


def test_mismatched_arguments_are_refused() -> None:
    forward = ForwardPolicy.uniform(FORK, RATIONAL)
    backward = BackwardPolicy.uniform(FORK, RATIONAL)
    other = BackwardPolicy.uniform(enumerate_dag(Grid(2)), RATIONAL)
    one, two, sure = (HALF,), (HALF, Fraction(0)), (Fraction(1), Fraction(0))
    with pytest.raises(InputError, match="different DAGs"):
        list(tb_residuals(forward, other, two, HALF))
    with pytest.raises(InputError, match="1 rewards for 2 terminal states"):
        list(tb_residuals(forward, backward, one, HALF))
    with pytest.raises(InputError, match="1 rewards for 2 terminal states"):
        forward_from_backward(backward, one)
    with pytest.raises(InputError, match="R = 0, but the log residual needs"):
        list(log_tb_residuals(forward, backward, two, 0.0))
    with pytest.raises(InputError, match="sum to zero"):
        normalize((Fraction(0), Fraction(0)))
    with pytest.raises(InputError, match="sum to zero"):
        forward_from_backward(backward, (Fraction(0), Fraction(0)))
    with pytest.raises(InputError, match="laws on 1 and 2 states"):
        total_variation(one, two)
    with pytest.raises(InputError, match="batch_size is 3"):
        fcs(sure, sure, 3)
    with pytest.raises(InputError, match=r"batch \(1,\) has probability zero"):
        fcs(sure, sure, 1)


def test_a_latent_that_cannot_be_compared_is_refused() -> None:
    path = pointed_dag({"o": ["a"], "a": ["x"], "x": []})

    class Lists:
        initial = None

        def advance(self, state: str, latent: object) -> list[str]:
            return [state]

    with pytest.raises(InputError, match=r"'a' is .*, a list that is not hashable"):
        lift(path, Lists())
    with pytest.raises(InputError, match=r"'o' is .*, a list"):
        lift(path, Additive(lambda s, w: [s], initial=[]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Lines((Fraction(1),)), "N = 0, but N must be at least 1"),
        (lambda: Lines.laplaces(0), "the length N is 0, .*at least 1"),
        (lambda: Lines.laplaces(4, 0), "the step M is 0, .*at least 1"),
        (lambda: Lines((Fraction(1), Fraction(0))), "'q1' is 0"),
        (lambda: Lines.sparse(10), "peak 20 lies outside 0..10: choose a length of at least 20"),
        (lambda: Grid(1), "the side H is 1, .*at least 2"),
        (lambda: Grid(2, 0), "the dimension is 0"),
        (lambda: SyntheticSequences.random(0), "length is 0"),
        (lambda: SyntheticSequences.random(3, 27), "number of letters is 27"),
        (lambda: SyntheticSequences.random(3, 2, "insert"), "build is 'insert'"),  # type: ignore[arg-type]
        (lambda: SyntheticSequences("ab", 2, "append", (1.0,), (1.0, 2.0)), "u has 1 values"),
        (lambda: SyntheticSequences("aa", 2), "'aa' must be one or more distinct letters"),
        (lambda: TableSequences.six6(exponent=0), "exponent is 0"),
    ],
)
def test_a_problem_with_impossible_parameters_is_refused(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        make()


def write_table(path: Path, **arrays: Any) -> Path:
    good = {"score": np.arange(4, dtype=np.float32), "alphabet": "AC", "length": 2}
    np.savez(path, **{**good, **arrays})
    return path


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"score": np.arange(4)}, "dtype int64, but must be float32"),
        ({"score": np.arange(3, dtype=np.float32)}, r"shape \(3,\).*need \(4,\)"),
        ({"score": np.array([0, 1, np.nan, 2], np.float32)}, "number 2 is nan"),
        ({"score": np.ones(4, np.float32)}, "all 1.0"),
        ({"score": np.array([1, "x", None, 2], object)}, "cannot be read"),
        ({"length": "two"}, "cannot be read"),
        ({"alphabet": np.array([0, 1])}, r"cannot be read .*alphabet \(a string"),
    ],
)
def test_a_bad_table_is_refused(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        TableSequences.load(write_table(tmp_path / "table.npz", **arrays))


def test_an_object_array_is_refused_without_unpickling_it(tmp_path: Path) -> None:
    witness = tmp_path / "unpickled"
    path = write_table(tmp_path / "table.npz", score=np.array([Touch(witness)] * 4, object))
    with pytest.raises(InputError, match=r"cannot be read .*score"):
        TableSequences.load(path)
    assert not witness.exists()
    # Control: NumPy, when allowed to, does run what the file says.
    with np.load(path, allow_pickle=True) as archive:
        assert archive["score"].shape == (4,)
    assert witness.exists()


class Touch:
    """Pickled as the instruction to create a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.path,)


def test_a_file_that_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        TableSequences.load(tmp_path / "missing.npz")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(InputError, match="cannot be read"):
        TableSequences.load(tmp_path / "text.npz")
    np.savez(tmp_path / "partial.npz", score=np.zeros(4, np.float32))
    with pytest.raises(InputError, match="alphabet"):
        TableSequences.load(tmp_path / "partial.npz")


def test_a_damaged_table_is_refused_wherever_the_damage_is(tmp_path: Path) -> None:
    path = tmp_path / "table.npz"
    scores = np.arange(4, dtype=np.float32)
    np.savez_compressed(path, score=scores, alphabet=np.array("AC"), length=np.array(2))
    good = path.read_bytes()
    changed = [good[:i] + bytes([byte ^ 0xFF]) + good[i + 1 :] for i, byte in enumerate(good)]
    for content in (good[:i] for i in range(len(good))):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"cannot be read \(.+\): give a NumPy .npz archive"):
            TableSequences.load(path)
    for content in changed:
        path.write_bytes(content)
        # Some bytes, such as those of a date, change nothing.
        with contextlib.suppress(InputError):
            TableSequences.load(path)


def test_a_good_table_is_read(tmp_path: Path) -> None:
    for alphabet in (np.array("AC"), np.array(["A", "C"]), np.array(["AC"])):
        path = write_table(tmp_path / "table.npz", alphabet=alphabet)
        problem = TableSequences.load(path, "append", 1)
        assert problem.alphabet == "AC"
        assert problem.reward("CC") == 10
        assert problem.reward("AA") == Fraction(1, 1000)


def test_children_may_be_given_as_a_set_or_by_an_iterator() -> None:
    expected = pointed_dag({"o": ["x"], "x": []})
    assert pointed_dag({"o": iter(["x"]), "x": ()}).children == expected.children  # type: ignore[dict-item]
    assert pointed_dag({"o": {"x"}, "x": set()}, terminals=["x"]).children == expected.children  # type: ignore[dict-item]
    with pytest.raises(InputError, match="terminal 'o' has the child 'x'"):
        pointed_dag({"o": {"x"}, "x": set()}, terminals=["o"])  # type: ignore[dict-item]


def test_a_lift_may_have_exactly_as_many_states_as_allowed() -> None:
    base = enumerate_dag(Grid(3))
    whole = lift(base, History())
    states = len(whole.dag.labels)
    assert len(lift(base, History(), states).dag.labels) == states
    with pytest.raises(TooLargeError, match=f"more than {states - 1} states"):
        lift(base, History(), states - 1)


class Counting:
    """A problem of which one member is as a test wants it."""

    initial: Any = "o"

    def children(self, state: Any) -> Any:
        return ("x", "y") if state == "o" else ()

    def reward(self, terminal: Any) -> Any:
        return 1


class Billions(Counting):
    def children(self, state: Any) -> Any:
        return range(1, 10**30) if state == "o" else ()


class Repeated(Counting):
    def children(self, state: Any) -> Any:
        return ["x"] * 10_000 if state == "o" else ()


class Mutable:
    """A state whose hash moves."""

    def __init__(self, at: int):
        self.at = at

    def __hash__(self) -> int:
        return hash(self.at)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mutable) and other.at == self.at

    def __repr__(self) -> str:
        return f"Mutable({self.at})"


class Moving(Counting):
    initial = Mutable(0)

    def children(self, state: Any) -> Any:
        if state.at in (1, 99):
            return ()
        state.at = 10
        return [Mutable(1), Mutable(99)]


class OwnInitial(Counting):
    def initial(self) -> Any:
        return "o"


class TwoArguments(Counting):
    def reward(self, terminal: Any, scale: Any) -> Any:
        return 1


class NoMethod(Counting):
    children: Any = ("x", "y")


class Raising(Counting):
    def reward(self, terminal: Any) -> Any:
        return {"x": 1}[terminal]


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (Billions(), r"Billions has more than 1,000 states \(stopped at depth 1\)"),
        (Repeated(), r"Repeated has more than 1,000 states"),
        (Moving(), r"the state Mutable\(10\) was changed after it was listed: .* copy"),
        (Counting, r"Counting is a class, but must be a problem: make one, Counting\(\)"),
        (OwnInitial(), "initial is a method, but must be the initial state itself"),
        (TwoArguments(), r"TwoArguments: reward is .* function of 1 argument .*'scale'"),
        (NoMethod(), r"NoMethod: children is \('x', 'y'\), but must be a function of 1 argument"),
        (Raising(), r"reward\('y'\) raises KeyError, 'y' \(.*test_reference_input.py, line \d+\)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_problem_that_misbehaves_is_refused_by_name(problem: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        enumerate_rewards(problem, enumerate_dag(problem, max_nodes=1_000))


def test_messages_have_an_end() -> None:
    states = 100_000
    ring = {number: [(number + 1) % states] for number in range(states)}
    with pytest.raises(
        InputError, match=r"has the cycle .* 0 -> 1 .* \[\.\.\. [0-9,]+ characters"
    ) as told:
        pointed_dag(ring)
    assert len(str(told.value)) < 2_100


def test_a_choice_that_python_does_not_write_out_is_refused_as_any_other() -> None:
    with pytest.raises(InputError, match="order is an integer of 16610 bits, but must be one of"):
        Ising((1, 1), (1, 1), order=10**5_000)  # type: ignore[arg-type]


def test_a_reward_beyond_float64_is_exact() -> None:
    value = np.longdouble("1e4000")
    if not np.isfinite(value):
        pytest.skip("long doubles are doubles here")
    assert positive_reward(value, "x") == Fraction(*value.as_integer_ratio())
