"""An experiment of one row, and runs of it whose figures are as a test wants them."""

from typing import Any

from fast.training.compose import configure
from pdai.experiments.base import Experiment, Quoted, cells
from pdai.experiments.results import Run
from pdai.experiments.trainings import description

TINY = configure(
    "lines",
    dynamics="gru",
    length=3,
    parameters=2_000,
    steps=200,
    evaluations=2,
    batch=16,
    latent_size=4,
)
MODELS: dict[str, Any] = {"Markovian": {"dynamics": "markov"}, "SRWM": {"dynamics": "gru"}}


def tiny(seeds: tuple[int, ...] = (0,), **options: Any) -> Experiment:
    made = cells("N = 3", TINY, MODELS, (Quoted(0.5, 0.1),))
    facts: dict[str, Any] = {
        "label": "tab:tiny", "title": "TV", "claim": "", "metric": "tv", "finding": "", **options
    }  # fmt: skip
    return Experiment(cells=made, seeds=seeds, **facts)


def run(model: str, seed: int, tv: float, **changes: Any) -> Run:
    """A stored run whose TV is as given."""
    figures = {"tv": {"mean": tv, "standard_error": 0.0}, "fcs": None}
    cell = next(cell for cell in tiny().cells if cell.model == model)
    assert cell.config is not None
    facts: dict[str, Any] = {
        "row": "N = 3", "model": model, "seed": seed, "parameters": 2_000, "seconds": 1.0,
        "config": description(cell.config, seed), "learned": figures, "uniform": figures,
        "exact": None, "tv_kind": "exact", "log_z": 0.0, "curve": [[0, tv]], "probes": [],
        "law": None, **changes,
    }  # fmt: skip
    return Run(**facts)
