"""Environments of a user's own, by name."""

import pkgutil
from typing import Any

from fast.environments.base import AbstractEnvironment
from reference.errors import InputError
from reference.loading import find_modules_here
from reference.problems import Problem


def load_environment(spec: str, problem: Problem[Any]) -> AbstractEnvironment[Any]:
    """The environment that `module:Name` names.

    It is an instance, or a class with `from_problem`, which is given the problem. Modules of the
    working directory are found.

    Raises:
        InputError: if there is no such module or name, or it does not give an environment.
    """
    find_modules_here()
    try:
        found = pkgutil.resolve_name(spec)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"{spec!r} does not name an environment ({error}): write module:Name, such as "
            "fast.environments:GridEnvironment, and run from the folder that holds the module"
        ) from None
    if hasattr(found, "from_problem") and not isinstance(found, AbstractEnvironment):
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
