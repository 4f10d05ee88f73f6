"""The parts of `fast` that must be cross-checked.

A part is known by its full name: `fast.balance.losses.tb`.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Iterable, Iterator
from functools import cache
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

import equinox as eqx

import fast
from fast.balance.loss import Loss
from fast.dynamics.base import AbstractDynamics
from fast.environments import AbstractEnvironment
from verify.lib.ledger import marked_tests

# Classes of which instances are compared, with every option, where they are listed as cases.
COMPARED_AS_CASES = (AbstractDynamics, AbstractEnvironment, Loss)

# Of pdai these alone compute: the rest hands on, reads, draws and prints, with tests of its own.
OF_PDAI = (
    *("pdai.distributed.certificates", "pdai.experiments.probes"),
    *("pdai.posteriors.environments", "pdai.posteriors.uniform_dags"),
)
# Modules without numbers to compare, and packages of these. A new module is not here, so that its
# parts are asked for.
ELSEWHERE = {
    "fast.balance.own": "asks losses of a user's own: tests/fast/test_outside.py",
    "fast.checking": "is the comparison itself: test_environments, tests/fast/test_checking.py",
    "fast.dynamics.own": "holds parts of a user's own: tests/fast/test_outside.py",
    "fast.dynamics.recurrence": "draws initial weights",
    "fast.environments.interface": "part of checking",
    "fast.laws.enumeration": "is the comparison itself: test_environments, test_laws",
    "fast.laws.exact_policy": "is the comparison itself: test_environments, test_laws",
    "fast.runs": "starts, keeps and reads runs: tests/fast/test_runs.py, test_hostile.py",
    "fast.tracing": "holds parts of a user's own: tests/fast/test_outside.py",
    "fast.training.build": "builds from a configuration: tests/fast/test_matrix.py",
    "fast.training.processes": "joins processes: tests/fast/test_processes.py",
    "fast.training.trainer": "hands gradients to optax: tests/fast/test_training.py",
}


def is_elsewhere(module: str) -> bool:
    """True if a module, or a package that it is in, is listed above."""
    return any(f"{module}.".startswith(f"{left_out}.") for left_out in ELSEWHERE)


@cache
def modules() -> tuple[ModuleType, ...]:
    """The modules that compute: they import JAX, Equinox or NumPy.

    Or they have losses, which import JAX where they are evaluated.
    """
    names = [info.name for info in pkgutil.walk_packages(fast.__path__, "fast.")]
    imported = map(importlib.import_module, [*names, *OF_PDAI])
    return tuple(module for module in imported if _computes(module))


def _computes(module: ModuleType) -> bool:
    imported = {value.__name__ for value in vars(module).values() if inspect.ismodule(value)}
    is_numeric = bool({name.split(".")[0] for name in imported} & {"equinox", "jax", "numpy"})
    return is_numeric or any(
        inspect.isclass(value) and issubclass(value, Loss) for _, value in own(module)
    )


def own(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The public functions and classes that a module defines."""
    for name, value in vars(module).items():
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__:
            yield name, value


def functions(module: ModuleType) -> dict[str, Any]:
    """The public functions of a module, those with derivatives of their own included."""
    return {
        name: value for name, value in own(module) if callable(value) and not inspect.isclass(value)
    }


def parts(searched: Iterable[ModuleType]) -> set[str]:
    """Every function, whole network, and public method of losses and of classes that hold arrays.

    A network is whole if its outputs are those of a policy; other dynamics are compared as cases
    alone.
    """
    names = set()
    for module in searched:
        if is_elsewhere(module.__name__):
            continue
        names |= {f"{module.__name__}.{name}" for name in functions(module)}
        for kind in concrete(eqx.Module, [module]):
            name = f"{module.__name__}.{kind.__name__}"
            if issubclass(kind, AbstractDynamics):
                names |= set() if kind.needs_head else {name}
            elif not issubclass(kind, COMPARED_AS_CASES):
                names |= {f"{name}.{method}" for method in _methods(kind)}
        # What an abstract loss defines, every loss has.
        for _, kind in own(module):
            if inspect.isclass(kind) and issubclass(kind, Loss):
                name = f"{module.__name__}.{kind.__name__}"
                names |= {f"{name}.{method}" for method in _methods(kind)}
    return names


def _methods(kind: type) -> Iterator[str]:
    for name, value in vars(kind).items():
        is_open = name == "__call__" or not name.startswith("_")
        if callable(value) and is_open and not getattr(value, "__isabstractmethod__", False):
            yield name


def concrete(base: type, searched: Iterable[ModuleType]) -> set[type]:
    """The subclasses that are not abstract."""
    return {
        kind
        for module in searched
        for _, kind in own(module)
        if inspect.isclass(kind) and issubclass(kind, base) and not inspect.isabstract(kind)
    }


def options(kind: type) -> Iterator[tuple[str, Any]]:
    """The options of a class with each of their values: fields of type `Literal` and `bool`."""
    for base in kind.__mro__:
        for name, annotation in inspect.get_annotations(base, eval_str=True).items():
            values: tuple[Any, ...] = (False, True) if annotation is bool else ()
            if str(get_origin(annotation)) == str(Literal):
                values = get_args(annotation)
            yield from ((name, value) for value in values)


def without_case(kinds: Iterable[type], cases: Iterable[object]) -> set[str]:
    """The classes of which no case is an instance, and the options that no case chooses."""
    listed = list(cases)
    missing = set()
    for kind in kinds:
        ours = [case for case in listed if type(case) is kind]
        if not ours:
            missing.add(kind.__name__)
        for name, value in options(kind):
            if all(getattr(case, name) != value for case in ours):
                missing.add(f"{kind.__name__}.{name} = {value!r}")
    return missing


def without_test(wanted: Iterable[str]) -> set[str]:
    """The parts that no `crosscheck` marker names, neither alone nor by their module."""
    named = {marker.label for marker in marked_tests("crosscheck")}
    return {part for part in wanted if part not in named and part.rpartition(".")[0] not in named}
