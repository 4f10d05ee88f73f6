"""The choice of what is compared: on seeds and random instances that no table reports."""

from typing import Any

from fast.experiments.base import Cell, Experiment, cells
from fast.tasks import GridConfig, SetsConfig, Six6Config

PLUS: dict[str, Any] = {"skip": True, "hidden_layers": 3}
FAMILIES: dict[str, dict[str, Any]] = {
    "Markovian": {"dynamics": "markov", "skip": False},
    "SRWM": {"dynamics": "srwm", "skip": False},
    "SRWM+": {"dynamics": "srwm", **PLUS},
    "GRU": {"dynamics": "gru", "skip": False, "hidden_layers": 1},
    "GRU+": {"dynamics": "gru", **PLUS},
}
MODELS = {
    **{name: {**options, "learning_rate": 3e-3} for name, options in FAMILIES.items()},
    **{
        f"{name}, 0.001": {**FAMILIES[name], "learning_rate": 1e-3}
        for name in ("Markovian", "GRU+")
    },
}


def _cells() -> tuple[Cell, ...]:
    common: dict[str, Any] = {
        "parameters": 10_000,
        "evaluations": 2,
        "steps": 2_000,
        "law_samples": 2**16,
    }
    return (
        *cells("grid", GridConfig(epsilon=0.05, **common), MODELS),
        *cells("sparse grid", GridConfig(epsilon=0.05, landscape="sparse", **common), MODELS),
        *cells("sets 64/16", SetsConfig(utility_seed=100, **{**common, "steps": 1_000}), MODELS),
        *cells(
            "SIX6, both ends",
            Six6Config(**{**common, "parameters": 20_000}),
            MODELS,
        ),
    )


EXPERIMENT = Experiment(
    label="tuning",
    title="Total variation of path-dependent and Markovian policies on graphs that are no trees",
    claim="",
    metric="tv",
    cells=_cells(),
    finding="",
    seeds=(100,),
)
