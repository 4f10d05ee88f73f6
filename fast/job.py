"""The main job: train, measure, checkpoint, report; resume, and sample."""

import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fast.bridge import Enumeration, enumerate_environment
from fast.config import TrainConfig
from fast.environments import AbstractEnvironment, make_environment
from fast.evaluation import Report, law_of, make_report, target_law
from fast.interrupts import deferred_interrupts
from fast.laws import sample_terminals
from fast.plotting import plot_runs
from fast.policies import count_parameters
from fast.progress import Progress
from fast.runs import (
    append_metrics,
    create_run,
    load_checkpoint,
    load_config,
    read_metrics,
    rewind_metrics,
    save_checkpoint,
    save_law,
    write_json,
)
from fast.training import Trainer, TrainState, make_trainer
from reference.errors import InputError
from reference.metrics import total_variation

# Steps per compiled call: the grain of progress, evaluations and checkpoints.
CHUNK = 100


class Setup(NamedTuple):
    """A run's objects, rebuilt from its configuration."""

    config: TrainConfig
    environment: AbstractEnvironment[Any]
    enumeration: Enumeration
    trainer: Trainer
    initial: TrainState


class DivergedError(InputError):
    """The loss stopped being a number."""


def set_up(config: TrainConfig) -> Setup:
    """Enumerates the problem, checks the environment against it, and initialises training."""
    problem = config.problem()
    environment = make_environment(problem, config.encoding)
    enumeration = enumerate_environment(problem, environment)
    trainer = make_trainer(config, environment)
    return Setup(config, environment, enumeration, trainer, trainer.init())


def load_run(folder: Path) -> tuple[Setup, TrainState, float]:
    """A run's objects, its last saved state, and its training time until then in seconds.

    Raises:
        InputError: if the folder is not a run with a checkpoint.
    """
    setup = set_up(load_config(folder))
    return setup, *load_checkpoint(folder, setup.initial)


def train(config: TrainConfig) -> tuple[Path, Report]:
    """Runs a training from its start; returns the run folder and the final figures."""
    setup = set_up(config)
    folder = create_run(config, count_parameters(setup.initial.sampler.policy))
    save_checkpoint(folder, setup.initial, 0.0)
    return folder, _continue(folder, setup, setup.initial, 0.0)


def resume(folder: Path) -> tuple[Path, Report]:
    """Continues a run from its last checkpoint, as if it had never stopped.

    Raises:
        InputError: if the folder is not a run, or the run is finished.
    """
    config = load_config(folder)
    if (folder / "report.json").is_file():
        raise InputError(
            f"the run {str(folder)!r} is finished ({config.steps:,} steps): look at it with "
            f"`pdai audit {folder}`, or train another with --steps and --out"
        )
    setup, state, seconds = load_run(folder)
    rewind_metrics(folder, int(state.step))
    return folder, _continue(folder, setup, state, seconds)


class Sample(NamedTuple):
    """A sampled terminal state.

    Attributes:
        state: its label.
        log_reward: `log R(x)`, in nats.
    """

    state: Any
    log_reward: float


def draw_samples(folder: Path, count: int, seed: int) -> list[Sample]:
    """Samples terminal states from the last checkpoint of a run.

    Raises:
        InputError: if the folder is not a run with a checkpoint, or `count` is not positive.
    """
    if count < 1:
        raise InputError(f"count is {count}, but must be at least 1")
    setup, state, _ = load_run(folder)
    dag = setup.enumeration.dag
    log_reward = dict(zip(dag.terminals, setup.enumeration.log_rewards.tolist(), strict=True))
    blocks = sample_terminals(
        state.sampler.policy, setup.environment, setup.enumeration, count, seed
    )
    return [Sample(dag.labels[x], log_reward[x]) for block in blocks for x in block.terminal]


def _continue(folder: Path, setup: Setup, state: TrainState, seconds: float) -> Report:
    config, environment, enumeration, trainer, _ = setup
    target = target_law(enumeration)
    evaluate_every = _whole_chunks(config.steps / config.evaluations)
    checkpoint_every = _whole_chunks(config.checkpoint_every)
    measured = [record["tv"] for record in read_metrics(folder) if "tv" in record]
    tv = measured[-1] if measured else math.nan

    def measure(state: TrainState, step: int) -> float:
        law = law_of(state.sampler.policy, environment, enumeration, final=False, seed=step)
        tv: float = total_variation(law.probabilities.tolist(), target.tolist())
        append_metrics(folder, {"step": step, "tv": tv, "method": law.method})
        return tv

    with Progress(str(folder), config.steps) as progress:
        step = int(state.step)
        with deferred_interrupts() as interrupted:
            if not measured:
                tv = measure(state, step)
            while step < config.steps:
                started = time.perf_counter()
                size = min(CHUNK, config.steps - step)
                state, info = trainer.advance(state, size)
                losses = np.asarray(info.loss)
                seconds += time.perf_counter() - started
                if not np.isfinite(losses).all():
                    bad = step + 1 + int(np.flatnonzero(~np.isfinite(losses))[0])
                    raise DivergedError(
                        f"the loss became {losses[bad - step - 1]} at step {bad}; the last good "
                        f"checkpoint is in {str(folder)!r}: train again with a smaller "
                        "--learning-rate"
                    )
                step += size
                loss, log_z = float(losses.mean()), float(info.log_z[-1])
                append_metrics(
                    folder, {"step": step, "loss": loss, "log_z": log_z, "seconds": seconds}
                )
                if step % evaluate_every == 0 or step == config.steps:
                    tv = measure(state, step)
                if step % checkpoint_every == 0 or step == config.steps or interrupted():
                    save_checkpoint(folder, state, seconds)
                progress.update(step, loss=loss, log_z=log_z, tv=tv)
                if interrupted():
                    progress.say(f"stopped; continue with: pdai train --resume {folder}")
                    raise KeyboardInterrupt
        progress.say("summing the trained sampler's law in float64 ...")
        law = law_of(state.sampler.policy, environment, enumeration, final=True, seed=config.seed)
        report = make_report(config, state.sampler, environment, enumeration, law)
    save_law(folder, law.probabilities, target)
    plot_runs([folder], folder / "plot.png")
    # Last: its presence is what says that the run is finished.
    write_json(folder / "report.json", {**report.to_json(), "seconds": seconds})
    return report


def _whole_chunks(steps: float) -> int:
    return max(1, math.ceil(steps / CHUNK)) * CHUNK
