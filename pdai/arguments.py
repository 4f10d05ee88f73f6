"""The options of a training on the command line: those of the parts that are chosen, in groups.

Which dynamics, loss, backward policy and replay are chosen decides which options there are. So the
command line is read twice: first for those choices and the task, then for all that they offer.
Imports no JAX.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from inspect import getdoc
from typing import Annotated, Any, Union

import tyro

from fast.dynamics.options import CellOptions
from fast.policies.options import BackwardOptions
from fast.tasks import TASKS, Task
from fast.tasks.options import check_options
from fast.training.compose import configure
from fast.training.config import TrainConfig
from fast.training.parts import (
    CHOICES,
    FIXED,
    option_names,
    part_class,
    refuse_unknown,
    usual_options,
)


@dataclass(frozen=True)
class Parts:
    """What a run is made of. Each part has options of its own, below; choose it to see them."""

    dynamics: str = "gru"
    """gru, mingru (gates that read the state alone), lstm, rnn, srwm (the paper's, eq:ASRWM),
    self-referential (Irie et al.) and linear (eq:linear_rec) are path-dependent, markov has no
    latent; linear-markov is linear without its memory (prop:lines); on graphs also temporal-gcn
    (eq:pdgraphss) and gcn (eq:graphss), its Markovian twin; gaussian draws a latent anew on every
    step, gaussian-mean is the same without its noise; or MODULE:NAME."""
    loss: str = "tb"
    """tb: trajectory balance; log_variance: contrastive balance; db: detailed balance; subtb:
    subtrajectory balance; fm: flow matching (Markovian dynamics only); or MODULE:NAME."""
    p_b: str = "uniform"
    """Backward policy: uniform over parents; learned from the state; lifted: learned from state and
    latent, its mass reported; or MODULE:NAME."""
    replay: str = "none"
    """Draw part of each batch backwards from terminal states met before: uniform, or in proportion
    to their reward; or none."""

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class Scanned:
    """What the command line chooses: a task, and parts by name."""

    task: str
    choices: Mapping[str, str]


def scan(arguments: Sequence[str], usual: str) -> Scanned:
    """The task and the parts that a command line chooses.

    Args:
        arguments: after the command.
        usual: the task if none is named.

    Raises:
        InputError: if it has an option of a part that is not chosen.
    """
    words = list(arguments)
    task = next((word for word in words if word in TASKS), usual)
    choices = {}
    for part in CHOICES:
        flags = {f"--{part}", f"--{part.replace('_', '-')}"}
        for number, word in enumerate(words):
            flag, equals, value = word.partition("=")
            if flag in flags and (equals or number + 1 < len(words)):
                choices[part] = value if equals else words[number + 1]
    named = {word.partition("=")[0].removeprefix("--") for word in words if word.startswith("--")}
    names = {name.replace("-", "_") for name in named}
    refuse_unknown(names | {name.removeprefix("no_") for name in names}, TASKS[task], choices)
    return Scanned(task, choices)


def options_class(
    task: type[Task], choices: Mapping[str, str], usual: Mapping[str, Any]
) -> type[Any]:
    """The options of a run, a field for each part that has some.

    Args:
        task: the task.
        choices: parts by name, as scanned.
        usual: options that differ from the defaults of the task.
    """
    defaults = {**usual_options(task, choices), **usual}
    chosen = {
        part: choices.get(part, defaults.get(part, name)) for part, (_, _, name) in CHOICES.items()
    }
    kinds = {part: _shown(part_class(part, name), part) for part, name in chosen.items()}
    parts: dict[str, type] = {"parts": Parts, "task": task, **kinds, **FIXED}
    fields = []
    for name, kind in parts.items():
        names = option_names(kind)
        if not names:
            continue
        values = {**defaults, **(chosen if kind is Parts else {})}
        default = kind(**{key: value for key, value in values.items() if key in names})
        # A group of options is called by the name of what is chosen.
        called = chosen[name].rpartition(":")[2] if name in CHOICES else name
        fields.append((re.sub(r"\W", "_", called), kind, field(default=default)))
    made = make_dataclass(f"{task.__name__}Options", fields, frozen=True)
    made.__doc__ = getdoc(task)
    return made


def _shown(kind: Any, part: str) -> type:
    """The class whose options are shown: of what a user's factory makes, those of any such part."""
    if isinstance(kind, type):
        return kind
    shown: dict[str, type] = {"dynamics": CellOptions, "p_b": BackwardOptions}
    return shown[part]


def tasks_union(
    chosen: Scanned, kind: type[Any], shown: Sequence[str] = tuple(TASKS)
) -> tuple[Any, Any]:
    """The tasks as subcommands: the chosen one with its options, the others by name.

    Returns:
        The chosen one's default, and the type of all.

    Args:
        chosen: the task.
        kind: its options.
        shown: the tasks that there are.
    """
    # The same object as the field's default: tyro then need not compare it with every task.
    default = kind()
    found: list[Any] = []
    for name in shown:
        about = getdoc(TASKS[name]) or ""
        if name == chosen.task:
            shape = tyro.conf.subcommand(name, default=default, description=about)
            found.append(Annotated[kind, shape])
        else:
            # The rest is in its own help.
            about = about.partition("\n\n")[0]
            other = make_dataclass(f"{name}_", [], frozen=True)
            other.__doc__ = about
            found.append(Annotated[other, tyro.conf.subcommand(name, description=about)])
    return default, Union[tuple(found)]  # noqa: UP007  (of a computed tuple)


def config_of(options: Any, task: str, without: Sequence[str] = ()) -> TrainConfig:
    """The configuration that parsed options make.

    Args:
        options: what the class of `options_class` holds.
        task: its task.
        without: fields that are none of the configuration.
    """
    flat = {
        item.name: getattr(group, item.name)
        for group in (
            getattr(options, part.name)
            for part in dataclasses.fields(options)
            if part.name not in without
        )
        for item in dataclasses.fields(group)
    }
    return configure(task, **flat)
