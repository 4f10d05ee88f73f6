"""The table of the built-in tasks: the problem of each, its options, and defaults of its training.

A problem of `reference.problems` is known to the command line by its row here.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from reference.problems.base import Order

NONE: Mapping[str, Any] = MappingProxyType({})
LOG_VARIANCE = {"loss": "log_variance"}
TABLES = {**LOG_VARIANCE, "learning_rate": 3e-3, "skip": True}


class Row(NamedTuple):
    """A problem as a task, whose options are the parameters of a function that makes the problem.

    Attributes:
        name: the name of the task.
        about: its description.
        make: `module:name`, below `reference.problems`, of the function or class, whose docstring
            describes its parameters.
        states: an upper bound on the number of states, from the options.
        seen: further options of how networks see states, in the environment.
        renamed: the names of options by parameter, if they differ; "" for no option.
        usual: defaults of options, if they differ from the defaults of the parameters.
        defaults: options of a training, by name, that differ from those of other tasks.
        has_graphs: whether graph networks read its states.
        reads_file: whether the problem is a file of the user's, read only when it is needed.
        inputs: the options that are files of the user's, with the names of copies in run folders.
    """

    name: str
    about: str
    make: str
    states: Callable[[Any], int]
    seen: tuple[str, ...] = ()
    renamed: Mapping[str, str] = NONE
    usual: Mapping[str, Any] = NONE
    defaults: Mapping[str, Any] = NONE
    has_graphs: bool = False
    reads_file: bool = False
    inputs: Mapping[str, str] = NONE


def _words(letters: int, length: int) -> int:
    """The number of strings of at most `length` letters."""
    return sum(letters**n for n in range(length + 1))


def _assignments(values: int, places: int, order: Order) -> int:
    """The number of assignments of values to some of the places."""
    return _words(values, places) if order == "fixed" else (values + 1) ** places


def _listed(task: Any) -> int:
    from reference.problems.enumeration import enumerate_dag

    return len(enumerate_dag(task.make_problem()).labels)


def _forests(task: Any) -> int:
    from reference.problems.phylogeny import forest_count

    return forest_count(len(task.make_problem().names))


ROWS = (
    Row(
        "bits",
        "Bit sequences near hidden modes: log R(x) = -c times the least Hamming distance over n.",
        "bits:BitSequences.random",
        lambda task: _words(2**task.word, task.length // task.word),
        seen=("last",),
        renamed={"seed": "mode_seed", "draws": ""},
        defaults=LOG_VARIANCE,
    ),
    Row(
        "graphs",
        "Edge addition to small graphs that no Markovian graph network tells apart.",
        "graphs:EdgeAddition.instance",
        _listed,
        has_graphs=True,
        defaults={"dynamics": "temporal-gcn", "parameters": 2_000, "steps": 2_000},
    ),
    Row(
        "grid",
        "The hypergrid, with modes near the corners.",
        "grid:Grid",
        lambda task: 2 * task.side**task.dimension,
        seen=("coarse",),
        defaults={"parameters": 10_000, "epsilon": 0.5},
    ),
    Row(
        "hard-core",
        "Independent sets of a grid, vertex by vertex; log Z by transfer matrices.",
        "hard_core:HardCore.strip",
        lambda task: _assignments(2, task.rows * task.columns, task.order),
    ),
    Row(
        "ising",
        "The Ising model with couplings of rank one, spin by spin.",
        "ising:Ising.random",
        lambda task: _assignments(2, task.spins, task.order),
        renamed={"seed": "model_seed"},
    ),
    Row(
        "lines",
        "Lines: walk along p_0 ... p_N in steps of at most M, and stop at q_i.",
        "lines:Lines.with_target",
        lambda task: 2 * (task.length + 1),
        defaults={"parameters": 10_000, "steps": 2_000},
    ),
    Row(
        "phylogeny",
        "Phylogenetic trees by parsimony: trees joined two by two.",
        "phylogeny:Phylogeny.aligned",
        _forests,
        renamed={"seed": "data_seed"},
        inputs={"alignment": "alignment.fasta"},
    ),
    Row(
        "preference",
        "Bayesian preference learning: integer weights w given comparisons of pairs.",
        "preference:Preference.random",
        lambda task: _assignments(2 * task.bound + 1, task.dimension, task.order),
        renamed={"seed": "data_seed"},
        defaults={**LOG_VARIANCE, "learning_rate": 3e-3},
    ),
    Row(
        "random-walk",
        "The lazy random walk: where a walk of T steps on a box ends.",
        "random_walk:LazyRandomWalk",
        lambda task: (2 * task.radius + 1) ** task.dimension * (task.walk_steps + 1),
        seen=("time_code", "coarse"),
        renamed={"steps": "walk_steps"},
        # The one task without graphs where memory pays though the state is seen (fig:apx:lra).
        defaults={"dynamics": "gru"},
    ),
    Row(
        "syn",
        "Synthetic sequences: log R(s) = sum of u(i) v(s_i), with random utilities.",
        "sequences:SyntheticSequences.random",
        lambda task: _words(task.letters, task.length),
        seen=("last",),
        renamed={"seed": "utility_seed"},
        usual={"length": 6},
        defaults=LOG_VARIANCE,
    ),
    Row(
        "sets",
        "Sets of K out of S items: log R = sum of utilities.",
        "sets:Sets.random",
        lambda task: sum(math.comb(task.items, n) for n in range(task.size + 1)),
        renamed={"seed": "utility_seed"},
        defaults=LOG_VARIANCE,
    ),
    Row(
        "six6",
        "DNA 8-mers that bind the transcription factor SIX6 (65,536 measured sequences).",
        "tables:TableSequences.six6",
        lambda task: _words(4, 8),
        seen=("last",),
        # The table learns most; a small network keeps large batches cheap.
        defaults={
            **TABLES,
            "parameters": 8_000,
            "steps": 4_000,
            "batch": 1_024,
            "epsilon": 0.0,
            "table_rows": 262_144,
            "table_learning_rate": 0.03,
        },
    ),
    Row(
        "pho4",
        "DNA 10-mers that bind PHO4; the table of free energies is yours to bring.",
        "tables:TableSequences.pho4",
        lambda task: _words(4, 10),
        seen=("last",),
        renamed={"path": "table"},
        usual={"table": Path("pho4_10mer.npz")},
        defaults=TABLES,
        reads_file=True,
    ),
    Row(
        "qm9",
        "Molecules of five of 11 blocks, put on at either end; the table of scores is yours to "
        "bring.",
        "tables:TableSequences.load",
        lambda task: _words(11, 5),
        seen=("last",),
        renamed={"path": "table"},
        usual={"table": Path("qm9_5.npz")},
        defaults=TABLES,
        reads_file=True,
    ),
    Row(
        "torus",
        "The Ising model on a torus, spin by spin; log Z is Kaufman's at any size.",
        "torus:Torus",
        lambda task: _assignments(2, task.rows * task.columns, task.order),
    ),
)
