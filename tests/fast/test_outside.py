"""Parts from outside train as ours do: losses, networks, environments, p_B, problems."""

import importlib.util
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pdai
from examples.necklaces import Necklaces
from examples.random_subtrajectory import RandomSubtrajectory
from examples.renyi import Renyi
from examples.subsets import Subsets, SubsetsProblem
from examples.transformer import Attention
from fast.balance.loss import RatioLoss
from fast.dynamics import AbstractDynamics, AbstractMarkovian
from fast.dynamics.own import check_backward
from fast.dynamics.perceptron import Perceptron
from fast.environments import make_environment
from fast.laws.paths import drawn_terminals
from fast.policies.backward import AbstractStateBackward
from fast.policies.policy import count_parameters
from fast.runs.display import SILENT
from fast.runs.job import resume
from fast.runs.records import read_json, read_metrics
from fast.training.build import make_policy
from fast.training.compose import IS, configure, from_json, to_json
from reference.contract.errors import InputError
from reference.problems import Lines
from tests.command_lines import parameters
from tests.refusals import refused, refuses

ROOT = Path(__file__).parents[2]
SMALL: dict[str, Any] = {"steps": 400, "batch": 32, "parameters": 8_000}
QUICK: dict[str, Any] = {**SMALL, "evaluations": 1, "display": SILENT}


class TwoLayers(AbstractStateBackward):
    """A backward policy of one's own."""

    head: Perceptron

    def __init__(self, features: int, parents: int, *, key: Any):
        self.head = Perceptron([features, 8, parents], key=key)

    def logits(self, observation: Any) -> Any:
        return self.head(observation)


def checked_backward(**methods: Any) -> None:
    """The check of `TwoLayers` with other methods."""
    policy = type("Changed", (TwoLayers,), methods)(4, 2, key=jax.random.key(0))
    check_backward("Changed", policy, jnp.zeros(4), 2)


def test_a_backward_policy_of_ones_own_passes() -> None:
    checked_backward()


test_control_a_backward_policy_that_is_no_distribution_of_its_own_is_refused = refuses(
    lambda methods: checked_backward(**methods),
    ({"logits": lambda self, seen: self.head(seen) + np.random.randn()}, "asked again"),
    ({"logits": lambda self, seen: self.head(seen) - 2 * self.head(seen).mean(0)}, "its batch"),
    ({"logits": lambda self, seen: self.head(seen)[..., :1]}, r"the shape \(3, 1\), but must"),
    ({"logits": lambda self, seen: self.head(seen) * jnp.nan}, "nan.* must give them 1"),
    ({"log_p_b": lambda self, _, seen, mask: self.head(seen)}, "must give them 1"),
    ({"log_p_b": lambda self, _, seen, mask: jax.nn.log_softmax(self.head(seen))}, "give them 1"),
)


class EveryField(AbstractDynamics[Any]):
    """Layers that are not written for leading axes, and fields of every kind."""

    cell: eqx.nn.LSTMCell
    attention: eqx.nn.MultiheadAttention
    squeeze: Any
    columns: Any
    order: Any
    scale: float
    output: int

    def __init__(self, features: int, size: int, *, key: Any):
        first, second = jax.random.split(key)
        self.cell = eqx.nn.LSTMCell(features, size, key=first)
        self.attention = eqx.nn.MultiheadAttention(2, size, inference=True, key=second)
        self.squeeze = lambda x: jnp.tanh(x)
        self.columns, self.order = jnp.arange(size), np.arange(size)
        self.scale, self.output = 2.0, size

    def initial(self, batch: tuple[int, ...] = ()) -> Any:
        return (jnp.zeros((*batch, self.output)),) * 2

    def advance(self, latent: Any, observation: Any) -> Any:
        step = jnp.vectorize(lambda x, h, c: self.cell(x, (h, c)), signature="(n),(d),(d)->(d),(d)")
        return step(observation, *latent)

    def read(self, latent: Any, observation: Any) -> Any:
        attend = jnp.vectorize(
            lambda h, c: self.attention(h[None], *2 * (jnp.stack([h, c]),))[0],
            signature="(d),(d)->(d)",
        )
        return self.scale * self.squeeze(attend(*latent))[..., self.columns][..., self.order]

    def unroll(self, observations: Any) -> Any:
        latent = self.initial(observations.shape[:-2])
        read = [self.read(latent, None)]
        for time in range(1, observations.shape[-2]):
            latent = self.advance(latent, observations[..., time, :])
            read.append(self.read(latent, None))
        return jnp.stack(read, -2)


CALLS = [0]


class Wrong(AbstractMarkovian):
    """A network with one of many mistakes."""

    weights: Any
    more: Any
    output: int
    mistake: ClassVar[str] = ""

    def __init__(self, features: int, size: int, *, key: Any):
        self.weights, self.output = jax.random.normal(key, (features, size)), size
        shift = jnp.ones(size)
        kept = {"a set": {1}, "a key": key, "a closure": lambda x: x + shift}
        self.more = kept.get(self.mistake, eqx.nn.Dropout())

    def read(self, latent: Any, observation: Any) -> Any:
        CALLS[0] += 1
        right = observation @ self.weights
        return {
            "a counter": lambda: CALLS[0] * right,
            "NumPy's numbers": lambda: right + np.random.default_rng().normal(size=self.output),
            "dropout": lambda: self.more(right),
            "an if": lambda: right if right.mean() > 0 else -right,
            "its shape": lambda: right.sum(-1),
            "a closure": lambda: self.more(right),
        }.get(self.mistake, lambda: right)()


def loss_of(of_ratios: Any) -> RatioLoss:
    """A loss of one's own."""
    made: Any = dataclass(frozen=True)(type("Mine", (RatioLoss,), {"of_ratios": of_ratios}))
    loss: RatioLoss = made()
    return loss


HERE = r"test_outside.py, line"
NETWORKS = {
    "a counter": r"a step of the program is .*, and asked again .* must have the same answer",
    "NumPy's numbers": "a step of the program is .*, and asked again",
    "dropout": rf"read\(\) raises RuntimeError, Dropout requires a key .*{HERE}",
    "an if": rf"read\(\) raises TypeError, it reads a traced array.*{HERE}",
    "its shape": rf"read\(\) \(.*{HERE} .*\) gives .* must give an array",
    "a closure": "an array that __init__ made and that is no field",
    "a set": r"has .more = .1., which is no array of numbers",
    "a key": r"has .more = .*key.* which is no array of numbers",
}
LOSSES: list[tuple[Any, str]] = [
    (lambda self, f, key: f[:2], r"gives float.* numbers of the shape \(2,\), but must give one"),
    (lambda self, f, key: 3, HERE + " .* gives 3, a int, but must give one number"),
    (lambda self, f, key: 0.5, "gives 0.5, a float"),
    (lambda self, f, key: None, "gives None, a NoneType"),
    (lambda self, f, key: (f.mean(), 0), "a tuple, but must give one number"),
    (lambda self, f, key: 1j * f.var(), "gives complex"),
    (lambda self, f, key: np.var(np.asarray(f)), f"reads a traced array.*{HERE}"),
    (lambda self, f, key: f.var() if f.mean() > 0 else 0, "reads a traced array.*outside"),
    (lambda self, f: f.var(), "raises TypeError, .* takes 2 positional arguments"),
    (lambda self, f, key: {}["a"], f"raises KeyError, 'a' .*{HERE}"),
]
MISTAKES = [
    *(("dynamics", type("Mistaken", (Wrong,), {"mistake": x}), why) for x, why in NETWORKS.items()),
    *(("loss", loss_of(of_ratios), "Mine: of_ratios.*" + why) for of_ratios, why in LOSSES),
]


@pytest.mark.parametrize(("part", "made", "why"), MISTAKES, ids=str)
def test_a_part_with_a_mistake_is_refused_before_there_is_a_folder(
    part: str, made: Any, why: str
) -> None:
    refused(why, pdai.check, made)
    refused(why, lambda: pdai.train(Necklaces, **{part: made}))


@dataclass(frozen=True)
class Incomplete(RatioLoss):
    """A field without a default, and no method."""

    weight: float


def test_rows_that_are_not_finite_are_not_drawn_from() -> None:
    environment = make_environment(Lines.minimal())
    config = configure("lines")
    policy = make_policy(config, environment, key=jax.random.key(0))
    large = jax.tree.map(lambda leaf: jnp.full_like(leaf, 3e38), policy)
    with pytest.raises(InputError, match="a row of logits that is not finite"):
        drawn_terminals(large, environment, 10, 0)


def documented(marker: str) -> dict[str, Any]:
    """The names that the code of the guide defines."""
    guide = (ROOT / "docs" / "extending.md").read_text()
    names: dict[str, Any] = {"__name__": "guide"}
    code = guide.partition(f"<!-- {marker} -->\n```python\n")[2].partition("```")[0]
    exec(compile(code, "extending.md", "exec"), names)
    return names


IMPORT = re.compile(r"^ *from ((?:pdai|fast|reference)[\w.]*) import ([\w, ]+)$", re.M)
NAMED = re.compile(r"((?:`\w+`,? ?(?:or |and )?)+) of\s+\[?`((?:fast|reference)\.[\w.]+)`")


def test_what_the_docs_say_to_import_can_be_imported() -> None:
    pages = [ROOT / "README.md"]
    for top in ("docs", "examples", "pdai", "fast", "reference"):
        pages += [*ROOT.glob(f"{top}/**/*.md"), *ROOT.glob(f"{top}/**/*.py")]
    text = "\n".join(page.read_text() for page in pages)
    lines = [(module, names) for module, names in IMPORT.findall(text)]
    lines += [(module, names) for names, module in NAMED.findall(text)]
    assert ("fast.dynamics", "`AbstractRecurrence` or `AbstractDynamics`") in lines
    for module, names in lines:
        for name in re.findall(r"\w+", re.sub(r" as \w+|`? or |`? and ", " ", names)):
            imported = importlib.import_module(module)
            assert hasattr(imported, name) or importlib.util.find_spec(f"{module}.{name}"), (
                module,
                name,
            )


PARTS: dict[str, dict[str, Any]] = {
    "layers of the guide": {"dynamics": documented("layers")["Layers"]},
    "fields of every kind": {"dynamics": EveryField, "latent_size": 8},
    "renyi by name": {"loss": "examples.renyi:Renyi", "order": 0.25},
    "random subtrajectory": {"loss": RandomSubtrajectory()},
    "minimal GRU by name": {"dynamics": "examples.min_gru:MinGRU", "skip": True, "seeds": 2},
    "transformer": {"dynamics": Attention, "loss": "log_variance"},
    "transformer with a flow": {"dynamics": Attention, "loss": "db"},
    "p_B": {"p_b": TwoLayers, "replay": "uniform"},
}


@pytest.mark.long
@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_ones_own_learns_the_law_exactly_measured(name: str, tmp_path: Path) -> None:
    run = pdai.train(Necklaces, out=tmp_path / "run", **QUICK, **PARTS[name])
    assert run.report.tv_kind == "float64"
    for figures in run.report.learned:
        assert figures.tv is not None
        assert run.report.uniform.tv is not None
        assert figures.tv.mean < 0.3 * run.report.uniform.tv.mean
    law = run.law()
    assert len(law.labels) == 16
    assert law.learned.sum(1) == pytest.approx(1)
    samples = run.sample(7)
    assert set(samples.states) <= set(law.labels)
    # The same sampler, whether from memory or from its folder.
    again = pdai.load(run.folder)
    assert again.sample(7).states == samples.states
    assert again.config == run.config


def test_the_fields_of_a_loss_are_its_options(tmp_path: Path) -> None:
    config = configure("custom", problem="examples.necklaces:Necklaces", loss=Renyi, order=0.125)
    assert config.loss == Renyi(0.125)
    assert config.changed(steps=3).loss == Renyi(0.125)
    data = to_json(config)
    assert data["loss"] == {IS: "examples.renyi:Renyi", "order": 0.125}
    assert from_json(data, "here") == config
    with pytest.raises(InputError, match="order"):
        configure("lines", loss="tb", order=0.5)


@pytest.mark.long
def test_an_environment_trains_with_a_problem_and_without(tmp_path: Path) -> None:
    known = pdai.train(SubsetsProblem, environment=Subsets, out=tmp_path / "known", **QUICK)
    assert known.report.tv_kind == "float64"
    assert known.report.learned[0].tv.mean < 0.1
    alone = Subsets.from_problem(SubsetsProblem())
    run = pdai.train(environment=alone, out=tmp_path / "alone", **QUICK)
    assert run.report.tv_kind == "unknown"
    assert len(run.sample(5).states) == 5
    with pytest.raises(InputError, match="are not listed"):
        run.law()


class Stated(SubsetsProblem):
    """Has a log Z that is a number, as `pdai certify` takes it."""

    def log_z(self) -> float:
        return 1.0

    def sample(self, count: int, seed: int) -> list[Any]:
        return []


def short() -> Any:
    """Subsets with a horizon of 2."""
    return replace(Subsets.from_problem(SubsetsProblem()), horizon=2)


test_an_environment_is_checked_before_it_is_trained = refuses(
    lambda options: pdai.train(**options, **QUICK),
    ({"problem": SubsetsProblem, "environment": short()}, "horizon is 2, but the longest"),
    ({"environment": short()}, "horizon is 2, but a random trajectory has not ended"),
    (
        {"problem": Stated, "environment": Subsets, "max_states": 3},
        r"Stated: log_z\(\) is 1.0, but .* Enclosure",
    ),
)


@pytest.fixture(scope="module")
def necklaces(tmp_path_factory: pytest.TempPathFactory) -> pdai.Run:
    """A run of our own parts on the problem from outside."""
    options = {**QUICK, "dynamics": "gru", "anneal": 0.5}
    return pdai.train(Necklaces, out=tmp_path_factory.mktemp("a") / "run", **options)


@pytest.mark.long
def test_probabilities_of_trajectories_and_terminals_agree(necklaces: pdai.Run) -> None:
    run = necklaces
    only = [["", "r", "rr", "rrr", "rrrr"]]
    assert run.log_prob(trajectories=only) == pytest.approx(run.log_prob(["rrrr"]), abs=1e-5)
    for wrong, why in (
        ([["r", "rr", "rrr", "rrrr"]], "begins in"),
        ([["", "r", "gg", "ggg", "gggg"]], "no edge"),
        ([["", "r", "rr"]], "not terminal"),
        ([[""]], "complete one"),
    ):
        with pytest.raises(InputError, match=why):
            run.log_prob(trajectories=wrong)
    with pytest.raises(InputError, match="no terminal state"):
        run.log_prob(["rr"])
    with pytest.raises(InputError, match="one of them"):
        run.log_prob()


@pytest.mark.long
def test_a_run_trains_on_from_its_parameters(necklaces: pdai.Run) -> None:
    more = necklaces.train(100, display=SILENT)
    assert more.folder == necklaces.folder.with_name("run-2")
    assert (necklaces.config.sampling.anneal, more.config.sampling.anneal) == (0.5, 0)
    start = read_metrics(more.folder)[0]
    assert start["step"] == 0
    # In float32 along the curve, in float64 in the report.
    assert start["tv"][0] == pytest.approx(necklaces.report.learned[0].tv.mean, abs=1e-5)


@pytest.mark.long
def test_a_run_of_ones_own_goes_on_bit_for_bit(tmp_path: Path) -> None:
    whole = pdai.train(Necklaces, loss=Renyi, out=tmp_path / "whole", **QUICK)
    part = pdai.train(Necklaces, loss=Renyi, out=tmp_path / "part", **QUICK)
    payload = parameters(part.folder)
    (part.folder / "seal.json").unlink()
    resume(part.folder, display=SILENT)
    assert payload == parameters(part.folder) == parameters(whole.folder)
    assert read_json(part.folder / "meta.json")["own"]["loss"]["name"] == "examples.renyi:Renyi"


@dataclass(frozen=True)
class Constant(RatioLoss):
    """A loss that is blind: the control."""

    def of_ratios(self, ratios: Any, key: Any) -> Any:
        return 0 * ratios.mean()


@pytest.mark.long
def test_control_a_blind_loss_learns_nothing(tmp_path: Path) -> None:
    run = pdai.train(Necklaces, loss=Constant(), out=tmp_path / "run", **QUICK)
    assert run.report.learned[0].tv.mean > 0.5 * run.report.uniform.tv.mean


class NoDynamics:
    """Not what it should be."""

    def __init__(self, features: int, size: int, *, key: Any):
        pass


class NeedsWidth(NoDynamics):
    """A whole network without `needs_head = False`: taken for a cell, which has no width."""

    def __init__(self, features: int, size: int, *, width: int, key: Any):
        pass


test_what_is_no_part_or_cannot_be_made_is_refused_by_name = refuses(
    lambda options: pdai.train(Necklaces, **QUICK, **options),
    ({"loss": "examples.renyi:Missing"}, "has no attribute"),
    ({"loss": Incomplete}, r"(abstract class|missing 1 required).*define the method"),
    ({"loss": Incomplete, "weight": 1.0}, "abstract class.*define the method"),
    ({"dynamics": NoDynamics}, "must give an AbstractDynamics"),
    ({"dynamics": NeedsWidth}, "missing 1 required keyword-only argument: 'width'"),
    ({"p_b": NoDynamics}, "must give an AbstractBackwardPolicy"),
)


def test_the_budget_of_tables_grows_with_the_states() -> None:
    options = {"problem": "reference.problems:LazyRandomWalk.minimal", "dynamics": "gru"}
    config = configure("custom", **options)
    tables = config.task.make_environment(config.problem(), config.run.max_states)
    assert count_parameters(make_policy(config, tables, key=jax.random.key(0))) >= 38_000

    many = eqx.tree_at(
        lambda table: table.features,
        tables,
        jnp.zeros((len(tables.children), 1_000)),
        is_leaf=lambda leaf: leaf is None,
    )
    count = count_parameters(make_policy(config, many, key=jax.random.key(0)))
    # A GRU of 32 numbers reads 1,000 features by 96,000 weights.
    assert count > 96_000
    with pytest.raises(InputError, match="nearest to it"):
        make_policy(config.changed(parameters=40_000), many, key=jax.random.key(0))
