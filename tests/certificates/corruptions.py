"""Two right certificates, ways to write them otherwise, and ways to make them wrong."""

from collections.abc import Callable, Mapping
from fractions import Fraction

Change = Callable[[str], str]


class Small:
    """The problem that `GOOD` is of."""

    initial = "o"
    graph: Mapping[str, tuple[str, ...]] = {"o": ("a", "b"), "a": ("x", "y"), "b": ("y", "z")}
    rewards: Mapping[str, Fraction] = {"x": Fraction(1, 2), "y": Fraction(1), "z": Fraction(1)}

    def children(self, state: str) -> tuple[str, ...]:
        return self.graph.get(state, ())

    def reward(self, terminal: str) -> Fraction:
        return self.rewards[terminal]


class Merging(Small):
    """The problem of whose histories `HISTORIES` is a table."""

    initial = "s"
    graph: Mapping[str, tuple[str, ...]] = {
        "s": ("a", "b"),
        "a": ("c",),
        "b": ("c",),
        "c": ("x", "y"),
    }
    rewards: Mapping[str, Fraction] = {"x": Fraction(1), "y": Fraction(2)}


# The masses are 1/8; 1/8 + 1/4; 1/2, and R / Z = 1/5, 2/5, 2/5: TV = (3/40 + 1/40 + 1/10) / 2.
GOOD = """pdai-certificate 1
problem tests.certificates.corruptions:Small
nodes 6
arithmetic exact
Z 15 6
TV = 1 10
i 4 1 1 2 3 | 'o'
i 9007199254740992 3 4503599627370496 4 4503599627370496 | 'a'
i 3 4 1 5 2 | 'b'
t 3 | 'x'
t 6 | 'y'
t 6 | 'z'
end
"""

# p_T(x) = 1/4 1/8 + 3/4 1/3 = 9/32, and R / Z = 1/3 there: TV = 5/96.
HISTORIES = """pdai-certificate 1
problem tests.certificates.corruptions:Merging
nodes 7
arithmetic exact
Z 3 1
TV = 5 96
i 4 1 1 3 3 | 's'
i 1 2 1 | 'a'
i 8 5 1 6 7 | 'c'
i 1 4 1 | 'b'
i 3 5 1 6 2 | 'c'
t 1 | 'x'
t 2 | 'y'
end
"""


def swap(*pairs: str) -> Change:
    """Each odd text, which must be there once, becomes the next one."""

    def change(text: str) -> str:
        for old, new in zip(pairs[::2], pairs[1::2], strict=True):
            assert text.count(old) == 1, (old, text.count(old))
            text = text.replace(old, new)
        return text

    return change


def claim(relation: str, value: Fraction, scale: int | None = None) -> Change:
    """Another claim."""

    def change(text: str) -> str:
        before, _, rest = text.partition("\nTV ")
        line = f"TV {relation} {value.numerator} {value.denominator}"
        text = f"{before}\n{line}\n{rest.partition(chr(10))[2]}"
        return text if scale is None else text.replace("exact", f"rounded {scale}")

    return change


# Other ways to write GOOD, and other right claims.
SAME: dict[str, Change] = {
    "unchanged": lambda text: text,
    "TV not reduced": swap("TV = 1 10", "TV = 10 100"),
    "a row not reduced": swap("i 3 4 1 5 2", "i 3000 4 1000 5 2000"),
    "all rewards scaled": swap(
        "t 3", "t 9", "t 6 | 'y'", "t 18 | 'y'", "t 6 | 'z'", "t 18 | 'z'", "Z 15 6", "Z 45 18"
    ),
    # p(x) and p(y) are both below the target, so that the total variation stays.
    "another sampler with the same TV": swap(
        "3 4503599627370496 4 4503599627370496", "3 4503599627370497 4 4503599627370495"
    ),
    "an edge of probability zero": swap("i 3 4 1 5 2", "i 3 3 0 4 1 5 2"),
    "no end of the last line": lambda text: text.removesuffix("\n"),
    "a bar in a label": swap("'z'", "'z' | 'w'"),
    "at most TV": claim("<=", Fraction(1, 10)),
    "at least TV": claim(">=", Fraction(1, 10)),
    "at most 2": claim("<=", Fraction(2)),
    "at least -1": claim(">=", Fraction(-1)),
    "at most a little more, rounded": claim("<=", Fraction(1, 10) + Fraction(1, 10**8), 10**9),
    "at least a little less, rounded": claim(">=", Fraction(1, 10) - Fraction(1, 10**8), 10**9),
    "at most TV, at a scale that rounds nothing": claim("<=", Fraction(1, 10), 24),
    "TV, at a scale that rounds nothing": claim("=", Fraction(1, 10), 24),
    "at most 2, at scale 1": claim("<=", Fraction(2), 1),
    "at most the upper end": claim("<=", Fraction(27, 120), 4),
    "at least the lower end": claim(">=", Fraction(6, 120), 4),
    "only the source": lambda text: (
        "pdai-certificate 1\nproblem -\nnodes 1\narithmetic exact\nZ 2 1\nTV = 0 1\nt 2 | -\nend\n"
    ),
}

# Of GOOD: each line may be none of these ...
LINES: dict[str, tuple[str, ...]] = {
    "TV = 1 10": (
        # Another value, or over zero, or with two signs, or above one.
        f"TV = {10**20 + 1} {10**21}", f"TV = {10**20 - 1} {10**21}", "TV = -1 10", "TV = -1 -10",
        "TV = 0 0", "TV = 0 1", "TV <= 1 0", "TV <= -2 -10", "TV >= 1 -1", "TV <= 0 1",
        "TV <= -1 1", "TV >= 1 1",
        # Another relation.
        "TV 1 10", "TV < 2 10", "TV > 0 10", "TV == 1 10", "TV =< 1 10", "TV \u2264 1 10",
        "TV 1 = 10",
    ),
    # Wrong, over zero, with two signs, reduced, over a negative number.
    "Z 15 6": ("Z 16 6", "Z 15 0", "Z -15 -6", "Z 0 0", "Z 5 2", "Z -15 6", "Z 15 -6", "Z 15 6 1"),
    "4 4503599627370496": ("4 4503599627370495", "4 4503599627370497"),
    "i 3 4 1 5 2": (
        # The row is right, and the law wrong by an ulp.
        f"i {3 * 10**20} 4 {10**20 + 1} 5 {2 * 10**20 - 1}",
        # Negative entries whose sum is right, minus zero, a denominator that is none.
        "i 3 4 -1 5 4", "i 3 3 -0 4 1 5 2", "i 0 4 0 5 0", "i -3 4 -1 5 -2",
        # An edge twice, to itself, backwards, to the source, outside, and a second source.
        "i 3 4 1 5 1 5 1", "i 3 2 1 5 2", "i 3 1 1 5 2", "i 3 0 1 5 2", "i 3 4 1 6 2",
        "i 3 4 1 5 2 6 0", "i 3 4 1 1" + "0" * 40 + " 2", "i 3 4 3",
        # No children, one without its numerator, one that is not a number.
        "i 3", "i 0", "i 3 4 1 5", "i 3 4 1 | 5 2",
        # Numbers that are huge, too long, or wrap around.
        "i 3 4 1 5 2" + "0" * 200_000, "i 3" + "0" * 200_000 + " 4 1 5 2",
        "i 3 4 1 5 2" + "0" * 3_999, "i 3 4 1 5 2" + "0" * 4_000,
        f"i 3 4 {2**64 + 1} 5 {2 - 2**64}", f"i 3 4 1 {2**64 + 5} 2", f"i 3 4 1 {2**63 + 5} 2",
        # Layout.
        "\ni 3 4 1 5 2", "i 3  4 1 5 2",
    ),
    # Not in order, to a negative node, without the edge to one that is then a source.
    "i 4 1 1 2 3": ("i 4 2 3 1 1", "i 4 -1 1 2 3", "i 4 2 4", "i 4 1 0_1 2 3"),
    "t 3 |": (
        "t 3 5 1 |", "i 1 4 1 |", "t 4 |", "t |", " t 3 |", "x 3 |", "T 3 |",
        *(f"t {word} |" for word in ("003", "0x3", "+3", "3.0", "3e0", "nan", "-", "6/2", "3\0")),
    ),
    # Labels that are missing, empty, out of place, or not of printable ASCII.
    "t 3 | 'x'": ("t 3", "t 3 | ", "t 3 |", "t 3|'x'", "t 3 |\t'x'", "| 'x'", "'x' | t 3"),
    "'x'": ("'\t'", "'\u00e9'", "'\x7f'", "'\0'", "x" * 10_001),
    "'x'\n": ("'x'\r\n",),
    "exact": ("float64", "exact 1000", "rounded", "rounded 10 10", "rounded 1000000001"),
    "arithmetic exact\n": ("",),
    "certificate 1": ("certificate 2",),
    "problem tests.certificates.corruptions:Small": ("problem",),
    "tests.certificates.corruptions:Small": ("",),
    "nodes 6": ("nodes 7", "nodes 5"),
    "end\n": ("end \n", "end\nend\n", "end\nt 1 | 'w'\n", "end\n\n"),
}  # fmt: skip

# ... and this may not be done to it: none may be accepted.
CORRUPTIONS: dict[str, Change] = {
    **{f"{old} -> {new}": swap(old, new) for old, news in LINES.items() for new in news},
    "negative entry, sum and TV right": swap("i 3 4 1 5 2", "i 3 4 -1 5 4", "= 1 10", "= 3 5"),
    "unreachable island": swap("nodes 6", "nodes 8", "end", "i 1 7 1 | 'u'\nt 0 | 'v'\nend"),
    "negative reward, sum right": swap("t 3 |", "t -1 |", "t 6 | 'y'", "t 10 | 'y'"),
    "negative reward, sum and TV right": swap(
        "t 3 |", "t -1 |", "t 6 | 'y'", "t 10 | 'y'", "= 1 10", "= 7 24"
    ),
    "all rewards zero": swap(
        "t 3 |", "t 0 |", "t 6 | 'y'", "t 0 | 'y'", "t 6 | 'z'", "t 0 | 'z'", "Z 15", "Z 0"
    ),
    "rewards exchanged": swap("t 3 | 'x'\nt 6 |", "t 6 | 'x'\nt 3 |"),
    **{
        f"{nodes} nodes": lambda text, nodes=nodes: (
            text[: text.index("i 4")].replace("nodes 6", f"nodes {nodes}") + "end\n"
        )
        for nodes in (0, -1)
    },
    **{
        f"truncated before {place!r}": lambda text, place=place: text[: text.index(place)]
        for place in ("end", " 1 5 2", "i 4", "Z 15", "pdai")
    },
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "a byte order mark": lambda text: "\ufeff" + text,
    "fields exchanged": swap("Z 15 6\nTV = 1 10", "TV = 1 10\nZ 15 6"),
    "a field twice": swap("Z 15 6\n", "Z 15 6\nZ 15 6\n"),
    # At this scale, TV is found to lie between 6/120 and 27/120.
    "rounded, equal to the lower end": claim("=", Fraction(6, 120), 4),
    "rounded, equal to the upper end": claim("=", Fraction(27, 120), 4),
    "rounded, no room above": claim("<=", Fraction(1, 10), 10**9 + 1),
    "rounded, no room below": claim(">=", Fraction(1, 10), 10**9 + 1),
    "rounded, wrong above": claim("<=", Fraction(999, 10_000), 10**40),
    "rounded, wrong below": claim(">=", Fraction(1001, 10_000), 10**40),
    **{
        f"rounded, scale {scale}": swap("exact", f"rounded {scale}", "TV = 1 10", "TV <= 2 1")
        for scale in ("0", "-1000", "1/2")
    },
    **{
        f"rounded, {pairs[1]}": swap("exact", "rounded 1000", "TV = 1 10", "TV <= 2 1", *pairs)
        for pairs in (
            ("i 3 4 1 5 2", "i 3 4 -1 5 4"), ("i 3 4 1 5 2", "i 0 4 0 5 0"),
            ("i 3 4 1 5 2", "i 3 4 1 5 1"), ("t 3 |", "t -1 |", "6 | 'y'", "10 | 'y'"),
        )
    },
    "rounded, Z wrong": swap("exact", "rounded 1000", "TV = 1 10", "TV <= 2 1", "Z 15", "Z 14"),
    "rows exchanged": swap("i 4 1 1 2 3 | 'o'\n", "", "i 3 4 1 5 2 | 'b'\n",
                           "i 3 4 1 5 2 | 'b'\ni 4 1 1 2 3 | 'o'\n"),
    "the source missing": swap("i 4 1 1 2 3 | 'o'\n", "", "nodes 6", "nodes 5"),
    "a row twice": swap("t 3 | 'x'\n", "t 3 | 'x'\nt 3 | 'x'\n"),
    **{
        f"{relation} TV {sign:+d}e-{power}": claim(
            relation, Fraction(1, 10) + sign * Fraction(1, 10**power)
        )
        for relation, sign in (("=", 1), ("=", -1), ("<=", -1), (">=", 1))
        for power in (6, 30, 300)
    },
}  # fmt: skip

# Of HISTORIES: none may be accepted.
HISTORY_CORRUPTIONS: dict[str, Change] = {
    "a leaf's terminals exchanged": swap("i 8 5 1 6 7", "i 8 5 7 6 1"),
    "the leaves of two histories exchanged": swap("8 5 1 6 7 | 'c'\ni 1 4 1 | 'b'\ni 3 5 1 6 2",
                         "3 5 1 6 2 | 'c'\ni 1 4 1 | 'b'\ni 8 5 1 6 7"),
    "a history's mass to the other terminal": swap("i 3 5 1 6 2", "i 3 5 2 6 1"),
    "a history without a row": swap("i 1 4 1 | 'b'\n", ""),
    "a history that leads into another's": swap("i 1 4 1", "i 1 2 1"),
    "a history forgotten": swap("i 1 2 1 | 'a'", "i 1 4 1 | 'a'"),
    "the wrong law of the first step": swap("i 4 1 1 3 3", "i 4 1 3 3 1"),
    "a terminal that no history reaches": swap("i 8 5 1 6 7", "i 8 6 8", "i 3 5 1 6 2", "i 3 6 3"),
    "a terminal counted twice": swap(
        "Z 3 1", "Z 5 1", "nodes 7", "nodes 8", "end", "t 2 | 'y'\nend"
    ),
    "at most TV minus one ulp": claim("<=", Fraction(5, 96) - Fraction(1, 2**53)),
    "at least TV plus one ulp": claim(">=", Fraction(5, 96) + Fraction(1, 2**53)),
}  # fmt: skip

RIGHT = [HISTORIES, *(change(GOOD) for change in SAME.values())]
WRONG = {name: change(GOOD) for name, change in CORRUPTIONS.items()}
WRONG |= {name: change(HISTORIES) for name, change in HISTORY_CORRUPTIONS.items()}

# The claim may hold, but of another problem: `confirm_problem` must say so. First of GOOD ...
FOREIGN: dict[str, Change] = {
    "labels of terminals swapped": swap("'x'", "'w'", "'z'", "'x'", "'w'", "'z'"),
    "labels of equal rewards swapped": swap("'y'", "'w'", "'z'", "'y'", "'w'", "'z'"),
    "labels of inner states swapped": swap("'a'", "'w'", "'b'", "'a'", "'w'", "'b'"),
    "another initial state": swap("'o'", "'a'"),
    "a label of no state": swap("'x'", "'w'"),
    "a label without quotes": swap("'x'", "x"),
    "a label in other quotes": swap("'x'", '"x"'),
    "a label with a space after it": swap("'x'", "'x' "),
    "an inner label twice": swap("'b'", "'a'"),
    "a terminal label twice": swap("'z'", "'y'"),
    "a terminal label on an inner state": swap("'b'", "'z'"),
    "an inner label on a terminal state": swap("'z'", "'b'"),
    "the initial label on a terminal state": swap("'z'", "'o'"),
    "reward of another state": swap("t 3 | 'x'\nt 6 |", "t 6 | 'x'\nt 3 |", "= 1 10", "= 11 40"),
    "all rewards doubled": swap("Z 15 6", "Z 15 3"),
    "all rewards halved": swap("Z 15 6", "Z 15 12"),
    "one reward changed": swap("t 3 |", "t 4 |", "Z 15 6", "Z 16 6", "= 1 10", "= 1 8"),
    "a reward changed by 1e-30": swap(
        "t 3 |", f"t {3 * 10**30 + 1} |", "t 6 | 'y'", f"t {6 * 10**30} | 'y'",
        "t 6 | 'z'", f"t {6 * 10**30} | 'z'", "Z 15 6", f"Z {15 * 10**30 + 1} {6 * 10**30}",
        "= 1 10", "<= 2 10",
    ),
    "an edge added": swap("i 3 4 1 5 2", "i 3 3 0 4 1 5 2"),
    "an edge removed": swap("i 3 4 1 5 2", "i 2 5 2", "= 1 10", "= 7 20"),
    "an edge moved": swap("i 3 4 1 5 2", "i 3 3 1 5 2", "= 1 10", "= 11 40"),
    "a terminal state as two nodes": swap(
        "nodes 6", "nodes 7", "Z 15", "Z 21", "= 1 10", "= 3 14", "i 3 4 1 5 2", "i 3 5 2 6 1",
        "end", "t 6 | 'y'\nend",
    ),
    "a child as two nodes": swap(
        "nodes 6", "nodes 7", "i 4 1 1 2 3", "i 8 1 1 2 6 3 1",
        "3 4503599627370496 4", "4 4503599627370496 5",
        "i 3 4 1 5 2 | 'b'", "i 3 5 1 6 2 | 'b'\ni 2 4 1 5 1 | 'a'",
    ),
    "a state inserted": swap(
        "nodes 6", "nodes 7", "i 3 4 1 5 2", "i 1 3 1",
        "3 4503599627370496 4", "4 4503599627370496 5",
        "t 3 |", "i 3 5 1 6 2 | 'b'\nt 3 |",
    ),
    "a terminal state split": swap(
        "nodes 6", "nodes 7", "Z 15 6", "Z 15 6", "i 3 4 1 5 2", "i 3 4 1 5 1 6 1",
        "t 6 | 'z'", "t 3 | 'z'\nt 3 | 'z'",
    ),
    "a state cut off": lambda text: (
        "pdai-certificate 1\nproblem -\nnodes 1\narithmetic exact\nZ 3 6\nTV = 0 1\n"
        "t 3 | 'x'\nend\n"
    ),
    "a terminal state without its reward": swap(
        "t 6 | 'z'", "t 0 | 'z'", "Z 15", "Z 9", "= 1 10", "= 1 2"
    ),
}  # fmt: skip

# ... then of HISTORIES.
FOREIGN_HISTORIES: dict[str, Change] = {
    "labels of terminals swapped": swap("'x'", "'w'", "'y'", "'x'", "'w'", "'y'"),
    "a history of another state": swap("'b'", "'c'"),
    "the last state of a history exchanged": swap("i 3 5 1 6 2 | 'c'", "i 3 5 1 6 2 | 'b'"),
    "a history that ends early": swap("i 8 5 1 6 7", "i 8 6 8", "= 5 96", "= 1 12"),
    "two histories of one first step": swap("'b'", "'a'"),
    "a leaf for each history": swap(
        "nodes 7", "nodes 8", "i 3 5 1 6 2", "i 3 5 1 7 2", "t 2 | 'y'", "t 1 | 'y'\nt 1 | 'y'",
        "= 5 96", "= 1 6",
    ),
    "rewards exchanged": swap("t 1 |", "t 2 |", "t 2 | 'y'", "t 1 | 'y'", "= 5 96", "= 37 96"),
}  # fmt: skip
