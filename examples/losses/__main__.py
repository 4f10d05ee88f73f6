"""Judges the losses of the laboratory again, and compares with what is declared.

python -m examples.losses              # all; exit status 1 where one comes out otherwise
python -m examples.losses --only TLM   # those whose name has TLM
python -m examples.losses --write      # also writes the page and the counterexamples
"""

import argparse
import sys

from examples.losses.judging import Finding, Judged, collected, judged
from examples.losses.page import PAGE, as_json, page, slug
from examples.losses.vectors import FOLDER


def compared(each: Judged, *, explain: bool = True) -> tuple[dict[str, Finding], list[str]]:
    """The findings for a loss by condition, and what contradicts its declaration."""
    findings = {case.when: judged(case, explain=explain) for case in each.every}
    outcomes = {when: finding.outcome for when, finding in findings.items()}
    faults = [
        f"{each.name}, {case.when}: {outcomes[case.when]}, but declared {case.outcome}"
        for case in each.every
        if outcomes[case.when] != case.outcome
    ]
    if not each.allows(outcomes):
        faults.append(f"{each.name}: not {each.verdict}, by {outcomes}")
    return findings, faults


def written(each: Judged, findings: dict[str, Finding]) -> None:
    """Writes the counterexamples of a loss."""
    FOLDER.mkdir(exist_ok=True)
    for case in each.every:
        example = findings[case.when].example
        if example is not None:
            (FOLDER / slug(each.name, case.when)).write_text(as_json(case, example))


def main(arguments: list[str]) -> int:
    """The exit status of a run."""
    parser = argparse.ArgumentParser(prog="python -m examples.losses", description=__doc__)
    parser.add_argument("--only", default="", help="judge the losses whose name has this text")
    parser.add_argument("--write", action="store_true", help="write the page and the files")
    options = parser.parse_args(arguments)
    losses = {name: each for name, each in collected().items() if options.only in name}
    faults = []
    for name, each in losses.items():
        findings, wrong = compared(each, explain=options.write)
        faults += wrong
        if options.write:
            written(each, findings)
        cells = ", ".join(f"{when}: {finding.outcome}" for when, finding in findings.items())
        print(f"{name}: {each.verdict} ({cells})", flush=True)
    if options.write:
        PAGE.write_text(page(PAGE.read_text()))
    for fault in faults:
        print(f"NOT AS DECLARED: {fault}", file=sys.stderr)
    return 1 if faults or not losses else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
