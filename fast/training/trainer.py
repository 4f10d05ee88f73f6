"""Training as a pair of pure functions, `init` and `advance`."""

import dataclasses
import functools
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy, Sampler
from fast.stochastic.options import MeanOptions
from fast.stochastic.training import Latents
from fast.training.config import TrainConfig
from fast.training.method import Method
from fast.training.networks import Networks
from fast.training.parts import own_parts
from fast.training.processes import spanning
from fast.training.state import NO_SAMPLERS, FrozenSamplers, TrainState


class TrainInfo(NamedTuple):
    """What a human needs, per seed and step.

    Attributes:
        loss: the loss on this step's batch, in nats squared.
        log_z: the estimate of `log Z`: the parameter for `tb`, the flow at `s_o` for losses with
            flows, else the batch mean of `-f(tau)`, which is the best constant for the batch.
    """

    loss: Float[Array, "seeds steps"]
    log_z: Float[Array, "seeds steps"]


class Trainer(NamedTuple):
    """A training method: `init()` gives the first state, `advance(state, n)` does n steps.

    `shapes()` gives the shapes of the first state, without computing it.

    `lower(state, n)` gives the program of these steps, which takes a state; only the shapes of the
    state are read. It is for those who ask what a step needs, or compile ahead.

    Step t draws its randomness from the seed and t alone, so a run that is resumed from a saved
    state goes on exactly as it would have.
    """

    init: Callable[[], TrainState]
    advance: Callable[[TrainState, int], tuple[TrainState, TrainInfo]]
    lower: Callable[[TrainState, int], "Program"]
    shapes: Callable[[], TrainState]


class Program:
    """Training steps, lowered for a device.

    Args:
        lowered: by JAX.
        before: the arguments before the state.
    """

    def __init__(self, lowered: Any, *before: Any):
        self._lowered, self._before = lowered, before

    def compile(self) -> "Program":
        """Compiles it, which takes seconds."""
        self.compiled = self._lowered.compile()
        return self

    def __call__(self, state: TrainState) -> tuple[TrainState, TrainInfo]:
        """Does the steps; the state is donated."""
        result: tuple[TrainState, TrainInfo] = self.compiled(*self._before, state)
        return result


def make_trainer(
    config: TrainConfig,
    environment: AbstractEnvironment[Any],
    frozen: FrozenSamplers = NO_SAMPLERS,
) -> Trainer:
    """The trainer of a configuration; several seeds are trained side by side.

    Args:
        config: what is asked for.
        environment: the state graph, with the reward of the factors that no frozen sampler is for.
        frozen: samplers that stand for factors of the reward, each with as many seeds.
    """
    # Another seed or folder asks for no other program, so a process traces and compiles it once.
    run = config.run
    same = dataclasses.replace(config, run=dataclasses.replace(run, seed=0, out=None))
    initialise, advance = _programs(same)
    seeds = jnp.arange(run.seed, run.seed + run.seeds)
    go = advance if jax.process_count() == 1 else spanning(advance)

    def begin() -> TrainState:
        state: TrainState = initialise(environment, seeds, frozen.policies)
        if own_parts(config):
            # What is the user's own fails here, before there is a run, and not in its first step.
            jax.eval_shape(lambda: advance(environment, frozen, seeds, state, 1))
        return state

    return Trainer(
        begin,
        lambda state, steps: go(environment, frozen, seeds, state, steps),
        lambda state, steps: Program(
            advance.lower(environment, frozen, seeds, state, steps), environment, frozen, seeds
        ),
        # Of the program itself: inside another, it may have no options of the compiler.
        lambda: initialise.eval_shape(environment, seeds, frozen.policies),
    )


@functools.lru_cache(maxsize=64)
def _programs(config: TrainConfig) -> tuple[Any, jax.stages.Wrapped]:
    """What starts and what advances runs that differ in their seeds."""
    method = Latents(config) if isinstance(config.dynamics, MeanOptions) else Networks(config)
    optimizer = config.optimiser.make(config.loss.log_z_learning_rate)

    def init_one(
        environment: AbstractEnvironment[Any], seed: Int[Array, ""], policies: tuple[Policy, ...]
    ) -> TrainState:
        sampler, buffer = method.begin(environment, seed, policies)
        parameters = eqx.filter(sampler, eqx.is_inexact_array)
        return TrainState(sampler, optimizer.init(parameters), buffer, jnp.int32(0))

    def advance_one(
        environment: AbstractEnvironment[Any],
        frozen: FrozenSamplers,
        steps: int,
        state: TrainState,
        seed: Int[Array, ""],
        policies: tuple[Policy, ...],
    ) -> tuple[TrainState, TrainInfo]:
        own = FrozenSamplers(policies, frozen.environments, frozen.rewarded)
        key = method.key(seed, "samples")
        step = partial(train_step, method, optimizer, environment, own, key)
        result: tuple[TrainState, TrainInfo] = lax.scan(step, state, None, length=steps)
        return result

    def advance(
        environment: AbstractEnvironment[Any],
        frozen: FrozenSamplers,
        seeds: Int[Array, " seeds"],
        state: TrainState,
        steps: int,
    ) -> tuple[TrainState, TrainInfo]:
        one = partial(advance_one, environment, frozen, steps)
        arguments = (state, seeds, frozen.policies)
        if config.run.seeds > 1 or not method.goes_alone:
            both: tuple[TrainState, TrainInfo] = jax.vmap(one)(*arguments)
            return both
        # Without the axis, matrix products need no batching.
        state, info = one(*jax.tree.map(lambda leaf: leaf[0], arguments))
        alone: tuple[TrainState, TrainInfo] = jax.tree.map(lambda leaf: leaf[None], (state, info))
        return alone

    # The environment is an argument: as a constant, its reward table would slow compilation. So are
    # the frozen samplers.
    return (
        jax.jit(jax.vmap(init_one, (None, 0, 0)), compiler_options=_once()),
        jax.jit(advance, static_argnums=4, donate_argnums=3),
    )


def _once() -> dict[str, int] | None:
    """Options of the compiler for a program that runs once: on a CPU, half the effort.

    The compiler then takes 40 % less time, and the numbers are the same to the bit.
    """
    # Where the compiler is told to try little, as in tests, this would be more.
    least = jax.config.read("jax_disable_most_optimizations")  # type: ignore[no-untyped-call]
    tries = jax.default_backend() == "cpu" and not least
    return {"xla_backend_optimization_level": 1} if tries else None


def train_step(
    method: Method,
    optimizer: optax.GradientTransformation,
    environment: AbstractEnvironment[Any],
    frozen: FrozenSamplers,
    key: PRNGKeyArray,
    state: TrainState,
    _: None = None,
) -> tuple[TrainState, TrainInfo]:
    """One gradient step of one seed."""
    found, buffer = method.learn(environment, frozen, state, jax.random.fold_in(key, state.step))
    before = Sampler(state.sampler.policy, found.starting_log_z)
    parameters = eqx.filter(before, eqx.is_inexact_array)
    updates, optimizer_state = optimizer.update(found.by, state.optimizer, parameters)
    sampler = eqx.apply_updates(before, updates)
    return TrainState(sampler, optimizer_state, buffer, state.step + 1), TrainInfo(
        found.loss, found.log_z
    )
