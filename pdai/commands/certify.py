"""`pdai certify`, the TV of any sampler; `power`, the samples that it takes; and `theorem`."""

import json
import sys
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from pdai.certifying.power import power
from pdai.commands import Accepting
from pdai.commands.tables import Seldom, say, show_rows
from reference.certificates.statement import REGIMES, Certificate, Regime
from reference.contract.errors import InputError
from reference.contract.files import check_output, replace_file
from reference.rows.functions import Gives, Takes

# The exit code of --fail-above where neither side is certain.
UNDECIDED = 2
# What each exit code says.
WORDS = ("TV is at most that", "TV is above", "undecided")
# The options of the command itself.
OWN = ("sampler", "accept_changed", "table", "out", "json", "fail_above")
# Lines about features that are printed, as many as those of 24 features.
MOST_LINES = 72


_NAME = Annotated[str | None, tyro.conf.arg(metavar="MODULE:NAME")]
_LAW = Annotated[str | None, tyro.conf.arg(metavar="uniform|PATH")]
_LOG_Z = Annotated[tuple[float, ...] | None, tyro.conf.arg(metavar="FLOAT [FLOAT]")]


@dataclass(frozen=True, kw_only=True)
class Certify(Accepting):
    """Certify how close a sampler is to its target.

    The sampler is a run, a function from a state to a row of probabilities, recorded trajectories,
    or bare samples. The report has the first regime that the inputs allow: E, everything is
    enumerated, exact; Z, log Z is known or bounded; S, samples of the target are given; N, neither,
    only lower bounds. `pdai power` says beforehand how many samples are needed. --help-all shows
    every option.

    Try:
        pdai certify runs/lines-gru-0 --certificate lines.json --theorem lines.v
        pdai certify my_module:policy --problem my_module:Posterior --log-z 29.97
        pdai certify samples.csv --problem my_module:Posterior
        generator | pdai certify - --law weights.csv --fail-above 0.05
    """

    # The options that --help shows.
    COMMON: ClassVar = (
        *("law", "support", "problem", "log_z", "target", "samples", "level"),
        *("if_independent", "header", "columns", "fail_above", "json"),
    )

    log_z: _LOG_Z = None
    """log Z in nats, or a lower and an upper bound of it; by default the problem's."""
    target: Path | None = None
    """Independent samples of the target for regime S: a CSV file."""
    law: _LAW = None
    """The target without a problem: a file of values and weights, or uniform over --support."""
    support: Path | None = None
    """The values of the uniform law: a file with one in each line."""
    header: Annotated[bool | None, tyro.conf.arg(constructor=bool)] = None
    """The first lines of CSV files name the columns, or are values; by default they do where they
    hold names that are known, such as value, terminal, state or sample, and no others."""
    columns: tuple[str, ...] = ()
    """The columns of a state in files that have one for each part of it, such as A S; others are
    left out. By default all columns of a law that are no weights."""
    log_prob: _NAME = None
    """A function from a sampled value to its log-probability under the sampler, in nats."""
    p_b: _NAME = None
    """A function from a state to a row over its parents; by default uniform."""
    takes: Takes = "state"
    """The argument of the function: a state, a list of states, a history or a list of these."""
    gives: Gives = "probabilities"
    """The numbers in the rows of the function."""
    if_independent: bool = False
    """Take samples for independent draws, untested: the report is titled so."""
    regime: Regime | None = None
    """E, Z, S or N; by default the first in this order that the inputs allow."""
    width: float = 0.01
    """Stop drawing once the interval is this narrow."""
    samples: int = 100_000
    """Draw at most this many trajectories."""
    seconds: float = 60.0
    """Draw, and learn p_B, for at most this many seconds of wall time."""
    level: float = 1e-6
    """Probability with which each bound may fail, at most."""
    seed: int = 0
    """Random seed of the draws."""
    of: Annotated[int | None, tyro.conf.arg(name="run-seed")] = None
    """Which of a run's seeds; by default its first."""
    tighten: int = 0
    """Learn p_B first, in this many steps of 256 trajectories."""
    paths: int = 1
    """Bound TV of terminal states with this many backward paths to each; regimes Z and S."""
    features: _NAME = None
    """A function from a terminal state to numbers in [0, 1] by name: their means are reported."""
    max_states: int = 100_000
    """Enumerate at most this many states or histories."""
    certificate: Annotated[Path | None, tyro.conf.arg(aliases=["--proof"])] = None
    """Write a certificate to this file, in regime E or Z or for samples beside a listed law, and
    check it (by pdai-check if built)."""
    theorem: Path | None = None
    """Write the same as a theorem to this file, which Coq's kernel checks: `pdai theorem FILE`."""
    sampler: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SAMPLER")]
    """A run folder, MODULE:NAME of a function or of an object with draw(count), a file of samples
    (CSV, .jsonl, .npy, .parquet, each also .gz), or - for the standard input."""
    problem: str | None = None
    """MODULE:NAME of the problem; runs have one."""
    table: Path | None = None
    """Write every terminal state with its probabilities to this CSV file; regime E."""
    out: Path | None = None
    """Write all that is printed to this file, as JSON."""
    json: bool = False
    """Print JSON instead of tables."""
    fail_above: float | None = None
    """Exit with 0 if TV is at most this, 1 if that of terminals is above, 2 if undecided, 3 on bad
    input. Without it, samples that are not independent end with 3, other bad input with 2."""

    def run(self) -> None:
        """Prints the certificate, and writes the requested files."""
        from pdai.certifying.certify import certify

        if self.fail_above is not None and not 0 <= self.fail_above <= 1:
            raise InputError(f"fail_above is {self.fail_above:g}, but must be a TV, from 0 to 1")
        for path in (self.table, self.out):
            if path is not None:
                check_output(path)
        what: Any = self.sampler
        if self.accept_changed:
            from pdai.loading import load

            what = load(self.sampler, accept_changed=True)
        options = {
            field.name: value
            for field in fields(Certify)
            if field.name not in OWN and (value := getattr(self, field.name)) != field.default
        }
        if self.log_z is not None and len(self.log_z) == 1:
            options["log_z"] = self.log_z[0]
        made = certify(what, drawn=self._drawn, **options)
        if self.json:
            print(json.dumps(made.to_json(), indent=1))
        else:
            self._show(made)
        if self.table is not None:
            if not made.table:
                raise InputError(
                    f"--table needs enumerated terminal states (regime E), but this is regime "
                    f"{made.regime}: leave it out"
                )
            from pdai.show.sample_tables import csv_table

            replace_file(self.table, csv_table(made.states()))
        if self.out is not None:
            replace_file(self.out, (json.dumps(made.to_json(), indent=1) + "\n").encode())
        if self.fail_above is not None:
            low, high = made.interval
            is_above = low > self.fail_above or (made.impossible > 0 and self.fail_above == 0)
            # TV of trajectories is an upper bound alone of that of terminals.
            above = is_above and made.of == "terminals"
            code = 0 if high <= self.fail_above else 1 if above else UNDECIDED
            certain = "".join(f"; {line.name}: {line.text()}" for line in made.certain)
            said = f"{WORDS[code]}{made.condition}{certain}"
            print(f"--fail-above {self.fail_above:g}: {said}", file=sys.stderr)
            sys.exit(code)

    @cached_property
    def _said(self) -> Seldom:
        return Seldom()

    def _drawn(self, count: int) -> None:
        """Says on stderr how many trajectories were drawn, now and then."""
        self._said(
            f"{count:,} trajectories drawn; until the interval is {self.width:g} wide, "
            f"{self.samples:,} are drawn or {self.seconds:g} s have passed"
        )

    def _show(self, made: Certificate) -> None:
        report = made.report
        for line in made.certain:
            say(f"{line.name}: {report.pop(line.name)}")
        (name, verdict), *others = report.items()
        features = [name for name, _ in others if ": sampler" in name or ": target" in name]
        left_out = {*features[MOST_LINES:]}
        others = [row for row in others if row[0] not in left_out]
        rows = {"regime": f"{made.regime}: {REGIMES[made.regime]}", **dict(others)}
        if made.level:
            rows |= {"level of each bound": f"{made.level:g}", "samples": f"{made.samples:,}"}
        farthest = f"{len(left_out)} lines of the nearest features are left out: --json has all"
        show_rows(f"{name} {verdict}: {made.name}", rows, farthest if left_out else "")
        for note in made.notes:
            say(f"- {note}")


@dataclass(frozen=True)
class SayPower:
    """Say how many samples are needed to show a distance to a law, before any is drawn.

    The numbers are estimates, from `pdai certify`'s bounds of simulated samples. The probability
    that a sampler farther away is certified to be near is at most the level.

    Try:
        pdai power 0.05 --outcomes 15625
        pdai power 0.05 --law weights.csv --against wrong.csv --level 1e-9
    """

    distance: Annotated[tyro.conf.Positional[float], tyro.conf.arg(metavar="TV")]
    """The distance, a total variation."""
    law: str | None = None
    """A CSV file of values and weights, or uniform over --support."""
    support: str | None = None
    """The values of the uniform law: a file with one in each line."""
    outcomes: int | None = None
    """The number of equally likely values, in place of a law."""
    against: Path | None = None
    """A CSV file of the values and weights of a wrong sampler; by default, three kinds of it."""
    level: float = 1e-6
    """Probability with which each bound of the certificate may fail, at most."""
    seed: int = 0
    """Random seed of the simulation."""
    json: bool = False
    """Print JSON instead of a table."""

    def run(self) -> None:
        """Prints the numbers of samples."""
        made = power(**{name: value for name, value in vars(self).items() if name != "json"})
        if self.json:
            print(json.dumps(made.to_json(), indent=1))
        else:
            show_rows(f"samples for a TV of {self.distance:g}", made.report)


@dataclass(frozen=True)
class CheckTheorem:
    """Let Coq's kernel check a theorem that `pdai certify` or `pdai posterior` has written.

    It needs Coq alone (sudo apt-get install coq). The exit status is 0 if the theorem is proved
    without assumptions, and 1 if the kernel refuses it.

    Try:
        pdai theorem sampler.v
    """

    file: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")]
    """The file of the theorem."""

    def run(self) -> None:
        """Prints the statement and what it rests on."""
        from pdai.certifying.theorems import check_theorem

        answer = check_theorem(self.file)
        say(answer.statement)
        rows = {"assumptions": answer.assumptions} if answer.accepted else {"Coq": answer.reason}
        rows["seconds of the processor"] = f"{answer.seconds:.1f}"
        verdict = "proved, by Coq's kernel" if answer.accepted else "refused by Coq's kernel"
        show_rows(f"{verdict}: {self.file}", rows)
        if not answer.accepted:
            sys.exit(1)
