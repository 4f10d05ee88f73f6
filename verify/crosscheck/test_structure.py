"""Structure learning: what networks on DAGs see, closures on the way, uniform graphs."""

from collections import Counter
from typing import Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest

from fast.dynamics.arc_scorer import ArcScorer
from fast.dynamics.graph_networks import GCNNetwork, TemporalGCNNetwork, scorer_of
from fast.encoding import GraphCode
from fast.environments import make_environment
from fast.training.compose import configure
from pdai.posteriors.environments import StructureEnvironment
from pdai.posteriors.uniform_dags import UniformDags
from reference.fields.field import log_float
from reference.posterior import StructureLearning
from reference.posterior.networks import Network
from verify.crosscheck.compare import excess
from verify.crosscheck.instances import filled
from verify.crosscheck.test_dynamics import GRAPH_NETWORKS
from verify.lib.all_dags import all_dags, has_path

Floats = npt.NDArray[np.float64]
NODES, WIDTH = 4, 5
PROBLEM = StructureLearning.random(NODES, rows=20, seed=2)
# Edges from u to v, in the order in which two histories add them; then they stop.
HISTORIES = (((0, 1), (2, 1), (1, 3), (0, 3)), ((0, 3), (1, 3), (2, 1), (0, 1)))


@pytest.fixture(scope="module", params=get_args(GraphCode))
def environment(request: pytest.FixtureRequest) -> StructureEnvironment:
    made = make_environment(PROBLEM, graph_code=request.param)
    assert isinstance(made, StructureEnvironment)
    return made


def matrices(history: tuple[tuple[int, int], ...]) -> Floats:
    """The adjacency matrices along a history, the last one twice, as it stops."""
    adjacencies = [np.zeros((NODES, NODES))]
    for u, v in history:
        adjacencies.append(adjacencies[-1].copy())
        adjacencies[-1][u, v] = 1
    return np.array([*adjacencies, adjacencies[-1]])


def observed(environment: StructureEnvironment, history: tuple[tuple[int, int], ...]) -> Floats:
    """The observations along a history."""
    rows = []
    for i, matrix in enumerate(matrices(history)):
        parents = tuple(int(sum(2**u for u in np.flatnonzero(column))) for column in matrix.T)
        state = environment.encode(Network(parents, i > len(history)))
        rows.append(np.asarray(environment.observe(state), np.float32))
    return np.array(rows)


@pytest.mark.crosscheck(
    "fast.dynamics.arc_scorer.ArcScorer.adjacency",
    "fast.dynamics.arc_scorer.ArcScorer.degree",
    "fast.dynamics.graph_networks.scorer_of",
)
def test_a_network_reads_the_edges_of_a_dag_with_their_directions(
    environment: StructureEnvironment,
) -> None:
    scorer = scorer_of(environment, WIDTH, key=jax.random.key(0))
    assert isinstance(scorer, ArcScorer)
    for history in HISTORIES:
        drawn = matrices(history)
        shown = scorer.adjacency(jnp.asarray(observed(environment, history)))
        assert np.array_equal(shown, drawn)
        assert np.array_equal(scorer.degree(shown), drawn.sum(-1) + drawn.sum(-2))


@pytest.mark.parametrize("name", ["markovian", "temporal", "temporal, constant"])
def test_only_edges_that_are_weighed_by_when_they_came_tell_two_ways_to_a_dag_apart(
    name: str, environment: StructureEnvironment
) -> None:
    shapes = jax.eval_shape(lambda: GRAPH_NETWORKS[name](environment, WIDTH, key=jax.random.key(0)))
    rng = np.random.default_rng(3)
    network = filled(shapes, lambda shape: rng.normal(size=shape))
    ways = [*HISTORIES, tuple((v, u) for u, v in HISTORIES[0])]
    seen = jnp.asarray(np.array([observed(environment, way) for way in ways]))
    first, second, turned = np.asarray(eqx.filter_jit(network.unroll)(seen))[:, -1]
    assert (np.abs(first - second).max() > 1e-3) == (name == "temporal")
    # Control: a column and its row are not alike.
    assert np.abs(first - turned).max() > 1e-3


def test_an_options_network_is_that_of_the_environment(environment: StructureEnvironment) -> None:
    for name, kind in (("gcn", GCNNetwork), ("temporal-gcn", TemporalGCNNetwork)):
        options = configure("structure", nodes=NODES, dynamics=name).dynamics
        network = options.build(environment, environment.actions, 4, key=jax.random.key(0))
        assert type(network) is kind
        assert network.output == environment.actions
    constant = configure("structure", nodes=NODES, dynamics="temporal-gcn", gate="constant")
    network = constant.dynamics.build(environment, environment.actions, 4, key=jax.random.key(0))
    assert isinstance(network, TemporalGCNNetwork)
    assert network.gate == "constant"


# The environment.


def test_the_closure_is_kept_along_the_way_at_a_size_beyond_enumeration() -> None:
    problem = StructureLearning.random(8, rows=50, max_parents=3)
    environment = StructureEnvironment.from_problem(problem)
    step, mask = eqx.filter_jit(environment.step), eqx.filter_jit(environment.mask)
    rng = np.random.default_rng(0)
    state = environment.initial()
    for _ in range(environment.horizon + 1):
        label = environment.decode(jax.tree.map(np.asarray, state))
        reach = np.array(
            [[has_path(label.parents, u, v) for v in range(8)] for u in range(8)], bool
        )
        assert np.array_equal(state.reach, reach)
        if label.stopped:
            break
        legal = np.flatnonzero(mask(state))
        assert len(legal) == len(problem.children(label))
        # Stops only when nothing else is left.
        action = rng.choice(legal[:-1]) if len(legal) > 1 else legal[-1]
        state = step(state, jnp.int32(action))
    assert label.stopped
    assert (
        len(label.edges)
        == sum(min(i, problem.max_parents) for i in range(problem.nodes))
        == environment.horizon - 1
    )
    log_reward = float(environment.log_reward(state))
    assert log_reward == pytest.approx(log_float(problem.reward(label)), rel=1e-5)


@pytest.mark.crosscheck("pdai.posteriors.uniform_dags.UniformDags.draw")
@pytest.mark.parametrize("most", [3, 1])
def test_every_graph_within_the_limit_is_drawn_equally_often(most: int) -> None:
    graphs = [g for g in all_dags(4) if max(mask.bit_count() for mask in g) <= most]
    assert len(graphs) == StructureLearning.uniform(4, most).z()
    draws = 40 * len(graphs)
    keys = jax.random.split(jax.random.key(0), draws)
    adjacencies = np.asarray(jax.jit(jax.vmap(UniformDags.of(4, most).draw))(keys))
    masks = (adjacencies * (1 << np.arange(4))[:, None]).sum(axis=1)
    counts = Counter(map(tuple, masks.tolist()))
    assert set(counts) <= set(graphs)
    each = [counts[graph] for graph in graphs]
    assert excess(each, np.full(len(graphs), 40.0)) <= 1
    # Control: the same graphs are not drawn in proportion to their edges.
    edges = np.array([1 + sum(mask.bit_count() for mask in g) for g in graphs])
    assert excess(each, draws * edges / edges.sum()) > 1


def test_random_graphs_at_full_size_are_acyclic_and_within_the_limit() -> None:
    environment: Any = make_environment(StructureLearning.uniform(8, max_parents=2))
    keys = jax.random.split(jax.random.key(1), 200)
    final = jax.tree.map(np.asarray, jax.jit(jax.vmap(environment.random_terminal))(keys))
    assert final.adjacency.sum(axis=1).max() == 2
    assert not (final.reach & final.reach.transpose(0, 2, 1) & ~np.eye(8, dtype=bool)).any()
