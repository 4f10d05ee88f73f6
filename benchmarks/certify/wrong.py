"""Samples that expose each wrong sampler: `python benchmarks/certify/wrong.py`.

Numbers of samples are doubled from 32 on, each with draws of its own, until a sampler is exposed.
"""

from typing import Any

from benchmarks.harness import Table
from tests.certificates.test_wrong_samplers import SAMPLES, WRONG, exposed


def needed(policy: Any, regime: str, options: dict[str, Any]) -> str:
    """The least power of two that exposes a sampler, or that it is refused."""
    count = 32
    while (answer := exposed(policy, regime, count, **options)) is None:
        count *= 2
        if count > SAMPLES:
            return f"more than {SAMPLES:,}"
    return "refused" if answer.startswith("refused") else f"{count:,}"


if __name__ == "__main__":
    table = Table("python benchmarks/certify/wrong.py")
    for name, (policy, options) in WRONG.items():
        needs = {regime: needed(policy, regime, options) for regime in ("Z", "S")}
        table.add({"sampler": name, **needs})
