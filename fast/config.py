"""What a training run is asked to do, whatever the problem.

Imports no JAX, so that the command line answers at once.
"""

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

import tyro

from fast.options import check_options
from reference.errors import InputError
from reference.problems import restrict

Encoding = Literal["one-hot", "natural", "affine", "fourier"]
DynamicsName = Literal[
    "srwm", "gru", "lstm", "rnn", "linear", "markov", "linear-markov", "temporal-gcn", "gcn"
]
LossName = Literal["tb", "log_variance", "db", "subtb", "fm"]
BackwardKind = Literal["uniform", "learned", "lifted"]
PenaltyName = Literal["square", "huber", "log-cosh"]
Replay = Literal["none", "uniform", "reward"]

MARKOVIAN: tuple[DynamicsName, ...] = ("markov", "linear-markov", "gcn")
WITHOUT_HEAD: tuple[DynamicsName, ...] = ("linear", "linear-markov", "gcn", "temporal-gcn")
ON_GRAPHS: tuple[DynamicsName, ...] = ("gcn", "temporal-gcn")
FLOWS: tuple[LossName, ...] = ("db", "subtb", "fm")

# JAX keeps 32 bits of a seed, without a word; NumPy refuses one that is negative.
SEEDS_END = 2**31


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


@dataclass(frozen=True)
class TrainConfig(ABC):
    """Options of every problem."""

    problem_name: ClassVar[str]

    dynamics: DynamicsName = "gru"
    """Latent dynamics: gru, lstm, rnn, srwm (the paper's, eq:ASRWM) and linear (eq:linear_rec) are
    path-dependent, markov has none; linear-markov is linear without its memory (prop:lines); on
    graphs also temporal-gcn (eq:pdgraphss) and gcn (eq:graphss), its Markovian twin."""
    loss: LossName = "tb"
    """Trajectory balance; contrastive balance as twice the variance of the log ratio; detailed
    balance; subtrajectory balance; flow matching (markov only)."""
    subtb_lambda: float = 0.9
    """Subtrajectories of n steps weigh lambda^n (subtb only)."""
    penalty: PenaltyName = "square"
    """What is averaged of the residuals (not for log_variance)."""
    p_b: BackwardKind = "uniform"
    """Backward policy: uniform over parents, learned from the state, or lifted: learned from state
    and latent, with a mass that differs from 1, so that the target is bent (not for markov)."""
    encoding: Encoding = "one-hot"
    """Features of a state: one-hot, the integers themselves as in the paper's psi(p_i) = i, these
    and a constant 1, or their sines and cosines (not for custom)."""
    parameters: int = 40_000
    """Parameter budget; the hidden layers are made as wide as it allows, within 5 %."""
    hidden_layers: int = 0
    """Hidden layers of the head; 0 for three, and for one where it reads a latent alone."""
    steps: int = 5_000
    """Gradient steps."""
    batch: int = 128
    """Trajectories per step."""
    learning_rate: float = 1e-2
    """AdamW's learning rate for the policy."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """How the learning rate goes: down to zero along a cosine, or not at all."""
    log_z_learning_rate: float = 1e-1
    """Learning rate of log Z (loss tb only)."""
    epsilon: float = 0.05
    """Share of uniformly random actions at the start."""
    epsilon_until: float = 0.5
    """The share of the steps after which epsilon has fallen, linearly, to 0."""
    temperature: float = 1.0
    """Actions are drawn from softmax(log p_F / temperature) while training."""
    replay: Replay = "none"
    """Draw part of each batch backwards from terminal states met before: uniformly, or in
    proportion to their reward."""
    replay_share: float = 0.5
    """That part (replay only)."""
    replay_capacity: int = 8_192
    """How many terminal states are remembered (replay only)."""
    latent_size: int = 32
    """d: the latent is a d x d matrix (srwm), or a vector of d numbers (gru, lstm, rnn)."""
    activation: Literal["identity", "tanh"] = "identity"
    """Of the plain recurrence: the paper's, which is linear, or Elman's (rnn only)."""
    heads: int = 1
    """h: the latent is h matrices of d/h x d/h (srwm only)."""
    rotation: Literal["planes", "haar", "none"] = "planes"
    """R: incommensurable rotations of d/2 planes, the same in a random basis, or the identity
    (srwm only)."""
    link: Literal["elu", "softmax", "identity"] = "elu"
    """zeta: the normalised ELU, the soft-max, or the identity (srwm only)."""
    write_key: Literal["q", "k"] = "q"
    """Write at q, as printed, or at k, as in the delta rule (srwm only)."""
    erase: Literal["before", "after"] = "before"
    """Erase before the rotation, as printed, or after it: stable with --write-key k (srwm only)."""
    normalize: bool = False
    """Divide y_t by its root mean square; not in the paper (srwm only)."""
    latent_scale: float = 1.0
    """Scale of W_o (srwm only)."""
    slow_scale: float = 1.0
    """Scale of the slow weights (srwm only)."""
    skip: bool = False
    """Let the head see psi(s_t) beside y_t; the paper's does not (nothing to add for
    markov, linear and graph networks)."""
    reset: bool = False
    """Make the latent anew at every state, by one step from W_o: the same network without memory,
    which is Markovian (srwm, gru, lstm and rnn only)."""
    seed: int = 0
    """Random seed: equal seeds give equal runs on one machine."""
    seeds: int = 1
    """Train this many seeds side by side: seed, seed + 1, ..."""
    precision: Literal["float32", "float64"] = "float32"
    """Arithmetic of training."""
    devices: int = 1
    """Split each batch over this many devices."""
    evaluations: int = 10
    """How often the distance to the target is measured during training."""
    law_samples: int = 262_144
    """How many samples the final law of a policy is estimated from, where it cannot be summed. With
    fewer than 16,384, states too many to enumerate are measured by fewer trajectories as well."""
    checkpoint_every: int = 500
    """Steps between checkpoints, rounded up to hundreds: what a killed run loses at most."""
    max_states: int = 2_000_000
    """Problems of at most this many states are enumerated, and measured exactly where possible."""
    parts: int = 1
    """Split the reward into this many factors, each the share of some items, positions or
    comparisons (sets, syn, preference)."""
    factors: tuple[int, ...] = ()
    """Which of the factors make up the target, such as 0 2; by default all."""
    given: tuple[Path, ...] = ()
    """Finished runs on some of these factors: training asks their samplers instead of the rewards,
    and sees the reward of the other factors only, if there are any (log_variance only)."""
    warm: bool = False
    """Start from the parameters of the given run, of which there must be one, of the same shape."""
    out: tyro.conf.DisallowNone[Path | None] = None
    """The run folder, which must not exist yet. Default: runs/PROBLEM-DYNAMICS-SEED."""

    def __post_init__(self) -> None:
        check_options(self)
        counts: tuple[str, ...]
        counts = ("parameters", "steps", "batch", "evaluations", "checkpoint_every", "latent_size")
        counts += ("heads", "seeds", "devices", "replay_capacity", "max_states", "law_samples")
        counts += ("parts",)
        for name in counts:
            self._require(name, getattr(self, name) >= 1, "be at least 1")
        self._require("hidden_layers", self.hidden_layers >= 0, "be at least 0")
        scales = ("latent_scale", "slow_scale")
        for name in ("learning_rate", "log_z_learning_rate", "temperature", *scales):
            value = getattr(self, name)
            self._require(name, 0 < value < math.inf, "be positive and finite")
        self._require("epsilon", 0 <= self.epsilon <= 1, "lie between 0 and 1")
        for name in ("epsilon_until", "subtb_lambda"):
            self._require(name, 0 < getattr(self, name) <= 1, "lie in (0, 1]")
        self._require("replay_share", 0 < self.replay_share < 1, "lie strictly between 0 and 1")
        check_seeds(self.seed, self.seeds)
        self._refuse_idle()
        self._refuse_combinations()
        self._check_factors()
        self._check_problem()

    def _require(self, name: str, holds: bool, rule: str) -> None:
        # NaN makes every comparison false, so that it is refused as well.
        if not holds:
            raise InputError(f"{name} is {getattr(self, name)}, but must {rule}")

    def _refuse_idle(self) -> None:
        for name, default in self._idle({}).items():
            if getattr(self, name) != default:
                beside, _, why = IDLE[name]
                raise InputError(
                    f"{name} is {getattr(self, name)!r} with {beside.removesuffix('_name')} "
                    f"{getattr(self, beside)}, which does not read it: {why}, or leave {name} at "
                    f"{default!r}"
                )

    def _idle(self, changes: dict[str, Any]) -> dict[str, Any]:
        """The options that would say nothing after some changes, and their defaults."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        return {
            name: defaults[name]
            for name, (beside, values, _) in IDLE.items()
            if changes.get(beside, getattr(self, beside)) in values
        }

    def _refuse_combinations(self) -> None:
        if self.loss == "log_variance":
            self._require("batch", self.batch >= 2, "be at least 2: a variance needs two")
        if self.loss == "fm" and not self.is_markovian:
            raise InputError(
                f"loss fm with dynamics {self.dynamics}: flow matching sums over all parents of a "
                "lifted state (s, W), of which a trajectory shows one; use db, subtb, tb or "
                "log_variance, or --dynamics markov"
            )
        if self.dynamics in ON_GRAPHS and self.problem_name != "graphs":
            raise InputError(
                f"dynamics {self.dynamics} on {self.problem_name}: graph networks read graphs, so "
                "they go with the problem graphs only; use gru, lstm, rnn, srwm or markov"
            )
        if self.dynamics in ON_GRAPHS and (self.has_flow or self.p_b == "lifted"):
            raise InputError(
                f"dynamics {self.dynamics} with loss {self.loss} and p_b {self.p_b}: graph "
                "networks score edges and give no flow and no backward policy; use loss tb or "
                "log_variance, and --p-b uniform or learned"
            )
        if self.p_b == "lifted" and self.is_markovian:
            raise InputError(
                f"p_b lifted with dynamics {self.dynamics}: there is no latent to read; use "
                "--p-b learned"
            )
        if self.reset and self.dynamics in (*MARKOVIAN, *WITHOUT_HEAD):
            raise InputError(
                f"reset with dynamics {self.dynamics}: there is no latent layer to reset; use "
                "srwm, gru, lstm or rnn, or no --reset"
            )
        if self.p_b != "uniform" and self.loss == "fm":
            raise InputError("loss fm has no backward policy: leave --p-b at uniform")
        if self.replay != "none" and self.p_b == "lifted":
            raise InputError(
                "replay draws trajectories backwards, which a lifted p_b does not allow, as the "
                "latent is known forwards only: use --p-b learned or uniform, or no replay"
            )
        if self.replay != "none":
            replayed = round(self.replay_share * self.batch)
            self._require("replay_share", 0 < replayed < self.batch, "leave some of both")
        if self.replay != "none" and self.devices > 1:
            raise InputError(
                f"replay with {self.devices} devices: the buffer lives on one device; use one of "
                "the two"
            )
        if self.batch % self.devices:
            raise InputError(
                f"batch is {self.batch}, which {self.devices} devices cannot share evenly"
            )

    def _check_factors(self) -> None:
        inside = set(self.factors) <= set(range(self.parts))
        self._require(
            "factors",
            inside and len(set(self.factors)) == len(self.factors),
            f"be different numbers from 0 to {self.parts - 1}: there are {self.parts} parts",
        )
        if self.given and self.loss != "log_variance":
            raise InputError(
                f"loss {self.loss} with given runs: the balance conditions that combine samplers "
                "compare pairs of complete trajectories; use --loss log_variance"
            )
        if self.given and self.p_b == "lifted":
            raise InputError(
                "p_b lifted with given runs: its mass would bend the product of their laws; use "
                "--p-b learned or uniform"
            )
        if self.given and self.replay == "reward":
            raise InputError(
                "replay reward with given runs: the reward of all factors is not evaluated; use "
                "--replay uniform, or none"
            )
        if self.warm and len(self.given) != 1:
            raise InputError(
                f"warm with {len(self.given)} given runs: parameters come from one; use --no-warm"
            )

    def _check_problem(self) -> None:
        self.restricted()

    def changed(self, **changes: Any) -> Self:
        """The same with changes; what says nothing any more is back at its default."""
        return dataclasses.replace(self, **{**self._idle(changes), **changes})

    @property
    def covered(self) -> tuple[int, ...]:
        """The factors that make up the target."""
        return self.factors or tuple(range(self.parts))

    @property
    def is_markovian(self) -> bool:
        """Whether the forward policy sees the state alone."""
        return self.dynamics in MARKOVIAN or self.reset

    @property
    def has_flow(self) -> bool:
        """Whether the loss needs a state flow."""
        return self.loss in FLOWS

    @property
    def layers(self) -> int:
        """Hidden layers of the head."""
        return self.hidden_layers or (3 if self.skip or self.dynamics in MARKOVIAN else 1)

    @abstractmethod
    def problem(self) -> Any:
        """The problem to train on.

        Raises:
            InputError: if its options break one of its rules.
        """

    def restricted(self, factors: Collection[int] | None = None) -> Any:
        """The problem with the reward of some of its factors; by default those of the target.

        Raises:
            InputError: if the problem does not split into that many parts.
        """
        problem = self.problem()
        if self.parts == 1:
            return problem
        return restrict(problem, self.parts, self.covered if factors is None else factors)

    @abstractmethod
    def states(self) -> int:
        """An upper bound on the number of states of the problem, without enumeration."""

    def folder(self) -> Path:
        """The run folder."""
        return self.out or Path("runs") / f"{self.problem_name}-{self.dynamics}-{self.seed}"


def check_seeds(seed: int, seeds: int) -> None:
    """Checks that all seeds of a run are numbers that JAX and NumPy tell apart.

    Raises:
        InputError: if one is not.
    """
    if not 0 <= seed <= SEEDS_END - seeds:
        raise InputError(
            f"seed is {seed} and seeds is {seeds}, but all seeds must be at least 0 and below "
            f"{SEEDS_END:,}: JAX takes others for one of these; choose a smaller --seed"
        )
