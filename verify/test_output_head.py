"""eq:sigmasa, output_head: the link function and the head of the SRWM.

Printed: sigma(x) = (ELU(x) + 1) / (1' ELU(x) + d), and p_F = softmax(W_2 LeakyReLU(W_1 y) * m) with
W_2 of shape d_MLP x d_out and m in {1, -inf}. The link maps onto the open simplex, so it is the
zeta of eq:ASRWM; as its sigma it would be 1 for every rate. The head needs W_2 transposed and
the mask added. Proof: proofs_notes/eq_sigmasa.md, proofs_notes/output_head.md.
"""

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from reference import BALL
from reference.fields.balls import enclose, precision

Floats = npt.NDArray[np.float64]
SLOPE = 0.01


def elu(x: Any) -> Any:
    """ELU, enclosed by a ball."""
    value = BALL.convert(x)
    return value if x >= 0 else value.exp() - 1


def link(x: list[Any], *, shift: int = 1, size: int | None = None) -> list[Any]:
    """eq:sigmasa; the controls leave out a term."""
    elus = [elu(value) for value in x]
    total = sum(elus[1:], start=elus[0]) + (len(x) if size is None else size)
    return [(value + shift) / total for value in elus]


def encloses(value: Any, number: Fraction | int) -> bool:
    lower, upper = enclose(value)
    return lower <= number <= upper


@pytest.mark.claim("eq:sigmasa")
def test_the_link_by_hand() -> None:
    # ELU of (1, 0, -log 2) is (1, 0, -1/2); with 1 added, (2, 1, 1/2) over 7/2.
    with precision(64):
        values = link([1, 0, -BALL.convert(2).log()])
        for value, by_hand in zip(values, (4, 2, 1), strict=True):
            assert encloses(value, Fraction(by_hand, 7))


@pytest.mark.claim("eq:sigmasa")
def test_every_value_is_in_the_open_simplex(scope: Any) -> None:
    rng = random.Random(0)
    with precision(128):
        for _ in range(200):
            d = rng.randint(2, 6)
            x = [Fraction(rng.randint(-400, 400), 10) for _ in range(d)]
            values = link(x)
            bounds = [enclose(value) for value in values]
            assert all(lower > 0 and upper < 1 for lower, upper in bounds)
            assert encloses(sum(values[1:], start=values[0]), 1)
    scope("200 random points, enclosed")


@pytest.mark.claim("eq:sigmasa")
def test_every_point_of_the_open_simplex_is_a_value(scope: Any) -> None:
    # For weights y the preimage is y - 1, or log y where that is negative: ELU + 1 is y.
    rng = random.Random(1)
    with precision(128):
        for _ in range(100):
            y = [Fraction(rng.randint(1, 30), 10) for _ in range(rng.randint(2, 6))]
            x = [BALL.convert(w - 1) if w >= 1 else BALL.convert(w).log() for w in y]
            for value, w in zip(link(x), y, strict=True):
                assert encloses(value, w / sum(y))
    scope("100 preimages")


@pytest.mark.control("eq:sigmasa")
def test_as_the_rate_of_eq_asrwm_the_link_is_one() -> None:
    # One number alone: (ELU + 1) / (ELU + 1). The sigmoid is 1/2 at 0.
    with precision(64):
        for beta in (Fraction(-3), Fraction(0), Fraction(5, 2)):
            (rate,) = link([beta])
            assert encloses(rate, 1)
    assert 1 / (1 + math.exp(0)) == 0.5


@pytest.mark.control("eq:sigmasa")
def test_without_the_one_values_are_negative_and_without_d_they_do_not_sum_to_one() -> None:
    with precision(64):
        shiftless = link([Fraction(-1), Fraction(3)], shift=0)
        assert enclose(shiftless[0])[1] < 0
        sizeless = link([Fraction(1), Fraction(2)], size=0)
        assert encloses(sizeless[0] + sizeless[1], Fraction(5, 3))


def head(first: Floats, second: Floats, y: Floats) -> Floats:
    """`W_2 LeakyReLU(W_1 y)`."""
    hidden = first @ y
    logits: Floats = second @ np.where(hidden >= 0, hidden, SLOPE * hidden)
    return logits


def softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max())
    found: Floats = weights / weights.sum()
    return found


@pytest.mark.claim("output_head")
def test_the_head_by_hand() -> None:
    first, second = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 100.0]])
    # Hidden (log 3, -log 2), after the leak (log 3, -log 2 / 100): logits (log 3, -log 2).
    p = softmax(head(first, second, np.array([math.log(3), -math.log(2)])))
    assert p == pytest.approx([6 / 7, 1 / 7], rel=1e-15)


@pytest.mark.claim("output_head")
def test_with_an_added_mask_every_head_is_a_law_on_the_permitted_transitions(scope: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        d, width, actions = rng.integers(2, 6, size=3)
        first, second = rng.normal(size=(width, d)), rng.normal(size=(actions, width))
        permitted = rng.random(actions) < 0.5
        permitted[rng.integers(actions)] = True
        p = softmax(head(first, second, rng.normal(size=d)) + np.where(permitted, 0, -np.inf))
        assert ((p > 0) == permitted).all()
        # One rounding per term of a sum of at most 5 quotients.
        assert abs(p.sum() - 1) <= 8 * 2.0**-53
    scope("100 random heads with random masks")


@pytest.mark.claim("output_head")
def test_logits_scale_with_the_latent_as_there_is_no_bias(scope: Any) -> None:
    # Exact in floats for powers of two: a zero output of the latent is the uniform policy.
    rng = np.random.default_rng(1)
    for _ in range(50):
        first, second, y = rng.normal(size=(4, 3)), rng.normal(size=(5, 4)), rng.normal(size=3)
        assert (head(first, second, 4 * y) == 4 * head(first, second, y)).all()
    assert (softmax(head(first, second, np.zeros(3))) == 1 / 5).all()
    scope("50 random heads")


@pytest.mark.control("output_head")
def test_the_printed_shape_of_the_second_layer_is_no_product() -> None:
    width, actions = 4, 3
    with pytest.raises(ValueError, match="mismatch"):
        head(np.ones((width, 2)), np.ones((width, actions)), np.ones(2))
    # With d_out = d_MLP both fit, and the printed one is the transpose.
    rng = np.random.default_rng(2)
    first, second, y = rng.normal(size=(4, 2)), rng.normal(size=(4, 4)), rng.normal(size=2)
    assert (head(first, second, y) != head(first, second.T, y)).any()


@pytest.mark.control("output_head")
def test_a_mask_that_multiplies_rewards_what_it_should_block() -> None:
    logits, mask = np.array([2.0, -1.0, 0.0]), np.array([1.0, -np.inf, -np.inf])
    with np.errstate(invalid="ignore"):
        masked = logits * mask
    assert masked[0] == 2
    assert masked[1] == np.inf
    assert np.isnan(masked[2])


@pytest.mark.control("output_head")
def test_with_a_bias_logits_do_not_scale() -> None:
    first, second, y = np.eye(2), np.eye(2), np.array([1.0, 2.0])
    assert (head(first, second, 2 * y) + 1 != 2 * (head(first, second, y) + 1)).any()
