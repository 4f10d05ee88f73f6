"""Checks of a user's parts: a loss, a network, an environment."""

from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax

from fast.balance.loss import Loss
from fast.checking.dynamics import check_dynamics
from fast.checking.environment import check_environment
from fast.checking.loss import check_loss
from fast.dynamics.base import AbstractDynamics
from fast.environments import AbstractEnvironment, load_environment
from fast.laws.enumeration import Precision
from fast.runs.display import SILENT
from fast.runs.job import train
from fast.training.compose import configure
from fast.training.trainer import make_trainer
from pdai.run import Run
from reference.contract.errors import InputError, build
from reference.contract.loading import load_object, name_of
from reference.problems.members import as_problem

# The problem on which a network is tried: most states of sets are reached in several ways.
USUAL = "reference.problems:Sets.minimal"
WIDTH = 16
SHORT: dict[str, Any] = {"latent_size": 8, "hidden_layers": 1, "steps": 1, "batch": 16}


def check(
    what: Any, problem: Any = None, precision: Precision | None = None, **options: Any
) -> Any:
    """Check a user's loss, network or environment exactly, and return a report.

    Args:
        what: a loss, dynamics or an environment, as an object or a class; or `module:Name` of one.
        problem: the problem of an environment, or one on which a network is tried; or
            `module:Name` of it.
        precision: the precision of an environment, by default float32.
        options: options of the check.

    Raises:
        InputError: at the first rule that is broken, or if there is no check for it.
    """
    part = load_object(what, "part", "my_module:MyLoss") if isinstance(what, str) else what
    kind = part if isinstance(part, type) else type(part)
    is_environment = issubclass(kind, AbstractEnvironment) or hasattr(part, "from_problem")
    is_loss = issubclass(kind, Loss)
    unused = {"precision": None if is_environment else precision, "problem": is_loss and problem}
    unused |= {name: not is_loss and options.get(name) for name in ("seconds", "thorough")}
    for name, value in unused.items():
        if value:
            raise InputError(
                f"{name} is {value!r}, but is not used in the check of {what!r}: environments "
                "alone have a precision, losses a search on graphs of its own: leave it out"
            )
    if is_loss:
        return check_loss(build(kind, {}, "") if part is kind else part, **options)
    if issubclass(kind, AbstractDynamics):
        return _check_network(part, problem or USUAL, options)
    if is_environment:
        if problem is None:
            raise InputError(
                f"{what!r} is an environment, but no problem is given to check it against: add "
                "--problem my_module:MyProblem"
            )
        own = as_problem(problem)
        with jax.enable_x64(True) if precision == "float64" else nullcontext():
            environment = load_environment(name_of(what), own)
        return check_environment(own, environment, precision or "float32", **options)
    of = f"the class {part.__name__}" if isinstance(part, type) else f"a {type(part).__name__}"
    raise InputError(
        f"{what if isinstance(what, str) else 'this'} is {of}, but must derive from a loss of "
        "fast.balance.loss, from AbstractDynamics or from AbstractEnvironment (docs/extending.md): "
        "functions and other libraries' losses cannot be checked; for a problem, `pdai inspect`"
    )


def _check_network(make: Any, problem: Any, options: dict[str, Any]) -> Any:
    """The check of a network on the environment of a problem, by default on small sets.

    A class is also trained for a step, measured, saved and loaded, as by `pdai train`.
    """
    own = {} if isinstance(make, AbstractDynamics) else {"dynamics": make, **SHORT}
    config = configure("custom", problem=name_of(problem), **own)
    environment = config.task.make_environment(config.problem(), config.run.max_states)
    if isinstance(make, AbstractDynamics):
        return check_dynamics(make, environment, **options)
    # Shapes come first, as their errors name the function that cannot be traced.
    make_trainer(config, environment).shapes()
    actions, key = environment.actions, jax.random.key(0)
    network = config.dynamics.build(environment, actions, WIDTH, key=key)
    name = config.name_of("dynamics").rpartition(":")[2]
    report = check_dynamics(network, environment, name=name, **options)
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        train(config.changed(out=out), display=SILENT)
        Run(out).sample(1)
    return report
