"""Conditional problems: a law for each context, one network for all, and what is refused."""

import dataclasses
import math
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pdai
import reference as r
from examples.temperatures import Spins
from fast.environments import TabularEnvironment
from fast.environments.contexts import Contexts
from fast.laws.enumeration import enumerate_environment
from fast.laws.terminal_law import exact_law, target_law
from fast.policies.policy import Sampler
from fast.runs.audit import audit
from fast.runs.job import resume
from fast.runs.meter import Meter
from fast.training.compose import configure
from fast.training.contexts import PerContext
from fast.training.networks import Networks
from fast.training.trainer import make_trainer
from pdai.show.progress import QUIET
from pdai.show.tables import contexts_table, html_of
from reference.balance import log_float
from reference.errors import InputError
from reference.loading import as_problem
from reference.problems import Grid, InContext, contexts_of, enumerate_rewards
from reference.problems.closed_form import Enclosure
from tests.command_lines import parameters
from tests.refusals import refuses, whole


class Chains:
    """Strings of three letters; the first weighs by the context, and each equal neighbour too."""

    initial = ""
    contexts: Any = (-1, 0, 2)
    held_out: Any = (1,)

    def children(self, state: str) -> tuple[str, ...]:
        return () if len(state) == 3 else (state + "a", state + "b")

    def reward(self, terminal: str, beta: int) -> Fraction:
        alike = sum(x == y for x, y in pairwise("a" + terminal))
        return Fraction(2) ** (beta * alike)

    def features(self, state: str) -> list[float]:
        letters = [1.0 if letter == "a" else -1.0 for letter in state]
        return letters + [0.0] * (3 - len(letters))


@pytest.mark.catches(
    "Every context has the reward of the first.",
    "reference/problems/contexts.py",
    "method = _Within(getattr(self.conditional, name), self.context)",
    "method = _Within(getattr(self.conditional, name), self.conditional.contexts[0])",
)
def test_a_problem_in_a_context_is_an_ordinary_one_with_the_law_of_that_context() -> None:
    for name, problem in contexts_of(Chains()).items():
        dag = r.enumerate_dag(problem)
        rewards = enumerate_rewards(problem, dag)
        assert sum(rewards) == (1 + Fraction(2) ** int(name)) ** 3
        p_f, z = r.forward_from_backward(r.BackwardPolicy.uniform(dag, r.RATIONAL), rewards)
        assert (z, r.marginal(p_f)) == (sum(rewards), r.normalize(rewards))
        certificate = pdai.certify(lambda state: [0.5, 0.5], Chains, context=name)
        uniform = [Fraction(1, 8)] * 8
        assert certificate.tv == r.total_variation(uniform, r.normalize(rewards))


def test_the_example_knows_the_log_z_of_each_context() -> None:
    for problem in contexts_of(Spins()).values():
        dag = r.enumerate_dag(problem)
        summed = log_float(sum(enumerate_rewards(problem, dag)))
        assert problem.log_z() == pytest.approx(summed, abs=1e-12)


def changed(**members: Any) -> Any:
    """The problem with other members."""
    return type("Changed", (Chains,), members)()


def coin(_: str) -> list[float]:
    """One half for each letter."""
    return [0.5, 0.5]


test_contexts_that_make_no_problem_are_refused = refuses(
    as_problem,
    (changed(contexts=()), "", "contexts is empty.* list some"),
    (changed(contexts={1, 2}), "", "must be a tuple of contexts"),
    (changed(contexts=(1, 2, 1)), "", "two contexts have the name '1'"),
    (changed(held_out=(0,)), "", "two contexts have the name '0'"),
    (changed(contexts=((1, 2), (3,)), held_out=()), "", "equally many numbers"),
    (changed(contexts=("hot", "cold")), "", "add context_features"),
    (changed(context_features=lambda self, context: 1 / 0), "", "context_features.* raises Zero"),
    (changed(reward=lambda self, terminal: 1), "", "with a context, is .* 2 arguments"),
    (changed(log_reward=lambda self, terminal, context: 0), "", "both reward and log_reward"),
    (Chains(), "3", "no context of Chains '3'.* There are -1, 0, 2, 1"),
    (Grid.minimal(), "3", "no conditional problem"),
)


def test_a_conditional_problem_alone_has_no_law() -> None:
    for ask in (
        r.enumerate_dag,
        pdai.inspect,
        pdai.solve,
        lambda problem: pdai.certify(["aaa"], problem),
    ):
        with pytest.raises(InputError, match="has the contexts -1, 0, 2, and each has a law"):
            ask(Chains())  # type: ignore[operator]


# All rewards are 1 in the context 0. The search leaves out what follows "b", which is half.
LONG: dict[str, Any] = {
    "children": lambda _, state: () if len(state) == 8 else (state + "a", state + "b"),
    "log_mass_bound": lambda _, state, beta: -99.0 if state[:1] == "b" else 9.0,
}
CLOSED: dict[str, Any] = {
    "log_z": lambda _, beta: Enclosure(math.log(8) + 1e-3, 1e-12),
    "sample": lambda _, count, seed, beta: [
        *map("".join, Random(seed).choices([*product("ab", repeat=3)], k=count))
    ],
}
IN_0: dict[str, Any] = {"context": "0", "regime": "Z"}
test_a_log_z_that_is_wrong_in_a_context_is_refused = refuses(
    whole,
    (
        lambda: pdai.certify(coin, changed(log_z=lambda _, beta: 3.0), **IN_0),
        r"Changed.log_z\(\) is 3, but all rewards .* sum to a log Z of 2.079",
    ),
    (
        lambda: pdai.certify(coin, changed(**LONG), **IN_0),
        "log Z by Changed.log_mass_bound.* is 4.85.* sum to a log Z of 5.545",
    ),
    (
        lambda: pdai.solve(changed(**CLOSED), context="0", way="closed-form"),
        r"Changed.log_z\(\) is 2.080.* sum to a log Z of 2.079",
    ),
)


def test_control_a_right_log_z_and_parents_serve_where_states_are_too_many() -> None:
    kind = type("Known", (Spins,), {"parents": lambda _, state: (state[:-1],)})
    certificate = pdai.certify(coin, kind, context="0.0", max_states=50, samples=1_000)
    assert certificate.regime == "Z"
    assert certificate.report["log Z, nats"].endswith("(as given)")
    assert certificate.interval.low == 0.0


def test_texts_are_contexts_one_hot_and_a_reward_may_ignore_them() -> None:
    problem = changed(
        contexts=("hot", "cold"), held_out=(), reward=lambda self, terminal, context: 1
    )
    assert [each.code for each in contexts_of(problem).values()] == [(1.0, 0.0), (0.0, 1.0)]


class Blind(TabularEnvironment):
    """Tables that hide the context."""

    def observe(self, state: Any) -> Any:
        return jnp.zeros(4)


def test_an_environment_that_hides_its_context_is_refused() -> None:
    def blind(problem: InContext) -> Blind:
        table = TabularEnvironment.from_problem(problem)
        return Blind(**{f.name: getattr(table, f.name) for f in dataclasses.fields(table)})

    with pytest.raises(InputError, match="does not show the contexts"):
        Contexts.of(Chains(), blind)


SMALL: dict[str, Any] = {"parameters": 5_000, "batch": 24, "evaluations": 1, "max_states": 1_000}


def trainer_in_contexts(options: dict[str, Any]) -> object:
    config = configure("custom", problem="tests.fast.test_contexts:Chains", **{**SMALL, **options})
    return make_trainer(config, config.environment_or_contexts())


test_parts_that_know_one_target_are_refused = refuses(
    trainer_in_contexts,
    ({"batch": 2}, "batch is 2 for 3 contexts"),
    ({"loss": "log_variance", "batch": 5}, "at least 6"),
    ({"dynamics": "gaussian"}, "dynamics gaussian with 3 contexts"),
    ({"dynamics": "gru", "p_b": "lifted"}, "p_b lifted with 3 contexts"),
    ({"table_rows": 8}, "tables by state with 3 contexts"),
)


def distances(contexts: Contexts, policy: Any) -> list[float]:
    """TV in each context."""
    made = []
    for number, problem in enumerate(contexts_of(Chains()).values()):
        nodes = enumerate_environment(problem, contexts.at(number))
        law = exact_law(policy, nodes, float64=True).probabilities
        made.append(float(abs(law - target_law(nodes)).sum() / 2))
    return made


@pytest.mark.long
@pytest.mark.catches(
    "The network is not told the context before its first step.",
    "fast/training/contexts.py",
    "network = starting_in_context(made.network, environment.size)",
    "network = made.network",
)
def test_one_network_learns_the_law_of_each_context_and_none_if_contexts_are_hidden() -> None:
    config = configure(
        "custom", problem="tests.fast.test_contexts:Chains", dynamics="gru", loss="tb", **SMALL
    )
    contexts = config.environment_or_contexts()
    assert isinstance(contexts, Contexts)
    hidden = eqx.tree_at(
        lambda tree: tree.every.code, contexts, jnp.zeros_like(contexts.every.code)
    )
    seen = []
    for shown in (contexts, hidden):
        trainer = make_trainer(config, shown)
        state = trainer.init()
        for _ in range(3):
            state, _ = trainer.advance(state, 100)
        *within, held_out = distances(shown, state.policy(0))
        seen.append(max(within))
        if shown is contexts:
            log_z = np.asarray(state.sampler.log_z)[0]
            exact = [3 * np.log(1 + 2.0**beta) for beta in Chains.contexts]
            assert np.abs(log_z - exact).max() < 0.05
            assert held_out < 0.15, "the law at 1 is between those at 0 and 2"
    assert seen[0] < 0.02
    # One law for all is from one of two laws at least half as far as these are apart.
    first, _, last, _ = (law_in(each) for each in contexts_of(Chains()).values())
    assert seen[1] >= float(r.total_variation(first, last)) / 2 > 0.2


def law_in(problem: InContext) -> Any:
    """The target in a context, exactly."""
    return r.normalize(enumerate_rewards(problem, r.enumerate_dag(problem)))


@pytest.mark.long
def test_a_run_goes_on_bit_for_bit_and_every_door_opens_in_a_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {
        **SMALL, "steps": 200, "checkpoint_every": 100, "evaluations": 2, "replay": "uniform"
    }  # fmt: skip
    part, measured = tmp_path / "part", Meter.now

    def until(meter: Meter, state: Any, step: int) -> Any:
        if step == 200:
            raise SystemExit
        return measured(meter, state, step)

    with monkeypatch.context() as patched:
        patched.setattr(Meter, "now", until)
        with pytest.raises(SystemExit):
            pdai.train(Chains, dynamics="markov", out=part, display=QUIET, **options)
    run = pdai.train(Chains, dynamics="markov", out=tmp_path / "run", display=QUIET, **options)
    resume(part, display=QUIET)
    assert parameters(part) == parameters(run.folder)

    report = run.report
    assert [*report.contexts] == ["-1", "0", "2", "1"]
    tv = {name: one.learned[0].tv.mean for name, one in report.contexts.items()}  # type: ignore[union-attr]  # exact
    mean = sum(tv[name] for name in ("-1", "0", "2")) / 3
    assert report.learned[0].tv.mean == pytest.approx(mean, abs=1e-12)  # type: ignore[union-attr]
    for name, one in report.contexts.items():
        here = run.at(name)
        certificate, law = pdai.certify(run.folder, context=name), here.law()
        assert here.report == one
        # The same sums in rationals and in float64.
        assert float(certificate.tv or 0) == pytest.approx(tv[name], abs=1e-9)
        assert audit(run.folder, context=name).tv == certificate.tv
        assert law.target == pytest.approx([float(share) for share in law_in(here.problem)])
        assert set(here.sample(20).states) <= set(law.labels)
    for door in (run.law, run.policy, lambda: run.sample(1), lambda: pdai.certify(run)):
        with pytest.raises(InputError, match="has the contexts -1, 0, 2"):
            door()
    with pytest.raises(InputError, match=r"no context '3'.* There are -1, 0, 2, 1"):
        run.at("3").sample(1)
    assert "1 (held out)" in html_of(contexts_table(report))  # type: ignore[arg-type]  # it has one


@pytest.mark.long
def test_the_gradient_is_the_mean_of_ordinary_gradients() -> None:
    name = "tests.fast.test_contexts:Chains"
    config = configure("custom", problem=name, dynamics="markov", loss="subtb", **SMALL)
    contexts = config.environment_or_contexts()
    assert isinstance(contexts, Contexts)
    state = jax.tree.map(lambda leaf: leaf[0], make_trainer(config, contexts).init())
    key = jax.random.key(5)
    gradient, _ = jax.jit(PerContext(config).learn)(contexts, state, key)
    ordinary = jax.jit(Networks(config).of_draws)
    each = []
    for number, draws in enumerate(jax.random.uniform(key, (3, 4, 8))):
        here = Sampler(state.sampler.policy, state.sampler.log_z[number])
        made = ordinary(contexts.at(number), state._replace(sampler=here), draws, key=key)
        each.append(made[0])
    assert float(gradient.loss) == pytest.approx(np.mean([one.loss for one in each]), rel=1e-5)
    mean = jax.tree.map(lambda *leaves: sum(leaves) / 3, *(one.by.policy for one in each))
    pairs = zip(jax.tree.leaves(gradient.by.policy), jax.tree.leaves(mean), strict=True)
    for ours, theirs in pairs:
        # Sums of float32 in another order.
        assert np.asarray(ours) == pytest.approx(np.asarray(theirs), abs=1e-5)
