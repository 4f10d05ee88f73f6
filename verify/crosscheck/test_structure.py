"""Structure learning: networks on DAGs by their equations, closures on the way, uniform graphs."""

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
from fast.environments.structure import StructureEnvironment
from fast.environments.uniform_dags import UniformDags
from fast.training.compose import configure
from reference.balance import log_float
from reference.problems import StructureLearning
from reference.problems.networks import Network
from verify.crosscheck.compare import excess
from verify.crosscheck.instances import filled
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
    """What the environment shows along a history."""
    rows = []
    for i, matrix in enumerate(matrices(history)):
        parents = tuple(int(sum(2**u for u in np.flatnonzero(column))) for column in matrix.T)
        state = environment.encode(Network(parents, i > len(history)))
        rows.append(np.asarray(environment.observe(state), np.float64))
    return np.array(rows)


def random_network(kind: Any, environment: StructureEnvironment, **options: Any) -> Any:
    """With all weights and biases random, in float64."""
    rng = np.random.default_rng(3)
    with jax.enable_x64(True):
        shapes = jax.eval_shape(lambda: kind(environment, WIDTH, key=jax.random.key(0), **options))
        return filled(shapes, lambda shape: rng.normal(size=shape))


def literal_logits(network: Any, history: tuple[tuple[int, int], ...]) -> Floats:
    """The equations of `ArcScorer` along a trajectory, with sums over lists of neighbours."""
    scorer, trajectory = network.scorer, matrices(history)
    (first, second), (bias, other), (U, V), c, w, pooled, pooled_c, stop = jax.tree.map(
        lambda leaf: np.asarray(leaf, np.float64),
        (scorer.weights, scorer.biases, scorer.ends, scorer.hidden_bias, scorer.readout,
         scorer.pooled, scorer.pooled_bias, scorer.stop),
    )  # fmt: skip
    m = np.zeros(NODES)
    outputs = []
    for t, A in enumerate(trajectory):
        if t:
            before = trajectory[t - 1]
            gate = 1.0
            if isinstance(network, TemporalGCNNetwork) and network.gate == "inverse-size":
                gate = 1 / (1 + before.sum())
            for u, v in np.argwhere(before != A):
                m[u] += gate
                m[v] += gate
        X = [np.eye(NODES)[v] for v in range(NODES)]
        if isinstance(network, TemporalGCNNetwork):
            X = [np.append(row, m[v]) for v, row in enumerate(X)]

        def seen(H: list[Floats], v: int, A: Floats = A) -> Floats:
            into = sum((H[u] for u in range(NODES) if A[u, v]), 0 * H[v])
            out = sum((H[u] for u in range(NODES) if A[v, u]), 0 * H[v])
            return np.concatenate([H[v], into, out])

        H = [np.maximum(seen(X, v) @ first + bias, 0) for v in range(NODES)]
        f = [seen(H, v) @ second + other for v in range(NODES)]
        row = [
            w @ np.maximum(f[u] @ U + f[v] @ V + c, 0)
            for u in range(NODES) for v in range(NODES) if u != v
        ]  # fmt: skip
        outputs.append([*row, stop @ np.maximum(np.mean(f, axis=0) @ pooled + pooled_c, 0)])
    return np.array(outputs)


@pytest.mark.crosscheck(
    "fast.dynamics.arc_scorer.ArcScorer.__call__",
    "fast.dynamics.arc_scorer.ArcScorer.adjacency",
    "fast.dynamics.arc_scorer.ArcScorer.degree",
    "fast.dynamics.graph_networks.scorer_of",
)
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (GCNNetwork, {}),
        (TemporalGCNNetwork, {"gate": "inverse-size"}),
        (TemporalGCNNetwork, {"gate": "constant"}),
    ],
)
def test_networks_on_dags_equal_their_equations(
    kind: Any, options: Any, environment: StructureEnvironment
) -> None:
    network = random_network(kind, environment, **options)
    assert isinstance(scorer_of(environment, WIDTH, key=jax.random.key(0)), ArcScorer)
    ends = []
    with jax.enable_x64(True):
        observations = jnp.asarray(np.array([observed(environment, h) for h in HISTORIES]))
        logits = np.asarray(eqx.filter_jit(lambda n, o: n.unroll(o))(network, observations))
        shown = network.scorer.adjacency(observations)
        drawn = np.array([matrices(history) for history in HISTORIES])
        assert np.array_equal(shown, drawn)
        assert np.array_equal(network.scorer.degree(shown), drawn.sum(-1) + drawn.sum(-2))
        for history, row in zip(HISTORIES, logits, strict=True):
            expected = literal_logits(network, history)
            # float64: sums of some tens of terms.
            assert np.abs(row - expected).max() <= 1e-12 * np.abs(expected).max()
            assert expected.shape == (len(history) + 2, environment.actions)
            # A column and its row are not alike: control of directions.
            turned = literal_logits(network, tuple((v, u) for u, v in history))
            assert np.abs(row - turned).max() > 1e-3
            ends.append(row[-1])
        # Step by step, as in sampling.
        latent = network.initial((2,))
        for t in range(observations.shape[1]):
            if t:
                latent = network.advance(latent, observations[:, t])
            step = np.asarray(network.read(latent, observations[:, t]))
            assert np.abs(step - logits[:, t]).max() <= 1e-12 * np.abs(logits).max()
    # Both histories end in one graph: only new edges that are weighed by when they came tell.
    apart = np.abs(ends[0] - ends[1]).max()
    assert (apart > 1e-3) == (options.get("gate") == "inverse-size")


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


@pytest.mark.crosscheck("fast.environments.uniform_dags.UniformDags.draw")
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
