"""eq:ASRWM and what the text says of it: update, growth and rotation, on rationals."""

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy

from reference.srwm import Array, Input, advance, exact, follow
from verify.lib.srwm import (
    HALF,
    QUARTER,
    blocks,
    eye,
    matrix,
    plane,
    power,
    random_input,
    rotation,
    square,
    vector,
)


def steps(count: int, seed: int, most: int = 4) -> Iterator[tuple[Array, Array, Input]]:
    """Random latents, rotations and inputs."""
    rng = random.Random(seed)
    for _ in range(count):
        d = rng.randint(2, most)
        yield matrix(rng, d), rotation(rng, d), random_input(rng, d)


def slow(weights: Array, bias: Array, psi: Array) -> tuple[Array, Array, Array, Any]:
    """`q, k, v, beta`, before zeta and sigma."""
    d = len(psi)
    projected = weights @ psi + bias
    return projected[:d], projected[d : 2 * d], projected[2 * d : 3 * d], projected[3 * d]


# --- eq:ASRWM, the update.


@pytest.mark.catches(
    "Adds the old value where it should be erased.", "reference/srwm.py", "x.v - old", "x.v + old"
)
@pytest.mark.claim("eq:ASRWM")
def test_one_step_by_hand() -> None:
    # R turns by 90 degrees; W R = ((0, -1), (2, 0)), v - W k = (1/2, -1), and half of it is
    # written at q = (1/4, 3/4).
    x = Input(exact(["1/4", "3/4"]), exact(["1/2", "1/2"]), exact([1, 0]), Fraction(1, 2))
    W = advance(exact([[1, 0], [0, 2]]), plane(QUARTER), x)
    assert (exact([["1/16", "-13/16"], ["15/8", "-3/8"]]) == W).all()


@pytest.mark.claim("eq:ASRWM")
def test_slow_weights_of_the_printed_shape_give_two_keys_a_value_and_a_rate() -> None:
    rng = random.Random(0)
    for d in (1, 2, 3):
        weights = exact([vector(rng, d) for _ in range(3 * d + 1)])
        parts = slow(weights, vector(rng, 3 * d + 1), vector(rng, d))
        assert [np.shape(part) for part in parts] == [(d,), (d,), (d,), ()]


@pytest.mark.claim("eq:ASRWM")
def test_the_update_adds_a_function_of_the_state_and_of_the_latent_before(scope: Any) -> None:
    for W, R, x in steps(60, seed=1):
        phi = W @ (R - eye(len(W))) + x.rate * np.outer(x.v - W @ x.k, x.q)
        assert (advance(W, R, x) == W + phi).all()
    scope("60 random steps, d = 2 to 4")


@pytest.mark.catches(
    "Takes the rate from the latent, as a self-referential matrix does.",
    "reference/srwm.py",
    "x.rate * np.outer(",
    "x.rate * old[0] * np.outer(",
)
@pytest.mark.claim("eq:ASRWM.rate")
def test_the_update_is_affine_in_the_latent_before(scope: Any) -> None:
    # So the rate and the keys are not those of a self-referential matrix, which makes its own.
    rng = random.Random(0)
    for W, R, x in steps(60, seed=2):
        V, share = matrix(rng, len(W)), Fraction(rng.randint(-9, 9), 4)
        mixed = advance(share * V + (1 - share) * W, R, x)
        assert (mixed == share * advance(V, R, x) + (1 - share) * advance(W, R, x)).all()
    scope("60 random pairs of latents")


@pytest.mark.control("eq:ASRWM.rate")
def test_a_matrix_that_makes_its_own_value_and_rate_is_not_affine() -> None:
    # d = 1, with the value 2 W and the rate W: W_t = W + W (2 W - W) is quadratic.
    def step(w: Fraction) -> Fraction:
        one = exact([1])
        W: Array = advance(exact([[w]]), eye(1), Input(one, one, exact([2 * w]), w))
        value: Fraction = W[0, 0]
        return value

    assert [step(Fraction(w)) for w in (0, 1, 2)] == [0, 2, 6]
    assert step(Fraction(1)) != (step(Fraction(0)) + step(Fraction(2))) / 2


@pytest.mark.control("eq:ASRWM")
def test_without_the_identity_in_phi_the_old_latent_is_kept_twice() -> None:
    W, R = eye(2), plane(QUARTER)
    x = Input(exact([1, 0]), exact([1, 0]), exact([1, 0]), Fraction(1, 2))
    assert (advance(W, R, x) == R).all()  # v = W k, so only the rotation acts
    assert (exact([[1, -1], [1, 1]]) == W + W @ R).all()


# --- eq:ASRWM.delta: what is read at k after something was written.


@pytest.mark.catches(
    "Turns the latent from the left before it is read.",
    "reference/srwm.py",
    "W @ R @ x.k",
    "R @ W @ x.k",
)
@pytest.mark.claim("eq:ASRWM.delta")
def test_written_at_the_key_read_after_the_rotation_it_is_the_delta_rule(scope: Any) -> None:
    rng = random.Random(0)
    for W, R, x in steps(60, seed=3):
        after = advance(W, R, x, write_key="k", erase="after")
        # What is read at k moves towards v by the share rate |k|^2, whatever R is ...
        assert (after @ x.k - x.v == (1 - x.rate * square(x.k)) * (W @ R @ x.k - x.v)).all()
        # ... along the gradient of |v - W R k|^2 / 2 in W R: nothing changes orthogonally to k.
        other = vector(rng, len(x.k))
        other = other - (other @ x.k) / square(x.k) * x.k
        assert (after @ other == W @ R @ other).all()
    scope("60 random steps, d = 2 to 4")


@pytest.mark.claim("eq:ASRWM.delta")
def test_with_a_key_of_norm_one_and_rate_one_the_value_is_stored() -> None:
    k, q, v = exact(["3/5", "4/5"]), exact([1, 0]), exact([1, 3])
    x = Input(q, k, v, Fraction(1))
    assert (advance(eye(2), eye(2), x, write_key="k") @ k == v).all()
    assert (advance(eye(2), plane(QUARTER), x, write_key="k", erase="after") @ k == v).all()


@pytest.mark.control("eq:ASRWM.delta")
def test_as_printed_the_value_is_not_stored_and_other_keys_are_disturbed() -> None:
    k, q, v = exact(["3/5", "4/5"]), exact([1, 0]), exact([1, 3])
    printed = advance(eye(2), eye(2), Input(q, k, v, Fraction(1)))
    assert (printed @ k).tolist() == [Fraction(21, 25), Fraction(53, 25)]
    other = exact([4, -3])  # orthogonal to k: the delta rule leaves it alone
    assert (printed @ other).tolist() == [Fraction(28, 5), Fraction(29, 5)]


@pytest.mark.control("eq:ASRWM.delta")
def test_as_printed_the_share_depends_on_both_keys() -> None:
    for W, _, x in steps(60, seed=4):
        share = x.rate * (x.q @ x.k)
        assert 0 < share < 1
        printed = advance(W, eye(len(W)), x) @ x.k
        assert (printed - x.v == (1 - share) * (W @ x.k - x.v)).all()


@pytest.mark.control("eq:ASRWM.delta")
def test_the_key_alone_is_not_enough_when_the_matrix_turns() -> None:
    k, v = exact(["3/5", "4/5"]), exact([1, 3])
    half_repaired = advance(eye(2), plane(QUARTER), Input(k, k, v, Fraction(1)), write_key="k")
    # W R k = (-4/5, 3/5), and v - W k is added to it: 1 - 7/5 and 3 - 1/5.
    assert (half_repaired @ k).tolist() == [Fraction(-2, 5), Fraction(14, 5)]


# --- eq:ASRWM.stability: frozen inputs.


def transition(R: Array, x: Input, write: Any = "q", read: Any = "before") -> Array:
    """A, with `W_t = W_{t-1} A + rate v (x) written`."""
    zero = x._replace(v=0 * x.v)
    return advance(eye(len(R)), R, zero, write, read)


def spectral_square(A: Array) -> Fraction:
    """The square of the spectral radius of a 2 x 2 matrix with two complex eigenvalues."""
    trace, determinant = A[0, 0] + A[1, 1], A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
    assert trace**2 < 4 * determinant
    squared: Fraction = determinant
    return squared


def area(a: Array, b: Array) -> Fraction:
    cross: Fraction = a[0] * b[1] - a[1] * b[0]
    return cross


GROWING = Input(exact(["1/10", "9/10"]), exact(["9/10", "1/10"]), exact([2, -1]), Fraction(9, 10))


@pytest.mark.claim("eq:ASRWM.stability")
def test_the_printed_update_grows_by_the_root_of_43_25_per_step() -> None:
    R = plane(QUARTER)
    A = transition(R, GROWING)
    assert (exact([["-81/1000", "-1729/1000"], ["991/1000", "-81/1000"]]) == A).all()
    assert spectral_square(A) == Fraction(43, 25)  # (1.3115 ...)^2
    # The area spanned by a row and its image is positive or negative for every row, and grows by
    # det A exactly: every difference of two latents, whatever is written, grows without bound.
    first, second = (follow(W, R, [GROWING] * 40) for W in (exact([[1, 0], [0, 0]]), 0 * eye(2)))
    for t, (V, W) in enumerate(zip(first, second, strict=True)):
        row = (V - W)[0]
        assert area(row, row @ A) == Fraction(-1729, 1000) * Fraction(43, 25) ** t
    assert square(first[40] - second[40]) > 10**9


@pytest.mark.claim("eq:ASRWM.stability")
def test_the_determinant_of_a_transition_is_one_less_the_rotated_product(scope: Any) -> None:
    for _, R, x in steps(40, seed=5):
        for write, key in (("q", x.q), ("k", x.k)):
            A = transition(R, x, write)
            assert sympy.Matrix(A.tolist()).det() == 1 - x.rate * (key @ R.T @ x.k)
    scope("40 random rotations, d = 2 to 4")


@pytest.mark.catches(
    "Writes at q even where the repair writes at k.",
    "reference/srwm.py",
    'x.q if write_key == "q" else x.k',
    "x.q",
)
@pytest.mark.claim("eq:ASRWM.stability")
def test_read_after_the_rotation_and_written_at_the_key_nothing_is_lengthened(scope: Any) -> None:
    for W, R, x in steps(60, seed=6):
        A = transition(R, x, "k", "after")
        lost = x.rate * (2 - x.rate * square(x.k)) * square(W @ R @ x.k)
        assert square(W @ A) == square(W) - lost
        assert lost >= 0
    scope("60 random steps of the repaired update")


@pytest.mark.claim("eq:ASRWM.stability")
def test_the_repaired_latent_is_bounded_by_what_was_written(scope: Any) -> None:
    # Keys (3, 4) / 7, (5, 12) / 17, ... in the simplex and values of rational norm.
    norms = {
        (3, 4): Fraction(5, 7), (5, 12): Fraction(13, 17), (8, 15): Fraction(17, 23)
    }  # fmt: skip
    rng = random.Random(7)
    for _ in range(20):
        W, bound = np.outer(exact([3, 4]), exact([5, -12])), Fraction(5 * 13)
        R = plane(rng.choice([(3, 4, 5), (-5, 12, 13), QUARTER, HALF]))
        for _ in range(8):
            legs = rng.choice(list(norms))
            k, scale = exact(legs) / sum(legs), rng.randint(-3, 3)
            x = Input(k, k, exact([3 * scale, 4 * scale]), Fraction(rng.randint(1, 9), 10))
            W = advance(W, R, x, "k", "after")
            bound += x.rate * 5 * abs(scale) * norms[legs]
            assert square(W) <= bound**2
    scope("20 random trajectories of 8 steps")


@pytest.mark.claim("eq:ASRWM.stability")
def test_without_a_rotation_the_printed_update_stays_bounded() -> None:
    for _, R, x in steps(20, seed=8):
        identity = eye(len(R))
        A, overlap = transition(identity, x), x.q @ x.k
        for t in (1, 2, 7):
            factor = (1 - (1 - x.rate * overlap) ** t) / overlap
            assert (power(A, t) == identity - factor * np.outer(x.k, x.q)).all()


@pytest.mark.control("eq:ASRWM.stability")
def test_writing_at_the_key_alone_still_grows() -> None:
    # Cosine -3/5: the determinant is 1 + (3/5) (9/10) (1/2) at k = (1/2, 1/2).
    x = GROWING._replace(k=exact(["1/2", "1/2"]))
    assert spectral_square(transition(plane((-3, 4, 5)), x, "k")) == Fraction(127, 100)
    # Half a turn: at a vertex of the simplex, each step lengthens k by 1 + 9/10.
    x = GROWING._replace(k=exact([1, 0]))
    assert (x.k @ transition(plane(HALF), x, "k") == Fraction(-19, 10) * x.k).all()


@pytest.mark.control("eq:ASRWM.stability")
def test_keys_off_the_simplex_lengthen_even_the_repaired_latent() -> None:
    # With the identity for zeta |k| is not bounded: 1 - (9/10) 4 = -13/5.
    x = GROWING._replace(k=exact([2, 0]))
    A = transition(eye(2), x, "k", "after")
    assert (x.k @ A == Fraction(-13, 5) * x.k).all()


@pytest.mark.control("eq:ASRWM.stability")
def test_the_rotation_makes_the_printed_update_grow() -> None:
    A = transition(eye(2), GROWING)
    # The limit is I - k (x) q / (q . k), of square (41/9)^2 < 21.
    assert square(power(A, 40)) < 21
    assert square(power(transition(plane(QUARTER), GROWING), 40)) > 10**9


# --- eq:ASRWM.eigenvectors: what a rotation turns.


def gram(W: Array) -> Array:
    products: Array = W @ W.T
    return products


@pytest.mark.catches(
    "Reflects and stretches, as both sines have one sign.",
    "verify/lib/srwm.py",
    "= cos, -sin, sin, cos",
    "= cos, sin, sin, cos",
)
@pytest.mark.claim("eq:ASRWM.eigenvectors")
def test_a_rotation_on_the_right_turns_right_singular_vectors_and_nothing_else(scope: Any) -> None:
    # The eigenvectors of W W' are the left singular vectors, those of W' W the right ones.
    for W, R, _ in steps(60, seed=0, most=5):
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


# --- eq:ASRWM.ergodic: powers and invariants of rotations.


def returns(triples: tuple[tuple[int, int, int], ...], turns: tuple[int, ...]) -> bool:
    """True if the planes turned that often each bring their phases back together: z^a w^b = 1."""
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


@pytest.mark.catches(
    "Turns forwards for negative powers.",
    "verify/lib/srwm.py",
    "R if t >= 0 else R.T, abs(t)",
    "R, abs(t)",
)
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
    for d in (3, 4, 5) * 20:
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
