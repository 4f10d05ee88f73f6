"""The models that the tables compare, each as what it changes of a configuration.

Of each kind of network it is the form that was best in study:srwm_best, which tried equally many of
each, on a seed and instances that are not reported: on sets, on sequences, on the grid and on a
walk. What is built in any order has the forms of sets, what is built from left to right those of
sequences.
"""

from typing import Any

from pdai.experiments import base
from pdai.experiments.srwm_best import FORMS

Options = dict[str, Any]

# The best in every row and of every kind, but for one block.
RATE = 1e-2


def _models(markovian: str, srwm: str, gru: str) -> dict[str, Options]:
    """The columns of a table, by the names of their forms in the search."""
    forms = {
        base.MARKOVIAN: markovian,
        base.PRINTED: "SRWM, printed",
        base.STRONGEST: srwm,
        base.BEST: gru,
    }
    return {name: {**FORMS[form], "learning_rate": RATE} for name, form in forms.items()}


SETS = _models("Markovian, 4 layers", "SRWM, block", "GRU, skip")
SEQUENCES = _models("Markovian, 2 layers", "SRWM, skip", "GRU, 16, skip")
GRIDS = _models("Markovian, 2 layers", "SRWM, skip", "GRU")
WALKS = _models("Markovian, 2 layers", "SRWM, block", "GRU")


def with_reset(models: dict[str, Options]) -> dict[str, Options]:
    """The same, and the GRU reset, which tells what memory brings where states have many pasts."""
    return {**models, base.RESET: {**models[base.BEST], "reset": True}}


# Those of before there was a search, which fig:setsa, the lines and earlier studies keep.
FIRST_RATE = 3e-3
FIRST_MARKOV: Options = {"dynamics": "markov", "learning_rate": FIRST_RATE}
FIRST_SRWM: Options = {"dynamics": "srwm", "skip": False, "learning_rate": FIRST_RATE}
FIRST_GRU: Options = {
    "dynamics": "gru",
    "skip": True,
    "hidden_layers": 3,
    # Of 32 numbers, the gates alone would take the parameters of long sequences.
    "latent_size": 16,
    "learning_rate": FIRST_RATE,
}
