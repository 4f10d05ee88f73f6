"""`pdai verify`: the tests of the package `verify`, as a process of their own."""

import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def check_claims(claim: str | None, *, exhaustive: bool, as_json: bool, notes: Path | None) -> int:
    """Runs `pytest` on the package `verify`, found as data: `fast` does not import it.

    Args:
        claim: only the tests of that claim; None for all tests.
        exhaustive: with the large scope.
        as_json: prints the ledger as JSON to stdout, and what pytest prints to stderr.
        notes: a file whose table is replaced by the ledger's.

    Returns:
        0 if every claim has a check and a control that ran, and all tests passed; 2 if the claim is
        unknown; 1 otherwise.
    """
    package = importlib.util.find_spec("verify")
    assert package is not None
    assert package.submodule_search_locations is not None
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.json"
        command = [sys.executable, "-m", "pytest", "-q", "--no-header"]
        # Several processes, if the tool for it is there: it is no dependency of an installation.
        command += ["-n", "auto"] if importlib.util.find_spec("xdist") and not claim else []
        command += ["--claim", claim] if claim else []
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
        text = ledger.read_text()
    if as_json:
        print(text, end="")
    surprises = [record["claim"] for record in json.loads(text) if not record["as_expected"]]
    for name in surprises:
        print(f"surprise: {name}: a check or control failed or did not run", file=sys.stderr)
    return 1 if failed or surprises else 0
