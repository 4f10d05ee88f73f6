"""output_head: the head by hand and at random, with either shape and either mask."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import softmax

Floats = npt.NDArray[np.float64]
SLOPE = 0.01


def head(first: Floats, second: Floats, y: Floats) -> Floats:
    """`W_2 LeakyReLU(W_1 y)`."""
    hidden = first @ y
    logits: Floats = second @ np.where(hidden >= 0, hidden, SLOPE * hidden)
    return logits


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
def test_with_a_bias_logits_do_not_scale() -> None:
    first, second, y = np.eye(2), np.eye(2), np.array([1.0, 2.0])
    assert (head(first, second, 2 * y) + 1 != 2 * (head(first, second, y) + 1)).any()
