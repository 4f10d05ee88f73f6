"""The rewards printed for sequences and sets against the tables made with them.

A sampler that has learnt nothing is uniform. Where it is always closer to the target than the
trained sampler of a table, the table was made with another reward, or with other utilities.
"""

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[np.float64]
BATCHES, SIZE, DRAWS = 100, 128, 30


def fcs_of_uniform(rewards: Array) -> float:
    """FCS of the uniform law to the target; one row of rewards per batch of distinct states."""
    target = rewards / rewards.sum(1, keepdims=True)
    return float(np.abs(target - 1 / rewards.shape[1]).sum(1).mean() / 2)


def sequences(length: int, seed: int, spread: float | None = None) -> Array:
    """`u(i) v(s_i)` of uniform sequences in six letters, `u, v` uniform on (0, 1), or lognormal."""
    rng = np.random.default_rng(seed)
    draw = rng.random if spread is None else lambda n: rng.lognormal(0, spread, n)
    u, v = draw(length), draw(6)
    return u * v[rng.integers(6, size=(BATCHES, SIZE, length))]


def sets(size: int, seed: int) -> Array:
    """`u(i)` of the items of uniform sets out of 64, `u` standard normal."""
    rng = np.random.default_rng(seed)
    order = rng.random((BATCHES, SIZE, 64)).argpartition(size, axis=-1)[..., :size]
    return rng.standard_normal(64)[order]


def sums(length: int, spread: float | None = None) -> list[float]:
    """FCS of an untrained sampler to the printed reward of sequences, by draw of the utilities."""
    return [fcs_of_uniform(sequences(length, seed, spread).sum(-1)) for seed in range(DRAWS)]


def sums_of_exponentials(size: int) -> list[float]:
    """That to the printed reward of sets, by draw of the utilities."""
    return [fcs_of_uniform(np.exp(sets(size, seed)).sum(-1)) for seed in range(DRAWS)]


# The length, and the FCS printed for the trained Markovian sampler.
@pytest.mark.parametrize(("length", "printed"), [(16, 0.165), (32, 0.243)])
def test_of_a_sum_of_uniform_utilities_an_untrained_sampler_beats_the_table(
    length: int, printed: float
) -> None:
    assert max(sums(length)) < printed


@pytest.mark.parametrize(
    ("length", "printed", "spread", "nearer"),
    [(16, 0.165, 1, 26), (32, 0.243, 1, 30), (16, 0.165, 2, 5), (32, 0.243, 2, 21)],
)
def test_of_utilities_with_heavy_tails_it_does_so_less_often(
    length: int, printed: float, spread: float, nearer: int
) -> None:
    assert sum(fcs < printed for fcs in sums(length, spread)) == nearer


@pytest.mark.parametrize(
    ("size", "printed", "mean", "spread", "nearer"),
    [(16, 0.091, 0.12, 0.05, 9), (24, 0.105, 0.09, 0.04, 24)],
)
def test_of_a_sum_of_exponentials_the_draw_decides_whether_an_untrained_sampler_is_nearer(
    size: int, printed: float, mean: float, spread: float, nearer: int
) -> None:
    measured = sums_of_exponentials(size)
    # As proofs_notes/errata.md says; the spread is of draws of the utilities.
    assert round(float(np.mean(measured)), 2) == mean
    assert round(float(np.std(measured, ddof=1)), 2) == spread
    assert sum(fcs <= printed for fcs in measured) == nearer


def test_control_of_products_an_untrained_sampler_does_not_beat_the_tables() -> None:
    for seed in range(DRAWS):
        assert fcs_of_uniform(np.exp(sequences(16, seed).sum(-1))) > 0.165
        assert fcs_of_uniform(np.exp(sets(16, seed).sum(-1))) > 0.5
