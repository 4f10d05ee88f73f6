"""Graph networks against what colour refinement tells apart, and their latents and laws."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import optax
import pytest
from jax import lax

from fast.balance.losses import tb
from fast.balance.steps import Steps, evaluate
from fast.dynamics.base import AbstractDynamics
from fast.dynamics.graph_networks import Gate, TemporalGCNOptions, graphs_of
from fast.environments import GraphEnvironment, make_environment
from fast.environments.graphs import adjacency_matrix
from fast.laws.enumeration import Enumeration, enumerate_environment
from fast.laws.paths import as_batch
from fast.policies.backward import UniformBackward
from fast.policies.policy import Policy
from fast.training.compose import configure
from reference import Dynamics
from reference.contract.errors import InputError
from reference.problems import EdgeAddition, Graph, Lines
from reference.problems.graphs import graph
from verify.crosscheck.instances import filled
from verify.crosscheck.test_dynamics import GRAPH_NETWORKS
from verify.lib import forks
from verify.lib.gnn import Memory, PrintedTemporalDegree, TemporalDegree, relabel, wl_policies

Floats = npt.NDArray[np.float64]
Path = tuple[int, ...]

WIDTH = 12

# Instances I to IV of the audit, and the 6-cycle.
FORKS = {name: make() for name, make in forks.FORKS.items()}

Network = AbstractDynamics[Any]

DYNAMICS: dict[str, Callable[[EdgeAddition], Dynamics[Graph, Memory]]] = {
    "temporal": TemporalDegree,
    "temporal, constant": lambda problem: TemporalDegree(problem, forks.constant),
    "temporal, example": PrintedTemporalDegree,
}


class Instance(NamedTuple):
    """A problem as environment and enumerated, with every history of an inner state."""

    problem: EdgeAddition
    environment: GraphEnvironment
    enumeration: Enumeration
    histories: tuple[Path, ...]


@cache
def make_instance(problem: EdgeAddition) -> Instance:
    environment = make_environment(problem)
    assert isinstance(environment, GraphEnvironment)
    enumeration = enumerate_environment(problem, environment)
    histories: list[Path] = [(0,)]
    for path in histories:
        children = enumeration.dag.children[path[-1]]
        histories += [(*path, v) for v in children if enumeration.dag.children[v]]
    return Instance(problem, environment, enumeration, tuple(histories))


@pytest.fixture(scope="module")
def paper() -> Instance:
    return make_instance(EdgeAddition.paper())


@pytest.fixture(scope="module")
def featured() -> Instance:
    return make_instance(replace(EdgeAddition.paper(), features=(0, 1, 1, 0, 2, 1)))


def observe(instance: Instance) -> Floats:
    """The observations along all histories, padded with the last state."""
    # One shape for all forks, so that operations are compiled once for all.
    paths = list(instance.histories)
    paths += [paths[-1]] * (8 - len(paths))
    time = max(5, *map(len, paths))
    padded = np.array([[*path, *path[-1:] * (time - len(path))] for path in paths])
    observations: Floats = instance.enumeration.observations[padded].astype(np.float64)
    return observations


def random_networks(name: str, instance: Instance) -> Network:
    """Twenty networks with all weights and biases random, on a leading axis, in float64."""
    make, rng = GRAPH_NETWORKS[name], np.random.default_rng(1)
    with jax.enable_x64(True):
        shapes = jax.eval_shape(lambda: make(instance.environment, WIDTH, key=jax.random.key(0)))
        networks: Network = filled(
            shapes, lambda shape: rng.normal(size=(20, *shape)) * (2 / shape[0]) ** 0.5
        )
    return networks


def logits(instance: Instance, name: str) -> Floats:
    """Logits of random networks, at the end of every history; (networks, histories, actions)."""
    last, networks = [len(path) - 1 for path in instance.histories], random_networks(name, instance)
    with jax.enable_x64(True):
        observations = jnp.asarray(observe(instance))
        outputs = eqx.filter_vmap(lambda network: network.unroll(observations))(networks)
    ends: Floats = np.asarray(outputs)[:, np.arange(len(last)), last]
    return ends


# The environment


@pytest.mark.catches(
    "An edge is entered in one direction only.",
    "fast/environments/graphs.py",
    "matrix[i, j] = matrix[j, i] = True",
    "matrix[i, j] = True",
    only="matching",
)
@pytest.mark.crosscheck("fast.environments.graphs.adjacency_matrix")
@pytest.mark.parametrize("name", FORKS)
def test_graphs_are_observed_as_adjacency_matrices_to_which_actions_add_edges(name: str) -> None:
    fork = make_instance(FORKS[name])
    n = len(fork.problem.features)
    for label, row in zip(fork.enumeration.dag.labels, fork.enumeration.observations, strict=True):
        expected = [[(min(i, j), max(i, j)) in label.edges for j in range(n)] for i in range(n)]
        assert row.reshape(n, n).tolist() == expected
        assert adjacency_matrix(label.edges, n).tolist() == expected
    labels, child = fork.enumeration.dag.labels, fork.enumeration.child
    for u, a in np.argwhere(child >= 0):
        (added,) = set(labels[child[u, a]].edges) - set(labels[u].edges)
        assert added == fork.environment.edges[a]


# What the networks tell apart


def expected_classes(
    instance: Instance, dynamics: Dynamics[Graph, Memory] | None
) -> dict[tuple[int, int], int]:
    """For each history and legal action, the class of the action under joint refinement."""
    policies = wl_policies(instance.problem, dynamics)
    dag, labels = policies.dag, instance.enumeration.dag.labels
    number = {}
    for edge, (u, v) in enumerate(dag.edges):
        child = dag.labels[v][0] if dag.children[v] else dag.labels[v]
        number[dag.labels[u], child] = policies.classes[edge]
    classes = {}
    for row, path in enumerate(instance.histories):
        latent = None if dynamics is None else dynamics.initial
        for node in path[1:]:
            latent = None if dynamics is None else dynamics.advance(labels[node], latent)  # type: ignore[arg-type]
        for action in np.flatnonzero(instance.enumeration.child[path[-1]] >= 0).tolist():
            child = labels[instance.enumeration.child[path[-1], action]]
            classes[row, action] = number[(labels[path[-1]], latent), child]
    return classes


class Gaps(NamedTuple):
    """The largest distance of logits of one class, and the least of logits of two classes."""

    within: float
    between: float


def gaps(instance: Instance, name: str, dynamics: Dynamics[Graph, Memory] | None) -> Gaps:
    """Two actions are as far apart as some random network sets them, relative to all."""
    classes = expected_classes(instance, dynamics)
    values = logits(instance, name)
    rows = np.array([values[:, row, action] for row, action in classes])
    rows = rows / np.abs(rows).max(axis=0)
    apart = np.abs(rows[:, None] - rows[None]).max(axis=2)
    numbers = np.array(list(classes.values()))
    same = numbers[:, None] == numbers[None]
    return Gaps(apart[same].max(), apart[~same].min(initial=np.inf))


# Rounding in float64 of sums that differ in their order, and what no rounding explains.
TIED, APART = 1e-13, 1e-4


class Separation(NamedTuple):
    """The classes that a network tells apart, and those of joint refinement under some dynamics.

    It says whether actions of one class have equal logits, and those of two classes other ones;
    None where that is not asked. The refinement of "" is without any dynamics.
    """

    network: str
    dynamics: str
    ties: bool | None
    parts: bool | None
    forks: tuple[str, ...] = tuple(FORKS)


SEPARATIONS = [
    Separation("markovian, graphconv", "", True, True),
    Separation("temporal", "temporal", True, True),
    Separation("temporal, graphconv", "temporal", True, True),
    Separation("temporal, constant", "temporal, constant", True, True),
    Separation("temporal, example", "temporal, example", True, True),
    Separation("markovian", "", True, None, ("paths", "marked", "mirrored")),
    # The layer of GCN is coarser than refinement where components are regular.
    Separation("markovian", "", True, False, ("matching",)),
    Separation("markovian", "", True, True, ("paper",)),
    # Controls: the classes of other dynamics are not those of the network.
    Separation("temporal", "", False, None, ("matching",)),
    Separation("temporal, constant", "", True, None, ("matching",)),
    Separation("temporal, constant", "temporal", None, False, ("matching",)),
]


@pytest.mark.parametrize(
    ("row", "fork_name"), [(row, name) for row in SEPARATIONS for name in row.forks]
)
def test_networks_tell_apart_exactly_what_joint_refinement_does(
    row: Separation, fork_name: str
) -> None:
    instance = make_instance(FORKS[fork_name])
    dynamics = DYNAMICS[row.dynamics](instance.problem) if row.dynamics else None
    measured = gaps(instance, row.network, dynamics)
    if row.ties is not None:
        assert measured.within <= TIED if row.ties else measured.within >= APART
    if row.parts is not None:
        assert measured.between >= APART if row.parts else measured.between <= TIED


def test_control_two_layers_do_not_see_what_differs_in_the_third_round() -> None:
    # The ends of paths of three and of four nodes.
    edges = [(0, 1), (1, 2), (2, 3)]
    inner = tuple(graph(edges[:size]) for size in range(4))
    ends = (graph([*edges[:2], (0, 2)]), graph([*edges, (0, 3)]))
    problem = EdgeAddition((0,) * 6, inner, ends, (Fraction(1, 2), Fraction(1, 2)))
    measured = gaps(make_instance(problem), "markovian, graphconv", None)
    assert measured.within <= TIED
    assert measured.between <= TIED


def relabelled(problem: EdgeAddition, image: tuple[int, ...]) -> EdgeAddition:
    """The problem in which node `v` is called `image[v]`."""
    features = [0] * len(image)
    for v, feature in enumerate(problem.features):
        features[image[v]] = feature
    return EdgeAddition(
        tuple(features),
        tuple(relabel(state, image) for state in problem.inner),
        tuple(relabel(state, image) for state in problem.terminals),
        problem.rewards,
    )


def change_under_relabelling(name: str, instance: Instance, image: tuple[int, ...]) -> float:
    """The difference of the logits of the same edges, relative to the largest."""
    other = make_instance(relabelled(instance.problem, image))
    labels, index = instance.enumeration.dag.labels, other.enumeration.dag.index
    histories = tuple(
        tuple(index[relabel(labels[node], image)] for node in path) for path in instance.histories
    )
    where = [
        other.environment.edges.index((min(image[i], image[j]), max(image[i], image[j])))
        for i, j in instance.environment.edges
    ]
    ours = logits(instance, name)
    theirs = logits(other._replace(histories=histories), name)[:, :, where]
    return float(np.abs(ours - theirs).max() / np.abs(ours).max())


IMAGES = [(5, 3, 1, 0, 4, 2), (1, 2, 3, 4, 5, 0)]


# Those that see how nodes are numbered.
SEEING = ("ordered", "identifiers", "laplacian")
NUMBERED = [name for name in GRAPH_NETWORKS if name.endswith(SEEING)]


@pytest.mark.parametrize("name", sorted(GRAPH_NETWORKS.keys() - set(NUMBERED)))
def test_networks_are_equivariant_under_relabelling(
    name: str, paper: Instance, featured: Instance
) -> None:
    assert change_under_relabelling(name, paper, IMAGES[0]) <= TIED
    assert change_under_relabelling(name, featured, IMAGES[1]) <= TIED


@pytest.mark.parametrize("name", NUMBERED)
def test_control_a_network_that_sees_how_nodes_are_numbered_is_not_equivariant(
    name: str, paper: Instance
) -> None:
    assert max(change_under_relabelling(name, paper, image) for image in IMAGES) >= APART


def test_control_the_printed_order_separates_tied_pairs_by_their_numbers() -> None:
    # The isolated node is 2: the larger end of one of the two last edges, the smaller of the other.
    instance = make_instance(relabelled(EdgeAddition.mirrored(), (2, 0, 1, 3, 4)))
    dynamics = TemporalDegree(instance.problem)
    assert gaps(instance, "temporal", dynamics).within <= TIED
    assert gaps(instance, "temporal, ordered", dynamics).within >= APART


# Training


def terms_of_all(instance: Instance) -> Callable[[Network], Steps]:
    """The terms of all trajectories, by a network."""
    environment, dag = instance.environment, instance.enumeration.dag
    every = as_batch(environment, [dag.states(tau) for tau in dag.trajectories()])
    return lambda network: evaluate(
        Policy(network, UniformBackward(), environment.actions), environment, every
    )


@pytest.mark.parametrize("problem", [EdgeAddition.matching, EdgeAddition.paper])
def test_training_comes_below_the_bound_with_path_features(
    problem: Callable[[Fraction], EdgeAddition],
) -> None:
    """By Adam on the exact loss of trajectory balance; the rewards sum to 1, so log Z is 0."""
    instance, optimizer = make_instance(problem(Fraction(9, 10))), optax.adam(1e-2)
    dag, rewards = instance.enumeration.dag, np.array(instance.enumeration.rewards, float)
    at_end = np.equal.outer(dag.terminals, [dag.end(tau) for tau in dag.trajectories()])
    terms = terms_of_all(instance)

    def off_target(network: Network) -> Any:
        p = jnp.exp(terms(network).log_p_f.sum(1))
        return jnp.abs(at_end @ p - rewards).sum() / 2

    def step(carry: Any, _: None) -> tuple[Any, None]:
        network, state = carry
        gradient = jax.grad(lambda it: tb(terms(it), jnp.zeros(())))(network)
        updates, state = optimizer.update(gradient, state)
        return (optax.apply_updates(network, updates), state), None

    @jax.jit
    def before_and_after(key: Any) -> Any:
        network = GRAPH_NETWORKS["temporal"](instance.environment, WIDTH, key=key)
        (trained, _), _ = lax.scan(step, (network, optimizer.init(network)), length=300)
        return off_target(network), off_target(trained)

    before, after = map(float, before_and_after(jax.random.key(0)))
    assert before == pytest.approx(0.4, abs=0.05)
    assert after <= 0.01


def test_control_no_gradient_trains_a_markovian_network_on_a_forced_instance(
    paper: Instance,
) -> None:
    networks, terms = random_networks("markovian", paper), terms_of_all(paper)
    with jax.enable_x64(True):
        of_first = jax.grad(lambda network: terms(network).log_p_f[0].sum())
        leaves = jax.tree.leaves(jax.jit(jax.vmap(of_first))(networks))
    assert max(np.abs(leaf).max() for leaf in leaves) <= 1e-11


# Input


@pytest.mark.crosscheck("fast.dynamics.graph_networks.graphs_of")
def test_graph_networks_are_given_the_environment_of_graphs_and_no_other(paper: Instance) -> None:
    assert graphs_of(paper.environment) is paper.environment
    with pytest.raises(InputError, match="a graph network on LinesEnvironment"):
        graphs_of(make_environment(Lines.laplaces(3, 1, seed=0)))


def test_the_gate_of_a_configuration_is_that_of_its_network(paper: Instance) -> None:
    observations, features = jnp.asarray(observe(paper)), []
    for gate in get_args(Gate):
        options = configure("graphs", dynamics="temporal-gcn", gate=gate).dynamics
        assert isinstance(options, TemporalGCNOptions)
        network = options.build(
            paper.environment, paper.environment.actions, 4, key=jax.random.key(0)
        )
        latent = network.initial((len(observations),))
        for time in range(1, observations.shape[1]):
            latent = network.advance(latent, observations[:, time])
        features.append(np.asarray(latent.m))
    # With a constant gate the feature is what the state tells: degrees gained since the start.
    degrees = observations.reshape(*observations.shape[:2], paper.environment.nodes, -1).sum(-1)
    gained = np.asarray(degrees[:, -1] - degrees[:, 0])
    by_size, constant = features
    assert np.array_equal(constant, gained)
    assert not np.allclose(by_size, gained)
    with pytest.raises(InputError, match="gate is 'size'"):
        configure("graphs", dynamics="temporal-gcn", gate="size")
    with pytest.raises(InputError, match="gate is 'constant'"):
        configure("graphs", dynamics="gcn", gate="constant")
