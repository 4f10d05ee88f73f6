"""`pdai verify`: the tests of the package `verify`, as a process of their own."""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from reference.errors import InputError
from reference.files import check_output, read_file


def check_claims(claim: str | None, *, exhaustive: bool, as_json: bool, notes: Path | None) -> int:
    """Runs `pytest` on the package `verify`, found as data: `fast` does not import it.

    Args:
        claim: only the tests of that claim; None for all tests.
        exhaustive: with the large scope.
        as_json: prints the ledger as JSON to stdout, and what pytest prints to stderr.
        notes: a file whose table is replaced by the ledger's; it need not exist.

    Returns:
        0 if every claim has a check and a control that ran, and all tests passed; 2 if the claim is
        unknown; 1 otherwise.

    Raises:
        InputError: if there are to be notes of one claim alone, or they cannot be written there.
    """
    if notes is not None:
        _check_notes(notes, claim)
    package = importlib.util.find_spec("verify")
    assert package is not None
    assert package.submodule_search_locations is not None
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.json"
        # In a checkout, too, with the tests that take long.
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-m", ""]
        # Several processes, if the tool for it is there: it is no dependency of an installation.
        command += ["-n", "auto"] if importlib.util.find_spec("xdist") and not claim else []
        command += ["--claim", claim] if claim is not None else []
        command += ["--exhaustive"] if exhaustive else []
        command += ["--ledger-notes", str(notes)] if notes else []
        command += ["--ledger-json", str(ledger), *package.submodule_search_locations]
        status = subprocess.run(command, stdout=sys.stderr if as_json else None).returncode
        if status == 4:
            return 2
        # 5: no test ran, as an empirical claim has none.
        failed = status not in (0, 5)
        if not ledger.exists():
            return 1
        text = read_file(ledger).decode()
    if as_json:
        print(text, end="")
    surprises = [record["claim"] for record in json.loads(text) if not record["as_expected"]]
    for name in surprises:
        print(f"surprise: {name}: a check or control failed or did not run", file=sys.stderr)
    return 1 if failed or surprises else 0


def _check_notes(notes: Path, claim: str | None) -> None:
    """Checks, before the tests run, that all of the table can be written after them."""
    if claim is not None:
        raise InputError(
            f"--write-notes {notes}: with --claim {claim} its table would lose what every other "
            "claim was checked on: leave --claim away"
        )
    check_output(notes)
