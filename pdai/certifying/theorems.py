"""Theorems about samplers and posteriors, given to Coq's kernel."""

import resource
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pdai.programs import cache_folder
from reference.certificates.drawn_theorem import read_drawn_theorem
from reference.certificates.theorem import MODULES, Theorem, library, read_theorem
from reference.contract.errors import InputError
from reference.contract.files import read_file, replace_file, sha256
from reference.posterior.dag_proof import Sums, read_sums_theorem

# The proofs that a theorem needs, by the library of each: of a table, and of samples.
_TABLE: dict[str, tuple[str, ...]] = {"Cert": MODULES}
_DRAWN: dict[str, tuple[str, ...]] = {
    "Pdai": ("Versions", "Residuals", "Betting", "Shortfall"),
    "Cert": (*MODULES, "Samples", "Bare", "Rat", "SamplesSound", "BareSound", "Drawn"),
}
_SUMS: dict[str, tuple[str, ...]] = {
    "Pdai": ("Versions", "Dag", "DagSums"),
    "Cert": ("Rat", "Dags", "DagsSound"),
}
_FOLDERS = {"Cert": "checker", "Pdai": "coq"}
INSTALL = "sudo apt-get install coq"
MATHCOMP = f"{INSTALL} libcoq-mathcomp-ssreflect libcoq-mathcomp-algebra"
TESTED = "8.16.1"
CLOSED = "Closed under the global context"


class Answer(NamedTuple):
    """The answer of Coq's kernel about one file.

    Attributes:
        accepted: True if the theorem is proved, from no assumption.
        statement: the theorem.
        assumptions: what it rests on, in the words of Coq; empty if it is no theorem.
        reason: the error of Coq, or the axioms; empty if it is accepted.
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
    text, needed = _read(path)
    install = INSTALL if needed == _TABLE else MATHCOMP
    program = shutil.which("coqc")
    if program is None:
        raise InputError(
            f"{str(path)!r} is checked by Coq, whose coqc is not on the PATH: install it ({install}"
            f", 250 MB; {TESTED} is tested), or send the file to somebody who has it"
        )
    before = _seconds()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        proofs = _compiled(program, folder, needed)
        replace_file(folder / "Certified.v", text.encode())
        run = _coqc(program, proofs, folder / "Certified.v")
    if run.returncode < 0:
        raise InputError(
            f"{program} was stopped by signal {-run.returncode} while it read {str(path)!r}: a "
            "large table needs 15 GB for each million of edges; take a smaller one"
        )
    statement = text[text.index("\nTheorem ") + 1 : text.index("\nProof.")]
    said, accepted = run.stdout.strip(), run.returncode == 0 and run.stdout.strip() == CLOSED
    reason = "" if accepted else " ".join((run.stderr or said).split())[-400:]
    return Answer(accepted, statement, said, reason, _seconds() - before)


def _read(path: Path | str) -> tuple[str, dict[str, tuple[str, ...]]]:
    """The text of a file, and the proofs that it needs.

    Raises InputError if it is not as it would be written, to the character: another file might run
    any command of Coq.
    """
    text = read_file(Path(path), follow=True).decode("latin-1")
    content = read_theorem(text) or read_drawn_theorem(text) or read_sums_theorem(text)
    wanted = "" if content is None else content.text()
    if content is not None and wanted == text:
        if isinstance(content, Sums):
            return text, _SUMS
        return text, _TABLE if isinstance(content, Theorem) else _DRAWN
    lines = enumerate(zip(f"{wanted}\n".split("\n"), f"{text}\n".split("\n"), strict=False), 1)
    place = next((number for number, (one, other) in lines if one != other), "the last")
    why = f"line {place} differs from what its numbers give"
    error = InputError(
        f"{str(path)!r} is not as this pdai writes theorems ("
        f"{'it has no claim of that kind' if content is None else why}), and Coq is not run on it: "
        "write it again with pdai certify --theorem, or read it, and run coqc yourself"
    )
    # As where the kernel refuses.
    error.status = 1
    raise error


def _seconds() -> float:
    """The processor seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _coqc(program: str, proofs: Path, file: Path) -> subprocess.CompletedProcess[str]:
    """A run of Coq on a file, with the compiled proofs of a folder."""
    command = [program, "-q", "-noglob", "-w", "none"]
    for name in _FOLDERS:
        command += ["-Q", str(proofs / name), name]
    return subprocess.run(
        [*command, str(file)], cwd=file.parent, capture_output=True, text=True, check=False
    )


def _compiled(program: str, work: Path, needed: dict[str, tuple[str, ...]]) -> Path:
    """The folder of the compiled proofs, which are compiled if this Coq has not done so."""
    version = subprocess.check_output([program, "--version"], text=True)
    sources = {
        f"{name}/{module}.v": read_file(library().parent / _FOLDERS[name] / f"{module}.v")
        for name, modules in needed.items()
        for module in modules
    }
    digest = sha256(b"\0".join([version.encode(), *sources.values()]))
    cache = cache_folder()
    kept = work / "coq" if cache is None else cache / f"coq-{digest[:20]}"
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=kept.parent))
    try:
        for name in _FOLDERS:
            (fresh / name).mkdir()
        for file, source in sources.items():
            replace_file(fresh / file, source)
            run = _coqc(program, fresh, fresh / file)
            if run.returncode:
                raise InputError(
                    f"{file} of the proofs does not compile with {version.split(',')[0].strip()} "
                    f"({' '.join(run.stderr.split())[-200:]}): {TESTED} is tested, with the "
                    f"packages of `{MATHCOMP if needed != _TABLE else INSTALL}`"
                )
        # Another process may have been faster.
        with suppress(OSError):
            fresh.rename(kept)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return kept
