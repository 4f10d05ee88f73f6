"""Changes an operator, a constant or a call of `fast` at random, and asks whether a test fails.

python -m tests.mutants --sample 300 --seed 0 --out FOLDER

Which tests call which function is found first, by running them once. Then each mutant is tried on
the tests that call what it changes, the quickest first, until one fails or two to three minutes of
tests have passed. What was found is kept in the folder: the same command goes on.
"""

import argparse
import random
import sys
from collections import Counter
from pathlib import Path

from tests.mutants import trial
from tests.mutants.callers import Recorder, read_callers
from tests.mutants.equivalent import reason_for
from tests.mutants.forks import ROOT, copy_project, pytest_in, warm_up
from tests.mutants.mutant import Mutant, mutants_of

# Rollout, losses and gradients, policies, dynamics, laws and estimates.
ROOMS = ("sampling", "balance", "training", "policies", "dynamics", "laws", "measure")
TESTS = (
    *(f"verify/crosscheck/test_{name}.py" for name in (
        "losses", "exploration", "rollouts", "laws", "gradients", "dynamics", "metrics", "backward",
        "log_z", "combined", "row_sampler", "projection", "unknown_z", "observations", "probes",
        "features", "kernels", "complete", "structure", "graph_networks", "environments",
        "dag_networks", "stochastic",
    )),
    *(f"tests/test_{name}.py" for name in (
        "exact_optima", "check_dynamics", "check_loss", "tabular", "credit", "log_z_start",
        "greeting", "initial_scale", "matrix", "reporting", "example_losses", "training", "hints",
        "regimes", "certificates_network", "kept_draws", "memory", "presets", "certify", "plots",
        "processes", "posterior_runs", "stochastic_runs", "distribute", "runs",
    )),
)  # fmt: skip
# Of one file of tests, in seconds.
LIMIT = 900.0


def files() -> list[str]:
    """The files of the rooms."""
    found = (path for room in ROOMS for path in sorted((ROOT / "fast" / room).rglob("*.py")))
    return [str(path.relative_to(ROOT)) for path in found]


def drawn(count: int, seed: int, changed: list[str]) -> list[Mutant]:
    """Mutants of the files, drawn without replacement."""
    mutants = [mutant for file in changed for mutant in mutants_of(file)]
    return random.Random(seed).sample(mutants, min(count, len(mutants)))


def find_callers(copy: Path, file: Path) -> None:
    """Runs the tests whose file is not yet known."""
    known = {caller.test.partition("::")[0] for caller in read_callers(file)}
    for test in TESTS:
        if test not in known:
            pytest_in(copy, [test], LIMIT, [Recorder(copy, "fast", file)], keep=True)
            print(f"run once: {test}", flush=True)


def main() -> int:
    """Tries the mutants; 1 if one survives that is not known to change nothing."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sample", type=int, default=300, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the choice")
    parser.add_argument("--out", type=Path, required=True, help="a folder for what is found")
    parser.add_argument("--only", metavar="FILE", help="only mutants of that file")
    given = parser.parse_args()
    folder: Path = given.out.resolve()
    copy, outcomes = folder / "copy", folder / "outcomes.jsonl"
    copy_project(copy)
    warm_up(folder / "programs")
    find_callers(copy, folder / "callers.jsonl")
    callers = read_callers(folder / "callers.jsonl")
    mutants = drawn(given.sample, given.seed, [given.only] if given.only else files())
    done = {found.mutant: found for found in trial.read(outcomes)}
    for mutant in mutants:
        if mutant not in done:
            done[mutant] = trial.attempt(mutant, callers, copy)
            trial.write(done[mutant], outcomes)
            print(f"{done[mutant].ending}: {mutant}", flush=True)
    return report([done[mutant] for mutant in mutants])


def report(trials: list[trial.Trial]) -> int:
    """Prints what became of the mutants; 1 if one survived that changes a result."""
    counts = Counter[str]()
    for mutant, ending, *_ in trials:
        reason = None if ending in ("killed", "did not end") else reason_for(mutant)
        counts["equivalent" if reason else ending] += 1
        if reason or ending in ("survived", "no test"):
            print(f"{'equivalent' if reason else ending}: {mutant}\n    {reason or ''}".rstrip())
    print(", ".join(f"{count} {ending}" for ending, count in sorted(counts.items())))
    return int(counts["survived"] + counts["no test"] > 0)


if __name__ == "__main__":
    sys.exit(main())
