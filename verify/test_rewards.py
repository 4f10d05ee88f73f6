"""hypergrid, eq:apx:sinusoidala, tab:isingsa, tab:preferencesa: the rewards of the appendix.

Hypergrid: two misprints move the modes into the corners. Sinusoidal: the cosine is negative at
2, 3 and 4, so it is no reward. Ising: aligned spins minimise the energy iff no two entries of v
differ in sign. Preferences: w must have d components. Proof: the notes of these names.
"""

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from reference import BALL, InputError, enumerate_dag, normalize, total_variation
from reference.fields.balls import enclose, precision
from reference.problems import Grid, Ising, Preference, positive_reward
from reference.problems.grid import Cell
from reference.problems.ising import Spins
from reference.problems.preference import Weights

# --- hypergrid

Indicator = Callable[[int, Fraction], bool]


def hypergrid(side: int, first: Indicator, second: Indicator) -> dict[tuple[int, int], Fraction]:
    """The printed form of `R`, with `r_1` and `r_2` as functions of x and n(x)."""
    n = {x: abs(Fraction(2 * x, side - 1) - 1) for x in range(side)}
    one, two = ({x: int(r(x, n[x])) for x in n} for r in (first, second))
    return {
        (x, y): Fraction(1, 1000) + 2 * one[x] * one[y] + Fraction(two[x] * two[y], 2)
        for x, y in product(n, repeat=2)
    }


def printed(side: int) -> dict[tuple[int, int], Fraction]:
    return hypergrid(
        side,
        lambda x, n: n > Fraction(3, 5) and n > Fraction(4, 5),
        lambda x, n: x > Fraction(1, 2),
    )


def repaired(side: int) -> dict[tuple[int, int], Fraction]:
    return hypergrid(
        side, lambda x, n: Fraction(3, 5) < n < Fraction(4, 5), lambda x, n: n > Fraction(1, 2)
    )


@pytest.mark.claim("hypergrid")
def test_repaired_it_is_the_standard_reward_with_four_modes() -> None:
    rewards = repaired(16)
    modes = [cell for cell, reward in rewards.items() if reward > 2]
    assert modes == [(2, 2), (2, 13), (13, 2), (13, 13)]
    assert {rewards[mode] for mode in modes} == {Fraction(2501, 1000)}
    assert sum(rewards.values()) == Fraction(5032, 125)
    assert sorted(Counter(rewards.values()).values()) == [4, 60, 192]


@pytest.mark.claim("hypergrid")
def test_the_reference_has_both_forms_exactly(scope: Any) -> None:
    for side in range(2, 25):
        for rewards, grid in (
            (repaired(side), Grid(side)),
            (printed(side), Grid(side, landscape="printed")),
        ):
            assert all(grid.reward(Cell(cell, True)) == r for cell, r in rewards.items())
            assert grid.z() == sum(rewards.values())
    scope("grids of side 2 to 24")


@pytest.mark.control("hypergrid")
def test_as_printed_the_modes_are_in_the_corners() -> None:
    modes = [cell for cell, reward in printed(16).items() if reward > 2]
    assert modes == list(product((0, 1, 14, 15), repeat=2))
    assert sum(printed(16).values()) == Fraction(36189, 250)
    p, q = (normalize(list(form(16).values())) for form in (printed, repaired))
    assert total_variation(p, q) == Fraction(4991875, 7587627)  # 0.658


@pytest.mark.control("hypergrid")
def test_at_no_side_are_the_two_forms_the_same() -> None:
    for side in range(2, 25):
        assert normalize(list(printed(side).values())) != normalize(list(repaired(side).values()))


@pytest.mark.control("hypergrid")
def test_compared_in_floats_a_grid_of_sixteen_has_nine_modes() -> None:
    band = [x for x in range(16) if 0.6 < abs(2 * x / 15 - 1) < 0.8]
    assert band == [2, 12, 13]  # n(12) = 0.6000000000000001


# --- eq:apx:sinusoidala


def cosines(radius: int, scale: int = 1) -> dict[int, tuple[Fraction, Fraction]]:
    """Enclosures of `cos(k / scale)` for every coordinate of the box."""
    with precision(64):
        return {
            k: enclose(BALL.convert(Fraction(k, scale)).cos()) for k in range(-radius, radius + 1)
        }


@pytest.mark.claim("eq:apx:sinusoidala")
def test_of_the_scaled_position_or_with_one_added_the_cosine_is_positive(scope: Any) -> None:
    for radius in (1, 2, 16, 64):
        scaled = cosines(radius, radius)
        least = min(scaled, key=lambda k: scaled[k])
        assert abs(least) == radius
        assert scaled[least][0] > Fraction(54, 100)  # cos 1
        assert all(1 + lower > 0 for lower, _ in cosines(radius).values())
    scope("boxes of radius 1, 2, 16, 64")


@pytest.mark.control("eq:apx:sinusoidala")
def test_the_printed_cosine_is_negative_from_radius_two_on() -> None:
    assert cosines(1)[1][0] > 0
    assert cosines(2)[2][1] < 0
    negative = [k for k, (_, upper) in cosines(16).items() if upper < 0]
    assert [k for k in negative if k > 0] == [2, 3, 4, 8, 9, 10, 15, 16]
    assert all(lower > 0 for k, (lower, _) in cosines(16).items() if k not in negative)
    with pytest.raises(InputError, match="cannot be negative"):
        positive_reward(math.cos(2), (0, 2))


# --- tab:isingsa

UNIT_VECTORS = {
    2: ("3/5", "4/5"),
    3: ("1/3", "2/3", "2/3"),
    4: ("1/5", "2/5", "2/5", "4/5"),
    5: ("1/4", "1/4", "1/4", "2/4", "3/4"),
}


def directions(spins: int) -> list[tuple[Fraction, ...]]:
    """A unit vector with every choice of signs."""
    sizes = tuple(map(Fraction, UNIT_VECTORS[spins]))
    assert sum(v * v for v in sizes) == 1
    return [
        tuple(s * v for s, v in zip(signs, sizes, strict=True))
        for signs in product((1, -1), repeat=spins)
    ]


def ground_states(direction: tuple[Fraction, ...]) -> set[tuple[int, ...]]:
    """The spins that minimise `-x' J x / 2`."""
    model = Ising((Fraction(0),) * len(direction), direction)
    energy = {x: -model.exponent(Spins(x)) for x in product((1, -1), repeat=len(direction))}
    return {x for x, value in energy.items() if value == min(energy.values())}


@pytest.mark.claim("tab:isingsa")
def test_energy_is_least_at_the_signs_of_v_and_their_opposites(scope: Any) -> None:
    count = 0
    for spins in UNIT_VECTORS:
        aligned = {(1,) * spins, (-1,) * spins}
        ferromagnetic = 0
        for direction in directions(spins):
            signs = tuple(1 if v > 0 else -1 for v in direction)
            assert ground_states(direction) == {signs, tuple(-s for s in signs)}
            ferromagnetic += ground_states(direction) == aligned
            count += 1
        # A uniform v has two of the 2^d sign patterns: probability 2^(1-d).
        assert ferromagnetic == 2
    scope(f"{count} unit vectors, d = 2 to 5, every pattern of signs")


@pytest.mark.control("tab:isingsa")
def test_two_couplings_of_opposite_sign_are_not_ferromagnetic() -> None:
    model = Ising((Fraction(0),) * 2, (Fraction(3, 5), Fraction(-4, 5)))
    assert model.coupling(0, 1) == Fraction(-12, 25)
    energies = [-model.exponent(Spins(x)) for x in ((1, 1), (1, -1))]
    assert energies == [Fraction(12, 25), Fraction(-12, 25)]


# --- tab:preferencesa


@pytest.mark.claim("tab:preferencesa")
def test_the_posterior_lives_on_a_box_of_d_dimensions(scope: Any) -> None:
    for dimension, bound in product((1, 2, 3), (1, 2)):
        dag = enumerate_dag(Preference.random(2, dimension, bound))
        found = {dag.labels[x].components for x in dag.terminals}
        assert found == set(product(range(-bound, bound + 1), repeat=dimension))
    problem = Preference.paper()
    assert (2 * problem.bound + 1) ** problem.dimension == 43_046_721
    scope("6 boxes enumerated, 9^8 counted")


@pytest.mark.claim("tab:preferencesa")
def test_the_reward_is_the_likelihood_of_the_comparisons(scope: Any) -> None:
    problem = Preference.random(3, 2, 2, seed=1)
    for w in product(range(-2, 3), repeat=2):
        scores = [sum(a * b for a, b in zip(w, x, strict=True)) for x in problem.differences]
        # Each sigmoid is rounded to 24 bits.
        likelihood = math.prod(1 / (1 + math.exp(-score)) for score in scores)
        assert float(problem.reward(Weights(w))) == pytest.approx(likelihood, rel=3.1 * 2.0**-24)
    scope("25 rewards")


@pytest.mark.control("tab:preferencesa")
def test_without_the_power_there_are_nine_weights_and_no_product_with_features() -> None:
    problem = Preference.paper()
    assert len(range(-problem.bound, problem.bound + 1)) == 9
    assert {len(x) for x in problem.differences} == {8}
    with pytest.raises(ValueError, match="argument"):
        # One component against eight features.
        sum(a * b for a, b in zip((4,), problem.differences[0], strict=True))
