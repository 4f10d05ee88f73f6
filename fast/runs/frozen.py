"""Samplers of finished runs, loaded alone or in place of factors of another run's reward."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from fast.environments import AbstractEnvironment, TabularEnvironment
from fast.policies.policy import Policy
from fast.runs.checkpoints import load_checkpoint
from fast.runs.folder import stored_config
from fast.runs.records import read_json
from fast.training.combined import FrozenSamplers
from fast.training.compose import TrainConfig
from fast.training.state import TrainState
from fast.training.trainer import Trainer, make_trainer
from reference.contract.errors import InputError
from reference.contract.files import sha256

SETTING = bool | int | float | str | bytes | Fraction


@contextlib.contextmanager
def arithmetic(precision: Literal["float32", "float64"]) -> Iterator[None]:
    """The arithmetic of a run, its checkpoints included."""
    products: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    if jax.default_backend() != "cpu":
        # Some devices keep ten bits of each factor by default. On a CPU this would only compile
        # every program anew.
        products = jax.default_matmul_precision("float32")
    with jax.enable_x64({"float32": False, "float64": True}[precision]), products:
        yield


def tables_digest(environment: AbstractEnvironment) -> str | None:
    """The checksum of a user's problem or environment; None for this project's.

    It is of the arrays, and of the static fields of an environment.
    """
    if isinstance(environment, TabularEnvironment):
        return environment.digest()
    if type(environment).__module__.startswith("fast."):
        return None
    arrays = map(np.asarray, jax.tree.leaves(environment))
    parts = [f"{x.dtype} {x.shape} ".encode() + x.tobytes() for x in arrays]
    return sha256(b"".join([*parts, *_static(environment)]))


def _static(part: Any) -> Iterator[bytes]:
    """The numbers and texts among the fields of a module, and of the modules in it."""
    # A field may hold a class.
    for field in fields(part) if is_dataclass(part) and not isinstance(part, type) else ():
        value = getattr(part, field.name)
        if _is_plain(value):
            yield f"{field.name} {value!r} ".encode()
        yield from _static(value)


def _is_plain(value: Any) -> bool:
    """True of numbers and texts, and tuples of these."""
    return all(map(_is_plain, value)) if isinstance(value, tuple) else isinstance(value, SETTING)


def check_tables(folder: Path, environment: AbstractEnvironment) -> None:
    """Checks that a user's problem has, number by number, the tables that a run was trained on.

    Raises InputError if it has not: its numbers would then mean other states, or other rewards.
    """
    if read_json(folder / "meta.json").get("tables") != tables_digest(environment):
        raise InputError(
            f"the run {str(folder)!r} was trained on other tables than its problem now gives: "
            "children(state) must list the same states in the same order in every process (sort "
            "what comes out of a set), and its rewards and features, or the arrays and static "
            "fields of its environment, must be as they were; train again, or bring back the "
            "module and what it reads"
        )


def load_trained(config: TrainConfig) -> tuple[AbstractEnvironment, TrainState]:
    """The input of a run's training and its last saved state, without enumerating anything.

    Call it, and use the result, inside `arithmetic`. Raises InputError if there is no checkpoint,
    or it is damaged or not finite.
    """
    environment = config.make_environment()
    check_tables(config.folder(), environment)
    return environment, load_checkpoint(config.folder(), _shapes(config, environment))[0]


def load_policy(config: TrainConfig) -> Policy:
    """The last policy of a run in the precision of the caller, one per seed on a leading axis.

    Raises InputError if there is no checkpoint, or it is damaged or not finite.
    """
    with arithmetic(config.run.precision):
        _, state = load_trained(config)
        numbers: Policy = jax.tree.map(np.asarray, state.sampler.policy)
    kind = jnp.zeros(()).dtype
    policy: Policy = jax.tree.map(
        lambda x: jnp.asarray(x, kind if x.dtype.kind == "f" else x.dtype), numbers
    )
    return policy


def trainer_of(config: TrainConfig, environment: AbstractEnvironment) -> Trainer:
    """The trainer of a run, with its frozen samplers in its own precision.

    Raises InputError if the frozen runs do not sample factors of the run's problem, each at most
    once; if they leave factors over and are more than one; or if one is damaged, not finite or, for
    a warm start, of another shape.
    """
    folders = config.factors.frozen
    if not folders:
        return make_trainer(config, environment)
    configs = [stored_config(path) for path in folders]
    rest = factors_left(config, configs)
    policies = tuple(map(load_policy, configs))
    if config.factors.warm:
        _check_shape(folders[0], _shapes(config, environment).sampler.policy, policies[0])
    environments = tuple(other.make_environment() for other in configs)
    seen = config.make_environment(rest) if rest else environment
    return make_trainer(config, seen, FrozenSamplers(policies, environments, bool(rest)))


def factors_left(config: TrainConfig, frozen: Sequence[TrainConfig]) -> tuple[int, ...]:
    """The factors of a run's target without a frozen run: training sees their reward.

    Raises InputError if the runs in `config.factors.frozen`, of these configurations, are not on
    factors of this target, each at most once.
    """
    pairs = list(zip(map(str, config.factors.frozen), frozen, strict=True))
    for name, other in pairs:
        _check_same_problem(config, name, other)
    covered = config.factors.covered
    seen: dict[int, str] = {}
    for name, other in pairs:
        for factor in other.factors.covered:
            if factor in seen:
                raise InputError(
                    f"factor {factor} is in the frozen runs {seen[factor]!r} and {name!r}: data "
                    "that is seen twice counts twice; give each factor once"
                )
            if factor not in covered:
                raise InputError(
                    f"the frozen run {name!r} has factor {factor}, but the target of this run is "
                    f"made of {list(covered)}: leave the run out, or add to --factors"
                )
            seen[factor] = name
    rest = tuple(factor for factor in covered if factor not in seen)
    if rest and len(frozen) > 1:
        raise InputError(
            f"{len(frozen)} frozen runs leave the factors {list(rest)} over: a step of a stream "
            "has one previous sampler; combine the frozen runs first, or train on those factors"
        )
    return rest


def _shapes(config: TrainConfig, environment: AbstractEnvironment) -> TrainState:
    """The shapes of the first state of a run, which its frozen samplers do not change."""
    return make_trainer(config.with_factors(frozen=(), warm=False), environment).shapes()


def _check_same_problem(config: TrainConfig, name: str, other: TrainConfig) -> None:
    if other.task.name != config.task.name:
        raise InputError(
            f"the frozen run {name!r} is on {other.task.name}, and this one on "
            f"{config.task.name}: samplers are combined over one set of terminal states"
        )
    if not other.dynamics.is_summable:
        raise InputError(
            f"the frozen run {name!r} has dynamics {other.name_of('dynamics')}: samplers are "
            "combined along trajectories of states, whose probability is an integral there"
        )
    ours, theirs = (
        {**vars(run.task), "parts": run.factors.parts, "seeds": run.run.seeds}
        for run in (config, other)
    )
    for field, value in ours.items():
        if theirs[field] != value:
            raise InputError(
                f"the frozen run {name!r} has {field} = {theirs[field]}, and this run {value}: "
                "combine runs on factors of one problem, over the same terminal states, and with "
                "equally many seeds"
            )


def _check_shape(folder: Path, *policies: Policy) -> None:
    described = [
        (jax.tree.structure(policy), [(x.shape, x.dtype) for x in jax.tree.leaves(policy)])
        for policy in policies
    ]
    if described[0] != described[1]:
        raise InputError(
            f"warm, but the network of the frozen run {str(folder)!r} has another shape or other "
            "options than this run's: use --no-warm, or the same --dynamics and sizes"
        )
