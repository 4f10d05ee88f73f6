"""What comes in from outside trains as ours does: losses, networks, environments, p_B, problems."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import pdai
from examples.min_gru import MinGRU
from examples.necklaces import Necklaces
from examples.random_subtrajectory import RandomSubtrajectory
from examples.renyi import Renyi
from examples.subsets import Subsets, SubsetsProblem
from examples.transformer import Attention
from fast.balance.loss import RatioLoss
from fast.dynamics.perceptron import Perceptron
from fast.policies.backward import AbstractStateBackward
from fast.policies.build import make_policy
from fast.policies.policy import count_parameters
from fast.runs.display import SILENT
from fast.runs.job import resume
from fast.runs.records import read_json, read_metrics, write_json
from fast.training.compose import configure, from_json, to_json
from reference.errors import InputError

SMALL: dict[str, Any] = {"steps": 400, "batch": 32, "parameters": 8_000}
QUICK: dict[str, Any] = {**SMALL, "evaluations": 1, "display": SILENT}


class TwoLayers(AbstractStateBackward):
    """A backward policy of one's own."""

    head: Perceptron

    def __init__(self, features: int, parents: int, *, key: Any):
        self.head = Perceptron([features, 8, parents], key=key)

    def logits(self, observation: Any) -> Any:
        return self.head(observation)


PARTS: dict[str, dict[str, Any]] = {
    "renyi": {"loss": Renyi(order=0.25)},
    "renyi by name": {"loss": "examples.renyi:Renyi", "order": 0.75},
    "random subtrajectory": {"loss": RandomSubtrajectory()},
    "minimal GRU": {"dynamics": MinGRU, "skip": True, "latent_size": 8},
    "minimal GRU by name": {"dynamics": "examples.min_gru:MinGRU", "seeds": 2},
    "transformer": {"dynamics": Attention, "loss": "log_variance"},
    "transformer with a flow": {"dynamics": Attention, "loss": "db"},
    "p_B": {"p_b": TwoLayers, "replay": "uniform"},
}


@pytest.mark.long
@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_ones_own_learns_the_law_exactly_measured(name: str, tmp_path: Path) -> None:
    run = pdai.train(Necklaces, out=tmp_path / "run", **QUICK, **PARTS[name])
    assert run.report.tv_kind == "exact"
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
    assert (data["loss"], data["order"]) == ("examples.renyi:Renyi", 0.125)
    assert from_json(data, "here") == config
    with pytest.raises(InputError, match="order"):
        configure("lines", loss="tb", order=0.5)


@pytest.mark.long
def test_an_environment_trains_with_a_problem_and_without(tmp_path: Path) -> None:
    known = pdai.train(SubsetsProblem, environment=Subsets, out=tmp_path / "known", **QUICK)
    assert known.report.tv_kind == "exact"
    assert known.report.learned[0].tv.mean < 0.1
    alone = Subsets.from_problem(SubsetsProblem())
    run = pdai.train(environment=alone, out=tmp_path / "alone", **QUICK)
    assert run.report.tv_kind == "unknown"
    assert len(run.sample(5).states) == 5
    with pytest.raises(InputError, match="too many to enumerate"):
        run.law()


@pytest.mark.long
def test_probabilities_of_trajectories_and_terminals_agree(tmp_path: Path) -> None:
    run = pdai.train(Necklaces, out=tmp_path / "run", dynamics="gru", **QUICK)
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
def test_a_run_trains_on_from_its_parameters(tmp_path: Path) -> None:
    first = pdai.train(Necklaces, out=tmp_path / "run", **QUICK)
    more = first.train(100, display=SILENT)
    assert more.folder == tmp_path / "run-2"
    start = read_metrics(more.folder)[0]
    assert start["step"] == 0
    # In float32 along the curve, in float64 in the report.
    assert start["tv"][0] == pytest.approx(first.report.learned[0].tv.mean, abs=1e-5)


@pytest.mark.long
def test_a_run_of_ones_own_goes_on_bit_for_bit_and_not_with_another_source(tmp_path: Path) -> None:
    whole = pdai.train(Necklaces, loss=Renyi, out=tmp_path / "whole", **QUICK)
    part = pdai.train(Necklaces, loss=Renyi, out=tmp_path / "part", **QUICK)
    checkpoint = (part.folder / "checkpoint.eqx").read_bytes()
    (part.folder / "seal.json").unlink()
    resume(part.folder, display=SILENT)
    payload = checkpoint.partition(b"\n")[2]
    assert payload == (part.folder / "checkpoint.eqx").read_bytes().partition(b"\n")[2]
    assert payload == (whole.folder / "checkpoint.eqx").read_bytes().partition(b"\n")[2]
    meta = read_json(part.folder / "meta.json")
    assert meta["own"]["loss"]["name"] == "examples.renyi:Renyi"
    # As it was recorded before, when a run began with another source.
    meta["own"]["loss"] = {"name": "examples.renyi:Renyi", "sha256": "0" * 64}
    (part.folder / "seal.json").unlink()
    write_json(part.folder / "meta.json", meta)
    with pytest.raises(InputError, match=r"began: loss examples.renyi:Renyi \(its class\)"):
        resume(part.folder, display=SILENT)


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


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"loss": "nonsense"}, "must be one of"),
        ({"loss": "nowhere:Loss"}, "cannot be imported"),
        ({"loss": "examples.renyi:Missing"}, "has no attribute"),
        ({"loss": Necklaces}, "must be a Loss"),
        ({"dynamics": NoDynamics}, "must give an AbstractDynamics"),
        ({"p_b": NoDynamics}, "must give an AbstractBackwardPolicy"),
        ({"dynamics": MinGRU, "loss": "fm"}, "--dynamics markov"),
    ],
)
def test_what_is_no_part_is_refused_by_name(
    options: dict[str, Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=why):
        pdai.train(Necklaces, out=tmp_path / "run", **QUICK, **options)
    assert not (tmp_path / "run").exists()


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
    found = count_parameters(make_policy(config, many, key=jax.random.key(0)))
    # A GRU of 32 numbers reads 1,000 features by 96,000 weights.
    assert found > 96_000
    with pytest.raises(InputError, match="nearest to it"):
        make_policy(config.changed(parameters=40_000), many, key=jax.random.key(0))


@pytest.mark.long
@pytest.mark.parametrize("make", [MinGRU, Attention])
def test_networks_of_ones_own_pass_their_check(make: Any) -> None:
    assert pdai.check(make).rows()


def test_an_environment_is_checked_in_float64_as_well() -> None:
    found = pdai.check(Subsets, SubsetsProblem, precision="float64").rows()
    assert found["terminals"] == "16"
    with pytest.raises(InputError, match="only an environment is checked in a precision"):
        pdai.check(Renyi, precision="float64")


class Rough(Subsets):
    """The control: its rewards are right to float32 alone."""

    def log_reward(self, state: Any) -> Any:
        return super().log_reward(state) + 1e-6


def test_control_an_error_of_float32_is_seen_in_float64() -> None:
    assert pdai.check(Rough, SubsetsProblem).rows()
    with pytest.raises(InputError, match="reward"):
        pdai.check(Rough, SubsetsProblem, precision="float64")


def test_an_environment_of_ones_own_passes_its_check() -> None:
    assert pdai.check(Subsets, SubsetsProblem).rows()["terminals"] == "16"
    with pytest.raises(InputError, match="no problem is given"):
        pdai.check(Subsets)
