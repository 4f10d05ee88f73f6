"""Unrolled forms of the SRWM on random rationals, and a count of its products."""

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from reference.srwm import Array, Input, advance, exact, follow
from verify.lib.srwm import (
    QUARTER,
    TRIPLES,
    blocks,
    eye,
    matrix,
    plane,
    power,
    random_input,
    rotation,
    vector,
)


def unrotated(
    U: Array, R: Array, inputs: Sequence[Input], *, turn_q: int = 0, turn_k: int = 0
) -> list[Array]:
    """`U_0, ..., U_T`; the controls turn a key too often or too rarely."""
    matrices = [U]
    for t, x in enumerate(inputs, start=1):
        old = matrices[-1] @ power(R, t - 1 + turn_k) @ x.k
        matrices.append(matrices[-1] + x.rate * np.outer(x.v - old, power(R, t + turn_q) @ x.q))
    return matrices


def chunk(U: Array, R: Array, inputs: Sequence[Input]) -> list[Array]:
    """`u_1, ..., u_T`, by forward substitution: no latent but the first is used."""
    u: list[Array] = []
    for i, x in enumerate(inputs, start=1):
        old = U @ power(R, i - 1) @ x.k
        for j, (before, written) in enumerate(zip(inputs, u, strict=False), start=1):
            old = old + written * (before.q @ power(R, i - 1 - j) @ x.k)
        u.append(x.rate * (x.v - old))
    return u


class Case(NamedTuple):
    """A first latent, a rotation, and what comes in at every step."""

    W: Array
    R: Array
    inputs: list[Input]
    psi: list[Array]


def cases(count: int, seed: int) -> list[Case]:
    rng = random.Random(seed)
    drawn = []
    for _ in range(count):
        d = rng.randint(2, 4)
        W = np.outer(vector(rng, d), vector(rng, d))
        inputs = [random_input(rng, d) for _ in range(4)]
        drawn.append(Case(W, rotation(rng, d), inputs, [vector(rng, d) for _ in range(5)]))
    return drawn


@pytest.mark.claim("rotary-delta-network")
def test_two_steps_by_hand() -> None:
    # R turns (1, 0) to (0, 1) to (-1, 0); all keys are (1, 0), all rates 1, and W_0 = 0.
    k, R = exact([1, 0]), plane(QUARTER)
    inputs = [Input(k, k, exact(v), Fraction(1)) for v in ([1, 0], [0, 1])]
    first, second = unrotated(0 * eye(2), R, inputs)[1:]
    assert first.tolist() == [[0, 1], [0, 0]]  # (1, 0) written at R q = (0, 1)
    # Read at R k = (0, 1): (1, 0). So (0, 1) - (1, 0) is written at R^2 q = (-1, 0).
    assert second.tolist() == [[1, 1], [-1, 0]]
    assert (second @ power(R, 2) == follow(0 * eye(2), R, inputs)[2]).all()


@pytest.mark.claim("rotary-delta-network")
def test_the_latent_is_an_unrotated_one_turned_by_its_time(scope: Any) -> None:
    drawn = cases(40, seed=0)
    for W, R, inputs, psi in drawn:
        pairs = zip(follow(W, R, inputs), unrotated(W, R, inputs), psi, strict=True)
        for t, (printed, U, state) in enumerate(pairs):
            assert (printed == U @ power(R, t)).all()
            assert (printed @ state == U @ (power(R, t) @ state)).all()
    scope(f"{len(drawn)} random trajectories of 4 steps, d = 2 to 4")


@pytest.mark.claim("rotary-delta-network")
def test_the_outputs_of_a_chunk_need_relative_turns_and_no_latent(scope: Any) -> None:
    drawn = cases(40, seed=1)
    for W, R, inputs, psi in drawn:
        u = chunk(W, R, inputs)
        for t, (printed, state) in enumerate(zip(follow(W, R, inputs), psi, strict=True)):
            y = W @ power(R, t) @ state
            for i in range(1, t + 1):
                y = y + u[i - 1] * (inputs[i - 1].q @ power(R, t - i) @ state)
            assert (printed @ state == y).all()
    scope("the chunk form on 40 more")


@pytest.mark.catches(
    "Turns back once too often.", "verify/lib/srwm.py", "abs(t))", "abs(t) + (t < 0))"
)
@pytest.mark.claim("rotary-delta-network")
def test_chunks_may_be_cut_anywhere() -> None:
    for W, R, inputs, _ in cases(10, seed=2):
        whole = follow(W, R, inputs)
        for cut in range(5):
            u = chunk(whole[cut], R, inputs[cut:])
            T = len(inputs) - cut
            total = whole[cut] @ power(R, T)
            for i, (x, written) in enumerate(zip(inputs[cut:], u, strict=True), start=1):
                total = total + np.outer(written, power(R, i - T) @ x.q)
            assert (total == whole[-1]).all()


@pytest.mark.claim("rotary-delta-network")
def test_the_repaired_update_is_the_delta_rule_on_turned_keys() -> None:
    for W, R, inputs, _ in cases(20, seed=3):
        printed, U = W, W
        for t, x in enumerate(inputs, start=1):
            printed = advance(printed, R, x, write_key="k", erase="after")
            key = power(R, t) @ x.k
            U = U + x.rate * np.outer(x.v - U @ key, key)
            assert (printed == U @ power(R, t)).all()


@pytest.mark.control("rotary-delta-network")
@pytest.mark.parametrize("fault", [{"turn_q": -1}, {"turn_k": 1}])
def test_a_key_turned_once_too_rarely_or_too_often_is_seen(fault: Any) -> None:
    for W, R, inputs, _ in cases(20, seed=4):
        assert (
            unrotated(W, R, inputs, **fault)[-1] @ power(R, 4) != follow(W, R, inputs)[-1]
        ).any()


@pytest.mark.control("rotary-delta-network")
def test_keys_that_are_not_turned_give_another_latent_by_hand() -> None:
    k, R = exact([1, 0]), plane(QUARTER)
    x = Input(k, k, exact([1, 0]), Fraction(1))
    assert follow(0 * eye(2), R, [x])[1].tolist() == [[1, 0], [0, 0]]
    assert (np.outer(x.v, x.q) @ R).tolist() == [[0, -1], [0, 0]]


@pytest.mark.control("rotary-delta-network")
def test_a_matrix_that_is_no_rotation_is_not_turned_back() -> None:
    # R^t q, not R^-t' q: for a shear the two differ, and so do the latents.
    W, _, inputs, _ = cases(1, seed=5)[0]
    d = len(W)
    shear = eye(d)
    shear[0, 1] += 1
    assert (unrotated(W, shear, inputs)[-1] @ power(shear, 4) != follow(W, shear, inputs)[-1]).any()


# --- srwm-cost: multiplications, counted.


class Counted:
    """A number that counts its multiplications."""

    count = 0

    def __init__(self, value: Fraction) -> None:
        self.value = value

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(self.value + other.value)

    def __sub__(self, other: "Counted") -> "Counted":
        return Counted(self.value - other.value)

    def __mul__(self, other: "Counted") -> "Counted":
        Counted.count += 1
        return Counted(self.value * other.value)


def counted(x: Any) -> Any:
    if isinstance(x, Fraction):
        return Counted(x)
    return np.array([Counted(value) for value in x.ravel()], dtype=object).reshape(x.shape)


def values(x: Array) -> Array:
    return exact([y.value for y in x.ravel()]).reshape(x.shape)


def step_as_printed(W: Array, R: Array, x: Input) -> Array:
    scaled = (x.v - W @ x.k) * x.rate
    new: Array = W @ R + np.outer(scaled, x.q)
    return new


def turned(pairs: Sequence[tuple[Any, Any]], x: Array) -> Array:
    """`R^t x`, of which each plane has a cosine and a sine."""
    coordinates = []
    for (cos, sin), first, second in zip(pairs, x[::2], x[1::2], strict=True):
        coordinates += [cos * first - sin * second, sin * first + cos * second]
    return np.array(coordinates, dtype=object)


def step_without_matrix_products(
    U: Array, now: Sequence[tuple[Any, Any]], after: Sequence[tuple[Any, Any]], x: Input
) -> Array:
    scaled = (x.v - U @ turned(now, x.k)) * x.rate
    new: Array = U + np.outer(scaled, turned(after, x.q))
    return new


def times(a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Any, Any]:
    """The cosine and sine of a sum of angles."""
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


@pytest.mark.catches(
    "Leaves the rate out of a step.", "reference/srwm.py", "x.rate * np.outer", "np.outer"
)
@pytest.mark.claim("srwm-cost")
def test_a_step_needs_two_d_squared_and_seven_d_multiplications(scope: Any) -> None:
    rng = random.Random(6)
    for d in (2, 4, 8, 16):
        triples = [rng.choice(TRIPLES) for _ in range(d // 2)]
        R = blocks(*triples)
        x = random_input(rng, d)
        # One step from time t = 2 on, in both forms.
        angles = [(Fraction(a, c), Fraction(b, c)) for a, b, c in triples]
        once = [(counted(cos), counted(sin)) for cos, sin in angles]
        now = [times(z, z) for z in once]
        U = matrix(rng, d)
        printed = advance(U @ R @ R, R, x)
        rows = Input(*map(counted, x))
        Counted.count = 0
        after = [times(z, w) for z, w in zip(now, once, strict=True)]
        new = step_without_matrix_products(counted(U), now, after, rows)
        assert Counted.count == 2 * d**2 + 7 * d
        assert (values(new) @ R @ R @ R == printed).all()
    scope("multiplications counted, d = 2 to 16")


@pytest.mark.control("srwm-cost")
def test_multiplied_out_as_printed_a_step_takes_d_cubed_more() -> None:
    rng = random.Random(7)
    for d in (2, 4, 8, 16):
        W, R = matrix(rng, d), rotation(rng, d)
        x = random_input(rng, d)
        Counted.count = 0
        new = step_as_printed(counted(W), counted(R), Input(*map(counted, x)))
        assert Counted.count == d**3 + 2 * d**2 + d
        assert (values(new) == advance(W, R, x)).all()
    # With the slow weights, (3 d + 1) d more in both: at d = 32 the product has 86 in 100.
    assert [round(100 * d**3 / (d**3 + 5 * d**2 + 2 * d)) for d in (2, 8, 32)] == [25, 60, 86]


@pytest.mark.claim("srwm-cost")
def test_a_dense_rotation_costs_a_change_of_basis() -> None:
    # R = Q' B Q with B in planes: W R^t psi = (W Q') B^t (Q psi), and Q psi takes d^2.
    rng = random.Random(8)
    for d in (2, 4):
        Q, B = rotation(rng, d), blocks(*[rng.choice(TRIPLES) for _ in range(d // 2)])
        R, psi = Q.T @ B @ Q, vector(rng, d)
        W = matrix(rng, d)
        for t in range(4):
            assert (W @ power(R, t) @ psi == (W @ Q.T) @ (power(B, t) @ (Q @ psi))).all()
