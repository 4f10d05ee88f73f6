"""Training: what it learns, that it repeats itself bit for bit, and its budget of parameters."""

import functools
from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.errors import KeyReuseError

from fast.balance.loss import Loss
from fast.balance.losses import LogVariance, TrajectoryBalance
from fast.balance.steps import Steps
from fast.dynamics.markov import AbstractMarkovian
from fast.environments import make_environment
from fast.laws.terminal_law import exact_law, target_law
from fast.parts import DYNAMICS, LOSSES
from fast.policies.policy import Policy, Sampler, count_parameters
from fast.runs.frozen import arithmetic
from fast.runs.setup import set_up
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import uniforms
from fast.training.build import make_policy
from fast.training.compose import TrainConfig, configure
from fast.training.options import OptimiserOptions
from fast.training.state import TrainState
from fast.training.step import Batch, loss_and_gradient
from fast.training.trainer import Trainer, make_trainer
from reference import InputError
from reference.metrics import total_variation
from tests.command_lines import python
from tests.fast.test_options import NEEDED, SHIPPED
from tests.made_up_runs import TINY
from verify.crosscheck.compare import compilations

KEY = jax.random.key(0)


# --- what is learned


def distances(task: str, options: dict[str, Any]) -> tuple[float, float, float]:
    """The exact TV to the target before and after training, and then to the target turned round."""
    setup = set_up(configure(task, **{"dynamics": "markov", "batch": 64, **options}))
    assert setup.enumeration is not None
    target = target_law(setup.enumeration)

    def distance(state: TrainState, other: Any = target) -> float:
        law = exact_law(setup.policies(state)[0], setup.enumeration, float64=True)
        return float(total_variation(law.probabilities.tolist(), other.tolist()))

    before = distance(setup.initial)
    # The first state is used up.
    state, _ = setup.trainer.advance(setup.initial, setup.config.optimiser.steps)
    return before, distance(state), distance(state, target[::-1])


# A thousand steps leave 1e-5 to 7e-4; the noise of the last steps, not the loss, decides how much.
NEAR = 2e-3
# States have several parents, and terminals several trajectories.
LINES: dict[str, Any] = {"length": 4, "step": 2, "parameters": 4_000, "steps": 1_000}
QUICK: dict[str, Any] = {"steps": 300, "learning_rate": 3e-3, "parameters": 5_000}
SYN: dict[str, Any] = {**QUICK, "length": 3, "letters": 3, "build": "prepend-append", "loss": "tb"}
# Each loss with either network and either p_B; flow matching is Markovian, and has no p_B.
CASES = [
    ("lines", {**LINES, "loss": loss, "dynamics": dynamics, "p_b": p_b}, NEAR)
    for loss in LOSSES
    for dynamics, p_b in (("markov", "uniform"), ("gru", "learned"))
    if not (loss == "fm" and dynamics == "gru")
] + [
    # These end between 0.001 and 0.03, from 0.1 or more.
    ("grid", {**QUICK, "side": 4, "loss": "log_variance"}, 0.06),
    ("syn", SYN, 0.06),
]


@pytest.mark.long
@pytest.mark.parametrize(("task", "options", "near"), CASES, ids=str)
def test_training_brings_the_exact_law_to_the_target(
    task: str, options: dict[str, Any], near: float
) -> None:
    before, after, _ = distances(task, options)
    assert before > 0.05
    assert after < min(near, before / 2)


def test_control_at_another_target_it_does_not() -> None:
    _, _, other = distances("lines", {**LINES, "loss": "tb"})
    assert other > 20 * NEAR


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


def test_muon_moves_a_matrix_by_about_its_rate_in_every_direction() -> None:
    start = jnp.zeros((2, 2))
    for rule, least in (("muon", 0.006), ("adamw", 0)):
        optimiser = OptimiserOptions(rule=rule, learning_rate=0.01).for_network()  # type: ignore[arg-type]
        # Nearly of rank one: its singular values are 5.2 and 0.04.
        gradient = jnp.array([[1.0, 2.0], [2.0, 4.2]])
        steps, _ = optimiser.update(gradient, optimiser.init(start), start)
        sizes = np.linalg.svd(steps, compute_uv=False)
        # Its five rounds leave some 0.7 to 1.2; AdamW's step has rank one.
        assert least <= sizes.min() < (0.013 if least else 1e-3)


# --- log Z of trajectory balance, far from what a batch says and near


FAR = -300.0


@dataclass(frozen=True)
class Patient(TrajectoryBalance):
    """Trajectory balance that never takes the `log Z` of a batch."""

    log_z_reach: ClassVar[float] = float("inf")


def steps_of(ratios: list[float]) -> Steps:
    terms, none = jnp.array(ratios)[:, None], jnp.zeros((len(ratios), 1))
    return Steps(terms, none, none, none == 0, jnp.zeros(len(ratios)))


def test_log_z_is_left_alone_within_reach_and_taken_of_the_batch_beyond() -> None:
    loss, batch = TrajectoryBalance(), steps_of([4.0, 8.0])
    for near in (-16.0, -6.0, 4.0):
        assert float(loss.starting_log_z(batch, jnp.float32(near))) == near
    # Before the first batch it is NaN.
    for first in (loss, Patient()):
        assert float(first.starting_log_z(batch, jnp.float32(jnp.nan))) == -6.0
    for far in (FAR, -16.5, 4.5):
        assert float(loss.starting_log_z(batch, jnp.float32(far))) == -6.0
        # Controls: what has no log Z, or never takes another.
        assert float(LogVariance().starting_log_z(batch, jnp.float32(far))) == far
        assert float(Patient().starting_log_z(batch, jnp.float32(far))) == far


@functools.cache
def grid_with(loss: Loss) -> Trainer:
    config = configure("grid", side=3, dynamics="markov", parameters=2_000, loss=loss, batch=8)
    return make_trainer(config, config.make_environment())


def after(loss: Loss, steps: int, log_z: float | None = None) -> Any:
    trainer = grid_with(loss)
    started = trainer.init()
    if log_z is not None:
        far = jnp.full((1,), log_z, jnp.float32)
        started = eqx.tree_at(lambda state: state.sampler.log_z, started, far)
    return trainer.advance(started, steps)


@pytest.mark.catches(
    "a gradient is clipped where it is to be left as it is.",
    "fast/training/options.py",
    "if self.clip else",
    "if self.clip + 1 else",
)
def test_a_gradient_is_left_as_it_is_with_clip_0() -> None:
    parameters, last = jnp.arange(3.0), {}
    for clip in (0.0, 1e9, 1.0):
        rule = OptimiserOptions(rule="adamw", learning_rate=0.01, clip=clip).for_network()
        state = rule.init(parameters)
        for size in (1.0, 100.0):
            last[clip], state = rule.update(size * jnp.ones(3), state, parameters)
    assert np.array_equal(last[0.0], last[1e9])
    assert not np.array_equal(last[0.0], last[1.0])


def test_another_number_of_steps_needs_no_other_program_and_has_its_own_rates() -> None:
    def trained(total: int, steps: int) -> Any:
        config = configure("grid", side=3, dynamics="markov", parameters=1_900, steps=total)
        trainer = make_trainer(config, config.make_environment())
        return trainer.advance(trainer.init(), steps)[0].sampler

    trained(40, 4)
    assert compilations(trained, 60, 4) == 0
    few, more = (jax.tree.leaves(trained(total, 4)) for total in (4, 60))
    assert not np.array_equal(few[0], more[0])
    # Optax's own schedule, of a number that is written into the program.
    ours = OptimiserOptions(steps=7, learning_rate=0.3)._schedule(0.3, None)
    for step in range(9):
        expected = float(optax.cosine_decay_schedule(0.3, 7)(step))
        assert float(ours(step)) == pytest.approx(expected, abs=1e-7)


@pytest.mark.long
def test_training_goes_on_from_the_batch_where_log_z_is_far() -> None:
    state, info = after(TrajectoryBalance(), 2, FAR)
    first, _ = np.asarray(info.log_z)[0]
    assert abs(first) < 10
    # At most two steps of Adam from there.
    assert abs(float(state.sampler.log_z[0]) - first) < 0.5
    # Control: without, it is where Adam has brought it.
    state, _ = after(Patient(), 2, FAR)
    assert float(state.sampler.log_z[0]) == pytest.approx(FAR + 0.2, abs=1e-3)


def test_within_reach_training_is_the_same_bit_by_bit() -> None:
    states = [after(loss, 5)[0] for loss in (TrajectoryBalance(), Patient())]
    leaves = [jax.tree.leaves(state.sampler) for state in states]
    assert all(np.array_equal(a, b) for a, b in zip(*leaves, strict=True))
    # Both begin with what the first batch says, as from far off. Control: without, they do not.
    far = jax.tree.leaves(after(TrajectoryBalance(), 5, FAR)[0].sampler)
    assert all(np.array_equal(a, b) for a, b in zip(leaves[0], far, strict=True))
    far = jax.tree.leaves(after(Patient(), 5, FAR)[0].sampler)
    assert not all(np.array_equal(a, b) for a, b in zip(leaves[0], far, strict=True))


# --- the same numbers, and no random number twice


def bits(state: TrainState) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state)]


def test_equal_seeds_give_equal_bits_and_others_do_not() -> None:
    def run(seed: int) -> list[bytes]:
        config = TINY.changed(seed=seed)
        trainer = make_trainer(config, config.make_environment())
        state = trainer.init()
        for _ in range(3):
            state, _ = trainer.advance(state, 10)
        return bits(state)

    first = run(0)
    assert run(0) == first
    assert run(1) != first


# With the compiler as users have it; the tests' own leaves optimisations out.
BEGINNINGS = """
import jax, numpy as np
from fast.training.compose import configure
from fast.training.method import NO_SAMPLERS
from fast.training.trainer import _programs, _run_once

assert _run_once() is not None
config = configure("sets", items=5, size=3, parameters=9_000)
environment = config.task.make_environment(config.problem(), 1_000)
initialise, _ = _programs(config, "cpu")
found, whole, other = (
    jax.tree.leaves(begin(environment, NO_SAMPLERS, np.array([seed])))
    for begin, seed in ((initialise, 0), (jax.jit(initialise.__wrapped__), 0), (initialise, 1))
)
assert all(map(np.array_equal, found, whole))
assert not all(map(np.array_equal, found, other))
"""


@pytest.mark.long
def test_what_a_run_begins_with_is_the_same_however_hard_the_compiler_tries() -> None:
    done = python("-c", BEGINNINGS, JAX_DISABLE_MOST_OPTIMIZATIONS="0", XLA_FLAGS="")
    assert done.returncode == 0, done.stderr


# Two draws by one key are the same numbers, or parts of them. JAX follows the keys as it traces a
# program; nothing is compiled.
RUNS: dict[str, TrainConfig] = {
    **{
        name: configure("graphs" if kind.reads_graphs else "lines", dynamics=name)
        for name, kind in DYNAMICS.items()
    },
    "heads, full rank, in a block": configure(
        "lines", dynamics="srwm", heads=2, start="full", block=True, parameters=16_000
    ),
    "skip": configure("lines", dynamics="gru", skip=True, hidden_layers=3),
    "learned p_B": configure("sets", dynamics="gru", p_b="learned"),
    "lifted p_B": configure("sets", dynamics="gru", p_b="lifted", loss="db"),
    "flow": configure("lines", dynamics="lstm", loss="subtb"),
    "replay": configure("sets", dynamics="markov", replay="reward", replay_capacity=100),
    "several seeds": configure("grid", dynamics="markov", seeds=2),
}


@pytest.mark.parametrize("name", RUNS)
def test_no_key_is_used_twice_to_begin(name: str) -> None:
    with jax.debug_key_reuse(True):
        trainer_of(name).shapes()


@pytest.mark.long
@pytest.mark.parametrize("name", RUNS)
def test_no_key_is_used_twice_to_go_on(name: str) -> None:
    trainer = trainer_of(name)
    with jax.debug_key_reuse(True):
        jax.eval_shape(lambda state: trainer.advance(state, 2), trainer.shapes())


def trainer_of(name: str) -> Trainer:
    config = RUNS[name]
    return make_trainer(config, make_environment(config.problem()))


def test_control_a_key_used_twice_is_found() -> None:
    class Twice(eqx.Module):
        weights: tuple[Any, Any]

        def __init__(self, key: Any):
            keys = jax.random.split(key, 3)
            self.weights = jax.random.normal(keys[1], (3, 2)), jax.random.normal(keys[1], (2,))

    with jax.debug_key_reuse(True), pytest.raises(KeyReuseError):
        eqx.filter_eval_shape(Twice, jax.random.key(0))


def test_a_network_may_call_its_weights_a_table() -> None:
    class Own(eqx.Module):
        table: Any

    rule = OptimiserOptions().make(0.1)
    assert jax.tree.leaves(rule.init(Sampler(Own(jnp.ones(2)), jnp.zeros(()))))


# --- its budget, and choices that nobody checked


@pytest.mark.long
@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("dynamics", ["gru", "srwm", "markov"])
def test_all_families_stay_within_five_percent_of_the_budget(name: str, dynamics: Any) -> None:
    # A table comes on top of the budget.
    options = {**NEEDED.get(name, {}), "table_rows": 0}
    config = configure(name, **options, dynamics=dynamics, parameters=20_000)
    policy = make_policy(config, config.make_environment(), key=jax.random.key(0))
    assert abs(count_parameters(policy) - 20_000) <= 0.05 * 20_000


def test_a_budget_that_no_width_meets_is_refused() -> None:
    config = configure("lines", dynamics="gru", parameters=1_000)
    with pytest.raises(InputError, match=r"parameters is 1,000, but the gru policy .* has "):
        make_policy(config, config.make_environment(), key=jax.random.key(0))


@pytest.mark.parametrize("dynamics", ["linear", "linear-markov"])
def test_a_learned_backward_policy_has_the_budget_that_a_linear_one_leaves(dynamics: Any) -> None:
    config = configure("lines", dynamics=dynamics, p_b="learned", parameters=5_000)
    environment = config.make_environment()
    policy = make_policy(config, environment, key=jax.random.key(0))
    assert abs(count_parameters(policy) - 5_000) <= 0.05 * 5_000
    alone = config.changed(p_b="uniform")
    assert count_parameters(make_policy(alone, environment, key=jax.random.key(0))) < 1_000


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
