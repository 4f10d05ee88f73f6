"""Theorems about samplers, given to Coq's kernel."""

import resource
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pdai.programs import cache_folder
from reference.certificates.theorem import MODULES, library, read_theorem
from reference.contract.errors import InputError
from reference.contract.files import read_file, replace_file, sha256

INSTALL = "sudo apt-get install coq"
TESTED = "8.16.1"
CLOSED = "Closed under the global context"


class Answer(NamedTuple):
    """The answer of Coq's kernel about one file.

    Attributes:
        accepted: True if the theorem is proved, from no assumption.
        statement: the theorem.
        assumptions: the axioms that it rests on, in the words of Coq; empty if it is refused.
        reason: the error of Coq; empty if it is accepted.
        seconds: of the processor, for the file, and for the proofs before it if they were compiled.
    """

    accepted: bool
    statement: str
    assumptions: str
    reason: str
    seconds: float


def check_theorem(path: Path | str) -> Answer:
    """Asks Coq's kernel whether the theorem of a file is proved.

    The proofs that it needs are compiled once, into the cache of the user.

    Raises:
        InputError: if the file is not as `pdai certify --theorem` writes it, or Coq is not
            installed, or stops.
    """
    text = read_theorem(path)
    program = shutil.which("coqc")
    if program is None:
        raise InputError(
            f"{str(path)!r} is checked by Coq, whose coqc is not on the PATH: install it ({INSTALL}"
            f", 250 MB; {TESTED} is tested), or send the file to somebody who has it"
        )
    before = _seconds()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cert = _compiled(program, folder)
        replace_file(folder / "Certified.v", text.encode())
        run = _coqc(program, cert, folder / "Certified.v")
    if run.returncode < 0:
        raise InputError(
            f"{program} was stopped by signal {-run.returncode} while it read {str(path)!r}: a "
            "large table needs 15 GB for each million of edges; take a smaller one"
        )
    statement = text[text.index("\nTheorem ") + 1 : text.index("\nProof.")]
    said, accepted = run.stdout.strip(), run.returncode == 0 and run.stdout.strip() == CLOSED
    reason = "" if accepted else " ".join(run.stderr.split())[-400:]
    return Answer(accepted, statement, said, reason, _seconds() - before)


def _seconds() -> float:
    """The processor seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _coqc(program: str, cert: Path, file: Path) -> subprocess.CompletedProcess[str]:
    """A run of Coq on a file, with the compiled proofs of a folder."""
    command = [program, "-q", "-noglob", "-w", "none", "-Q", str(cert), "Cert", str(file)]
    return subprocess.run(command, cwd=file.parent, capture_output=True, text=True, check=False)


def _compiled(program: str, work: Path) -> Path:
    """The folder of the compiled proofs, which are made if this Coq has not made them."""
    version = subprocess.check_output([program, "--version"], text=True)
    sources = {f"{name}.v": read_file(library() / f"{name}.v") for name in MODULES}
    digest = sha256(b"\0".join([version.encode(), *sources.values()]))
    cache = cache_folder()
    kept = work / "coq" if cache is None else cache / f"coq-{digest[:20]}"
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=kept.parent))
    try:
        for file, source in sources.items():
            replace_file(made / file, source)
            run = _coqc(program, made, made / file)
            if run.returncode:
                raise InputError(
                    f"{file} of the proofs does not compile with {version.split(',')[0].strip()} "
                    f"({' '.join(run.stderr.split())[-200:]}): {TESTED} is tested"
                )
        # Another process may have been faster.
        with suppress(OSError):
            made.rename(kept)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return kept
