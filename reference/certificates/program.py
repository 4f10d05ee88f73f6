"""The verified checker `pdai-check`, an external program."""

import os
import shutil
import subprocess
from pathlib import Path

from reference.certificates.check import Status, Verdict
from reference.contract.errors import InputError
from reference.contract.files import reading

CHECKER = "pdai-check"
# The path in a checkout, where the script `build` puts the program.
BUILD_COMMAND = (
    "sudo apt-get install ocaml-findlib libzarith-ocaml-dev && proofs_notes/checker/build"
)
_FOLDER = Path(__file__).parents[2] / "proofs_notes" / "checker"
_STATUS: dict[int, Status] = {0: "accepted", 1: "refused", 2: "malformed"}


def find_checker() -> Path | None:
    """The path of `pdai-check`, on the PATH or where a checkout builds it; None if absent."""
    if installed := shutil.which(CHECKER):
        return Path(installed)
    built = _FOLDER / CHECKER
    return built if built.is_file() and os.access(built, os.X_OK) else None


def run_checker(path: Path | str, program: Path | None = None) -> Verdict:
    """The verdict of the verified checker; raises InputError if it or the file is missing."""
    with reading(Path(path), follow=True):
        pass  # a file that can be read
    program = program or find_checker()
    if program is None:
        raise InputError(
            f"the program {CHECKER} is not on the PATH: build it with `{BUILD_COMMAND}` in a "
            "checkout of the repository; until then the check in Python, which is not verified, "
            "has to do"
        )
    # Absolute, so that no name is read as an option or as standard input.
    command = [program, Path(path).absolute()]
    run = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    if run.returncode not in _STATUS:
        raise InputError(
            f"{program} ended with status {run.returncode} ({run.stderr.strip()[-200:]}): "
            f"build it again with `{BUILD_COMMAND}`"
        )
    status = _STATUS[run.returncode]
    said = run.stderr if status == "malformed" else run.stdout
    reason = "" if status == "accepted" else said.strip().partition(": ")[2]
    return Verdict(status, reason, verified=True)
