"""The teacher: regression of a network on the exact rows of a problem."""

from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest

import pdai
from fast.environments import TabularEnvironment
from pdai.solving.teacher import exact_log_rows
from reference.exact_flows import ExactFlows, GraphArrays
from reference.problems import Grid, Ising, SyntheticSequences
from reference.problems.base import enumerate_rewards
from tests.command_lines import answer

PROBLEMS = [Grid(4, 2), Ising.minimal(), SyntheticSequences.random(3, 2, "prepend-append")]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: type(problem).__name__)
def test_the_rows_are_those_of_pdai_solve(problem: object) -> None:
    with jax.enable_x64(True):
        environment = TabularEnvironment.from_problem(problem)
        rows = np.exp(np.asarray(eqx.filter_jit(exact_log_rows)(environment)))
    dag = environment.dag
    right = ExactFlows.of(GraphArrays.of(dag), enumerate_rewards(problem, dag))
    for row, edges in zip(rows, dag.out_edges, strict=True):
        # log R is float32 in tables.
        assert row[: len(edges)] == pytest.approx(right.rows[list(edges)], rel=1e-5)
        assert not edges or not row[len(edges) :].any()


@pytest.mark.long
def test_teaching_is_an_option_of_training(tmp_path: Path) -> None:
    small = "--parameters 500 --steps 600 --batch 32 --evaluations 1 --dynamics markov"
    words = ["train", "--teach", "custom", "--problem", "reference.problems:Grid.minimal"]
    answer(*words, *small.split(), "--out", "run", cwd=tmp_path)
    run = pdai.load(tmp_path / "run")
    assert run.report.learned[0].tv.mean < 0.05
