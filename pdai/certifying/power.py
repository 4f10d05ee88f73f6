"""`pdai.power`: how many samples show a distance to a law, before any is drawn."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pdai.certifying.judging import checked_level
from reference.certificates.listed import UNIFORM, law_of
from reference.certificates.power import Power, power_of
from reference.contract.errors import InputError, check_integer, check_seed, shown
from reference.contract.user_code import number_or_infinite

# The most outcomes of a uniform law, whose probabilities are held in memory.
MOST = 10**7


def power(
    distance: float,
    *,
    law: str | Path | Mapping[Hashable, Any] | None = None,
    support: str | Path | Sequence[Hashable] | None = None,
    outcomes: int | None = None,
    against: str | Path | Mapping[Hashable, Any] | None = None,
    level: float = 1e-6,
    seed: int = 0,
) -> Power:
    """Say how many samples are needed to show a distance to a law, before any is drawn.

    Args:
        distance: the distance, a TV.
        law: the law, as `certify` takes it.
        support: the values of the uniform law.
        outcomes: the number of equally likely values, in place of a law.
        against: the law of a wrong sampler, as weights or a CSV file; by default, wrong samplers
            at that distance of three kinds.
        level: the level of the certificate.
        seed: the random seed of the simulation.

    Raises:
        InputError: if a number breaks a rule, or not one of law and outcomes is given.
    """
    given, distance = distance, number_or_infinite(distance, "distance")
    if not 0 < distance < 1:
        raise InputError(f"distance is {given}, but must lie between 0 and 1")
    level = checked_level(level)
    check_seed("power", seed)
    if law is None and outcomes is not None:
        check_integer("power", "outcomes", outcomes, 2, most=MOST)
        if support is not None or against is not None:
            raise InputError("support and against name values: give the law in place of outcomes")
        return power_of(np.full(outcomes, 1 / outcomes), distance, level, seed=seed)
    if law is None or outcomes is not None:
        raise InputError("give either the law, or the number of equally likely outcomes")
    chances = law_of(law, support).listed()
    values = np.array([*map(float, chances.values())])
    if against is None:
        return power_of(values, distance, level, seed=seed)
    wrong = law_of(against, [*chances] if against == UNIFORM else None).listed()
    for value in wrong:
        if value not in chances:
            raise InputError(
                f"the wrong law has {shown(value)}, which is outside of the law: one sample of it "
                "shows that"
            )
    others = np.array([float(wrong.get(value, 0)) for value in chances])
    return power_of(values, distance, level, others, seed)
