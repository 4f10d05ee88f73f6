"""The loop of training: advance, record, measure, checkpoint; stop at a NaN or at Ctrl-C."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from fast.laws.enumeration import Floats
from fast.runs.checkpoints import save_checkpoint, seeds_gone_bad
from fast.runs.display import PLAIN, Display, slow
from fast.runs.interrupts import deferred_interrupts
from fast.runs.records import append_metrics, read_metrics
from fast.runs.sizes import out_of_memory
from fast.training.config import TrainConfig
from fast.training.state import TrainState
from reference.errors import InputError

# Steps per compiled call: the grain of progress, evaluations and checkpoints.
CHUNK = 100


class DivergedError(InputError):
    """The loss, or a parameter, stopped being a number."""


class _Loop:
    """A run between two chunks of steps; see `advance_to_end`."""

    def __init__(
        self,
        folder: Path,
        config: TrainConfig,
        advance: Callable[[TrainState, int], tuple[TrainState, Any]],
        state: TrainState,
        seconds: float,
        measure: Callable[[TrainState, int], dict[str, Any]],
    ):
        self.folder, self.config = folder, config
        self.state, self.seconds, self.step = state, seconds, int(state.step[0])
        self.tv: tuple[int, float] | None = None
        self._advance, self._measure, self._saved = advance, measure, self.step
        for record in read_metrics(folder):
            self._note_tv(record)
        if self.step == 0:
            self._record({}, measures=True)

    @property
    def is_done(self) -> bool:
        return self.step >= self.config.optimiser.steps

    def advance_chunk(self) -> tuple[float, float]:
        """Does a chunk of steps and records it; their mean loss, and the last `log Z`."""
        steps = self.config.optimiser.steps
        losses, info = self._do(min(CHUNK, steps - self.step))
        loss, log_z = losses.mean(1), np.asarray(info.log_z[:, -1], np.float64)
        figures = {"loss": loss.tolist(), "log_z": log_z.tolist(), "seconds": self.seconds}
        self._record(figures, measures=self._is_due(steps / self.config.run.evaluations))
        return float(loss.mean()), float(log_z.mean())

    def save(self, *, at_once: bool) -> None:
        """Saves a checkpoint if one is due, or at once.

        Raises:
            DivergedError: if a parameter is not finite, as a finite loss may have a gradient that
                is not.
        """
        if not (at_once or self._is_due(self.config.run.checkpoint_every)):
            return
        if bad := seeds_gone_bad(self.state.sampler):
            raise DivergedError(
                f"parameters of seed {self.config.run.seed + bad[0]} became no finite numbers by "
                f"step {self.step:,}: train again with a smaller --learning-rate{self._kept()}"
            )
        save_checkpoint(self.folder, self.state, self.seconds)
        self._saved = self.step

    def _do(self, steps: int) -> tuple[Floats, Any]:
        started = time.perf_counter()
        try:
            until = self.step + steps
            with slow(f"at steps {self.step:,} to {until:,}; the first are compiled as well"):
                self.state, info = self._advance(self.state, steps)
                losses = np.asarray(info.loss, np.float64)
        except jax.errors.JaxRuntimeError as error:
            explained = out_of_memory(error, self.config.sampling.batch)
            if explained is None:
                raise
            raise InputError(f"{explained}{self._kept()}") from error
        self.seconds += time.perf_counter() - started
        check_finite(losses, self.config.run.seed, self.step, self._kept())
        self.step += steps
        return losses, info

    def _record(self, figures: dict[str, Any], *, measures: bool) -> None:
        """Appends one record per step, so that a kill leaves all of its figures, or none."""
        measured = self._measure(self.state, self.step) if measures else {}
        record = {"step": self.step, **figures, **measured}
        self._note_tv(record)
        if len(record) > 1:
            append_metrics(self.folder, record)

    def _note_tv(self, record: dict[str, Any]) -> None:
        if "tv" in record:
            self.tv = record["step"], float(np.mean(record["tv"]))

    def _is_due(self, every: float) -> bool:
        """True each time this many steps, in whole chunks, have passed, and at the end."""
        chunks = max(1, math.ceil(every / CHUNK))
        return self.step % (chunks * CHUNK) == 0 or self.is_done

    def _kept(self) -> str:
        """The last checkpoint, as the end of a message."""
        last = f"the checkpoint of step {self._saved:,} is in {str(self.folder)!r}"
        return f"; {last}" if self._saved else ""


def advance_to_end(
    folder: Path,
    config: TrainConfig,
    advance: Callable[[TrainState, int], tuple[TrainState, Any]],
    state: TrainState,
    seconds: float,
    measure: Callable[[TrainState, int], dict[str, Any]],
    display: Display = PLAIN,
) -> tuple[TrainState, float]:
    """Brings a run from a state to its last step, in its folder.

    Args:
        folder: the run folder.
        config: how many steps, and how often to measure and to save.
        advance: does a number of steps; gives the state after them, and their `TrainInfo`.
        state: where the run stands.
        seconds: training time until then.
        measure: the figures to record of a state at a step: under `tv` the TV to the target of
            each seed, where it can be had, and any others.
        display: how the run is shown.

    Returns:
        the last state, and the training time in seconds.

    Raises:
        DivergedError: if the loss or a parameter is no finite number.
        InputError: if the device runs out of memory.
        KeyboardInterrupt: after Ctrl-C, when a checkpoint is saved.
    """
    with (
        display.progress(str(folder), config.optimiser.steps) as progress,
        deferred_interrupts() as interrupted,
    ):
        loop = _Loop(folder, config, advance, state, seconds, measure)
        while not loop.is_done:
            loss, log_z = loop.advance_chunk()
            # Asked once: whoever stops has saved before.
            stopping = interrupted()
            loop.save(at_once=stopping)
            progress.update(loop.step, loss=loss, log_z=log_z, tv=loop.tv)
            if stopping:
                break
        # Asked again: it may have come after the last chunk, which is saved in any case.
        if interrupted():
            progress.say(f"stopped; continue with: pdai train --resume {folder}")
            raise KeyboardInterrupt
        progress.say("measuring the trained sampler ...")
    return loop.state, loop.seconds


def check_finite(losses: Floats, first_seed: int, step: int, kept: str = "") -> None:
    """Checks the losses of the steps after `step`, one row per seed.

    Args:
        losses: of each seed and step.
        first_seed: that of the first row.
        step: the number of steps before.
        kept: the end of the message.

    Raises:
        DivergedError: if one is no finite number; the message names its seed and step.
    """
    seed, bad = np.nonzero(~np.isfinite(losses))
    if bad.size:
        first = int(bad.argmin())
        raise DivergedError(
            f"the loss of seed {first_seed + int(seed[first])} became "
            f"{losses[seed[first], bad[first]]} at step {step + 1 + int(bad[first])}: train again "
            f"with a smaller --learning-rate{kept}"
        )
