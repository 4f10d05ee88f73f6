"""eq:ASRWM.ergodic: powers and invariants of rational rotations."""

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

from reference.srwm import exact
from verify.lib.srwm import QUARTER, blocks, eye, plane, power, rotation


def returns(triples: tuple[tuple[int, int, int], ...], turns: tuple[int, ...]) -> bool:
    """Whether the planes turned that often each bring their phases back together: z^a w^b = 1."""
    total = eye(2)
    for triple, n in zip(triples, turns, strict=True):
        total = total @ power(plane(triple), n)
    return bool((total == eye(2)).all())


@pytest.mark.claim("eq:ASRWM.ergodic")
def test_in_the_plane_a_rotation_with_cosine_three_fifths_never_returns(scope: Any) -> None:
    # In lowest terms the entries of R^n have the denominator 5^n.
    R = power_n = plane((3, 4, 5))
    for n in range(1, 201):
        assert {x.denominator for x in power_n.ravel()} == {5**n}
        power_n = power_n @ R
    scope("200 powers of one plane")


@pytest.mark.claim("eq:ASRWM.ergodic")
def test_two_planes_with_independent_angles_have_no_relation(scope: Any) -> None:
    angles = ((3, 4, 5), (5, 12, 13))
    related = [turns for turns in product(range(-12, 13), repeat=2) if returns(angles, turns)]
    assert related == [(0, 0)]
    scope("625 relations of two planes")


@pytest.mark.control("eq:ASRWM.ergodic")
def test_two_planes_of_which_one_turns_twice_as_fast_have_a_relation() -> None:
    # (3 + 4i)^2 = -7 + 24i: the orbit stays on a closed curve of the torus.
    angles = ((3, 4, 5), (-7, 24, 25))
    related = [turns for turns in product(range(-3, 4), repeat=2) if returns(angles, turns)]
    assert related == [(-2, 1), (0, 0), (2, -1)]


@pytest.mark.control("eq:ASRWM.ergodic")
def test_a_quarter_turn_returns_after_four_steps() -> None:
    assert [n for n in range(1, 9) if returns((QUARTER,), (n,))] == [4, 8]


@pytest.mark.control("eq:ASRWM.ergodic")
def test_from_three_dimensions_on_something_on_the_sphere_is_invariant(scope: Any) -> None:
    # x' (R + R') x, which is not constant on the sphere unless R + R' is a multiple of I.
    rng = random.Random(1)
    for _ in range(60):
        d = rng.randint(3, 5)
        R = rotation(rng, d)
        symmetric = R + R.T
        assert (R.T @ symmetric @ R == symmetric).all()
        assert (symmetric != symmetric[0, 0] * eye(d)).any()
    scope("60 random rotations, d = 3 to 5")


@pytest.mark.control("eq:ASRWM.ergodic")
def test_with_equal_angles_the_norm_in_a_plane_is_still_invariant() -> None:
    R = blocks((3, 4, 5), (3, 4, 5))
    assert (exact("6/5") * eye(4) == R + R.T).all()
    projection = exact(np.diag([1, 1, 0, 0]))
    assert (R.T @ projection @ R == projection).all()
    # Turned into general position it is the same with another plane.
    Q = rotation(random.Random(2), 4)
    R, projection = Q.T @ R @ Q, Q.T @ projection @ Q
    assert (R.T @ projection @ R == projection).all()
