"""The problems of `reference.problems` as array code; each file here registers its own."""

from dataclasses import fields
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from fast.encoding import Encoding as Encoding
from fast.environments.base import ENVIRONMENTS as ENVIRONMENTS
from fast.environments.base import AbstractEnvironment as AbstractEnvironment
from fast.environments.bits import BitEnvironment as BitEnvironment
from fast.environments.graphs import GraphEnvironment as GraphEnvironment
from fast.environments.grid import GridEnvironment as GridEnvironment
from fast.environments.hard_core import HardCoreEnvironment as HardCoreEnvironment
from fast.environments.ising import IsingEnvironment as IsingEnvironment
from fast.environments.ising import TorusEnvironment as TorusEnvironment
from fast.environments.lines import LinesEnvironment as LinesEnvironment
from fast.environments.loading import load_environment as load_environment
from fast.environments.phylogeny import PhylogenyEnvironment as PhylogenyEnvironment
from fast.environments.preference import PreferenceEnvironment as PreferenceEnvironment
from fast.environments.random_walk import WalkEnvironment as WalkEnvironment
from fast.environments.sequences import SequenceEnvironment as SequenceEnvironment
from fast.environments.sets import SetEnvironment as SetEnvironment
from fast.environments.structure import StructureEnvironment as StructureEnvironment
from fast.environments.tabular import TabularEnvironment as TabularEnvironment
from fast.environments.variables import SelectionEnvironment as SelectionEnvironment
from reference.errors import InputError, check_choice
from reference.problems import Problem

for module in iter_modules(__path__):
    import_module(f"{__name__}.{module.name}")


def make_environment(
    problem: Problem[Any], encoding: Encoding = "one-hot", **seen: Any
) -> AbstractEnvironment[Any]:
    """The environment of a problem.

    Args:
        problem: the problem.
        encoding: the code of the numbers that a state is made of.
        seen: further options of how networks see states, such as `coarse`.

    Raises:
        InputError: if there is no environment for problems of that very class (a subclass may have
            another reward), or it does not have that encoding.
    """
    name = type(problem).__name__
    check_choice(name, "the encoding", encoding, Encoding)
    if type(problem) not in ENVIRONMENTS:
        names = ", ".join(sorted(kind.__name__ for kind in ENVIRONMENTS))
        raise InputError(
            f"there is no environment for the problem {name}, only for {names}: enumerate it with "
            "`TabularEnvironment.from_problem`, or write an environment"
        )
    kind = ENVIRONMENTS[type(problem)]
    if "encoding" in {field.name for field in fields(kind)}:
        seen["encoding"] = encoding
    elif encoding != "one-hot":
        raise InputError(
            f"{name}: the encoding is {encoding!r}, but networks see its states only as indicators "
            "(of items; of edges, as an adjacency matrix): use 'one-hot'"
        )
    environment: AbstractEnvironment[Any] = kind.from_problem(problem, **seen)
    return environment
