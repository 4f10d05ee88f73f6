"""The tasks whose options are the parameters of a function that makes their problem.

Imports no JAX, so that the command line answers at once.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from math import comb
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from fast.encoding import TimeCode
from fast.tasks.task import BuiltIn
from reference.arguments import require, require_counts
from reference.errors import InputError
from reference.problems import (
    BitSequences,
    EdgeAddition,
    Grid,
    Ising,
    LazyRandomWalk,
    Lines,
    Order,
    Preference,
    Sets,
    SyntheticSequences,
    TableSequences,
    dyadic,
    enumerate_dag,
)

VARIANCE = {"loss": "log_variance"}
NONE: Mapping[str, Any] = MappingProxyType({})
PEAKS = (2, 20)
CONSTRUCTED: list[type[BuiltIn]] = []


@dataclass(frozen=True)
class Constructed(BuiltIn):
    """A task whose options are the parameters of a function that makes its problem.

    Attributes:
        make: the function, or the class of the problem.
        parameters: the parameter that each option sets.
        reads_file: whether the problem is a file of the user's, read only when it is needed.
    """

    make: ClassVar[Callable[..., Any]]
    parameters: ClassVar[Mapping[str, str]]
    reads_file: ClassVar[bool] = False

    def check(self) -> None:
        """Makes the problem, which checks the options."""
        if not self.reads_file:
            self.make_problem()

    def make_problem(self) -> Any:
        """The problem."""
        return self.make(**{name: getattr(self, key) for key, name in self.parameters.items()})


@dataclass(frozen=True)
class Strings(Constructed):
    """A task whose objects are strings."""

    seen: ClassVar[tuple[str, ...]] = ("last",)
    last: int | None = None
    """k: networks see the length of a string and its last k letters alone; by default all."""

    def check(self) -> None:
        """Checks the options of the problem, and `last`."""
        require(self, "last", self.last is None or self.last >= 0, "be at least 0")
        super().check()


@dataclass(frozen=True)
class Cells(Constructed):
    """A task whose objects are cells of a grid."""

    seen: ClassVar[tuple[str, ...]] = ("coarse",)
    coarse: int = 1
    """c: networks see cells in blocks of c along each axis, from the least coordinate on; cells of
    one block look alike. The time of a walk is exact."""

    def check(self) -> None:
        """Checks the options of the problem, and `coarse`."""
        require_counts(self, "coarse")
        super().check()


@dataclass(frozen=True)
class Walks(Cells):
    """A task whose objects are the ends of walks."""

    seen: ClassVar[tuple[str, ...]] = ("time_code", "coarse")
    time_code: TimeCode = "same"
    """Code of the time: that of the position, or sines and cosines, as in the paper, while
    --encoding is the code of the position."""

    def check(self) -> None:
        """Refuses a second name for the same features."""
        if self.encoding == "fourier" and self.time_code == "fourier":
            raise InputError(
                "time_code is 'fourier' with encoding 'fourier', which codes the time by sines and "
                "cosines already: leave time_code at 'same'"
            )
        super().check()


def constructed(
    name: str,
    about: str,
    make: Callable[..., Any],
    states: Callable[[Any], int],
    *,
    base: Any = Constructed,
    renamed: Mapping[str, str] = NONE,
    usual: Mapping[str, Any] = NONE,
    **attributes: Any,
) -> type[Constructed]:
    """Makes the class of a task, and adds it to `CONSTRUCTED`.

    Its options have the types, defaults and texts of the parameters.

    Args:
        name: the name of the task.
        about: the description of the task.
        make: a function or class with a docstring that describes its parameters.
        states: an upper bound on the number of states, from the options.
        base: the class with the options for the features of states.
        renamed: the names of options by parameter, if they differ; "" for no option.
        usual: defaults of options, if they differ from the defaults of the parameters.
        attributes: values for attributes of `Task`.
    """
    texts = _descriptions(inspect.getdoc(make) or "")
    parameters, options = {}, []
    for parameter in inspect.signature(make).parameters.values():
        option = renamed.get(parameter.name, parameter.name)
        if option:
            parameters[option] = parameter.name
            value: Any = field(
                default=usual.get(option, parameter.default),
                metadata={"help": texts[parameter.name]},
            )
            options.append((option, parameter.annotation, value))
    namespace = {
        "__doc__": about,
        "__module__": __name__,
        "name": name,
        "make": staticmethod(make),
        "states": states,
        "parameters": parameters,
        **attributes,
    }
    kind = name.title().replace("-", "") + "Task"
    made = make_dataclass(kind, options, bases=(base,), namespace=namespace, frozen=True)
    CONSTRUCTED.append(made)
    return made


def _descriptions(text: str) -> dict[str, str]:
    """The descriptions of the parameters in a docstring, by name."""
    section = re.split(r"(?:Args|Attributes):\n", text)[1].split("\n\n")[0]
    entries = re.findall(r"^    (\w+): (.*(?:\n     .*)*)", section, re.MULTILINE)
    texts = {name: " ".join(entry.split()).replace("`", "") for name, entry in entries}
    # A symbol of one letter keeps its case.
    return {name: re.sub(r"^[a-z]{2}", lambda t: t[0].capitalize(), x) for name, x in texts.items()}


def words(letters: int, length: int) -> int:
    """The number of strings of at most `length` letters."""
    return sum(letters**n for n in range(length + 1))


def assignments(values: int, places: int, order: Order) -> int:
    """The number of assignments of values to some of the places."""
    return words(values, places) if order == "fixed" else (values + 1) ** places


def lines(
    length: int = 16,
    step: int = 2,
    target: Literal["laplaces", "sparse"] = "laplaces",
    target_seed: int = 0,
    peaks: tuple[int, ...] = PEAKS,
) -> Lines:
    """Lines with either target.

    Args:
        length: N.
        step: M; with M = 1 the state graph is a tree, and lifting adds nothing.
        target: a random mixture of four Laplaces, or 1 at the peaks and 1/1000 elsewhere.
        target_seed: seed of the mixture; read by that target alone.
        peaks: where the sparse target has reward 1; read by that target alone.

    Raises:
        InputError: if an option of the other target is set.
    """
    values = {"laplaces": ("peaks", peaks, PEAKS), "sparse": ("target_seed", target_seed, 0)}
    name, value, usual = values[target]
    if value != usual:
        raise InputError(
            f"{name} is {value!r} with target {target}, which does not read it: use the other "
            f"target, or leave {name} at {usual!r}"
        )
    if target == "laplaces":
        return Lines.laplaces(length, step, target_seed)
    return Lines.sparse(length, step, peaks)


def graphs(
    instance: Literal["matching", "paths", "marked", "mirrored", "paper"] = "paper",
    alpha: float = 0.7,
) -> EdgeAddition:
    """An instance of ex. Graphs.

    Args:
        instance: the instance.
        alpha: the target probability of the first terminal graph.
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha}, but must lie strictly between 0 and 1")
    problem: EdgeAddition = getattr(EdgeAddition, instance)(dyadic(alpha))
    return problem


Six6Task = constructed(
    "six6",
    "DNA 8-mers that bind the transcription factor SIX6 (65,536 measured sequences).",
    TableSequences.six6,
    lambda task: words(4, 8),
    base=Strings,
    defaults={**VARIANCE, "steps": 20_000, "learning_rate": 3e-3, "skip": True, "epsilon": 0.0},
)
Pho4Task = constructed(
    "pho4",
    "DNA 10-mers that bind PHO4; the table of free energies is yours to bring.",
    TableSequences.pho4,
    lambda task: words(4, 10),
    base=Strings,
    renamed={"path": "table"},
    usual={"table": Path("pho4_10mer.npz")},
    defaults={**VARIANCE, "learning_rate": 3e-3, "skip": True},
    reads_file=True,
)
SynTask = constructed(
    "syn",
    "Synthetic sequences: log R(s) = sum of u(i) v(s_i), with random utilities.",
    SyntheticSequences.random,
    lambda task: words(task.letters, task.length),
    base=Strings,
    renamed={"seed": "utility_seed"},
    usual={"length": 6},
    defaults=VARIANCE,
)
BitsTask = constructed(
    "bits",
    "Bit sequences near hidden modes: log R(x) = -c times the least Hamming distance over n.",
    BitSequences.random,
    lambda task: words(2**task.word, task.length // task.word),
    base=Strings,
    renamed={"seed": "mode_seed", "draws": ""},
    defaults=VARIANCE,
)
LinesTask = constructed(
    "lines",
    "Lines: walk along p_0 ... p_N in steps of at most M, and stop at q_i.",
    lines,
    lambda task: 2 * (task.length + 1),
    defaults={"parameters": 10_000, "steps": 2_000},
)
GridTask = constructed(
    "grid",
    "The hypergrid, with modes near the corners.",
    Grid,
    lambda task: 2 * task.side**task.dimension,
    base=Cells,
    defaults={"parameters": 10_000, "epsilon": 0.5},
)
SetsTask = constructed(
    "sets",
    "Sets of K out of S items: log R = sum of utilities.",
    Sets.random,
    lambda task: sum(comb(task.items, n) for n in range(task.size + 1)),
    renamed={"seed": "utility_seed"},
    defaults=VARIANCE,
)
PreferenceTask = constructed(
    "preference",
    "Bayesian preference learning: integer weights w given comparisons of pairs.",
    Preference.random,
    lambda task: assignments(2 * task.bound + 1, task.dimension, task.order),
    renamed={"seed": "data_seed"},
    defaults={**VARIANCE, "learning_rate": 3e-3},
)
RandomWalkTask = constructed(
    "random-walk",
    "The lazy random walk: where a walk of T steps on a box ends.",
    LazyRandomWalk,
    lambda task: (2 * task.radius + 1) ** task.dimension * (task.walk_steps + 1),
    base=Walks,
    renamed={"steps": "walk_steps"},
    # The one task without graphs where memory pays though the state is seen (fig:apx:lra).
    defaults={"dynamics": "gru"},
)
IsingTask = constructed(
    "ising",
    "The Ising model with couplings of rank one, spin by spin.",
    Ising.random,
    lambda task: assignments(2, task.spins, task.order),
    renamed={"seed": "model_seed"},
)
GraphsTask = constructed(
    "graphs",
    "Edge addition to small graphs that no Markovian graph network tells apart.",
    graphs,
    lambda task: len(enumerate_dag(task.make_problem()).labels),
    has_graphs=True,
    defaults={"dynamics": "temporal-gcn", "parameters": 2_000, "steps": 2_000},
)
