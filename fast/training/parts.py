"""The parts of a run: which there are, by name, and which options each has. Imports no JAX."""

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from fast.balance.loss import Loss
from fast.balance.options import LOSSES
from fast.dynamics.options import DYNAMICS, DynamicsOptions, OwnDynamics
from fast.policies.options import BACKWARD, BackwardOptions, OwnBackward
from fast.runs.options import RunOptions
from fast.sampling.options import REPLAYS, NoReplay, SamplingOptions
from fast.stochastic.options import LATENTS
from fast.tasks import TASKS, Task
from fast.training.factors import Factors
from fast.training.optimiser import OptimiserOptions
from reference.errors import InputError, nearest
from reference.loading import load_object, name_of

if TYPE_CHECKING:
    from fast.training.config import TrainConfig

# The parts that are chosen by name, their classes by name, and the name chosen by default.
CHOICES: dict[str, tuple[Mapping[str, type], type, str]] = {
    "dynamics": ({**DYNAMICS, **LATENTS}, DynamicsOptions, "markov"),
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
                f"module:Name for one of your own{nearest(choice, known)}"
            )
        choice = load_object(
            choice, part, "my_module:MyLoss" if part == "loss" else "my_module:Mine"
        )
    if isinstance(choice, base):
        return Made(choice)
    if isinstance(choice, type) and issubclass(choice, base):
        return choice
    if part in OWN and callable(choice):
        return _Factory(OWN[part], choice)
    raise InputError(
        f"{part} is {choice!r}, but must be a {base.__name__}: derive from {base.__module__}."
        f"{base.__name__}"
    )


class Made:
    """Stands for the class of a part that is given as an object: its options are what they are."""

    def __init__(self, part: Any):
        self.part = part
        self.kind = type(part)

    def __call__(self, **changes: Any) -> Any:
        """The object, with some options changed."""
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


def usual_options(owner: type[Task], options: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults of a task, and over them those of the dynamics that are chosen."""
    _, _, usual = CHOICES["dynamics"]
    chosen = part_class("dynamics", options.get("dynamics", owner.defaults.get("dynamics", usual)))
    return {**owner.defaults, **getattr(chosen, "defaults", {})}


def part_classes(owner: type[Task], options: Mapping[str, Any]) -> dict[str, Any]:
    """The class, or factory, of every part, as the options choose them.

    Raises:
        InputError: if one is chosen by a name that is not known.
    """
    defaults = usual_options(owner, options)
    chosen = {
        part: part_class(part, options.get(part, defaults.get(part, usual)))
        for part, (_, _, usual) in CHOICES.items()
    }
    return {"task": owner, **chosen, **FIXED}


def name_of_part(part: str, chosen: Any) -> str:
    """The name by which a part is chosen: a known one, or `module:Name`."""
    known, _, _ = CHOICES[part]
    for name, kind in known.items():
        if type(chosen) is kind:
            return name
    return name_of(getattr(chosen, "make", type(chosen)))


def own_parts(config: "TrainConfig") -> dict[str, Any]:
    """What of a configuration is the user's own: classes and functions by part."""
    found = {}
    for part, (known, _, _) in CHOICES.items():
        chosen = getattr(config, part)
        if type(chosen) not in known.values():
            found[part] = getattr(chosen, "make", type(chosen))
    return found


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
        raise InputError(unknown_option(name, name, owner, options))


def unknown_option(told: str, name: str, owner: type[Task], options: Mapping[str, Any]) -> str:
    """Why an option is refused: it belongs to what is not chosen, or to nothing."""
    for part, (known, _, usual) in CHOICES.items():
        owners = [choice for choice, kind in known.items() if name in option_names(kind)]
        if owners:
            chosen = options.get(part, usual_options(owner, options).get(part, usual))
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
