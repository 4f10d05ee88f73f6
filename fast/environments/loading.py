"""The user's own environments, by name."""

from typing import Any

from fast.environments.base import AbstractEnvironment
from reference.errors import InputError
from reference.loading import load_object
from reference.problems import Problem


def load_environment(spec: str, problem: Problem[Any] | None) -> AbstractEnvironment[Any]:
    """The environment named by `module:Name`, which may lie in the working directory.

    It is an instance, or a class whose `from_problem` is called with the problem, if there is one.
    Raises InputError if there is no such module or name, or it does not give an environment.
    """
    part = load_object(spec, "environment", "fast.environments:GridEnvironment")
    if hasattr(part, "from_problem") and not isinstance(part, AbstractEnvironment):
        if problem is None:
            raise InputError(
                f"{spec!r} is made from a problem, but none is named: add --problem "
                "my_module:MyProblem, or name an instance"
            )
        try:
            part = part.from_problem(problem)
        except (AttributeError, TypeError) as error:
            raise InputError(
                f"{spec!r}: from_problem does not make an environment of the problem "
                f"{type(problem).__name__} ({error}): give the problem that it is written for, and "
                "define every method of AbstractEnvironment"
            ) from error
    if not isinstance(part, AbstractEnvironment):
        raise InputError(
            f"{spec!r} gives {part!r}, but must give an AbstractEnvironment: name an instance, or "
            "a class with the class method from_problem(problem)"
        )
    return part
