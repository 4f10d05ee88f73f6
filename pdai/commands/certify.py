"""`pdai certify`: how wrong is this sampler, for anybody's sampler."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import tyro

from pdai.commands.accepting import Accepting
from pdai.commands.tables import say, show_rows
from reference.certificates.policies import Gives, Takes
from reference.certificates.statement import Regime
from reference.errors import InputError
from reference.files import check_output, replace_file
from reference.loading import load_object


@dataclass(frozen=True)
class Certify(Accepting):
    """Say how wrong a sampler is, and never more than is known.

    Of a run, a function from a state to a row of probabilities, samples, or recorded trajectories.
    The regime is the first that is possible: E, everything is enumerated, exactly; Z, log Z is
    known or bounded; S, samples of the target are given; N, neither, where no closeness is claimed.

    Try:
        pdai certify runs/lines-gru-0 --certificate lines.json
        pdai certify my_module:policy --problem my_module:Posterior --log-z 29.97
        pdai certify samples.csv --problem my_module:Posterior
    """

    sampler: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SAMPLER")]
    """A run folder, MODULE:NAME of a function or of an object with draw(count), or a CSV file."""
    problem: str | None = None
    """MODULE:NAME of the problem; runs have one."""
    log_z: tuple[float, ...] = ()
    """log Z in nats, or a lower and an upper bound of it, as given; by default the problem's."""
    target: Path | None = None
    """A CSV file with independent samples of the target, for regime S."""
    p_b: str | None = None
    """MODULE:NAME of a function from a state to a row over its parents; uniform by default."""
    takes: Takes = "state"
    """What the function is called with."""
    gives: Gives = "probabilities"
    """What the function answers."""
    regime: Regime | None = None
    """Take this regime, though another says more."""
    width: float = 0.01
    """Stop drawing when the interval is as narrow."""
    samples: int = 100_000
    """Stop after so many trajectories."""
    seconds: float = 60.0
    """Stop after so much wall time."""
    level: float = 1e-6
    """With which probability, at most, each bound may be wrong."""
    seed: int = 0
    """Random seed of the draws."""
    run_seed: int | None = None
    """Which of a run's seeds; its first by default."""
    tighten: int = 0
    """Learn p_B in so many steps of 256 trajectories first."""
    features: str | None = None
    """MODULE:NAME of a function from a terminal state to numbers in [0, 1] by name."""
    max_states: int = 100_000
    """Enumerate at most this many states or histories."""
    certificate: Annotated[Path | None, tyro.conf.arg(aliases=["--proof"])] = None
    """Write the certificate file of regime E here, and check it with pdai-check if it is there."""
    table: Path | None = None
    """Write every terminal state with its probabilities here, as CSV; regime E."""
    keep: Path | None = None
    """Keep what is drawn in this folder: the same command goes on from it after a kill."""
    out: Path | None = None
    """Write all that is printed here, as JSON."""

    def run(self) -> None:
        """Certifies, and prints a table to stdout."""
        from pdai.certifying import certify
        from pdai.front import load
        from pdai.sample_tables import csv_table
        from reference.certificates.statement import REGIMES

        if len(self.log_z) > 2:
            raise InputError(f"--log-z takes one number or two, but was given {self.log_z}")
        for path in (self.table, self.out):
            if path is not None:
                check_output(path)
        found = certify(
            load(self.sampler, accept_changed=True) if self.accept_changed else self.sampler,
            self.problem,
            log_z=(self.log_z[0], self.log_z[-1]) if self.log_z else None,
            target=self.target,
            p_b=_named(self.p_b, "backward policy"),
            takes=self.takes,
            gives=self.gives,
            regime=self.regime,
            width=self.width,
            samples=self.samples,
            seconds=self.seconds,
            level=self.level,
            seed=self.seed,
            tighten=self.tighten,
            features=_named(self.features, "function"),
            max_states=self.max_states,
            of=self.run_seed,
            certificate=self.certificate,
            keep=self.keep,
        )
        (name, verdict), *others = found.report.items()
        rows = {"regime": f"{found.regime}: {REGIMES[found.regime]}", **dict(others)}
        if found.level:
            rows |= {
                "level of each bound": f"{found.level:g}",
                "samples": f"{found.samples:,}",
            }
        show_rows(f"{name} {verdict}: {found.name}", rows)
        for note in found.notes:
            say(f"- {note}")
        if self.table is not None:
            if not found.table:
                raise InputError(
                    f"--table is of terminal states that are enumerated, but this is regime "
                    f"{found.regime}: leave it out"
                )
            replace_file(self.table, csv_table(_columns(found.table)))
        if self.out is not None:
            replace_file(self.out, (json.dumps(found.to_json(), indent=1) + "\n").encode())


def _columns(table: Iterable[tuple[Any, Fraction, Fraction]]) -> dict[str, list[Any]]:
    """The columns of `--table`: decimal numbers, which other programs read, and then exact ones."""
    states, learned, target = zip(*table, strict=True)
    return {
        "state": [*map(str, states)],
        "p_T": [*map(float, learned)],
        "target": [*map(float, target)],
        "difference": [float(p - pi) for p, pi in zip(learned, target, strict=True)],
        "p_T_exact": [*learned],
        "target_exact": [*target],
    }


def _named(spec: str | None, kind: str) -> Any:
    return None if spec is None else load_object(spec, kind, "my_module:name")
