"""Nothing in `fast` goes without a cross-check: what there is is found by looking."""

import ast
from collections import defaultdict
from types import ModuleType
from typing import Any, Literal, get_args

import jax

from fast.balance.loss import PolicyLoss, TrajectoryLoss
from fast.balance.losses import TrajectoryBalance
from fast.dynamics.base import AbstractDynamics
from fast.dynamics.markov import Markov, Uniform
from fast.encoding import Encoding
from fast.environments import ENVIRONMENTS, AbstractEnvironment, make_environment
from fast.environments.grid import GridEnvironment
from fast.parts import LOSSES
from reference.contract.errors import InputError
from verify.crosscheck import test_dynamics, test_losses
from verify.crosscheck.instances import OBSERVED, PROBLEMS, TABLES, VARIANTS, make_instance
from verify.crosscheck.parts import (
    ELSEWHERE,
    concrete,
    is_elsewhere,
    modules,
    parts,
    without_case,
    without_test,
)
from verify.lib.ledger import FOLDER, marked_tests


def environments() -> list[AbstractEnvironment]:
    """Those that are compared, in every encoding that they have, and seen in every other way."""
    compared = [make_instance(name).environment for name in TABLES]
    compared += [environment for _, environment in OBSERVED.values()]
    for problem in (PROBLEMS | VARIANTS).values():
        for encoding in get_args(Encoding):
            try:
                compared.append(make_environment(problem, encoding))
            except InputError:
                # test_environments wants that refusal of these very classes.
                assert not hasattr(make_environment(problem), "encoding")
    return compared


def dynamics_cases() -> list[Any]:
    """Those that test_dynamics compares, without their numbers."""
    return [jax.eval_shape(make) for make in test_dynamics.CASES.values()]


def test_every_environment_and_each_of_its_options_is_compared() -> None:
    assert without_case(concrete(AbstractEnvironment, modules()), environments()) == set()


def test_every_problem_and_each_of_its_options_is_compared() -> None:
    problems = [*PROBLEMS.values(), *VARIANTS.values()]
    assert without_case(ENVIRONMENTS, problems) == set()


def test_every_dynamics_and_each_of_its_options_is_compared() -> None:
    assert without_case(concrete(AbstractDynamics, modules()), dynamics_cases()) == set()


def test_every_option_of_a_graph_network_is_compared() -> None:
    scorers = [network.scorer for network in dynamics_cases() if hasattr(network, "scorer")]
    assert scorers
    assert without_case({type(scorer) for scorer in scorers}, scorers) == set()


def test_every_loss_and_each_of_its_options_is_compared() -> None:
    every = concrete(TrajectoryLoss, modules()) | concrete(PolicyLoss, modules())
    kinds = {kind for kind in every if not is_elsewhere(kind.__module__)}
    assert kinds == set(LOSSES.values())
    assert without_case(kinds, test_losses.CASES.values()) == set()


def test_every_function_and_network_is_named_by_a_cross_check() -> None:
    assert without_test(parts(modules())) == set()


def test_every_marker_names_a_part_that_its_file_uses() -> None:
    known = parts(modules())
    by_file: dict[str, set[str]] = defaultdict(set)
    for marker in marked_tests("crosscheck"):
        by_file[marker.file].add(marker.label)
    for file, labels in by_file.items():
        nodes = list(ast.walk(ast.parse((FOLDER / file).read_text())))
        used = {node.id for node in nodes if isinstance(node, ast.Name)}
        used |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        for label in labels:
            below = {part for part in known if part.startswith(f"{label}.")}
            assert label in known or below, f"{label} is no part of fast: correct {file}"
            name = label.rpartition(".")[2]
            assert name in used or name == "__call__" or below, f"{file} does not use {label}"


def test_modules_that_are_left_out_are_there() -> None:
    names = [f"{module.__name__}." for module in modules()]
    assert all(any(name.startswith(f"{out}.") for name in names) for out in ELSEWHERE)


def made_up() -> ModuleType:
    """A module of `fast` with a new dynamics, environment, network, option, loss and function."""
    module = ModuleType("fast.made_up")

    class NewDynamics(Markov):
        """Without a case."""

        gate: Literal["open", "shut"] = "open"

    class NewEnvironment(GridEnvironment):
        """Without an instance."""

    class NewNetwork(Uniform):
        """Without a marker."""

    class NewLoss(TrajectoryBalance):
        """Without a case, and without a marker."""

        def value(self, steps: Any, log_z: Any, key: Any) -> Any:
            """Another value."""
            return log_z

    def new_residuals(steps: Any) -> Any:
        """Without a marker."""
        return steps

    for part in (NewDynamics, NewEnvironment, NewNetwork, NewLoss, new_residuals):
        part.__module__ = module.__name__
        setattr(module, part.__name__, part)
    return module


def test_control_new_parts_without_a_cross_check_are_found() -> None:
    searched = [*modules(), made_up()]
    new = concrete(AbstractDynamics, searched) - concrete(AbstractDynamics, modules())
    dynamics, network = sorted(new, key=lambda kind: kind.__name__)
    assert "NewDynamics" in without_case([dynamics], dynamics_cases())
    assert without_case([network], dynamics_cases()) == {"NewNetwork"}
    # With one case, the option that it does not choose is left.
    assert without_case([dynamics], [dynamics(3)]) == {"NewDynamics.gate = 'shut'"}
    assert "NewEnvironment" in without_case(concrete(AbstractEnvironment, searched), [])
    assert "NewLoss" in without_case(concrete(TrajectoryLoss, searched), test_losses.CASES.values())
    missing = without_test(parts(searched))
    names = ("new_residuals", "NewNetwork", "NewLoss.value")
    assert missing == {f"fast.made_up.{name}" for name in names}


def test_control_a_dynamics_without_its_last_case_is_found() -> None:
    cases = [case for case in dynamics_cases() if getattr(case, "write_key", "") != "k"]
    assert without_case(concrete(AbstractDynamics, modules()), cases) == {
        "SRWM.write_key = 'k'",
        "SRWM.erase = 'after'",
    }
