"""Problems whose reward is a product, split among clients or chunks: `R = prod R_t`.

Paper: assumption:targets. All factors share the state graph of the problem.
"""

from collections.abc import Collection, Sequence
from numbers import Integral
from random import Random
from typing import Any, Protocol, Self, runtime_checkable

from reference.contract.errors import InputError, TooLargeError, check_integer, check_list, shown
from reference.fields.field import log_float
from reference.problems.enumeration import MAX_SECONDS, AskedProblem, Growth, enumerate_dag

# The largest change of a logarithm that is rounding, relative to the logarithms: float32.
SAME_PRODUCT = 1e-5
# Terminal states to draw where there are too many to list.
DRAWN = 256


@runtime_checkable
class Factored(Protocol):
    """A problem whose reward is an exact product of numbered factors."""

    @property
    def factor_count(self) -> int:
        """The number of factors: items, positions, comparisons."""
        ...

    def with_factors(self, kept: Sequence[int]) -> Self:
        """The problem on the same state graph whose reward is the product of these factors."""
        ...


def split(problem: object, parts: int) -> tuple[Any, ...]:
    """`parts` problems on one state graph whose rewards multiply, exactly, to that of `problem`.

    Each takes consecutive factors, as nearly equally many as possible. Raises InputError if the
    reward is no product of factors, or has fewer than `parts`.
    """
    return tuple(restrict(problem, parts, (part,)) for part in range(_parts(problem, parts)))


def restrict(problem: Any, parts: int, kept: Collection[int]) -> Any:
    """The problem whose reward is the product of some of the parts of `split`.

    Args:
        problem: the problem.
        parts: the number of parts.
        kept: the numbers of those that are kept, at least one.

    Raises:
        InputError: as `split` does, or if no part is kept, or a part does not exist.
    """
    _parts(problem, parts)
    chosen = check_list(type(problem).__name__, "the parts kept", kept)
    if not chosen or not all(isinstance(k, Integral) and k in range(parts) for k in chosen):
        raise InputError(
            f"the parts {shown(chosen)} of {type(problem).__name__} in {parts} parts: name "
            f"at least one, and each from 0 to {parts - 1}"
        )
    count = problem.factor_count
    return problem.with_factors(
        [
            factor
            for part in sorted(set(chosen))
            for factor in range(part * count // parts, (part + 1) * count // parts)
        ]
    )


def check_product(problem: Any, parts: int, max_states: int) -> None:
    """Checks that the rewards of the parts multiply to one in proportion to the whole reward.

    Args:
        problem: the problem.
        parts: the number of parts.
        max_states: up to so many states, all terminal ones are compared; of more, the ends of
            random walks.

    Raises:
        InputError: as `split` does, or if the product is no multiple of the reward.
    """
    whole, *others = (AskedProblem[Any](each) for each in (problem, *split(problem, parts)))
    try:
        dag = enumerate_dag(problem, max_states)
        ends = [dag.labels[x] for x in dag.terminals]
    except TooLargeError:
        rng, growth = Random(0), Growth(whole.name, MAX_SECONDS)
        ends = [whole.random_walk(rng, growth)[-1] for _ in range(DRAWN)]
    more, sizes = {}, []
    for x in ends:
        log_parts, log_whole = [log_float(p.reward(x)) for p in others], log_float(whole.reward(x))
        more[x] = sum(log_parts) - log_whole
        sizes.append(sum(map(abs, log_parts)) + abs(log_whole))
    low, high = (choose(more, key=more.__getitem__) for choose in (min, max))
    if more[high] - more[low] > SAME_PRODUCT * (1 + max(sizes)):
        raise InputError(
            f"{whole.name} in {parts} parts: the sum of the log rewards of the parts differs from "
            f"log R by {more[low]:.6g} at {shown(low)}, and by {more[high]:.6g} at {shown(high)}, "
            "but must do so by one number everywhere: let with_factors(kept) put all that is no "
            "factor, such as a prior, into one part alone"
        )


def _parts(problem: object, parts: int) -> int:
    name = type(problem).__name__
    if not isinstance(problem, Factored):
        raise InputError(
            f"{name} does not split into factors: Sets, Preference and SyntheticSequences do, and "
            "any problem with factor_count and with_factors(kept)"
        )
    check_integer(name, "the number of parts", parts, 1)
    if parts > problem.factor_count:
        raise InputError(
            f"{name} in {parts} parts: its reward is a product of {problem.factor_count} factors, "
            "and a part without a factor has nothing to say: ask for fewer"
        )
    return parts
