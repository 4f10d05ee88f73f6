"""Edge marginals as a measure, and chains in the place of trained samplers."""

from concurrent.futures import ThreadPoolExecutor
from itertools import permutations, product
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import chains
from fast.training.compose import configure
from pdai.experiments.facts import facts
from pdai.experiments.frames import Results
from pdai.experiments.probes import distance, marginals_of, spread_of_draws
from pdai.experiments.report import section
from pdai.experiments.results import load, stored, wanted
from pdai.experiments.tables import costs
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
    edges = {(int(u), int(v)) for u, v in np.argwhere(chains.adjacency(graph))}
    assert edges == set(Network(graph).edges)


@pytest.mark.parametrize("model", chains.WALKERS)
def test_a_chain_comes_to_the_exact_marginals_and_is_the_same_again(model: str) -> None:
    def of(states: int, seed: int) -> Any:
        (probe,) = chains.walked("3", model, CONFIG.problem(), states, seed).probes
        return probe

    probe = of(40_000, 3)
    assert probe["learned"] < 0.01
    if model == "order MCMC":
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


def test_chains_are_stored_and_shown_like_trainings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = {"5 variables": {"structure MCMC": 50, "order MCMC": 100}}
    monkeypatch.setattr(chains, "STATES", states)
    monkeypatch.setattr(chains, "LocalProcesses", lambda jobs, **_: ThreadPoolExecutor(jobs))
    path = tmp_path / "chains.json"
    chains.main(path)
    runs = wanted(chains.STUDY, load(path))
    assert [(run.model, run.seed) for run in runs] == [*product(chains.WALKERS, chains.STUDY.seeds)]
    assert "order MCMC - structure MCMC [95 %]" in section(Results(chains.STUDY, runs))
    assert {line[3] for line in costs(Results(chains.STUDY, runs))} == {"50 states", "100 states"}
    # What is stored is not run again.
    before = path.read_bytes()
    chains.main(path)
    assert path.read_bytes() == before


def test_the_stored_chains_are_those_of_the_benchmark() -> None:
    runs = [run for run in stored(chains.STUDY) if run.model in chains.WALKERS]
    assert len(runs) == 30
    for run in runs:
        assert run.config == {"moves": chains.STATES[run.row][run.model], "seed": run.seed}
        assert run.probes[0]["step"] == run.config["moves"]
