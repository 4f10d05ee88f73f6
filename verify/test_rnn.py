"""rnn: the repaired and the misread equations on random integer networks."""

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from reference.srwm import Array, exact
from verify.lib.srwm import eye, rotation, vector


def phi(psi: Array, W: Array, W_s: Array, W_h: Array, b: Array) -> Array:
    """The repaired form, in rows."""
    change: Array = psi @ W_s + W @ (W_h - eye(len(W))) + b
    return change


@pytest.mark.claim("rnn")
def test_one_step_of_the_network_by_hand() -> None:
    W_s, W_h, b = exact([[1, 2], [0, 1]]), exact([[0, 1], [1, 1]]), exact([0, "1/2"])
    W, psi = exact([1, 0]), exact([3, 1])
    # psi W_s = (3, 7) and W W_h = (0, 1).
    assert (W + phi(psi, W, W_s, W_h, b)).tolist() == [3, Fraction(17, 2)]


@pytest.mark.claim("rnn")
def test_the_recurrence_of_the_lift_is_the_network_and_unrolls(scope: Any) -> None:
    rng = random.Random(0)
    for _ in range(50):
        d = rng.randint(1, 4)
        W_s, W_h = (exact([vector(rng, d) for _ in range(d)]) for _ in range(2))
        b, start = vector(rng, d), vector(rng, d)
        states = [vector(rng, d) for _ in range(4)]
        W = start
        for psi in states:
            assert (W + phi(psi, W, W_s, W_h, b) == psi @ W_s + W @ W_h + b).all()
            W = W + phi(psi, W, W_s, W_h, b)
        powers = [np.linalg.matrix_power(W_h, t) for t in range(5)]
        unrolled = start @ powers[4]
        for t, psi in enumerate(states, start=1):
            unrolled = unrolled + (psi @ W_s + b) @ powers[4 - t]
        assert (unrolled == W).all()
    scope("50 random networks over 4 states")


@pytest.mark.claim("rnn")
def test_the_linear_dynamics_of_lines_are_a_network_of_this_kind() -> None:
    # eq:linear_rec: a_t = a_{t-1} + (w . psi) v, with W_h = I, W_s = w v' and b = 0.
    rng = random.Random(1)
    w, v, a, psi = (vector(rng, 3) for _ in range(4))
    step = phi(psi, a, np.outer(w, v), eye(3), exact([0, 0, 0]))
    assert (step == (w @ psi) * v).all()


@pytest.mark.control("rnn")
def test_the_printed_arguments_do_not_determine_phi() -> None:
    # W_h = 0: every W_{t-1} leads to the same W_t = psi W_s + b, and phi = W_t - W_{t-1} differs.
    W_s, W_h, b = eye(2), 0 * eye(2), exact([0, 0])
    psi, first, second = exact([1, 2]), exact([0, 0]), exact([5, 5])
    changes = [phi(psi, W, W_s, W_h, b) for W in (first, second)]
    assert (first + changes[0] == second + changes[1]).all()
    assert [step.tolist() for step in changes] == [[1, 2], [-4, -3]]


@pytest.mark.control("rnn")
def test_read_with_the_new_latent_on_both_sides_the_update_may_have_no_solution() -> None:
    # W = W_{t-1} + psi W_s + W (W_h - I) + b is W (2 I - W_h) = W_{t-1} + psi W_s + b: for
    # W_h = 2 I the left side is 0 for every W, and the right side is (2, 2) here.
    W_h, right = 2 * eye(2), exact([1, 0]) + exact([1, 2])
    for W in (exact([1, 0]), exact([7, -3])):
        assert (W @ (2 * eye(2) - W_h) == 0).all()
    assert right.tolist() == [2, 2]


@pytest.mark.control("rnn")
def test_in_columns_the_printed_products_are_another_network() -> None:
    # Elsewhere in the paper vectors are columns: a column times a square matrix is no product.
    with pytest.raises(ValueError, match="mismatch"):
        exact([[1], [2]]) @ eye(2)
    rng = random.Random(2)
    R = rotation(rng, 2)
    assert (exact([1, 2]) @ R != R @ exact([1, 2])).any()
