"""What a training run is asked to do, whatever the problem.

Imports no JAX, so that the command line answers at once.
"""

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from fast.training.combinations import check_factors, idle, refuse_combinations, refuse_idle
from fast.training.names import (
    FLOWS,
    MARKOVIAN,
    BackwardKind,
    DynamicsName,
    Encoding,
    LossName,
    PenaltyName,
    Replay,
)
from fast.training.options import check_options, check_seeds
from reference.errors import InputError
from reference.problems import restrict


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
    out: Path | None = None
    """The run folder, which must not exist yet. Default: runs/PROBLEM-DYNAMICS-SEED, of several
    runs runs/PROBLEM-COMMAND-SEED."""

    def __post_init__(self) -> None:
        check_options(self)
        counts: tuple[str, ...]
        counts = ("parameters", "steps", "batch", "evaluations", "checkpoint_every", "latent_size")
        counts += ("heads", "seeds", "devices", "replay_capacity", "max_states", "law_samples")
        counts += ("parts",)
        for name in counts:
            self.require(name, getattr(self, name) >= 1, "be at least 1")
        self.require("hidden_layers", self.hidden_layers >= 0, "be at least 0")
        scales = ("latent_scale", "slow_scale")
        for name in ("learning_rate", "log_z_learning_rate", "temperature", *scales):
            value = getattr(self, name)
            self.require(name, 0 < value < math.inf, "be positive and finite")
        self.require("epsilon", 0 <= self.epsilon <= 1, "lie between 0 and 1")
        for name in ("epsilon_until", "subtb_lambda"):
            self.require(name, 0 < getattr(self, name) <= 1, "lie in (0, 1]")
        self.require("replay_share", 0 < self.replay_share < 1, "lie strictly between 0 and 1")
        check_seeds(self.seed, self.seeds)
        refuse_idle(self)
        refuse_combinations(self)
        check_factors(self)
        self._check_problem()

    def require(self, name: str, holds: bool, rule: str) -> None:
        """Refuses an option that breaks a rule.

        Raises:
            InputError: if it does not hold.
        """
        # NaN makes every comparison false, so that it is refused as well.
        if not holds:
            raise InputError(f"{name} is {getattr(self, name)}, but must {rule}")

    def _check_problem(self) -> None:
        self.restricted()

    def changed(self, **changes: Any) -> Self:
        """The same with changes; what says nothing any more is back at its default."""
        return dataclasses.replace(self, **{**idle(self, changes), **changes})

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

    @property
    def short_name(self) -> str:
        """The problem in the name of a folder."""
        return self.problem_name

    def folder(self) -> Path:
        """The run folder."""
        return self.out or Path("runs") / f"{self.short_name}-{self.dynamics}-{self.seed}"
