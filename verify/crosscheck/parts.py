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
import pdai
from fast.balance.loss import Loss
from fast.dynamics.base import AbstractDynamics
from fast.environments import AbstractEnvironment
from verify.lib.ledger import marked_tests

# Classes of which instances are compared, with every option, where they are listed as cases.
COMPARED_AS_CASES = (AbstractDynamics, AbstractEnvironment, Loss)

# Modules without numbers to compare. A new module is not here, so that its parts are asked for.
ELSEWHERE = {
    "fast.laws.enumeration": "is the comparison itself: test_environments, test_laws",
    "fast.laws.exact_policy": "likewise",
    "fast.checking.environment": "likewise",
    "fast.checking.dynamics": "is a comparison itself: tests/fast/test_check_dynamics.py",
    "fast.checking.loss": "is a comparison itself: tests/fast/test_check_loss.py",
    "fast.checking.counterexamples": "part of checking losses",
    "fast.checking.expected_loss": "part of checking losses",
    "fast.checking.instances": "what losses are checked on",
    "fast.checking.landscape": "part of checking losses",
    "fast.checking.search": "part of checking losses",
    "fast.checking.tabular_policy": "part of checking losses",
    "fast.environments.contexts": "stacks ordinary environments: tests/fast/test_contexts.py",
    "fast.training.contexts": "ordinary steps side by side: tests/fast/test_contexts.py",
    "fast.dynamics.in_context": "a case of test_dynamics; used in tests/fast/test_contexts.py",
    "fast.runs.sizes": "refuses by sizes: tests/fast/test_sizes.py",
    "pdai.adapters.gfnx": "asks another library: tests/certificates/test_adapters.py",
    "pdai.adapters.torchgfn": "likewise",
    "pdai.adapters.gflownet": "likewise",
    "pdai.adapters.log_prob": "asks objects of the user's: tests/certificates/test_log_prob.py",
    "pdai.adapters.blackjax": "a compared step in another shape: test_tail_chain",
    "fast.runs.checkpoints": "reads and writes files: tests/fast/test_runs.py",
    "pdai.checks": "hands on to the checks: tests/fast/test_outside.py",
    "pdai.distributed.comparison": "collects compared figures: tests/pdai/test_distribute.py",
    "fast.dynamics.recurrence": "draws initial weights",
    "fast.tracing": "holds parts of a user's own: tests/fast/test_outside.py",
    "fast.dynamics.own": "likewise",
    "fast.balance.own": "asks losses of a user's own: tests/fast/test_outside.py",
    "fast.environments.interface": "part of checking",
    "pdai.experiments.chains": "Markov chains: tests/experiments/test_posterior_study.py",
    "pdai.experiments.minors": "exact bounds: tests/experiments/test_floors.py",
    "pdai.experiments.minimisers": "minima with proofs: verify/test_price_of_balance.py",
    "pdai.experiments.nearest": "exact bounds: tests/experiments/test_floors.py",
    "pdai.experiments.relaxation": "likewise",
    "pdai.experiments.evidence": "reads stored results: tests/experiments/test_evidence.py",
    "pdai.experiments.frames": "likewise",
    "pdai.experiments.verdicts": "statistics: tests/experiments/test_verdicts.py",
    "pdai.experiments.price": "collects bounds and minima: tests/experiments/test_price.py",
    "pdai.experiments.figures": "draws pictures: tests/experiments/test_report.py",
    "pdai.experiments.results": "statistics and files: tests/experiments/test_experiments.py",
    "fast.runs.frozen": "loads trained samplers: tests/pdai/test_distribute.py",
    "fast.runs.job": "starts and resumes runs: tests/fast/test_runs.py",
    "fast.runs.loop": "advances, records and checkpoints: tests/fast/test_runs.py",
    "fast.runs.meter": "chooses among compared figures: tests/fast/test_runs.py, test_reporting.py",
    "fast.training.build": "builds from a configuration: tests/fast/test_matrix.py",
    "pdai.show.page.chart": "draws pictures: tests/pdai/test_page.py",
    "pdai.show.page.curves": "likewise",
    "pdai.show.page.laws": "likewise",
    "pdai.show.plotting": "draws pictures",
    "pdai.show.posterior_plots": "likewise",
    "pdai.show.stored": "reads runs for pictures: tests/pdai/test_page.py",
    "pdai.answers": "exact sums of the reference: tests/reference/test_graph_posterior.py",
    "pdai.show.edge_picture": "draws pictures: tests/reference/test_graph_posterior.py",
    "pdai.show.page.heat_map": "likewise",
    "pdai.solving.solve": "exact flows of the reference: tests/pdai/test_solve.py",
    "pdai.solving.solved": "likewise",
    "pdai.solving.ladder": "likewise",
    "pdai.solving.teacher": "compared with these exact flows: tests/pdai/test_solve.py",
    "pdai.certifying.sources": "reads what is to be certified: tests/certificates/test_certify.py",
    "pdai.certifying.target": "likewise",
    "pdai.certifying.certify": "hands on to what is certified: tests/certificates/test_certify.py",
    "pdai.goal": "trains and certifies in rounds: tests/pdai/test_goal.py",
    "pdai.certifying.power": "simulates bounds: tests/certificates/test_doors.py",
    "pdai.certifying.what_now": "words about a law: tests/pdai/test_reporting.py",
    "pdai.run": "a run as an object: hands on what is compared",
    "fast.runs.records": "reads and writes files: tests/fast/test_hostile.py",
    "fast.runs.folder": "reads and writes files: tests/fast/test_hostile.py",
    "fast.training.processes": "joins processes: tests/fast/test_processes.py",
    "fast.training.trainer": "hands gradients to optax: tests/fast/test_training.py",
}


@cache
def modules() -> tuple[ModuleType, ...]:
    """The modules of `fast` and `pdai` that compute: they import JAX, Equinox or NumPy.

    Or they have losses, which import JAX where they are evaluated.
    """
    names = [
        info.name
        for package in (fast, pdai)
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]
    imported = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
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
        if module.__name__ in ELSEWHERE:
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
