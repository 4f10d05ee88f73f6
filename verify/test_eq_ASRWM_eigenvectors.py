"""eq:ASRWM.eigenvectors: what a rotation turns, on random rational matrices."""

import random
from typing import Any

import numpy as np
import pytest

from reference.srwm import Array, exact
from verify.lib.srwm import QUARTER, eye, plane, rotation, vector


def gram(W: Array) -> Array:
    found: Array = W @ W.T
    return found


@pytest.mark.claim("eq:ASRWM.eigenvectors")
def test_a_rotation_on_the_right_turns_right_singular_vectors_and_nothing_else(scope: Any) -> None:
    # The eigenvectors of W W' are the left singular vectors, those of W' W the right ones.
    rng = random.Random(0)
    for _ in range(60):
        d = rng.randint(2, 5)
        W, R = exact([vector(rng, d) for _ in range(d)]), rotation(rng, d)
        assert (gram(W @ R) == gram(W)).all()
        assert (gram((W @ R).T) == R.T @ gram(W.T) @ R).all()
    scope("60 random matrices and rotations, d = 2 to 5")


@pytest.mark.claim("eq:ASRWM.eigenvectors")
def test_eigenvectors_turn_when_the_rotation_acts_from_both_sides() -> None:
    W, R = exact([[2, 1], [0, 3]]), plane((3, 4, 5))
    for eigenvalue, x in ((2, exact([1, 0])), (3, exact([1, 1]))):
        assert (W @ x == eigenvalue * x).all()
        assert ((R.T @ W @ R) @ (R.T @ x) == eigenvalue * (R.T @ x)).all()


@pytest.mark.control("eq:ASRWM.eigenvectors")
def test_turned_by_ninety_degrees_a_projection_has_one_eigenvector_the_old_one() -> None:
    W, R = exact([[1, 0], [0, 0]]), plane(QUARTER)
    turned = W @ R
    assert turned.tolist() == [[0, -1], [0, 0]]
    # Its square is 0, so that 0 is its only eigenvalue, with the multiples of (1, 0) alone; the
    # turned eigenvectors of W would be (1, 0) and (0, 1) again, with the eigenvalues exchanged.
    assert not (turned @ turned).any()
    assert (turned @ exact([1, 0])).tolist() == [0, 0]
    assert (turned @ exact([0, 1])).tolist() == [-1, 0]


@pytest.mark.control("eq:ASRWM.eigenvectors")
def test_turned_by_an_angle_the_identity_loses_all_its_eigenvectors() -> None:
    # The polynomial of a rotation with cosine 3/5 has the discriminant 4 (9/25 - 1) < 0.
    R = eye(2) @ plane((3, 4, 5))
    assert np.trace(R) ** 2 - 4 < 0


@pytest.mark.control("eq:ASRWM.eigenvectors")
def test_a_shear_on_the_right_changes_the_singular_values() -> None:
    shear = exact([[1, 1], [0, 1]])
    assert np.trace(gram(eye(2) @ shear)) == 3 != np.trace(gram(eye(2)))
