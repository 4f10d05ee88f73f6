"""The check of a user's loss: whether it learns the right law, on small lifts."""

import math
import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from fast.balance.loss import Loss
from fast.checking.counterexamples import Counterexample, counterexample
from fast.checking.expected_loss import batch_loss, learned, take, training_gradient
from fast.checking.instances import STEEP, Instance, describe, make_instance, small_instances
from fast.checking.landscape import HASTE, STATIONARY, Landscape
from fast.checking.search import SPURIOUS, Minimum, clearest, search
from fast.checking.tabular_policy import BackwardKind
from reference.contract.errors import (
    InputError,
    check_integer,
    check_seed,
    check_type,
    check_value,
    shown,
)
from reference.contract.text import counted
from reference.contract.user_code import number_or_infinite

# The tolerance of losses at balance. Residuals add up a dozen logarithms of a few nats: they carry
# 1e-14, and so may a penalty that is no square.
BALANCED = 1e-12

# The tolerance of gradients relative to the largest entry: they are sums over hundreds of batches.
SAME_GRADIENT = 1e-9

# Random batches, each with its own key.
RANDOM_BATCHES = 16

# The lifts that are tried, unless the check is thorough.
FEW = 6


@dataclass(frozen=True)
class LossReport:
    """The findings of `check_loss`; `rows` says what each figure is.

    Lifts that there was no time for are `left_out`. `log_z_error` is how far the log Z that the
    balanced policy learns lies from the true one, in nats; 0 if the loss learns none. As text,
    `falls` has a graph and rows at which the loss keeps falling, and `stops` those at which the
    first of the `stuck` searches ended. The counterexample is that on the smallest instance, in
    rationals.
    """

    loss: Loss
    backward: BackwardKind
    instances: int
    left_out: int
    balanced_loss: float
    balanced_gradient: float
    log_z_error: float
    gradients: int
    gradient_error: float
    starts: int
    reached: int
    worst_distance: float
    spurious_minima: dict[str, int]
    stuck: int
    stops: str
    falls: str
    counterexample: Counterexample | None

    @property
    def is_balanced(self) -> bool:
        """True if the balanced policy has no loss, or a finite one and is stationary."""
        is_stationary = self.balanced_gradient <= STATIONARY and math.isfinite(self.balanced_loss)
        return self.balanced_loss <= BALANCED or is_stationary

    @property
    def is_unbiased(self) -> bool:
        """True if the mean gradient of training is that of the expected loss."""
        return self.gradient_error <= SAME_GRADIENT

    @property
    def is_judged(self) -> bool:
        """True if half of the searches ended without loss."""
        return 2 * self.reached >= self.starts

    @property
    def faults(self) -> list[str]:
        """The faults of the loss in words, the worst first."""
        of = f"of {self.starts:,} searches"
        faults = {
            "is not a number where the law is right": math.isnan(self.balanced_loss),
            f"has no minimum: it falls without end ({self.falls})": bool(self.falls),
            "learns a WRONG law": bool(self.spurious_minima),
            f"can stop at a WRONG law: {self.stuck:,} {of} ended with a loss and no gradient, such "
            f"as on {self.stops}": bool(self.stuck),
            "is trained by a WRONG gradient": not self.is_unbiased,
            "is not at a minimum where the law is right": not self.is_balanced,
            f"learns a log Z off by {self.log_z_error:.3g} nats: training will not settle": (
                self.log_z_error > SPURIOUS
            ),
            f"cannot be judged: {self.reached:,} {of} ended {self.bottom} (is it flat near its "
            "minimum?)": not self.is_judged,
        }
        return [fault for fault, holds in faults.items() if holds]

    @property
    def bottom(self) -> str:
        """The loss of the balanced policy in words."""
        return "without loss" if self.balanced_loss <= BALANCED else "at the balanced loss or below"

    @property
    def learns_the_target(self) -> bool:
        """True if all checks passed."""
        return not self.faults

    @property
    def verdict(self) -> str:
        """The report in a sentence."""
        right = f"learns the right law on the {counted(self.instances, 'graph')} tried"
        late = f" ({self.left_out} left out for want of time)" if self.left_out else ""
        return f"{type(self.loss).__name__} {(self.faults or [right])[0]}{late}"

    def rows(self) -> dict[str, str]:
        """Names and values of the figures, as text."""
        example = {} if self.counterexample is None else self.counterexample.rows()
        where = ", ".join(f"{name}: {count}" for name, count in self.spurious_minima.items())
        return {
            "loss": repr(self.loss),
            "p_B": self.backward,
            "lifted state graphs": f"{self.instances}",
            "loss of the balanced policy, at most": f"{self.balanced_loss:.2g}",
            "its gradient, at most": f"{self.balanced_gradient:.2g}",
            **(
                {"its log Z is off by": f"{self.log_z_error:.2g} nats"}
                if self.loss.learns_log_z
                else {}
            ),
            "training's mean gradient against the exact one": (
                f"{self.gradient_error:.2g} ({self.gradients} compared)"
            ),
            f"searches that ended {self.bottom}": f"{self.reached:,} of {self.starts:,}",
            "total variation of these from R / Z, at most": f"{self.worst_distance:.2g}",
            f"{self.bottom}, but off R / Z by more than {SPURIOUS:g}": where or "none",
            "with more loss but no gradient, and as far off": f"{self.stuck:,} of {self.starts:,}",
            **example,
            "learns the right law": f"yes, on the {counted(self.instances, 'graph')} tried"
            if self.learns_the_target
            else "yes, with another log Z"
            if self.log_z_error > SPURIOUS and len(self.faults) == 1
            else "no"
            if self.is_judged or len(self.faults) > 1
            else "not known",
        }


def check_loss(
    loss: Loss,
    *,
    backward: BackwardKind = "uniform",
    instances: tuple[Instance, ...] | None = None,
    starts: int = 20,
    seed: int = 0,
    seconds: float = float("inf"),
    thorough: bool = False,
) -> LossReport:
    """Tries a loss on small lifts: at balance, in its gradient, and in a search for wrong minima.

    On every instance a table of logits represents any policy. At the balanced policy the loss must
    be zero, or stationary, on all trajectories at once and on random batches. The mean gradient of
    training over all batches must be that of the expected loss, with the values that drawing from
    the policy itself caches and without. The expected loss, over batches that miss no trajectory,
    is minimised from many policies: where it ends without loss, or without a gradient, the terminal
    law must be `R / Z`. A search without spurious minima is evidence and no proof.

    Args:
        loss: the loss.
        backward: the kind of `p_B`: uniform; learned from the state; or learned from the lifted
            state, with a soft-max over the parents of the state alone.
        instances: other lifts than those of `small_instances()`, and than one of extreme rewards
            for the first two checks; tried in this order: the first spurious minimum becomes the
            counterexample.
        starts: searches per instance.
        seed: the seed of all random numbers.
        seconds: after this time no further lift is begun, but one is always tried.
        thorough: try ten lifts, not six; compare gradients on all, not on the smallest with memory
            and the smallest without.

    Raises:
        InputError: if it is no loss, if no instance suits it, or if an argument is invalid.
    """
    check_type("check_loss", "loss", loss, Loss)
    check_value("check_loss", "backward", backward, BackwardKind)
    check_integer("check_loss", "starts", starts, 1)
    check_seed("check_loss", seed)
    if not number_or_infinite(seconds, "check_loss: seconds") >= 0:
        raise InputError(f"check_loss: seconds is {shown(seconds)}, but must be at least 0")
    if backward != "uniform" and not loss.reads_backward:
        raise InputError(
            f"check_loss: backward is {backward!r}, but {type(loss).__name__} does not read p_B: "
            "leave it at 'uniform'"
        )
    candidates = small_instances() if instances is None else instances
    chosen = [each for each in candidates if each.is_markovian or not loss.needs_markovian]
    if not chosen:
        raise InputError(
            f"check_loss: no instance is left for {type(loss).__name__}, which is for Markovian "
            "policies only: give one without memory"
        )
    if instances is None:
        few = chosen if thorough else chosen[:FEW]
        chosen = sorted(few, key=lambda each: len(each.lifted.dag.edges))
    with jax.enable_x64(True):
        steep = make_instance("steep rewards", STEEP) if instances is None else None
        end = time.monotonic() + seconds
        return _report(loss, backward, chosen, starts, seed, end, steep, thorough)


def _report(
    loss: Loss,
    backward: BackwardKind,
    chosen: list[Instance],
    starts: int,
    seed: int,
    end: float,
    steep: Instance | None,
    thorough: bool,
) -> LossReport:
    balance, errors = [], []
    minima: list[Minimum] = []
    tried: list[Instance] = []
    spurious: dict[str, int] = {}
    example: Counterexample | None = None
    falls, stops, off = "", "", 0.0
    for instance in chosen:
        if tried and time.monotonic() >= end:
            break
        tried.append(instance)
        landscape = Landscape(loss, instance, backward)
        balance.append((landscape.largest, landscape.slope))
        off = max(off, landscape.log_z_error)
        if thorough or [each.is_markovian for each in tried].count(instance.is_markovian) == 1:
            balance.append((_balanced_loss(loss, landscape), 0.0))
            errors += _gradient_errors(loss, landscape)
        ends = search(landscape, starts, seed)
        minima += ends
        for each in ends:
            graph, rows = describe(instance), landscape.rows_in_words(each.vector)
            falls = falls or f"{graph}, towards {rows}" * each.has_no_end
            stops = stops or f"{graph}, with {rows}" * each.is_stuck
        if falls:  # On other graphs the loss has no minimum either.
            break
        if (clear := clearest(landscape, ends)) is not None:
            spurious[instance.name] = sum(each.is_spurious for each in ends)
            example = example or counterexample(landscape, clear)
    if steep is not None:
        # Its rewards are too far apart for a search.
        balance.append(_at_balance(Landscape(loss, steep, backward)))
    return LossReport(
        loss=loss,
        backward=backward,
        instances=len(tried),
        left_out=0 if falls else len(chosen) - len(tried),
        balanced_loss=float(np.max([value for value, _ in balance])),
        balanced_gradient=float(np.max([slope for _, slope in balance])),
        log_z_error=off,
        gradients=len(errors),
        gradient_error=float(np.max(errors, initial=0.0)),
        starts=len(minima),
        reached=sum(each.has_no_loss for each in minima),
        worst_distance=max((each.distance for each in minima if each.has_no_loss), default=0.0),
        spurious_minima=spurious,
        stuck=sum(each.is_stuck for each in minima),
        stops=stops,
        falls=falls,
        counterexample=example,
    )


def _at_balance(landscape: Landscape) -> tuple[float, float]:
    """The loss at balance and its slope, relative to the loss beside it if that is large."""
    noise = np.random.default_rng(3).normal(size=len(landscape.balanced))
    beside = abs(landscape.graded(landscape.balanced + noise)[0])
    # By an infinite one every residual would be divided to nothing.
    scale = max(1.0, beside) if math.isfinite(beside) else 1.0
    return landscape.largest / scale, landscape.slope / scale


def _balanced_loss(loss: Loss, landscape: Landscape) -> float:
    """The largest loss of the balanced policy, on all trajectories and on random batches."""
    environment, everything = landscape.instance.environment, landscape.everything
    sampler = landscape.sampler(landscape.balanced)
    count = len(everything.active)
    size = max(2, count, loss.least_batch)
    drawn = np.random.default_rng(1).integers(count, size=(RANDOM_BATCHES, size))
    drawn[0] = np.resize(np.arange(count), size)
    keys = jax.random.split(jax.random.key(1), RANDOM_BATCHES)

    def value(rows: jax.Array, key: jax.Array) -> jax.Array:
        return batch_loss(loss, environment, sampler, take(everything, rows), key)

    values = jax.jit(jax.vmap(value), compiler_options=HASTE)(jnp.asarray(drawn), keys)
    return float(np.abs(values).max())


def _gradient_errors(loss: Loss, landscape: Landscape) -> list[float]:
    """The errors of training's mean gradient, relative to the largest entry of the exact one.

    With the values that sampling caches, if the loss reads them, and without.
    """
    vector = landscape.balanced + np.random.default_rng(2).normal(size=len(landscape.balanced))
    exact = landscape.graded(vector)[1]
    scale = max(np.abs(exact).max(), 1e-12)
    of = loss, landscape.instance.environment, landscape.everything, landscape.batches
    errors = []
    for own in {loss.reads_cache, False}:
        mean = jax.jit(training_gradient(*of, cached=own), compiler_options=HASTE)
        ours = ravel_pytree(learned(mean(landscape.sampler(vector))))[0]
        errors.append(float(jnp.abs(exact - ours).max() / scale))
    return errors
