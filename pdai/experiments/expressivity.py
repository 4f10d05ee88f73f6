"""Expressivity or optimisation: can a Markovian network do what a trained GRU does?"""

from pdai.experiments.base import BEST, MARKOVIAN, RESET, Cell, Experiment, cells
from pdai.experiments.models import GRIDS
from pdai.experiments.walks import WAVES

PROJECTED = "GRU+ projected"


def _cells() -> tuple[Cell, ...]:
    gru = GRIDS[BEST]
    models = {MARKOVIAN: GRIDS[MARKOVIAN], BEST: gru, RESET: {**gru, "reset": True}}
    return (
        *cells("walk, rings", WAVES, models),
        *cells("walk, rings", WAVES, {PROJECTED: gru}, probe="projection"),
    )


EXPERIMENT = Experiment(
    label="study:expressivity",
    title="TV of a Markovian network that is fitted to a trained GRU",
    claim="",
    setting=(
        "Where memory pays. Every path-dependent policy has a Markov projection with the same "
        "terminal law (N1). GRU+ projected is the Markovian network of as many parameters, fitted "
        "by maximum likelihood to trajectories of the trained GRU, as many as that was trained on: "
        "if it is as near to the target as the GRU, what memory helped is the search."
    ),
    metric="tv",
    cells=_cells(),
    finding=(
        "Memory helped the search, not what can be represented. A Markovian network of as many "
        "parameters, fitted to the trajectories of the trained GRU, has a total variation of "
        "0.066 to 0.084, hardly more than the GRU itself (0.051 to 0.075), where the same "
        "network trained on the reward ended at 0.18 to 0.25 after as many steps. What it is "
        "that a GRU finds sooner is not known: the same GRU without its memory is between the "
        "two (0.08 to 0.17)."
    ),
    draw="rows",
    compared=(MARKOVIAN, PROJECTED),
    also=((BEST, PROJECTED), (MARKOVIAN, BEST)),
    seeds=(0, 1, 2),
)
