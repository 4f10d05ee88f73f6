"""Every task in two sizes: `MINIMAL` to enumerate with all histories, `PAPER` to run."""

from collections.abc import Callable, Mapping
from typing import Any

from reference.problems.bits import BitSequences
from reference.problems.graphs import EdgeAddition
from reference.problems.grid import Grid
from reference.problems.ising import Ising
from reference.problems.lines import Lines
from reference.problems.preference import Preference
from reference.problems.random_walk import LazyRandomWalk
from reference.problems.sequences import SyntheticSequences
from reference.problems.sets import Sets
from reference.problems.structure import StructureLearning
from reference.problems.tables import TableSequences
from reference.problems.variables import VariableSelection

# Functions, because some read a table.
MINIMAL: Mapping[str, Callable[[], Any]] = {
    "lines": Lines.minimal,
    "lines-sparse": lambda: Lines.sparse(6, 2, (2, 5)),
    "graphs-1": EdgeAddition.matching,
    "graphs-2": EdgeAddition.paths,
    "graphs-3": EdgeAddition.marked,
    "graphs-4": EdgeAddition.mirrored,
    "sets": Sets.minimal,
    "sets-sum": lambda: Sets.random(5, 3, "sum"),
    "synthetic": SyntheticSequences.minimal,
    "synthetic-sum": lambda: SyntheticSequences.random(3, 2, "append", form="sum"),
    "table": TableSequences.minimal,
    "bits": BitSequences.minimal,
    "grid": Grid.minimal,
    "grid-printed": lambda: Grid(4, 2, "printed"),
    "grid-sparse": lambda: Grid(5, 2, "sparse"),
    "preference": Preference.minimal,
    "random-walk": LazyRandomWalk.minimal,
    "random-walk-sinusoidal": lambda: LazyRandomWalk(1, 2, 2, "sinusoidal"),
    "ising": Ising.minimal,
    "ising-fixed-order": lambda: Ising.random(4, "fixed"),
    "structure": StructureLearning.minimal,
    "structure-one-parent": lambda: StructureLearning.random(3, rows=9, max_parents=1),
    "variables": VariableSelection.minimal,
}

PAPER: Mapping[str, Callable[[], Any]] = {
    "lines": Lines.paper,
    "lines-sparse": Lines.sparse,
    "graphs": EdgeAddition.paper,
    "sets-16": lambda: Sets.paper(16),
    "sets-24": lambda: Sets.paper(24),
    "sets-32": lambda: Sets.paper(32),
    "synthetic-8": lambda: SyntheticSequences.paper(8),
    "synthetic-16": lambda: SyntheticSequences.paper(16),
    "synthetic-32": lambda: SyntheticSequences.paper(32),
    "six6": lambda: TableSequences.six6("append"),
    "bits-16": lambda: BitSequences.paper(16),
    "bits-32": lambda: BitSequences.paper(32),
    "bits-64": lambda: BitSequences.paper(64),
    "grid": Grid.paper,
    "grid-sparse": lambda: Grid.paper("sparse"),
    "preference-50": lambda: Preference.paper(50),
    "preference-100": lambda: Preference.paper(100),
    "preference-150": lambda: Preference.paper(150),
    "random-walk": LazyRandomWalk.paper,
    "random-walk-sharp": lambda: LazyRandomWalk.paper("sharp-rings"),
    "random-walk-sinusoidal": lambda: LazyRandomWalk.paper("sinusoidal"),
    "ising-36": lambda: Ising.paper(36),
    "ising-64": lambda: Ising.paper(64),
}
