"""tab:isingsa: ground states for every pattern of signs of v."""

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from reference.problems import Ising
from reference.problems.ising import Spins

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
    for spins in UNIT_VECTORS:
        aligned = {(1,) * spins, (-1,) * spins}
        ferromagnetic = 0
        for direction in directions(spins):
            signs = tuple(1 if v > 0 else -1 for v in direction)
            least = ground_states(direction)
            assert least == {signs, tuple(-s for s in signs)}
            ferromagnetic += least == aligned
        # A uniform v has two of the 2^d sign patterns: probability 2^(1-d).
        assert ferromagnetic == 2
    scope(f"{sum(2**d for d in UNIT_VECTORS)} unit vectors, d = 2 to 5, every pattern of signs")


@pytest.mark.control("tab:isingsa")
def test_two_couplings_of_opposite_sign_are_not_ferromagnetic() -> None:
    model = Ising((Fraction(0),) * 2, (Fraction(3, 5), Fraction(-4, 5)))
    assert model.coupling(0, 1) == Fraction(-12, 25)
    energies = [-model.exponent(Spins(x)) for x in ((1, 1), (1, -1))]
    assert energies == [Fraction(12, 25), Fraction(-12, 25)]
