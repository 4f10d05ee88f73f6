"""The models that the tables compare, each as what it changes of a configuration.

Chosen on seeds that are not reported: one on the standard grid, and trials on SIX6. What
`tuning.py` found better since is in `dags.py`.
"""

from typing import Any

from pdai.experiments import base

Options = dict[str, Any]

MARKOV: Options = {"dynamics": "markov", "learning_rate": 3e-3}
PRINTED: Options = {"dynamics": "srwm", "skip": False, "learning_rate": 3e-3}
GRU_PLUS: Options = {
    "dynamics": "gru",
    "skip": True,
    "hidden_layers": 3,
    # Of 32 numbers, the gates alone would take the parameters of long sequences.
    "latent_size": 16,
    "learning_rate": 3e-3,
}

MODELS: dict[str, Options] = {base.MARKOVIAN: MARKOV, base.PRINTED: PRINTED, base.BEST: GRU_PLUS}
# For rows that cost much.
WITHOUT_PRINTED: dict[str, Options] = {base.MARKOVIAN: MARKOV, base.BEST: GRU_PLUS}
# Resetting tells what memory brings, where the state graph is no tree.
WITH_RESET: dict[str, Options] = {**MODELS, base.RESET: {**GRU_PLUS, "reset": True}}
