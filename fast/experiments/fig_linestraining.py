"""Linear policies on Lines, trained (fig:linestraining)."""

from dataclasses import replace
from typing import Any

from fast.experiments.base import Experiment, cells
from fast.tasks import LinesConfig

NATURAL = LinesConfig(
    length=16, step=1, encoding="natural", steps=3_000, learning_rate=1e-2, epsilon=0.0
)
MODELS: dict[str, dict[str, Any]] = {
    "linear Markovian": {"dynamics": "linear-markov"},
    "linear path-dependent": {"dynamics": "linear"},
}

EXPERIMENT = Experiment(
    label="fig:linestraining",
    title="linear policies on Lines with a mixture of Laplaces",
    claim="the path-dependent model fits nearly perfectly, the Markovian one misses the modes.",
    setting="N = 16, M = 1; centres and weights of the target are drawn once.",
    metric="tv",
    cells=(
        *cells("psi(p_i) = i", NATURAL, MODELS),
        *cells("psi(p_i) = (i, 1)", replace(NATURAL, encoding="affine"), MODELS),
    ),
    finding="",
    draw="laws",
    compared=("linear Markovian", "linear path-dependent"),
)
