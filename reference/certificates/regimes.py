"""TV in each regime: exact, or bounds from samples.

All bounds hold at any time: drawing may stop when they are narrow enough.
"""

import math
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from reference.certificates.betting import LARGEST, Interval, LowerMean, MeanInterval
from reference.certificates.statement import FLOAT_INPUT, Kind, Line
from reference.contract.errors import InputError
from reference.contract.text import small
from reference.contract.user_code import are_rational
from reference.metrics import kl_divergence, normalize, total_variation
from reference.rows.exact import Floats
from reference.rows.functions import FLOATS
from reference.rows.importance import SLACK, Walks, effective_size, log_mean, pareto_k, shortfall
from reference.rows.walks import Sampler

# Trajectories per block, and in the pilot, which gives the scale of the weights.
BLOCK, PILOT = 4_096, 4_096
# Terminal states that a note names.
NAMED = 3


class ExactLaw(NamedTuple):
    """The distribution of a sampler, with its target, and TV on terminal states.

    The table has `x`, `p_T(x)`, `pi(x)` of every terminal state; notes are on those never reached,
    and on the floats that were read, of which `kind` tells too.
    """

    tv: Fraction
    table: list[tuple[Any, Fraction, Fraction]]
    lines: list[Line]
    notes: list[str]
    kind: Kind

    @property
    def interval(self) -> Interval:
        """The nearest floats below and above TV, or TV itself."""
        nearest = float(self.tv)
        low = nearest if nearest <= self.tv else math.nextafter(nearest, 0.0)
        return Interval(low, nearest if nearest >= self.tv else math.nextafter(nearest, 1.0))


def law_beside_target(
    p_t: Sequence[Fraction], labels: Sequence[Any], rewards: Sequence[Fraction], floats: str
) -> ExactLaw:
    """The exact distribution of a sampler, with its target.

    Args:
        p_t: `p_T(x)` of each terminal state.
        labels: the terminal states.
        rewards: `R(x)` of each.
        floats: those of which `p_T` was computed, in words; "" if there are none.
    """
    if not are_rational(rewards):
        floats += f"{'; ' * bool(floats)}rewards"
    kind: Kind = FLOAT_INPUT if floats else "exact"
    target = normalize(rewards)
    missed = [i for i, p in enumerate(p_t) if p == 0]
    lines = [
        Line("KL(target || p_T), nats", kl_divergence(target, p_t), "float64"),
        Line("KL(p_T || target), nats", kl_divergence(p_t, target), "float64"),
        Line("sum of p_T", sum(p_t, start=Fraction(0)), kind),
        Line("terminal states", Fraction(len(labels)), "exact"),
    ]
    notes = []
    if missed:
        named = ", ".join(repr(labels[i]) for i in missed[:NAMED])
        mass = sum((target[i] for i in missed), start=Fraction(0))
        more = f" and {len(missed) - NAMED:,} more" if len(missed) > NAMED else ""
        notes.append(
            f"the sampler never reaches {named}{more}: TV is at least their mass, "
            f"{small(mass, down=True)}"
        )
        lines.append(Line("mass of terminals that are never reached", mass, kind))
    if floats:
        notes.append(FLOATS.format(floats))
    tv = total_variation(p_t, target)
    return ExactLaw(tv, list(zip(labels, p_t, target, strict=True)), lines, notes, kind)


class Budget(NamedTuple):
    """Limits of drawing: the width of the interval, trajectories, and seconds of wall time."""

    width: float = 0.01
    samples: int = 100_000
    seconds: float = 60.0


@dataclass
class Draws:
    """The trajectories that were drawn: `log(R p_B / p_F)` of each, in nats, block by block.

    `watch` is called with each block, such as to sum up features; with `labels` it has its ends.
    """

    log_weights: list[Any] = field(default_factory=list)
    watch: Callable[[Walks], None] | None = None
    labels: bool = False

    @property
    def count(self) -> int:
        """The number of trajectories."""
        return sum(map(len, self.log_weights))

    @property
    def all(self) -> Any:
        """All log weights."""
        return np.concatenate(self.log_weights)


class Result(NamedTuple):
    """The statement of a regime."""

    interval: Interval
    lines: list[Line]
    samples: int


def _blocks(
    sampler: Sampler, budget: Budget, level: float, means: Sequence[MeanInterval], draws: Draws
) -> Iterator[Walks]:
    """Blocks of fresh trajectories, until all intervals are narrow enough or the budget is used up.

    A block is added to `means`, the intervals, before the next; `draws` receives the trajectories.
    """
    end = time.monotonic() + budget.seconds
    while (left := budget.samples - draws.count) > 0:
        walks = _drawn(sampler, min(BLOCK, left), draws)
        if not len(walks.error):
            return
        yield walks
        if time.monotonic() > end or all(x.interval(level).width <= budget.width for x in means):
            return


def with_log_z(
    sampler: Sampler, log_z: Interval, level: float, budget: Budget, draws: Draws
) -> Result:
    """Regime Z: `TV(p_F, mu) = E_{p_F}[(1 - w)_+]`, from samples of the model alone.

    With `Z- <= Z <= Z+`, the variable of `Z+` is at least that of `Z`, and that of `Z-` at most. So
    the first mean bounds TV from above and the second from below, each at the level. And
    `E[R p_B / p_F] <= Z`, so the mean weight bounds `Z` from below, and may refute the given one.

    Args:
        sampler: draws the trajectories.
        log_z: bounds of `log Z`, in nats; the lower one may be minus infinity.
        level: the most with which each bound fails.
        budget: when to stop.
        draws: receives the trajectories.

    Raises:
        InputError: if the upper end of `log Z` is infinite, or below that of the weights.
    """
    if not (log_z.low <= log_z.high and math.isfinite(log_z.high)):
        raise InputError(
            f"log Z lies between {log_z.low} and {log_z.high}, but must be a finite number, or a "
            "lower and an upper one (the lower may be minus infinity)"
        )
    above, below, weight = MeanInterval(), MeanInterval(), LowerMean()
    for walks in _blocks(sampler, budget, level, [above, below], draws):
        for mean, bound in ((above, log_z.high), (below, max(log_z.low, -LARGEST))):
            mean.add(*shortfall(walks.log_weight - bound, _rounding(walks, bound)))
        weight.add(from_below(walks.log_weight - log_z.high, _rounding(walks, log_z.high)))
    largest_mean = weight.bound(level)
    floor = log_z.high + math.log(largest_mean) if largest_mean > 0 else -math.inf
    if largest_mean > 1:
        raise InputError(
            f"log Z is {log_z.high:.9g} at most, but the weights of {above.count:,} "
            f"trajectories certify that it is above {floor:.9g} (level {level:g}): correct log Z, "
            "the reward, or the log-probabilities of the sampler"
        )
    interval = Interval(below.interval(level).low, above.interval(level).high)
    lines = [Line("log Z from below, nats", floor, "bound"), *weight_lines(draws.all, log_z.high)]
    return Result(interval, lines, above.count)


def with_target(
    terminals: Sequence[Hashable], sampler: Sampler, level: float, budget: Budget, draws: Draws
) -> Result:
    """Regime S: independent exact samples of the target, `Z` unknown.

    For any `z`, `TV(p_F, mu)` lies between the smaller and the larger of
    `E_mu[(1 - z p_F / (R p_B))_+]` and `E_{p_F}[(1 - R p_B / (z p_F))_+]` (claim
    one-sided-tv-bound), and is at least `mu(A) - p_F(A)` for the event `A` that `R p_B / p_F > z`.
    At `z = Z` all three are equal. Here a pilot estimates `z`, and its trajectories are left out of
    the means. Each of the four means is bounded at a quarter of the level.

    Args:
        terminals: independent samples of the target.
        sampler: draws the trajectories.
        level: the most with which each bound fails.
        budget: when to stop.
        draws: receives the trajectories.
    """
    log_z = _pilot(sampler)
    model, target = MeanInterval(), MeanInterval()
    above_model, above_target = MeanInterval(), MeanInterval()
    for walks in _blocks(sampler, budget, level / 4, [model, target], draws):
        model.add(*shortfall(walks.log_weight - log_z, _rounding(walks, log_z)))
        above_model.add((walks.log_weight > log_z).astype(float))
        part = terminals[target.count : target.count + len(walks.error)]
        if len(part):
            back = sampler.draw_backward(part)
            target.add(*shortfall(log_z - back.log_weight, _rounding(back, log_z)))
            above_target.add((back.log_weight > log_z).astype(float))
    sides = model.interval(level / 4), target.interval(level / 4)
    events = above_model.interval(level / 4), above_target.interval(level / 4)
    least = max(min(side.low for side in sides), (events[1].low - events[0].high) * (1 - 2.0**-50))
    interval = Interval(least, max(side.high for side in sides))
    lines = [
        Line("model samples: E[(1 - R p_B / (z p_F))+]", sides[0], "bound"),
        Line("target samples: E[(1 - z p_F / (R p_B))+]", sides[1], "bound"),
        Line("model samples: share with R p_B / p_F > z", events[0], "bound"),
        Line("target samples: share with R p_B / p_F > z", events[1], "bound"),
        Line("target samples used", Fraction(target.count), "as given"),
        Line("log z, a pilot's estimate, nats", log_z, "estimate"),
        *weight_lines(draws.all, None),
    ]
    return Result(interval, lines, model.count)


def with_neither(sampler: Sampler, level: float, budget: Budget, draws: Draws) -> Result:
    """Regime N: a lower bound of TV alone.

    A mode that the sampler never visits changes none of its samples, so no upper bound below 1 is
    possible. But the mean weight gives a lower bound `z` of `Z`, and `(1 - R p_B / (z p_F))_+` is
    at most its value at `Z`. So bets on its mean win no more than bets on the variable whose mean
    is TV, however `z` was chosen: the same samples serve both bounds. Each has half of the level.

    Args:
        sampler: draws the trajectories.
        level: the most with which each bound fails.
        budget: when to stop, but for its width.
        draws: receives the trajectories.
    """
    log_scale, weight, mean = _pilot(sampler), LowerMean(), LowerMean()
    drawn: list[Walks] = []
    # This interval has no upper end, so that drawing never stops for its width.
    for walks in _blocks(sampler, budget._replace(width=0.0), level, [MeanInterval()], draws):
        weight.add(from_below(walks.log_weight - log_scale, _rounding(walks, log_scale)))
        drawn.append(walks)
    bound, floor, low = weight.bound(level / 2), -math.inf, 0.0
    if bound > 0:
        log_bound = math.log(bound)
        floor = log_scale + log_bound - 2.0**-50 * (abs(log_scale) + abs(log_bound))
        for walks in drawn:
            mean.add(shortfall(walks.log_weight - floor, _rounding(walks, floor)).low)
        low = mean.bound(level / 2)
    lines = [Line("log Z from below, nats", floor, "bound"), *weight_lines(draws.all, None)]
    return Result(Interval(low, 1.0), lines, draws.count)


def _pilot(sampler: Sampler) -> float:
    """An estimate of `log Z` from trajectories that are left out of all means, in nats."""
    log_z = log_mean(_drawn(sampler, PILOT, Draws()).log_weight)
    if not math.isfinite(log_z):
        raise InputError("no trajectory of the sampler has a weight above 0: p_B excludes them all")
    return log_z


def weight_lines(log_weights: Any, log_z: float | None) -> list[Line]:
    """Estimates from importance weights, which miss modes without samples."""
    mean, log_mean_weight = float(log_weights.mean()), log_mean(log_weights)
    values = {
        **({} if log_z is None else {"KL(p_F || mu), nats": log_z - mean}),
        "log mean weight, nats": log_mean_weight,
        "mean log weight (ELBO), nats": mean,
    }
    if math.isfinite(log_mean_weight):
        values[f"effective sample size, of {len(log_weights):,}"] = effective_size(log_weights)
        k = pareto_k(log_weights)
        # Minus infinity where a few values are all that the weights have.
        values["Pareto k of the weights"] = math.nan if math.isinf(k) else k
    # Too few weights have no tail to be fitted.
    return [Line(name, x, "estimate") for name, x in values.items() if not math.isnan(x)]


def from_below(log_values: Floats, error: Floats) -> Floats:
    """Lower bounds of `exp(log_values)`, cut off at the largest value of a bet."""
    with np.errstate(over="ignore"):
        cut: Floats = np.minimum(np.exp(log_values - error) * (1 - SLACK), LARGEST)
    return cut


def _rounding(walks: Walks, log_z: float) -> Any:
    """A bound of the rounding in `log_weight - log_z`, which adds a subtraction."""
    sizes = np.where(np.isfinite(walks.log_weight), np.abs(walks.log_weight), 0.0)
    return walks.error + (abs(log_z) + sizes) * 2.0**-52


def _drawn(sampler: Sampler, size: int, draws: Draws) -> Walks:
    walks = sampler.draw(size, labels=draws.labels)
    if np.isnan(walks.log_weight).any() or not np.isfinite(walks.error).all():
        raise InputError(
            "a trajectory has log p_F, log p_B or log R that is NaN: check network and reward"
        )
    if not len(walks.log_weight) and not draws.count:
        raise InputError(
            f"the sampler draws no trajectory, or none after the {PILOT:,} from which regimes S "
            "and N estimate log Z: record more"
        )
    draws.log_weights.append(walks.log_weight)
    if draws.watch is not None:
        draws.watch(walks)
    return walks
