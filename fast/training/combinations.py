"""Options of a run that do not go together, and those that say nothing beside another.

Imports no JAX.
"""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from fast.training.names import MARKOVIAN, ON_GRAPHS, WITHOUT_HEAD, DynamicsName, LossName
from reference.errors import InputError

if TYPE_CHECKING:
    from fast.training.config import TrainConfig


class Idle(NamedTuple):
    """Where an option changes nothing.

    Attributes:
        beside: the option that decides.
        values: its values with which nothing reads the other.
        why: what the other is, and how to use it.
    """

    beside: str
    values: tuple[str, ...]
    why: str


def _all_but(choices: Any, *used: str) -> tuple[str, ...]:
    return tuple(name for name in get_args(choices) if name not in used)


OF_SRWM = (
    "heads", "rotation", "link", "write_key", "erase", "normalize", "latent_scale", "slow_scale",
)  # fmt: skip
# Options that say nothing beside some value of another: there they must be at their defaults.
IDLE: dict[str, Idle] = {
    **dict.fromkeys(
        OF_SRWM,
        Idle(
            "dynamics",
            _all_but(DynamicsName, "srwm"),
            "it is a part of the SRWM; use --dynamics srwm",
        ),
    ),
    "activation": Idle(
        "dynamics",
        _all_but(DynamicsName, "rnn"),
        "it is of the plain recurrence; use --dynamics rnn",
    ),
    "subtb_lambda": Idle(
        "loss", _all_but(LossName, "subtb"), "it weighs subtrajectories; use --loss subtb"
    ),
    "log_z_learning_rate": Idle(
        "loss", _all_but(LossName, "tb"), "no other loss has log Z as a parameter; use --loss tb"
    ),
    "target_seed": Idle(
        "target", ("sparse",), "it draws the mixture of Laplaces; use --target laplaces"
    ),
    "peaks": Idle("target", ("laplaces",), "they are of the sparse target; use --target sparse"),
    "penalty": Idle(
        "loss", ("log_variance",), "a variance is of squares; use --loss tb, db, subtb or fm"
    ),
    **dict.fromkeys(
        ("replay_share", "replay_capacity"),
        Idle("replay", ("none",), "there is no buffer; use --replay uniform or reward"),
    ),
    "encoding": Idle(
        "problem_name",
        ("custom",),
        "networks see the number of a state, or what its method features(state) gives; write that",
    ),
}


def refuse_idle(config: Any, table: Mapping[str, Idle] = IDLE) -> None:
    """Checks that options which say nothing are left at their defaults.

    Args:
        config: a dataclass of options.
        table: which of them say nothing, and where.

    Raises:
        InputError: if one is not.
    """
    for name, default in idle(config, {}, table).items():
        if getattr(config, name) != default:
            beside, _, why = table[name]
            raise InputError(
                f"{name} is {getattr(config, name)!r} with {beside.removesuffix('_name')} "
                f"{getattr(config, beside)}, which does not read it: {why}, or leave {name} at "
                f"{default!r}"
            )


def idle(
    config: Any, changes: Mapping[str, Any], table: Mapping[str, Idle] = IDLE
) -> dict[str, Any]:
    """The options that would say nothing after some changes, and their defaults."""
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    return {
        name: defaults[name]
        for name, (beside, values, _) in table.items()
        if name in defaults and changes.get(beside, getattr(config, beside)) in values
    }


def refuse_combinations(config: "TrainConfig") -> None:
    """Checks that options go together.

    Raises:
        InputError: if they do not, with the reason.
    """
    if config.loss == "log_variance":
        config.require("batch", config.batch >= 2, "be at least 2: a variance needs two")
    if config.loss == "fm" and not config.is_markovian:
        raise InputError(
            f"loss fm with dynamics {config.dynamics}: flow matching sums over all parents of a "
            "lifted state (s, W), of which a trajectory shows one; use db, subtb, tb or "
            "log_variance, or --dynamics markov"
        )
    if config.dynamics in ON_GRAPHS and config.problem_name != "graphs":
        raise InputError(
            f"dynamics {config.dynamics} on {config.problem_name}: graph networks read graphs, so "
            "they go with the problem graphs only; use gru, lstm, rnn, srwm or markov"
        )
    if config.dynamics in ON_GRAPHS and (config.has_flow or config.p_b == "lifted"):
        raise InputError(
            f"dynamics {config.dynamics} with loss {config.loss} and p_b {config.p_b}: graph "
            "networks score edges and give no flow and no backward policy; use loss tb or "
            "log_variance, and --p-b uniform or learned"
        )
    if config.p_b == "lifted" and config.is_markovian:
        raise InputError(
            f"p_b lifted with dynamics {config.dynamics}: there is no latent to read; use "
            "--p-b learned"
        )
    if config.reset and config.dynamics in (*MARKOVIAN, *WITHOUT_HEAD):
        raise InputError(
            f"reset with dynamics {config.dynamics}: there is no latent layer to reset; use "
            "srwm, gru, lstm or rnn, or no --reset"
        )
    if config.p_b != "uniform" and config.loss == "fm":
        raise InputError("loss fm has no backward policy: leave --p-b at uniform")
    if config.replay != "none" and config.p_b == "lifted":
        raise InputError(
            "replay draws trajectories backwards, which a lifted p_b does not allow, as the "
            "latent is known forwards only: use --p-b learned or uniform, or no replay"
        )
    if config.replay != "none":
        replayed = round(config.replay_share * config.batch)
        config.require("replay_share", 0 < replayed < config.batch, "leave some of both")
    if config.replay != "none" and config.devices > 1:
        raise InputError(
            f"replay with {config.devices} devices: the buffer lives on one device; use one of "
            "the two"
        )
    if config.batch % config.devices:
        raise InputError(
            f"batch is {config.batch}, which {config.devices} devices cannot share evenly"
        )


def check_factors(config: "TrainConfig") -> None:
    """Checks which factors of the reward a run has, and what it is given for others.

    Raises:
        InputError: if they do not fit together.
    """
    inside = set(config.factors) <= set(range(config.parts))
    config.require(
        "factors",
        inside and len(set(config.factors)) == len(config.factors),
        f"be different numbers from 0 to {config.parts - 1}: there are {config.parts} parts",
    )
    if config.given and config.loss != "log_variance":
        raise InputError(
            f"loss {config.loss} with given runs: the balance conditions that combine samplers "
            "compare pairs of complete trajectories; use --loss log_variance"
        )
    if config.given and config.p_b == "lifted":
        raise InputError(
            "p_b lifted with given runs: its mass would bend the product of their laws; use "
            "--p-b learned or uniform"
        )
    if config.given and config.replay == "reward":
        raise InputError(
            "replay reward with given runs: the reward of all factors is not evaluated; use "
            "--replay uniform, or none"
        )
    if config.warm and len(config.given) != 1:
        raise InputError(
            f"warm with {len(config.given)} given runs: parameters come from one; use --no-warm"
        )
