"""Statistical certificates of words: a right one and wrong ones, made without the writer."""

import random
from collections.abc import Sequence

from reference.certificates import Sample
from reference.certificates.sampled import SamplesHeader, Values, capital

UNIT = 10**6
# The level is a half, and Z lies between 20 and 21.
HEADER = SamplesHeader(
    *("the words", 0, 2**140, 20, 21, 1, 1, 2), tv_low=30_000, tv_high=500_000, tv_den=UNIT,
    weights=0, won_low=0, won_high=0,
)  # fmt: skip


def words(count: int, seed: int = 0) -> list[Sample]:
    """Words of three letters, drawn with rows of thirds; `p_B` is one."""
    rng = random.Random(seed)
    texts = ["".join(rng.choice("aab") for _ in range(3)) for _ in range(count)]
    rows = [[(2 if letter == "a" else 1, 3) for letter in word] for word in texts]
    rewards = [(3 * (1 + word.count("a")), 3) for word in texts]
    return [Sample(*x, [(1, 1)] * 3) for x in zip(texts, rewards, rows, strict=True)]


def text_of(header: SamplesHeader, drawn: Sequence[Sample], **others: int) -> str:
    """The file with what these samples win, whether or not that is enough, and other numbers."""
    values = Values(header, drawn)
    right = header._replace(
        samples=values.count,
        weights=values.weights,
        won_low=capital(header, header.tv_low, values.low),
        won_high=capital(header, header.tv_den - header.tv_high, values.high),
    )
    changed = right._replace(**{name: getattr(right, name) + off for name, off in others.items()})
    return "\n".join([*changed.lines(), *(sample.line() for sample in drawn), "end\n"])


DRAWN = words(60)
RIGHT_SAMPLES = text_of(HEADER, DRAWN)
# In each, one rule is broken, and all else is as it must be.
WRONG_SAMPLES = {
    "too little is won below": text_of(HEADER._replace(tv_low=60_000), DRAWN),
    "too little is won above": text_of(HEADER._replace(tv_high=100_000), DRAWN),
    "a bound of Z below zero": text_of(HEADER._replace(z_low=-20, tv_low=0), DRAWN),
    "a negative level": text_of(HEADER._replace(level_num=-1, level_den=-2), DRAWN),
    "another number of samples": text_of(HEADER, DRAWN, samples=1),
    "another weight": text_of(HEADER, DRAWN, weights=1),
    "another capital below": text_of(HEADER, DRAWN, won_low=1),
    "another capital above": text_of(HEADER, DRAWN, won_high=1),
    "p_F above one": RIGHT_SAMPLES.replace("f 2 3", "f 4 3", 1),
}
