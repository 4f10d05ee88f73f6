"""Training as a pair of pure functions, `init` and `advance`."""

import dataclasses
import functools
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from fast.environments import AbstractEnvironment
from fast.policies.policy import Policy, Sampler
from fast.schedule import Schedule, schedule_for
from fast.stochastic.training import Latents
from fast.training.combined import FrozenSamplers
from fast.training.compose import TrainConfig
from fast.training.method import NO_SAMPLERS, Method
from fast.training.networks import Networks
from fast.training.processes import spanning
from fast.training.state import TrainState
from fast.training.tables import applied

# Figures of so many steps, or of a multiple, have their place in a compiled program.
ROOM = 100

METHODS: dict[str, type[Method]] = {"networks": Networks, "latents": Latents}


class TrainInfo(NamedTuple):
    """Figures of each seed and step.

    Attributes:
        loss: the loss on this step's batch, in nats squared.
        log_z: the estimate of `log Z`: the parameter for `tb`, the flow at `s_o` for losses with
            flows, else the batch mean of `-f(tau)`, which is the best constant for the batch.
    """

    loss: Float[Array, "seeds steps"]
    log_z: Float[Array, "seeds steps"]


class Trainer(NamedTuple):
    """A training method: `init()` gives the first state, `advance(state, n)` does n steps.

    `shapes()` gives the shapes of the first state, without computing it. `memory(state, n)` gives
    the bytes that n steps take on a device, from their program, which `advance` then runs.

    Step t draws its randomness from the seed and t alone, so a run that is resumed from a saved
    state equals one that was never interrupted.
    """

    init: Callable[[], TrainState]
    advance: Callable[[TrainState, int], tuple[TrainState, TrainInfo]]
    shapes: Callable[[], TrainState]
    memory: Callable[[TrainState, int], int]


def make_trainer(
    config: TrainConfig,
    environment: AbstractEnvironment,
    frozen: FrozenSamplers = NO_SAMPLERS,
    platform: str | None = None,
) -> Trainer:
    """The trainer of a configuration; several seeds are trained side by side.

    Args:
        config: the configuration.
        environment: the state graph, with the reward of the factors without a frozen sampler.
        frozen: the frozen samplers, each with as many seeds.
        platform: the platform of the schedule; by default that of this process.
    """
    # Another seed, folder or number of steps needs no other program, but for a short run.
    run, all_steps = config.run, np.int32(config.optimiser.steps)
    same = dataclasses.replace(
        config,
        run=dataclasses.replace(run, seed=0, out=None),
        optimiser=dataclasses.replace(config.optimiser, steps=1),
    )
    schedule = schedule_for(platform, seeds=run.seeds, steps=config.optimiser.steps)
    initialise, advance = _programs(same, schedule)
    seeds = np.arange(run.seed, run.seed + run.seeds, dtype=jnp.result_type(int))
    one_process = jax.process_count() == 1

    def arguments(state: TrainState, steps: int) -> tuple[Any, ...]:
        # Any number of steps up to the next hundred has the same program; but an accelerator would
        # wait at each step for a host that reads the number.
        exact = not schedule.branches
        return (
            environment,
            frozen,
            seeds,
            state,
            all_steps,
            None if exact else np.int32(steps),
            steps if exact else ROOM * math.ceil(steps / ROOM),
        )

    def go(state: TrainState, steps: int) -> tuple[TrainState, TrainInfo]:
        state, info = (advance if one_process else spanning(advance))(*arguments(state, steps))
        whole = info.loss.shape[1] == steps
        return state, info if whole else jax.tree.map(lambda x: x[:, :steps], info)

    def begin() -> TrainState:
        state: TrainState = initialise(environment, frozen, seeds)
        if config.own_parts():
            # A user's part fails here, before there is a run, and not in its first step.
            jax.eval_shape(lambda: go(state, 1))
        return state

    return Trainer(
        begin,
        go,
        # `eval_shape` of the jitted function: inside another it may have no compiler options.
        lambda: initialise.eval_shape(environment, frozen, seeds),
        lambda state, steps: program_memory(advance.lower(*arguments(state, steps)).compile()),
    )


def program_memory(program: jax.stages.Compiled) -> int:
    """The bytes that a compiled program takes: what it reads, makes and keeps in between.

    XLA assigns a place to every array while it compiles, so these are no estimate; 0 where XLA
    does not say.
    """
    sizes = program.memory_analysis()
    if sizes is None:
        return 0
    # Results that take the place of an argument count once.
    results = sizes.output_size_in_bytes - sizes.alias_size_in_bytes
    total: int = sizes.argument_size_in_bytes + results + sizes.temp_size_in_bytes
    return total


@functools.lru_cache(maxsize=64)
def _programs(config: TrainConfig, schedule: Schedule) -> tuple[Any, jax.stages.Wrapped]:
    """The programs that begin and advance runs which differ in their seeds.

    The environment and the frozen samplers are arguments: as constants, their arrays would slow
    compilation.
    """
    method_class = METHODS[config.dynamics.method]
    has_table = config.dynamics.rows_by_state > 0
    optimizer_for = partial(
        config.optimiser.make, config.loss.log_z_learning_rate, has_table=has_table
    )

    def method_of(
        frozen: FrozenSamplers, policies: tuple[Policy, ...], all_steps: Any = None
    ) -> Method:
        mine = dataclasses.replace(frozen, policies=policies)
        return method_class(config, mine, schedule, all_steps)

    def init(
        environment: AbstractEnvironment, frozen: FrozenSamplers, seeds: Int[Array, " seeds"]
    ) -> TrainState:
        def of_seed(seed: Int[Array, ""], policies: tuple[Policy, ...]) -> TrainState:
            sampler, buffer = method_of(frozen, policies).begin(environment, seed)
            parameters = eqx.filter(sampler, eqx.is_inexact_array)
            return TrainState(sampler, optimizer_for().init(parameters), buffer, jnp.int32(0))

        state: TrainState = jax.vmap(of_seed)(seeds, frozen.policies)
        return state

    def advance(
        environment: AbstractEnvironment,
        frozen: FrozenSamplers,
        seeds: Int[Array, " seeds"],
        state: TrainState,
        all_steps: Int[Array, ""],
        steps: Int[Array, ""] | None,
        room: int,
    ) -> tuple[TrainState, TrainInfo]:
        def of_seed(
            state: TrainState, seed: Int[Array, ""], policies: tuple[Policy, ...]
        ) -> tuple[TrainState, TrainInfo]:
            method = method_of(frozen, policies, all_steps)
            optimizer = optimizer_for(steps=all_steps)
            step = partial(train_step, method, optimizer, environment, method.key(seed, "samples"))
            return _repeated(step, state, steps, room)

        arguments = (state, seeds, frozen.policies)
        if config.run.seeds > 1 or not method_class.goes_alone:
            every: tuple[TrainState, TrainInfo] = jax.vmap(of_seed)(*arguments)
            return every
        # Without the axis, matrix products need no batching.
        only = of_seed(*jax.tree.map(lambda leaf: leaf[0], arguments))
        alone: tuple[TrainState, TrainInfo] = jax.tree.map(lambda leaf: leaf[None], only)
        return alone

    return (
        jax.jit(init, compiler_options=_run_once()),
        jax.jit(advance, static_argnums=6, donate_argnums=3),
    )


def _repeated(
    step: Callable[[TrainState], tuple[TrainState, TrainInfo]],
    state: TrainState,
    steps: Int[Array, ""] | None,
    room: int,
) -> tuple[TrainState, TrainInfo]:
    """The state after so many steps, None for as many as there is room for, and their figures."""
    infos = TrainInfo(jnp.zeros(room), jnp.zeros(room))

    def once(i: Any, now: tuple[TrainState, TrainInfo]) -> tuple[TrainState, TrainInfo]:
        following, info = step(now[0])
        return following, jax.tree.map(lambda x, y: x.at[i].set(y), now[1], info)

    result: tuple[TrainState, TrainInfo] = lax.fori_loop(
        0, room if steps is None else steps, once, (state, infos)
    )
    return result


def _run_once() -> dict[str, int] | None:
    """Compiler options for a program that runs once: on a CPU, half the effort.

    The compiler then takes 40 % less time, and the numbers are the same to the bit.
    """
    # If optimisations are disabled already, as in tests, this level would enable some.
    least = jax.config.read("jax_disable_most_optimizations")  # type: ignore[no-untyped-call]
    tries = jax.default_backend() == "cpu" and not least
    return {"xla_backend_optimization_level": 1} if tries else None


def train_step(
    method: Method,
    optimizer: optax.GradientTransformationExtraArgs,
    environment: AbstractEnvironment,
    key: PRNGKeyArray,
    state: TrainState,
) -> tuple[TrainState, TrainInfo]:
    """One gradient step of one seed, which folds its number into the key of the run.

    Args:
        method: the method of training.
        optimizer: the optimiser.
        environment: the state graph as array code.
        key: the key of the run, into which the step folds its number.
        state: the state before the step.
    """
    gradient, buffer = method.learn(environment, state, jax.random.fold_in(key, state.step))
    before = Sampler(state.sampler.policy, gradient.starting_log_z)
    updates, optimizer_state = optimizer.update(
        gradient.by, state.optimizer, eqx.filter(before, eqx.is_inexact_array), rows=gradient.rows
    )
    sampler = applied(before, updates, gradient.rows)
    return TrainState(sampler, optimizer_state, buffer, state.step + 1), TrainInfo(
        gradient.loss, gradient.log_z
    )
