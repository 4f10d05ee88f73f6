"""`pdai reproduce`."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from reference.contract.errors import InputError


@dataclass(frozen=True)
class Reproduce:
    """Make a table or figure of the paper again: train missing runs, resume interrupted ones.

    With --quick it takes minutes, without minutes to hours. Finished runs are kept, and the same
    command continues after Ctrl-C.

    Try:
        pdai reproduce tab:sequences --quick
        pdai reproduce fig:setsa --seeds 3 --jobs 1
    """

    label: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="LABEL")]
    """A label of pdai/experiments/README.md, such as tab:sets or study:dags, or `all`."""
    quick: bool = False
    """The first and the last row with 200 steps and one seed, which shows that they run."""
    seeds: int | None = None
    """The number of seeds; by default those reported."""
    jobs: int | None = None
    """Runs at once; by default one for each processor. One GPU does one at a time."""
    out: Path = Path("reproduced")
    """The folder of results, tables, figures and run folders."""
    pho4: Path | None = None
    """The table of PHO4, which is not shipped; without it its rows are left out."""

    def run(self) -> None:
        """Reproduces, and prints the tables to stdout."""
        from pdai.experiments import chosen
        from pdai.experiments.report import write
        from pdai.experiments.running import default_jobs, reproduce

        def say(text: str) -> None:
            print(text, file=sys.stderr, flush=True)

        out = self.out / "quick" if self.quick else self.out
        jobs = default_jobs() if self.jobs is None else self.jobs
        if jobs < 1:
            raise InputError(f"jobs is {jobs}, but must be at least 1")
        failures: list[str] = []
        for experiment in chosen(self.label, self.seeds, self.pho4, quick=self.quick):
            say(f"{experiment.label}: {experiment.title}")
            try:
                made = reproduce(experiment, out, jobs, say)
            except KeyboardInterrupt:
                say("\nstopped; finished runs are kept, and the same command goes on from there")
                raise
            print(write(experiment, made.runs, out), end="\n\n", flush=True)
            if self.quick:
                say("one seed and 200 steps show that it runs; no verdict is made of them")
            failures += [f"{experiment.label}, {failure}" for failure in made.failures]
        print(f"results, tables and figures: {out}")
        if failures:
            raise InputError(f"{len(failures)} runs were not made:\n" + "\n".join(failures))
