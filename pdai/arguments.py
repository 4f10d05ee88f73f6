"""The options of a training on the command line: the options of the chosen parts, in groups.

The chosen dynamics, loss, backward policy and replay determine the options. So the command
line is read twice: first for the task and these choices, then for all options. `--help` needs the
first reading alone, and imports no JAX.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, fields, make_dataclass, replace
from inspect import getdoc
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Union

import tyro

from fast.parts import CHOICES, check_name, options_of, with_options
from fast.tasks import TASKS, Task
from fast.training.compose import (
    FIXED,
    NONE,
    TrainConfig,
    parts_of,
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
    """The problem that a command line chooses, and the parts that it chooses, by default options.

    With `--help` no part is looked up: `parts` is empty.
    """

    task: str
    names: Mapping[str, Any]
    parts: Mapping[str, Any]


def scan(arguments: Sequence[str], task: str, usual: Mapping[str, Mapping[str, Any]]) -> Scanned:
    """The task and the parts that the arguments after a command choose.

    Args:
        arguments: the words after the name of the command.
        task: the task if they name none.
        usual: options by task that differ from the defaults of the task.

    Raises:
        InputError: if there is an option of a part that is not chosen.
    """
    task = next((word for word in arguments if word in TASKS), task)
    values, defaults = flag_values(arguments), usual.get(task, {})
    chosen = {part: values[part] for part in CHOICES if values.get(part, MISSING) != MISSING}
    for part, name in chosen.items():
        check_name(part, name)
    names = {**defaults, **usual_options(TASKS[task], {**defaults, **chosen}), **defaults, **chosen}
    if not HELP.isdisjoint(arguments):
        return Scanned(task, names, {})
    parts = parts_of(TASKS[task], chosen, defaults)
    refuse_misplaced({name.removeprefix("no_") for name in values} | values.keys(), parts)
    return Scanned(task, names, parts)


def options_class(chosen: Scanned, first: Mapping[str, Any] = NONE) -> type[Any]:
    """The class of the options of a run: the parts of a `TrainConfig`, and a method that makes it.

    Parts without options are left out. With `--help`, only the common options are fields. `first`
    has groups of options that are not of the run, by name.
    """
    task = TASKS[chosen.task]
    if not chosen.parts:
        common = {"task": with_options(task, chosen.names), "common": _common(chosen)}
        return _made(task, {**first, **common})
    groups = {**first, "chosen": with_options(Parts, chosen.names)}
    groups |= {part: _readable(options) for part, options in chosen.parts.items()}

    def config(self: Any) -> TrainConfig:
        """The configuration of the options that were parsed."""
        parts = {
            part: replace(usual, **vars(getattr(self, part))) if hasattr(self, part) else usual
            for part, usual in chosen.parts.items()
        }
        return TrainConfig(**parts)

    return _made(task, groups, {"config": config})


def _readable(part: Any) -> Any:
    """The options of a part; a user's class or function has those of any part of its kind."""
    is_own = any(item.name == "make" for item in fields(part))
    base: Any = type(part).__base__
    return with_options(base, options_of(part)) if is_own else part


def _made(
    task: type[Task], groups: Mapping[str, Any], methods: Mapping[str, Any] = NONE
) -> type[Any]:
    """A dataclass with a field for each group of options that is not empty, by its default."""
    filled = [
        (name, type(options), field(default=options))
        for name, options in groups.items()
        if fields(options)
    ]
    name = f"{task.__name__}Options"
    options = make_dataclass(name, filled, frozen=True, namespace=dict(methods))
    options.__doc__ = getdoc(task)
    return options


def _common(chosen: Scanned) -> Any:
    """The options that most runs set."""
    usual: dict[str, Any] = {part: kind.usual for part, kind in CHOICES.items()}
    usual |= {item.name: item.default for kind in FIXED.values() for item in fields(kind)}
    usual |= {"parameters": PARAMETERS, **chosen.names}
    common = make_dataclass(
        "Common", [(name, kind, usual[name]) for name, kind in COMMON.items()], frozen=True
    )
    common.__doc__ = (
        "The options that most runs set. --help-all shows every option of the chosen parts, "
        f"and `pdai train {chosen.task} --dynamics gru --help-all` those of a GRU."
    )
    return common()


def task_options(task: str, how: type[Any]) -> type[Any]:
    """The class of the options of a problem, and of those of a command, as `task` and `how`."""
    return _made(TASKS[task], {"task": TASKS[task](), "how": how()})


def tasks_union(task: str, kind: type[Any], shown: Sequence[str] = tuple(TASKS)) -> tuple[Any, Any]:
    """The default of the chosen task, and all tasks as subcommands: the others by name alone.

    Args:
        task: the name of the chosen task.
        kind: the class of its options.
        shown: the names of all tasks.
    """
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
