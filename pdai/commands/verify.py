"""`pdai verify`: the tests of the package `verify`, in a separate process."""

import importlib.util
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from reference.contract.errors import InputError
from reference.contract.files import check_output, read_file


@dataclass(frozen=True)
class Verify:
    """Run the checks of the paper's claims, and print the ledger; exit 1 on any surprise.

    Try:
        pdai verify
        pdai verify --claim prop:lines
        pdai verify --json
    """

    claim: str | None = None
    """Only the checks of this claim, such as prop:lines or residual-tv-bound."""
    exhaustive: bool = False
    """All lifts up to 6 states (else 5), some with 7, 20,000 random instances: up to an hour."""
    controls: bool = False
    """Only list the negative controls, of all claims, with their tests; nothing is run."""
    json: bool = False
    """Print the ledger as JSON to stdout, and all else to stderr."""
    write_notes: Path | None = None
    """Write the ledger's table to this file: proofs_notes/README.md in a checkout. It is of all
    claims, so not with --claim."""

    def run(self) -> None:
        """Runs the tests, and exits.

        The status is 0 if every claim has a check and a control that ran, and all tests passed; 2
        if the claim is unknown; 1 otherwise. Raises InputError if notes of a single claim are
        requested, or notes cannot be written.
        """
        if self.write_notes is not None:
            if self.claim is not None:
                raise InputError(
                    f"--write-notes {self.write_notes}: with --claim {self.claim} its table would "
                    "lose what every other claim was checked on: leave out --claim"
                )
            check_output(self.write_notes)
        if self.controls:
            command = [sys.executable, "-m", "verify.lib.report"]
            print(subprocess.check_output(command, text=True), end="", flush=True)
            sys.exit(0)
        # Beside this package, which does not import it.
        tests = str(Path(__file__).parents[2] / "verify")
        with tempfile.TemporaryDirectory() as folder:
            ledger = Path(folder) / "ledger.json"
            # In a checkout, too, with the tests that take long.
            # The extra is named if it is not there.
            import_module("pytest")
            command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-m", ""]
            # Several processes, if the tool is installed: it is no dependency.
            if importlib.util.find_spec("xdist") and not self.claim:
                command += ["-n", "auto"]
            command += [] if self.claim is None else ["--claim", self.claim]
            command += ["--exhaustive"] if self.exhaustive else []
            command += ["--ledger-notes", str(self.write_notes)] if self.write_notes else []
            command += ["--ledger-json", str(ledger), tests]
            status = subprocess.run(command, stdout=sys.stderr if self.json else None).returncode
            if status == 4:
                sys.exit(2)
            if not ledger.exists():
                sys.exit(1)
            text = read_file(ledger).decode()
        if self.json:
            print(text, end="")
        surprises = [record["claim"] for record in json.loads(text) if not record["as_expected"]]
        for name in surprises:
            print(f"surprise: {name}: a check or control failed or did not run", file=sys.stderr)
        # 5 means that no test ran: an empirical claim has none.
        sys.exit(1 if surprises or status not in (0, 5) else 0)
