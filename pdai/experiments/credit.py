"""Whether memory carries credit: a reward that is decided by the first letters, and seen late."""

from typing import Any

from fast.training.compose import configure
from pdai.experiments.aliasing import MODELS
from pdai.experiments.base import BEST, MARKOVIAN, RESET, STRONGEST, Cell, Experiment, cells

# One instance of 4 letters for all lengths: the reward of a string is that of its first two.
_COMMON: dict[str, Any] = {
    "letters": 4, "decisive": 2, "loss": "db", "parameters": 10_000, "steps": 500,
    "evaluations": 5, "epsilon": 0.0,
}  # fmt: skip
LENGTHS = (3, 5, 7)


def _cells() -> tuple[Cell, ...]:
    found: list[Cell] = []
    for length in LENGTHS:
        config = configure("syn", length=length, **_COMMON)
        found += cells(f"{length} letters, seen", config, MODELS)
        found += cells(f"{length} letters, last one seen", config.changed(last=1), MODELS)
    return tuple(found)


EXPERIMENT = Experiment(
    label="study:credit",
    title="TV after 500 steps where the reward is decided early and seen late",
    claim="",
    setting=(
        "Strings of 3, 5 and 7 out of 4 letters, whose reward depends on the first two alone; all "
        "letters are seen, or the length and the last letter. The loss is detailed balance: what a "
        "first letter is worth comes back through the flows of all states after it. The law is in "
        "every class: a policy that sees the length, and of the first two letters the last, "
        "samples it exactly, since the reward is a product. But flows that do not see the first "
        "letters cannot balance: so a Markovian network has no way to pass the credit on where "
        "they are hidden, and one with memory has. The prediction of the text, that the Markovian "
        "assumption hampers the propagation of signals, would be a difference in the rows where "
        "all is seen, growing with the length."
    ),
    metric="tv",
    cells=_cells(),
    finding=(
        "Where all letters are seen, memory brings nothing at any length: after 500 steps all "
        "four networks are between 0.0004 and 0.015, and no difference counts but for those of "
        "seeds. So there is no sign that the Markovian assumption hampers the propagation of "
        "signals. Where the first letters are hidden, a Markovian network stays at 0.13 at "
        "every length, as flows that do not see the letters cannot balance, although the law "
        "itself is in its class; so does the GRU without its memory. The GRU ends below 0.008 "
        "at every length, and the SRWM at its best at 0.001 with 3 letters, 0.017 with 5 and "
        "0.10 with 7: over six steps it does not carry a letter as well as a gate does."
    ),
    draw="rows",
    compared=(MARKOVIAN, BEST),
    also=((RESET, BEST), (MARKOVIAN, STRONGEST)),
    seeds=(0, 1, 2),
)
