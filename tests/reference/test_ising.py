"""The Ising model: lattice sums against enumeration, integration and quadrature; samples."""

import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from flint import acb, arb_mat
from scipy.stats import chisquare, norm

from reference import BALL, enumerate_dag, enumerate_rewards, normalize
from reference.fields.balls import enclose, precision
from reference.problems import ising
from reference.problems.ising import Ising, Spins
from reference.problems.torus import Torus

Floats = npt.NDArray[np.float64]


def fractions(*values: Any) -> tuple[Fraction, ...]:
    return tuple(map(Fraction, values))


# No entry of v is small, and |v| is far from 1: every term of the formula matters.
STRONG = Ising(fractions("1/4", "-1/2", "3/4", "1/8"), fractions(1, "-3/4", "1/2", "5/4"))


def log_z_of_states(problem: Ising) -> Fraction:
    """The logarithm of the sum of `exp(log R)` over all states, before any rounding of rewards."""
    with precision(160):
        total = BALL.zero
        for x in product((-1, 1), repeat=len(problem.fields)):
            total += BALL.convert(problem.exponent(Spins(x))).exp()
        lower, upper = enclose(total.log())
    assert upper - lower < Fraction(1, 10**40)
    return lower


@pytest.mark.catches(
    "The diagonal of v v' is left in the couplings.",
    "reference/problems/ising.py",
    "return field + (along**2 - self._square) / 2",
    "return field + along**2 / 2",
)
def test_rewards_are_those_of_the_coupling_matrix() -> None:
    couplings = [[STRONG.coupling(i, j) for j in range(4)] for i in range(4)]
    assert couplings[0] == [*fractions(0, "-3/4", "1/2", "5/4")]
    for x in product((-1, 1), repeat=4):
        pairs = sum(x[i] * couplings[i][j] * x[j] for i in range(4) for j in range(4))
        field = sum((h * s for h, s in zip(STRONG.fields, x, strict=True)), Fraction(0))
        assert STRONG.exponent(Spins(x)) == field + pairs / 2
        expected = math.exp(field + pairs / 2)
        assert abs(STRONG.reward(Spins(x)) / Fraction(expected) - 1) <= Fraction(1, 2**24)


def test_the_lattice_errs_by_less_than_is_proved_for_every_state() -> None:
    # sum_k s phi(k s) exp(c k s) against exp(c^2 / 2), at the sums c = v . x that occur.
    lattice = STRONG._lattice()
    with precision(256):
        step, c_max = BALL.convert(ising.STEP), sum(map(abs, STRONG.direction), Fraction(0))
        scale = step / (2 * BALL.one.pi()).sqrt()
        for share in (0, Fraction(1, 3), Fraction(-1, 2), 1, -1):
            c = BALL.convert(c_max * share)
            points = list(map(BALL.convert, lattice))
            total = scale * BALL.sum((c * z - z * z / 2).exp() for z in points)
            error = abs(total * (-c * c / 2).exp() - 1)
            assert error < BALL.convert(ising.LATTICE_ERROR)
            # Control: the error of a lattice that ends at a, not 13 beyond, is seen.
            short = [z for z, point in zip(points, lattice, strict=True) if abs(point) <= c_max]
            missing = abs(scale * BALL.sum((c * z - z * z / 2).exp() for z in short) - total)
            assert missing > total / 10**4
        # What is stated is not far above the error where cos(2 pi c / s) = 1.
        assert error > BALL.convert(ising.LATTICE_ERROR / 4)


@pytest.mark.parametrize("problem", [Ising.minimal(), STRONG, Ising.random(6)])
def test_log_z_encloses_the_enumerated_one(problem: Ising) -> None:
    log_z = problem.log_z()
    rounded = sum(enumerate_rewards(problem, enumerate_dag(problem)), Fraction(0))
    assert log_z.error < 6e-8
    with precision(160):
        lower, _ = enclose(BALL.convert(rounded).log())
    assert abs(lower - Fraction(log_z.value)) <= Fraction(log_z.error)
    # Before rewards are rounded, it is exact to the last digit of the float.
    unrounded = log_z_of_states(problem)
    assert abs(unrounded - Fraction(log_z.value)) <= Fraction(math.ulp(log_z.value))
    # Control: with the diagonal left in J, or |v| taken for 1, it is another number.
    square = sum(v * v for v in problem.direction)
    assert not log_z.contains(unrounded + square / 2)
    if problem is STRONG:
        assert not log_z.contains(unrounded + (square - 1) / 2)


def quadrature(problem: Ising) -> tuple[Floats, Floats]:
    """The angles `h + z v` at the nodes of Gauss and Hermite, and the mass of each node."""
    h, v = (np.array(list(map(float, data))) for data in (problem.fields, problem.direction))
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    angles = h + nodes[:, None] * v
    return angles, weights / weights.sum() * np.prod(2 * np.cosh(angles), axis=1)


@pytest.mark.parametrize("spins", [36, 64])
def test_log_z_at_the_papers_sizes_is_that_of_other_methods(spins: int) -> None:
    problem = Ising.paper(spins)
    log_z = problem.log_z()
    assert log_z.error < 6e-8
    square = sum(v * v for v in problem.direction)
    hermite = math.log(quadrature(problem)[1].sum()) - float(square) / 2
    assert log_z.value == pytest.approx(hermite, rel=1e-13)

    # Rigorous integration of an entire function, over an interval that holds all but 1e-30 of it.
    def integrand(z: acb, _: bool) -> acb:
        value = (-z * z / 2).exp()
        for field, direction in zip(problem.fields, problem.direction, strict=True):
            value *= 2 * (BALL.convert(field) + z * BALL.convert(direction)).cosh()
        return value

    with precision(64):
        integral = acb.integral(integrand, -24, 24).real / (2 * BALL.one.pi()).sqrt()
        lower, upper = enclose(integral.log() - BALL.convert(square / 2))
    assert upper - lower < Fraction(1, 10**12)
    assert lower - Fraction(1, 10**12) < Fraction(log_z.value) < upper + Fraction(1, 10**12)


def test_samples_follow_the_target() -> None:
    dag = enumerate_dag(STRONG)
    counts = Counter(STRONG.sample(40_000, seed=0))
    observed = [counts[dag.labels[x]] for x in dag.terminals]
    # Control: the test rejects the law of the field alone, without couplings.
    alone = Ising(STRONG.fields, (Fraction(0),) * len(STRONG.fields))
    right, wrong = (
        [float(40_000 * p) for p in normalize(enumerate_rewards(problem, dag))]
        for problem in (STRONG, alone)
    )
    assert min(*right, *wrong) > 5
    assert chisquare(observed, right).pvalue > 0.001
    assert chisquare(observed, wrong).pvalue < 1e-6


def test_samples_at_the_papers_size_have_the_means_of_quadrature() -> None:
    problem, count = Ising.paper(64), 20_000
    angles, weights = quadrature(problem)
    weights = weights / weights.sum()
    samples = np.array([x.values for x in problem.sample(count, seed=0)])

    def p_value(mean: Any, moment: Any) -> float:
        scores = np.sqrt(count) * (mean - moment) / np.sqrt(1 - moment**2)
        return float(2 * norm.sf(np.abs(scores).max()) * scores.size)

    assert p_value(samples.mean(axis=0), weights @ np.tanh(angles)) > 0.001
    # Neighbouring spins: independent given z, not in the model.
    pairs = weights @ (np.tanh(angles[:, 1:]) * np.tanh(angles[:, :-1]))
    assert p_value((samples[:, 1:] * samples[:, :-1]).mean(axis=0), pairs) > 0.001
    # Control: the field alone has other means.
    assert p_value(samples.mean(axis=0), np.tanh([*map(float, problem.fields)])) < 1e-6


def test_instances_are_those_of_their_seed_and_in_float32() -> None:
    problem = Ising.paper(36)
    assert Ising.paper(36) == problem != Ising.random(36, seed=1)
    assert all(Fraction(float(np.float32(float(a)))) == a for a in problem.fields)


def test_strong_fields_and_couplings_do_not_overflow() -> None:
    problem = Ising(fractions(-300, 200), fractions(5, -9))
    exact = log_z_of_states(problem)
    assert problem.log_z().contains(exact)
    assert problem.sample(50, seed=0) == [Spins((-1, 1))] * 50
    assert Ising(fractions(0), fractions(0)).log_z().contains(math.log(2))


def torus_sum(rows: int, columns: int, coupling: float) -> tuple[Fraction, Fraction]:
    """Bounds of `log Z` by the transfer matrix of a row, in balls; rows of one spin alike."""
    with precision(160):
        k = BALL.convert(Fraction(coupling))
        states = [*product((-1, 1), repeat=columns)]
        along = [sum(a * b for a, b in pairwise((*x, x[0]))) for x in states]
        weight = {n: (k * n).exp() for n in range(-2 * columns, 2 * columns + 1)}
        step = [
            [weight[here + sum(a * b for a, b in zip(x, y, strict=True))] for y in states]
            for x, here in zip(states, along, strict=True)
        ]
        matrix = arb_mat(step) ** rows
        return enclose(matrix.trace().log())


@pytest.mark.catches(
    "The product of hyperbolic sines over the even k has the sign of a model in order.",
    "reference/problems/torus.py",
    "halves[0] = m * (2 * coupling + coupling.tanh().log()) / 2",
    "halves[0] = abs(m * (2 * coupling + coupling.tanh().log()) / 2)",
)
@pytest.mark.parametrize("coupling", [0.125, 0.4406867935097715, 0.75])
def test_kaufmans_formula_is_the_sum_over_all_states(coupling: float) -> None:
    for rows, columns in ((2, 2), (2, 3), (3, 2), (3, 3)):
        problem = Torus(rows, columns, coupling)
        with precision(160):
            states = map(Spins, product((-1, 1), repeat=problem.spins))
            total = BALL.sum(BALL.convert(problem.log_reward(x)).exp() for x in states)
            lower, upper = enclose(total.log())
        assert torus_sum(rows, columns, coupling) == pytest.approx((lower, upper), abs=1e-40)
        log_z = problem.log_z()
        assert log_z.error < 1e-14
        assert log_z.contains(lower)
        assert log_z.contains(upper)


@pytest.mark.parametrize("sides", [(4, 4), (5, 5), (32, 4), (7, 6)])
def test_kaufmans_formula_is_the_transfer_matrix_at_larger_sizes(sides: tuple[int, int]) -> None:
    lower, upper = torus_sum(*sides, 0.4)
    log_z = Torus(*sides, 0.4).log_z()
    assert log_z.contains(lower)
    assert log_z.contains(upper)
    # A torus turned by a right angle is the same one; control: another one is not.
    assert Torus(*reversed(sides), 0.4).log_z().contains(lower)
    assert not Torus(*sides, 0.4 + 1e-9).log_z().contains(lower)


def test_log_z_of_a_large_torus_is_near_onsagers_energy_and_known_closely() -> None:
    # At the critical coupling, log Z per spin is log(2) / 2 + 2 G / pi, G Catalan's constant.
    log_z = Torus(256, 256, math.log(1 + math.sqrt(2)) / 2).log_z()
    assert log_z.error < 1e-10
    per_spin = math.log(2) / 2 + 2 * 0.915965594177 / math.pi
    assert log_z.value / 256**2 == pytest.approx(per_spin, abs=2e-5)
