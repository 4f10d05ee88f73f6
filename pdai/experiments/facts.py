"""Trainings run to their ends, and the results that are stored."""

from pathlib import Path
from typing import Any

from fast.runs.checkpoints import run_records
from fast.runs.frozen import arithmetic
from fast.runs.job import complete
from fast.runs.records import load_law, read_json, read_report
from pdai.distributed.comparison import allowed, spreads
from pdai.distributed.plan import Plan
from pdai.experiments.base import ProbeName
from pdai.experiments.probes import PROBES
from pdai.experiments.trainings import Training
from pdai.show.progress import DISPLAY

# The largest number of terminals of a stored law.
SMALL_LAW = 64


def facts(training: Training, probe: ProbeName | None) -> dict[str, Any]:
    """Trains, or resumes an interrupted training; returns the fields of a `Run`.

    Raises InputError if its folder holds another training.
    """
    if isinstance(training, Plan):
        return _of_plan(training)
    complete(training, None if probe is None else PROBES[probe], DISPLAY)
    fields = _of_run(training.folder())
    # A probe may have measured something instead of the policy.
    return fields | (fields["probes"][-1].get("instead", {}) if fields["probes"] else {})


def _of_run(folder: Path) -> dict[str, Any]:
    report = read_report(folder)
    records = run_records(folder)
    learned, target = load_law(folder)
    return {
        "parameters": read_json(folder / "meta.json")["parameters"],
        "seconds": report["seconds"],
        "learned": report["learned"][0],
        "uniform": report["uniform"],
        "exact": report["exact"],
        "tv_kind": report["tv_kind"],
        "log_z": report["log_z"],
        "curve": [[record["step"], record["tv"][0]] for record in records if "tv" in record],
        "probes": [
            {"step": record["step"], **record["probe"]} for record in records if "probe" in record
        ],
        "law": [learned[0].tolist(), target.tolist()] if len(target) <= SMALL_LAW else None,
    }


def _of_plan(plan: Plan) -> dict[str, Any]:
    """The figures of the combined sampler, with the seconds of all runs, trained in turn."""
    pieces = plan.pieces()
    for config in pieces.values():
        complete(config, display=DISPLAY)
    seconds = [read_report(config.folder())["seconds"] for config in pieces.values()]
    with arithmetic(plan.config.run.precision):
        oscillations = spreads(plan.config, pieces)
    return {
        **_of_run(pieces[plan.combined].folder()),
        "seconds": sum(seconds),
        "bound": None if oscillations is None else allowed(oscillations)[0],
    }
