"""Every problem in two sizes: `MINIMAL` to enumerate with all histories, `PAPER` to run.

They are the methods `minimal` and `paper` of the problems' classes, by the names of their modules,
and other instances.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from reference import posterior, problems
from reference.posterior.structure import StructureLearning
from reference.problems.bits import BitSequences
from reference.problems.graphs import EdgeAddition
from reference.problems.grid import Grid
from reference.problems.ising import Ising
from reference.problems.lines import Lines
from reference.problems.preference import Preference
from reference.problems.random_walk import LazyRandomWalk
from reference.problems.sequences import SyntheticSequences
from reference.problems.sets import Sets
from reference.problems.tables import TableSequences


def _of_classes(size: str) -> dict[str, Callable[[], Any]]:
    """The methods of that name, by module."""
    modules = (
        f"{room.__name__}.{module.name}"
        for room in (problems, posterior)
        for module in iter_modules(room.__path__)
        # It needs numba, and has no problem.
        if module.name != "dag_compiled"
    )
    return {
        name.rpartition(".")[2].replace("_", "-"): getattr(kind, size)
        for name in modules
        for kind in vars(import_module(name)).values()
        if hasattr(kind, size) and kind.__module__ == name
    }


# Functions, because some read a table.
MINIMAL: Mapping[str, Callable[[], Any]] = {
    **_of_classes("minimal"),
    "lines-sparse": lambda: Lines.sparse(6, 2, (2, 5)),
    "graphs-2": EdgeAddition.paths,
    "graphs-3": EdgeAddition.marked,
    "graphs-4": EdgeAddition.mirrored,
    "sets-sum": lambda: Sets.random(5, 3, "sum"),
    "sequences-sum": lambda: SyntheticSequences.random(3, 2, "append", form="sum"),
    "grid-printed": lambda: Grid(4, 2, "printed"),
    "grid-sparse": lambda: Grid(5, 2, "sparse"),
    "grid-fixed-order": lambda: Grid(4, 2, order="fixed"),
    "random-walk-sinusoidal": lambda: LazyRandomWalk(1, 2, 2, "sinusoidal"),
    "ising-fixed-order": lambda: Ising.random(4, "fixed"),
    "structure-fixed-order": lambda: replace(StructureLearning.minimal(), order="fixed"),
    "structure-one-parent": lambda: StructureLearning.random(3, rows=9, max_parents=1),
}

PAPER: Mapping[str, Callable[[], Any]] = {
    **_of_classes("paper"),
    "lines-sparse": Lines.sparse,
    "sets-24": lambda: Sets.paper(24),
    "sets-32": lambda: Sets.paper(32),
    "sequences-16": lambda: SyntheticSequences.paper(16),
    "sequences-32": lambda: SyntheticSequences.paper(32),
    "six6": lambda: TableSequences.six6("append"),
    "bits-32": lambda: BitSequences.paper(32),
    "bits-64": lambda: BitSequences.paper(64),
    "grid-sparse": lambda: Grid.paper("sparse"),
    "preference-100": lambda: Preference.paper(100),
    "preference-150": lambda: Preference.paper(150),
    "random-walk-sharp": lambda: LazyRandomWalk.paper("sharp-rings"),
    "random-walk-sinusoidal": lambda: LazyRandomWalk.paper("sinusoidal"),
    "ising-64": lambda: Ising.paper(64),
}
