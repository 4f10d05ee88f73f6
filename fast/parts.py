"""The parts of a run that are chosen by name: dynamics, loss, backward policy and replay.

A part is one file with its options and the code that they build. Its row in a table here names the
class of its options. A module is imported when its part is chosen, so listing the names takes no
JAX.
"""

import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from reference.contract.errors import InputError, build, nearest
from reference.contract.loading import load_object, name_of


class Entry(NamedTuple):
    """A built-in part: `module:Class` of its options, below `fast`, and how their docstring begins.

    A test compares the tables with the classes of the package.
    """

    target: str
    summary: str


class Kind(Mapping[str, type[Any]]):
    """The built-in parts of one kind by name: `kind[name]` imports the class of its options.

    Attributes:
        base: `module:Class` below `fast` from which the options of every part derive.
        own: `module:Class` of the options around a user's class or function; "" if a user's options
            must derive from the base.
        usual: the name that is chosen by default.
        entries: the parts, in the order of their names.
    """

    def __init__(self, base: str, own: str, usual: str, entries: dict[str, Entry]):
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


DYNAMICS = Kind(
    "dynamics.base:DynamicsOptions",
    "dynamics.own:OwnDynamics",
    "markov",
    {
        "attention": Entry(
            "dynamics.attention:AttentionOptions", "Causal attention to all states so far"
        ),
        "gaussian": Entry(
            "stochastic.options:GaussianOptions",
            "A latent drawn anew on every step from a normal law, at first from a mixture of them",
        ),
        "gaussian-mean": Entry("stochastic.options:MeanOptions", "The mean of a Gaussian latent"),
        "gcn": Entry(
            "dynamics.graph_networks:GCNOptions", "The Markovian network on graphs (eq:graphss)"
        ),
        "gru": Entry("dynamics.cells:GRUOptions", "A gated recurrent unit"),
        "linear": Entry(
            "dynamics.linear:LinearOptions",
            "The linear recurrence (eq:linear_rec) of prop:lines, whose read-outs are the logits",
        ),
        "linear-markov": Entry(
            "dynamics.linear:LinearMarkovOptions",
            "The linear policy without its memory (prop:lines)",
        ),
        "lstm": Entry("dynamics.cells:LSTMOptions", "A long short-term memory"),
        "markov": Entry("dynamics.markov:MarkovOptions", "No latent"),
        "markov-block": Entry(
            "dynamics.residual:MarkovBlockOptions",
            "No latent, but a residual, normalised block between the state and the head",
        ),
        "mingru": Entry("dynamics.cells:MinGRUOptions", "A GRU whose gates read the state alone"),
        "rnn": Entry("dynamics.cells:RNNOptions", "The plain recurrence"),
        "self-referential": Entry(
            "dynamics.self_reference:SelfReferentialOptions",
            "The matrix of Irie et al. (2022), which makes its own gates",
        ),
        "srwm": Entry("dynamics.srwm:SRWMOptions", "The paper's fast-weight matrix (eq:ASRWM)"),
        "temporal-gcn": Entry(
            "dynamics.graph_networks:TemporalGCNOptions",
            "The path-dependent network on graphs (eq:pdgraphss)",
        ),
    },
)
LOSSES = Kind(
    "balance.loss:Loss",
    "",
    "tb",
    {
        "db": Entry("balance.losses:DetailedBalance", "Detailed balance (eq:conditionsa)"),
        "fm": Entry(
            "balance.flow_matching:FlowMatching",
            "Flow matching, for Markovian dynamics (eq:conditionsa)",
        ),
        "log_variance": Entry(
            "balance.losses:LogVariance", "Contrastive balance (col:cb), all pairs of a batch"
        ),
        "subtb": Entry(
            "balance.losses:SubtrajectoryBalance", "Subtrajectory balance (prop:lifted_balance)"
        ),
        "tb": Entry("balance.losses:TrajectoryBalance", "Trajectory balance (col:tb)"),
    },
)
BACKWARD = Kind(
    "policies.backward:BackwardOptions",
    "policies.backward:OwnBackward",
    "uniform",
    {
        "learned": Entry(
            "policies.backward:LearnedOptions",
            "Learned from the state, by a network with the hidden layers of the head",
        ),
        "lifted": Entry(
            "policies.backward:LiftedOptions",
            "Learned from state and latent, with a mass that differs from 1",
        ),
        "uniform": Entry("policies.backward:UniformOptions", "Uniform over the parents"),
    },
)
REPLAYS = Kind(
    "sampling.replay:NoReplay",
    "",
    "none",
    {
        "annealed": Entry(
            "sampling.replay:AnnealedReplay",
            "Part of each batch is drawn backwards from remembered states, weighted for R^beta now",
        ),
        "none": Entry("sampling.replay:NoReplay", "No replay"),
        "reward": Entry(
            "sampling.replay:RewardReplay",
            "Part of each batch is drawn backwards from remembered states, in proportion to R",
        ),
        "uniform": Entry(
            "sampling.replay:UniformReplay",
            "Part of each batch is drawn backwards from remembered states, chosen uniformly",
        ),
    },
)
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


def check_name(part: str, name: str) -> None:
    """Refuses a name that is neither a built-in part nor `module:Name`."""
    kind = CHOICES[part]
    if name not in kind and ":" not in name:
        raise InputError(
            f"{part} is {name!r}, but must be one of {', '.join(map(repr, kind))}, or "
            f"module:Name for one of your own{nearest(name, kind)}"
        )


def make_part(part: str, choice: Any, usual: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    """The part that a choice names, with the options that it declares.

    Args:
        part: the kind of part.
        choice: a built-in name, `module:Name`, a class of options, an instance of one, which has no
            other defaults than its own, or a user's class or function that makes the part.
        usual: defaults by name; some may be of other parts.
        options: options by name; some may be of other parts.

    Raises:
        InputError: if the choice is not one of these, or an option breaks a rule.
    """
    kind = CHOICES[part]
    if isinstance(choice, str):
        check_name(part, choice)
        example = "my_module:MyLoss" if part == "loss" else "my_module:Mine"
        choice = kind[choice] if choice in kind else load_object(choice, part, example)
    base, values = _imported(kind.base), {**usual, **options}
    if isinstance(choice, base):
        return with_options(choice, options)
    if isinstance(choice, type) and issubclass(choice, base):
        return with_options(choice, values)
    if kind.own and callable(choice):
        own: Any = _imported(kind.own)
        return with_options(own, values, make=choice)
    raise InputError(
        f"{part} is {choice!r}, but must be one of {', '.join(kind)}, or a {base.__name__}: derive "
        f"from {base.__module__}.{base.__name__}"
    )


def with_options(part: Any, options: Mapping[str, Any], **fixed: Any) -> Any:
    """A part, of a class or like another one, with the options by name that it declares.

    Args:
        part: the class, or a part whose other options are kept.
        options: options by name; some may be of other parts.
        fixed: the user's class or function, as `make`, of a part that is made by one.
    """
    is_class = isinstance(part, type)
    kind, make = (part, part) if is_class else (type(part), partial(dataclasses.replace, part))
    names = option_names(kind) & options.keys()
    return build(kind, {name: options[name] for name in names}, "", partial(make, **fixed))


def option_names(options: type[Any]) -> set[str]:
    """The names of the options that a class declares."""
    return {field.name for field in dataclasses.fields(options)} - {"make"}


def options_of(part: Any) -> dict[str, Any]:
    """The options of a part, by name."""
    names = (field.name for field in dataclasses.fields(part))
    return {name: getattr(part, name) for name in names if name != "make"}


def own_part(part: str, options: Any) -> Any:
    """The user's class or function behind a part's options; None for a built-in part."""
    if CHOICES[part].name_of(type(options)) is not None:
        return None
    return getattr(options, "make", type(options))


def name_of_part(part: str, options: Any) -> str:
    """The name by which a part is chosen: a built-in one, or `module:Name`."""
    return CHOICES[part].name_of(type(options)) or name_of(own_part(part, options))
