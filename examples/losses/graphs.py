"""The small graphs on which published losses are judged."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.checking.instances import (
    EXIT,
    STOPS,
    TRIANGLE,
    UNEQUAL,
    Instance,
    WrittenProblem,
    make_instance,
    written,
)
from fast.environments import TabularEnvironment
from reference import History

BRANCH = written("o: a x, a: y z", x=1, y=2, z=3)
# Each state of these can stop, in p, q, ...
LINE_OF_STOPS = written("o: p a, a: q", p=1, q=2)

TREE, WAYS, MEMORY = "tree", "several ways", "memory"
GRAPHS = {
    TREE: make_instance("tree", BRANCH),
    WAYS: make_instance("triangle", TRIANGLE),
    MEMORY: make_instance("diamond with an exit, history", EXIT, History()),
}
STOPPING = {
    TREE: make_instance("line of stops", LINE_OF_STOPS),
    WAYS: make_instance("stops", STOPS),
    MEMORY: make_instance("stops, history", STOPS, History()),
}
TWO_LENGTHS = make_instance("two lengths", UNEQUAL)


class WithPotential(TabularEnvironment):
    """Tables with a potential beside them."""

    potentials: Any = None

    def log_potential(self, state: Any) -> Any:
        """The potential of a state, in nats."""
        return self.potentials[state.node]


def with_potential(
    problem: WrittenProblem, changed: Mapping[str, float], dynamics: Any = None
) -> Instance:
    """Potentials sin(1), sin(2), ... inside and `log R` at the ends, but for those given."""
    instance = make_instance("with potential", problem, dynamics, WithPotential)
    dag = instance.lifted.base
    potentials = np.sin(1 + np.arange(len(dag.labels)))
    for x, reward in zip(dag.terminals, instance.rewards, strict=True):
        potentials[x] = math.log(reward)
    for label, value in changed.items():
        potentials[dag.index[label]] = value
    with jax.enable_x64(True):
        environment = eqx.tree_at(
            lambda made: made.potentials,
            instance.environment,
            jnp.asarray(potentials),
            is_leaf=lambda leaf: leaf is None,
        )
    return dataclasses.replace(instance, environment=environment)
