"""A conditional problem: spins in a line at several inverse temperatures, with one network.

python -m examples.temperatures
"""

import math
from itertools import pairwise

import pdai


class Spins:
    """Eight spins, `+` or `-`, from left to right; each pair of equal neighbours gains `beta` nats.

    Attributes:
        contexts: the inverse temperatures that are trained on.
        held_out: one that the network is asked about and never saw.
    """

    initial = ""
    contexts = (0.0, 0.5, 1.0, 2.0)
    held_out = (1.5,)

    def children(self, state: str) -> tuple[str, ...]:
        """One spin more."""
        return () if len(state) == 8 else (state + "+", state + "-")

    def log_reward(self, terminal: str, beta: float) -> float:
        """`beta` for each pair of equal neighbours."""
        return beta * sum(a == b for a, b in pairwise(terminal))

    def log_z(self, beta: float) -> float:
        """`log( 2 (1 + e^beta)^7 )`: each spin but the first equals its neighbour or does not."""
        return math.log(2) + 7 * math.log1p(math.exp(beta))

    def features(self, state: str) -> list[float]:
        """Each spin, 0 where none is yet; the inverse temperature follows by itself."""
        spins = [1.0 if spin == "+" else -1.0 for spin in state]
        return spins + [0.0] * (8 - len(spins))


if __name__ == "__main__":
    run = pdai.train(Spins, dynamics="gru", loss="tb", steps=1_000, parameters=10_000)
    for name in run.report.contexts:
        print(f"beta = {name}: {pdai.certify(run.at(name))}")
        print("   ", *run.at(name).sample(4).states)
