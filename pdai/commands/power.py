"""`pdai power`: how many samples show a distance to a law, before any is drawn."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from pdai.certifying.power import power
from pdai.commands.tables import show_rows


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
