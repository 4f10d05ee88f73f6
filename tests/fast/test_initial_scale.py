"""Before training, what a head reads is of order one and policies are nearly uniform, on any task.

The length of a state's features is 1.4 on a one-hot grid, 5.7 for 32 letters or items, and up to 36
for integers: an initialisation that is right for one of these is wrong for others.
"""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from fast.dynamics.markov import Uniform
from fast.environments import feature_norm
from fast.parts import DYNAMICS
from fast.policies.backward import UniformBackward
from fast.policies.policy import Policy
from fast.sampling.backward import sample_backward
from fast.sampling.trajectories import uniforms
from fast.training.build import make_policy
from fast.training.compose import configure
from verify.lib.compilation import UNOPTIMISED

TASKS: dict[str, tuple[str, dict[str, Any]]] = {
    "grid, one-hot": ("grid", {}),
    "grid, integers": ("grid", {"encoding": "natural"}),
    "sets": ("sets", {"size": 32}),
    "32 letters": ("syn", {"length": 32}),
    "walk, integers": ("random-walk", {"encoding": "natural"}),
    "walk, waves": ("random-walk", {"encoding": "fourier"}),
    "graphs": ("graphs", {}),
}
SRWM: dict[str, Any] = {"dynamics": "srwm"}
FORMS: dict[str, dict[str, Any]] = {
    "4 heads": {**SRWM, "heads": 4},
    "soft-max": {**SRWM, "link": "softmax"},
    "full rank": {**SRWM, "start": "full"},
    "in a block": {**SRWM, "block": True},
    "self-referential": {"dynamics": "self-referential", "heads": 4},
    "self-referential, in a block": {"dynamics": "self-referential", "block": True},
    "attention": {"dynamics": "attention", "heads": 4},
    "attention, in a block": {"dynamics": "attention", "block": True},
}
OTHERS = ["gru", "lstm", "rnn", "mingru", "linear", "linear-markov", "markov", "markov-block"]

# What is compared is a scale; unoptimised machine code is made several times faster.
jit = functools.partial(jax.jit, compiler_options=UNOPTIMISED)


class Drawn(NamedTuple):
    """Trajectories of a task, backwards from uniform terminal states: they visit all of a grid."""

    environment: Any
    seen: Any
    masks: Any
    active: Any


@functools.cache
def drawn(task: str) -> Drawn:
    name, options = TASKS[task]
    config = configure(name, dynamics="markov", loss="tb", **options)
    environment = config.task.make_environment(config.problem(), config.run.max_states)
    policy = Policy(Uniform(environment.actions), UniformBackward(), environment.actions)

    @jit
    def draw(key: Any) -> Any:
        ends = jax.vmap(environment.random_terminal)(jax.random.split(key, 64))
        trajectories = sample_backward(policy, environment, ends, uniforms(key, environment, 64))
        both = jax.vmap(
            jax.vmap(lambda state: (environment.observe(state), environment.mask(state)))
        )
        return *both(trajectories.states), trajectories.active

    return Drawn(environment, *draw(jax.random.key(0)))


class Untrained(NamedTuple):
    """The root mean square of the read-out late in trajectories, and how far it chooses."""

    read: float
    tv: float


def untrained(task: str, options: dict[str, Any], unscaled: bool = False) -> Untrained:
    """For untrained policies: the rms of `y_t`, and the TV of laws of actions to uniform ones.

    Means over 4 draws along the trajectories of a task; `y_t` where half of its steps are done, as
    integers are near zero before. Unscaled, the embedding is that of features of length one.
    """
    environment, seen, masks, active = drawn(task)
    config = configure(TASKS[task][0], loss="tb", **{**TASKS[task][1], **options})

    @jit
    def look(key: Any, seen: Any, masks: Any) -> tuple[Any, Any]:
        policy = make_policy(config, environment, 32, key=key)
        if unscaled:
            policy = eqx.tree_at(
                lambda p: p.network.dynamics.embedding,
                policy,
                policy.network.dynamics.embedding * feature_norm(environment),  # type: ignore[attr-defined]
            )
        network: Any = policy.network
        y = getattr(network, "dynamics", network).unroll(seen)
        outputs = network.head(y) if hasattr(network, "head") else y
        law = jnp.exp(policy.log_p_f(outputs, masks))
        uniform = masks / masks.sum(-1, keepdims=True)
        return (y**2).mean(-1), jnp.abs(law - uniform).sum(-1) / 2

    measured = [look(key, seen, masks) for key in jax.random.split(jax.random.key(1), 4)]
    square, tv = (np.mean(x, 0)[:, :-1] for x in zip(*measured, strict=True))
    here = np.asarray(active)
    late = here & (np.arange(here.shape[1]) >= here.sum(1, keepdims=True) // 2)
    return Untrained(float(square[late].mean()) ** 0.5, float(tv[here].mean()))


# W_o psi is a number of order one times a vector of that order, and T writes of about 1/d each add
# little more than T/d, at most two. Measured: 0.7 to 1.1.
LOW, HIGH = 0.4, 2.0
# Read-outs of order one make logits of a few hundredths. Measured: at most 0.004, and 0.024 of the
# Markovian network on a grid of integers, whose head reads these as they are.
NEAR, NEAR_INTEGERS = 0.01, 0.03


@pytest.mark.long
@pytest.mark.parametrize("task", TASKS)
def test_what_the_head_reads_of_an_srwm_is_of_order_one_on_any_task(task: str) -> None:
    measured = untrained(task, SRWM)
    assert LOW < measured.read < HIGH
    assert measured.tv < NEAR


@pytest.mark.long
@pytest.mark.parametrize("name", FORMS)
def test_so_it_is_in_its_other_forms(name: str) -> None:
    measured = untrained("32 letters", FORMS[name])
    assert LOW < measured.read < HIGH
    assert measured.tv < NEAR


@pytest.mark.parametrize("task", ["grid, integers", "32 letters"])
def test_control_an_embedding_for_one_active_feature_is_seen(task: str) -> None:
    measured = untrained(task, SRWM, unscaled=True)
    assert measured.read > 3 * HIGH
    assert measured.tv > NEAR_INTEGERS


def test_every_network_that_reads_features_is_looked_at() -> None:
    # Graph networks read an adjacency matrix, normalised by its degrees; random latents are drawn.
    kinds = DYNAMICS.items()
    reading = {name for name, k in kinds if not k.reads_graphs and k.method == "networks"}
    assert reading == {"srwm", "self-referential", "attention", *OTHERS}


@pytest.mark.long
@pytest.mark.parametrize("name", OTHERS)
def test_so_is_what_other_heads_read_and_they_choose_nearly_uniformly(name: str) -> None:
    letters, integers = (
        untrained(task, {"dynamics": name}) for task in ("32 letters", "grid, integers")
    )
    # The linear recurrence adds up what it is fed: sqrt(T) terms of it, 3.3 for 32 letters.
    assert letters.read < 4
    assert letters.tv < NEAR
    assert integers.tv < NEAR_INTEGERS
