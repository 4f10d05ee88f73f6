"""Does training forget the path when p_B does not know it (fig:setsa)?"""

from typing import Any

from fast.training.compose import configure
from pdai.experiments.base import Experiment, cells
from pdai.experiments.models import FIRST_GRU, FIRST_SRWM

BACKWARD: dict[str, dict[str, Any]] = {
    "p_B reads the latent": {"p_b": "lifted"},
    "uniform p_B": {"p_b": "uniform"},
    "learned p_B of the state": {"p_b": "learned"},
}


def _models(options: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: {**options, **backward} for name, backward in BACKWARD.items()}


COMMON = configure(
    "lines", length=8, step=2, parameters=6_000, steps=5_000, evaluations=10, epsilon=0.1
)

EXPERIMENT = Experiment(
    label="fig:setsa",
    title="KL(s) between the policies after two histories, mean over p_1, ..., p_N",
    claim="it vanishes with a Markovian p_B, and stays positive with one that is not.",
    setting="Lines with N = 8, M = 2, and four Laplaces; the KL is exact, over all histories.",
    metric="memory",
    cells=(
        *cells("SRWM", COMMON, _models(FIRST_SRWM), probe="memory"),
        *cells("GRU+", COMMON, _models(FIRST_GRU), probe="memory"),
    ),
    finding=(
        "Reproduced: with a p_B of the state, uniform or learned, the KL rises and then falls to "
        "0; with one that reads the latent it stays (0.004 to 0.058 with the SRWM). With GRU+ a "
        "p_B that reads the latent could depend on the path and hardly learns to: what stays is "
        "some twenty times that of a uniform p_B, and of no account. A p_B that reads the latent "
        "is not normalised over lifted states, and bends the target (N7)."
    ),
    draw="probe",
    compared=("p_B reads the latent", "uniform p_B"),
)
