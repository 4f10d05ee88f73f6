"""Environments of a user's own, by name."""

from typing import Any

from fast.environments.base import AbstractEnvironment
from reference.errors import InputError
from reference.loading import load_object
from reference.problems import Problem


def load_environment(spec: str, problem: Problem[Any] | None) -> AbstractEnvironment[Any]:
    """The environment that `module:Name` names.

    It is an instance, or a class with `from_problem`, which is given the problem. Modules of the
    working directory are found.

    Raises:
        InputError: if there is no such module or name, or it does not give an environment.
    """
    found = load_object(spec, "environment", "fast.environments:GridEnvironment")
    if hasattr(found, "from_problem") and not isinstance(found, AbstractEnvironment):
        if problem is None:
            raise InputError(
                f"{spec!r} is made from a problem, but none is named: add --problem "
                "my_module:MyProblem, or name an instance"
            )
        try:
            found = found.from_problem(problem)
        except (AttributeError, TypeError) as error:
            raise InputError(
                f"{spec!r}: from_problem does not make an environment of the problem "
                f"{type(problem).__name__} ({error}): give the problem that it is written for, and "
                "define every method of AbstractEnvironment"
            ) from error
    if not isinstance(found, AbstractEnvironment):
        raise InputError(
            f"{spec!r} gives {found!r}, but must give an AbstractEnvironment: name an instance, or "
            "a class with the class method from_problem(problem)"
        )
    return found
