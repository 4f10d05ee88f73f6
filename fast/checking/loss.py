"""The check of a user's loss: whether it learns the right law, on small lifts."""

import math
import time
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from fast.balance.loss import Loss
from fast.checking.counterexamples import Counterexample, counterexample
from fast.checking.expected_loss import (
    all_batches,
    batch_loss,
    expected_loss,
    learned,
    path_law,
    take,
    training_gradient,
)
from fast.checking.instances import (
    STEEP,
    Instance,
    all_trajectories,
    describe,
    make_instance,
    small_instances,
)
from fast.checking.landscape import Landscape
from fast.checking.search import SPURIOUS, Minimum, clearest, search
from fast.checking.tabular_policy import BackwardKind, balanced_sampler, perturbed
from reference.errors import InputError, check_choice, check_integer, check_seed, check_type, shown
from reference.text import counted

# Tolerances of losses and gradients at balance. Residuals add up a dozen logarithms of a few nats:
# they carry 1e-14, and so may a penalty that is no square, and gradients.
BALANCED, STATIONARY = 1e-12, 1e-9

# The tolerance of gradients relative to the largest entry: they are sums over hundreds of batches.
SAME_GRADIENT = 1e-9

# The fault of a loss that the searches say nothing about.
UNJUDGED = "cannot be judged: no search ended without loss (is it flat near its minimum?)"

# Random batches, each with its own key.
RANDOM_BATCHES = 16

# The number of instances with memory, and of those without, on which the gradient of training is
# compared, the smallest first: compiling it takes most of the time.
WITH_GRADIENT = 1


@dataclass(frozen=True)
class LossReport:
    """The findings of `check_loss`; `rows` says what each figure is.

    Lifts that there was no time for are `left_out`, and `falls` has a graph and rows at which the
    loss keeps falling, as text. The counterexample is that on the smallest instance, in rationals.
    """

    loss: Loss
    backward: BackwardKind
    instances: int
    left_out: int
    balanced_loss: float
    balanced_gradient: float
    gradients: int
    gradient_error: float
    starts: int
    reached: int
    worst_distance: float
    spurious_minima: dict[str, int]
    falls: str
    counterexample: Counterexample | None

    @property
    def is_balanced(self) -> bool:
        """True if the balanced policy has no loss, or is stationary."""
        return self.balanced_loss <= BALANCED or self.balanced_gradient <= STATIONARY

    @property
    def is_unbiased(self) -> bool:
        """True if the mean gradient of training is that of the expected loss."""
        return self.gradient_error <= SAME_GRADIENT

    @property
    def faults(self) -> list[str]:
        """The faults of the loss in words, the worst first."""
        faults = {
            f"has no minimum: it falls without end ({self.falls})": bool(self.falls),
            "learns a WRONG law": bool(self.spurious_minima),
            "is trained by a WRONG gradient": not self.is_unbiased,
            "is not at a minimum where the law is right": not self.is_balanced,
            UNJUDGED: self.reached == 0,
        }
        return [fault for fault, holds in faults.items() if holds]

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
            "training's mean gradient against the exact one": (
                f"{self.gradient_error:.2g} ({self.gradients} compared)"
            ),
            "searches that ended without loss": f"{self.reached:,} of {self.starts:,}",
            "total variation of these from R / Z, at most": f"{self.worst_distance:.2g}",
            f"without loss, but off R / Z by more than {SPURIOUS:g}": where or "none",
            **example,
            "learns the right law": f"yes, on the {counted(self.instances, 'graph')} tried"
            if self.learns_the_target
            else "not known"
            if self.faults == [UNJUDGED]
            else "no",
        }


def check_loss(
    loss: Loss,
    *,
    backward: BackwardKind = "uniform",
    instances: tuple[Instance, ...] | None = None,
    starts: int = 20,
    seed: int = 0,
    seconds: float = float("inf"),
) -> LossReport:
    """Tries a loss on small lifts: at balance, in its gradient, and in a search for wrong minima.

    On every instance a table of logits represents any policy. At the balanced policy the loss must
    be zero, or stationary, on all trajectories at once and on random batches. The mean gradient of
    training over all batches must be that of the expected loss, for trajectories drawn from the
    policy itself and from another. The expected loss, over batches that miss no trajectory, is
    minimised from many policies: where it ends without loss, the terminal law must be `R / Z`. A
    search without spurious minima is evidence and no proof.

    Args:
        loss: the loss.
        backward: the kind of `p_B`: uniform; learned from the state; or learned from the lifted
            state, with a soft-max over the parents of the state alone.
        instances: other lifts than `small_instances()`, and than one of extreme rewards for the
            first two checks; tried in this order: the first spurious minimum becomes the
            counterexample.
        starts: searches per instance.
        seed: the seed of all random numbers.
        seconds: after this time no further lift is begun, but one is always tried.

    Raises:
        InputError: if it is no loss, if no instance suits it, or if an argument is invalid.
    """
    check_type("check_loss", "loss", loss, Loss)
    check_choice("check_loss", "backward", backward, BackwardKind)
    check_integer("check_loss", "starts", starts, 1)
    check_seed("check_loss", seed)
    if not seconds >= 0:
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
    with jax.enable_x64(True):
        steep = make_instance("steep rewards", STEEP) if instances is None else None
        return _report(loss, backward, chosen, starts, seed, time.monotonic() + seconds, steep)


def _report(
    loss: Loss,
    backward: BackwardKind,
    chosen: list[Instance],
    starts: int,
    seed: int,
    end: float,
    steep: Instance | None,
) -> LossReport:
    values, slopes, errors = [], [], []
    minima: list[Minimum] = []
    spurious: dict[str, int] = {}
    example: Counterexample | None = None
    falls, tried = "", 0
    compared = {False: 0, True: 0}
    for instance in chosen:
        if tried and time.monotonic() >= end:
            break
        tried += 1
        landscape = Landscape(loss, instance, backward)
        values.append(_balanced_loss(loss, landscape))
        slopes.append(landscape.slope)
        if compared[instance.is_markovian] < WITH_GRADIENT:
            compared[instance.is_markovian] += 1
            errors += [_gradient_error(loss, instance, backward, own=own) for own in (True, False)]
        ends = search(landscape, starts, seed)
        minima += ends
        fallen = next((each for each in ends if each.has_no_end), None)
        if fallen is not None:
            # A loss without a minimum here has none on other graphs either.
            falls = f"{describe(instance)}, towards {landscape.rows_in_words(fallen.vector)}"
            break
        clear = clearest(landscape, ends)
        if clear is not None:
            spurious[instance.name] = sum(each.is_spurious for each in ends)
            example = example or counterexample(landscape, clear)
    if steep is not None:
        # Its rewards are too far apart for a search.
        value, slope = _at_balance(loss, Landscape(loss, steep, backward))
        values.append(value)
        slopes.append(slope)
    reached = [each for each in minima if each.has_no_loss]
    return LossReport(
        loss=loss,
        backward=backward,
        instances=tried,
        left_out=0 if falls else len(chosen) - tried,
        balanced_loss=_largest(values),
        balanced_gradient=_largest(slopes),
        gradients=len(errors),
        gradient_error=_largest(errors),
        starts=len(minima),
        reached=len(reached),
        worst_distance=max((each.distance for each in reached), default=0.0),
        spurious_minima=spurious,
        falls=falls,
        counterexample=example,
    )


def _at_balance(loss: Loss, landscape: Landscape) -> tuple[float, float]:
    """The loss at balance and its slope, relative to the loss beside it if that is large."""
    noise = np.random.default_rng(3).normal(size=len(landscape.balanced))
    beside = abs(landscape.graded(landscape.balanced + noise)[0])
    # By an infinite one every residual would be divided to nothing.
    scale = max(1.0, beside) if math.isfinite(beside) else 1.0
    return _balanced_loss(loss, landscape) / scale, landscape.slope / scale


def _balanced_loss(loss: Loss, landscape: Landscape) -> float:
    """The largest loss of the balanced policy, on all trajectories and on random batches."""
    instance, sampler = landscape.instance, landscape.sampler(landscape.balanced)
    everything = all_trajectories(instance)
    count = len(everything.active)
    size = max(2, count, loss.least_batch)
    drawn = np.random.default_rng(1).integers(count, size=(RANDOM_BATCHES, size))
    drawn[0] = np.resize(np.arange(count), size)
    keys = jax.random.split(jax.random.key(1), RANDOM_BATCHES)

    def value(rows: jax.Array, key: jax.Array) -> jax.Array:
        return batch_loss(loss, instance.environment, sampler, take(everything, rows), key)

    values = jax.jit(jax.vmap(value))(jnp.asarray(drawn), keys)
    return _largest(np.abs(np.asarray(values)).tolist())


def _gradient_error(loss: Loss, instance: Instance, backward: BackwardKind, *, own: bool) -> float:
    """The error of training's mean gradient, relative to the largest entry of the exact one.

    Trajectories are drawn from the policy itself, as in training, if `own`, else uniformly.
    """
    rng, environment = np.random.default_rng(2), instance.environment
    sampler = perturbed(balanced_sampler(loss, instance, backward), 1.0, rng)
    everything = all_trajectories(instance)
    count = len(everything.active)
    law = np.asarray(path_law(sampler.policy, environment, everything)) if own else None
    batches = all_batches(
        np.full(count, 1 / count) if law is None else law, max(2, loss.least_batch)
    )
    expected = expected_loss(loss, environment, everything, batches)
    exact = eqx.filter_jit(eqx.filter_grad(expected))(sampler)
    mean = training_gradient(loss, environment, everything, batches, cached=own)
    ours = eqx.filter_jit(mean)(sampler)
    flat, other = (
        np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(learned(each))])
        for each in (exact, ours)
    )
    if not (np.isfinite(flat).all() and np.isfinite(other).all()):
        return float("inf")
    return float(np.abs(flat - other).max() / max(np.abs(flat).max(), 1e-12))


def _largest(values: list[float]) -> float:
    """The largest value; infinite if one is not a number."""
    return float("inf") if np.isnan(values).any() else float(max(values, default=0.0))
