"""Linear policies on Lines, trained (fig:linestraining)."""

from typing import Any

from fast.training.compose import configure
from pdai.experiments.base import Cell, Experiment, cells

NATURAL = configure(
    "lines", length=16, step=1, encoding="natural", steps=3_000, learning_rate=1e-2, epsilon=0.0
)
MODELS: dict[str, dict[str, Any]] = {
    "linear Markovian": {"dynamics": "linear-markov"},
    "linear path-dependent": {"dynamics": "linear"},
}


def _cells(draw: int) -> tuple[Cell, ...]:
    """Both embeddings, on one draw of the target."""
    config = NATURAL.changed(target_seed=draw)
    name = f", target {draw + 1}" if draw else ""
    return (
        *cells(f"psi(p_i) = i{name}", config, MODELS),
        *cells(f"psi(p_i) = (i, 1){name}", config.changed(encoding="affine"), MODELS),
    )


EXPERIMENT = Experiment(
    label="fig:linestraining",
    title="linear policies on Lines with a mixture of Laplaces",
    claim="the path-dependent model fits nearly perfectly, the Markovian one misses the modes.",
    setting=(
        "N = 16, M = 1; centres and weights of the target are drawn three times. The policies are "
        "as small as they are: 1 and 3 parameters, with the constant 2 and 6. Learning rate 0.01."
    ),
    metric="tv",
    cells=tuple(cell for draw in range(3) for cell in _cells(draw)),
    finding=(
        "Better, but not nearly perfect, on three targets. With psi(p_i) = i every linear "
        "policy stops at p_0 with probability 1/2, as psi(p_0) = 0: the path-dependent policy "
        "ends at 0.53 to 0.61, finding the larger mode, and the Markovian one is hardly better "
        "than no training. With a constant beside the integer the Markovian policy is one broad "
        "hump over the modes; the path-dependent one is ahead by 0.05 to 0.07, on the third "
        "target by 0.01, and in one seed of five on the second by 0.29."
    ),
    draw="laws",
    # "Nearly perfect".
    reaches=0.05,
    compared=("linear Markovian", "linear path-dependent"),
)
