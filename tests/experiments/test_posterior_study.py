"""Edge marginals as a measure, and chains in the place of trained samplers."""

from itertools import permutations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fast.training.compose import configure
from pdai.experiments.base import Cell, Experiment
from pdai.experiments.chains import (
    Chain,
    adjacency,
    distance,
    marginals_of,
    spread_of_draws,
    walked,
)
from pdai.experiments.facts import facts
from pdai.experiments.frames import Results
from pdai.experiments.report import section
from pdai.experiments.results import load, wanted
from pdai.experiments.running import reproduce
from pdai.experiments.tables import costs
from pdai.experiments.trainings import placed, shortened
from reference.posterior import StructureLearning
from reference.posterior.networks import Network

CONFIG = configure("structure", nodes=3, rows=20)


def test_the_distance_is_the_mean_over_pairs_of_nodes() -> None:
    problem = StructureLearning.minimal()
    exact = marginals_of(problem)
    assert exact[0, 1] == float(problem.edge_marginals()[0][1])
    assert distance(exact, exact) == 0
    off = exact.copy()
    off[0, 1] += 0.3
    off[2, 0] -= 0.3
    assert distance(off, exact) == pytest.approx(0.1)
    # The diagonal is no edge.
    assert distance(exact + np.diag([9.0, 9.0, 9.0]), exact) == 0


@pytest.mark.parametrize("draws", [1, 2, 5])
def test_exact_draws_are_as_far_off_as_all_samples_of_that_size(draws: int) -> None:
    # Probabilities k / 7 and certainties, where the formula has steps.
    exact = np.array([[0, 1 / 7, 0.5], [1, 0, 3 / 7], [0, 0.4, 0]])
    expected = sum(
        comb(draws, k) * p**k * (1 - p) ** (draws - k) * abs(k / draws - p) / 6
        for p in (exact[u, v] for u, v in permutations(range(3), 2))
        for k in range(draws + 1)
    )
    assert spread_of_draws(exact, draws) == pytest.approx(expected, rel=1e-12)


def test_adjacency_is_that_of_the_edges() -> None:
    graph = (0b110, 0, 0b10)
    edges = {(int(u), int(v)) for u, v in np.argwhere(adjacency(graph))}
    assert edges == set(Network(graph).edges)


@pytest.mark.parametrize("walker", ["edges", "orders"])
def test_a_chain_comes_to_the_exact_marginals_and_is_the_same_again(walker: Any) -> None:
    def of(moves: int, seed: int) -> Any:
        chain = placed(Chain(CONFIG, walker, moves), seed)
        assert isinstance(chain, Chain)
        (probe,) = walked(chain)["probes"]
        return probe

    probe = of(40_000, 3)
    assert probe["learned"] < 0.01
    if walker == "orders":
        # Control: graphs as they come from orders have another law.
        assert probe["unweighed"] > 5 * probe["learned"]
    assert of(100, 3)["learned"] == of(100, 3)["learned"] != of(100, 4)["learned"]


@pytest.mark.long
@pytest.mark.parametrize("most", [10, 1_000])
def test_the_probe_tells_marginals_time_and_where_nothing_is_enumerated_a_certificate(
    most: int, tmp_path: Path
) -> None:
    config = CONFIG.changed(
        parameters=2_000, steps=100, batch=32, evaluations=1, law_samples=4_096, max_states=most,
        out=tmp_path / "run",
    )  # fmt: skip
    made = facts(config, "edges")
    first, last = made["probes"]
    assert 0 < first["processor"] < last["processor"]
    assert set(first) == {"step", "processor"}
    # Trained for a moment: better than uniform, worse than exact draws.
    assert last["exact"] < last["learned"] < last["uniform"]
    assert ("certified" in last) == (most == 10)
    if most == 10:
        low, high = last["certified"]
        tv = made["learned"]["tv"]
        assert made["tv_kind"] == "of trajectories"
        assert low - 5 * tv["standard_error"] <= tv["mean"] <= high + 5 * tv["standard_error"]
        assert 0 < low < high < 1


def of_chains(moves: int) -> Experiment:
    walkers: dict[str, Any] = {"structure": "edges", "order": "orders"}
    return Experiment(
        label="study:chains", title="", claim="", metric="edges", finding="",
        cells=tuple(Cell("3", name, Chain(CONFIG, kind, moves)) for name, kind in walkers.items()),
        compared=("structure", "order"), also=(), seeds=(0, 1, 2),
    )  # fmt: skip


@pytest.mark.usefixtures("threads")
def test_chains_are_stored_and_shown_like_trainings(tmp_path: Path) -> None:
    experiment = of_chains(500)
    made = reproduce(experiment, tmp_path, 1, lambda line: None)
    assert len(made.runs) == 6
    assert not made.failures
    stored = wanted(experiment, load(tmp_path / "study_chains.json"))
    assert [run.value("edges") for run in stored] == [
        pytest.approx(run.value("edges"))
        for run in sorted(made.runs, key=lambda run: (run.model == "order", run.seed))
    ]
    assert "order - structure [95 %]" in section(Results(experiment, stored))
    assert {line[3] for line in costs(Results(experiment, stored))} == {"500 states"}
    # Of another length it is another run.
    assert wanted(of_chains(501), stored) == []
    shorter = shortened(Chain(CONFIG, "edges", 500), 200)
    assert isinstance(shorter, Chain)
    assert shorter.moves == 200
