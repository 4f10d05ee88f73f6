"""`pdai.certify`: the right number lies inside, and nothing is claimed that is not known."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pdai
from reference import InputError
from reference.certificates import check_certificate, confirm_problem, read_header
from reference.certificates.betting import Interval
from reference.certificates.statement import Line
from reference.contract.text import number_text, small
from reference.fields.field import RATIONAL
from reference.policies import BackwardPolicy
from reference.problems import Grid
from reference.rows import functions
from reference.rows.functions import BackwardRows, ForwardRows
from reference.rows.walks import Walker
from tests.certificates.problems import DAG, ENDS, GRID, Fork, Words, balanced, half, noisy, other

WEIGHTS = np.random.default_rng(0).random((3, 3, 3))
LOG_Z = math.log(GRID.z())


def policy(state: Any) -> list[float]:
    """Unequal rows of floats."""
    row = WEIGHTS[state.coordinates][: len(GRID.children(state))] + 0.2
    return (row / row.sum()).tolist()


def of_history(history: Any) -> list[float]:
    """Depends on how one came here."""
    row = np.array(policy(history[-1]))
    row[0] *= len({x.coordinates[0] for x in history})
    return (row / row.sum()).tolist()


CASES: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
    "state": (policy, {}),
    "states": (lambda states: [policy(s) for s in states], {"takes": "states"}),
    "logits": (lambda s: np.log(policy(s)).tolist(), {"gives": "logits"}),
    "mapping": (lambda s: dict(zip(GRID.children(s), policy(s), strict=True)), {}),
    "float32": (lambda s: np.array(policy(s), np.float32), {}),
    "history": (of_history, {"takes": "history"}),
    "histories": (lambda hs: [of_history(h) for h in hs], {"takes": "histories"}),
}


@cache
def tv_of_trajectories(row: Callable[[Any], list[float]] = of_history) -> Fraction:
    """`TV(p_F, mu)` beside the uniform `p_B`, by listing trajectories."""
    ways = [((GRID.initial,), Fraction(1), Fraction(1))]
    tv = Fraction(0)
    for way, p, p_b in ways:
        children = GRID.children(way[-1])
        given = [*map(Fraction, row(way))] if children else []
        for child, value in zip(children, given, strict=True):
            parents = len(DAG.in_edges[DAG.index[child]])
            ways.append(((*way, child), p * value / sum(given), p_b / parents))
        if not children:
            tv += max(0, p - p_b * GRID.reward(way[-1]) / GRID.z())
    return tv


def of_state(history: Any) -> list[float]:
    return policy(history[-1])


@pytest.mark.parametrize("name", CASES)
def test_the_exact_distance_lies_in_the_interval_of_every_regime(name: str) -> None:
    sampler, options = CASES[name]
    exact = pdai.certify(sampler, GRID, **options)
    tv = tv_of_trajectories(of_history if name.startswith("histor") else of_state)
    assert exact.regime == "E"
    assert exact.interval.low <= exact.tv <= exact.interval.high
    assert exact.tv <= tv + Fraction(1, 10**6)
    for regime in ("Z", "S", "N"):
        result = pdai.certify(sampler, GRID, regime=regime, samples=4_096, **options)
        assert result.regime == regime
        assert 0 < result.interval.low <= tv <= result.interval.high
        assert (result.interval.high == 1) == (regime == "N")
        if regime != "S":
            assert LOG_Z - 0.3 < result.value("log Z from below, nats") < LOG_Z


@pytest.mark.catches(
    "The problem's own samples of the target are the same for every seed.",
    "pdai/certifying/target.py",
    "problem.sample(count, seed)",
    "problem.sample(count, 0)",
)
def test_samples_of_the_target_are_drawn_with_the_seed() -> None:
    drawn = random.Random(0).choices(ENDS, k=4_096)
    lows = [pdai.certify(drawn, GRID, max_states=2, seed=seed).interval.low for seed in (1, 2)]
    assert 0 < min(lows) < max(lows)


def test_control_a_wrong_reward_moves_the_interval_away() -> None:
    class Other(Grid):
        log_z = sample = None  # type: ignore[assignment]  # of the other reward

        def reward(self, terminal: Any) -> Fraction:
            return Fraction(1) if terminal.coordinates == (0, 0) else super().reward(terminal)

    z = sum(map(Other(3, 2).reward, ENDS), Fraction(0))
    result = pdai.certify(policy, Other(3, 2), regime="Z", log_z=math.log(z), samples=4_096)
    assert not result.interval.low <= tv_of_trajectories(of_state) <= result.interval.high


@pytest.mark.catches(
    "The lower bound of Z bounds TV from above, and the upper one from below.",
    "reference/certificates/regimes.py",
    "((above, log_z.high), (below, max(log_z.low, -LARGEST)))",
    "((above, max(log_z.low, -LARGEST)), (below, log_z.high))",
)
def test_bounds_of_z_keep_the_interval_and_widen_it() -> None:
    tv = tv_of_trajectories(of_state)
    narrow, wide = (
        pdai.certify(policy, GRID, regime="Z", samples=4_096, log_z=log_z).interval
        for log_z in (None, (LOG_Z - 0.05, LOG_Z + 0.05))
    )
    assert narrow.low - 0.06 < wide.low < narrow.low <= tv <= narrow.high
    assert narrow.high < wide.high < narrow.high + 0.06


def test_a_mode_that_is_never_visited_is_named_and_counted() -> None:
    mode = ENDS[0]

    def blind(state: Any) -> Any:
        row = dict(zip(GRID.children(state), policy(state), strict=True))
        left = {child: p for child, p in row.items() if child != mode}
        return {child: p / sum(left.values()) for child, p in left.items()}

    exact = pdai.certify(blind, GRID)
    mass = GRID.reward(mode) / GRID.z()
    assert exact.value("mass of terminals that are never reached") == mass
    assert exact.tv >= mass
    assert repr(mode) in exact.notes[0]
    sampled = pdai.certify(blind, GRID, regime="Z", samples=4_096)
    assert sampled.interval.high >= mass
    assert any("gives zero to the child" in note and repr(mode) in note for note in sampled.notes)


def test_log_z_is_summed_where_the_states_are_few() -> None:
    """The words do not tell theirs; where they are too many, regime Z is refused."""
    result = pdai.certify(half, Words, regime="Z", samples=4_096)
    assert result.interval.low <= Fraction(3, 20) <= result.interval.high
    log_z = result.value("log Z, nats")
    assert log_z.low < math.log(20) < log_z.high
    assert log_z.width < 1e-12


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (Words, "bound"),
        (other(log_z=lambda p: math.log(20)), "as given"),
        (other(log_mass_bound=lambda p, s: math.log(20)), "as given"),
        (GRID, "bound"),
    ],
)
def test_a_log_z_that_a_users_problem_tells_is_as_given(problem: Any, kind: str) -> None:
    rows = policy if problem is GRID else half
    report = pdai.certify(rows, problem, regime="Z", samples=64).report
    assert report["log Z, nats"].endswith(f"({kind})")


def test_means_that_a_users_problem_tells_are_not_exact(tmp_path: Path) -> None:
    first = lambda p, x: {"first": float(x[0] == "a")}  # noqa: E731
    problem = other(quantities=first, indicators=first, quantity_means=lambda p: {"first": 0})
    report = pdai.certify(half, problem, features=problem.quantities, regime="Z", samples=64).report
    assert report["first: target (with TV)"].endswith("(bound)")
    assert "first: target" not in report
    assert not pdai.solve(problem, out=tmp_path / "run").report.expectations


@pytest.mark.catches(
    "With neither log Z nor target samples, the mean at the floor of Z bounds TV from above.",
    "reference/certificates/regimes.py",
    "Result(Interval(low, 1.0), lines, draws.count)",
    "Result(Interval(0.0, low), lines, draws.count)",
)
def test_without_z_no_closeness_is_claimed() -> None:
    result = pdai.certify(half, Words, samples=4_096, max_states=5)
    assert result.regime == "N"
    assert result.interval.high == 1
    assert any("why no more is known" in note for note in result.notes)
    assert math.log(20) - 0.2 < result.value("log Z from below, nats") < math.log(20)
    known = pdai.certify(half, Words, samples=4_096, max_states=5, log_z=math.log(20))
    assert known.regime == "Z"
    assert known.interval.low <= Fraction(3, 20) <= known.interval.high
    late = pdai.certify(half, Words, max_states=5, log_z=math.log(20), seconds=0)
    ended = [any("drawing ended after" in note for note in each.notes) for each in (known, late)]
    assert ended == [False, True]


def test_expectations_are_exact_or_widened_by_the_distance() -> None:
    def features(x: Any) -> dict[str, float]:
        return {"right half": float(x.coordinates[0] > 0), "mean of y": x.coordinates[1] / 2}

    exact = pdai.certify(policy, GRID, features=features, mode_states=ENDS[:1])
    assert exact.value(f"mass of {ENDS[0]!r}: target") == GRID.reward(ENDS[0]) / GRID.z()
    result = pdai.certify(policy, GRID, regime="Z", features=features, samples=8_192)
    for name in ("right half", "mean of y"):
        sampler, target = (exact.value(f"{name}: {whose}") for whose in ("sampler", "target"))
        low, high = result.value(f"{name}: sampler")
        assert low <= sampler <= high
        wide = result.value(f"{name}: target (with TV)")
        assert wide.low <= target <= wide.high
        by_weights = result.value(f"{name}: target, by importance weights")
        assert by_weights == pytest.approx(float(target), abs=0.1)


class Reseeded(Fork):
    """Fresh trajectories, or the same ones in every call."""

    def __init__(self, seed: int | None):
        super().__init__()
        self.seed = seed

    def draw(self, count: int, *, labels: bool = False) -> Any:
        self.rng = np.random.default_rng(self.rng if self.seed is None else self.seed)
        return super().draw(count, labels=labels)


@pytest.mark.parametrize("regime", ["Z", "N"])
def test_an_object_that_draws_the_same_again_is_refused(regime: Any) -> None:
    asked = {"regime": regime, "log_z": math.log(2) if regime == "Z" else None, "width": 0.0}
    pdai.certify(Reseeded(None), samples=20_000, **asked)
    with pytest.raises(InputError, match="Reseeded: draw gives the same trajectories again"):
        pdai.certify(Reseeded(0), samples=20_000, **asked)


class Explorer(Fork):
    """Ends in 0 less often than its numbers say, in so many ways, as likely."""

    ways = 1

    def draw(self, count: int, *, labels: bool = False) -> Any:
        walks = self._of((self.rng.random(count) >= self.p - 0.1).astype(int), 0.0)
        each = math.log(self.ways)
        return walks._replace(log_p_f=walks.log_p_f - each, log_p_b=walks.log_p_b - each)


class ByTwoWays(Explorer):
    ways = 2


def coin_steps(problem: Any, state: Any) -> list[int]:
    return [0, 1] if state == "" else []


COIN = other("Coin", children=coin_steps, parents=None, reward=lambda p, x: 1)
# Two ends that are listed, or too many to be.
LISTED: Any = {"law": {0: 1, 1: 1}}
LARGE: Any = {"problem": COIN, "max_states": 2, "log_z": math.log(2)}


@pytest.mark.parametrize(
    ("kind", "target", "words"),
    [
        (Explorer, LISTED, "have the probability 0.5 by their log p_F"),
        (Explorer, LARGE, "have the probability 0.5 by their log p_F"),
        (ByTwoWays, LISTED, "by the log-probabilities, and that of terminals in"),
    ],
)
def test_an_object_whose_numbers_are_not_those_of_its_draws_is_refused(
    kind: Any, target: dict[str, Any], words: str
) -> None:
    """By its numbers, TV was at most 0.002, where it is 0.1."""
    asked: Any = {**target, "samples": 20_000, "width": 0.0}
    assert pdai.certify(Fork(0.5), **asked).interval.high < 0.002
    with pytest.raises(InputError, match=words):
        pdai.certify(kind(0.5), **asked)


def steps_back(state: Any) -> list[Any]:
    x, y = state
    return [(x - 1, y), (x, y - 1)]


def plane(parents: Callable[[Any], Any]) -> Any:
    """Steps right and up, where the law of half is the target."""
    children = lambda p, s: [(s[0] + 1, s[1]), (s[0], s[1] + 1)] if sum(s) < 6 else []  # noqa: E731
    members = {"children": children, "parents": lambda p, s: parents(s)}
    return other("Plane", initial=(0, 0), reward=lambda p, x: math.comb(6, x[0]), **members)


def reversal(state: Any) -> Any:
    """The share of each step among those that lead here."""
    return {s: n / sum(state) for s, n in zip(steps_back(state), state, strict=True) if n}


@pytest.mark.catches(
    "The parents that a problem names are not compared with those of its graph.",
    "reference/rows/functions.py",
    "if is_met and (odd := {*self._in_graph(state)} ^ {*parents}):",
    "if False:",
)
@pytest.mark.parametrize("regime", ["Z", "S"])
@pytest.mark.parametrize("max_states", [1_000, 5], ids=["enumerated", "not"])
def test_parents_that_are_never_reached_are_refused(regime: Any, max_states: int) -> None:
    options: Any = {"regime": regime, "max_states": max_states, "samples": 1_024}
    options |= {"log_z": math.log(64)} if regime == "Z" else {"target": [(3, 3)] * 1_000}
    words = "reached from the initial one are others" if max_states > 5 else "Plane, by its parents"
    with pytest.raises(InputError, match=words):
        pdai.certify(half, plane(steps_back), seconds=0.1, **options)
    right = plane(lambda state: [*reversal(state)])
    assert pdai.certify(half, right, p_b=reversal, **options).interval.low < 0.01
    with pytest.raises(InputError, match=r"p_b\(.*and asked again"):
        pdai.certify(half, right, p_b=lambda s: noisy(s) if min(s) else [1.0], **options)


def test_learning_p_b_ends_with_the_seconds() -> None:
    result = pdai.certify(half, Words, regime="Z", samples=4_096, tighten=10**6, seconds=0.25)
    assert any("or as many as 0.25 s allow" in note for note in result.notes)


@pytest.mark.catches(
    "The learned p_B counts children of parents for parents of children.",
    "reference/rows/walks.py",
    "counts[after][before] += 1",
    "counts[before][after] += 1",
    by="refusal",
)
def test_a_learned_backward_policy_brings_the_bound_down_to_the_terminals() -> None:
    """A sampler with the right law, by a reversal that is far from uniform."""
    weights = np.random.default_rng(0).integers(1, 30, len(DAG.edges)).tolist()
    skewed = BackwardPolicy.from_weights(DAG, RATIONAL, [*map(Fraction, weights)])
    right = balanced(GRID, backward=skewed)
    loose, tight = (
        pdai.certify(right, GRID, regime="Z", samples=8_192, tighten=steps) for steps in (0, 100)
    )
    assert loose.interval.low > 0.03
    assert tight.interval.high < 0.02
    assert any("p_B was learned in 100 steps" in note for note in tight.notes)


def test_certificates_show_themselves_and_small_numbers_as_small_ones() -> None:
    made = pdai.certify(policy, GRID)
    assert f"TV of terminals {small(made.tv)} (exact for float64 input), of policy" in repr(made)
    assert "<table>" in made._repr_html_()
    assert made.to_json()["tv"] == str(made.tv)
    long = replace(made, tv=Fraction(1, 10**5000))
    assert ("1e-5000 (" in repr(long), len(long.to_json()["tv"])) == (True, 5003)
    assert small(1.3e-7) == "1.3e-07"
    assert small(Fraction(2, 3), down=True) == "0.666666"
    assert small(Fraction(2, 3), down=False) == "0.666667"
    assert small(1e-9 + 1e-17, down=False) == "1.00001e-09"
    assert small(1.249e-13, down=False, digits=2) == "1.3e-13"
    assert [small(x) for x in (0.0, 1.0, 1 - 5e-8)] == ["0", "1", "1 - 5e-8"]
    assert small(1 + 2.0**-30, digits=3) == "1 + 9.31e-10"
    assert small(Fraction(1, 10**400)) == "1e-400"
    assert small(1 - Fraction(1, 10**40)) == "1 - 1e-40"
    assert number_text(Fraction(99_999, 100_000)) == "1 - 0.00001"
    assert Line("x", Interval(1 / 3, 2 / 3), "bound").text() == "[0.333333, 0.666667]"


@pytest.mark.parametrize("name", ["state", "history"])
def test_the_certificate_file_is_accepted_and_a_changed_one_is_not(name: str, path: Path) -> None:
    sampler, options = CASES[name]
    result = pdai.certify(sampler, GRID, certificate=path, **options)
    assert check_certificate(path).accepted
    assert confirm_problem(path, GRID).accepted
    claim = read_header(path).claim
    assert claim.value >= result.tv
    assert float(claim.value) == pytest.approx(float(result.tv or 0), abs=1e-11)
    path.write_text(path.read_text().replace("\nt ", "\nt 9", 1))
    assert not check_certificate(path).accepted


THIRDS, TINY = [Fraction(1, 3), Fraction(2, 3)], Fraction(1, 10**400)
EVEN = SimpleNamespace(log_prob=lambda x: -math.log(2))
SCALED = {"a": Fraction(117, 220), "b": Fraction(117, 110)}


def pair(answer: Callable[[str], Any], method: str = "reward") -> Any:
    """Two states, whose rewards or their logarithms a function gives."""
    members = {"children": lambda self, x: ["a", "b"] * (not x), method: lambda self, x: answer(x)}
    return type("Pair", (), {"initial": "", **members})()


# The numbers of a sampler and of its target, what is said, and TV.
FLOAT, EXACT = "exact for float64 input", "exact"
INPUTS: dict[str, tuple[Any, dict[str, Any], str, Any]] = {
    "fractions": (THIRDS, {"law": SCALED}, EXACT, 0),
    "a mapping": ({"b": THIRDS[1], "a": THIRDS[0]}, {"law": SCALED}, EXACT, 0),
    "decimals": ([Decimal("0.3"), Decimal("0.7")], {"law": {"a": 3, "b": 7}}, EXACT, 0),
    "texts": (["1/3", "2/3"], {"law": {"a": "117/220", "b": "117/110"}}, EXACT, 0),
    "integers": ([1, 0], {"law": {"a": 3**500, "b": 2 * 3**500}}, EXACT, Fraction(2, 3)),
    "of NumPy": (np.array([1, 0]), {"law": SCALED}, EXACT, Fraction(2, 3)),
    "below floats": ([TINY, 1 - TINY], {"law": {"a": TINY, "b": 1 - TINY}}, EXACT, 0),
    "near a half": (
        [Fraction(1, 2) + Fraction(1, 10**20), Fraction(1, 2) - Fraction(1, 10**20)],
        {"law": {"a": 1, "b": 1}},
        EXACT,
        Fraction(1, 10**20),
    ),
    "rewards": (THIRDS, {"problem": pair(SCALED.__getitem__)}, EXACT, 0),
    "float rows": ([0.5, 0.5], {"law": {"a": 1, "b": 1}}, FLOAT, 0),
    "one float": ([0.5, Fraction(1, 2)], {"law": {"a": 1, "b": 1}}, FLOAT, 0),
    "float weights": (THIRDS, {"law": {"a": 1.0, "b": 2}}, FLOAT, 0),
    "float rewards": (THIRDS, {"problem": pair({"a": 1.0, "b": 2}.__getitem__)}, FLOAT, 0),
    "log weights": (["1/2", "1/2"], {"log_weights": {"a": Fraction(3), "b": 3}}, FLOAT, 0),
    "log rewards": (["1/2", "1/2"], {"problem": pair(lambda x: 3, "log_reward")}, FLOAT, 0),
    "log_prob": (
        SimpleNamespace(log_prob=lambda x: -math.log(2)),
        {"law": {"a": 1, "b": 1}},
        FLOAT,
        0,
    ),
    "logits": ([0.0, 0.0], {"law": {"a": 1, "b": 1}, "gives": "logits"}, FLOAT, 0),
}


@pytest.mark.catches(
    "A number that was a float is taken for a rational one.",
    "reference/contract/user_code.py",
    "return Float64(*map(int, number.as_integer_ratio()))",
    "return Fraction(*map(int, number.as_integer_ratio()))",
    only="float weights",
)
@pytest.mark.catches(
    "Rational rows are read as floats, and TV of the floats is called exact.",
    "reference/rows/functions.py",
    "return self.rational or exact_row(self.values)",
    "return exact_row(self.values)",
    only="fractions",
)
@pytest.mark.parametrize(("row", "target", "kind", "tv"), INPUTS.values(), ids=INPUTS)
def test_what_is_rational_stays_exact_and_what_was_a_float_is_marked(
    row: Any, target: dict[str, Any], kind: str, tv: Any
) -> None:
    """TV of thirds beside thirds was 1.85e-17 (exact)."""
    made = pdai.certify(row if hasattr(row, "log_prob") else lambda _: row, **target)
    assert (made.tv, made.to_json()["kind"], made.value("sum of p_T")) == (tv, kind, 1)
    text = {0: "0", Fraction(2, 3): "2/3, about 0.666667"}.get(tv, "1e-20")
    assert next(iter(made.report.values())) == f"{text} ({kind})"
    assert any("that float64 has" in note for note in made.notes) is (kind == FLOAT)
    assert not any("never reaches" in note for note in made.notes) or row[1] == 0


def test_rational_rows_sum_to_exactly_one() -> None:
    """1/3 and 2/3 + 1e-8 were taken, and TV 5e-9 called exact."""
    row = [Fraction(1, 3), Fraction(2, 3) + Fraction(1, 10**8)]
    words = "the row of 'a' is 1/3, 200000003/300000000, and sums to 100000001/100000000: rational"
    with pytest.raises(InputError, match=words):
        pdai.certify(lambda x: row if x == "a" else [Fraction(1, 2)] * 2, Words())
    with pytest.raises(InputError, match=r"3/2, -1/2, and sums to 1: .* must be at least 0"):
        pdai.certify(lambda _: [Fraction(3, 2), Fraction(-1, 2)], Words())


def test_rows_of_floats_are_marked_with_their_largest_change() -> None:
    given = [1 / 3, 2 / 3]
    made = pdai.certify(lambda _: given, law={"a": 1, "b": 2})
    rows = [p for _, p, _ in made.table]
    change = max(abs(p - Fraction(q)) for p, q in zip(rows, given, strict=True))
    assert change == Fraction(1, 2**54)
    words = "rows, each changed by at most 5.6e-17 to sum to one"
    assert [note for note in made.notes if "changed" in note] == [
        f"read as, or rounded to, the rational numbers that float64 has: {words}"
    ]
    drawn = pdai.certify(lambda _: given, Words(), regime="Z", samples=2_000)
    assert any(words in note for note in drawn.notes)


@pytest.mark.parametrize(("value", "kind"), [(Fraction(1, 3), EXACT), (1 / 3, FLOAT)])
def test_expectations_of_rational_features_are_exact(value: Any, kind: str) -> None:
    """A third everywhere had the mean 6004799503160661/18014398509481984 (exact)."""
    made = pdai.certify(
        lambda _: THIRDS, law=SCALED, features=lambda x: {"f": value, "a": x == "a"}
    )
    for whose in ("sampler", "target"):
        assert made.value(f"f: {whose}") == Fraction(value)
        assert made.report[f"f: {whose}"].endswith(f"0.333333 ({kind})")
        assert made.report[f"a: {whose}"] == "1/3, about 0.333333 (exact)"
    drawn = pdai.certify(["a", "b", "b"], law=SCALED, features=lambda _: {"f": value})
    assert drawn.value("f: target") == Fraction(value)
    assert drawn.report["f: target"].endswith(f"({kind})")


def test_a_sampler_in_fractions_draws_and_proves_its_own_rows(tmp_path: Path) -> None:
    """The file said TV = 1 54043195528445952, of the rows next to these."""
    made = pdai.certify(lambda _: THIRDS, law=SCALED, certificate=tmp_path / "tv.cert")
    header = read_header(tmp_path / "tv.cert")
    assert (header.relation, header.tv_numerator, made.tv) == ("=", 0, 0)
    assert "i 3 1 1 2 2 |" in (tmp_path / "tv.cert").read_text()
    state = next(s for s, edges in zip(DAG.labels, DAG.in_edges, strict=True) if len(edges) == 2)
    assert [*BackwardRows(GRID, lambda _: THIRDS).row(state).exact] == THIRDS
    words = Words()
    walker = Walker(words, ForwardRows(lambda _: THIRDS, words), BackwardRows(words), seed=0)
    walker.exact_paths = []
    walker.draw(20)
    assert {p for path in walker.exact_paths for p in path.forward} == {*THIRDS}


def test_a_row_is_closed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of a thousand children closed the whole row again, which took minutes."""
    closed: list[int] = []
    close = functions.exact_row
    monkeypatch.setattr(functions, "exact_row", lambda row: closed.append(len(row)) or close(row))
    names = [f"{i:03}" for i in range(100)]
    law = pdai.certify(lambda s: [0.01] * 100, law=dict.fromkeys(names, 1))
    assert law.regime == "E"
    assert closed == [100]


def test_a_member_of_a_problem_that_is_named_as_a_laws_is_its_own() -> None:
    """A sample outside ended in a TypeError of Python."""
    own = other(excluded=7)
    words = random.Random(0).choices(["aaa", "aab", "aba", "abb", "baa", "bab", "bba", "bbb"], k=60)
    made = pdai.certify([*words, "zzz"], own)
    assert made.impossible == 1
