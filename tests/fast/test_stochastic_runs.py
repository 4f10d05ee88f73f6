"""Runs with a latent that is drawn anew: from start to end, interrupted, and what is refused."""

import json
import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import pdai
from fast.environments import make_environment
from fast.runs.display import SILENT
from fast.runs.job import train
from fast.stochastic.densities import Normal
from fast.stochastic.options import GaussianOptions, MeanOptions
from fast.training.compose import TrainConfig, configure, from_json, to_json
from fast.training.trainer import make_trainer
from pdai.distributed.plan import Distributed
from pdai.run import Run
from reference import InputError
from tests.refusals import refused, refuses

SMALL: dict[str, Any] = {
    "length": 4, "parameters": 600, "batch": 16, "latent_size": 2, "checkpoint_every": 100,
    "evaluations": 1, "seeds": 2, "steps": 300, "law_samples": 4_096,
}  # fmt: skip


def gaussian(task: str = "lines", **options: Any) -> TrainConfig:
    return configure(task, **{"dynamics": "gaussian", **options})


@pytest.mark.long
def test_a_run_is_sampled_and_looked_at_and_not_summed(tmp_path: Path) -> None:
    folder, report = train(gaussian(**SMALL, out=tmp_path / "run"), display=SILENT)
    assert (report.tv_kind, report.method) == ("sampled", "4,096 samples")
    run = pdai.load(folder)
    law = run.law()
    drawn = run.sample(4_096)
    shares = [drawn.states.count(label) / 4_096 for label in law.labels]
    assert np.abs(shares - law.learned[0]).max() < 0.05
    assert set(Run(folder).sample(20).states) <= set(law.labels)
    # The pairs of states and latents have the ratios that a bound of log Z is the mean of.
    bound = (drawn.log_reward + drawn.log_p_b - drawn.log_p_f).mean()
    assert bound < (run.report.log_z or 0) + 0.05
    with pytest.raises(InputError, match=r"has a random latent, .* nothing can be certified"):
        pdai.certify(folder)
    with pytest.raises(InputError, match="trajectory of states is an integral over latents"):
        run.log_prob(trajectories=[["p0", "q0"]])
    with pytest.raises(InputError, match="has dynamics gaussian: samplers are combined along"):
        train(configure("lines", length=4, loss="log_variance", frozen=(folder,), seeds=2,
                        out=tmp_path / "other"))  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(
    "config",
    [
        gaussian("grid", side=5, landscape="sparse", steps=4, batch=8, seeds=2),
        gaussian("grid", side=4, steps=4, batch=8, latent_size=2, covariance=(2.0, 1.0)),
        gaussian("random-walk", radius=2, walk_steps=4, steps=4, batch=8),
        gaussian("sets", items=4, size=2, steps=4, batch=8, hidden_layers=2),
        gaussian(length=4, target="sparse", peaks=(1,), steps=4, batch=8, epsilon=0.0,
                 gradient="reparameterised"),
        gaussian(length=4, steps=4, batch=8, dynamics="gaussian-mean", sigma=0.5),
    ],
    ids=lambda c: f"{c.task.name}-{c.name_of('dynamics')}-{c.dynamics.gradient}",
)  # fmt: skip
def test_problems_train_and_their_options_survive(config: TrainConfig) -> None:
    trainer = make_trainer(config, make_environment(config.problem()))
    start = trainer.init()
    before = [np.asarray(leaf) for leaf in jax.tree.leaves(start.sampler)]
    state, info = trainer.advance(start, config.optimiser.steps)
    assert info.loss.shape == (config.run.seeds, config.optimiser.steps)
    after = [np.asarray(leaf) for leaf in jax.tree.leaves(state.sampler)]
    assert all(np.isfinite(leaf).all() for leaf in after)
    moved = [not np.array_equal(a, b) for a, b in zip(before, after, strict=True)]
    # Of a mean, the densities are not trained, but for the decay of weights.
    assert all(moved) if isinstance(config.dynamics, GaussianOptions) else any(moved)
    assert from_json(json.loads(json.dumps(to_json(config))), "config.json") == config


def test_the_usual_options_are_those_of_the_latent() -> None:
    assert (gaussian().optimiser.learning_rate, configure("lines").optimiser.learning_rate) == (
        2e-3,
        1e-2,
    )
    assert gaussian(learning_rate=0.5).optimiser.learning_rate == 0.5
    # The usual loss of SIX6 is another.
    assert gaussian("six6").name_of("loss") == "tb"
    assert (GaussianOptions().latent_size, gaussian().dynamics.parameters) == (8, 10_000)


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        ((1.0, 2.0, 2.0, 1.0), "not positive definite, its smallest eigenvalue being -1"),
        ((1.0, 0.0), "not positive definite, its smallest eigenvalue being 0"),
        ((1.0, 0.5, 0.4, 1.0), "must be finite and symmetric"),
        ((1.0, float("inf")), "must be finite and symmetric"),
        ((1.0, 1.0, 1.0), "Lambda has 3 entries, but must have 2 (its diagonal) or 4"),
    ],
)
def test_a_covariance_that_is_none_is_refused(covariance: Any, message: str) -> None:
    refused(re.escape(message), lambda: gaussian(latent_size=2, covariance=covariance))
    refused(re.escape(message), Normal.of, (), covariance, 2)


def started(options: dict[str, Any]) -> object:
    """The first state of a training with these options."""
    config = gaussian(**options)
    return make_trainer(config, make_environment(config.problem())).init()


test_what_does_not_go_with_a_latent_is_refused = refuses(
    started,
    ({"sigma": 0.0}, "sigma is 0.0"),
    ({"sigma": -1.0}, "without noise the latent has no density"),
    ({"sigma": float("nan")}, "without noise the latent has no density"),
    ({"mu": (1.0,)}, r"mu is \(1.0,\), but must be 8 finite numbers"),
    ({"gradient": "reparameterised"}, "epsilon 0.05 and temperature 1.0: the gradient"),
    (
        {"gradient": "reparameterised", "epsilon": 0.0, "temperature": 2.0},
        "use --epsilon 0 and --temperature 1",
    ),
    (
        {"gradient": "reparameterised", "dynamics": "gaussian-mean", "epsilon": 0.0},
        "dynamics gaussian-mean, which has no such option: it belongs to --dynamics gaussian;",
    ),
    ({"dynamics": "gaussian-mean", "mu": (0.5,) * 8}, "it belongs to --dynamics gaussian;"),
    ({"dynamics": "gru", "sigma": 0.5}, "it belongs to --dynamics gaussian or gaussian-mean"),
    ({"components": 0}, "components is 0, but must be at least 1"),
    ({"latent_size": 0}, "latent_size is 0, but must be at least 1"),
    ({"latent_size": 1, "mu": (True,)}, r"mu\[0\] is True, but must be a number"),
    ({"loss": "db"}, "dynamics gaussian with loss db: it is trained by trajectory balance"),
    ({"penalty": "huber"}, "with loss tb: it is trained by trajectory balance, of squares"),
    ({"p_b": "learned"}, "dynamics gaussian with p_b learned"),
    ({"p_b": "lifted", "dynamics": "gaussian-mean"}, "gaussian-mean with p_b lifted"),
    ({"replay": "uniform"}, "with replay or several devices"),
    ({"devices": 2}, "with replay or several devices"),
    ({"parameters": 3}, "the gaussian policy nearest to it has"),
)


def test_a_reward_in_factors_is_refused_before_any_run() -> None:
    with pytest.raises(InputError, match="dynamics gaussian with factors of a reward"):
        Distributed(gaussian("sets", items=4, size=2), clients=2)


def test_a_problem_too_large_to_count_on_is_refused(tmp_path: Path) -> None:
    config = gaussian(**SMALL, max_states=5, out=tmp_path / "run")
    with pytest.raises(InputError, match=r"dynamics gaussian on 10 states: .* raise --max-states"):
        train(config)
    assert not (tmp_path / "run").exists()


def test_a_mean_has_no_options_of_a_law() -> None:
    assert {"mu", "components"} <= vars(GaussianOptions()).keys()
    assert not {"mu", "components"} & vars(MeanOptions()).keys()
