"""`pdai.certify`: the right number lies inside, and nothing is claimed that is not known."""

import itertools
import math
import os
import random
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import pdai
from pdai.certifying.options import CertifyOptions
from pdai.certifying.target import log_z_interval
from reference import InputError
from reference.bounds import one_sided_tv_bound
from reference.certificates import check_certificate, confirm_problem, read_header
from reference.certificates.betting import Interval
from reference.certificates.importance import Walks, effective_size, pareto_k, shortfall
from reference.certificates.policies import BackwardRows, ForwardRows
from reference.certificates.statement import Line, small
from reference.certificates.walks import Walker
from reference.fields.field import RATIONAL
from reference.lifted import History, lift
from reference.policies import BackwardPolicy, ForwardPolicy
from reference.problems import Grid, enumerate_dag, enumerate_rewards
from reference.solve import forward_from_backward
from tests.certificates.test_regimes import Fork

PROBLEM = Grid(3, 2)
WEIGHTS = np.random.default_rng(0).random((3, 3, 3))


def policy(state: Any) -> list[float]:
    """Unequal rows of floats."""
    row = WEIGHTS[state.coordinates][: len(PROBLEM.children(state))] + 0.2
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
    "mapping": (lambda s: dict(zip(PROBLEM.children(s), policy(s), strict=True)), {}),
    "float32": (lambda s: np.array(policy(s), np.float32), {}),
    "history": (of_history, {"takes": "history"}),
    "histories": (lambda hs: [of_history(h) for h in hs], {"takes": "histories"}),
}


@cache
def exact_tv_of_trajectories(name: str) -> Fraction:
    """`TV(p_F, mu)` by enumerating trajectories, from rows made here."""
    dag = enumerate_dag(PROBLEM)
    rewards = enumerate_rewards(PROBLEM, dag)
    if name in ("history", "histories"):
        lifted = lift(dag, History())
        rows: dict[Any, Any] = {}
        for node, row in enumerate(lifted.dag.children):
            if row:
                past = (dag.labels[0], *lifted.dag.labels[node][1])
                p = [Fraction(value) for value in of_history(past)]
                for child, value in zip(row, p, strict=True):
                    rows[node, child] = value / sum(p)
        forward = ForwardPolicy(lifted.dag, RATIONAL, [rows[edge] for edge in lifted.dag.edges])
        backward: Any = BackwardPolicy.uniform(dag, RATIONAL).on(lifted)
    else:
        weights = [w for u, row in enumerate(dag.children) if row for w in policy(dag.labels[u])]
        forward = ForwardPolicy.from_weights(dag, RATIONAL, weights)
        backward = BackwardPolicy.uniform(dag, RATIONAL)
    return one_sided_tv_bound(forward, backward, rewards, sum(rewards, Fraction(0)))


@pytest.mark.parametrize("name", CASES)
def test_the_exact_distance_lies_in_the_interval_of_every_regime(name: str) -> None:
    sampler, options = CASES[name]
    exact = pdai.certify(sampler, PROBLEM, **options)
    tv = exact_tv_of_trajectories(name)
    assert exact.regime == "E"
    assert exact.tv is not None
    assert exact.interval.low <= exact.tv <= exact.interval.high
    assert exact.tv <= tv + Fraction(1, 10**6)
    for regime, known in (("Z", {}), ("S", {}), ("N", {})):
        found = pdai.certify(sampler, PROBLEM, regime=regime, samples=4_096, **options, **known)  # type: ignore[arg-type]
        assert found.regime == regime
        assert found.interval.low <= tv <= found.interval.high
        assert found.interval.low > 0
        assert (found.interval.high == 1) == (regime == "N")


def test_control_a_wrong_reward_moves_the_interval_away() -> None:
    class Other(Grid):
        def reward(self, terminal: Any) -> Fraction:
            return Fraction(1) if terminal.coordinates == (0, 0) else super().reward(terminal)

    z = sum((Other(3, 2).reward(x) for x in terminals()), Fraction(0))
    found = pdai.certify(policy, Other(3, 2), regime="Z", log_z=math.log(z), samples=4_096)
    assert not found.interval.low <= exact_tv_of_trajectories("state") <= found.interval.high


def terminals() -> list[Any]:
    dag = enumerate_dag(PROBLEM)
    return [dag.labels[x] for x in dag.terminals]


@pytest.mark.catches(
    "The lower bound of Z bounds TV from above, and the upper one from below.",
    "reference/certificates/regimes.py",
    "((above, log_z.high), (below, max(log_z.low, -LARGEST)))",
    "((above, max(log_z.low, -LARGEST)), (below, log_z.high))",
)
def test_bounds_of_z_keep_the_interval_and_widen_it() -> None:
    true = math.log(PROBLEM.z())
    tv = exact_tv_of_trajectories("state")
    narrow = pdai.certify(policy, PROBLEM, regime="Z", samples=4_096)
    wide = pdai.certify(
        policy, PROBLEM, regime="Z", samples=4_096, log_z=(true - 0.05, true + 0.05)
    )
    assert wide.interval.low < narrow.interval.low <= tv <= narrow.interval.high
    assert narrow.interval.high < wide.interval.high < narrow.interval.high + 0.06
    assert wide.interval.low > narrow.interval.low - 0.06


def test_log_z_from_below_is_below() -> None:
    for regime in ("Z", "N"):
        found = pdai.certify(policy, PROBLEM, regime=regime, samples=8_192)  # type: ignore[arg-type]
        assert math.log(PROBLEM.z()) - 0.3 < found.value("log Z from below, nats")
        assert found.value("log Z from below, nats") < math.log(PROBLEM.z())


def test_a_mode_that_is_never_visited_is_named_and_counted() -> None:
    mode = terminals()[0]

    def blind(state: Any) -> Any:
        row = dict(zip(PROBLEM.children(state), policy(state), strict=True))
        left = {child: p for child, p in row.items() if child != mode}
        return {child: p / sum(left.values()) for child, p in left.items()}

    exact = pdai.certify(blind, PROBLEM)
    mass = PROBLEM.reward(mode) / PROBLEM.z()
    assert exact.value("mass of terminals that are never reached") == mass
    assert exact.tv is not None
    assert exact.tv >= mass
    assert repr(mode) in exact.notes[0]
    sampled = pdai.certify(blind, PROBLEM, regime="Z", samples=4_096)
    assert sampled.interval.high >= mass
    assert any("gives zero to the child" in note and repr(mode) in note for note in sampled.notes)


def test_trajectories_that_were_recorded_are_certified(tmp_path: Path) -> None:
    backward = BackwardRows(PROBLEM, dag=enumerate_dag(PROBLEM))
    walker = Walker(PROBLEM, ForwardRows(policy, PROBLEM), backward, 0)
    walks = walker.draw(4_096, labels=True)
    lines = ["terminal,log_p_f,log_p_b,log_reward"] + [
        f'"{x!r}",{a},{b},{c}'
        for x, a, b, c in zip(
            walks.terminals, walks.log_p_f, walks.log_p_b, walks.log_reward, strict=True
        )
    ]
    path = tmp_path / "recorded.csv"
    path.write_text("\n".join(lines))
    found = pdai.certify(path, PROBLEM)
    assert found.regime == "Z"
    assert found.interval.low <= exact_tv_of_trajectories("state") <= found.interval.high
    assert any("assumes that the recorded trajectories" in note for note in found.notes)
    # The header of `pdai sample --format csv`.
    path.write_text("\n".join(["state,log_p_f,log_p_b,log_reward", *lines[1:]]))
    assert pdai.certify(path, PROBLEM).interval == found.interval
    path.write_text("\n".join([*lines[:-1], lines[-1].rpartition(",")[0] + ",-9.5"]))
    with pytest.raises(InputError, match=r"is -9\.5 in the record"):
        pdai.certify(path, PROBLEM)
    path.write_text("\n".join([*lines[:-1], lines[-1].rpartition(",")[0] + ",nan"]))
    with pytest.raises(InputError, match="sample 4096 is 'nan', but must be a number"):
        pdai.certify(path, PROBLEM)


class Unsummed:
    """The same problem, which does not tell its log Z."""

    initial = PROBLEM.initial

    def children(self, state: Any) -> Any:
        return PROBLEM.children(state)

    def parents(self, state: Any) -> Any:
        dag = enumerate_dag(PROBLEM)
        of = dag.index[state]
        return [x for x, row in zip(dag.labels, dag.children, strict=True) if of in row]

    def reward(self, terminal: Any) -> Any:
        return PROBLEM.reward(terminal)


def test_log_z_is_summed_where_the_states_are_few() -> None:
    found = pdai.certify(policy, Unsummed(), regime="Z", samples=4_096)
    assert found.interval.low <= exact_tv_of_trajectories("state") <= found.interval.high
    line = next(line for line in found.lines if line.name == "log Z, nats")
    assert isinstance(line.value, Interval)
    true = math.log(sum(enumerate_rewards(PROBLEM, enumerate_dag(PROBLEM))))
    assert line.value.low < true < line.value.high
    assert line.value.width < 1e-12


def test_control_log_z_is_not_known_where_they_are_too_many() -> None:
    with pytest.raises(InputError, match="needs log Z"):
        pdai.certify(policy, Unsummed(), regime="Z", samples=4_096, max_states=5)


def bare(tmp_path: Path, name: str, samples: list[Any]) -> Path:
    path = tmp_path / name
    path.write_text("\n".join(f'"{x!r}"' for x in samples))
    return path


def test_bare_samples_bound_the_distance_from_both_sides(tmp_path: Path) -> None:
    right = pdai.certify(
        bare(tmp_path, "right.csv", PROBLEM.sample(20_000, 0)), PROBLEM, level=0.01
    )
    assert right.regime == "S"
    assert right.interval.low == 0
    assert right.interval.high < 0.05
    first = pdai.certify(bare(tmp_path, "one.csv", terminals()[:1] * 500), PROBLEM)
    true = 1 - PROBLEM.reward(terminals()[0]) / PROBLEM.z()
    assert 0.8 * true < first.interval.low <= true <= first.interval.high


def test_expectations_are_exact_or_widened_by_the_distance() -> None:
    def features(x: Any) -> dict[str, float]:
        return {"right half": float(x.coordinates[0] > 0), "mean of y": x.coordinates[1] / 2}

    exact = pdai.certify(policy, PROBLEM, features=features, mode_states=terminals()[:1])
    assert (
        exact.value(f"mass of {terminals()[0]!r}: target")
        == PROBLEM.reward(terminals()[0]) / PROBLEM.z()
    )
    found = pdai.certify(policy, PROBLEM, regime="Z", features=features, samples=8_192)
    for name in ("right half", "mean of y"):
        sampler, target = (exact.value(f"{name}: {whose}") for whose in ("sampler", "target"))
        low, high = found.value(f"{name}: sampler")
        assert low <= sampler <= high
        wide = found.value(f"{name}: target (with TV)")
        assert wide.low <= target <= wide.high
        assert found.value(f"{name}: target, by importance weights") == pytest.approx(
            float(target), abs=0.1
        )
    with pytest.raises(InputError, match=r"must lie in \[0, 1\]"):
        pdai.certify(policy, PROBLEM, features=lambda x: {"y": x.coordinates[1]})


def half(state: Any) -> Any:
    return [0.5, 0.5]


class Words:
    """Words of three letters; two thirds of the samples begin with a."""

    initial: Any = ""

    def children(self, state: Any) -> Any:
        return [state + c for c in "ab"] if len(state) < 3 else []

    def parents(self, state: Any) -> Any:
        return [state[:-1]]

    def reward(self, terminal: Any) -> Any:
        return 1 + terminal.count("a")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (None, "the row of '' is None, .* must be a sequence of numbers"),
        ({0.9, 0.1}, "a set has no order"),
        ("01", "the row of '' is '01', a str, but must be a sequence"),
        ([True, False], "the row of '' is True, a bool, but must be a number"),
        (np.array([[0.5, 0.5]]), "the row of '' has 1 numbers for 2 states"),
        (np.array([[0.5], [0.5]]), "the row of '' is .*, a ndarray, but must be a number"),
        ({"a": 0.5, "c": 0.5}, "the row of '' is over 'c', which is none of"),
    ],
    ids=repr,
)
def test_what_is_no_row_is_refused(row: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        pdai.certify(lambda s: row if s == "" else half(s), Words)


def noisy(state: Any) -> Any:
    x = random.random()
    return [x, 1 - x]


def centred(states: Any) -> Any:
    """A row that depends on those beside it, as in batch normalisation in training."""
    counts = np.array([s.count("a") for s in states])
    first = 0.5 + 0.1 * (counts - counts.mean())
    return np.stack([first, 1 - first], 1)


@pytest.mark.parametrize("regime", ["E", "Z"])
@pytest.mark.parametrize(
    ("policy", "options"),
    [
        (noisy, {}),
        (lambda s: [random.random(), 0.0], {"gives": "logits"}),
        (lambda h: noisy(h), {"takes": "history"}),
        (lambda states: [noisy(s) for s in states], {"takes": "states"}),
        (lambda hs: [noisy(h) for h in hs], {"takes": "histories"}),
        (centred, {"takes": "states"}),
        (half, {"features": lambda x: {"u": random.random()}}),
    ],
    ids=["state", "logits", "history", "states", "histories", "batch", "features"],
)
def test_what_answers_otherwise_the_second_time_is_refused(
    policy: Any, options: dict[str, Any], regime: Any
) -> None:
    with pytest.raises(InputError, match=r"and asked again .*the same question"):
        pdai.certify(policy, Words, regime=regime, samples=4_096, **options)


def test_a_batch_of_another_size_may_round_otherwise() -> None:
    def rounded(states: Any) -> Any:
        x = 0.5 + 2.0**-12 * (len(states) % 2)
        return [[x, 1 - x]] * len(states)

    assert pdai.certify(rounded, Words, takes="states").regime == "E"


@pytest.mark.catches(
    "The first answers are not asked for again beside later ones.",
    "reference/user_code.py",
    "[(question, answer), self._rng.choice(self._first)]",
    "[(question, answer)]",
)
@pytest.mark.parametrize("takes", ["state", "states"])
def test_a_policy_that_changes_while_it_is_asked_is_refused(takes: Any) -> None:
    calls = itertools.count()

    def drifting(state: Any) -> Any:
        return half(state) if next(calls) < 400 else [0.9, 0.1]

    policy = drifting if takes == "state" else lambda states: [drifting(s) for s in states]
    long = other(children=lambda p, s: [s + c for c in "ab"] if len(s) < 10 else [])
    with pytest.raises(InputError, match="and asked again"):
        pdai.certify(policy, long, takes=takes)


def other(**members: Any) -> Any:
    """The words with other members."""
    return type("P", (Words,), members)()


def fails(*_: Any) -> Any:
    raise KeyError("mine")


@pytest.mark.parametrize(
    ("problem", "options", "words"),
    [
        (other(children=fails), {}, r"P: children\(''\) raises KeyError, 'mine' \(.*line \d+\)"),
        (other(reward=fails), {}, r"P: reward\('aaa'\) raises KeyError"),
        (other(parents=fails), {"regime": "Z"}, r"P: parents\('\w+'\) raises KeyError"),
        (other(parents=lambda p, s: (s,)[:0]), {"regime": "Z"}, "is .*: give each parent once"),
        (other(parents=lambda p, s: iter([s[:-1]])), {"regime": "Z"}, "must be a sequence"),
        (other(log_z=fails), {"regime": "Z"}, r"P: log_z\(\) raises KeyError"),
        (other(log_z=lambda p: None), {"regime": "Z"}, r"P.log_z\(\) is None, .* be a number"),
        (other(log_z=lambda p: math.nan), {"regime": "Z"}, r"P.log_z\(\) is nan, .* finite"),
        (Words, {"p_b": fails, "regime": "Z"}, r"p_b\('\w+'\) raises KeyError"),
        (Words, {"features": fails}, r"fails\('aaa'\) raises KeyError"),
        (Words, {"features": lambda x: 0.5}, "is 0.5, a float, but must be a Mapping"),
        (Words, {"features": lambda x: {"f": "0"}}, "the feature 'f' of 'aaa' is '0', a str"),
        (Words, {"features": lambda x: {"f": np.uint8(2)}}, r"is 2, but must lie in \[0, 1\]"),
        (Words, {"features": 5}, "features is 5, but must be a function of 1 argument"),
        (Words, {"p_b": 5}, "p_b is 5, but must be a function of 1 argument"),
        (Words, {"gives": "Logits"}, "gives is 'Logits', but must be one of .*: did you mean"),
        (Words, {"takes": "statez"}, "takes is 'statez', but must be one of .*: did you mean"),
        (Words, {"regime": "X"}, "regime is 'X', but must be one of 'E', 'Z', 'S', 'N'"),
        (Words, {"tighten": -1}, "tighten is -1, but must be an integer of at least 0"),
        (Words, {"of": 3}, "of is 3, but only a run has several seeds"),
        (Words, {"mode_states": "aaa"}, "mode_states is 'aaa', a str, but must be a sequence"),
        (Words, {"mode_states": ["zzz"]}, "mode_states has 'zzz', which is none of .* 8 terminal"),
        (Words, {"mode_states": ["aa"]}, "'aa' is not terminal: it has the children"),
        (Words, {"target": []}, "target is empty"),
        (Words, {"target": [["a"]] * 9, "regime": "S"}, "a sample of the target is .* hashable"),
        (Words, {"target": np.eye(3), "regime": "S"}, "a sample of the target is .* hashable"),
        (
            Words,
            {"mode_states": [["a"]]},
            r"mode_states\[0\] is \['a'\], a list, but must be a Hash",
        ),
        (Words, {"log_z": [1.0]}, "log_z is .*: give a number, or a lower and an upper one"),
        (Words, {"log_z": "3"}, "log_z is '3', a str, but must be a number"),
        (Words, {"log_z": math.inf, "regime": "Z"}, "must be a finite number"),
        (Words, {"level": "x"}, "level is 'x', a str, but must be a number"),
        (Words, {"level": True}, "level is True, a bool, but must be a number"),
        (Words, {"width": "x"}, "width is 'x', a str, but must be a number"),
        (Words, {"level": 5e-324}, "level is 5e-324, but must lie between 0 and 1"),
        (Words, {"seed": -1}, "the seed is -1, but must be an integer of at least 0"),
        (Words, {"seed": "x"}, "seed is 'x', but must be an integer"),
        (Words, {"samples": 2.5}, "samples is 2.5, but must be an integer"),
        (Words, {"samples": 1}, "samples is 1"),
        (Words, {"sample": 99}, "no option of certify 'sample': did you mean samples?"),
        (Words, {"max_states": 0}, "max_states is 0, but must be an integer of at least 1"),
        (object(), {}, "a object without the member 'initial'"),
    ],
)
def test_what_is_nearly_right_is_refused_by_name(
    problem: Any, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        pdai.certify(half, problem, **options)


@pytest.mark.parametrize(
    "given", [2.5, Fraction(5, 2), np.float32(2.5), Decimal("2.5"), jnp.asarray(2.5)], ids=repr
)
def test_log_z_may_be_any_number_or_two(given: Any) -> None:
    assert log_z_interval(given, "it") == Interval(2.5, 2.5)
    assert log_z_interval([given, np.int64(3)], "it") == Interval(2.5, 3.0)
    assert log_z_interval(np.array([2.5, 3]), "it") == Interval(2.5, 3.0)


@pytest.mark.parametrize("kind", [float, Decimal, Fraction, jnp.float32, np.array], ids=repr)
def test_a_level_may_be_any_number(kind: Any) -> None:
    options = CertifyOptions(level=kind(0.25), width=kind(0.5), seconds=kind(2.0)).checked()
    assert [options.level, *options.budget] == [0.25, 0.5, 100_000, 2.0]


def drawing(p_f: Any, p_b: Any = None, error: Any = None, ends: Any = ()) -> Any:
    """An object that draws these numbers, of reward one."""
    zero = np.zeros(np.shape(p_f)[:1])
    columns = (p_f, zero if p_b is None else p_b, zero, zero if error is None else error)
    return type("D", (), {"draw": lambda *_, labels: Walks(ends, *columns)})()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("r_mlp", "there is no run folder and no file 'r_mlp' here"),
        (Path("r_mlp"), "there is no run folder and no file 'r_mlp' here"),
        (lambda: [0.5, 0.5], r"the sampler: <lambda>\(''\) raises TypeError, .* 0 positional"),
        (type("D", (), {"draw": lambda d, n, labels: [1]})(), "the answer of draw is .*be a Walks"),
        (type("D", (), {"draw": fails})(), r"D: draw\(\d+\) raises"),
        (drawing(np.zeros((4, 1))), "D: draw gives log_p_f = .*one real number for each traj"),
        (drawing(-0.5), "D: draw gives log_p_f = -0.5, but must give one real number for each"),
        (drawing([-1j] * 4), "D: draw gives log_p_f = .* must give one real number for each"),
        (drawing([-0.5] * 4, [0.0]), "D: draw gives log_p_b = .* one real number for each"),
        (drawing([0.3] * 4), "D: draw gives log_p_f = 0.3, but the logarithm of a probability"),
        (drawing([-0.5] * 4, [0.1] * 4), "D: draw gives log_p_b = 0.1, but the logarithm of"),
        (drawing([-0.5] * 4, error=[-0.1] * 4), "D: draw gives an error below 0"),
        (drawing([-0.5] * 4, ends=["aaa"]), "D: draw gives 1 terminals for 4 trajectories"),
        (drawing([-0.5] * 4), "D: draw gives no terminal states, of which the problem has the"),
        (drawing([-0.5], ends=["aaa"]), r"log R\('aaa'\) is 0 in the sampler, 1.386.* in the prob"),
        (drawing([-0.5], ends=["aa"]), "'aa' is not terminal"),
        (drawing([]), "the sampler draws no trajectory"),
        (os.environ, r"is of the type _Environ, but must be a run folder, a function"),
    ],
)
def test_what_is_no_sampler_is_refused(what: Any, words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        pdai.certify(what, Words)
    with pytest.raises(InputError, match=words):
        pdai.certify(what, Words, regime="S", target=["aaa"] * 9)
    assert "PATH" not in str(refused.value)


class Reseeded(Fork):
    """Fresh trajectories, or the same ones in every call."""

    def __init__(self, seed: int | None):
        super().__init__(0.75, (1.0, 1.0))
        self.seed = seed

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        self.rng = np.random.default_rng(self.rng if self.seed is None else self.seed)
        return super().draw(count, labels=labels)


@pytest.mark.parametrize("regime", ["Z", "N"])
def test_an_object_that_draws_the_same_again_is_refused(regime: Any) -> None:
    asked = {"regime": regime, "log_z": math.log(2) if regime == "Z" else None, "width": 0.0}
    pdai.certify(Reseeded(None), samples=20_000, **asked)
    with pytest.raises(InputError, match="Reseeded: draw gives the same trajectories again"):
        pdai.certify(Reseeded(0), samples=20_000, **asked)


def test_log_z_is_rounded_outwards() -> None:
    third = log_z_interval(Fraction(1, 3), "it")
    assert third.low < Fraction(1, 3) < third.high == math.nextafter(third.low, 1)


class Plane:
    """Steps right and up, whose parents forget the edge of the plane."""

    initial: Any = (0, 0)

    def children(self, state: Any) -> Any:
        x, y = state
        return [(x + 1, y), (x, y + 1)] if x + y < 6 else []

    def parents(self, state: Any) -> Any:
        x, y = state
        return [(x - 1, y), (x, y - 1)]

    def reward(self, terminal: Any) -> Any:
        return math.comb(6, terminal[0])


@pytest.mark.catches(
    "The parents that a problem names are not compared with those of its graph.",
    "reference/certificates/policies.py",
    "if is_met and (odd := {*self._in_graph(state)} ^ {*parents}):",
    "if False:",
)
@pytest.mark.parametrize("regime", ["Z", "S"])
@pytest.mark.parametrize("max_states", [1_000, 5], ids=["enumerated", "not"])
def test_parents_that_are_never_reached_are_refused(regime: Any, max_states: int) -> None:
    options: Any = {"regime": regime, "max_states": max_states, "seconds": 5}
    known: Any = {"log_z": math.log(64)} if regime == "Z" else {"target": [(3, 3)] * 5_000}
    words = "reached from the initial one are others" if max_states > 5 else "Plane, by its parents"
    with pytest.raises(InputError, match=words):
        pdai.certify(half, Plane, samples=4_096, **options, **known)

    class Right(Plane):
        def parents(self, state: Any) -> Any:
            return [s for s in super().parents(state) if min(s) >= 0]

    found = pdai.certify(half, Right, p_b=reversal, samples=4_096, **options, **known)
    assert found.interval.low < 0.01
    with pytest.raises(InputError, match=r"p_b\(.*and asked again"):
        pdai.certify(half, Right, p_b=one_sided, samples=4_096, **options, **known)


def reversal(state: Any) -> Any:
    x, y = state
    return {s: n / (x + y) for s, n in (((x - 1, y), x), ((x, y - 1), y)) if n}


def one_sided(state: Any) -> Any:
    x = random.random()
    return [x, 1 - x] if min(state) else [1.0]


def test_a_walk_without_end_is_stopped() -> None:
    endless = other(children=lambda p, s: [s + "a", s + "b"])
    with pytest.raises(InputError, match=r"P is too large: .* were used up at depth"):
        pdai.certify(half, endless, log_z=0, samples=2, max_states=10, seconds=0.1)


def test_learning_p_b_ends_with_the_seconds() -> None:
    found = pdai.certify(half, Words, regime="Z", samples=4_096, tighten=10**6, seconds=0.5)
    assert any("or as many as 0.5 s allow" in note for note in found.notes)


def test_a_function_needs_a_problem() -> None:
    with pytest.raises(InputError, match="add --problem"):
        pdai.certify(policy)
    with pytest.raises(InputError, match="but must be a run folder, a function"):
        pdai.certify(3, PROBLEM)


class Endless:
    """A tree too large to enumerate, whose Z nobody knows."""

    initial = ()

    def children(self, state: Any) -> tuple[Any, ...]:
        return tuple((*state, letter) for letter in range(4)) if len(state) < 12 else ()

    def reward(self, terminal: Any) -> Fraction:
        return Fraction(1 + terminal[0])

    def parents(self, state: Any) -> tuple[Any, ...]:
        return (state[:-1],)


@pytest.mark.catches(
    "With neither log Z nor target samples, the mean at the floor of Z bounds TV from above.",
    "reference/certificates/regimes.py",
    "Result(Interval(low, 1.0), lines, draws.count)",
    "Result(Interval(0.0, low), lines, draws.count)",
)
def test_without_z_no_closeness_is_claimed() -> None:
    found = pdai.certify(lambda s: [0.25] * 4, Endless(), samples=4_096, max_states=1_000)
    assert found.regime == "N"
    assert found.interval.high == 1
    assert any("why no more is known" in note for note in found.notes)
    true = math.log(10) + 11 * math.log(4)
    assert true - 0.2 < found.value("log Z from below, nats") < true
    known = pdai.certify(
        lambda s: [0.25] * 4, Endless(), samples=4_096, max_states=1_000, log_z=true
    )
    assert known.regime == "Z"
    assert known.interval.low <= 0.2 <= known.interval.high
    with pytest.raises(InputError, match="regime Z needs log Z"):
        pdai.certify(lambda s: [0.25] * 4, Endless(), regime="Z")


def test_parents_that_are_none_are_refused() -> None:
    class Wrong(Endless):
        def parents(self, state: Any) -> tuple[Any, ...]:
            return (state[:-1], (9,))

    with pytest.raises(InputError, match="the mass of p_B is not one"):
        pdai.certify(lambda s: [0.25] * 4, Wrong(), max_states=100)
    problem: Any = type("NoParents", (Endless,), {"parents": None})()
    with pytest.raises(InputError, match=r"has no parents\(state\)"):
        pdai.certify(lambda s: [0.25] * 4, problem, max_states=100)


def test_certificates_show_themselves_and_small_numbers_as_small_ones() -> None:
    found = pdai.certify(policy, PROBLEM)
    assert "(exact)" in repr(found)
    assert "<table>" in found._repr_html_()
    assert found.to_json()["tv"] == str(found.tv)
    assert small(1.3e-7) == "1.3e-07"
    assert small(Fraction(2, 3), down=True) == "0.666666"
    assert small(Fraction(2, 3), down=False) == "0.666667"
    assert small(1e-9 + 1e-17, down=False) == "1.00001e-09"
    assert Line("x", Interval(1 / 3, 2 / 3), "bound").text() == "[0.333333, 0.666667]"


@pytest.mark.catches(
    "What rounding may have done narrows the variable instead of widening it.",
    "reference/certificates/importance.py",
    "for sign in (1, -1))",
    "for sign in (-1, 1))",
)
def test_rounding_is_outward() -> None:
    ratio = np.array([-1e-9, 0.0, -np.inf, 3.0])
    low, high = shortfall(ratio, np.full(4, 1e-12))
    exact = -np.expm1(ratio)
    assert (low <= exact.clip(0)).all()
    assert (high >= exact.clip(0)).all()
    assert high[1] > 0 == low[1]
    assert (high[2], low[3], high[3]) == (1, 0, 0)


def test_the_diagnostics_of_weights() -> None:
    rng = np.random.default_rng(0)
    assert effective_size(np.zeros(100)) == pytest.approx(100)
    assert effective_size(np.array([0.0, -800.0])) == pytest.approx(1)
    for shape in (0.2, 0.6, 0.9):
        logs = -shape * np.log(rng.random(50_000))
        assert pareto_k(logs) == pytest.approx(shape, abs=0.15)


@pytest.mark.catches(
    "The learned p_B counts children of parents for parents of children.",
    "reference/certificates/walks.py",
    "counts[after][before] += 1",
    "counts[before][after] += 1",
    by="refusal",
)
def test_a_learned_backward_policy_brings_the_bound_down_to_the_terminals() -> None:
    """A sampler with the right law, by a reversal that is far from uniform."""
    dag = enumerate_dag(PROBLEM)
    rng = np.random.default_rng(0)
    skewed = BackwardPolicy.from_weights(
        dag, RATIONAL, [Fraction(int(w)) for w in rng.integers(1, 30, len(dag.edges))]
    )
    forward, _ = forward_from_backward(skewed, enumerate_rewards(PROBLEM, dag))
    rows = {
        dag.labels[u]: [float(forward.values[edge]) for edge in row]
        for u, row in enumerate(dag.out_edges)
    }
    loose = pdai.certify(rows.__getitem__, PROBLEM, regime="Z", samples=8_192)
    tight = pdai.certify(rows.__getitem__, PROBLEM, regime="Z", samples=8_192, tighten=100)
    assert loose.interval.low > 0.03
    assert tight.interval.high < 0.02
    assert any("p_B was learned in 100 steps" in note for note in tight.notes)


@pytest.mark.parametrize("name", ["state", "history"])
def test_the_certificate_file_is_accepted_and_a_changed_number_is_not(
    name: str, tmp_path: Path
) -> None:
    sampler, options = CASES[name]
    path = tmp_path / "sampler.cert"
    found = pdai.certify(sampler, PROBLEM, certificate=path, **options)
    assert check_certificate(path).accepted
    assert confirm_problem(path, PROBLEM).accepted
    claim = read_header(path).claim
    assert claim.value >= found.tv
    assert float(claim.value) == pytest.approx(float(found.tv or 0), abs=1e-11)
    lines = path.read_text().splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("t "))
    lines[row] = lines[row].replace("t ", "t 9", 1)
    path.write_text("\n".join(lines) + "\n")
    assert not check_certificate(path).accepted
    with pytest.raises(InputError, match="a certificate file is of regime E"):
        pdai.certify(sampler, PROBLEM, regime="Z", certificate=path, **options)
