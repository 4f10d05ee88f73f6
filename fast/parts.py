"""The parts of a run that are chosen by name: dynamics, loss, backward policy and replay.

A part is one file with its options and the code that they build. It is known by the `name` that the
class of its options declares. The files are read as text for these names, and a module is imported
when its part is chosen, so listing the names takes no JAX.
"""

import dataclasses
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from reference.errors import InputError, nearest
from reference.loading import load_object, name_of

FAST = Path(__file__).parent
NAME = re.compile(r'^    name: ClassVar\[str\] = "([\w-]+)"$', re.MULTILINE)
# A docstring up to its first colon, semicolon or line break.
SUMMARY = re.compile(r'"""(.+?)(?:[:;] |\.?"""|\.?$)', re.MULTILINE)


class Entry(NamedTuple):
    """A built-in part: `module:Class` of its options, below `fast`, and what is said of them."""

    target: str
    summary: str


class Kind(Mapping[str, type[Any]]):
    """The built-in parts of one kind by name: `kind[name]` imports the class of its options.

    Attributes:
        base: `module:Class` below `fast` from which the options of every part derive.
        own: `module:Class` of the options around a user's class or function; "" if a user's options
            must derive from the base.
        usual: the name that is chosen by default.
        folders: the folders below `fast` whose files have the parts.
    """

    def __init__(self, base: str, own: str, usual: str, *folders: str):
        self.base, self.own, self.usual, self.folders = base, own, usual, folders

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """The parts, in the order of their names."""
        entries = {}
        for file in (file for folder in self.folders for file in (FAST / folder).glob("*.py")):
            classes = re.split(r"^class (\w+)", file.read_text("utf-8"), flags=re.MULTILINE)
            for owner, body in zip(classes[1::2], classes[2::2], strict=True):
                if name := NAME.search(body):
                    target = f"{file.parent.name}.{file.stem}:{owner}"
                    entries[name[1]] = Entry(target, SUMMARY.findall(body)[0])
        return dict(sorted(entries.items()))

    def __getitem__(self, name: str) -> type[Any]:
        return _imported(self.entries[name].target)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def name_of(self, choice: Any) -> str | None:
        """The name of a built-in part, by that name or by its class; None for any other choice."""
        if isinstance(choice, str):
            return choice if choice in self else None
        target = f"{getattr(choice, '__module__', '')}:{getattr(choice, '__qualname__', '')}"
        names = (name for name, entry in self.entries.items() if f"fast.{entry.target}" == target)
        return next(names, None)


def _imported(target: str) -> type[Any]:
    module, _, name = target.partition(":")
    imported: type[Any] = getattr(importlib.import_module(f"fast.{module}"), name)
    return imported


DYNAMICS = Kind(
    "dynamics.base:DynamicsOptions", "dynamics.own:OwnDynamics", "markov", "dynamics", "stochastic"
)
LOSSES = Kind("balance.loss:Loss", "", "tb", "balance")
BACKWARD = Kind(
    "policies.backward:BackwardOptions", "policies.backward:OwnBackward", "uniform", "policies"
)
REPLAYS = Kind("sampling.replay:NoReplay", "", "none", "sampling")
# Options of a run whose defaults differ with some dynamics, losses or p_B; here, as --help shows
# them without JAX.
GAUSSIAN = {
    "loss": "tb",
    "penalty": "square",
    "learning_rate": 2e-3,
    "anneal": 0.0,
    "p_b": "uniform",
    "replay": "none",
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "gaussian": GAUSSIAN,
    "gaussian-mean": GAUSSIAN,
    "fm": {"anneal": 0.0, "p_b": "uniform"},
    "lifted": {"replay": "none"},
}
CHOICES = {"dynamics": DYNAMICS, "loss": LOSSES, "p_b": BACKWARD, "replay": REPLAYS}


class Chosen(NamedTuple):
    """A chosen part, before it has its options: `make` makes it from options by name.

    If it was given as an object, the options of that are the defaults.
    """

    options: type[Any]
    make: Callable[..., Any]
    is_object: bool = False


def check_name(part: str, name: str) -> None:
    """Refuses a name that is neither a built-in part nor `module:Name`."""
    kind = CHOICES[part]
    if name not in kind and ":" not in name:
        raise InputError(
            f"{part} is {name!r}, but must be one of {', '.join(map(repr, kind))}, or "
            f"module:Name for one of your own{nearest(name, kind)}"
        )


def choose(part: str, choice: Any) -> Chosen:
    """The part that a choice names.

    The choice is a built-in name, `module:Name`, a class of options, an instance of one, or a
    user's class or function that makes the part. Raises InputError if the choice is not one of
    these.
    """
    kind = CHOICES[part]
    if isinstance(choice, str):
        check_name(part, choice)
        example = "my_module:MyLoss" if part == "loss" else "my_module:Mine"
        choice = kind[choice] if choice in kind else load_object(choice, part, example)
    base = _imported(kind.base)
    if isinstance(choice, base):
        return Chosen(type(choice), partial(dataclasses.replace, choice), is_object=True)
    if isinstance(choice, type) and issubclass(choice, base):
        return Chosen(choice, choice)
    if kind.own and callable(choice):
        own: Any = _imported(kind.own)
        return Chosen(own, partial(own, make=choice))
    raise InputError(
        f"{part} is {choice!r}, but must be a {base.__name__}: derive from {base.__module__}."
        f"{base.__name__}"
    )


def option_names(options: type[Any]) -> set[str]:
    """The names of the options that a class declares."""
    return {field.name for field in dataclasses.fields(options)} - {"make"}


def own_part(part: str, options: Any) -> Any:
    """The user's class or function behind a part's options; None for a built-in part."""
    if CHOICES[part].name_of(type(options)) is not None:
        return None
    return getattr(options, "make", type(options))


def name_of_part(part: str, options: Any) -> str:
    """The name by which a part is chosen: a built-in one, or `module:Name`."""
    return CHOICES[part].name_of(type(options)) or name_of(own_part(part, options))
