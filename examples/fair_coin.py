"""A fair coin at every node of a decision diagram: a wrong law, and how it is seen.

The diagram, `fair_coin.nnf`, is `1 or 2 or 3` as d4 compiles it. All seven solutions should be
equally likely, but a coin gives those with few decisions before them more.

    python -m examples.fair_coin
"""

from pathlib import Path
from random import Random

import pdai
from reference.problems.circuits import Circuit
from reference.problems.solutions import Solution

CIRCUIT = Path(__file__).with_suffix(".nnf")


def coins(circuit: Circuit, count: int, seed: int) -> list[Solution]:
    """Solutions by a fair coin wherever both values of the next variable are possible."""
    rng, solutions = Random(seed), []
    for _ in range(count):
        state = circuit.initial
        while children := circuit.children(state):
            state = rng.choice(children)
        solutions.append(state)
    return solutions


def counts(circuit: Circuit, count: int, seed: int) -> list[Solution]:
    """Solutions by a coin that is weighted with the number of solutions on each side."""
    return circuit.sample(count, seed)


def certificates(count: int = 20_000) -> dict[str, pdai.Certificate]:
    """The certificates of both samplers, from samples; and of the coin, exactly."""
    circuit = Circuit.read(CIRCUIT)

    def coin(state: Solution) -> list[float]:
        children = circuit.children(state)
        return [1 / len(children)] * len(children)

    return {
        "weighted coin": pdai.certify(counts(circuit, count, 0), law=CIRCUIT),
        "fair coin": pdai.certify(coins(circuit, count, 0), law=CIRCUIT),
        "fair coin, exactly": pdai.certify(coin, circuit),
    }


if __name__ == "__main__":
    for name, certificate in certificates().items():
        print(f"{name}: {certificate}")
