"""Every environment against its problem: nodes, edges, masks, parents, terminals, rewards."""

import functools
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.checking.environment import check_environment
from fast.encoding import Encoding
from fast.environments import GridEnvironment, TabularEnvironment, make_environment
from fast.environments.interface import encode_all
from fast.laws.enumeration import decode_all, enumerate_environment
from reference.contract.errors import InputError, TooLargeError
from reference.fields.field import log_float
from reference.posterior.structure import StructureLearning
from reference.posterior.variables import VariableSelection
from reference.problems.bits import BitSequences
from reference.problems.graphs import EdgeAddition
from reference.problems.grid import Grid
from reference.problems.phylogeny import Phylogeny
from reference.problems.sets import Sets
from reference.problems.tables import TableSequences
from verify.crosscheck.compare import excess
from verify.crosscheck.instances import PRESETS, PROBLEMS, Instance, environment_of, make_instance
from verify.lib.presets import PAPER


@pytest.fixture(params=PRESETS, scope="module")
def instance(request: pytest.FixtureRequest) -> Instance:
    return make_instance(request.param)


@pytest.mark.catches(
    "The mask of the grid stops a coordinate one cell early.",
    "fast/environments/grid.py",
    "inside = state.coordinates + 1 < self.side",
    "inside = state.coordinates + 2 < self.side",
    only="grid",
    by="refusal",
)
@pytest.mark.catches(
    "The mask of Lines forbids the step that arrives exactly at the end.",
    "fast/environments/lines.py",
    "jnp.arange(self.actions) <= self.length",
    "jnp.arange(self.actions) < self.length",
    only="lines",
    by="refusal",
)
@pytest.mark.catches(
    "A walk has parents that no trajectory reaches in time.",
    "fast/environments/random_walk.py",
    "before.sum(axis=1) <= state.time - 1",
    "before.sum(axis=1) <= state.time",
    only="walk",
    by="refusal",
)
@pytest.mark.catches(
    "Undoing a prepended letter erases it without moving the others back.",
    "fast/environments/sequences.py",
    "jnp.where(place == self.length - 1, 0, jnp.roll(state.tokens, -1))",
    "jnp.where(place == 0, 0, state.tokens)",
    only="synthetic, prepend-append",
    by="refusal",
)
@pytest.mark.catches(
    "The action that appends a letter again is numbered from one.",
    "fast/environments/sequences.py",
    "return jnp.where(parent == 0, last - 1, self.letters + state.tokens[0] - 1)",
    "return jnp.where(parent == 0, last, self.letters + state.tokens[0] - 1)",
    only="synthetic, append",
    by="refusal",
)
@pytest.mark.catches(
    "The array code of the Ising model leaves the diagonal in the couplings.",
    "fast/environments/ising.py",
    "(jnp.sum(v * x) ** 2 - jnp.sum(v * v)) / 2",
    "jnp.sum(v * x) ** 2 / 2",
    only="ising, any order",
    by="refusal",
)
@pytest.mark.catches(
    "In the fixed order of edges an earlier one may still be added.",
    "pdai/posteriors/environments.py",
    "free &= self._places() > self._last(state)",
    "free &= self._places() != self._last(state)",
    only="structure, fixed order",
    by="refusal",
)
@pytest.mark.catches(
    "The number of a string has its first letter as the lowest digit.",
    "fast/environments/sequences.py",
    "jnp.arange(self.length - 1, -1, -1)",
    "jnp.arange(self.length)",
    only="table, append",
    by="refusal",
)
def test_environment_keeps_every_rule_on_every_state_and_edge(instance: Instance) -> None:
    report = check_environment(instance.problem, instance.environment)
    # It looked at everything, and networks can tell all states apart where they act.
    dag = instance.enumeration.dag
    assert (report.states, report.edges) == (len(dag.labels), len(dag.edges))
    assert report.observations == report.inner_states == len(dag.labels) - len(dag.terminals)


def test_environment_of_six6_has_the_states_edges_parents_and_rewards_of_the_problem(
    pytestconfig: pytest.Config,
) -> None:
    if not pytestconfig.getoption("exhaustive"):
        pytest.skip("87,381 states; those of strings of three letters are compared above")
    problem = TableSequences.six6()
    enumeration = enumerate_environment(problem, make_environment(problem))
    assert len(enumeration.dag.labels) == (4**9 - 1) // 3
    assert (enumeration.edge >= 0).sum() == len(enumeration.dag.edges)


# The other instances differ from these in size and rewards alone.
DRAWN = [
    *PROBLEMS,
    "graphs, uneven",
    "bits, append",
    "ising, fixed order",
    "preference, fixed order",
    "preference, any order",
    "walk, sharp rings",
    "structure, two parents",
    "graphs, as tables",
]


@pytest.mark.long
@pytest.mark.parametrize("name", DRAWN)
def test_random_terminals_are_uniform_on_the_terminals(name: str) -> None:
    instance = make_instance(name)
    environment, size = instance.environment, len(instance.ends)
    keys = jax.random.split(jax.random.key(0), 40 * size)
    drawn = decode_all(environment, jax.jit(jax.vmap(environment.random_terminal))(keys))
    assert excess(instance.counts(drawn), np.full(size, 40.0)) <= 1


# Networks see their states as indicators alone.
INDICATORS = Sets | EdgeAddition | Phylogeny | StructureLearning | VariableSelection


# The default is that of every other test.
@pytest.mark.parametrize("encoding", get_args(Encoding)[1:])
def test_other_observations_tell_all_inner_states_apart(
    instance: Instance, encoding: Encoding
) -> None:
    if isinstance(instance.environment, TabularEnvironment):
        pytest.skip("a user's own features, or one-hot")
    if isinstance(instance.problem, INDICATORS):
        with pytest.raises(InputError, match=f"the encoding is '{encoding}', but networks see .*"):
            make_environment(instance.problem, encoding)
        return
    environment, dag = make_environment(instance.problem, encoding), instance.enumeration.dag
    inner = [dag.labels[u] for u, row in enumerate(dag.children) if row]
    states = encode_all(environment, inner)
    rows = np.asarray(jax.jit(jax.vmap(environment.observe))(states))
    assert len(np.unique(rows, axis=0)) == len(inner)


def test_an_encoding_that_no_environment_knows_is_refused(instance: Instance) -> None:
    with pytest.raises(InputError, match="encoding is 'binary'"):
        make_environment(instance.problem, "binary")  # type: ignore[arg-type]


def test_words_of_too_many_bits_are_refused() -> None:
    with pytest.raises(TooLargeError, match=r"words of 17 bits would need 2\^17 actions"):
        make_environment(BitSequences(("0" * 17,), 17))


def test_states_keep_their_types_in_double_precision(instance: Instance) -> None:
    environment = instance.environment
    with jax.enable_x64(True):
        state = jax.eval_shape(environment.initial)
        types = [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(state)]
        for move in (environment.step, environment.backward_step):
            for dtype in (jnp.int32, jnp.int64):
                following = jax.eval_shape(move, state, jnp.zeros((), dtype))
                assert [(x.shape, x.dtype) for x in jax.tree.leaves(following)] == types


# The largest of each kind; the others differ in size alone.
@pytest.mark.parametrize(
    "name",
    [
        "sets-32",
        "bits-64",
        "sequences-32",
        "six6",
        "preference-150",
        "random-walk-sharp",
        "ising-64",
    ],
)
def test_rewards_of_random_terminals_at_full_size_are_those_of_the_problem(name: str) -> None:
    problem = PAPER[name]()
    environment = make_environment(problem)

    @jax.jit
    @jax.vmap
    def rollout(key: Any) -> Any:
        def one_step(state: Any, key: Any) -> tuple[Any, None]:
            logits = jnp.where(environment.mask(state), 0.0, -jnp.inf)
            return environment.step(state, jax.random.categorical(key, logits)), None

        keys = jax.random.split(key, environment.horizon)
        final, _ = jax.lax.scan(one_step, environment.initial(), keys)
        return final, environment.log_reward(final)

    final, log_rewards = jax.tree.map(np.asarray, rollout(jax.random.split(jax.random.key(0), 20)))
    labels = decode_all(environment, final)
    assert not any(problem.children(label) for label in labels)
    assert len(set(labels)) > 1
    expected = [log_float(problem.reward(label)) for label in labels]
    # float32: a few units in the last place of a sum of up to 150 terms of one sign.
    assert log_rewards == pytest.approx(expected, rel=1e-6, abs=1e-5)


def any_action(environment: Any, right: Any, state: Any) -> Any:
    return jnp.ones(environment.actions, bool)


def all_cells_of_the_box(environment: Any, right: Any, state: Any) -> Any:
    """The parents of a walker, also those reached by no trajectory."""
    before = jnp.abs(state.position - environment._moves())
    return jnp.all(before <= environment.radius, axis=1) & (state.time > 0)


def by_words(environment: Any, right: Any, state: Any) -> Any:
    """The Hamming distance in words of k bits, not in bits."""
    powers, modes = 2 ** jnp.arange(environment.word - 1, -1, -1), environment.modes
    words = jnp.sum(modes.reshape(len(modes), -1, environment.word) * powers, axis=-1) + 1
    return -environment.exponent * jnp.sum(state.tokens != words, axis=1).min() / environment.length


def swapped(environment: Any, right: Any, state: Any, parent: Any) -> Any:
    """The number of an action with position and value the other way round."""
    here = jnp.arange(environment.places) == parent
    return environment.places * (jnp.sum(jnp.where(here, state.values, 0)) - 1) + parent


NOT_A_CHILD = "not one of the problem's children"
# A preset, a method of its environment, what it becomes instead (given the right one), and the
# words of the message.
BROKEN: list[tuple[str, str, Any, str]] = [
    ("lines", "mask", any_action, NOT_A_CHILD),
    ("lines", "parent_mask", lambda e, right, s: jnp.arange(e.parents) < 2, "parents"),
    ("lines", "is_terminal", lambda e, right, s: jnp.bool_(False), "no terminal state"),
    ("lines", "initial", lambda e, right: right()._replace(position=jnp.int32(1)), "initial state"),
    ("lines", "log_reward", lambda e, right, s: right(s) * 1.001, "log R"),
    ("sets", "mask", any_action, NOT_A_CHILD),
    ("walk", "parent_mask", all_cells_of_the_box, "5 parents, the problem 1: fix parent_mask"),
    ("walk", "mask", any_action, NOT_A_CHILD),
    ("synthetic, prepend-append", "mask", any_action, "is reached by another action"),
    (
        "bits, prepend-append",
        "parent_mask",
        lambda e, right, s: jnp.repeat(s.size > 0, e.parents),
        "2 parents, the problem 1",
    ),
    ("bits, append", "log_reward", by_words, "log R"),
    ("ising, any order", "mask", any_action, NOT_A_CHILD),
    # `J = v v'`, without taking its diagonal away.
    (
        "ising, fixed order",
        "log_reward",
        lambda e, right, s: right(s) + jnp.sum(e.direction**2) / 2,
        "log R",
    ),
    (
        "preference, fixed order",
        "backward_step",
        lambda e, right, s, parent: type(s)(s.values.at[0].set(0)),
        "must go back to the parent, but does not",
    ),
    ("preference, any order", "redo", swapped, "fix redo"),
    (
        "grid, as tables",
        "undo",
        lambda e, right, s, action: jnp.int32(0),
        "must go back to the parent, but does not",
    ),
]


@pytest.mark.parametrize(("name", "method", "change", "message"), BROKEN)
def test_control_a_broken_environment_is_told_from_its_problem(
    name: str, method: str, change: Any, message: str
) -> None:
    problem = PRESETS[name]
    kind: Any = type(environment_of(name))
    right = getattr(kind, method)

    def wrong(self: Any, *given: Any) -> Any:
        return change(self, functools.partial(right, self), *given)

    broken: Any = type(kind)("Broken", (kind,), {method: wrong, "__module__": __name__})
    with pytest.raises(InputError, match=message):
        check_environment(problem, broken.from_problem(problem))


class _FloatBands(GridEnvironment):
    """The reward compared in floats, as is often done; n(12) = 3/5 at H = 16 falls inside."""

    def log_reward(self, state: Any) -> Any:
        n = jnp.abs(2 * state.coordinates / (self.side - 1) - 1)
        return jnp.log(1e-3 + 0.5 * jnp.all(n > 0.5) + 2.0 * jnp.all((n > 0.6) & (n < 0.8)))


def test_control_rewards_compared_in_floats_are_told_from_the_exact_ones() -> None:
    problem = Grid(16, 2)
    enumerate_environment(problem, make_environment(problem))
    with jax.enable_x64(True), pytest.raises(InputError, match="log R"):
        enumerate_environment(problem, _FloatBands.from_problem(problem))
