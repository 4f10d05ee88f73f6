"""The parts of the SRWM, and other recurrences (fig:ablationsa, fig:gatedsa, sec:details)."""

from typing import Any

from pdai.experiments.base import Cell, Experiment, cells
from pdai.experiments.grids import ONE_HOT
from pdai.experiments.models import PRINTED
from pdai.experiments.walks import RINGS

PARTS: dict[str, dict[str, Any]] = {
    "SRWM": PRINTED,
    "without rotation": {**PRINTED, "rotation": "none"},
    "identity link": {**PRINTED, "link": "identity"},
}
GATED: dict[str, dict[str, Any]] = {
    "SRWM": PRINTED,
    "SRWM without rotation": {**PRINTED, "rotation": "none"},
    "GRU": {**PRINTED, "dynamics": "gru", "hidden_layers": 1},
    "LSTM": {**PRINTED, "dynamics": "lstm", "hidden_layers": 1},
}
SIZES: dict[str, dict[str, Any]] = {f"d = {d}": {**PRINTED, "latent_size": d} for d in (32, 8)}


def _cells(models: dict[str, dict[str, Any]]) -> tuple[Cell, ...]:
    """More exploration than elsewhere: with less, every form misses modes of the grid."""
    grid = ONE_HOT.changed(epsilon=0.5)
    stable = {name: options for name, options in models.items() if "link" not in options}
    return (
        *cells("sparse grid", grid.changed(landscape="sparse"), models),
        *cells("walk, rings", RINGS, stable),
    )


SETTING = (
    "All have one hidden layer and equally many parameters. On the grid half of the actions are "
    "random at first."
)

ABLATIONS = Experiment(
    label="fig:ablationsa",
    title="TV without the rotation, and without the link function",
    claim="without the rotation training is hindered; without the link it is a little worse.",
    setting=(
        f"{SETTING} On the walk there is no sampler without a link: its latent overflows within 32 "
        "steps, so that the loss is infinite from the start (eq:ASRWM.stability)."
    ),
    metric="tv",
    cells=_cells(PARTS),
    finding=(
        "Not reproduced: without the rotation the SRWM is better in every seed on the grid and in "
        "four of five on the walk, neither beyond doubt. Without the link function it is not a "
        "little worse but unusable: on the grid two seeds of five were trained, with two modes "
        "missed or more, and in the others the loss became no number within twelve steps."
    ),
    compared=("without rotation", "SRWM"),
)

GATES = Experiment(
    label="fig:gatedsa",
    title="TV with the SRWM and with gated recurrences",
    claim="the SRWM converges faster than LSTM and GRU, because of its rotation.",
    setting=SETTING,
    metric="tv",
    cells=_cells(GATED),
    finding=(
        "Not reproduced: the opposite. Of equally many parameters and one hidden layer, GRU and "
        "LSTM find all modes of the sparse grid in every seed (TV 0.014 and 0.018, exact samples "
        "have 0.009), and come to 0.14 and 0.17 on the walk, where the SRWM stays at 0.52, for a "
        "third of its time. Without its rotation the SRWM takes fewer seconds, and does no worse. "
        "On the walk this GRU, with 32 latent numbers and one wide layer, is also well ahead of "
        "GRU+ (0.27, 16 numbers, three layers) and of the Markovian network (0.33) of "
        "fig:apx:lra, which have as many parameters: GRU+ was chosen on a grid, and is not the "
        "best there is."
    ),
    compared=("GRU", "SRWM"),
    also=(("LSTM", "SRWM"),),
)

WIDTHS = Experiment(
    label="sec:details",
    title="TV with latents of d x d numbers",
    claim="a smaller d hardly changes how training converges.",
    setting=SETTING,
    metric="tv",
    cells=_cells(SIZES),
    finding=(
        "Not reproduced. On the grid the smaller latent misses three of four modes in every seed, "
        "the larger one mode in three seeds of five, two in one and three in one. On the walk the "
        "smaller one is behind in every seed, not beyond doubt, and little better than no "
        "training; the larger is not near the target either."
    ),
    compared=("d = 32", "d = 8"),
    expects="equal",
)
