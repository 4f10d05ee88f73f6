"""Samplers of finished runs, loaded to stand for factors of another run's reward."""

import contextlib
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from fast.runs.checkpoints import load_checkpoint
from fast.training.config import TrainConfig
from fast.environments import AbstractEnvironment, TabularEnvironment, make_environment
from fast.training.step import Given
from fast.policies.policy import Policy
from fast.runs.records import read_json
from fast.runs.folder import load_config
from fast.tasks import CustomConfig
from fast.training.trainer import make_trainer
from reference.errors import InputError


def arithmetic(config: TrainConfig) -> contextlib.AbstractContextManager[None]:
    """The precision that a run computes in, its checkpoints included."""
    double = {"float32": False, "float64": True}[config.precision]
    return jax.enable_x64(double)  # type: ignore[no-any-return]


def build_environment(config: TrainConfig, problem: Any) -> AbstractEnvironment[Any]:
    """A problem as array code, with the features that a configuration asks for."""
    if isinstance(config, CustomConfig):
        features = getattr(problem, "features", None)
        if features is not None and not callable(features):
            raise InputError(
                f"{type(problem).__name__}: features is {features!r}, but must be a method "
                "features(state) that gives equally many numbers for each state: rename it, or "
                "make it one"
            )
        return TabularEnvironment.from_problem(problem, features, config.max_states)
    return make_environment(problem, config.encoding)


def tables_digest(environment: AbstractEnvironment[Any]) -> str | None:
    """The checksum of a problem of the user's own, enumerated into tables; None of others."""
    return environment.digest() if isinstance(environment, TabularEnvironment) else None


def check_tables(folder: Path, environment: AbstractEnvironment[Any]) -> None:
    """Checks that a problem of the user's own is, number by number, what a run was trained on.

    Raises:
        InputError: if it is not: the numbers of its states would mean others.
    """
    digest = tables_digest(environment)
    if digest is not None and read_json(folder / "meta.json").get("tables") not in (None, digest):
        raise InputError(
            f"the run {str(folder)!r} was trained on other tables than its problem now gives: "
            "children(state) must list the same states in the same order in every process (sort "
            "what comes out of a set), and its rewards and features must be as they were; train "
            "again, or bring the module back"
        )


def load_given(config: TrainConfig) -> tuple[Given, tuple[int, ...]]:
    """The samplers that a run is given, in its own precision, and the factors that they leave over.

    Raises:
        InputError: if they do not sample factors of the run's problem, each at most once; if they
            leave factors over and are more than one; or if one is damaged or not finite.
    """
    configs = [load_config(path) for path in config.given]
    rest = factors_left(config, configs)
    policies = tuple(load_policy(*pair) for pair in zip(config.given, configs, strict=True))
    if config.warm:
        _check_shape(config, policies[0])
    environments = tuple(build_environment(other, other.restricted()) for other in configs)
    return Given(policies, environments, bool(rest)), rest


def factors_left(config: TrainConfig, given: Sequence[TrainConfig]) -> tuple[int, ...]:
    """The factors of a run's target that no given run is for: their reward is what training sees.

    Args:
        config: of the run.
        given: of the runs in `config.given`.

    Raises:
        InputError: if the given runs are not on factors of this target, each at most once.
    """
    names = [str(path) for path in config.given]
    for name, other in zip(names, given, strict=True):
        _check_same_problem(config, name, other)
    seen: dict[int, str] = {}
    for name, other in zip(names, given, strict=True):
        for factor in other.covered:
            if factor in seen:
                raise InputError(
                    f"factor {factor} is in the given runs {seen[factor]!r} and {name!r}: data "
                    "that is seen twice counts twice; give each factor once"
                )
            if factor not in config.covered:
                raise InputError(
                    f"the given run {name!r} has factor {factor}, but the target of this run is "
                    f"made of {list(config.covered)}: leave the run out, or add to --factors"
                )
            seen[factor] = name
    rest = tuple(factor for factor in config.covered if factor not in seen)
    if rest and len(given) > 1:
        raise InputError(
            f"{len(given)} given runs leave the factors {list(rest)} over: a step of a stream has "
            "one previous sampler; combine the given runs first, or train on those factors"
        )
    return rest


def load_policy(folder: Path, config: TrainConfig) -> Policy:
    """The last policy of a run in the precision of the caller, one per seed on a leading axis.

    Raises:
        InputError: if there is no checkpoint, or it is damaged or not finite.
    """
    alone = dataclasses.replace(config, given=(), warm=False)
    with arithmetic(config):
        environment = build_environment(config, config.restricted())
        check_tables(folder, environment)
        template = jax.eval_shape(make_trainer(alone, environment).init)
        state, _ = load_checkpoint(folder, template)
        leaves, structure = jax.tree.flatten(state.sampler.policy)
        numbers = [np.asarray(leaf) for leaf in leaves]
    if not all(np.isfinite(leaf).all() for leaf in numbers if leaf.dtype.kind == "f"):
        raise InputError(
            f"the sampler in {str(folder)!r} has parameters that are no finite numbers: train it "
            "again, with a smaller --learning-rate"
        )
    kind = jnp.zeros(()).dtype
    cast = [jnp.asarray(x, kind if x.dtype.kind == "f" else x.dtype) for x in numbers]
    policy: Policy = jax.tree.unflatten(structure, cast)
    return policy


def _check_same_problem(config: TrainConfig, name: str, other: TrainConfig) -> None:
    of_all = {field.name for field in dataclasses.fields(TrainConfig)}
    own = [field.name for field in dataclasses.fields(config) if field.name not in of_all]
    if other.problem_name != config.problem_name:
        raise InputError(
            f"the given run {name!r} is on {other.problem_name}, and this one on "
            f"{config.problem_name}: samplers are combined over one set of terminal states"
        )
    for field in (*own, "parts", "seeds"):
        ours, theirs = getattr(config, field), getattr(other, field)
        if ours != theirs:
            raise InputError(
                f"the given run {name!r} has {field} = {theirs}, and this run {ours}: combine runs "
                "on factors of one problem, over the same terminal states, and with equally many "
                "seeds"
            )


def _check_shape(config: TrainConfig, policy: Policy) -> None:
    alone = dataclasses.replace(config, given=(), warm=False)
    trainer = make_trainer(alone, build_environment(config, config.restricted()))
    expected = jax.eval_shape(trainer.init).sampler.policy
    found = jax.eval_shape(lambda: policy)
    shapes = [[(x.shape, x.dtype) for x in jax.tree.leaves(tree)] for tree in (expected, found)]
    structures = [jax.tree.structure(tree) for tree in (expected, found)]
    if structures[0] != structures[1] or shapes[0] != shapes[1]:  # type: ignore[operator]
        raise InputError(
            f"warm, but the network of the given run {str(config.given[0])!r} has another shape or "
            "other options than this run's: use --no-warm, or the same --dynamics and sizes"
        )
