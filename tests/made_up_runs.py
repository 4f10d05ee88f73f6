"""An experiment of one row, runs of it whose figures are as a test wants them, and tiny ones."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fast.runs.job import train
from fast.training.compose import TrainConfig, configure
from fast.training.state import TrainState
from pdai.experiments.base import Experiment, Quoted, cells
from pdai.experiments.results import Run
from pdai.experiments.trainings import description
from pdai.show.progress import QUIET

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
    facts: dict[str, Any] = {
        "label": "tab:tiny", "title": "TV", "claim": "", "metric": "tv", "finding": "",
        "cells": cells("N = 3", TINY, MODELS, (Quoted(0.5, 0.1),)), "seeds": seeds, **options,
    }  # fmt: skip
    return Experiment(**facts)


def tiny_run(out: Path, **options: Any) -> TrainConfig:
    """A run of two blocks of steps."""
    small: Any = {"length": 4, "parameters": 500, "batch": 8, "steps": 200, "evaluations": 1}
    small |= {"dynamics": "markov", "checkpoint_every": 100, **options}
    return configure("lines", **small, out=out)


def two_runs(folder: Path) -> Path:
    """The folder with two finished runs, `a` and `b`, that differ in their seeds."""
    for seed, name in enumerate("ab"):
        train(tiny_run(folder / name, seed=seed), display=QUIET)
    return folder


def counted(step: Any, sampler: Any = ((0.0,),)) -> TrainState:
    """A state of training that only counts."""
    return TrainState(np.asarray(sampler), None, None, step)


class Nothing(NamedTuple):
    """The figures of its steps."""

    loss: Any = np.ones((1, 100))
    log_z: Any = np.ones((1, 100))


def run(model: str, seed: int, tv: float, **changes: Any) -> Run:
    """A stored run whose TV is as given; of a model that is none of `MODELS`, as the SRWM."""
    figures = {"tv": {"mean": tv, "standard_error": 0.0}, "fcs": None}
    config = TINY.changed(**MODELS.get(model, MODELS["SRWM"]))
    facts: dict[str, Any] = {
        "row": "N = 3", "model": model, "seed": seed, "parameters": 2_000, "seconds": 1.0,
        "config": description(config, seed), "learned": figures, "uniform": figures,
        "exact": None, "tv_kind": "float64", "log_z": 0.0, "curve": [[0, tv]], "probes": [],
        "law": None, **changes,
    }  # fmt: skip
    return Run(**facts)
