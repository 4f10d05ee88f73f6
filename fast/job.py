"""The main job: train, measure, checkpoint, report; resume, and sample."""

import contextlib
import math
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from fast.bridge import Enumeration, Floats, enumerate_environment
from fast.config import TrainConfig
from fast.environments import AbstractEnvironment, TabularEnvironment, make_environment
from fast.estimates import (
    CURVE_SAMPLES,
    curve_value,
    estimated_report,
    exact_terminals,
    forward_paths,
)
from fast.evaluation import Report, enumerated_report, law_of, target_law
from fast.interrupts import deferred_interrupts
from fast.laws import sample_terminals
from fast.objectives import TrainState
from fast.plotting import plot_runs
from fast.policies import Policy, count_parameters
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
from fast.tasks import CustomConfig
from fast.training import Trainer, make_trainer
from reference.errors import InputError
from reference.metrics import total_variation
from reference.problems import ClosedForm, closed_form

# Steps per compiled call: the grain of progress, evaluations and checkpoints.
CHUNK = 100


class Setup(NamedTuple):
    """A run's objects, rebuilt from its configuration.

    Attributes:
        config: what was asked for.
        environment: the problem as array code.
        enumeration: the problem, enumerated; None if it is too large.
        closed_form: its exact answer, if it has one and is too large to enumerate.
        trainer: the training method.
        initial: the state of training before the first step.
    """

    config: TrainConfig
    environment: AbstractEnvironment[Any]
    enumeration: Enumeration | None
    closed_form: ClosedForm[Any] | None
    trainer: Trainer
    initial: TrainState

    def policies(self, state: TrainState) -> list[Policy]:
        """The policy of each seed."""
        return [
            jax.tree.map(lambda leaf, i=i: leaf[i], state.sampler.policy)
            for i in range(self.config.seeds)
        ]


class DivergedError(InputError):
    """The loss stopped being a number."""


def set_up(config: TrainConfig) -> Setup:
    """Enumerates the problem if it is small enough, checks the environment against it, and starts.

    Raises:
        InputError: if a lifted `p_B` is asked for on a problem that is not enumerated.
    """
    problem = config.problem()
    environment = (
        TabularEnvironment.from_problem(problem, getattr(problem, "features", None))
        if isinstance(config, CustomConfig)
        else make_environment(problem, config.encoding)
    )
    enumeration, form = None, None
    if config.states() <= config.max_states:
        enumeration = enumerate_environment(problem, environment, config.max_states)
    elif config.p_b == "lifted":
        raise InputError(
            f"p_b lifted on {config.states():,} states: its mass bends the target, and can be "
            "summed on an enumerated problem only; use --p-b learned, a smaller instance, or raise "
            "--max-states"
        )
    else:
        with contextlib.suppress(InputError):
            form = closed_form(problem)
    trainer = make_trainer(config, environment)
    return Setup(config, environment, enumeration, form, trainer, trainer.init())


def arithmetic(config: TrainConfig) -> contextlib.AbstractContextManager[None]:
    """The precision that a run computes in, its checkpoints included."""
    return jax.enable_x64(config.precision == "float64")  # type: ignore[no-any-return]


def load_run(folder: Path) -> tuple[Setup, TrainState, float]:
    """A run's objects, its last saved state, and its training time until then in seconds.

    To be called, and its results used, inside `arithmetic`.

    Raises:
        InputError: if the folder is not a run with a checkpoint.
    """
    setup = set_up(load_config(folder))
    return setup, *load_checkpoint(folder, setup.initial)


def train(config: TrainConfig) -> tuple[Path, Report]:
    """Runs a training from its start; returns the run folder and the final figures."""
    with arithmetic(config):
        setup = set_up(config)
        folder = create_run(config, count_parameters(setup.policies(setup.initial)[0]))
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
    with arithmetic(config):
        setup, state, seconds = load_run(folder)
        rewind_metrics(folder, int(state.step[0]))
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


class _Meter:
    """The distance to the target during training, and at the end."""

    def __init__(self, setup: Setup):
        self._setup = setup
        self._target = None if setup.enumeration is None else target_law(setup.enumeration)
        self._exact = None
        if setup.closed_form is not None:
            self._exact = exact_terminals(
                setup.environment, setup.closed_form, CURVE_SAMPLES, setup.config.seed
            )

    def now(self, state: TrainState, step: int) -> list[float] | None:
        """TV of each seed: exact, sampled, or of trajectories; None if it cannot be had."""
        setup, values = self._setup, []
        for policy in setup.policies(state):
            if setup.enumeration is None:
                value = curve_value(policy, setup.environment, setup.closed_form, self._exact, step)
                if value is None:
                    return None
            else:
                assert self._target is not None
                law = law_of(policy, setup.environment, setup.enumeration, final=False, seed=step)
                value = total_variation(law.probabilities.tolist(), self._target.tolist())
            values.append(value)
        return values

    def final(self, state: TrainState) -> tuple[Report, Floats, Floats]:
        """The report; learned and target probabilities, of all terminals or of the FCS states."""
        config, environment = self._setup.config, self._setup.environment
        policies = self._setup.policies(state)
        log_z = None
        if config.loss == "tb":
            log_z = [float(x) for x in state.sampler.log_z]
        elif config.has_flow:
            start = environment.observe(environment.initial())
            log_z = [
                float(p.log_flow(p.network.evaluate(p.network.initial(), start))) for p in policies
            ]
        if self._setup.enumeration is None:
            return estimated_report(
                policies, log_z, environment, self._setup.closed_form, config.seed
            )
        assert self._target is not None
        laws = [
            law_of(policy, environment, self._setup.enumeration, final=True, seed=config.seed + i)
            for i, policy in enumerate(policies)
        ]
        report = enumerated_report(
            policies, log_z, environment, self._setup.enumeration, laws, config.seed
        )
        return report, np.stack([law.probabilities for law in laws]), self._target


def _continue(folder: Path, setup: Setup, state: TrainState, seconds: float) -> Report:
    config = setup.config
    meter = _Meter(setup)
    evaluate_every = _whole_chunks(config.steps / config.evaluations)
    checkpoint_every = _whole_chunks(config.checkpoint_every)
    records = read_metrics(folder)
    tv = next((record["tv"] for record in reversed(records) if "tv" in record), None)

    def measure(state: TrainState, step: int) -> list[float] | None:
        tv = meter.now(state, step)
        if tv is not None:
            append_metrics(folder, {"step": step, "tv": tv})
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
                _check_finite(losses, config, step, folder)
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


def _check_finite(losses: Floats, config: TrainConfig, step: int, folder: Path) -> None:
    seed, bad = np.nonzero(~np.isfinite(losses))
    if bad.size:
        first = int(bad.argmin())
        raise DivergedError(
            f"the loss of seed {config.seed + int(seed[first])} became "
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
