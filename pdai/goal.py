"""Training towards a distance: rounds of training and certificates, until TV is certified.

Round k trains in `round-k` of its folder, and is certified at the level `LEVEL / 2^k`, so that the
certificates of all rounds fail with probability at most `LEVEL` together. `rounds.json` is the log.
What a round does follows from the log, so a killed command goes on where it was.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax

from fast.runs.display import Display
from fast.runs.files import new_folder
from fast.runs.job import complete, resume
from fast.runs.loop import CHUNK
from fast.runs.records import BRING_BACK, SEAL, is_finished, read_json, write_json
from fast.training.compose import TrainConfig, from_json, to_json
from fast.training.options import RunOptions
from pdai.certifying.certify import certify
from pdai.certifying.target import Target
from pdai.run import Run
from reference.contract.errors import InputError
from reference.contract.files import read_file, sha256
from reference.contract.text import small

LOG, LEVEL = "rounds.json", 1e-6
# Trajectories of a certificate, at most, and its seconds; the states of an exact one.
SAMPLES, SECONDS, STATES = 1_000_000, 60.0, 100_000
# The share of the steps asked for in the first round, which is enough for goals that are easy.
FIRST = 1 / 4
# A round helped if it leaves at most this share of the bound of the round before.
HELPED = 0.7
# Changes to try in turn, once longer training has stopped helping.
CHANGES: tuple[Mapping[str, Any], ...] = (
    {"table_rows": 2**16},
    {"anneal": 0.6},
    {"order": "fixed", "replay": "annealed"},
)


class Goal(NamedTuple):
    """The end of a training towards a distance.

    Attributes:
        run: the run with the lowest certified bound.
        reached: whether that bound is low enough.
        rounds: the records of all rounds.
        why: the reason why there was no further round.
    """

    run: Run
    reached: bool
    rounds: Sequence[Mapping[str, Any]]
    why: str


class _Plan(NamedTuple):
    """A round to come: its changed options, and the round that it goes on from; 0 for none."""

    start: int
    options: Mapping[str, Any]

    @property
    def how(self) -> str:
        """The plan in words."""
        changed = ", ".join(
            f"{name} {value if isinstance(value, str) else f'{value:,}'}"
            for name, value in self.options.items()
            if name != "steps"
        )
        start = f"on from round {self.start}" if self.start else "from new parameters"
        return f"{start}, {changed}" if changed else start


def train_until(config: TrainConfig, display: Display) -> Goal:
    """Trains in rounds until TV is certified to be at most `config.run.tv`.

    Raises InputError if no certificate can show that, or the folder exists.
    """
    _check(config)
    folder = config.folder()
    with new_folder(folder, "train") as partial:
        write_json(partial / LOG, {"config": to_json(config), "rounds": []}, checksum=True)
    return go_on(folder, display)


def is_goal(folder: Path) -> bool:
    """True if the folder is of a training towards a distance."""
    return (folder / LOG).is_file()


def _seal(folder: Path, number: int) -> str:
    """The digest of the seal of a round, which has those of its other files."""
    return sha256(read_file(folder / f"round-{number}" / SEAL))


def go_on(folder: Path, display: Display) -> Goal:
    """Goes on with the rounds of a folder, from wherever they stopped.

    Raises InputError if a round's folder or the log was changed, or training diverges.
    """
    log = read_json(folder / LOG, checksum=True)
    config, rounds = from_json(log["config"], str(folder / LOG)), log["rounds"]
    for record in rounds:
        number = record["round"]
        if record.get("seal") != _seal(folder, number):
            raise InputError(
                f"{folder / f'round-{number}'} is another run than was certified: {BRING_BACK}"
            )
    while not (why := _why_no_more(config.run, rounds)):
        number, plan = len(rounds) + 1, _next(config, rounds)
        run = _trained(config, plan, folder / f"round-{number}", display)
        made = certify(
            run,
            width=config.run.tv / 4,
            samples=SAMPLES,
            seconds=SECONDS,
            level=LEVEL / 2**number,
            seed=config.run.seed + number,
            max_states=STATES,
        )
        earlier = rounds[plan.start - 1]["steps"] if plan.start else 0
        record = {
            "round": number,
            **plan._asdict(),
            "steps": earlier + run.config.optimiser.steps,
            "seconds": run.metrics()[-1]["seconds"],
            "regime": made.regime,
            "low": float(made.interval.low),
            "high": float(made.interval.high),
            "level": made.level,
            "samples": made.samples,
            "seal": _seal(folder, number),
        }
        rounds = [*rounds, record]
        write_json(folder / LOG, {"config": log["config"], "rounds": rounds}, checksum=True)
        print(f"round {number}, {plan.how}: {line(record)}", file=sys.stderr, flush=True)
    best = min(rounds, key=lambda record: record["high"])
    run = Run(folder / f"round-{best['round']}")
    return Goal(run, best["high"] <= config.run.tv, rounds, why)


def first_steps(steps: int) -> int:
    """The steps of the first round, in whole chunks, as a part of one is compiled by itself."""
    return CHUNK * math.ceil(FIRST * steps / CHUNK)


def line(record: Mapping[str, Any]) -> str:
    """A round in one line."""
    low, high = small(record["low"], down=True), small(record["high"], down=False)
    level = f", level {record['level']:.2g}" if record["level"] else ""
    return (
        f"{record['steps']:,} steps, {record['seconds']:.0f} s; TV in [{low}, {high}], regime "
        f"{record['regime']}{level}"
    )


def _check(config: TrainConfig) -> None:
    """Refuses a goal that no certificate can show."""
    run, name = config.run, config.task.short_name
    frozen, processes = len(config.factors.frozen), jax.process_count()
    if run.seeds > 1 or frozen or processes > 1:
        raise InputError(
            f"tv with {run.seeds} seeds, {frozen} frozen runs and {processes} processes: the "
            "rounds are of one sampler in one process; leave these out"
        )
    target = Target(config.restricted(), STATES, SECONDS)
    if target.log_z() is None:
        raise InputError(
            f"tv is {run.tv:g}, but log Z of {name} is not known, so no certificate can show it: "
            "give the problem log_z() or log_mass_bound(state), or train without --tv and certify "
            "beside samples of the target, pdai certify RUN --target FILE"
        )
    least = math.log(4 / LEVEL) / SAMPLES
    if run.tv < least and not (config.dynamics.is_markovian and target.probabilities):
        raise InputError(
            f"tv is {run.tv:g}, but {name} is too large to enumerate, and a certificate then takes "
            f"{math.log(4 / LEVEL) / run.tv:,.0f} trajectories or more; {SAMPLES:,} are drawn: ask "
            f"for {least:.1g} or more"
        )


def _next(config: TrainConfig, rounds: Sequence[Mapping[str, Any]]) -> _Plan:
    """The next round: some of the steps, all of them, more while that helps, the next change."""
    if not rounds:
        steps = first_steps(config.optimiser.steps)
        return _Plan(0, {"steps": steps} if steps < config.optimiser.steps else {})
    last = rounds[-1]
    if "steps" in last["options"]:
        return _Plan(0, {})
    if not last["start"] or last["high"] <= HELPED * rounds[-2]["high"]:
        return _Plan(last["round"], last["options"])
    for change in CHANGES:
        if not set(change) & set(last["options"]) and _goes(config, change):
            return _Plan(0, {**last["options"], **change})
    larger = {"batch": config.sampling, "parameters": config.dynamics}
    before = {name: last["options"].get(name, getattr(part, name)) for name, part in larger.items()}
    return _Plan(0, {**last["options"], **{name: 2 * value for name, value in before.items()}})


def _goes(config: TrainConfig, change: Mapping[str, Any]) -> bool:
    """Whether a change is possible, and changes anything."""
    # A table is for states that are met again and again; beyond, it does harm.
    if "table_rows" in change and config.task.states() > config.run.max_states:
        return False
    try:
        return config.changed(**change) != config
    except InputError:
        return False


def _trained(config: TrainConfig, plan: _Plan, folder: Path, display: Display) -> Run:
    """The run of a round, trained to its end."""
    if not plan.start:
        # Twice the steps after a change, as there was time for them before.
        steps = config.optimiser.steps * (2 if plan.options else 1)
        complete(config.changed(**{"steps": steps, **plan.options, "out": folder}), display=display)
    elif not folder.exists():
        before = Run(folder.with_name(f"round-{plan.start}"))
        # Exploration is over.
        steps = 2 * before.config.optimiser.steps
        return before.train(steps, out=folder, display=display, epsilon=0.0)
    elif not is_finished(folder):
        resume(folder, display=display)
    return Run(folder)


def _why_no_more(run: RunOptions, rounds: Sequence[Mapping[str, Any]]) -> str:
    if not rounds:
        return ""
    if rounds[-1]["high"] <= run.tv:
        return f"TV is certified to be at most {run.tv:g}"
    spent = sum(record["seconds"] for record in rounds)
    if spent < run.tv_seconds:
        return ""
    return f"{spent:.0f} s of training are spent (--tv-seconds {run.tv_seconds:g})"
