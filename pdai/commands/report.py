"""`pdai report`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from pdai.commands import Accepting
from pdai.commands.tables import say


@dataclass(frozen=True)
class ReportRuns(Accepting):
    """Write finished runs into one HTML page: to read, hover and click, without network.

    Runs on one problem are side by side in the same charts, others never share an axis.

    Try:
        pdai report runs/*
        pdai report runs/lines-gru-0 --out lines.html
    """

    run_folders: Annotated[tyro.conf.Positional[tuple[Path, ...]], tyro.conf.arg(metavar="RUN")]
    """The folders that `pdai train` printed."""
    out: Path = Path("report.html")
    """Where to write the page."""
    seconds: float = 10.0
    """Draw for at most this long for the certificate of each run, where it is not exact."""
    stored_only: bool = False
    """Show only what the folders hold, without certificate, samples or states; no module that a
    run names is imported."""

    def run(self) -> None:
        """Writes the page."""
        from pdai.loading import load
        from pdai.show.page.page import report

        runs: list[Any] = list(self.run_folders)
        if self.accept_changed and not self.stored_only:
            runs = [load(folder, accept_changed=True) for folder in self.run_folders]
        seconds = None if self.stored_only else self.seconds
        say(f"report: {report(runs, self.out, seconds=seconds)}")
