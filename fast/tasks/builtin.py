"""The tasks whose options are the parameters of a function that makes their problem.

Imports no JAX, so that the command line answers at once.
"""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from importlib import import_module
from operator import attrgetter
from typing import Any, ClassVar

from fast.encoding import TimeCode
from fast.tasks.table import ROWS, Row
from fast.tasks.task import BuiltIn
from reference.contract.errors import InputError, require, require_counts


@dataclass(frozen=True)
class Constructed(BuiltIn):
    """A task whose options are the parameters of a function that makes its problem.

    `parameters` names the one that each option sets. A user's file is read only when it is needed.
    """

    make: ClassVar[Callable[..., Any]]
    parameters: ClassVar[Mapping[str, str]]
    reads_file: ClassVar[bool] = False

    def check(self) -> None:
        """Makes the problem, which checks the options; a file is read only when it is needed."""
        if not self.reads_file and not any(getattr(self, name) for name in self.inputs):
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


# The classes with the options of how networks see states, by the names of these options.
SEEN = {kind.seen: kind for kind in (Constructed, Strings, Cells, Walks)}


def _constructed(row: Row) -> type[Constructed]:
    """The class of a task, whose options have the types, defaults and texts of the parameters."""
    module, _, name = row.make.partition(":")
    make = attrgetter(name)(import_module(f"reference.problems.{module}"))
    texts = _descriptions(inspect.getdoc(make) or "")
    parameters, options = {}, []
    for parameter in inspect.signature(make).parameters.values():
        option = row.renamed.get(parameter.name, parameter.name)
        if option:
            parameters[option] = parameter.name
            value: Any = field(
                default=row.usual.get(option, parameter.default),
                metadata={"help": texts[parameter.name]},
            )
            options.append((option, parameter.annotation, value))
    namespace = row._asdict() | {
        "__doc__": row.about,
        "__module__": __name__,
        "make": staticmethod(make),
        "parameters": parameters,
    }
    kind = row.name.title().replace("-", "") + "Task"
    return make_dataclass(kind, options, bases=(SEEN[row.seen],), namespace=namespace, frozen=True)


def _descriptions(text: str) -> dict[str, str]:
    """The descriptions of the parameters in a docstring, by name."""
    section = re.split(r"(?:Args|Attributes):\n", text)[1].split("\n\n")[0]
    entries = re.findall(r"^    (\w+): (.*(?:\n     .*)*)", section, re.MULTILINE)
    texts = {name: " ".join(entry.split()).replace("`", "") for name, entry in entries}
    # A symbol of one letter keeps its case.
    return {name: re.sub(r"^[a-z]{2}", lambda t: t[0].capitalize(), x) for name, x in texts.items()}


CONSTRUCTED = [_constructed(row) for row in ROWS]
# Where pickle looks for them, which takes configurations to other processes.
globals().update({task.__name__: task for task in CONSTRUCTED})
