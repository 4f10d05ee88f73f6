"""`pdai theorem`: Coq's kernel on a theorem about a sampler."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from pdai.commands.tables import say, show_rows


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
