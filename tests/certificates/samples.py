"""Statistical certificates: right ones and wrong ones, made without the writers."""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from reference.certificates import Sample, Verdict, find_checker, run_checker
from reference.certificates.refuted import BareHeader, Drawn, Value, won_by_bets
from reference.certificates.sampled import SamplesHeader, Values, capital

UNIT = 10**6
# The level is a half, and Z lies between 20 and 21.
HEADER = SamplesHeader(
    *("the words", 0, 2**140, 20, 21, 1, 1, 2), tv_low=30_000, tv_high=500_000, tv_den=UNIT,
    weights=0, won_low=0, won_high=0,
)  # fmt: skip


def slips(text: str, changes: str) -> dict[str, str]:
    """The text with each change alone, `old -> new;`, made where `old` comes first."""
    return {one: text.replace(*one.split(" -> "), 1) for one in re.split(r";\s", changes)}


# What none of these files may look like.
FORM: dict[str, Callable[[str], str]] = {
    "no end": lambda text: text.removesuffix("end\n"),
    "more": lambda text: text + "end\n",
    "a leading zero": lambda text: text.replace("level 1", "level 01"),
    "no label": lambda text: re.sub(r" \| .*", "", text, count=1),
    "another version": lambda text: re.sub(r"^(pdai-\w+) 1", r"\1 2", text),
}


def verdict(check: Callable[[Path], Verdict], path: Path, text: str) -> str:
    """The verdict in Python, which must be that of the verified program if it is built."""
    path.write_text(text)
    checked = check(path)
    if find_checker() is not None:
        assert run_checker(path).status == checked.status, text
    return checked.status


def each_changed(text: str, places: Sequence[tuple[int, int]]) -> Iterator[str]:
    """The text with one of the numbers at these places moved by one."""
    for number, (first, last) in enumerate(places):
        off = (-1) ** (number % 3)
        yield text[:first] + str(int(text[first:last]) + off) + text[last:]


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
    **slips(
        RIGHT_SAMPLES,
        f"""Z 20 21 1 -> Z 0 0 1; Z 20 21 1 -> Z 20 21 0; level 1 2 -> level 1 0;
scale {HEADER.scale} -> scale 0; TV 30000 -> TV -1; TV 30000 -> TV 500001;
500000 1000000 -> 500000 4; 30000 500000 1000000 -> 0 0 0; f 2 3 -> f 4 3;
f 2 3 -> f -2 3; f 2 3 -> f 0 3; f 2 3 -> f 0 0; b 1 1 -> b 2 1; s 12 3 -> s -12 3;
s 12 3 -> s 12 0""",
    ),
}

# Bare samples: four values of a law, of which the first comes more often than it should.
BARE = BareHeader("four", 0, 0, 2**140, 1, 2, 20, 100, 0, 0)
WEIGHTS = (1, 2, 0, 2)


def bare_text(
    header: BareHeader, drawn: Sequence[int], weights: Sequence[int] = WEIGHTS, **others: int
) -> str:
    """The file with what these samples win, whether or not that is enough, and other numbers."""
    trace = header.scale + sum(t * (value + 1) for t, value in enumerate(drawn, 1))
    inside = [max(value, 0) % len(weights) for value in drawn]
    won = won_by_bets(header, weights, inside)
    right = header._replace(values=len(weights), samples=len(drawn), trace=trace, won=won)
    changed = right._replace(**{name: getattr(right, name) + off for name, off in others.items()})
    values = [Value(f"value {place}", weight).line() for place, weight in enumerate(weights)]
    return "\n".join([*changed.lines(), *values, *(Drawn(x).line() for x in drawn), "end\n"])


BARE_DRAWN = [0, 1, 0, 0] * 12
RIGHT_BARE = (bare_text(BARE, BARE_DRAWN), bare_text(BARE._replace(tv_low=0), BARE_DRAWN[::-1]))
WRONG_BARE = {
    "too little is won": bare_text(BARE._replace(tv_low=40), BARE_DRAWN),
    "TV below zero": bare_text(BARE._replace(tv_low=-1), BARE_DRAWN),
    "a negative level": bare_text(BARE._replace(level_num=-1, level_den=-2), BARE_DRAWN),
    "another number of samples": bare_text(BARE, BARE_DRAWN, samples=1),
    "another trace": bare_text(BARE, BARE_DRAWN, trace=1),
    "another capital": bare_text(BARE, BARE_DRAWN, won=1),
    **slips(
        bare_text(BARE, BARE_DRAWN),
        f"level 1 2 -> level 1 0; TV 20 100 -> TV 20 0; scale {BARE.scale} -> scale 0",
    ),
    "a negative weight": bare_text(BARE, BARE_DRAWN, (2, 2, -1, 2)),
    "no weight": re.sub(r"(won|v) \d+", r"\1 0", bare_text(BARE._replace(tv_low=0), [0], (1,))),
    "a value that is none": bare_text(BARE, [*BARE_DRAWN[:-1], 7]),
    "a value before the first": bare_text(BARE, [*BARE_DRAWN[:-1], -1]),
}

# Two nodes: three graphs, of the weights 6, 15 and 14.
RIGHT_SUMS = """pdai-dags 1
posterior 'my.csv'
nodes 2
Z 23
w 2 5 0 0 | 'a'
w 3 0 7 0 | 'b'
m 0 23 f e | 'a'
m e f 0 23 | 'b'
end
"""
# Three nodes: each weight is one.
EVEN_SUMS = "\n".join(
    [
        *("pdai-dags 1", "posterior ones", "nodes 3", "Z 19"),
        *(f"w 1 1 1 1 1 1 1 1 | {name}" for name in "abc"),
        *("m 0 19 8 9 8 9 | a", "m 8 9 0 19 8 9 | b", "m 8 9 8 9 0 19 | c"),
        "end\n",
    ]
)
WRONG_SUMS = slips(
    RIGHT_SUMS,
    """Z 23 -> Z 24; f e -> f f; f e -> e e; w 2 -> w 3; w 2 5 0 0 -> w 2 5 0;
w 2 5 0 0 -> w 2 5 0 0 0; w 2 5 0 0 -> w 2; w 3 0 7 0 -> w 3; m 0 23 f e -> m 0 23;
m 0 23 f e -> m 0 23 f e f e""",
).values()
# Probabilities of edges and paths in hundredths, which are off by less than one.
RIGHT_FLOATS = (
    RIGHT_SUMS.replace("dags 1", "dags 2")
    .replace("Z 23", "Z 23\nwithin 1 1 64")
    .replace("end", "p 0 64 2b 28 | 'a'\np 28 2b 0 64 | 'b'\nend")
)
WRONG_FLOATS = slips(
    RIGHT_FLOATS,
    """within 1 -> within 0; 1 64 -> 0 64; 1 64 -> 1 0; 2b 28 -> 2c 28; 2b 0 -> 29 0;
p 0 64 2b 28 -> p 0 64; Z 23 -> Z 24; Z 23 -> Z 0""",
).values()
NO_SUMS = "pdai-dags 1\nposterior none\nnodes 0\nZ 1\nend\n"
