"""The number of samples that show a distance to a listed law, before any is drawn.

That a sampler farther than a distance is certified to be within it has at most the probability of
the level, however many samples there are: that is the guarantee of the bound. How many samples a
right sampler needs for its certificate, and how many show a wrong one, is estimated: the bounds
themselves are computed from samples that are drawn here.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from reference.certificates.bare import bound_by_events, bound_from_above, cuts, noise_floor
from reference.rows.exact import Floats

# Sizes are these steps of a factor of ten, up to the largest exponent.
STEPS, EXPONENT = 8, 12
# Simulated samplers of a size, how many of them must succeed, and the most samples of each.
RUNS, NEEDED, SIMULATED = 10, 9, 2_000_000
# One value in so many is too often where few are.
FEW = 100


@dataclass(frozen=True)
class Power:
    """Numbers of samples for a distance, a TV, about; None where `10^12` are too few.

    With `passes` samples a perfect sampler is certified to be within the distance, as `simulated`
    samplers were, or the size of the noise alone says so. `shows` has by the kind of wrong sampler
    its TV and the number of samples that show that the law is another. Each bound fails with
    probability at most `level`.
    """

    distance: float
    level: float
    passes: int | None
    simulated: bool
    shows: Mapping[str, tuple[float, int | None]]

    @property
    def report(self) -> dict[str, str]:
        """The numbers in words, with the evidence for each."""
        simulated = f"estimate: {NEEDED} of {RUNS} simulated samplers"
        by = simulated if self.simulated else "estimate, by the size of the noise"
        x = f"{self.distance:g}"
        return {
            f"a sampler farther than {x} is certified to be within {x}": (
                f"with probability at most {self.level:g} (bound)"
            ),
            f"samples that certify a perfect sampler to be within {x}": _count(self.passes, by),
            **{
                f"samples that show TV {tv:.3g}, {kind}": _count(count, simulated)
                for kind, (tv, count) in self.shows.items()
            },
        }

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON."""
        shows = {kind: {"tv": tv, "samples": count} for kind, (tv, count) in self.shows.items()}
        return asdict(self) | {"shows": shows}


def _count(count: int | None, evidence: str) -> str:
    return f"more than 10^{EXPONENT}" if count is None else f"{count:,} ({evidence})"


def power_of(
    law: Floats, distance: float, level: float, given: Floats | None = None, seed: int = 0
) -> Power:
    """The numbers of samples for a distance to a law.

    Args:
        law: `pi` of each value.
        distance: a TV, above 0 and below 1.
        level: the most with which each bound fails.
        given: the probabilities of a wrong sampler; by default three kinds at that distance.
        seed: of the samplers that are simulated.
    """
    random = np.random.default_rng(seed)
    # A certificate has one value more, for all that lies outside.
    target = np.append(law, 0.0)
    floor = _smallest(lambda size: noise_floor(size, target, level / 2) <= distance)
    passes, simulated = floor, floor is not None and floor <= SIMULATED

    def certifies(size: int) -> bool:
        places = random.choice(len(target), size=size, p=target / target.sum())
        return bound_from_above(places, target, level / 2)[0] <= distance

    def shows_another(chances: Floats, size: int) -> bool:
        sizes = np.diff([0, *cuts(size), size])
        pieces = [random.multinomial(k, chances / chances.sum()) for k in sizes]
        return bound_by_events(pieces, target, level / 2) > 0

    while passes is not None and simulated and not _mostly(certifies, passes):
        passes = round(passes * 10 ** (1 / STEPS))
        simulated = passes <= SIMULATED
    wrong = _wrong_laws(law, distance) if given is None else {"of the wrong law given": given}
    shows = {}
    for kind, chances in wrong.items():
        exposed = partial(shows_another, np.append(chances, 0.0))
        shows[kind] = float(abs(chances - law).sum()) / 2, _smallest(partial(_mostly, exposed))
    return Power(distance, level, passes, simulated, shows)


def _wrong_laws(law: Floats, distance: float) -> dict[str, Floats]:
    """Laws at a distance, as far as there are any: from spread out over all values to missing."""
    order = np.argsort(law, kind="stable")
    laws: dict[str, Floats] = {}
    for kind, every in (
        ("half of the values too often, half too seldom", 2),
        (f"one value in {FEW} too often", FEW),
    ):
        more = np.zeros(len(law), bool)
        more[order[every - 1 :: every]] = True
        mass = float(law[more].sum())
        if 0 < mass <= 1 - distance:
            laws[kind] = law * np.where(more, 1 + distance / mass, 1 - distance / (1 - mass))
    missing = np.zeros(len(law), bool)
    missing[order[np.cumsum(law[order]) <= distance * (1 + 2.0**-40)]] = True
    if missing.any():
        laws["the rarest values missing"] = np.where(missing, 0.0, law) / law[~missing].sum()
    return laws


def _smallest(holds: Callable[[int], bool]) -> int | None:
    """The smallest of the sizes for which something holds that holds for all larger ones."""
    sizes = [round(10 ** (k / STEPS)) for k in range(2 * STEPS, EXPONENT * STEPS + 1)]
    low, high = -1, 0
    while not holds(sizes[high]):
        if high == len(sizes) - 1:
            return None
        low, high = high, min(high + STEPS, len(sizes) - 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(sizes[middle]) else (middle, high)
    return sizes[high]


def _mostly(succeeds: Callable[[int], bool], size: int) -> bool:
    """True if enough of the runs of a size succeed; stops once that is decided."""
    failed = 0
    for _ in range(RUNS):
        failed += not succeeds(size)
        if failed > RUNS - NEEDED:
            return False
    return True
