"""Names of mutants for `mutmut run`, drawn with a seed, as many of each part of the project.

python -m tests.mutant_names --count 320 --seed 0 | xargs mutmut run

`mutmut run` must have made the mutants before: any name will do.
"""

import argparse
import json
from pathlib import Path
from random import Random

# The certificates come first: they are of the reference and of the front.
PARTS = (("reference.certificates.", "pdai.certifying."), ("reference.",), ("fast.",), ("pdai.",))


def drawn(folder: Path, count: int, seed: int) -> list[str]:
    """That many names, or all of a part that has fewer."""
    made = [json.loads(file.read_text()) for file in folder.rglob("*.py.meta")]
    left = sorted(name for of_file in made for name in of_file["exit_code_by_key"])
    chosen, random = list[str](), Random(seed)
    for prefixes in PARTS:
        own = [name for name in left if name.startswith(prefixes)]
        left = [name for name in left if not name.startswith(prefixes)]
        chosen += random.sample(own, min(count // len(PARTS), len(own)))
    return chosen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=320, help="of all parts together")
    parser.add_argument("--seed", type=int, default=0, help="of the choice")
    options = parser.parse_args()
    print(*drawn(Path("mutants"), options.count, options.seed), sep="\n")
