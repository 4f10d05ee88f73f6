"""The optimiser: AdamW on the policy, Adam on `log Z`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from reference.arguments import check_options, require, require_counts

if TYPE_CHECKING:
    import optax


@dataclass(frozen=True)
class OptimiserOptions:
    """Steps and learning rates of the policy."""

    steps: int = 5_000
    """Gradient steps."""
    learning_rate: float = 1e-2
    """AdamW's learning rate for the policy."""
    schedule: Literal["cosine", "constant"] = "cosine"
    """Learning rate over the steps: down to zero along a cosine, or constant."""

    def __post_init__(self) -> None:
        check_options(self)
        require_counts(self, "steps")
        rate = self.learning_rate
        require(self, "learning_rate", 0 < rate < float("inf"), "be positive and finite")

    def for_network(self) -> "optax.GradientTransformation":
        """AdamW, clipped to norm 1."""
        import optax

        schedules: dict[str, optax.Schedule] = {
            "cosine": optax.cosine_decay_schedule(self.learning_rate, self.steps),
            "constant": optax.constant_schedule(self.learning_rate),
        }
        return optax.chain(
            optax.clip_by_global_norm(1.0),
            optax.adamw(schedules[self.schedule], weight_decay=1e-4),
        )

    def make(self, log_z_learning_rate: float) -> "optax.GradientTransformation":
        """AdamW on the policy and Adam on `log Z`, for a `Sampler`."""
        import equinox as eqx
        import jax
        import optax

        def kinds(sampler: Any) -> Any:
            every = jax.tree.map(lambda _: "policy", sampler)
            return eqx.tree_at(lambda tree: tree.log_z, every, "log_z")

        parts = {"policy": self.for_network(), "log_z": optax.adam(log_z_learning_rate)}
        return optax.partition(parts, kinds)
