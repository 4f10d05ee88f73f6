"""The Ising model with couplings of rank one (tab:isingsa)."""

from dataclasses import replace

from fast.experiments.base import Experiment, Quoted, cells
from fast.experiments.models import MODELS
from fast.tasks import IsingConfig

ANY = IsingConfig(spins=36, parameters=15_000, steps=1_000, evaluations=2)
LARGE = replace(ANY, spins=64)
LARGE_PAPER = (Quoted(0.20, 0.02), Quoted(0.08, 0.01))

EXPERIMENT = Experiment(
    label="tab:isingsa",
    title="FCS on the Ising model",
    claim="path-dependent 0.06 and 0.08, Markovian 0.15 and 0.20, for 36 and 64 spins.",
    setting=(
        "Spins are set in any order, the policy choosing place and value, or from first to last, "
        "which is a tree. Couplings and fields are drawn once."
    ),
    metric="fcs",
    cells=(
        *cells("36 spins", ANY, MODELS, (Quoted(0.15, 0.03), Quoted(0.06, 0.01))),
        *cells("64 spins", LARGE, MODELS, LARGE_PAPER),
        *cells("64 spins, 4,000 steps", replace(LARGE, steps=4_000), MODELS, LARGE_PAPER),
        *cells("36 spins, fixed order", replace(ANY, order="fixed"), MODELS),
    ),
    finding=("TODO 0.149 0.219"),
    draw="rows",
)
