"""Small lifted state graphs on which losses are tried."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.environments.tabular import NodeState, TabularEnvironment
from fast.sampling.trajectories import Trajectories
from reference.contract.errors import InputError
from reference.fields.field import log_float
from reference.lifted import Additive, Dynamics, Forgetful, History, LiftedDAG, lift
from reference.metrics import normalize
from reference.problems import EdgeAddition, Lines, Problem, enumerate_rewards


@dataclass(frozen=True)
class WrittenProblem:
    """A problem given by the children of every state, the initial one first, and by rewards.

    Terminal states have the children `()`.
    """

    rows: Mapping[str, tuple[str, ...]]
    rewards: Mapping[str, Fraction]

    @property
    def initial(self) -> str:
        """The state that is listed first."""
        return next(iter(self.rows))

    def children(self, state: str) -> tuple[str, ...]:
        """The children of a state."""
        return self.rows[state]

    def reward(self, terminal: str) -> Fraction:
        """`R(x)`, as listed; raises InputError if it is not listed."""
        if terminal not in self.rewards:
            raise InputError(
                f"WrittenProblem: the terminal state {terminal!r} has no reward: add it to rewards"
            )
        return self.rewards[terminal]


@dataclass(frozen=True, eq=False)
class Instance:
    """A lifted pointed DAG with exact rewards `R(x)`, and the environment of its base in float64.

    Without memory the lift is the DAG itself.
    """

    name: str
    lifted: LiftedDAG[Any]
    rewards: tuple[Fraction, ...]
    environment: TabularEnvironment

    @property
    def is_markovian(self) -> bool:
        """True if no state has two latents, so that policies on this lift are Markovian."""
        return len(self.lifted.dag.labels) == len(self.lifted.base.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """The lifted states as text; without memory the states."""
        return tuple(map(str, (self.lifted.base if self.is_markovian else self.lifted.dag).labels))

    @property
    def target(self) -> tuple[Fraction, ...]:
        """`R(x) / Z`, one per terminal."""
        return normalize(self.rewards)


def make_instance(
    name: str,
    problem: Problem[Any],
    dynamics: Dynamics[Any, Any] | None = None,
    kind: type[TabularEnvironment] = TabularEnvironment,
) -> Instance:
    """The instance of a problem, lifted by exact dynamics; by default without memory.

    Raises InputError if the problem breaks a rule.

    Args:
        name: its name in reports.
        problem: a problem that can be listed.
        dynamics: the exact latent dynamics; None for no memory.
        kind: the class of its environment.
    """
    environment = kind.from_problem(problem)
    dag = environment.dag
    rewards = enumerate_rewards(problem, dag)
    log_rewards = np.zeros(len(dag.labels))
    log_rewards[list(dag.terminals)] = [log_float(reward) for reward in rewards]
    # The rounding of float32 would be a residual of 1e-7.
    with jax.enable_x64(True):
        exact = jnp.asarray(log_rewards, jnp.float64)
    environment = eqx.tree_at(lambda made: made.log_rewards, environment, exact)
    lifted = lift(dag, Forgetful() if dynamics is None else dynamics)
    # Terminal states are listed in the order of the base, lifted or not.
    return Instance(name, lifted, rewards, environment)


def all_trajectories(instance: Instance) -> Trajectories:
    """Every complete trajectory, in the order of `dag.trajectories()` of the base, as a batch."""
    dag, horizon = instance.lifted.base, instance.environment.horizon
    taus = list(dag.trajectories())
    active = np.arange(horizon) < np.array([len(tau) for tau in taus])[:, None]
    edges = np.array([[*tau, *[tau[-1]] * (horizon - len(tau))] for tau in taus])
    before, after = np.array(dag.edges)[edges].transpose(2, 0, 1)
    actions = edges - np.array([row.start for row in dag.out_edges])[before]
    final = after[:, -1]
    return Trajectories(
        NodeState(jnp.asarray(np.insert(after, 0, 0, 1), jnp.int32)),
        jnp.asarray(np.where(active, actions, 0), jnp.int32),
        jnp.asarray(active),
        NodeState(jnp.asarray(final, jnp.int32)),
        jnp.asarray(np.asarray(instance.environment.log_rewards)[final]),
    )


def written(rows: str, **rewards: int) -> WrittenProblem:
    """A problem from text such as `"o: a x, a: x y"`; unlisted states are terminal."""
    children = {
        state.strip(): tuple(row.split())
        for state, row in (part.split(":") for part in rows.split(","))
    }
    ends = {v: () for row in children.values() for v in row if v not in children}
    return WrittenProblem(children | ends, {x: Fraction(r) for x, r in rewards.items()})


UNEQUAL = written("o: x u, u: y", x=1, y=1)
TRIANGLE = written("o: a x, a: x y", x=1, y=2)
TREE = written("o: a b, a: x y, b: z", x=1, y=2, z=4)
CROSSING = written("o: a b, a: x y, b: y z", x=1, y=2, z=3)
DIAMOND = written("o: a b, a: c, b: c, c: x y", x=1, y=2)
# With histories, c has two copies; one leads to x and not to y.
EXIT = written("o: a b, a: c y, b: c, c: x", x=1, y=1)
SHORTCUT = written("o: a b c, a: c, b: c y, c: x y", x=2, y=1)
TWO_STOREYS = written("o: a b, a: c, b: c, c: d e, d: x y, e: y", x=3, y=1)
# Rewards that are clipped where small numbers are feared, 78 nats apart.
STEEP = WrittenProblem(
    {"o": ("x", "y", "z"), "x": (), "y": (), "z": ()},
    {"x": Fraction(1, 10**17), "y": Fraction(1), "z": Fraction(10**17)},
)
# Every state has an action of its own to stop, as in graphs, sets and grids.
STOPS = written("o: p a b, a: q c, b: r c, c: s", p=1, q=2, r=3, s=4)


def small_instances() -> tuple[Instance, ...]:
    """The instances for every loss, those first that tell most losses apart.

    A tree, states with several parents, and paths of different lengths; without memory, with some,
    and with the full history; and two presets.
    """
    knows_a: Additive[str] = Additive(lambda state, latent: int(state == "a"))
    return (
        make_instance("two lengths", UNEQUAL),
        make_instance("triangle", TRIANGLE),
        make_instance("tree", TREE),
        make_instance("diamond with an exit, history", EXIT, History()),
        make_instance("diamond with a shortcut, history", SHORTCUT, History()),
        make_instance("two storeys, some memory", TWO_STOREYS, knows_a),
        make_instance("diamond", DIAMOND),
        make_instance("crossing", CROSSING),
        make_instance("graphs, history", EdgeAddition.minimal(), History()),
        make_instance("lines", Lines.minimal()),
    )


def describe(instance: Instance) -> str:
    """The edges of a lift as text: `o -> x u; u -> y`."""
    names = instance.names
    return "; ".join(
        f"{names[u]} -> {' '.join(names[v] for v in row)}"
        for u, row in enumerate(instance.lifted.dag.children)
        if row
    )
