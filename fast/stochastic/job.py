"""The job of `pdai stochastic`: train, estimate, checkpoint, report; and resume."""

import statistics
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
from rich.table import Table

from fast.bridge import Enumeration, enumerate_environment
from fast.checkpoints import last_state
from fast.environments import AbstractEnvironment, make_environment
from fast.files import alone_in
from fast.loop import CHUNK, advance_to_end
from fast.memory import compiled_bytes, out_of_memory
from fast.records import read_json, write_json
from fast.runs import make_folder
from fast.stochastic.config import StochasticConfig, from_json, to_json
from fast.stochastic.densities import Normal
from fast.stochastic.evaluation import (
    CURVE_SAMPLES,
    SAMPLES,
    StochasticReport,
    floor_of,
    sampled_distance,
    sampled_marginal,
    uniform_distance,
)
from fast.stochastic.policy import StochasticPolicy
from fast.stochastic.training import StochasticState, StochasticTrainer, make_stochastic_trainer
from reference.errors import InputError


class StochasticSetup(NamedTuple):
    """A run's objects, rebuilt from its configuration."""

    config: StochasticConfig
    environment: AbstractEnvironment[Any]
    enumeration: Enumeration
    target: Normal
    trainer: StochasticTrainer

    def policies(self, state: StochasticState) -> list[StochasticPolicy]:
        """The policy of each seed."""
        return [
            jax.tree.map(lambda leaf, i=i: leaf[i], state.sampler.policy)
            for i in range(self.config.seeds)
        ]

    def distances(self, state: StochasticState, seed: int) -> list[float]:
        """The sampled total variation of each seed, for a training curve."""
        laws = [
            sampled_marginal(
                policy, self.environment, self.enumeration, self.target, CURVE_SAMPLES, seed
            )
            for policy in self.policies(state)
        ]
        return [sampled_distance(law, self.enumeration) for law in laws]


def set_up_stochastic(config: StochasticConfig) -> StochasticSetup:
    """Enumerates the problem, and checks its environment against it."""
    problem = config.problem()
    environment = make_environment(problem)
    return StochasticSetup(
        config,
        environment,
        enumerate_environment(problem, environment),
        Normal.of(config.mu, config.covariance, config.latent_size),
        make_stochastic_trainer(config, environment),
    )


def train_stochastic(config: StochasticConfig) -> tuple[Path, StochasticReport]:
    """Runs a training from its start; returns the run folder and the final figures."""
    setup = set_up_stochastic(config)
    state = setup.trainer.init()
    seeds = range(config.seed, config.seed + config.seeds)
    folder = make_folder(
        config.folder(), to_json(config), seeds, _parameters(setup, state), "stochastic"
    )
    with alone_in(folder):
        return folder, _continue(folder, setup, state)


def resume_stochastic(folder: Path) -> tuple[Path, StochasticReport]:
    """Continues a run from its last checkpoint, as if it had never stopped.

    Raises:
        InputError: if the folder is not such a run, or the run is finished, or another process
            trains it.
    """
    config = _load_config(folder)
    with alone_in(folder):
        if (folder / "report.json").is_file():
            raise InputError(
                f"the run {str(folder)!r} is finished ({config.steps:,} steps): its figures are in "
                "report.json; train another with --steps and --out"
            )
        setup = set_up_stochastic(config)
        return folder, _continue(folder, setup, setup.trainer.init())


def complete_stochastic(config: StochasticConfig) -> tuple[Path, StochasticReport]:
    """Brings the run of a configuration to its end, wherever it stands.

    Raises:
        InputError: if its folder holds another run, or another process trains it, or training
            diverges.
    """
    folder = config.folder()
    if not folder.exists():
        return train_stochastic(config)
    found = _load_config(folder)
    if to_json(found) != to_json(config):
        raise InputError(
            f"{str(folder)!r} holds another run than is asked for: move it away, or choose another "
            "folder with --out"
        )
    if (folder / "report.json").is_file():
        return folder, StochasticReport.from_json(read_json(folder / "report.json"))
    return resume_stochastic(folder)


def _load_config(folder: Path) -> StochasticConfig:
    path = folder / "config.json"
    return from_json(read_json(path, made_by="`pdai stochastic`"), str(path))


def stochastic_table(report: StochasticReport) -> Table:
    """The final figures of a run."""
    runs = len(report.tv)
    name = "learned" if runs == 1 else f"learned, mean ± sd of {runs}"
    table = Table(title=f"marginal over x, from {report.samples:,} trajectories")
    for column in ("", name, "uniform walk", "exact sampling"):
        table.add_column(column, justify="right" if column else "left")
    mean, deviation = report.floor
    floor = f"{mean:.4f} ± {deviation:.4f}"
    table.add_row("TV to the target", _spread(report.tv), f"{report.uniform:.4f}", floor)
    true = f"{report.true_log_z:.4f}"
    table.add_row("log Z learned, nats", _spread(report.log_z), "-", true)
    bound = tuple(estimate.mean for estimate in report.bound)
    table.add_row("log Z, mean of log R p_B/p_F", _spread(bound), "-", true)
    table.caption = f"{report.parameters:,} parameters"
    return table


def _continue(folder: Path, setup: StochasticSetup, initial: StochasticState) -> StochasticReport:
    def measure(state: StochasticState, step: int) -> dict[str, Any]:
        return {"tv": setup.distances(state, step)}

    state, seconds = last_state(folder, initial)
    state, seconds = advance_to_end(
        folder,
        setup.config,
        setup.trainer.advance,
        state,
        seconds,
        measure,
        command="stochastic",
        explain=partial(_out_of_memory, setup),
    )
    report = final_report(setup, state)
    # Last: its presence is what says that the run is finished.
    write_json(folder / "report.json", {**report.to_json(), "seconds": seconds})
    return report


def _out_of_memory(setup: StochasticSetup, error: jax.errors.JaxRuntimeError) -> str | None:
    def needed(batch: int) -> int:
        smaller = make_stochastic_trainer(replace(setup.config, batch=batch), setup.environment)
        return compiled_bytes(lambda state: smaller.advance(state, CHUNK), smaller.init())

    return out_of_memory(error, setup.config.batch, 1, needed)


def final_report(setup: StochasticSetup, state: StochasticState) -> StochasticReport:
    """Measures the samplers of all seeds."""
    laws = [
        sampled_marginal(
            policy,
            setup.environment,
            setup.enumeration,
            setup.target,
            SAMPLES,
            setup.config.seed + 1 + i,
        )
        for i, policy in enumerate(setup.policies(state))
    ]
    return StochasticReport(
        tv=tuple(sampled_distance(law, setup.enumeration) for law in laws),
        floor=floor_of(setup.enumeration, SAMPLES),
        samples=SAMPLES,
        uniform=uniform_distance(setup.enumeration),
        log_z=tuple(float(x) for x in state.sampler.log_z),
        bound=tuple(law.log_z for law in laws),
        true_log_z=setup.enumeration.log_z,
        parameters=_parameters(setup, state),
    )


def _parameters(setup: StochasticSetup, state: StochasticState) -> int:
    leaves = jax.tree.leaves(eqx.filter(state.sampler.policy, eqx.is_array))
    return int(sum(leaf.size for leaf in leaves)) // setup.config.seeds


def _spread(values: tuple[float, ...]) -> str:
    if len(values) == 1:
        return f"{values[0]:.4f}"
    return f"{statistics.mean(values):.4f} ± {statistics.stdev(values):.4f}"
