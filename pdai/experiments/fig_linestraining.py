"""Linear policies on Lines, trained (fig:linestraining)."""

from typing import Any

from fast.training.compose import configure
from pdai.experiments.base import Experiment, cells

NATURAL = configure(
    "lines", length=16, step=1, encoding="natural", steps=3_000, learning_rate=1e-2, epsilon=0.0
)
MODELS: dict[str, dict[str, Any]] = {
    "linear Markovian": {"dynamics": "linear-markov"},
    "linear path-dependent": {"dynamics": "linear"},
}

EXPERIMENT = Experiment(
    label="fig:linestraining",
    title="linear policies on Lines with a mixture of Laplaces",
    claim="the path-dependent model fits nearly perfectly, the Markovian one misses the modes.",
    setting=(
        "N = 16, M = 1; centres and weights of the target are drawn once. The policies are as "
        "small as they are: 1 and 3 parameters, with the constant 2 and 6. Learning rate 0.01."
    ),
    metric="tv",
    cells=(
        *cells("psi(p_i) = i", NATURAL, MODELS),
        *cells("psi(p_i) = (i, 1)", NATURAL.changed(encoding="affine"), MODELS),
    ),
    finding=(
        "Better, but not nearly perfect. With psi(p_i) = i every linear policy stops at p_0 "
        "with probability 1/2, as psi(p_0) = 0, so that no TV below 0.498 can be reached on "
        "this target: the path-dependent policy ends at 0.56 and finds the larger mode, the "
        "Markovian one is hardly better than no training. With a constant beside the integer "
        "the Markovian policy is one broad hump over both modes, and the path-dependent one "
        "fits the larger mode and not the smaller."
    ),
    draw="laws",
    compared=("linear Markovian", "linear path-dependent"),
)
