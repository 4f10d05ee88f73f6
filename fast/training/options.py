"""Options that every run has: sampling, optimiser, run and factors. Imports no JAX."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from reference.contract.errors import InputError, check_fields, require, require_counts

if TYPE_CHECKING:
    import optax

# JAX silently keeps 32 bits of a seed; NumPy refuses one that is negative.
SEEDS_END = 2**31


@dataclass(frozen=True)
class SamplingOptions:
    """The batches of a training, and the exploration in them."""

    batch: int = 128
    """Trajectories per step."""
    epsilon: float = 0.05
    """Share of uniformly random actions at the start."""
    epsilon_until: float = 0.5
    """The share of the steps after which epsilon has fallen, linearly, to 0."""
    temperature: float = 1.0
    """Actions are drawn from softmax(log p_F / temperature) while training."""
    anneal: float = 0.0
    """The share of the steps over which the target is R^beta, beta rising to 1; 0 for never."""
    anneal_from: float = 0.01
    """beta at the first step; it rises in equal ratios."""

    def __post_init__(self) -> None:
        check_fields(self, stored=True)
        require_counts(self, "batch")
        require(self, "epsilon", 0 <= self.epsilon <= 1, "lie between 0 and 1")
        require(self, "epsilon_until", 0 < self.epsilon_until <= 1, "lie in (0, 1]")
        require(self, "anneal", 0 <= self.anneal <= 1, "lie between 0 and 1")
        require(self, "anneal_from", 0 < self.anneal_from <= 1, "lie in (0, 1]")
        require(self, "temperature", 0 < self.temperature < float("inf"), "be positive and finite")


@dataclass(frozen=True)
class OptimiserOptions:
    """Steps and learning rates of the policy."""

    steps: int = 5_000
    """Gradient steps."""
    rule: Literal["adamw", "muon"] = "adamw"
    """The rule of the policy's steps: AdamW; or Muon (Jordan, 2024), which makes the step of each
    matrix orthogonal, with AdamW for the rest."""
    learning_rate: float = 1e-2
    """The learning rate of the policy."""
    table_learning_rate: float = 1e-2
    """Adam's learning rate for tables by state (--table-rows)."""
    clip: float = 1.0
    """A longer gradient is scaled down to this norm; 0 for never. Without exploration and at small
    learning rates, far modes are met sooner with 0."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """Learning rate over the steps: down to zero along a cosine, or constant."""

    def __post_init__(self) -> None:
        check_fields(self, stored=True)
        require_counts(self, "steps")
        for name in ("learning_rate", "table_learning_rate"):
            require(self, name, 0 < getattr(self, name) < float("inf"), "be positive and finite")
        require(self, "clip", 0 <= self.clip < float("inf"), "be at least 0, and finite")

    def for_network(self, steps: Any = None) -> "optax.GradientTransformation":
        """The rule, after the gradient is clipped; `steps` as of `make`."""
        import optax

        rate, decay = self._schedule(self.learning_rate, steps), 1e-4
        rules = {
            "adamw": lambda: optax.adamw(rate, weight_decay=decay),
            "muon": lambda: optax.contrib.muon(rate, adam_weight_decay=decay),
        }
        clipping = optax.clip_by_global_norm(self.clip) if self.clip else optax.identity()
        return optax.chain(clipping, rules[self.rule]())

    def _schedule(self, rate: float, steps: Any) -> "optax.Schedule":
        import jax.numpy as jnp
        import optax

        last = self.steps if steps is None else steps
        schedules: dict[str, optax.Schedule] = {
            "constant": optax.constant_schedule(rate),
            # As `optax.cosine_decay_schedule`, which takes no number that a program is given.
            "cosine": lambda n: rate * 0.5 * (1 + jnp.cos(jnp.pi * jnp.minimum(n, last) / last)),
        }
        return schedules[self.schedule]

    def make(
        self, log_z_learning_rate: float, *, has_table: bool = False, steps: Any = None
    ) -> "optax.GradientTransformationExtraArgs":
        """The rule on the policy, and Adam on `log Z` and on tables by state, for a `Sampler`.

        Args:
            log_z_learning_rate: the learning rate of `log Z`.
            has_table: whether the policy has tables by state.
            steps: the number of all steps, as an argument of a program; by default `self.steps`.
        """
        import equinox as eqx
        import jax
        import optax

        from fast.dynamics.state_table import is_table
        from fast.training.tables import on_rows

        def kinds(sampler: Any) -> Any:
            every = jax.tree.map(
                lambda part: "table" if is_table(part) else "policy", sampler, is_leaf=is_table
            )
            return eqx.tree_at(lambda tree: tree.log_z, every, "log_z")

        parts: dict[str, Any] = {
            "policy": self.for_network(steps),
            "log_z": optax.adam(log_z_learning_rate),
        }
        if has_table:
            parts["table"] = on_rows(optax.adam(self._schedule(self.table_learning_rate, steps)))
        return optax.partition(parts, kinds)


@dataclass(frozen=True)
class RunOptions:
    """Seeds, arithmetic, devices, measurements and the run folder."""

    seed: int = 0
    """Random seed: equal seeds give equal runs on one machine."""
    seeds: int = 1
    """Train this many seeds side by side: seed, seed + 1, ..."""
    precision: Literal["float32", "float64"] = "float32"
    """Arithmetic of training."""
    devices: int = 1
    """Split each batch over this many devices."""
    evaluations: int = 10
    """Number of measurements of the distance to the target during training."""
    spacing: Literal["even", "log"] = "even"
    """Steps between measurements: equal, or growing by a factor from step 100 on."""
    law_samples: int = 262_144
    """Samples for the final law of a policy, where it cannot be summed. With fewer than 16,384,
    states too many to enumerate are measured by fewer trajectories as well."""
    checkpoint_every: int = 500
    """Steps between checkpoints, rounded up to hundreds: the most that a killed run loses."""
    max_states: int = 2_000_000
    """Problems of at most this many states are enumerated, and measured exactly where possible."""
    tv: float = 0.0
    """Train in rounds until the total variation to the target is certified to be at most this; 0
    for one training of --steps."""
    tv_seconds: float = 600.0
    """With --tv: begin no round after this many seconds of training."""
    out: Path | None = None
    """The run folder, which must not exist yet. Default: runs/TASK-DYNAMICS-SEED, or
    runs/TASK-COMMAND-SEED for several runs."""

    def __post_init__(self) -> None:
        check_fields(self, stored=True)
        counts = ("seeds", "devices", "evaluations", "law_samples", "checkpoint_every")
        require_counts(self, *counts, "max_states")
        check_seeds(self.seed, self.seeds)
        require(self, "tv", 0 <= self.tv < 1, "lie in (0, 1), or be 0 for none")
        require(self, "tv_seconds", self.tv_seconds > 0, "be positive")


@dataclass(frozen=True)
class Factors:
    """The reward in factors, for runs that are combined (prop:apx:dist, prop:apx:sm)."""

    parts: int = 1
    """Split the reward into this many factors, each the share of some items, positions or
    comparisons (sets, syn, preference)."""
    factors: tuple[int, ...] = ()
    """Which of the factors make up the target, such as 0 2; by default all."""
    frozen: tuple[Path, ...] = ()
    """Finished runs on some of these factors: training asks their samplers instead of the rewards,
    and sees the reward of the other factors only, if there are any (log_variance only)."""
    warm: bool = False
    """Start from the parameters of the frozen run, of which there must be one, of the same
    shape."""

    def __post_init__(self) -> None:
        check_fields(self, stored=True)
        require_counts(self, "parts")
        inside = set(self.factors) <= set(range(self.parts))
        require(
            self,
            "factors",
            inside and len(set(self.factors)) == len(self.factors),
            f"be different numbers from 0 to {self.parts - 1}: there are {self.parts} parts",
        )
        if self.warm and len(self.frozen) != 1:
            raise InputError(
                f"warm with {len(self.frozen)} frozen runs: parameters come from one; use --no-warm"
            )

    @property
    def covered(self) -> tuple[int, ...]:
        """The factors that make up the target."""
        return self.factors or tuple(range(self.parts))


def check_seeds(seed: int, seeds: int) -> None:
    """Refuses seeds that JAX or NumPy would confuse with others."""
    if not 0 <= seed <= SEEDS_END - seeds:
        raise InputError(
            f"seed is {seed} and seeds is {seeds}, but all seeds must be at least 0 and below "
            f"{SEEDS_END:,}: JAX takes others for one of these; choose a smaller --seed"
        )
