"""The loop of every training: advance, record, measure, checkpoint; stop at a NaN or at Ctrl-C."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import jax
import numpy as np
from jaxtyping import Array, Float

from fast.measure.enumeration import Floats
from fast.runs.checkpoints import Stepped, save_checkpoint, seeds_gone_bad
from fast.runs.display import PLAIN, Display, slow
from fast.runs.interrupts import deferred_interrupts
from fast.runs.records import append_metrics, read_metrics
from reference.errors import InputError

# Steps per compiled call: the grain of progress, evaluations and checkpoints.
CHUNK = 100

State = TypeVar("State", bound=Stepped)


class DivergedError(InputError):
    """The loss, or a parameter, stopped being a number."""


class Schedule(NamedTuple):
    """How far a run goes, and how often it is looked at and saved.

    Attributes:
        steps: of the whole run.
        seed: its first.
        evaluations: how often the distance to the target is measured.
        checkpoint_every: steps between checkpoints, rounded up to hundreds.
    """

    steps: int
    seed: int
    evaluations: int
    checkpoint_every: int


class Info(Protocol):
    """What a step reports, per seed and step."""

    @property
    def loss(self) -> Float[Array, "seeds steps"]: ...  # noqa: D102
    @property
    def log_z(self) -> Float[Array, "seeds steps"]: ...  # noqa: D102


def advance_to_end(
    folder: Path,
    schedule: Schedule,
    advance: Callable[[State, int], tuple[State, Info]],
    state: State,
    seconds: float,
    measure: Callable[[State, int], dict[str, Any]],
    *,
    command: str,
    explain: Callable[[jax.errors.JaxRuntimeError], str | None] = lambda error: None,
    display: Display = PLAIN,
) -> tuple[State, float]:
    """Brings a run from a state to its last step, in its folder.

    Args:
        folder: the run folder.
        schedule: how far, and how often to look.
        advance: does so many steps.
        state: where the run stands.
        seconds: training time until then.
        measure: what is to be recorded of a state at a step: under `tv` the TV to the target of
            each seed, where it can be had, and whatever else.
        command: the command of `pdai` that continues such a run.
        explain: what to tell the user of an error of JAX; None if there is nothing to tell.
        display: how the run is shown.

    Returns:
        the last state, and the training time in seconds.

    Raises:
        DivergedError: if the loss or a parameter is no finite number.
        InputError: if `explain` has an explanation.
        KeyboardInterrupt: after Ctrl-C, when a checkpoint is saved.
    """
    evaluate_every = _whole_chunks(schedule.steps / schedule.evaluations)
    checkpoint_every = _whole_chunks(schedule.checkpoint_every)
    seen = [record for record in read_metrics(folder) if "tv" in record]
    tv = _mean_tv(seen[-1]) if seen else None

    def look(state: State, step: int) -> tuple[int, Any] | None:
        # One record: a kill leaves all of a measurement, or none.
        if not (found := measure(state, step)):
            return None
        append_metrics(folder, {"step": step, **found})
        return _mean_tv({"step": step, **found})

    with (
        display.progress(str(folder), schedule.steps) as progress,
        deferred_interrupts() as interrupted,
    ):
        step = int(state.step[0])
        if step == 0:
            tv = look(state, step)
        while step < schedule.steps:
            started = time.perf_counter()
            size = min(CHUNK, schedule.steps - step)
            try:
                with slow(f"at steps {step:,} to {step + size:,}; the first are compiled as well"):
                    state, info = advance(state, size)
                    losses = np.asarray(info.loss, np.float64)
            except jax.errors.JaxRuntimeError as error:
                if (explained := explain(error)) is None:
                    raise
                kept = f"the last checkpoint is in {str(folder)!r}"
                raise InputError(f"{explained}; {kept}") from error
            seconds += time.perf_counter() - started
            check_finite(losses, schedule.seed, step, folder)
            step += size
            loss, log_z = losses.mean(1), np.asarray(info.log_z[:, -1], np.float64)
            record = {"step": step, "loss": loss.tolist(), "log_z": log_z.tolist()}
            append_metrics(folder, {**record, "seconds": seconds})
            if step % evaluate_every == 0 or step == schedule.steps:
                tv = look(state, step)
            # Asked once: whoever stops has saved before.
            stopping = interrupted()
            if step % checkpoint_every == 0 or step == schedule.steps or stopping:
                check_parameters(state, schedule.seed, step, folder)
                save_checkpoint(folder, state, seconds)
            progress.update(step, loss=float(loss.mean()), log_z=float(log_z.mean()), tv=tv)
            if stopping:
                break
        # Or after it was asked in the last round, which saves in any case.
        if interrupted():
            progress.say(f"stopped; continue with: pdai {command} --resume {folder}")
            raise KeyboardInterrupt
        progress.say("measuring the trained sampler ...")
    return state, seconds


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


def check_parameters(state: Stepped, first_seed: int, step: int, folder: Path) -> None:
    """Checks the parameters of each seed, as a finite loss may have a gradient that is not.

    Raises:
        DivergedError: if one is no finite number.
    """
    if bad := seeds_gone_bad(state.sampler):
        raise DivergedError(
            f"parameters of seed {first_seed + bad[0]} became no finite numbers by step {step:,}; "
            f"the last good checkpoint is in {str(folder)!r}: train again with a smaller "
            "--learning-rate"
        )


def _mean_tv(record: dict[str, Any]) -> tuple[int, Any] | None:
    return (record["step"], np.mean(record["tv"])) if "tv" in record else None


def _whole_chunks(steps: float) -> int:
    return max(1, math.ceil(steps / CHUNK)) * CHUNK
