"""Structure learning as array code: delta scores, the closure on the way, uniform graphs."""

from collections import Counter
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

from fast.environments import make_environment
from fast.environments.structure import StructureEnvironment
from fast.environments.uniform_dags import UniformDags
from reference.balance import log_float
from reference.problems import StructureLearning
from verify.lib.all_dags import all_dags, has_path

# float32, of entries of up to some hundred nats.
CLOSE = 1e-3


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
    found = np.asarray(jax.jit(jax.vmap(UniformDags.of(4, most).draw))(keys))
    masks = (found * (1 << np.arange(4))[:, None]).sum(axis=1)
    counts = Counter(map(tuple, masks.tolist()))
    assert set(counts) <= set(graphs)
    statistic = sum((counts[g] - 40) ** 2 / 40 for g in graphs)
    assert statistic <= chi2.ppf(1 - 1e-6, len(graphs) - 1)
    # Control: the same graphs are not drawn in proportion to their edges.
    edges = [1 + sum(mask.bit_count() for mask in g) for g in graphs]
    each = draws / sum(edges)
    biased = sum(
        (counts[g] - each * k) ** 2 / (each * k) for g, k in zip(graphs, edges, strict=True)
    )
    assert biased > chi2.ppf(1 - 1e-6, len(graphs) - 1)


def test_random_graphs_at_full_size_are_acyclic_and_within_the_limit() -> None:
    environment: Any = make_environment(StructureLearning.uniform(8, max_parents=2))
    keys = jax.random.split(jax.random.key(1), 200)
    final = jax.tree.map(np.asarray, jax.jit(jax.vmap(environment.random_terminal))(keys))
    assert final.adjacency.sum(axis=1).max() == 2
    assert not (final.reach & final.reach.transpose(0, 2, 1) & ~np.eye(8, dtype=bool)).any()
