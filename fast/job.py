"""The main job: train, measure, checkpoint, report; resume, and sample."""

import math
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from fast.bridge import Floats
from fast.config import TrainConfig
from fast.estimates import forward_paths
from fast.evaluation import Report
from fast.given import arithmetic
from fast.interrupts import deferred_interrupts
from fast.laws import sample_terminals
from fast.meter import Meter, Probe
from fast.objectives import TrainState
from fast.plotting import plot_runs
from fast.policies import count_parameters
from fast.progress import Progress
from fast.run_setup import Setup, set_up
from fast.runs import (
    append_metrics,
    check_same_run,
    create_run,
    load_checkpoint,
    load_config,
    read_json,
    read_metrics,
    rewind_metrics,
    save_checkpoint,
    save_law,
    write_json,
)
from reference.errors import InputError

# Steps per compiled call: the grain of progress, evaluations and checkpoints.
CHUNK = 100


class DivergedError(InputError):
    """The loss stopped being a number."""


def load_run(folder: Path) -> tuple[Setup, TrainState, float]:
    """A run's objects, its last saved state, and its training time until then in seconds.

    To be called, and its results used, inside `arithmetic`.

    Raises:
        InputError: if the folder is not a run with a checkpoint.
    """
    setup = set_up(load_config(folder))
    return setup, *load_checkpoint(folder, setup.initial)


def train(config: TrainConfig, probe: Probe | None = None) -> tuple[Path, Report]:
    """Runs a training from its start; returns the run folder and the final figures.

    Args:
        config: what to train.
        probe: what to record besides, whenever the distance to the target is measured.

    Raises:
        InputError: if the folder exists, or the machine has fewer devices than are asked for.
    """
    check_devices(config)
    with arithmetic(config):
        setup = set_up(config)
        folder = create_run(config, count_parameters(setup.policies(setup.initial)[0]))
        save_checkpoint(folder, setup.initial, 0.0)
        return folder, _continue(folder, setup, setup.initial, 0.0, probe)


def resume(folder: Path, probe: Probe | None = None) -> tuple[Path, Report]:
    """Continues a run from its last checkpoint, as if it had never stopped.

    Args:
        folder: the run folder.
        probe: as it was when the run began.

    Raises:
        InputError: if the folder is not a run, or the run is finished, or the machine has fewer
            devices than it is to use.
    """
    config = load_config(folder)
    if (folder / "report.json").is_file():
        raise InputError(
            f"the run {str(folder)!r} is finished ({config.steps:,} steps): look at it with "
            f"`pdai audit {folder}`, or train another with --steps and --out"
        )
    check_devices(config)
    with arithmetic(config):
        setup, state, seconds = load_run(folder)
        rewind_metrics(folder, int(state.step[0]))
        return folder, _continue(folder, setup, state, seconds, probe)


def complete(config: TrainConfig, probe: Probe | None = None) -> Report:
    """Brings the run of a configuration to its end, wherever it stands, and reads its report.

    To do it again is to do nothing: a task of this kind can be given to another worker at any time.

    Args:
        config: what to train.
        probe: what to record besides.

    Raises:
        InputError: if its folder holds another run, or training diverges.
    """
    folder = config.folder()
    if not folder.exists():
        return train(config, probe)[1]
    check_same_run(folder, config)
    if (folder / "report.json").is_file():
        return Report.from_json(read_json(folder / "report.json"))
    if not (folder / "checkpoint.eqx").is_file():
        with arithmetic(config):
            save_checkpoint(folder, set_up(load_config(folder)).initial, 0.0)
    return resume(folder, probe)[1]


class Sample(NamedTuple):
    """A sampled terminal state.

    Attributes:
        state: its label.
        log_reward: `log R(x)`, in nats.
    """

    state: Any
    log_reward: float


def draw_samples(folder: Path, count: int, seed: int) -> list[Sample]:
    """Samples terminal states from the last checkpoint of a run, of its first seed.

    Raises:
        InputError: if the folder is not a run with a checkpoint, or `count` is not positive.
    """
    if count < 1:
        raise InputError(f"count is {count}, but must be at least 1")
    with arithmetic(load_config(folder)):
        return _draw_samples(folder, count, seed)


def _draw_samples(folder: Path, count: int, seed: int) -> list[Sample]:
    setup, state, _ = load_run(folder)
    policy = setup.policies(state)[0]
    if setup.enumeration is None:
        paths = forward_paths(policy, setup.environment, count, seed)
        states = [jax.tree.map(lambda leaf, i=i: leaf[i], paths.final) for i in range(count)]
        labels = map(setup.environment.decode, states)
        return [Sample(*pair) for pair in zip(labels, paths.log_reward.tolist(), strict=True)]
    dag = setup.enumeration.dag
    log_reward = dict(zip(dag.terminals, setup.enumeration.log_rewards.tolist(), strict=True))
    blocks = sample_terminals(policy, setup.environment, setup.enumeration, count, seed)
    return [Sample(dag.labels[x], log_reward[x]) for block in blocks for x in block.terminal]


def _continue(
    folder: Path, setup: Setup, state: TrainState, seconds: float, probe: Probe | None
) -> Report:
    config = setup.config
    meter = Meter(setup)
    evaluate_every = _whole_chunks(config.steps / config.evaluations)
    checkpoint_every = _whole_chunks(config.checkpoint_every)
    records = read_metrics(folder)
    tv = next((record["tv"] for record in reversed(records) if "tv" in record), None)

    def measure(state: TrainState, step: int) -> list[float] | None:
        tv = meter.now(state, step)
        if tv is not None:
            append_metrics(folder, {"step": step, "tv": tv})
        if probe is not None:
            append_metrics(folder, {"step": step, "probe": probe(setup, state, step)})
        return tv

    with Progress(str(folder), config.steps) as progress:
        step = int(state.step[0])
        with deferred_interrupts() as interrupted:
            if not records:
                tv = measure(state, step)
            while step < config.steps:
                started = time.perf_counter()
                size = min(CHUNK, config.steps - step)
                try:
                    state, info = setup.trainer.advance(state, size)
                    losses = np.asarray(info.loss, np.float64)
                except jax.errors.JaxRuntimeError as error:
                    raise out_of_memory(error, config, folder) from error
                seconds += time.perf_counter() - started
                check_finite(losses, config.seed, step, folder)
                step += size
                loss, log_z = losses.mean(1), np.asarray(info.log_z[:, -1], np.float64)
                append_metrics(
                    folder,
                    {
                        "step": step,
                        "loss": loss.tolist(),
                        "log_z": log_z.tolist(),
                        "seconds": seconds,
                    },
                )
                if step % evaluate_every == 0 or step == config.steps:
                    tv = measure(state, step)
                if step % checkpoint_every == 0 or step == config.steps or interrupted():
                    save_checkpoint(folder, state, seconds)
                progress.update(
                    step,
                    loss=float(loss.mean()),
                    log_z=float(log_z.mean()),
                    tv=math.nan if tv is None else float(np.mean(tv)),
                )
                if interrupted():
                    progress.say(f"stopped; continue with: pdai train --resume {folder}")
                    raise KeyboardInterrupt
        progress.say("measuring the trained sampler ...")
        report, learned, target = meter.final(state)
    save_law(folder, learned, target)
    plot_runs([folder], folder / "plot.png")
    # Last: its presence is what says that the run is finished.
    write_json(folder / "report.json", {**report.to_json(), "seconds": seconds})
    return report


def check_devices(config: TrainConfig) -> None:
    """Checks that the machine has as many devices as are asked for.

    Raises:
        InputError: if it has fewer.
    """
    there = jax.devices()
    if config.devices > len(there):
        raise InputError(
            f"devices is {config.devices}, but this machine has {len(there)} "
            f"({there[0].device_kind}): use as many or fewer; on CPUs, "
            f"XLA_FLAGS=--xla_force_host_platform_device_count={config.devices} makes one look "
            "like several"
        )


def check_finite(losses: Floats, first_seed: int, step: int, folder: Path) -> None:
    """Checks the losses of the steps after `step`, one row per seed.

    Raises:
        DivergedError: if one is no finite number; the message names its seed, step and the run.
    """
    seed, bad = np.nonzero(~np.isfinite(losses))
    if bad.size:
        first = int(bad.argmin())
        raise DivergedError(
            f"the loss of seed {first_seed + int(seed[first])} became "
            f"{losses[seed[first], bad[first]]} at step {step + 1 + int(bad[first])}; the last "
            f"good checkpoint is in {str(folder)!r}: train again with a smaller --learning-rate"
        )


def out_of_memory(
    error: jax.errors.JaxRuntimeError, config: TrainConfig, folder: Path
) -> Exception:
    """The error to raise for one of JAX: ours if the device's memory ran out, else the same."""
    if "RESOURCE_EXHAUSTED" not in str(error):
        other: Exception = error
        return other
    wanted = re.search(r"allocat\w+ ([\d.]+ ?\w*)", str(error))
    amount = f" (asked for {wanted[1]} at once)" if wanted else ""
    return InputError(
        f"a batch of {config.batch} trajectories and {config.seeds} seeds does not fit into the "
        f"device's memory{amount}: train with --batch {max(2, config.batch // 2)}, fewer --seeds, "
        f"or more --devices; the last checkpoint is in {str(folder)!r}"
    )


def _whole_chunks(steps: float) -> int:
    return max(1, math.ceil(steps / CHUNK)) * CHUNK
