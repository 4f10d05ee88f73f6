"""The loop of training: advance, record, measure, checkpoint; stop at a NaN or at Ctrl-C."""

import math
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from fast.laws.enumeration import Floats
from fast.runs.checkpoints import save_checkpoint, seeds_gone_bad
from fast.runs.display import Progress, silent
from fast.runs.interrupts import deferred_interrupts
from fast.runs.records import append_metrics, read_metrics
from fast.runs.sizes import check_program, out_of_memory
from fast.training.compose import TrainConfig
from fast.training.options import RunOptions
from fast.training.state import TrainState
from reference.contract.errors import InputError
from reference.contract.loading import no_collection

# Steps per compiled call: the grain of progress, evaluations and checkpoints.
CHUNK = 100


class DivergedError(InputError):
    """The loss, or a parameter, stopped being a number."""


class Loop:
    """Trains a run from a state to its last step, in its folder.

    `advance` trains for a number of steps, and returns the state after them and their `TrainInfo`.
    Before, `seconds` were trained. `measure` gives the figures to record of a state at a step:
    under `tv` the TV to the target of each seed, if known, and any others.
    """

    def __init__(
        self,
        folder: Path,
        config: TrainConfig,
        advance: Callable[[TrainState, int], tuple[TrainState, Any]],
        state: TrainState,
        seconds: float,
        measure: Callable[[TrainState, int], dict[str, Any]],
        memory: Callable[[TrainState, int], int] | None = None,
    ):
        self._folder, self._run = folder, config.run
        self._last, self._batch = config.optimiser.steps, config.sampling.batch
        self._state, self._seconds, self._step = state, seconds, int(np.asarray(state.step)[0])
        self._tv: tuple[int, float] | None = None
        self._advance, self._measure, self._saved = advance, measure, self._step
        self._memory = memory
        self._measured = measured_steps(self._run, self._last)
        for record in read_metrics(folder):
            self._note_tv(record)

    def run(self, progress: Progress | None = None) -> tuple[TrainState, float]:
        """Trains, shown if there is a progress; returns the last state and the training's seconds.

        Raises DivergedError if the loss or a parameter is no finite number, InputError if the steps
        do not fit into memory, or the device runs out of it, and KeyboardInterrupt, after Ctrl-C,
        when a checkpoint is saved.
        """
        progress = progress or silent(str(self._folder), self._last)
        with deferred_interrupts() as interrupted:
            if self._step == 0:
                self._record({}, measures=True)
            while not self._is_done:
                loss, log_z = self._advance_chunk(progress)
                # Read once, so that a run saves a checkpoint whenever it stops.
                stopping = interrupted()
                self._save(at_once=stopping)
                progress.update(self._step, loss=loss, log_z=log_z, tv=self._tv)
                if stopping:
                    break
            # Read again: Ctrl-C may have come after the last chunk, which is saved in any case.
            if interrupted():
                again = shlex.join(["pdai", "train", "--resume", str(self._folder)])
                progress.say(f"stopped; continue with: {again}")
                raise KeyboardInterrupt
        return self._state, self._seconds

    @property
    def _is_done(self) -> bool:
        return self._step >= self._last

    def _advance_chunk(self, progress: Progress) -> tuple[float, float]:
        """Trains and records a chunk of steps; returns their mean loss, and the last `log Z`."""
        started, until = time.perf_counter(), min(self._step + CHUNK, self._last)
        try:
            if self._memory is not None:
                with no_collection():
                    size = self._memory(self._state, until - self._step)
                progress.say(check_program(size, self._batch))
                self._memory = None
            self._state, info = self._advance(self._state, until - self._step)
            losses = np.asarray(info.loss, np.float64)
        except jax.errors.JaxRuntimeError as error:
            explained = out_of_memory(error, self._batch)
            if explained is None:
                raise
            raise InputError(f"{explained}{self._kept()}") from error
        self._seconds += time.perf_counter() - started
        check_finite(losses, self._run.seed, self._step, self._kept())
        self._step = until
        loss, log_z = losses.mean(1), np.asarray(info.log_z, np.float64)[:, -1]
        figures = {"loss": loss.tolist(), "log_z": log_z.tolist(), "seconds": self._seconds}
        self._record(figures, measures=until in self._measured)
        return float(loss.mean()), float(log_z.mean())

    def _save(self, *, at_once: bool) -> None:
        """Saves a checkpoint if one is due, or at once.

        Raises DivergedError if a parameter is not finite, as a finite loss may have a gradient that
        is not.
        """
        chunks = math.ceil(self._run.checkpoint_every / CHUNK)
        is_due = self._step % (chunks * CHUNK) == 0 or self._is_done
        if not (at_once or is_due):
            return
        if bad := seeds_gone_bad(self._state.sampler):
            raise DivergedError(
                f"parameters of seed {self._run.seed + bad[0]} became no finite numbers by "
                f"step {self._step:,}: train again with a smaller --learning-rate{self._kept()}"
            )
        save_checkpoint(self._folder, self._state, self._seconds)
        self._saved = self._step

    def _record(self, figures: dict[str, Any], *, measures: bool) -> None:
        """Appends one record per step, so that a kill leaves all of its figures, or none."""
        measured = self._measure(self._state, self._step) if measures else {}
        record = {"step": self._step, **figures, **measured}
        self._note_tv(record)
        if len(record) > 1:
            append_metrics(self._folder, record)

    def _note_tv(self, record: dict[str, Any]) -> None:
        if "tv" in record:
            self._tv = record["step"], float(np.mean(record["tv"]))

    def _kept(self) -> str:
        """The last checkpoint, as the end of a message."""
        last = f"the checkpoint of step {self._saved:,} is in {str(self._folder)!r}"
        return f"; {last}" if self._saved else ""


def measured_steps(run: RunOptions, last: int) -> set[int]:
    """Steps at which a run is measured, in whole chunks, the last among them."""
    if run.spacing == "even":
        every = CHUNK * math.ceil(last / run.evaluations / CHUNK)
        return {*range(every, last, every), last}
    # Rounded, as powers are not exact.
    steps = np.geomspace(CHUNK, max(CHUNK, last), run.evaluations)[:-1].round(6)
    return {*(CHUNK * np.ceil(steps / CHUNK).astype(int)).tolist(), last}


def check_finite(losses: Floats, first_seed: int, step: int, kept: str = "") -> None:
    """Checks the losses of some steps.

    Raises DivergedError if one is no finite number; the message names its seed and step.

    Args:
        losses: the losses, of shape (seeds, steps), nats squared.
        first_seed: the seed of the first row.
        step: the number of steps before.
        kept: the end of the message.
    """
    seed, bad = np.nonzero(~np.isfinite(losses))
    if bad.size:
        first = int(bad.argmin())
        raise DivergedError(
            f"the loss of seed {first_seed + int(seed[first])} became "
            f"{losses[seed[first], bad[first]]} at step {step + 1 + int(bad[first])}: train again "
            f"with a smaller --learning-rate{kept}"
        )
