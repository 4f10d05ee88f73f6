"""The parts of a run that are chosen by name: dynamics, loss, backward policy and replay.

A part is one file with its options and the code that they build. These tables name all of them. A
module is imported when its part is chosen, so listing the names takes no JAX.
"""

import dataclasses
import importlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from reference.errors import InputError, nearest
from reference.loading import load_object, name_of


class Entry(NamedTuple):
    """A built-in part.

    Attributes:
        target: `module:Class` of its options, below `fast`.
        summary: the beginning of the docstring of that class, for the help.
        defaults: options of a run, by name, whose defaults differ with this part.
    """

    target: str
    summary: str
    defaults: Mapping[str, Any] = MappingProxyType({})


class Kind(Mapping[str, type[Any]]):
    """The built-in parts of one kind by name: `kind[name]` imports the class of its options.

    Attributes:
        base: `module:Class` below `fast` from which the options of every part derive.
        own: `module:Class` of the options around a user's class or function; "" if a user's options
            must derive from the base.
        usual: the name that is chosen by default.
        entries: the parts.
    """

    def __init__(self, base: str, own: str, usual: str, entries: Mapping[str, Entry]):
        self.base, self.own, self.usual, self.entries = base, own, usual, entries

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


GAUSSIAN = MappingProxyType({"loss": "tb", "learning_rate": 2e-3})
DYNAMICS = Kind(
    "dynamics.base:DynamicsOptions",
    "dynamics.own:OwnDynamics",
    "markov",
    {
        "gru": Entry("dynamics.gru:GRUOptions", "A gated recurrent unit"),
        "lstm": Entry("dynamics.lstm:LSTMOptions", "A long short-term memory"),
        "rnn": Entry("dynamics.rnn:RNNOptions", "The plain recurrence"),
        "srwm": Entry("dynamics.srwm:SRWMOptions", "The paper's fast-weight matrix (eq:ASRWM)"),
        "self-referential": Entry(
            "dynamics.self_reference:SelfReferentialOptions", "The matrix of Irie et al. (2022)"
        ),
        "mingru": Entry("dynamics.min_gru:MinGRUOptions", "A GRU whose gates read the state alone"),
        "linear": Entry("dynamics.linear:LinearOptions", "The linear recurrence (eq:linear_rec)"),
        "markov": Entry("dynamics.markov:MarkovOptions", "No latent"),
        "linear-markov": Entry(
            "dynamics.linear:LinearMarkovOptions", "The linear policy without its memory"
        ),
        "temporal-gcn": Entry(
            "dynamics.graph_networks:TemporalGCNOptions",
            "The path-dependent network on graphs (eq:pdgraphss)",
        ),
        "gcn": Entry(
            "dynamics.graph_networks:GCNOptions", "The Markovian network on graphs (eq:graphss)"
        ),
        "gaussian": Entry(
            "stochastic.options:GaussianOptions", "A latent drawn anew on every step", GAUSSIAN
        ),
        "gaussian-mean": Entry(
            "stochastic.options:MeanOptions", "The mean of a Gaussian latent", GAUSSIAN
        ),
    },
)
LOSSES = Kind(
    "balance.loss:Loss",
    "",
    "tb",
    {
        "tb": Entry("balance.losses:TrajectoryBalance", "Trajectory balance (col:tb)"),
        "log_variance": Entry("balance.losses:LogVariance", "Contrastive balance (col:cb)"),
        "db": Entry("balance.losses:DetailedBalance", "Detailed balance (eq:conditionsa)"),
        "subtb": Entry("balance.losses:SubtrajectoryBalance", "Subtrajectory balance"),
        "fm": Entry("balance.flow_matching:FlowMatching", "Flow matching, for Markovian dynamics"),
    },
)
BACKWARD = Kind(
    "policies.backward:BackwardOptions",
    "policies.backward:OwnBackward",
    "uniform",
    {
        "uniform": Entry("policies.backward:UniformOptions", "Uniform over the parents"),
        "learned": Entry("policies.backward:LearnedOptions", "Learned from the state"),
        "lifted": Entry(
            "policies.backward:LiftedOptions",
            "Learned from state and latent, with a mass that differs from 1",
        ),
    },
)
REPLAYS = Kind(
    "sampling.replay:NoReplay",
    "",
    "none",
    {
        "none": Entry("sampling.replay:NoReplay", "No replay"),
        "uniform": Entry(
            "sampling.replay:UniformReplay",
            "Part of each batch is drawn backwards from remembered states, chosen uniformly",
        ),
        "reward": Entry(
            "sampling.replay:RewardReplay",
            "Part of each batch is drawn backwards from remembered states, in proportion to R",
        ),
    },
)
CHOICES = {"dynamics": DYNAMICS, "loss": LOSSES, "p_b": BACKWARD, "replay": REPLAYS}


class Chosen(NamedTuple):
    """A chosen part, before it has its options.

    Attributes:
        options: the class of its options.
        make: makes the part from options by name.
        is_object: whether it was given as an object, whose options are the defaults then.
    """

    options: type[Any]
    make: Callable[..., Any]
    is_object: bool = False


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


def choose(part: str, choice: Any) -> Chosen:
    """The part that a choice names.

    Args:
        part: one of `CHOICES`.
        choice: a built-in name, `module:Name`, a class of options, an instance of one, or a user's
            class or function that makes the part.

    Raises:
        InputError: if the choice is not one of these.
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
