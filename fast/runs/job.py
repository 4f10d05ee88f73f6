"""The main job: train, measure, checkpoint, report; and resume."""

import contextlib
import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np

from fast.measure.report import Report
from fast.runs.checkpoints import last_state, saved_step
from fast.runs.display import PLAIN, Display, Progress
from fast.runs.files import alone_in, check_free
from fast.runs.folder import create_run, load_config
from fast.runs.frozen import arithmetic, check_tables, tables_digest, trainer_of
from fast.runs.identity import check_same_run
from fast.runs.loop import CHUNK, Loop, check_finite
from fast.runs.meter import Meter, Probe
from fast.runs.records import is_finished, read_report, save_law, seal_run, write_json
from fast.runs.setup import Setup, set_up
from fast.training.compose import TrainConfig, to_json
from fast.training.processes import broadcast_from_first, check_same
from fast.training.state import TrainState
from reference.contract.errors import InputError
from reference.contract.files import kind_of
from reference.contract.loading import no_collection


def unfinished(state: TrainState, steps: int) -> str:
    """The step that an unfinished run has reached, in words; "" for a finished run."""
    step = int(state.step[0])
    return f"step {step:,} of {steps:,}, unfinished" if step < steps else ""


def train(
    config: TrainConfig, probe: Probe | None = None, display: Display = PLAIN
) -> tuple[Path, Report]:
    """Runs a training from its start; returns the run folder and the final figures.

    Raises InputError if the folder exists, or the machine has fewer devices than requested.

    Args:
        config: the configuration.
        probe: gives more figures to record whenever the distance to the target is measured.
        display: the way in which the run is shown.
    """
    with _begun(config, measured=True) as (folder, setup):
        return folder, _continue(folder, setup, probe, display)


def train_alone(config: TrainConfig, display: Display = PLAIN) -> Path:
    """Runs a training, measured by nothing but its loss; `resume` makes the report at any time.

    No states are listed but for a problem of the user's own, which is checked; nothing is drawn.
    Raises InputError as `train` does, or if it is to end at a distance, which must be measured.
    """
    if config.run.tv:
        raise InputError(
            f"tv is {config.run.tv:g} and there is to be no report, but that distance must be "
            "measured: leave one of the two out"
        )
    with _begun(config, measured=False) as (folder, setup):
        with display.progress(str(folder), config.optimiser.steps) as progress:
            _trained(folder, setup, lambda state, step: {}, progress)
        return folder


@contextlib.contextmanager
def _begun(config: TrainConfig, *, measured: bool) -> Iterator[tuple[Path, Setup]]:
    """A new run folder and its objects, while the body trains them."""
    _check_devices(config.run.devices)
    check_free(config.folder(), "train")
    with arithmetic(config.run.precision):
        setup = set_up(config, measured=measured)
        folder = create_run(config, setup.initial.policy(0), tables_digest(setup.environment))
        with removed_on_failure(folder), alone_in(folder):
            yield folder, setup


@contextlib.contextmanager
def removed_on_failure(folder: Path) -> Iterator[None]:
    """Removes a new run folder if the body fails before any step is saved.

    So the same command can be given again; a run that is killed, or stopped by Ctrl-C, stays.
    """
    try:
        yield
    except Exception:
        if saved_step(folder) == 0:
            shutil.rmtree(folder)
        raise


def resume(
    folder: Path,
    probe: Probe | None = None,
    display: Display = PLAIN,
    *,
    accept_changed: bool = False,
) -> tuple[Path, Report]:
    """Continues a run from its last checkpoint, as if it had never stopped, with its probe.

    If a finished run has lost its picture alone, that is drawn again. Raises InputError if the
    folder is not a run, or the run is finished, or another process trains it, or the machine has
    fewer devices than it is to use.

    Args:
        folder: the run folder.
        probe: the probe that the run began with, if any.
        display: the way in which the run is shown.
        accept_changed: whether parts of the user's own may have changed since.
    """
    config = load_config(folder, accept_changed=accept_changed)
    with alone_in(folder):
        if is_finished(folder):
            if kind_of(folder / "plot.png"):
                named = shlex.quote(str(folder))
                raise InputError(
                    f"the run {str(folder)!r} is finished ({config.optimiser.steps:,} steps): look "
                    f"at it with `pdai certify {named}`, or train on, into a new folder, with "
                    f"`pdai train --resume {named} --steps N`, N above that"
                )
            display.plot([folder], folder / "plot.png")
            return folder, Report.from_json(read_report(folder))
        _check_devices(config.run.devices)
        with arithmetic(config.run.precision):
            setup = set_up(config)
            check_tables(folder, setup.environment)
            return folder, _continue(folder, setup, probe, display)


def follow(config: TrainConfig) -> None:
    """Trains together with process 0, which writes and measures; this process has no folder.

    Raises InputError if process 0 trains something else, or has fewer devices than requested, and
    DivergedError if the loss is no finite number, as in process 0.
    """
    _check_devices(config.run.devices)
    with arithmetic(config.run.precision):
        trainer = trainer_of(config, config.make_environment())
        initial = trainer.init()
        check_same(to_json(config))
        state = broadcast_from_first(initial)
        for step in range(int(state.step[0]), config.optimiser.steps, CHUNK):
            state, info = trainer.advance(state, min(CHUNK, config.optimiser.steps - step))
            check_finite(np.asarray(info.loss, np.float64), config.run.seed, step)


def complete(config: TrainConfig, probe: Probe | None = None, display: Display = PLAIN) -> Report:
    """Runs the training of a configuration to its end, from any state, and reads its report.

    A second call changes nothing, so another worker can take over at any time. Raises InputError if
    its folder holds another run, or another process trains it, or training diverges.

    Args:
        config: the configuration.
        probe: the probe that the run began with, if any.
        display: the way in which the run is shown.
    """
    folder = config.folder()
    if not folder.exists():
        return train(config, probe, display)[1]
    check_same_run(load_config(folder), config)
    if is_finished(folder):
        return Report.from_json(read_report(folder))
    return resume(folder, probe, display)[1]


def _check_devices(devices: int) -> None:
    here = jax.devices()
    if devices > len(here):
        raise InputError(
            f"devices is {devices}, but this machine has {len(here)} ({here[0].device_kind}): use "
            "as many or fewer; on CPUs, "
            f"XLA_FLAGS=--xla_force_host_platform_device_count={devices} makes one look like "
            "several"
        )
    if jax.process_count() > 1 and devices != len(here):
        raise InputError(
            f"devices is {devices}, but {jax.process_count()} processes have {len(here)}: a run "
            f"over several processes uses all of them, --devices {len(here)}"
        )


def _continue(folder: Path, setup: Setup, probe: Probe | None, display: Display) -> Report:
    meter, config = Meter(setup), setup.config

    def measure(state: TrainState, step: int) -> dict[str, Any]:
        probed = {} if probe is None else {"probe": probe(setup, state)}
        tv = meter.now(state, step)
        return probed if tv is None else {"tv": tv, **probed}

    with display.progress(str(folder), config.optimiser.steps) as progress:
        state, seconds = _trained(folder, setup, measure, progress)
        progress.say("measuring the trained sampler ...")
        started = time.perf_counter()
        with no_collection():
            report, learned, target, labels = meter.final(state)
        save_law(folder, learned, target, labels)
        write_json(folder / "report.json", {**report.to_json(), "seconds": seconds})
        seal_run(folder)
        progress.say(f"measuring: {time.perf_counter() - started:.1f} s")
    # After the seal: it reads a finished run, and can be drawn again at any time.
    display.plot([folder], folder / "plot.png")
    return report


def _trained(
    folder: Path,
    setup: Setup,
    measure: Callable[[TrainState, int], dict[str, Any]],
    progress: Progress,
) -> tuple[TrainState, float]:
    """The last state of a run, from wherever its folder is, and the seconds of its training."""
    state, seconds = last_state(folder, setup.initial)
    # Others that share the training begin where this process does.
    check_same(to_json(setup.config))
    state = broadcast_from_first(state)
    # With others, arrays are laid out over all processes, which this program does not know of.
    memory = setup.trainer.memory if jax.process_count() == 1 else None
    loop = Loop(folder, setup.config, setup.trainer.advance, state, seconds, measure, memory)
    return loop.run(progress)
