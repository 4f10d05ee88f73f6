"""`python -m tests.attack --minutes 10`: attacks at random, and a table of what happened."""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

from tests.attack import calls, commands
from tests.attack.kills import VICTIMS, Kills
from tests.attack.outcome import FAILURES, Ending, Outcome

Attack = Callable[[random.Random, Path], Iterator[Outcome]]

# Each with its share of the time.
KINDS: dict[str, tuple[float, Attack]] = {
    "calls of public functions": (0.2, lambda rng, _: calls.attacks(rng)),
    "commands": (0.2, commands.attacks),
    **{
        f"kill -9 of {name}": (
            0.1,
            lambda rng, scratch, name=name: Kills(name, scratch).attacks(rng),  # type: ignore[misc]
        )
        for name in VICTIMS
    },
}


def main() -> None:
    """Attacks for as long as is asked for; ends with 1 if one was not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=[*KINDS], help="only attacks of this kind")
    given = parser.parse_args()
    chosen = {name: KINDS[name] for name in ([given.only] if given.only else KINDS)}
    whole = sum(share for share, _ in chosen.values())
    endings = get_args(Ending)
    print(f"| attack | count | {' | '.join(endings)} |")
    print("|---|" + "---:|" * (1 + len(endings)), flush=True)
    failures = 0
    for name, (share, attack) in chosen.items():
        counts = Counter[str]()
        with tempfile.TemporaryDirectory() as folder:
            until = time.monotonic() + 60 * given.minutes * share / whole
            for outcome in attack(random.Random(given.seed), Path(folder)):
                counts[outcome.ending] += 1
                if outcome.ending in FAILURES:
                    print(outcome.story, file=sys.stderr, flush=True)
                if time.monotonic() > until:
                    break
        row = [f"{counts[ending]:,}" for ending in endings]
        print(f"| {name} | {counts.total():,} | {' | '.join(row)} |", flush=True)
        failures += sum(counts[ending] for ending in FAILURES)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
