"""The parts of a run that are chosen by name: dynamics, loss, backward policy and replay.

A part is one file with its options and the code that they build. These tables name all of them. A
module is imported when its part is chosen, so listing the names takes no JAX.
"""

import dataclasses
import importlib
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from reference.errors import InputError, nearest
from reference.loading import load_object, name_of


class Entry(NamedTuple):
    """A built-in part.

    Attributes:
        target: `module:Class` of its options.
        summary: the first line of the docstring of that class, without its period.
        defaults: options of a run, by name, whose defaults differ with this part.
    """

    target: str
    summary: str
    defaults: Mapping[str, Any] = MappingProxyType({})


class Kind(Mapping[str, type[Any]]):
    """The built-in parts of one kind by name: `kind[name]` imports the class of its options.

    Attributes:
        base: `module:Class` from which the options of every part derive.
        usual: the name that is chosen by default.
        entries: the parts.
        own: `module:Class` of the options of a user's class or function; "" if these have to derive
            from the base themselves.
    """

    def __init__(self, base: str, usual: str, entries: dict[str, Entry], own: str = ""):
        self.base, self.usual, self.entries, self.own = base, usual, entries, own

    def __getitem__(self, name: str) -> type[Any]:
        options: type[Any] = _imported(self.entries[name].target)
        return options

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def entry_of(self, choice: Any) -> tuple[str, Entry] | None:
        """Name and entry of a part by its name or its class; None for the user's own."""
        if isinstance(choice, str):
            return (choice, self.entries[choice]) if choice in self.entries else None
        if not isinstance(choice, type):
            return None
        target = f"{choice.__module__}:{choice.__qualname__}"
        return next((item for item in self.entries.items() if item[1].target == target), None)


def _imported(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


DYNAMICS = Kind(
    "fast.dynamics.base:DynamicsOptions",
    "markov",
    {
        "gru": Entry("fast.dynamics.gru:GRUOptions", "A gated recurrent unit"),
        "lstm": Entry("fast.dynamics.lstm:LSTMOptions", "A long short-term memory"),
        "rnn": Entry("fast.dynamics.rnn:RNNOptions", "The plain recurrence"),
        "srwm": Entry(
            "fast.dynamics.srwm:SRWMOptions",
            "The self-referential weight matrix with a rotation (eq:ASRWM)",
        ),
        "self-referential": Entry(
            "fast.dynamics.self_reference:SelfReferentialOptions",
            "The self-referential weight matrix of Irie et al. (2022)",
        ),
        "mingru": Entry(
            "fast.dynamics.min_gru:MinGRUOptions",
            "A gated recurrent unit whose gates read the state alone",
        ),
        "linear": Entry(
            "fast.dynamics.linear:LinearOptions",
            "The linear recurrence of prop:lines (eq:linear_rec)",
        ),
        "markov": Entry("fast.dynamics.markov:MarkovOptions", "No latent"),
        "linear-markov": Entry(
            "fast.dynamics.linear:LinearMarkovOptions", "The linear policy without its memory"
        ),
        "temporal-gcn": Entry(
            "fast.dynamics.graph_networks:TemporalGCNOptions",
            "The path-dependent graph network (eq:pdgraphss), on graphs",
        ),
        "gcn": Entry(
            "fast.dynamics.graph_networks:GCNOptions",
            "The Markovian graph network (eq:graphss), on graphs",
        ),
        "gaussian": Entry(
            "fast.stochastic.options:GaussianOptions",
            "A latent drawn from a normal law on every step",
            MappingProxyType({"loss": "tb", "learning_rate": 2e-3}),
        ),
        "gaussian-mean": Entry(
            "fast.stochastic.options:MeanOptions",
            "The mean of a Gaussian latent",
            MappingProxyType({"loss": "tb", "learning_rate": 2e-3}),
        ),
    },
    "fast.dynamics.own:OwnDynamics",
)
LOSSES = Kind(
    "fast.balance.loss:Loss",
    "tb",
    {
        "tb": Entry("fast.balance.losses:TrajectoryBalance", "Trajectory balance (col:tb)"),
        "log_variance": Entry(
            "fast.balance.losses:LogVariance", "Contrastive balance (col:cb), all pairs of a batch"
        ),
        "db": Entry("fast.balance.losses:DetailedBalance", "Detailed balance (eq:conditionsa)"),
        "subtb": Entry(
            "fast.balance.losses:SubtrajectoryBalance",
            "Subtrajectory balance (prop:lifted_balance)",
        ),
        "fm": Entry(
            "fast.balance.flow_matching:FlowMatching",
            "Flow matching (eq:conditionsa), for Markovian dynamics",
        ),
    },
)
BACKWARD = Kind(
    "fast.policies.backward:BackwardOptions",
    "uniform",
    {
        "uniform": Entry("fast.policies.backward:UniformOptions", "Uniform over the parents"),
        "learned": Entry("fast.policies.backward:LearnedOptions", "Learned from the state"),
        "lifted": Entry(
            "fast.policies.backward:LiftedOptions",
            "Learned from state and latent, with a mass that differs from 1",
        ),
    },
    "fast.policies.backward:OwnBackward",
)
REPLAYS = Kind(
    "fast.sampling.replay:NoReplay",
    "none",
    {
        "none": Entry("fast.sampling.replay:NoReplay", "No replay"),
        "uniform": Entry(
            "fast.sampling.replay:UniformReplay",
            "Part of each batch is drawn backwards from remembered states, chosen uniformly",
        ),
        "reward": Entry(
            "fast.sampling.replay:RewardReplay",
            "Part of each batch is drawn backwards from remembered states, in proportion to R",
        ),
    },
)
CHOICES = {"dynamics": DYNAMICS, "loss": LOSSES, "p_b": BACKWARD, "replay": REPLAYS}


class Made:
    """Stands for the class of a part that is given as an object: its options are the defaults."""

    def __init__(self, part: Any):
        self.part = part
        self.kind = type(part)

    def __call__(self, **changes: Any) -> Any:
        """The object, with some options changed."""
        return dataclasses.replace(self.part, **changes)


class Factory:
    """Stands for the class of a part that the user's class or function makes."""

    def __init__(self, kind: Any, make: Callable[..., Any]):
        self.kind = kind
        self.make = make

    def __call__(self, **options: Any) -> Any:
        """The part with options."""
        return self.kind(make=self.make, **options)


def check_name(part: str, name: str) -> None:
    """Refuses a name that is neither a built-in part nor `module:Name`.

    Raises:
        InputError: if it is neither.
    """
    kind = CHOICES[part]
    if name not in kind and ":" not in name:
        raise InputError(
            f"{part} is {name!r}, but must be one of {', '.join(map(repr, kind))}, or "
            f"module:Name for one of your own{nearest(name, kind)}"
        )


def part_class(part: str, choice: Any) -> Any:
    """The class or factory that a choice stands for.

    Args:
        part: one of `CHOICES`.
        choice: a built-in name, `module:Name`, a class, an instance, or a function that makes one.

    Raises:
        InputError: if there is none of that name.
    """
    kind = CHOICES[part]
    if isinstance(choice, str):
        check_name(part, choice)
        if choice in kind:
            return kind[choice]
        example = "my_module:MyLoss" if part == "loss" else "my_module:Mine"
        choice = load_object(choice, part, example)
    base = _imported(kind.base)
    if isinstance(choice, base):
        return Made(choice)
    if isinstance(choice, type) and issubclass(choice, base):
        return choice
    if kind.own and callable(choice):
        return Factory(_imported(kind.own), choice)
    raise InputError(
        f"{part} is {choice!r}, but must be a {base.__name__}: derive from {base.__module__}."
        f"{base.__name__}"
    )


def option_names(kind: Any) -> set[str]:
    """The names of a part's options."""
    fields = dataclasses.fields(kind if isinstance(kind, type) else kind.kind)
    return {field.name for field in fields} - {"make"}


def own_part(part: str, chosen: Any) -> Any:
    """The user's class or function of a part; None for a built-in one."""
    if CHOICES[part].entry_of(type(chosen)):
        return None
    return getattr(chosen, "make", type(chosen))


def name_of_part(part: str, chosen: Any) -> str:
    """The name by which a part is chosen: a built-in one, or `module:Name`."""
    built_in = CHOICES[part].entry_of(type(chosen))
    return built_in[0] if built_in else name_of(own_part(part, chosen))
