"""Tasks: a problem with its options, and the default options of a training on it.

Imports no JAX before an environment is made, so that the command line answers at once.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from fast.encoding import Encoding
from reference.contract.errors import check_fields

if TYPE_CHECKING:
    from fast.environments import AbstractEnvironment


@dataclass(frozen=True)
class Task(ABC):
    """A problem with its options.

    Attributes:
        name: its name on the command line.
        defaults: options of a run, by name, that differ here from those of other tasks.
        has_graphs: whether its states are graphs that graph networks read.
        has_networks: whether its states are directed graphs over named variables (`Network`).
        inputs: the options that are files of the user's, and the names that copies of them have in
            a run folder, so that a run depends on no other.
        generated: the options of generated data, unused where one of these files is given.
    """

    name: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    has_graphs: ClassVar[bool] = False
    has_networks: ClassVar[bool] = False
    inputs: ClassVar[Mapping[str, str]] = MappingProxyType({})
    generated: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_fields(self, stored=True)
        self.check()

    @abstractmethod
    def check(self) -> None:
        """Checks the options against the rules of the problem.

        Raises InputError if one breaks a rule.
        """

    @abstractmethod
    def make_problem(self) -> Any:
        """The problem; raises InputError if an option breaks a rule."""

    @abstractmethod
    def states(self) -> int:
        """An upper bound on the number of states, without enumeration."""

    @abstractmethod
    def make_environment(self, problem: Any, max_states: int) -> "AbstractEnvironment":
        """The result of `make_problem`, perhaps with fewer factors of its reward, as array code.

        At most so many states are put into tables.
        """

    @property
    def input_files(self) -> dict[str, Path]:
        """The user's files that it reads, by option."""
        paths = {option: getattr(self, option) for option in self.inputs}
        return {option: path for option, path in paths.items() if path is not None}

    def with_copies(self, folder: Path) -> Self:
        """The task that reads the copies of these files in a run folder."""
        return replace(self, **{name: folder / self.inputs[name] for name in self.input_files})

    def texts(self, states: Iterable[Any]) -> list[str]:
        """States, or their texts, in the form that people read."""
        return list(map(str, states))

    def facts(self, source: str = "") -> dict[str, str]:
        """Properties of the user's files, by the option that each stands for."""
        return {}

    def remarks(self) -> list[str]:
        """Likely mistakes in the user's files, a sentence each."""
        return []

    @property
    def short_name(self) -> str:
        """The name of the task in the name of a folder."""
        return self.name


@dataclass(frozen=True)
class BuiltIn(Task):
    """A problem of `reference.problems`, with an environment of `fast.environments`.

    `seen` names further options of how networks see states.
    """

    seen: ClassVar[tuple[str, ...]] = ()

    encoding: Encoding = "one-hot"
    """Features of a state: one-hot, the integers themselves as in the paper's psi(p_i) = i, these
    and a constant 1, or their sines and cosines."""

    def check(self) -> None:
        """Makes the problem, which checks its own parameters."""
        self.make_problem()

    def make_environment(self, problem: Any, max_states: int) -> "AbstractEnvironment":
        """The environment written for problems of this kind."""
        from fast.environments import make_environment

        seen = {name: getattr(self, name) for name in self.seen}
        return make_environment(problem, self.encoding, **seen)
