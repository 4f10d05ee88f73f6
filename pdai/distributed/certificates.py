"""Residuals of samplers on every trajectory, which bound the TV of a combined sampler (N6)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.balance.loss import log_path_ratio
from fast.balance.steps import evaluate
from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Enumeration, Floats, Ints
from fast.laws.walk import to_float64
from fast.policies.policy import Policy
from fast.sampling.trajectories import Trajectories
from fast.training.compose import TrainConfig
from reference.balance import log_float
from reference.errors import TooLargeError
from reference.problems import exact_reward

MAX_TRAJECTORIES = 1_000_000

# Trajectories per call.
BLOCK = 4_096


class BaseTrajectories(NamedTuple):
    """Every complete trajectory of the base DAG, by nodes, as each sampler sees its own features.

    Attributes:
        nodes: the nodes passed; after the end, the last one repeated.
        actions: the actions taken at these nodes; 0 where padded.
        length: the number of actions.
    """

    nodes: Ints
    actions: Ints
    length: Ints


def all_trajectories(enumeration: Enumeration) -> BaseTrajectories:
    """Every complete trajectory of an enumerated DAG.

    Raises:
        TooLargeError: if there are more than a million.
    """
    dag = enumeration.dag
    if dag.trajectory_count > MAX_TRAJECTORIES:
        raise TooLargeError(
            f"there are {dag.trajectory_count:.3g} trajectories, and residuals are compared over "
            f"all of at most {MAX_TRAJECTORIES:,}: use a smaller instance"
        )
    horizon = max(dag.depths)
    nodes, actions = np.zeros((1, 1), np.int64), np.zeros((1, 0), np.int64)
    ended: list[BaseTrajectories] = []
    for time in range(horizon + 1):
        is_end = (enumeration.edge[nodes[:, -1]] < 0).all(1)
        rest = horizon - time
        ended.append(
            BaseTrajectories(
                np.pad(nodes[is_end], ((0, 0), (0, rest)), mode="edge"),
                np.pad(actions[is_end], ((0, 0), (0, rest))),
                np.full(is_end.sum(), time),
            )
        )
        rows, taken = np.nonzero(enumeration.edge[nodes[:, -1]] >= 0)
        following = enumeration.child[nodes[rows, -1], taken]
        nodes = np.concatenate([nodes[rows], following[:, None]], 1)
        actions = np.concatenate([actions[rows], taken[:, None]], 1)
    return BaseTrajectories(*(np.concatenate(part) for part in zip(*ended, strict=True)))


def path_ratios(
    policy: Policy,
    environment: AbstractEnvironment[Any],
    enumeration: Enumeration,
    trajectories: BaseTrajectories,
) -> Floats:
    """`log( p_F(tau) / p_B(tau | x) )` of base trajectories, by the network in float64, in nats.

    Args:
        policy: a sampler, of any dynamics and backward policy.
        environment: the state graph with the features that this sampler sees.
        enumeration: the enumerated state graph; its rewards are not read.
        trajectories: the trajectories to evaluate.
    """
    labels = enumeration.dag.labels
    states = jax.tree.map(lambda *leaves: np.stack(leaves), *map(environment.encode, labels))
    count, time = trajectories.actions.shape
    ratios = np.empty(count)
    with jax.enable_x64(True):
        precise = to_float64(policy)
        for start in range(0, count, BLOCK):
            # Blocks have one size, so that one program is compiled; the padding is cut off.
            rows = np.minimum(np.arange(start, start + min(BLOCK, count)), count - 1)
            at = trajectories.nodes[rows]
            batch = Trajectories(
                jax.tree.map(lambda leaf, at=at: jnp.asarray(leaf[at]), states),
                jnp.asarray(trajectories.actions[rows], jnp.int32),
                jnp.asarray(np.arange(time) < trajectories.length[rows][:, None]),
                jax.tree.map(lambda leaf, at=at: jnp.asarray(leaf[at[:, -1]]), states),
                jnp.zeros(len(rows)),
            )
            ratio = np.asarray(_path_ratio(precise, environment, batch))
            ratios[start : start + BLOCK] = ratio[: count - start]
    return ratios


@eqx.filter_jit
def _path_ratio(policy: Policy, environment: AbstractEnvironment[Any], batch: Trajectories) -> Any:
    return log_path_ratio(evaluate(policy, environment, batch))


def oscillations(
    runs: Mapping[str, TrainConfig],
    frozen: Mapping[str, tuple[str, ...]],
    ratios: Mapping[str, Floats],
    enumeration: Enumeration,
    trajectories: BaseTrajectories,
) -> dict[str, float]:
    """`Delta`, the largest minus the least log residual of each run over all trajectories, in nats.

    The residual of a run is its log ratio `log( p_F / p_B )` minus the log ratios of its frozen
    runs, and minus `log R` of the factors that these do not cover: trajectory balance of a client,
    eq:apx:dist of an aggregate, eq:apx:sm of a step of a stream.

    Args:
        runs: configurations by name.
        frozen: the names of the frozen runs of each run.
        ratios: the results of `path_ratios`, for one seed.
        enumeration: the state graph.
        trajectories: all of them.
    """
    dag, spreads = enumeration.dag, {}
    ends = np.searchsorted(np.array(dag.terminals), trajectories.nodes[:, -1])
    for name, config in runs.items():
        covered = {factor for other in frozen[name] for factor in runs[other].factors.covered}
        residual = ratios[name] - sum(ratios[other] for other in frozen[name])
        if rest := set(config.factors.covered) - covered:
            problem = config.restricted(rest)
            log_r = np.array(
                [log_float(exact_reward(problem, dag.labels[x])) for x in dag.terminals]
            )
            residual = residual - log_r[ends]
        spreads[name] = float(residual.max() - residual.min())
    return spreads
