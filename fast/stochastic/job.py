"""The job of `pdai stochastic`: train, estimate, checkpoint, report; and resume."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax

from fast.environments import AbstractEnvironment, make_environment
from fast.measure.enumeration import Enumeration, enumerate_environment
from fast.runs.checkpoints import last_state
from fast.runs.display import PLAIN, Display
from fast.runs.files import alone_in
from fast.runs.folder import make_folder
from fast.runs.loop import CHUNK, Schedule, advance_to_end
from fast.runs.memory import compiled_bytes, out_of_memory
from fast.runs.records import read_json, read_report, write_report
from fast.runs.sizes import check_memory
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
    check_memory(
        seeds=config.seeds,
        weights=config.width * config.latent_size,
        batch=config.batch,
        steps=environment.horizon + 1,
        step=4 * (environment.actions + config.latent_size),
    )
    return StochasticSetup(
        config,
        environment,
        enumerate_environment(problem, environment),
        Normal.of(config.mu, config.covariance, config.latent_size),
        make_stochastic_trainer(config, environment),
    )


def train_stochastic(
    config: StochasticConfig, display: Display = PLAIN
) -> tuple[Path, StochasticReport]:
    """Runs a training from its start; returns the run folder and the final figures."""
    setup = set_up_stochastic(config)
    state = setup.trainer.init()
    seeds = range(config.seed, config.seed + config.seeds)
    folder = make_folder(
        config.folder(), to_json(config), seeds, _parameters(setup, state), "stochastic"
    )
    with alone_in(folder):
        return folder, _continue(folder, setup, state, display)


def resume_stochastic(folder: Path, display: Display = PLAIN) -> tuple[Path, StochasticReport]:
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
        return folder, _continue(folder, setup, setup.trainer.init(), display)


def complete_stochastic(
    config: StochasticConfig, display: Display = PLAIN
) -> tuple[Path, StochasticReport]:
    """Brings the run of a configuration to its end, wherever it stands.

    Raises:
        InputError: if its folder holds another run, or another process trains it, or training
            diverges.
    """
    folder = config.folder()
    if not folder.exists():
        return train_stochastic(config, display)
    found = _load_config(folder)
    if to_json(found) != to_json(config):
        raise InputError(
            f"{str(folder)!r} holds another run than is asked for: move it away, or choose another "
            "folder with --out"
        )
    if (folder / "report.json").is_file():
        return folder, StochasticReport.from_json(read_report(folder))
    return resume_stochastic(folder, display)


def _load_config(folder: Path) -> StochasticConfig:
    path = folder / "config.json"
    return from_json(read_json(path, made_by="`pdai stochastic`"), str(path))


def _continue(
    folder: Path, setup: StochasticSetup, initial: StochasticState, display: Display
) -> StochasticReport:
    def measure(state: StochasticState, step: int) -> dict[str, Any]:
        return {"tv": setup.distances(state, step)}

    state, seconds = last_state(folder, initial)
    state, seconds = advance_to_end(
        folder,
        Schedule(
            setup.config.steps,
            setup.config.seed,
            setup.config.evaluations,
            setup.config.checkpoint_every,
        ),
        setup.trainer.advance,
        state,
        seconds,
        measure,
        command="stochastic",
        explain=partial(_out_of_memory, setup),
        display=display,
    )
    report = final_report(setup, state)
    # Last: its presence is what says that the run is finished.
    write_report(folder, {**report.to_json(), "seconds": seconds})
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
