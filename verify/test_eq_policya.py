"""eq:policya, eq:linear_rec, prop:lines: masks, recursion, log-odds, also as symbols."""

import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from reference import BALL, FLOAT64, Additive, Symbolic, enumerate_dag, lift, marginal
from reference.fields.balls import enclose
from reference.problems import Lines
from verify.lib.laws import by_label
from verify.lib.linear import LinearLines, Parameters, Vector, law_from_odds
from verify.lib.linear_policy import LinearDynamics, linear_policy

BLOCKED = -math.inf


def added(logits: Sequence[float], allowed: Sequence[bool]) -> list[float]:
    return [y + (0.0 if may else BLOCKED) for y, may in zip(logits, allowed, strict=True)]


def multiplied(logits: Sequence[float], allowed: Sequence[bool]) -> list[float]:
    return [y * (1.0 if may else BLOCKED) for y, may in zip(logits, allowed, strict=True)]


def masked() -> Iterator[tuple[tuple[float, ...], tuple[bool, ...]]]:
    """All logits with signs -1, 0, 1 of up to four actions, with every mask."""
    for size in range(1, 5):
        yield from product(
            product((-1.0, 0.0, 1.0), repeat=size), product((False, True), repeat=size)
        )


def soft_max(logits: Sequence[float]) -> list[float]:
    weights = [math.exp(y - max(logits)) for y in logits]
    return [w / math.fsum(weights) for w in weights]


def drawn(length: int, step: int, seed: int, memory: bool = True) -> tuple[LinearDynamics, Vector]:
    """Random dynamics with d = 2, and b."""
    rng = random.Random(seed)

    def vector(size: int) -> Vector:
        return tuple(Fraction(rng.randint(-4, 4), 4) for _ in range(size))

    a, v, w = (vector(2) for _ in range(3))
    zero = (Fraction(0),) * 2
    parameters = Parameters(a, v, w) if memory else Parameters(a, zero, zero)
    embedding = tuple(vector(2) for _ in range(length + 1))
    return LinearDynamics(embedding, parameters), vector(step + 1)


@pytest.mark.claim("eq:policya")
def test_an_added_mask_leaves_the_soft_max_over_what_it_allows(scope: Any) -> None:
    cases = [(logits, allowed) for logits, allowed in masked() if any(allowed)]
    for logits, allowed in cases:
        law = soft_max(added(logits, allowed))
        kept = soft_max([y for y, may in zip(logits, allowed, strict=True) if may])
        assert [p for p, may in zip(law, allowed, strict=True) if may] == kept
        assert all(p == 0 for p, may in zip(law, allowed, strict=True) if not may)
    scope(f"{len(cases):,} logits with signs -1, 0, 1 and masks")


@pytest.mark.control("eq:policya")
def test_a_multiplied_mask_is_that_one_only_if_all_blocked_logits_are_positive() -> None:
    same = total = 0
    for logits, allowed in masked():
        agree = multiplied(logits, allowed) == added(logits, allowed)
        assert agree == all(may or y > 0 for y, may in zip(logits, allowed, strict=True))
        same, total = same + agree, total + 1
    # An action is allowed with three logits, or blocked with one of three: (3 + 1) of 6.
    assert (same, total) == (4 + 4**2 + 4**3 + 4**4, 6 + 6**2 + 6**3 + 6**4)


@pytest.mark.control("eq:policya", "output_head")
def test_a_multiplied_mask_makes_blocked_actions_certain_or_undefined() -> None:
    first, second, third = multiplied((2.0, -1.0, 0.0), (True, False, False))
    assert (first, second) == (2.0, math.inf)
    assert math.isnan(third)
    # psi(p_0) = 0, as in the natural embedding, makes every logit at p_0 zero.
    assert math.isnan(multiplied((0.0,), (False,))[0])


@pytest.mark.control("eq:policya")
def test_weights_of_the_printed_shape_do_not_apply_to_an_embedding() -> None:
    d, actions = 3, 2
    psi = np.ones(d)
    with pytest.raises(ValueError, match="mismatch"):
        np.ones((d, actions)) @ psi
    assert (np.ones((actions, d)) @ psi).shape == (actions,)


@pytest.mark.claim("eq:policya", "eq:linear_rec")
@pytest.mark.parametrize(("length", "step"), [(4, 1), (5, 2), (4, 3), (2, 4)])
def test_on_every_history_the_policy_is_the_soft_max_of_w_psi(length: int, step: int) -> None:
    dynamics, b = drawn(length, step, seed=length)
    policy = linear_policy(Lines.laplaces(length, step), dynamics, b, FLOAT64)
    lifted, values = policy.lifted, policy.forward.values
    psi = np.array(dynamics.embedding, float)
    a, v, w = (np.array(part, float) for part in dynamics.parameters)
    for trajectory in lifted.dag.trajectories():
        latent = a
        for edge in trajectory:
            node = lifted.dag.edges[edge][0]
            here = int(lifted.base.labels[lifted.projection[node]][1:])
            if here:
                latent = latent + (w @ psi[here]) * v
            logits = np.outer(np.array(b, float), latent) @ psi[here]
            allowed = [here + k <= length for k in range(1, step + 1)]
            expected = soft_max(added(logits.tolist(), [*allowed, True]))
            names = [f"p{here + k}" for k in range(1, step + 1)] + [f"q{here}"]
            law = dict(zip(names, expected, strict=True))
            row = lifted.dag.out_edges[node]
            below = [lifted.base.edges[lifted.base_edge[e]][1] for e in row]
            on_lift = {lifted.base.labels[s]: values[e] for s, e in zip(below, row, strict=True)}
            assert on_lift.keys() == {name for name, p in law.items() if p}
            # A handful of roundings of numbers of size one on either side.
            assert on_lift == pytest.approx({name: law[name] for name in on_lift}, abs=1e-14)


@pytest.mark.claim("eq:policya")
def test_balls_enclose_the_float_policy() -> None:
    fields: tuple[Any, ...] = (FLOAT64, BALL)
    given = (Lines.laplaces(5, 3), *drawn(5, 3, seed=2))
    floats, balls = (linear_policy(*given, field).forward for field in fields)
    for value, ball in zip(marginal(floats), marginal(balls), strict=True):
        lower, upper = enclose(ball)
        assert upper - lower < Fraction(1, 10**12)
        assert float(lower) == pytest.approx(value, abs=1e-12)


@pytest.mark.catches(
    "Action k moves k steps instead of k + 1, so that the last step has the logit of stopping.",
    "verify/lib/linear_policy.py",
    "int(child[1:]) - here - 1]",
    "int(child[1:]) - here]",
)
@pytest.mark.claim("prop:lines", "eq:linear_rec")
def test_the_policy_on_the_lift_has_the_law_of_its_log_odds() -> None:
    for seed in range(10):
        dynamics, b = drawn(5, 1, seed)
        policy = linear_policy(Lines.laplaces(5, 1), dynamics, b, FLOAT64)
        model = LinearLines(dynamics.embedding[:-1], b[0] - b[1])
        odds = [math.exp(o) for o in model.log_odds(dynamics.parameters)]
        expected = [float(p) for p in law_from_odds([Fraction(o) for o in odds])]
        law = by_label(policy.forward)
        assert [law[f"q{i}"] for i in range(6)] == pytest.approx(expected, abs=1e-14)


@pytest.mark.claim("eq:linear_rec")
def test_the_recursion_has_its_closed_form_for_all_parameters_at_once(scope: Any) -> None:
    # d = 2, and embeddings, a_o, v and w all symbols.
    states = range(4)
    names = [f"{x}{k}" for x in "avw" for k in (1, 2)]
    symbols = Symbolic(" ".join([*names, *(f"x{i}_{k}" for i in states for k in (1, 2))])).symbols
    pairs = [symbols[k : k + 2] for k in range(0, len(symbols), 2)]
    (a, v, w), psi = pairs[:3], pairs[3:]
    dynamics = LinearDynamics(tuple(psi), Parameters(a, v, w))
    histories = [[0], [0, 1], [0, 2], [0, 1, 2], [0, 1, 3], [0, 2, 3], [0, 1, 2, 3], [0, 3]]
    for history in histories:
        latent = dynamics.initial
        for i in history[1:]:
            latent = dynamics.advance(f"p{i}", latent)
        c = [sum(psi[i][k] for i in history[1:]) for k in (0, 1)]
        along = w[0] * c[0] + w[1] * c[1]
        assert latent == (a[0] + along * v[0], a[1] + along * v[1])
    scope(f"all parameters, symbolically, on {len(histories)} histories")


@pytest.mark.claim("eq:linear_rec")
def test_the_recursion_is_an_additive_lift_whose_step_ignores_the_latent() -> None:
    a, v, w = Fraction(1, 2), Fraction(-2), Fraction(3)
    psi = [(Fraction(i),) for i in (5, 1, -1, 2, 0, 4)]
    dag = enumerate_dag(Lines.laplaces(5, 2))
    phi: Additive[str] = Additive(lambda state, _: w * psi[int(state[1:])][0] * v, a)
    additive = lift(dag, phi).dag
    recursion = lift(dag, LinearDynamics(tuple(psi), Parameters((a,), (v,), (w,)))).dag
    lifted = [x if isinstance(x, str) else (x[0], (x[1],)) for x in additive.labels]
    assert list(recursion.labels) == lifted
    assert recursion.children == additive.children


@pytest.mark.claim("eq:linear_rec")
def test_histories_share_a_latent_iff_their_sums_agree(scope: Any) -> None:
    count = 0
    for length, step in product(range(1, 7), range(1, 4)):
        dynamics, _ = drawn(length, step, seed=10 * length + step)
        _, v, w = dynamics.parameters
        if not any(v):
            continue
        dag = enumerate_dag(Lines.laplaces(length, step))
        sums = {("p0", Fraction(0))}
        for trajectory in dag.trajectories():
            total = Fraction(0)
            for edge in trajectory[:-1]:
                state = dag.labels[dag.edges[edge][1]]
                psi = dynamics.embedding[int(state[1:])]
                total += sum(x * y for x, y in zip(w, psi, strict=True))
                sums.add((state, total))
        assert len(lift(dag, dynamics).dag.labels) == len(sums) + length + 1
        count += 1
    scope(f"{count} random dynamics with N <= 6, M <= 3")


@pytest.mark.claim("eq:linear_rec", "prop:lines")
def test_with_single_steps_or_without_memory_the_lift_is_the_base() -> None:
    for length, step, memory in ((6, 1, True), (6, 2, False), (6, 3, False)):
        dag = enumerate_dag(Lines.laplaces(length, step))
        dynamics, _ = drawn(length, step, seed=1, memory=memory)
        assert len(lift(dag, dynamics).dag.labels) == len(dag.labels)
    dag = enumerate_dag(Lines.laplaces(6, 2))
    assert len(lift(dag, drawn(6, 2, seed=1)[0]).dag.labels) > len(dag.labels)


@pytest.mark.catches(
    "The embedding of s_o is added to the latent.",
    "verify/lib/linear.py",
    "total = [Fraction(0)] * self.dimension\n",
    "total = list(self.embedding[0])\n",
)
@pytest.mark.claim("eq:linear_rec")
def test_the_sums_leave_out_the_initial_state() -> None:
    # With psi = 1 the sums are 0, 1, 2, ..., as in the paper's own example.
    constant = LinearLines(((Fraction(1),),) * 4)
    assert [c for (c,) in constant.sums()] == [0, 1, 2, 3]
    assert [c for (c,) in LinearLines.natural(5).sums()] == [0, 1, 3, 6, 10]


@pytest.mark.control("eq:linear_rec")
def test_the_sums_of_the_printed_proof_are_not_those_of_the_recursion() -> None:
    recursion = LinearDynamics(
        tuple((Fraction(i),) for i in range(4)), Parameters(*[(Fraction(1),)] * 3)
    )
    latent, sums = recursion.initial, []
    for i in range(1, 4):
        latent = recursion.advance(f"p{i}", latent)
        sums.append(latent[0] - 1)
    assert sums == [1, 3, 6]
    assert [sum(i for _ in range(i + 1)) for i in range(1, 4)] == [2, 6, 12]  # psi(p_i), not p_j
    assert [i * (i - 1) // 2 for i in range(1, 4)] == [0, 1, 3]
    # From j = 0 on, the constant embedding gives 1, ..., N; the proof's example says 0, ..., N - 1.
    assert [sum(1 for _ in range(i + 1)) for i in range(4)] == [1, 2, 3, 4]
