"""The loop of every training: advance, record, measure, checkpoint; stop at a NaN or at Ctrl-C."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import numpy as np

from fast.laws.enumeration import Floats
from fast.runs.checkpoints import Stepped, save_checkpoint, seeds_gone_bad
from fast.runs.display import PLAIN, Display, slow
from fast.runs.interrupts import deferred_interrupts
from fast.runs.records import append_metrics, read_metrics
from reference.errors import InputError

# Steps per compiled call: the grain of progress, evaluations and checkpoints.
CHUNK = 100

State = TypeVar("State", bound=Stepped)
Explain = Callable[[jax.errors.JaxRuntimeError], str | None]


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


class _Course(Generic[State]):
    """A run on its way: where it stands, and what is done in a round of steps."""

    def __init__(
        self,
        folder: Path,
        schedule: Schedule,
        advance: Callable[[State, int], tuple[State, Any]],
        state: State,
        seconds: float,
        measure: Callable[[State, int], dict[str, Any]],
        explain: Explain,
    ):
        self.folder, self.schedule = folder, schedule
        self.state, self.seconds, self.step = state, seconds, int(state.step[0])
        self._saved = self.step
        self._advance, self._measure, self._explain = advance, measure, explain
        seen = [record for record in read_metrics(folder) if "tv" in record]
        self.tv = _mean_tv(seen[-1]) if seen else None

    def begin(self) -> None:
        """Measures what a run starts with, unless it goes on."""
        if self.step == 0:
            self._record(self._look())

    @property
    def is_done(self) -> bool:
        """Whether all steps are."""
        return self.step >= self.schedule.steps

    def go_on(self) -> tuple[float, float]:
        """Does a round of steps and records it; their mean loss, and the last `log Z`."""
        losses, info = self._do(min(CHUNK, self.schedule.steps - self.step))
        loss, log_z = losses.mean(1), np.asarray(info.log_z[:, -1], np.float64)
        record = {"loss": loss.tolist(), "log_z": log_z.tolist(), "seconds": self.seconds}
        is_time = self._is_time(self.schedule.steps / self.schedule.evaluations)
        self._record({**record, **(self._look() if is_time else {})})
        return float(loss.mean()), float(log_z.mean())

    def save(self, *, at_once: bool) -> None:
        """Saves a checkpoint if it is time for one, or at once.

        Raises:
            DivergedError: if a parameter is no finite number.
        """
        if self._is_time(self.schedule.checkpoint_every) or at_once:
            check_parameters(self.state, self.schedule.seed, self.step, self._kept())
            save_checkpoint(self.folder, self.state, self.seconds)
            self._saved = self.step

    def _kept(self) -> str:
        """What is on disk, for messages: of a run of which no step was saved, nothing is kept."""
        last = f"the checkpoint of step {self._saved:,} is in {str(self.folder)!r}"
        return f"; {last}" if self._saved else ""

    def _do(self, steps: int) -> tuple[Floats, Any]:
        started = time.perf_counter()
        try:
            until = self.step + steps
            with slow(f"at steps {self.step:,} to {until:,}; the first are compiled as well"):
                self.state, info = self._advance(self.state, steps)
                losses = np.asarray(info.loss, np.float64)
        except jax.errors.JaxRuntimeError as error:
            if (explained := self._explain(error)) is None:
                raise
            raise InputError(f"{explained}{self._kept()}") from error
        self.seconds += time.perf_counter() - started
        check_finite(losses, self.schedule.seed, self.step, self._kept())
        self.step += steps
        return losses, info

    def _look(self) -> dict[str, Any]:
        """Measures."""
        found = self._measure(self.state, self.step)
        self.tv = _mean_tv({"step": self.step, **found})
        return found

    def _record(self, found: dict[str, Any]) -> None:
        """One record for a step, so that a kill leaves all that was found there, or none."""
        if found:
            append_metrics(self.folder, {"step": self.step, **found})

    def _is_time(self, every: float) -> bool:
        """Whether this many steps, in whole rounds, have passed again, or all have."""
        chunks = max(1, math.ceil(every / CHUNK))
        return self.step % (chunks * CHUNK) == 0 or self.is_done


def advance_to_end(
    folder: Path,
    schedule: Schedule,
    advance: Callable[[State, int], tuple[State, Any]],
    state: State,
    seconds: float,
    measure: Callable[[State, int], dict[str, Any]],
    *,
    explain: Explain = lambda error: None,
    display: Display = PLAIN,
) -> tuple[State, float]:
    """Brings a run from a state to its last step, in its folder.

    Args:
        folder: the run folder.
        schedule: how far, and how often to look.
        advance: does so many steps; gives the state after them, and their `TrainInfo`.
        state: where the run stands.
        seconds: training time until then.
        measure: what is to be recorded of a state at a step: under `tv` the TV to the target of
            each seed, where it can be had, and whatever else.
        explain: what to tell the user of an error of JAX; None if there is nothing to tell.
        display: how the run is shown.

    Returns:
        the last state, and the training time in seconds.

    Raises:
        DivergedError: if the loss or a parameter is no finite number.
        InputError: if `explain` has an explanation.
        KeyboardInterrupt: after Ctrl-C, when a checkpoint is saved.
    """
    with (
        display.progress(str(folder), schedule.steps) as progress,
        deferred_interrupts() as interrupted,
    ):
        course = _Course(folder, schedule, advance, state, seconds, measure, explain)
        course.begin()
        while not course.is_done:
            loss, log_z = course.go_on()
            # Asked once: whoever stops has saved before.
            stopping = interrupted()
            course.save(at_once=stopping)
            progress.update(course.step, loss=loss, log_z=log_z, tv=course.tv)
            if stopping:
                break
        # Or after it was asked in the last round, which saves in any case.
        if interrupted():
            progress.say(f"stopped; continue with: pdai train --resume {folder}")
            raise KeyboardInterrupt
        progress.say("measuring the trained sampler ...")
    return course.state, course.seconds


def check_finite(losses: Floats, first_seed: int, step: int, kept: str = "") -> None:
    """Checks the losses of the steps after `step`, one row per seed.

    Raises:
        DivergedError: if one is no finite number; the message names its seed and step, and ends
            in `kept`.
    """
    seed, bad = np.nonzero(~np.isfinite(losses))
    if bad.size:
        first = int(bad.argmin())
        raise DivergedError(
            f"the loss of seed {first_seed + int(seed[first])} became "
            f"{losses[seed[first], bad[first]]} at step {step + 1 + int(bad[first])}: train again "
            f"with a smaller --learning-rate{kept}"
        )


def check_parameters(state: Stepped, first_seed: int, step: int, kept: str = "") -> None:
    """Checks the parameters of each seed, as a finite loss may have a gradient that is not.

    Raises:
        DivergedError: if one is no finite number.
    """
    if bad := seeds_gone_bad(state.sampler):
        raise DivergedError(
            f"parameters of seed {first_seed + bad[0]} became no finite numbers by step {step:,}: "
            f"train again with a smaller --learning-rate{kept}"
        )


def _mean_tv(record: dict[str, Any]) -> tuple[int, Any] | None:
    return (record["step"], np.mean(record["tv"])) if "tv" in record else None
