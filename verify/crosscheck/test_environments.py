"""Every environment against its problem: nodes, edges, masks, parents, terminals, rewards."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.bridge import decode_all, enumerate_environment
from fast.environments import GridEnvironment, LinesEnvironment, make_environment
from reference.errors import InputError
from reference.problems import Grid, Lines, TableSequences
from verify.crosscheck.instances import PROBLEMS, VARIANTS, Instance, make_instance


@pytest.fixture(params=[*PROBLEMS, *VARIANTS], scope="module")
def instance(request: pytest.FixtureRequest) -> Instance:
    return make_instance(request.param)


def test_environment_has_the_states_edges_parents_and_rewards_of_the_problem(
    instance: Instance,
) -> None:
    # make_instance has compared everything; what is left is that it looked at every edge.
    dag, enumeration = instance.enumeration.dag, instance.enumeration
    seen = sorted(enumeration.edge[enumeration.edge >= 0].tolist())
    assert seen == list(range(len(dag.edges)))
    parents, actions = np.nonzero(enumeration.edge >= 0)
    for u, a in zip(parents, actions, strict=True):
        assert dag.edges[enumeration.edge[u, a]] == (u, enumeration.child[u, a])


def test_environment_of_six6_has_the_states_edges_parents_and_rewards_of_the_problem() -> None:
    problem = TableSequences.six6()
    enumeration = enumerate_environment(problem, make_environment(problem))
    assert len(enumeration.dag.labels) == (4**9 - 1) // 3
    assert (enumeration.edge >= 0).sum() == len(enumeration.dag.edges)


def test_labels_survive_encoding_and_decoding(instance: Instance) -> None:
    environment, labels = instance.environment, instance.enumeration.dag.labels
    assert tuple(environment.decode(environment.encode(label)) for label in labels) == labels


def test_backward_steps_lead_to_exactly_the_parents(instance: Instance) -> None:
    environment, dag = instance.environment, instance.enumeration.dag
    slots = jnp.arange(environment.parents)
    step_back = jax.jit(lambda state: jax.vmap(environment.backward_step, (None, 0))(state, slots))
    legal = jax.jit(lambda state: environment.parent_mask(state))
    for node, label in enumerate(dag.labels):
        state = environment.encode(label)
        labels = decode_all(environment, step_back(state))
        found = [labels[i] for i in np.flatnonzero(np.asarray(legal(state)))]
        assert len(set(found)) == len(found)
        assert set(found) == {dag.labels[dag.edges[e][0]] for e in dag.in_edges[node]}


def test_undo_and_redo_lead_along_the_edge_just_taken(instance: Instance) -> None:
    environment, dag = instance.environment, instance.enumeration.dag
    states = jax.tree.map(
        lambda *leaves: jnp.asarray(np.stack(leaves)),
        *(environment.encode(label) for label in dag.labels),
    )

    def there_and_back(state: Any, action: Any) -> Any:
        following = environment.step(state, action)
        return environment.backward_step(following, environment.undo(state, action))

    def back_and_there(state: Any, parent: Any) -> Any:
        before = environment.backward_step(state, parent)
        return environment.step(before, environment.redo(state, parent))

    def along(move: Any, slots: int) -> list[Any]:
        everywhere = jax.vmap(jax.vmap(move, (None, 0)), (0, None))
        return decode_all(
            environment,
            jax.tree.map(
                lambda leaf: leaf.reshape(-1, *leaf.shape[2:]),
                jax.jit(everywhere)(states, jnp.arange(slots)),
            ),
        )

    forth = along(there_and_back, environment.actions)
    back = along(back_and_there, environment.parents)
    legal = instance.enumeration.edge >= 0
    legal_back = np.asarray(jax.vmap(environment.parent_mask)(states))
    for node, label in enumerate(dag.labels):
        for action in np.flatnonzero(legal[node]):
            assert forth[node * environment.actions + action] == label
        for parent in np.flatnonzero(legal_back[node]):
            assert back[node * environment.parents + parent] == label


def test_terminal_states_stay_and_allow_every_action(instance: Instance) -> None:
    environment, dag = instance.environment, instance.enumeration.dag
    for x in dag.terminals:
        state = environment.encode(dag.labels[x])
        assert bool(environment.mask(state).all())
        for action in range(environment.actions):
            assert environment.decode(environment.step(state, jnp.int32(action))) == dag.labels[x]


def test_one_hot_observations_tell_all_inner_states_apart(instance: Instance) -> None:
    dag = instance.enumeration.dag
    inner = [node for node, row in enumerate(dag.children) if row]
    rows = {instance.enumeration.observations[node].tobytes() for node in inner}
    assert len(rows) == len(inner)


class _WithoutOneAction(LinesEnvironment):
    def mask(self, state: Any) -> Any:
        return super().mask(state) & (state.stopped | (jnp.arange(self.actions) < 2))


class _WithOneActionTooMany(LinesEnvironment):
    def mask(self, state: Any) -> Any:
        return jnp.ones(self.actions, bool)


class _WithWrongParents(LinesEnvironment):
    def parent_mask(self, state: Any) -> Any:
        return jnp.arange(self.parents) < 2


class _NeverTerminal(LinesEnvironment):
    def is_terminal(self, state: Any) -> Any:
        return jnp.bool_(False)


class _StartsElsewhere(LinesEnvironment):
    def initial(self) -> Any:
        return super().initial()._replace(position=jnp.int32(1))


class _ScalesItsReward(LinesEnvironment):
    def log_reward(self, state: Any) -> Any:
        return super().log_reward(state) * 1.001


class _FloatBands(GridEnvironment):
    """The reward compared in floats, as is often done; n(12) = 3/5 at H = 16 falls inside."""

    def log_reward(self, state: Any) -> Any:
        n = jnp.abs(2 * state.coordinates / (self.side - 1) - 1)
        return jnp.log(1e-3 + 0.5 * jnp.all(n > 0.5) + 2.0 * jnp.all((n > 0.6) & (n < 0.8)))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (_WithoutOneAction, "no action of the environment leads"),
        (_WithOneActionTooMany, "not one of the problem's children"),
        (_WithWrongParents, "parents"),
        (_NeverTerminal, "is terminal"),
        (_StartsElsewhere, "initial state"),
        (_ScalesItsReward, "log R"),
    ],
)
def test_control_a_broken_environment_is_told_from_its_problem(
    broken: type[LinesEnvironment], message: str
) -> None:
    problem = Lines.laplaces(5, 2, seed=1)
    with pytest.raises(InputError, match=message):
        enumerate_environment(problem, broken.from_problem(problem))


def test_control_rewards_compared_in_floats_are_told_from_the_exact_ones() -> None:
    problem = Grid(16, 2)
    enumerate_environment(problem, make_environment(problem))
    with jax.enable_x64(True), pytest.raises(InputError, match="log R"):
        enumerate_environment(problem, _FloatBands.from_problem(problem))


def test_modules_are_pytrees_of_arrays_alone() -> None:
    for name in PROBLEMS:
        leaves = jax.tree.leaves(make_environment(PROBLEMS[name]))
        assert all(eqx.is_array(leaf) for leaf in leaves)
