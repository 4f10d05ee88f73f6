"""Configurations from options by name, as the command line, a `config.json` and Python give them.

Options have one name wherever they stand, so a configuration is a flat mapping: the name of its
task, those of the parts that are chosen by name (`dynamics`, `loss`, `p_b`, `replay`), and the
options of all of them. An option belongs to the part that declares it. Imports no JAX.
"""

import dataclasses
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from fast.parts import CHOICES, DYNAMICS, Made, name_of_part, option_names, part_class
from fast.tasks import TASKS, Task
from fast.tasks.options import build
from fast.training.config import TrainConfig
from fast.training.factors import Factors
from fast.training.optimiser import OptimiserOptions
from fast.training.options import RunOptions, SamplingOptions
from reference.errors import InputError, nearest

Config = TypeVar("Config", bound=TrainConfig)

FORMAT = 4
# The parts that every run has.
FIXED: dict[str, type] = {
    "sampling": SamplingOptions,
    "optimiser": OptimiserOptions,
    "run": RunOptions,
    "factors": Factors,
}


def configure(task: str | type[Task], source: str = "", **options: Any) -> TrainConfig:
    """The configuration of a task with options by name.

    Args:
        task: its name, such as "six6", or its class.
        source: where the options are from, for messages.
        options: by name; those not given have the defaults of the task.

    Raises:
        InputError: if an option is of no part that is chosen, or breaks a rule.
    """
    owner = _task_class(task, source) if isinstance(task, str) else task
    classes, defaults = part_classes(owner, options), usual_options(owner, options)
    parts, used = {}, set(CHOICES)
    for part, kind in classes.items():
        names = option_names(kind)
        used |= names
        # What is given as an object is not asked for the defaults of a task.
        usual = {} if isinstance(kind, Made) else defaults
        values = {name: value for name, value in usual.items() if name in names}
        values |= {name: value for name, value in options.items() if name in names}
        parts[part] = build(kind, values, source)
    for name in options.keys() - used:
        told = f"{name} is {options[name]!r}"
        raise InputError(_prefixed(source, unknown_option(told, name, owner, options)))
    return TrainConfig(**parts)


def to_flat(config: TrainConfig) -> dict[str, Any]:
    """The options of a configuration by name; of `factors` those that are not at their defaults."""
    flat: dict[str, Any] = {"task": config.task.name}
    flat |= {part: name_of_part(part, getattr(config, part)) for part in CHOICES}
    for part in ("task", *CHOICES, *FIXED):
        options = getattr(config, part)
        for field in dataclasses.fields(options):
            value = getattr(options, field.name)
            if field.name != "make" and (part != "factors" or value != field.default):
                flat[field.name] = value
    return flat


def change(config: Config, changes: Mapping[str, Any]) -> Config:
    """A configuration with other options; what belongs to a part that is left goes with it."""
    flat = to_flat(config)
    task = flat.pop("task")
    for part in CHOICES:
        if part in changes and changes[part] != flat[part]:
            left = option_names(type(getattr(config, part)))
            kept = option_names(part_class(part, changes[part]))
            for name in left - kept:
                flat.pop(name, None)
        elif ":" in flat[part]:
            # An object of the user's own stays the object that it is.
            flat[part] = getattr(config, part)
    found: Any = configure(task, **{**flat, **changes})
    return found  # type: ignore[no-any-return]


def to_json(config: TrainConfig) -> dict[str, Any]:
    """A configuration as plain data, without the folder it is stored in."""
    flat = to_flat(config)
    del flat["out"]
    left = unused(type(config.task), flat)
    # Of generated data, what `auto` stands for; of a user's, what is asked for is kept.
    flat = {k: v for k, v in flat.items() if k not in left} | ({} if left else config.task.facts())
    plain = {
        name: [str(x) if isinstance(x, Path) else x for x in value]
        if isinstance(value, tuple)
        else str(value)
        if isinstance(value, Path)
        else value
        for name, value in flat.items()
    }
    return {"format": FORMAT, **plain}


def unused(task: type[Task], options: Mapping[str, Any]) -> tuple[str, ...]:
    """The options of a generator, where the data are a user's: they decide nothing."""
    return task.generated if any(options.get(name) for name in task.inputs) else ()


def stored_task(options: Mapping[str, Any], folder: Path) -> Task | None:
    """The task of a run folder with its copies of the user's files; None of tasks without such.

    Args:
        options: what its config.json holds.
        folder: the run folder.
    """
    kind = TASKS.get(str(options.get("task")))
    if kind is None or not kind.inputs:
        return None
    values = {name: options[name] for name in option_names(kind) if name in options}
    copies = {option: folder / copy for option, copy in kind.inputs.items() if values.get(option)}
    return build(kind, {**values, **copies}, str(folder / "config.json"))


def from_json(data: Mapping[str, Any], source: str) -> TrainConfig:
    """The configuration that `to_json` wrote.

    Raises:
        InputError: if it is of another format, or its options are not those of its parts, or of
            other types, or of no meaning.
    """
    values = dict(data)
    if "stochastic_format" in values:
        raise InputError(
            f"{source} is of `pdai stochastic`, which is `pdai train --dynamics gaussian` now: "
            "train again, or use the version that wrote it"
        )
    version, task = values.pop("format", None), values.pop("task", None)
    if version != FORMAT:
        raise InputError(
            f"{source} has format {version!r}, but this version of pdai reads format {FORMAT}: "
            "use the version that wrote it, or train again"
        )
    owner = _task_class(task, source)
    try:
        classes = part_classes(owner, values)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    wanted = {
        name for part, kind in classes.items() if part != "factors" for name in option_names(kind)
    }
    wanted |= set(CHOICES)
    allowed = wanted | option_names(Factors)
    missing, unknown = wanted - {"out", *values, *unused(owner, values)}, set(values) - allowed
    if missing or unknown or "out" in values:
        raise InputError(
            f"{source} has the wrong fields: missing {sorted(missing)}, unknown {sorted(unknown)}; "
            "use the version that wrote it, or train again"
        )
    return configure(owner, source, **values)


def _task_class(name: Any, source: str) -> type[Task]:
    if not isinstance(name, str) or name not in TASKS:
        known = f"{sorted(TASKS)}{nearest(name, TASKS)}"
        raise InputError(_prefixed(source, f"the task is {name!r}, but known are {known}"))
    return TASKS[name]


def _prefixed(source: str, message: str) -> str:
    return f"{source}: {message}" if source else message


def usual_options(owner: type[Task], options: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults of a task, and over them those of the dynamics that are chosen."""
    chosen = options.get("dynamics", owner.defaults.get("dynamics", DYNAMICS.usual))
    built_in = DYNAMICS.entry_of(chosen)
    return {**owner.defaults, **(built_in[1].defaults if built_in else {})}


def chosen_parts(owner: type[Task], options: Mapping[str, Any]) -> dict[str, Any]:
    """What the options, or else the defaults, choose for each part: a name, class or object."""
    usual = usual_options(owner, options)
    return {part: options.get(part, usual.get(part, kind.usual)) for part, kind in CHOICES.items()}


def part_classes(owner: type[Task], options: Mapping[str, Any]) -> dict[str, Any]:
    """The class, or factory, of every part, as the options choose them.

    Raises:
        InputError: if one is chosen by a name that is not known.
    """
    chosen = chosen_parts(owner, options)
    return {
        "task": owner,
        **{part: part_class(part, choice) for part, choice in chosen.items()},
        **FIXED,
    }


def refuse_unknown(names: Collection[str], owner: type[Task], options: Mapping[str, Any]) -> None:
    """Refuses options that belong to a part which is not chosen; others are left alone.

    Args:
        names: of options.
        owner: the task.
        options: the parts that are chosen, by name.

    Raises:
        InputError: if one does, naming what it belongs to.
    """
    kinds = part_classes(owner, options).values()
    for name in sorted(set(names) - set().union(*map(option_names, kinds))):
        if any(name in option_names(kind) for known in CHOICES.values() for kind in known.values()):
            raise InputError(unknown_option(name, name, owner, options))


def unknown_option(told: str, name: str, owner: type[Task], options: Mapping[str, Any]) -> str:
    """Why an option is refused: it belongs to what is not chosen, or to nothing.

    Args:
        told: the option as the message shows it.
        name: its name.
        owner: the task.
        options: the parts that are chosen.
    """
    for part, kind in CHOICES.items():
        owners = [choice for choice, known in kind.items() if name in option_names(known)]
        if owners:
            chosen = chosen_parts(owner, options)[part]
            if not isinstance(chosen, str):
                chosen = name_of_part(part, part_class(part, chosen)())
            flag = part.replace("_", "-")
            return (
                f"{told} with {part} {chosen}, which has no such option: it is of --{flag} "
                f"{' or '.join(owners)}; choose that, or leave {name} away"
            )
    of_tasks = [task for task, kind in TASKS.items() if name in option_names(kind)]
    if of_tasks:
        return f"{name} is an option of {' and '.join(of_tasks)}, and not of {owner.name}"
    return f"there is no option {name!r}"
