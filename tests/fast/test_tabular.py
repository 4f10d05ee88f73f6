"""Tables from any problem that can be enumerated: how they are made, and what is refused."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import fast.environments.tabular as tabular
from examples.subsets import Subsets, SubsetsProblem
from fast.checking.environment import check_environment
from fast.environments import TabularEnvironment, make_environment
from fast.laws.enumeration import enumerate_environment
from fast.runs.frozen import load_policy, load_trained
from fast.runs.job import resume, train
from fast.training.compose import configure
from reference.contract.errors import InputError, TooLargeError
from reference.problems import Grid
from tests.command_lines import python
from tests.refusals import refuses

CHILDREN = {
    "door": ("shelf", "till", "window"),
    "shelf": ("till", "window", "bag"),
    "window": ("bag",),
    "till": (),
    "bag": (),
}


class Shop:
    """Terminals at several depths, states with different numbers of children and of parents."""

    initial = "door"

    def children(self, state: str) -> tuple[str, ...]:
        return CHILDREN[state]

    def reward(self, terminal: str) -> Fraction:
        return Fraction({"till": 3, "bag": 1}[terminal])


@dataclass(frozen=True)
class Star:
    """One step to one of many terminals."""

    rays: int
    height: Fraction = Fraction(1, 3)
    initial = 0

    def children(self, state: int) -> tuple[int, ...]:
        return () if state else tuple(range(1, self.rays + 1))

    def reward(self, terminal: int) -> Fraction:
        return self.height * terminal


def test_tables_have_a_slot_per_child_and_per_parent() -> None:
    environment = TabularEnvironment.from_problem(Shop())
    assert (environment.actions, environment.parents, environment.horizon) == (3, 2, 3)
    shelf = environment.encode("shelf")
    following = jax.vmap(environment.step, (None, 0))(shelf, jnp.arange(3))
    assert [environment.decode(environment.step(shelf, jnp.int32(a))) for a in range(3)] == list(
        CHILDREN["shelf"]
    )
    assert following.node.dtype == jnp.int32
    assert np.asarray(environment.mask(environment.encode("window"))).tolist() == [1, 0, 0]
    assert np.asarray(environment.parent_mask(shelf)).tolist() == [1, 0]


def test_tables_keep_every_rule_on_every_state_and_edge() -> None:
    for problem, edges in ((Shop(), 7), (Star(9), 9)):
        report = check_environment(problem, TabularEnvironment.from_problem(problem))
        assert report.edges == edges
        assert report.observations == report.inner_states


def test_a_reward_beyond_the_range_of_floats_has_a_logarithm() -> None:
    environment = TabularEnvironment.from_problem(Star(1, Fraction(10**400)))
    assert float(environment.log_reward(environment.encode(1))) == pytest.approx(400 * np.log(10))


def test_as_many_states_are_tabulated_as_are_asked_for() -> None:
    assert TabularEnvironment.from_problem(Shop(), max_nodes=5).dag.labels[0] == "door"
    with pytest.raises(TooLargeError, match=r"more than 4 states .*--max-states"):
        TabularEnvironment.from_problem(Shop(), max_nodes=4)


def test_a_problem_with_array_code_has_the_same_graph_as_tables() -> None:
    problem = Grid(4, 2)
    own = enumerate_environment(problem, make_environment(problem))
    tables = enumerate_environment(problem, TabularEnvironment.from_problem(problem))
    assert [set(row) for row in own.child] == [set(row) for row in tables.child]


def test_networks_see_the_number_of_the_node_or_the_features_given() -> None:
    plain = TabularEnvironment.from_problem(Shop())
    rows = np.stack([plain.observe(plain.encode(label)) for label in plain.dag.labels])
    assert (rows == np.eye(5)).all()
    given = TabularEnvironment.from_problem(Shop(), lambda label: (len(label), label < "m", 1 / 4))
    assert np.asarray(given.observe(given.encode("bag"))).tolist() == [3, 1, 0.25]


class _Sorted(Shop):
    def children(self, state: str) -> tuple[str, ...]:
        return tuple(sorted(CHILDREN[state]))


class _Dearer(Shop):
    def reward(self, terminal: str) -> Fraction:
        return super().reward(terminal) * 2


class _Coin:
    """Labels that are sets, whose text depends on the process."""

    initial = frozenset[str]()

    def children(self, state: frozenset[str]) -> tuple[frozenset[str], ...]:
        return () if state else (frozenset({"heads", "edge"}), frozenset({"tails"}))

    def reward(self, terminal: frozenset[str]) -> int:
        return len(terminal)


def test_the_digest_tells_tables_apart_and_is_the_same_in_every_process() -> None:
    def digest(problem: Any, features: Any = None) -> str:
        return TabularEnvironment.from_problem(problem, features).digest()

    assert digest(Shop()) == digest(Shop())
    others = [digest(_Sorted()), digest(_Dearer()), digest(Shop(), lambda label: [len(label)])]
    assert len({digest(Shop()), *others}) == 4
    program = (
        "from fast.environments import TabularEnvironment; "
        "from tests.fast.test_tabular import _Coin; "
        "print(TabularEnvironment.from_problem(_Coin()).digest())"
    )
    # This process has a third order of sets.
    for seed in ("1", "2"):
        assert python("-c", program, PYTHONHASHSEED=seed).stdout.strip() == digest(_Coin())


class Tempered(Subsets):
    """The power of the reward is no array."""

    beta: float = eqx.field(static=True)

    def log_reward(self, state: Any) -> Any:
        return self.beta * super().log_reward(state)


TEMPERED = Tempered(jnp.arange(2.0), 3, 3, 3, 1.0)
SUBSETS = "examples.subsets:"


@pytest.mark.long
@pytest.mark.parametrize(
    ("named", "changed"),
    [
        ({"problem": "tests.fast.test_tabular:Shop"}, (Shop, "children", _Sorted.children)),
        (
            {"problem": f"{SUBSETS}SubsetsProblem", "environment": f"{SUBSETS}Subsets"},
            (SubsetsProblem, "utilities", (0.5, -1.0, 0.25, 1.0)),
        ),
        (
            {"environment": "tests.fast.test_tabular:TEMPERED"},
            ("tests.fast.test_tabular.TEMPERED", Tempered(TEMPERED.utilities, 3, 3, 3, 3.0)),
        ),
    ],
    ids=["tables", "an environment", "a static field"],
)
def test_a_run_is_not_read_against_other_tables(
    named: Any, changed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure("custom", **named, steps=5, batch=4, evaluations=1, out=tmp_path / "run")
    folder, _ = train(config)
    (folder / "seal.json").unlink()
    monkeypatch.setattr(*changed)
    for read in (lambda _: load_trained(config), resume, lambda _: load_policy(config)):
        with pytest.raises(InputError, match="was trained on other tables than its problem now"):
            read(folder)
    monkeypatch.undo()
    assert resume(folder)[0] == folder


def test_children_without_an_order_are_refused() -> None:
    class Unordered(Shop):
        def children(self, state: str) -> Any:
            return frozenset(super().children(state))

    with pytest.raises(InputError, match=r"children\('door'\) is frozenset.*: sort it"):
        TabularEnvironment.from_problem(Unordered())


test_features_that_no_network_could_read_are_refused = refuses(
    lambda features: TabularEnvironment.from_problem(Shop(), features),
    (lambda label: 3, r"features\('door'\) is 3, but must be a list"),
    (lambda label: [], "at least one"),
    (lambda label: [1.0] * len(label), r"features\('shelf'\) is .* as many for every state"),
    (lambda label: label, "is 'd', a str"),
    (lambda label: [float("nan")], "is nan"),
    (lambda label: [1e39], "that float32 can hold"),
)


def test_tables_that_do_not_fit_into_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    TabularEnvironment.from_problem(Star(9))
    monkeypatch.setattr(tabular, "MAX_ENTRIES", 89)
    with pytest.raises(TooLargeError, match="10 states with up to 9 children and 1 parents"):
        TabularEnvironment.from_problem(Star(9))


def test_a_problem_without_array_code_is_sent_to_the_tables() -> None:
    class Another(Grid):
        """A grid with another reward, perhaps."""

    for problem in (Shop(), Another(4, 2)):
        with pytest.raises(InputError, match=r"TabularEnvironment\.from_problem"):
            make_environment(problem)  # type: ignore[arg-type]
