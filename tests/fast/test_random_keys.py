"""No random key is used twice: of networks when they are drawn, of runs when they begin and go on.

Two draws by one key are the same numbers, or parts of them. JAX follows the keys through a program
as it is traced; nothing is compiled.
"""

from typing import Any

import equinox as eqx
import jax
import pytest
from jax.errors import KeyReuseError

from fast.environments import make_environment
from fast.parts import DYNAMICS
from fast.training.compose import TrainConfig, configure
from fast.training.trainer import Trainer, make_trainer

RUNS: dict[str, TrainConfig] = {
    **{
        name: configure("graphs" if kind.reads_graphs else "lines", dynamics=name)
        for name, kind in DYNAMICS.items()
    },
    "heads, full rank, in a block": configure(
        "lines", dynamics="srwm", heads=2, start="full", block=True, parameters=16_000
    ),
    "skip": configure("lines", dynamics="gru", skip=True, hidden_layers=3),
    "learned p_B": configure("sets", dynamics="gru", p_b="learned"),
    "lifted p_B": configure("sets", dynamics="gru", p_b="lifted", loss="db"),
    "flow": configure("lines", dynamics="lstm", loss="subtb"),
    "replay": configure("sets", dynamics="markov", replay="reward", replay_capacity=100),
    "several seeds": configure("grid", dynamics="markov", seeds=2),
}


@pytest.mark.parametrize("name", RUNS)
def test_no_key_is_used_twice_to_begin(name: str) -> None:
    with jax.debug_key_reuse(True):
        trainer_of(name).shapes()


@pytest.mark.long
@pytest.mark.parametrize("name", RUNS)
def test_no_key_is_used_twice_to_go_on(name: str) -> None:
    trainer = trainer_of(name)
    with jax.debug_key_reuse(True):
        jax.eval_shape(lambda state: trainer.advance(state, 2), trainer.shapes())


def trainer_of(name: str) -> Trainer:
    config = RUNS[name]
    return make_trainer(config, make_environment(config.problem()))


def test_control_a_key_used_twice_is_found() -> None:
    class Twice(eqx.Module):
        weights: tuple[Any, Any]

        def __init__(self, key: Any):
            keys = jax.random.split(key, 3)
            self.weights = jax.random.normal(keys[1], (3, 2)), jax.random.normal(keys[1], (2,))

    with jax.debug_key_reuse(True), pytest.raises(KeyReuseError):
        eqx.filter_eval_shape(Twice, jax.random.key(0))
