"""subsec:relu: networks with and without biases, by exact evaluation."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise, product
from random import Random
from typing import Any, NamedTuple

import pytest

from verify.lib.linear import Vector, dot


class Layer(NamedTuple):
    """`x -> W x + b`."""

    weights: tuple[Vector, ...]
    biases: Vector

    def __call__(self, x: Vector) -> Vector:
        """The image of `x`."""
        return tuple(
            bias + dot(row, x) for row, bias in zip(self.weights, self.biases, strict=True)
        )


def relu(x: Vector) -> Vector:
    return tuple(max(y, Fraction(0)) for y in x)


def network(layers: Sequence[Layer], x: Vector, linear_output: bool) -> Vector:
    for layer in layers[:-1]:
        x = relu(layer(x))
    x = layers[-1](x)
    return x if linear_output else relu(x)


def drawn(sizes: Sequence[int], rng: Random, biases: bool) -> list[Layer]:
    def vector(size: int) -> Vector:
        return tuple(Fraction(rng.randint(-9, 9), rng.randint(1, 9)) for _ in range(size))

    return [
        Layer(tuple(vector(d) for _ in range(e)), vector(e) if biases else (Fraction(0),) * e)
        for d, e in pairwise(sizes)
    ]


def interpolated(
    function: Callable[[Fraction], Fraction], start: int, end: int, pieces: int
) -> list[Layer]:
    """The network with one hidden unit per interval that is linear between equidistant values."""
    points = [start + Fraction(end - start, pieces) * j for j in range(pieces + 1)]
    slopes = [(function(b) - function(a)) / (b - a) for a, b in pairwise(points)]
    bends = [slopes[0], *(b - a for a, b in pairwise(slopes))]
    hidden = Layer(((Fraction(1),),) * pieces, tuple(-x for x in points[:-1]))
    return [hidden, Layer((tuple(bends),), (function(points[0]),))]


@pytest.mark.claim("subsec:relu")
@pytest.mark.parametrize("linear_output", [False, True])
def test_without_biases_every_network_is_positively_homogeneous(
    linear_output: bool, scope: Any
) -> None:
    rng = Random(0)
    for depth in (1, 2, 3) * 50:
        layers = drawn([rng.randint(1, 4) for _ in range(depth + 1)], rng, biases=False)
        x = tuple(Fraction(rng.randint(-9, 9)) for _ in layers[0].weights[0])
        fx = network(layers, x, linear_output)
        for t in (Fraction(0), Fraction(1, 3), Fraction(5)):
            tx = tuple(t * y for y in x)
            assert network(layers, tx, linear_output) == tuple(t * y for y in fx)
    scope(f"150 random networks of depth 1 to 3, {'linear' if linear_output else 'ReLU'} output")


@pytest.mark.claim("subsec:relu")
def test_without_biases_the_logits_on_lines_are_linear_in_the_position() -> None:
    rng = Random(1)
    for _ in range(20):
        layers = drawn([1, 5, 5, 3], rng, biases=False)
        logits = [network(layers, (Fraction(k),), True) for k in range(8)]
        assert logits == [tuple(k * y for y in logits[1]) for k in range(8)]
        # At p_0 no action is preferred: with M = 1, p_T(q_0) = 1/2.
        assert set(logits[0]) == {0}


@pytest.mark.claim("subsec:relu")
@pytest.mark.parametrize("length", [1, 2, 7, 25])
def test_with_biases_any_values_at_the_states_of_lines_are_attained(length: int) -> None:
    rng = Random(length)
    values = [Fraction(rng.randint(-99, 99), rng.randint(1, 9)) for _ in range(length + 1)]
    layers = interpolated(lambda x: values[int(x)], 0, length, length)
    assert len(layers[0].weights) == length
    for k, value in enumerate(values):
        assert network(layers, (Fraction(k),), True) == (value,)


@pytest.mark.claim("subsec:relu")
@pytest.mark.parametrize("pieces", [1, 2, 5, 12])
def test_the_error_is_at_most_half_the_lipschitz_constant_times_the_mesh(pieces: int) -> None:
    def kink(x: Fraction) -> Fraction:
        return 3 * abs(x - Fraction(1, 2))

    layers = interpolated(kink, -1, 2, pieces)
    points = [Fraction(j, 60) for j in range(-60, 121)]
    error = max(abs(network(layers, (x,), True)[0] - kink(x)) for x in points)
    bound = 3 * Fraction(3, pieces) / 2
    assert error <= bound
    # Attained where the kink is in the middle of an interval.
    assert (error == bound) == (pieces in (1, 5))


@pytest.mark.claim("subsec:relu")
def test_sums_of_networks_of_one_input_approximate_functions_of_two() -> None:
    # x y = ((x + y)^2 - (x - y)^2) / 4; the square is missed by at most h^2 / 4.
    for pieces in (2, 4, 8):
        squares = interpolated(lambda x: x * x, -2, 2, pieces)
        hidden, output = squares
        (bends,) = output.weights
        two = [
            Layer(
                ((Fraction(1), Fraction(1)),) * pieces + ((Fraction(1), Fraction(-1)),) * pieces,
                hidden.biases * 2,
            ),
            Layer(((*(b / 4 for b in bends), *(-b / 4 for b in bends)),), (Fraction(0),)),
        ]
        points = [Fraction(j, 8) for j in range(-8, 9)]
        error = max(
            abs(network(two, (x, y), True)[0] - x * y) for x, y in product(points, repeat=2)
        )
        h = Fraction(4, pieces)
        assert 0 < error <= h**2 / 16


@pytest.mark.control("subsec:relu")
def test_without_biases_a_linear_target_is_missed_by_two_thirds() -> None:
    # g(x) = 2 - x on [1, 2]: f(2) = 2 f(1) misses g(1) = 1 or g(2) = 0 by 2/3, and x / 3 no more.
    grid = [Fraction(j, 60) for j in range(121)]
    errors = [max(abs(1 - t), abs(2 * t)) for t in grid]
    assert min(errors) == Fraction(2, 3) == errors[grid.index(Fraction(1, 3))]
    rng = Random(2)
    for _ in range(100):
        layers = drawn([1, 4, 1], rng, biases=False)
        (f1,), (f2,) = (network(layers, (Fraction(k),), True) for k in (1, 2))
        assert max(abs(f1 - 1), abs(f2)) >= Fraction(2, 3)
    # Biases let go of it.
    line = interpolated(lambda x: 2 - x, 1, 2, 1)
    assert [network(line, (Fraction(k),), True)[0] for k in (1, 2)] == [1, 0]


@pytest.mark.control("subsec:relu")
def test_a_relu_after_the_last_layer_keeps_negative_targets_out_of_reach() -> None:
    rng = Random(3)
    for _ in range(100):
        layers = drawn([2, 3, 1], rng, biases=True)
        x = (Fraction(rng.randint(-9, 9)), Fraction(rng.randint(-9, 9)))
        (fx,) = network(layers, x, linear_output=False)
        assert abs(fx - Fraction(-1)) >= 1


@pytest.mark.control("subsec:relu")
def test_one_bias_breaks_homogeneity() -> None:
    layers = [Layer(((Fraction(1),),), (Fraction(1),)), Layer(((Fraction(1),),), (Fraction(0),))]
    assert [network(layers, (Fraction(k),), True)[0] for k in (1, 2)] == [2, 3]
