"""Training: it learns, it repeats itself bit for bit, and it keeps to its parameter budget."""

import dataclasses
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.balance.loss import Loss
from fast.balance.losses import LogVariance
from fast.dynamics.gru import GRUOptions
from fast.dynamics.markov import AbstractMarkovian
from fast.laws.enumeration import enumerate_environment
from fast.laws.terminal_law import exact_law, target_law
from fast.parts import BACKWARD, CHOICES, choose, option_names
from fast.policies.policy import Policy, Sampler, count_parameters
from fast.runs.frozen import arithmetic
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import uniforms
from fast.tasks import TASKS
from fast.training.build import make_policy
from fast.training.compose import FIXED, FORMAT, TrainConfig, configure, from_json, to_json
from fast.training.options import OptimiserOptions
from fast.training.state import TrainState
from fast.training.step import Batch, loss_and_gradient
from fast.training.trainer import make_trainer
from reference import InputError, enumerate_dag, total_variation
from tests.fast.test_matrix import SMALL

SHIPPED = [name for name in TASKS if name != "pho4"]
KEY = jax.random.key(0)
# A task of the user's own has no default problem.
NEEDED: dict[str, dict[str, Any]] = {"custom": {"problem": "reference.problems:Grid.minimal"}}


def bits(state: TrainState) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state)]


@pytest.mark.long
@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("dynamics", ["gru", "srwm", "markov"])
def test_all_families_stay_within_five_percent_of_the_budget(name: str, dynamics: Any) -> None:
    config = configure(name, **NEEDED.get(name, {}), dynamics=dynamics, parameters=20_000)
    policy = make_policy(config, config.make_environment(), key=jax.random.key(0))
    assert abs(count_parameters(policy) - 20_000) <= 0.05 * 20_000


def test_a_budget_that_no_width_meets_is_refused() -> None:
    config = configure("lines", dynamics="gru", parameters=1_000)
    with pytest.raises(InputError, match=r"parameters is 1,000, but the gru policy .* has "):
        make_policy(config, config.make_environment(), key=jax.random.key(0))


@pytest.mark.long
@pytest.mark.parametrize(
    "config",
    [
        configure("lines", length=6, steps=300, batch=64, dynamics="gru"),
        configure("lines", length=6, steps=300, batch=64, dynamics="markov", loss="log_variance"),
        configure("grid", side=4, steps=300, batch=64, loss="log_variance", learning_rate=3e-3),
        configure(
            "syn",
            length=3,
            letters=3,
            build="prepend-append",
            loss="tb",
            steps=300,
            batch=64,
            learning_rate=3e-3,
        ),
    ],
    ids=lambda c: f"{c.task.name}-{c.name_of('dynamics')}-{c.name_of('loss')}",
)
def test_training_brings_the_exact_law_to_the_target(config: TrainConfig) -> None:
    config = config.changed(parameters=5_000)
    environment = config.make_environment()
    enumeration = enumerate_environment(config.problem(), environment)
    trainer = make_trainer(config, environment)

    def distance(state: TrainState) -> float:
        law = exact_law(state.policy(0), enumeration, float64=False)
        return total_variation(law.probabilities.tolist(), target_law(enumeration).tolist())

    start = trainer.init()
    before = distance(start)
    after = distance(trainer.advance(start, config.optimiser.steps)[0])
    # These runs end between 0.001 and 0.03, from 0.1 or more: far from the edge on both sides.
    assert before > 0.05
    assert after < min(0.06, before / 2)


@pytest.mark.catches(
    "log Z learns at the rate of the policy.",
    "fast/training/options.py",
    "optax.adam(log_z_learning_rate)",
    "optax.adam(self.learning_rate)",
)
def test_log_z_and_the_policy_take_first_steps_of_their_own_rates() -> None:
    start = Sampler(jnp.zeros(2), jnp.zeros(()))  # type: ignore[arg-type]
    optimiser = OptimiserOptions(learning_rate=0.01).make(0.3)
    gradient = Sampler(jnp.array([0.1, -0.2]), jnp.float32(5))  # type: ignore[arg-type]
    steps, _ = optimiser.update(gradient, optimiser.init(start), start)
    # The first step of Adam is its rate, against the sign of the gradient, in float32.
    assert steps.log_z == pytest.approx(-0.3, rel=1e-4)
    assert steps.policy.tolist() == pytest.approx([-0.01, 0.01], rel=1e-4)


def test_equal_seeds_give_equal_bits_and_others_do_not() -> None:
    def run(seed: int, chunks: tuple[int, ...]) -> list[bytes]:
        options = {"dynamics": "gru", "parameters": 5_000, "seed": seed}
        config = configure("lines", length=5, steps=60, batch=16, **options)
        trainer = make_trainer(config, config.make_environment())
        state = trainer.init()
        for chunk in chunks:
            state, _ = trainer.advance(state, chunk)
        return bits(state)

    assert run(0, (20, 20, 20)) == run(0, (20, 20, 20))
    assert run(0, (20, 20, 20)) != run(1, (20, 20, 20))


@pytest.mark.parametrize("name", SHIPPED)
def test_configurations_survive_json(name: str) -> None:
    config = configure(name, **NEEDED.get(name, {}), seed=7)
    assert from_json(to_json(config), "config.json") == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99}, "format 99, but this version of pdai reads format 4"),
        ({"task": "chess"}, "the task is 'chess', but known are"),
        ({"colour": "red"}, r"unknown \['colour'\]"),
        ({"heads": 2}, r"unknown \['heads'\]"),
        ({"task": ["lines"]}, r"the task is \['lines'\], but known are"),
        ({"steps": "100"}, r"config\.json: OptimiserOptions: steps is '100', but must be an int"),
        ({"peaks": None}, r"config\.json: LinesTask: peaks is None, but must be a tuple"),
        ({"frozen": 7}, r"config\.json: Factors: frozen is 7, but must be a tuple"),
        ({"frozen": [7]}, r"config\.json: Factors: frozen\[0\] is 7, but must be a pathlib.Path"),
        ({"seed": "a"}, r"config\.json: RunOptions: seed is 'a', but must be an integer"),
        ({"dynamics": "Markov"}, r"config\.json: dynamics is 'Markov', but must be one of"),
        ({"dynamics": 3}, r"config\.json: dynamics is 3, but must be a DynamicsOptions"),
        ({"steps": 0}, r"config\.json: steps is 0, but must be at least 1"),
        ({"out": "runs"}, r"config\.json has the wrong fields"),
    ],
)
def test_foreign_configurations_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_json({**to_json(configure("lines")), **change}, "config.json")
    with pytest.raises(InputError, match="missing"):
        from_json({"format": FORMAT, "task": "lines"}, "config.json")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps is 0, but must be at least 1"),
        ({"batch": 1}, "batch is 1, but must be at least 2: log_variance compares trajectories"),
        ({"batch": 0}, "batch is 0, but must be at least 1"),
        ({"loss": "subtb", "subtb_lambda": 0.0}, r"subtb_lambda is 0.0, but must lie in \(0, 1\]"),
        ({"loss": "subtb", "subtb_lambda": 1.5}, "subtb_lambda is 1.5"),
        ({"temperature": 0.0}, "temperature is 0.0, but must be positive"),
        ({"loss": "fm"}, "loss fm with dynamics gru: flow matching sums over all parents"),
        ({"dynamics": "markov", "p_b": "lifted"}, "there is no latent to read"),
        ({"p_b": "lifted", "replay": "reward"}, "a lifted p_b does not allow"),
        ({"dynamics": "markov", "loss": "fm", "p_b": "learned"}, "fm has no backward policy"),
        ({"replay": "uniform", "replay_share": 0.001}, "leave some of both"),
        ({"replay": "uniform", "replay_share": 1.0}, "must lie strictly between 0 and 1"),
        ({"replay": "uniform", "replay_capacity": 0}, "replay_capacity is 0, but must be at least"),
        ({"devices": 3}, "batch is 128, which 3 devices cannot share"),
        ({"epsilon": 1.5}, "epsilon is 1.5, but must lie"),
        ({"learning_rate": float("nan")}, "learning_rate is nan"),
        ({"learning_rate": -1.0}, "learning_rate is -1.0"),
        ({"loss": "tb", "log_z_learning_rate": 0.0}, "log_z_learning_rate is 0.0, but must be pos"),
        ({"exponent": 0}, "exponent is 0"),
        ({"seed": -1}, "seed is -1 and seeds is 1, but all seeds must be at least 0 and below"),
        ({"seed": 2**31}, "seed is 2147483648 and seeds is 1, but all seeds must be"),
        ({"seed": 2**31 - 2, "seeds": 3}, "seed is 2147483646 and seeds is 3"),
        ({"items": 5}, "items is an option of sets, and not of six6"),
        ({"colour": "red"}, "there is no option 'colour'"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        configure("six6", **{"dynamics": "gru", **options})


def homeless() -> list[tuple[str, str, str, str]]:
    """Options that a part has by one name and not by another: part, option, owner, the other."""
    return [
        (part, option, owner, other)
        for part, known in CHOICES.items()
        for owner, kind in known.items()
        for option in sorted(option_names(kind))
        for other in known
        if option not in option_names(known[other])
    ]


def with_part(part: str, name: str, **options: Any) -> TrainConfig:
    """A configuration with a part of this name, and others that go with it."""
    if name == "fm":
        options["dynamics"] = "markov"
    return configure("graphs" if name.endswith("gcn") else "lines", **{part: name}, **options)


@pytest.mark.parametrize(("part", "option", "owner", "other"), homeless())
def test_an_option_of_a_part_that_is_not_chosen_is_refused(
    part: str, option: str, owner: str, other: str
) -> None:
    usual = getattr(getattr(with_part(part, owner), part), option)
    flag = part.replace("_", "-")
    message = (
        rf"{option} is {re.escape(repr(usual))} with {part} {other}, which has no such option: "
        rf"it is of --{flag} (.* or )?{owner}( or .*)?; choose that, or leave {option} away"
    )
    with pytest.raises(InputError, match=message):
        with_part(part, other, **{option: usual})
    # The control: each is accepted by itself, and they go together in the part that has them.
    assert with_part(part, other)
    assert with_part(part, owner, **{option: usual}) == with_part(part, owner)


def test_no_option_is_of_two_parts() -> None:
    assert len(homeless()) > 100
    parts = {part: [*known.values()] for part, known in CHOICES.items()}
    parts |= {"task": [*TASKS.values()]} | {part: [kind] for part, kind in FIXED.items()}
    names = {part: set().union(*map(option_names, kinds)) for part, kinds in parts.items()}
    every = [name for found in names.values() for name in found] + [*CHOICES, "task", "format"]
    assert len(every) == len(set(every))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dynamics": "Markov"}, "dynamics is 'Markov', but must be one of .*'srwm'"),
        ({"peaks": (3, 5)}, r"peaks is \(3, 5\) with target laplaces, .* use the other target"),
        ({"target": "sparse", "length": 20, "target_seed": 4}, "target_seed is 4 with target spar"),
        ({"loss": "trajectory_balance"}, "loss is 'trajectory_balance', but must be one of 'db'"),
        ({"schedule": "linear"}, "schedule is 'linear', but must be one of 'cosine', 'constant'"),
        ({"precision": "f64"}, "precision is 'f64', but must be one of 'float32', 'float64'"),
        ({"replay": None}, "replay is None, but must be a NoReplay"),
        ({"p_b": "none"}, "p_b is 'none', but must be one of 'learned'"),
        ({"loss": GRUOptions()}, "loss is GRUOptions.*, but must be a Loss"),
        ({"loss": "reference.problems:Grid"}, "loss is .*Grid.*, but must be a Loss"),
        ({"loss": "nowhere:It"}, "'nowhere' cannot be imported"),
        ({"penalty": "cube"}, "penalty is 'cube', but must be one of 'square'"),
        ({"steps": "100"}, "steps is '100', but must be an integer"),
        ({"batch": 12.5}, "batch is 12.5, but must be an integer"),
        ({"seeds": True}, "seeds is True, but must be an integer"),
        ({"learning_rate": "fast"}, "learning_rate is 'fast', but must be a number"),
        ({"temperature": True}, "temperature is True, but must be a number"),
        ({"skip": 1}, "skip is 1, but must be True or False"),
        ({"peaks": 3}, r"peaks is 3, but must be a tuple"),
        ({"peaks": (2, 20.0)}, r"peaks\[1\] is 20.0, but must be an integer"),
        ({"frozen": (7,)}, r"frozen\[0\] is 7, but must be a pathlib.Path"),
        ({"out": 7}, "out is 7, but must be a pathlib.Path"),
    ],
)
def test_options_of_another_type_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        configure("lines", **{"dynamics": "gru", **options})


def test_options_of_their_types_and_at_their_edges_are_accepted() -> None:
    config = configure(
        "lines", learning_rate=1, frozen=(Path("a"),), loss="log_variance", out=Path("b")
    )
    assert config.changed(seed=2**31 - 2, seeds=2, out=None).run.seeds == 2
    # What is only refused where it changes nothing.
    configure("lines", dynamics="srwm", heads=2, rotation="none", erase="after", penalty="huber")
    configure("lines", dynamics="rnn", activation="tanh", loss="subtb", subtb_lambda=0.5)


def test_a_problem_of_the_users_own_has_its_own_features() -> None:
    with pytest.raises(InputError, match=r"encoding is an option of .*lines.*, and not of custom"):
        configure("custom", problem="reference.problems:Grid.minimal", encoding="fourier")


def test_what_a_change_leaves_without_meaning_goes_with_its_part() -> None:
    options = {"dynamics": "srwm", "rotation": "none", "loss": "subtb", "subtb_lambda": 0.5}
    config = configure("lines", **options)
    assert config.changed(seed=3) == configure("lines", **options, seed=3)
    left = config.changed(dynamics="gru", loss="log_variance")
    assert left == configure("lines", dynamics="gru", loss="log_variance")
    with pytest.raises(InputError, match="rotation is 'haar' with dynamics gru"):
        left.changed(rotation="haar")


def test_a_part_that_is_given_as_an_object_is_what_it_is() -> None:
    # The defaults of Lines have other parameters than an object of its own.
    cell = GRUOptions(parameters=5_000, latent_size=8)
    config = configure("lines", dynamics=cell, loss=LogVariance())
    assert (config.dynamics, config.name_of("dynamics")) == (cell, "gru")
    assert configure("lines").dynamics.parameters == 10_000
    assert config == configure(
        "lines", dynamics="gru", parameters=5_000, latent_size=8, loss="log_variance"
    )
    # An option given beside it changes it, and those of other parts are refused as ever.
    assert configure("lines", dynamics=cell, skip=True).dynamics == dataclasses.replace(
        cell, skip=True
    )
    with pytest.raises(InputError, match="heads is 2 with dynamics gru, which has no such option"):
        configure("lines", dynamics=cell, heads=2)


@dataclasses.dataclass(frozen=True)
class Kindly(LogVariance):
    """A loss of the user's own, whose options have whatever names."""

    kind: str = "mild"
    part: int = 1


def test_an_option_of_the_users_own_has_any_name() -> None:
    config = configure("lines", loss=Kindly, kind="wild")
    assert (config.loss, config.name_of("loss")) == (Kindly("wild"), f"{__name__}:Kindly")
    assert config.changed(part=2).loss == Kindly("wild", 2)
    assert option_names(choose("loss", Kindly()).options) == {"kind", "part"}


class Seen(AbstractMarkovian):
    """Dynamics of the user's own that have no latent."""

    output: int = eqx.field(static=True)

    def __init__(self, features: int, size: int, *, key: Any):
        self.output = features

    def read(self, latent: Any, observation: Any) -> Any:
        return observation


def test_dynamics_of_the_users_own_that_have_no_latent_are_markovian() -> None:
    config = configure("lines", length=4, dynamics=Seen, loss="fm")
    assert config.dynamics.is_markovian
    assert make_policy(config, config.make_environment(), key=KEY).is_markovian
    with pytest.raises(InputError, match=r"p_b lifted with dynamics .*Seen: there is no latent"):
        configure("lines", dynamics=Seen, p_b="lifted")
    # What a function makes is known when it is made.
    late = configure("lines", length=4, dynamics=lambda *sizes, key: Seen(*sizes, key=key))
    assert not late.dynamics.is_markovian
    with pytest.raises(InputError, match=r"p_b lifted with dynamics .*: there is no latent"):
        make_policy(late.changed(p_b="lifted"), late.make_environment(), key=KEY)


@pytest.mark.parametrize("dynamics", ["linear", "linear-markov"])
def test_a_learned_backward_policy_has_the_budget_that_a_linear_one_leaves(dynamics: Any) -> None:
    config = configure("lines", dynamics=dynamics, p_b="learned", parameters=5_000)
    environment = config.make_environment()
    policy = make_policy(config, environment, key=jax.random.key(0))
    assert abs(count_parameters(policy) - 5_000) <= 0.05 * 5_000
    alone = config.changed(p_b="uniform")
    assert count_parameters(make_policy(alone, environment, key=jax.random.key(0))) < 1_000


@pytest.mark.parametrize("name", BACKWARD)
def test_a_backward_policy_reads_as_many_outputs_as_its_options_say(name: str) -> None:
    options = BACKWARD[name]()
    assert options.outputs(3) == options.build(5, 3, [4], key=KEY).outputs


def loss_of(config: TrainConfig) -> None:
    environment = config.make_environment()
    policy = make_policy(configure("lines", length=4, loss="db"), environment, key=KEY)

    def loss() -> Any:
        draws = uniforms(KEY, environment, 4)
        drawn, _ = sample_trajectories(policy, environment, draws)
        sampler = Sampler(policy, jax.numpy.zeros(()))
        return loss_and_gradient(config.loss, environment, sampler, Batch(drawn, None), KEY)

    jax.eval_shape(loss)


def compute_in(config: TrainConfig) -> None:
    with arithmetic(config.run.precision):
        pass


def policy_of(config: TrainConfig) -> Policy:
    return make_policy(config, config.make_environment(), key=KEY)


@pytest.mark.parametrize(
    ("part", "option", "use", "kind"),
    [
        ("optimiser", "schedule", lambda c: c.optimiser.make(0.1), KeyError),
        ("run", "precision", compute_in, KeyError),
        ("loss", "penalty", loss_of, InputError),
        ("dynamics", "rotation", policy_of, InputError),
        ("dynamics", "link", policy_of, InputError),
        ("task", "encoding", TrainConfig.make_environment, InputError),
    ],
)
def test_a_choice_that_nobody_checked_is_not_taken_for_another(
    part: str, option: str, use: Any, kind: type[Exception]
) -> None:
    config = configure("lines", length=4, dynamics="srwm")
    use(config)
    object.__setattr__(getattr(config, part), option, "unknown")
    with pytest.raises(kind, match="unknown"):
        use(config)


def test_a_loss_of_no_known_kind_is_not_taken_for_another() -> None:
    config = configure("lines", length=4)
    object.__setattr__(config, "loss", Loss())
    with pytest.raises(AssertionError, match=r"Loss\(\)"):
        loss_of(config)


def test_tasks_can_be_taken_to_other_processes() -> None:
    kinds = list(TASKS.values())
    assert pickle.loads(pickle.dumps(kinds)) == kinds


@pytest.mark.parametrize("name", TASKS)
def test_the_size_of_a_problem_is_known_without_enumeration(name: str) -> None:
    small = {**SMALL, "bits": {"length": 8, "build": "prepend-append"}}
    if name in ("pho4", "custom", "six6"):
        pytest.skip("no table to enumerate, no size known beforehand, or enumerated elsewhere")
    config = configure(name, **small.get(name, {}))
    found = len(enumerate_dag(config.problem()).labels)
    assert found <= config.task.states() <= 2 * found


# With the compiler as users have it; the tests' own leaves optimisations out.
BEGINNINGS = """
import jax, numpy as np
from fast.training.compose import configure
from fast.training.method import NO_SAMPLERS
from fast.training.trainer import _programs, _run_once

assert _run_once() is not None
config = configure("sets", items=5, size=3, parameters=9_000)
environment = config.task.make_environment(config.problem(), 1_000)
initialise, _ = _programs(config)
found, whole, other = (
    jax.tree.leaves(begin(environment, NO_SAMPLERS, np.array([seed])))
    for begin, seed in ((initialise, 0), (jax.jit(initialise.__wrapped__), 0), (initialise, 1))
)
assert all(map(np.array_equal, found, whole))
assert not all(map(np.array_equal, found, other))
"""


@pytest.mark.long
def test_what_a_run_begins_with_is_the_same_however_hard_the_compiler_tries() -> None:
    usual = {**os.environ, "JAX_DISABLE_MOST_OPTIMIZATIONS": "0", "XLA_FLAGS": ""}
    command = [sys.executable, "-c", BEGINNINGS]
    done = subprocess.run(command, env=usual, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
