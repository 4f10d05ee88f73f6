"""Configurations from options by name, as the command line, a `config.json` and Python give them.

Options have one name wherever they stand, so a configuration is a flat mapping: the name of its
task, those of the parts that are chosen by name (`dynamics`, `loss`, `p_b`, `replay`), and the
options of all of them. An option belongs to the part that declares it. Imports no JAX.
"""

import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from fast.balance.loss import Loss
from fast.balance.options import LOSSES
from fast.dynamics.options import DYNAMICS, DynamicsOptions, OwnDynamics
from fast.policies.options import BACKWARD, BackwardOptions, OwnBackward
from fast.runs.options import RunOptions
from fast.sampling.options import REPLAYS, NoReplay, SamplingOptions
from fast.tasks import TASKS, Task
from fast.tasks.options import build
from fast.training.config import TrainConfig
from fast.training.factors import Factors
from fast.training.optimiser import OptimiserOptions
from reference.errors import InputError
from reference.loading import load_object, name_of

Config = TypeVar("Config", bound=TrainConfig)

FORMAT = 4

# The parts that are chosen by name, their classes by name, and the name chosen by default.
CHOICES: dict[str, tuple[Mapping[str, type], type, str]] = {
    "dynamics": (DYNAMICS, DynamicsOptions, "gru"),
    "loss": (LOSSES, Loss, "tb"),
    "p_b": (BACKWARD, BackwardOptions, "uniform"),
    "replay": (REPLAYS, NoReplay, "none"),
}
FIXED: dict[str, type] = {
    "sampling": SamplingOptions,
    "optimiser": OptimiserOptions,
    "run": RunOptions,
    "factors": Factors,
}
# How an own part is made of a class or function that is no class of options.
OWN: dict[str, Callable[..., Any]] = {"dynamics": OwnDynamics, "p_b": OwnBackward}


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
    classes = part_classes(owner, options)
    defaults = owner.defaults
    parts, used = {}, set(CHOICES)
    for part, kind in classes.items():
        names = option_names(kind)
        used |= names
        # What is given as an object is not asked for the defaults of a task.
        usual = {} if isinstance(kind, _Made) else defaults
        values = {name: value for name, value in usual.items() if name in names}
        values |= {name: value for name, value in options.items() if name in names}
        parts[part] = build(kind, values, source)
    for name in options.keys() - used:
        told = f"{name} is {options[name]!r}"
        raise InputError(_prefixed(source, _unknown(told, name, owner, options)))
    return TrainConfig(**parts)


def part_classes(owner: type[Task], options: Mapping[str, Any]) -> dict[str, Any]:
    """The class, or factory, of every part, as the options choose them.

    Raises:
        InputError: if one is chosen by a name that is not known.
    """
    chosen = {
        part: part_class(part, options.get(part, owner.defaults.get(part, usual)))
        for part, (_, _, usual) in CHOICES.items()
    }
    return {"task": owner, **chosen, **FIXED}


def part_class(part: str, choice: Any) -> Any:
    """The class or factory that a choice stands for.

    Args:
        part: one of `CHOICES`.
        choice: a known name, `module:Name`, a class, an instance, or what an own part is made by.

    Raises:
        InputError: if there is none of that name.
    """
    known, base, _ = CHOICES[part]
    if isinstance(choice, str):
        if choice in known:
            return known[choice]
        if ":" not in choice:
            raise InputError(
                f"{part} is {choice!r}, but must be one of {', '.join(map(repr, known))}, or "
                "module:Name for one of your own"
            )
        choice = load_object(
            choice, part, "my_module:MyLoss" if part == "loss" else "my_module:Mine"
        )
    if isinstance(choice, base):
        return _Made(choice)
    if isinstance(choice, type) and issubclass(choice, base):
        return choice
    if part in OWN and callable(choice):
        return _Factory(OWN[part], choice)
    raise InputError(
        f"{part} is {choice!r}, but must be a {base.__name__}: derive from {base.__module__}."
        f"{base.__name__}"
    )


class _Made:
    """Stands for the class of a part that is given as an object: its options are what they are."""

    def __init__(self, part: Any):
        self.part = part
        self.kind = type(part)

    def __call__(self, **changes: Any) -> Any:
        return dataclasses.replace(self.part, **changes)


class _Factory:
    """Stands for the class of a part that the user's class or function makes."""

    def __init__(self, kind: Any, make: Callable[..., Any]):
        self.kind = kind
        self.make = make

    def __call__(self, **options: Any) -> Any:
        return self.kind(make=self.make, **options)


def option_names(kind: Any) -> set[str]:
    """The names of a part's options."""
    fields = dataclasses.fields(kind if isinstance(kind, type) else kind.kind)
    return {field.name for field in fields} - {"make"}


def name_of_part(part: str, chosen: Any) -> str:
    """The name by which a part is chosen: a known one, or `module:Name`."""
    known, _, _ = CHOICES[part]
    for name, kind in known.items():
        if type(chosen) is kind:
            return name
    return name_of(getattr(chosen, "make", type(chosen)))


def own_parts(config: TrainConfig) -> dict[str, Any]:
    """What of a configuration is the user's own: classes and functions by part."""
    found = {}
    for part, (known, _, _) in CHOICES.items():
        chosen = getattr(config, part)
        if type(chosen) not in known.values():
            found[part] = getattr(chosen, "make", type(chosen))
    return found


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
    plain = {
        name: [str(x) if isinstance(x, Path) else x for x in value]
        if isinstance(value, tuple)
        else str(value)
        if isinstance(value, Path)
        else value
        for name, value in flat.items()
    }
    return {"format": FORMAT, **plain}


def from_json(data: Mapping[str, Any], source: str) -> TrainConfig:
    """The configuration that `to_json` wrote.

    Raises:
        InputError: if it is of another format, or its options are not those of its parts, or of
            other types, or of no meaning.
    """
    values = dict(data)
    if "stochastic_format" in values:
        raise InputError(
            f"{source} is of a run with a random latent, which `pdai stochastic` continues and "
            "reports, and no other command reads"
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
    missing, unknown = wanted - set(values) - {"out"}, set(values) - allowed
    if missing or unknown or "out" in values:
        raise InputError(
            f"{source} has the wrong fields: missing {sorted(missing)}, unknown {sorted(unknown)}; "
            "use the version that wrote it, or train again"
        )
    return configure(owner, source, **values)


def _task_class(name: Any, source: str) -> type[Task]:
    if not isinstance(name, str) or name not in TASKS:
        raise InputError(_prefixed(source, f"the task is {name!r}, but known are {sorted(TASKS)}"))
    return TASKS[name]


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
    offered = {name for kind in kinds for name in option_names(kind)}
    of_parts = {
        name
        for known, _, _ in CHOICES.values()
        for kind in known.values()
        for name in option_names(kind)
    }
    for name in sorted(set(names) & of_parts - offered):
        raise InputError(_unknown(name, name, owner, options))


def _unknown(told: str, name: str, owner: type[Task], options: Mapping[str, Any]) -> str:
    """Why an option is refused: it belongs to what is not chosen, or to nothing."""
    for part, (known, _, usual) in CHOICES.items():
        owners = [choice for choice, kind in known.items() if name in option_names(kind)]
        if owners:
            chosen = options.get(part, owner.defaults.get(part, usual))
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


def _prefixed(source: str, message: str) -> str:
    return f"{source}: {message}" if source else message


def source_of(own: Any) -> str | None:
    """The source text of a class or function; None if it has none, as of a shell."""
    try:
        return inspect.getsource(own)
    except (OSError, TypeError):
        return None
