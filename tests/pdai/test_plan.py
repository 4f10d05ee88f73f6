"""Plans of distributed and streaming inference: which runs they have, and which have no meaning."""

import json
from pathlib import Path
from typing import Any

import pytest

from fast.balance.losses import LogVariance
from fast.dynamics.gru import GRUOptions
from fast.dynamics.srwm import SRWMOptions
from fast.runs.frozen import factors_left
from fast.training.compose import TrainConfig, configure, from_json, to_json
from pdai.distributed.plan import Distributed, Plan, Streamed, plan_from_json
from reference import InputError
from tests.refusals import refuses, whole

TINY = configure("sets", items=5, size=2, dynamics="gru", latent_size=8, parameters=2_000)
OUT = Path("out")
PARTS = TINY.changed(parts=3)
NAMES = (Path("a"), Path("b"), Path("c"))


def part(*factors: int) -> TrainConfig:
    return PARTS.changed(factors=factors)


def left(config: TrainConfig, *given: TrainConfig) -> tuple[int, ...]:
    """The factors that the runs a, b and c leave over, if their configurations are as given."""
    return factors_left(config.changed(loss="log_variance", frozen=NAMES[: len(given)]), given)


def test_control_samplers_that_multiply_to_the_target_are_accepted() -> None:
    assert left(PARTS, part(0), part(1), part(2)) == ()
    assert left(PARTS, part(1)) == (0, 2)


test_plans_without_a_meaning_are_refused = refuses(
    whole,
    (lambda: left(PARTS, part(0), part(1), part(1)), "factor 1 is in the frozen runs"),
    (lambda: left(part(0, 1), part(2)), "has factor 2, but"),
    (lambda: left(PARTS, part(0), part(1)), r"leave the factors \[2\] over"),
    (lambda: left(PARTS, configure("grid")), "is on grid, and this one on sets"),
    (lambda: left(PARTS, PARTS.changed(items=6)), "has items = 6, and this run 5"),
    (lambda: left(PARTS, PARTS.changed(utility_seed=9)), "utility_seed = 9, and this run 0"),
    (lambda: left(PARTS, TINY.changed(parts=2)), "has parts = 2, and this run 3"),
    (lambda: left(PARTS, PARTS.changed(seeds=2)), "has seeds = 2, and this run 1"),
    (lambda: TINY.changed(parts=6), "in 6 parts: its reward is a product of 5 factors"),
    (lambda: TINY.changed(parts=2, factors=(2,)), "must be different numbers from 0 to 1"),
    (lambda: TINY.changed(parts=2, factors=(0, 0)), "must be different numbers"),
    (lambda: TINY.changed(parts=0), "parts is 0, but must be at least 1"),
    (lambda: configure("grid", parts=2), "Grid does not split into factors"),
    (lambda: TINY.changed(form="sum", parts=2), "with form='sum' the reward is no product"),
    (lambda: TINY.changed(loss="tb", frozen=NAMES[:1]), "loss tb with frozen runs"),
    (lambda: TINY.changed(p_b="lifted", frozen=NAMES[:1]), "p_b lifted with frozen runs"),
    (lambda: TINY.changed(replay="reward", frozen=NAMES[:1]), "replay reward with frozen"),
    (lambda: TINY.changed(warm=True), "warm with 0 frozen runs"),
    (lambda: Distributed(TINY, 1), "the number of factors is 1, but must be"),
    (lambda: Distributed(TINY, 2, ("gru", "srwm", "markov")), "names 3, but there are 2"),
    (lambda: Streamed(TINY, 2, ("gru", "srwm", "markov")), "chunk_dynamics names 3, but"),
    (lambda: Distributed(TINY.changed(parts=2)), "distribute with parts = 2"),
    (lambda: Distributed(TINY, 2, ("gcn",)), "dynamics gcn on sets"),
    (lambda: Streamed(configure("preference", comparisons=2), 3), "a product of 2 factors"),
    (lambda: Streamed(TINY, 0), "the number of factors is 0"),
    (lambda: Distributed(TINY, 2, ("GRU",)), r"dynamics is 'GRU', but must be one"),
    (lambda: Distributed(TINY, 2.0), "clients is 2.0, but must be an integer"),
    (lambda: Streamed(TINY, 2, anew=1), "anew is 1, but must be True or False"),
    (lambda: Distributed(TINY.changed(seed=2**31 - 2)), "seed is 2147483648 and seeds is 1"),
)


@pytest.mark.parametrize("loss", ["log_variance", "subtb"])
def test_runs_of_other_dynamics_and_losses_have_the_options_that_mean_something(loss: Any) -> None:
    options = {"subtb_lambda": 0.5} if loss == "subtb" else {}
    base = TINY.changed(dynamics="srwm", rotation="none", loss=loss, penalty="huber", **options)
    assert isinstance(base.dynamics, SRWMOptions)
    assert base.dynamics.rotation == "none"
    runs = Distributed(base, 3, ("gru", "markov", "srwm")).runs()
    assert runs["client-0"].dynamics == GRUOptions(latent_size=8, parameters=2_000)
    assert runs["client-1"].name_of("dynamics") == "markov"
    assert {runs[n].dynamics for n in ("client-2", "aggregate", "direct")} == {base.dynamics}
    assert runs["aggregate"].loss == LogVariance("huber")
    assert runs["client-2"].loss == runs["direct"].loss == base.loss
    chunks = Streamed(base, 2, ("srwm", "gru")).runs()
    assert chunks["chunk-0"].dynamics == base.dynamics
    assert chunks["chunk-1"].name_of("dynamics") == "gru"


def test_chunks_are_warm_where_their_network_is_that_of_the_chunk_before() -> None:
    chunks = Streamed(TINY, 2).runs()
    assert [chunks[f"chunk-{t}"].factors.covered for t in range(2)] == [(0,), (0, 1)]
    assert chunks["chunk-1"].factors.warm
    assert not Streamed(TINY, 2, ("markov", "gru")).runs()["chunk-1"].factors.warm
    assert not Streamed(TINY, 2, anew=True).runs()["chunk-1"].factors.warm


@pytest.mark.parametrize(
    ("plan", "size"),
    [
        (Distributed(TINY.changed(out=OUT), 2, ("gru",), ("learned", "uniform")), "clients"),
        (Streamed(TINY.changed(out=OUT), 3, ("markov",), anew=True), "chunks"),
    ],
    ids=["distributed", "streamed"],
)
def test_a_plan_survives_json_and_one_that_was_edited_is_refused(plan: Plan, size: str) -> None:
    data = json.loads(json.dumps(plan.to_json()))
    assert plan_from_json(data, OUT) == plan
    edits: list[tuple[dict[str, Any], str]] = [
        ({"format": 9}, "has format 9"),
        ({"kind": "x"}, "kind 'x'"),
        ({"kind": [plan.kind]}, "has format 1 and kind"),
        ({"colour": "red"}, r"unknown \['colour'\]"),
        ({"config": None}, "has the config None, which is no JSON object"),
        ({"config": {**data["config"], "steps": "9"}}, "steps is '9', but must be"),
        ({size: None}, rf"{size} is None, but must be an integer"),
    ]
    for edit, message in edits:
        with pytest.raises(InputError, match=rf"plan\.json.*{message}"):
            plan_from_json({**data, **edit}, OUT)


def test_configurations_without_factors_are_written_as_before_there_were_any() -> None:
    assert not set(to_json(TINY)) & {"parts", "factors", "frozen", "warm"}
    config = TINY.changed(parts=2, factors=(0, 1), frozen=NAMES[:1], warm=True)
    assert from_json(json.loads(json.dumps(to_json(config))), "config.json") == config
