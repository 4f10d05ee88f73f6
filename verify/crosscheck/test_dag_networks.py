"""Graph networks on DAGs against their equations, node by node, and with variables renamed."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest

from fast.dynamics.arc_scorer import ArcScorer
from fast.dynamics.graph_networks import GCNNetwork, TemporalGCNNetwork, scorer_of
from fast.environments import make_environment
from fast.environments.structure import StructureEnvironment
from fast.training.compose import configure
from reference.problems import StructureLearning
from reference.problems.networks import Network
from verify.crosscheck.instances import filled

Floats = npt.NDArray[np.float64]
NODES, WIDTH = 4, 5
PROBLEM = StructureLearning.random(NODES, rows=20, seed=2)
# Edges from u to v, in the order in which two histories add them; then they stop.
HISTORIES = (((0, 1), (2, 1), (1, 3), (0, 3)), ((0, 3), (1, 3), (2, 1), (0, 1)))


@pytest.fixture(scope="module")
def environment() -> StructureEnvironment:
    found = make_environment(PROBLEM)
    assert isinstance(found, StructureEnvironment)
    return found


def matrices(history: tuple[tuple[int, int], ...]) -> Floats:
    """The adjacency matrices along a history, the last one twice, as it stops."""
    found = [np.zeros((NODES, NODES))]
    for u, v in history:
        found.append(found[-1].copy())
        found[-1][u, v] = 1
    return np.array([*found, found[-1]])


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
        found = np.asarray(eqx.filter_jit(lambda n, o: n.unroll(o))(network, observations))
        shown = network.scorer.adjacency(observations)
        drawn = np.array([matrices(history) for history in HISTORIES])
        assert np.array_equal(shown, drawn)
        assert np.array_equal(network.scorer.degree(shown), drawn.sum(-1) + drawn.sum(-2))
        for history, row in zip(HISTORIES, found, strict=True):
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
            assert np.abs(step - found[:, t]).max() <= 1e-12 * np.abs(found).max()
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
