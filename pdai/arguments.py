"""The options of a training on the command line: the options of the chosen parts, in groups.

The chosen dynamics, loss, backward policy and replay determine the options. So the command
line is read twice: first for the task and these choices, then for all options. `--help` needs the
first reading alone, and imports no JAX.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, fields, make_dataclass
from inspect import getdoc
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Union

import tyro

from fast.parts import CHOICES, check_name, option_names
from fast.tasks import TASKS, Task
from fast.training.compose import (
    FIXED,
    TrainConfig,
    choices,
    choose_parts,
    configure,
    refuse_misplaced,
    usual_options,
)
from pdai.words import HELP, MISSING, flag_values

# The default of every network, whose options are not imported for --help.
PARAMETERS = 40_000


def _choice(part: str) -> Any:
    """The type of the option that chooses a part; its help lists the names."""
    entries = CHOICES[part].entries
    names = [
        f"{name}: {entry.summary[0].lower()}{entry.summary[1:]}" for name, entry in entries.items()
    ]
    return Annotated[str, tyro.conf.arg(help=f"{'; '.join(names)}; or MODULE:NAME.")]


Parts = make_dataclass(
    "Parts", [(part, _choice(part), kind.usual) for part, kind in CHOICES.items()], frozen=True
)
Parts.__doc__ = "The parts of a run, each with options of its own."
# The options that --help shows in addition to the options of the task.
COMMON: dict[str, Any] = {
    **{part: _choice(part) for part in ("dynamics", "loss")},
    "parameters": Annotated[
        int, tyro.conf.arg(help="Parameters of the network, within 5 %; 0 for 40,000 or more.")
    ],
    "steps": Annotated[int, tyro.conf.arg(help="Gradient steps.")],
    "batch": Annotated[int, tyro.conf.arg(help="Trajectories per step.")],
    "learning_rate": Annotated[float, tyro.conf.arg(help="Learning rate of the policy.")],
    "seed": Annotated[int, tyro.conf.arg(help="Random seed.")],
    "out": Annotated[Path | None, tyro.conf.arg(help="The run folder, which must not exist yet.")],
}


class Scanned(NamedTuple):
    """The problem and the parts that a command line chooses, and whether `--help` is in it."""

    task: str
    choices: Mapping[str, str]
    asks_help: bool


def scan(arguments: Sequence[str], usual: str) -> Scanned:
    """The task and the parts that the arguments after a command choose; the usual task if none.

    Raises InputError if it has an option of a part that is not chosen.
    """
    task = next((word for word in arguments if word in TASKS), usual)
    given = flag_values(arguments)
    chosen = {part: given[part] for part in CHOICES if given.get(part, MISSING) != MISSING}
    for part, name in chosen.items():
        check_name(part, name)
    asks_help = not HELP.isdisjoint(arguments)
    if not asks_help:
        names = given.keys() | {name.removeprefix("no_") for name in given}
        refuse_misplaced(names, TASKS[task], chosen)
    return Scanned(task, chosen, asks_help)


def options_class(chosen: Scanned, usual: Mapping[str, Any]) -> type[Any]:
    """The class of the options of a run, with a field for each part that has options.

    With `--help`, only the common options are fields; `usual` has those that differ from the
    defaults of the task.
    """
    task = TASKS[chosen.task]
    options = {**usual, **chosen.choices}
    names = choices(task, options)
    defaults = {**usual_options(task, options), **usual, **names}
    if chosen.asks_help:
        return _made(task, {"task": task, "common": _common(chosen.task)}, defaults)
    groups: dict[str, Any] = {"parts": Parts}
    for part, picked in choose_parts(task, options).items():
        if picked.is_object:
            defaults |= vars(picked.make())
        # A group of options has the name of the chosen part.
        called = str(names.get(part, part)).rpartition(":")[2]
        # A user's class or function has the options of any part of its kind.
        is_own = any(item.name == "make" for item in fields(picked.options))
        kind = picked.options.__base__ if is_own else picked.options
        groups[re.sub(r"\W", "_", called)] = kind
    return _made(task, groups, defaults)


def _made(task: type[Task], groups: Mapping[str, Any], defaults: Mapping[str, Any]) -> type[Any]:
    """A dataclass with a field for each group of options that is not empty."""
    given = []
    for name, kind in groups.items():
        names = option_names(kind)
        if names:
            default = kind(**{key: value for key, value in defaults.items() if key in names})
            given.append((name, kind, field(default=default)))
    made = make_dataclass(f"{task.__name__}Options", given, frozen=True)
    made.__doc__ = getdoc(task)
    return made


def _common(task: str) -> type[Any]:
    """The options that most runs set."""
    usual: dict[str, Any] = {part: kind.usual for part, kind in CHOICES.items()}
    usual |= {item.name: item.default for kind in FIXED.values() for item in fields(kind)}
    usual["parameters"] = PARAMETERS
    common = make_dataclass(
        "Common", [(name, kind, usual[name]) for name, kind in COMMON.items()], frozen=True
    )
    common.__doc__ = (
        "The options that most runs set. --help-all shows every option of the chosen parts, "
        f"and `pdai train {task} --dynamics gru --help-all` those of a GRU."
    )
    return common


def task_options(task: str, how: type[Any]) -> type[Any]:
    """The class of the options of a problem, and of those of a command, as `task` and `how`."""
    return _made(TASKS[task], {"task": TASKS[task], "how": how}, {})


def tasks_union(task: str, kind: type[Any], shown: Sequence[str] = tuple(TASKS)) -> tuple[Any, Any]:
    """The default of the chosen task, and all tasks as subcommands: the others by name alone."""
    # The same object as the field's default: tyro then need not compare it with every task.
    default = kind()
    union: list[Any] = []
    for name in shown:
        about = getdoc(TASKS[name]) or ""
        if name == task:
            shape = tyro.conf.subcommand(name, default=default, description=about)
            union.append(Annotated[kind, shape])
        else:
            # Other options are in the help of the task.
            about = about.partition("\n\n")[0]
            other = make_dataclass(f"{name}_", [], frozen=True)
            other.__doc__ = about
            union.append(Annotated[other, tyro.conf.subcommand(name, description=about)])
    return default, Union[tuple(union)]  # noqa: UP007  (of a computed tuple)


def config_of(options: Any, task: str, without: Sequence[str] = ()) -> TrainConfig:
    """The configuration that parsed options of a task make, without some of their fields."""
    groups = [getattr(options, part.name) for part in fields(options) if part.name not in without]
    flat = {item.name: getattr(group, item.name) for group in groups for item in fields(group)}
    return configure(task, **flat)
