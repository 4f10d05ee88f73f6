"""Phylogenetic trees by parsimony: rooted binary trees on labelled leaves, with exact `Z`."""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product
from operator import or_
from pathlib import Path
from random import Random
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from reference.contract.errors import InputError, TooLargeError, check_fields, check_integer, shown
from reference.contract.files import read_file
from reference.problems.base import dyadic
from reference.problems.closed_form import FiniteLaw, Summed, check_count, seeded, seeded_arrays

# A set of leaves is an integer of 32 bits in the environment.
MAX_TAXA = 30
# The largest number of pairs of subtrees that are joined for Z.
MAX_JOINS = 2**22
# Letters that say nothing of a site.
UNKNOWN = "-?"

# A leaf, or the two trees below a root.
Tree: TypeAlias = "int | tuple[Tree, Tree]"


class _Ancestor(NamedTuple):
    """The root of a tree as the rest of a larger one sees it.

    It has the letters that each column may have, as bits (Fitch, 1971), and the fewest changes.
    """

    letters: tuple[int, ...]
    changes: int


# For each ancestor: the leaves on the right, and the ancestors on both sides.
_Splits = dict[_Ancestor, list[tuple[int, _Ancestor, _Ancestor]]]


class Forest(NamedTuple):
    """A state: trees in the order of their least leaves; so are the two below each root."""

    trees: tuple[Tree, ...]

    def __str__(self) -> str:
        return " ".join(str(tree).replace(" ", "") for tree in self.trees)


@dataclass(frozen=True)
class Phylogeny(Summed):
    """`R(x) = exp(-cost (changes of x - least))` over the rooted binary trees of some taxa.

    The changes are those that a tree needs at least, summed over the columns of an alignment
    (Fitch, 1971), and `least` is the sum of the letters of each column, less one: no tree needs
    fewer. Every letter of the rows but `-` and `?`, unknown, is a state of its own. `exp(-cost)` is
    rounded to 24 bits; a larger cost prefers parsimony more sharply. A step joins two trees of a
    forest, as in PhyloGFN (Zhou et al., 2024), from leaves alone to one tree, of which there are
    `(2n - 3)!!`. The root does not matter: each unrooted tree occurs `2n - 3` times.
    """

    names: tuple[str, ...]
    rows: tuple[str, ...]
    cost: float = 1.0

    def __post_init__(self) -> None:
        check_fields(self, stored=True)
        check_integer("Phylogeny", "the number of taxa", len(self.names), 2, most=MAX_TAXA)
        if len(set(self.names)) != len(self.names) or len(self.rows) != len(self.names):
            raise InputError("Phylogeny: give one sequence per taxon, and each name once")
        if len({*map(len, self.rows)}) > 1 or not self.rows[0]:
            raise InputError(
                f"Phylogeny: the sequences have the lengths {shown([*map(len, self.rows)])}, but "
                "must be aligned: equally long, and not empty"
            )
        letters = max(len({*column}) for column in zip(*self.rows, strict=True))
        if not 0 < self.cost <= 100 or letters > MAX_TAXA:
            raise InputError(
                f"Phylogeny: the cost of a change is {self.cost}, and a column has {letters} "
                f"letters: give a cost above 0, at most 100, and at most {MAX_TAXA} letters"
            )

    @classmethod
    def random(cls, taxa: int = 6, sites: int = 30, cost: float = 1.0, seed: int = 0) -> Self:
        """Sequences that evolved: lineages split, and redraw a twentieth of their sites.

        Args:
            taxa: the number of sequences, at most 30.
            sites: their length.
            cost: the log weight that a change costs.
            seed: seed of the sequences.
        """
        check_integer("Phylogeny.random", "taxa", taxa, 2, most=MAX_TAXA)
        check_integer("Phylogeny.random", "sites", sites, 1, most=100_000)
        rng = seeded_arrays("Phylogeny.random", seed)
        rows = rng.integers(4, size=(1, sites))
        while len(rows) < taxa:
            rows = np.concatenate([rows, rows[rng.integers(len(rows)), None]])
            rows = np.where(rng.random(rows.shape) < 0.05, rng.integers(4, size=rows.shape), rows)
        texts = tuple("".join("ACGT"[letter] for letter in row) for row in rows)
        return cls(tuple(f"taxon{i}" for i in range(taxa)), texts, cost)

    @classmethod
    def from_fasta(cls, path: Path, cost: float = 1.0) -> Self:
        """An alignment in FASTA, lines `>name` and lines of letters; raises InputError if none."""
        text = read_file(Path(path), follow=True).decode("utf-8", "replace").strip()
        entries = [entry.split("\n", 1) for entry in text.split(">")[1:]]
        if not text.startswith(">") or any(len(entry) < 2 for entry in entries):
            raise InputError(
                f"{str(path)!r} is no FASTA file: give a line '>name', and below it a sequence, "
                "for each taxon"
            )
        rows = tuple("".join(sequence.split()).upper() for _, sequence in entries)
        return cls(tuple(name.strip() for name, _ in entries), rows, cost)

    @classmethod
    def aligned(
        cls,
        alignment: Path | None = None,
        taxa: int = 6,
        sites: int = 30,
        cost: float = 1.0,
        seed: int = 0,
    ) -> Self:
        """An alignment from a file, or one that evolved on a random tree.

        Args:
            alignment: a FASTA file of aligned sequences; they are generated if there is none.
            taxa: the number of generated sequences; 8 have 135,135 rooted trees.
            sites: the length of generated sequences.
            cost: the log weight that a change costs; a larger one prefers parsimony more sharply.
            seed: seed of generated sequences.

        Raises:
            InputError: as `from_fasta` does, or if an option of generated sequences is set as well.
        """
        if alignment is None:
            return cls.random(taxa, sites, cost, seed)
        if (taxa, sites, seed) != (6, 30, 0):
            raise InputError(
                f"the sequences of {str(alignment)!r} are not generated: leave taxa, sites and the "
                "seed of data out, or leave out alignment"
            )
        return cls.from_fasta(alignment, cost)

    @classmethod
    def minimal(cls) -> Self:
        """Four taxa: 15 trees."""
        return cls.random(4, 12)

    @property
    def initial(self) -> Forest:
        """Every leaf by itself."""
        return Forest(tuple(range(len(self.names))))

    def children(self, state: Forest) -> tuple[Forest, ...]:
        """The forests with two trees joined."""
        trees, count = state.trees, len(state.trees)
        return tuple(
            Forest((*trees[:i], (trees[i], trees[j]), *trees[i + 1 : j], *trees[j + 1 :]))
            for i in range(count)
            for j in range(i + 1, count)
        )

    def parents(self, state: Forest) -> tuple[Forest, ...]:
        """The forests with one tree split at its root."""
        trees, joined = state.trees, [i for i, x in enumerate(state.trees) if isinstance(x, tuple)]
        split = ((*trees[:i], *trees[i], *trees[i + 1 :]) for i in joined)  # type: ignore[misc]
        return tuple(Forest(tuple(sorted(parts, key=_least_leaf))) for parts in split)

    def changes(self, tree: Tree) -> int:
        """The fewest changes on a tree, over all letters at its inner nodes."""
        return self._ancestor(tree).changes

    def reward(self, terminal: Forest) -> Fraction:
        """`exp(-cost)` to the power of the changes beyond the least."""
        return self._weight ** (self.changes(terminal.trees[0]) - self.least)

    @cached_property
    def _weight(self) -> Fraction:
        return dyadic(math.exp(-self.cost))

    @cached_property
    def patterns(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """Columns that do not agree, each once: the letters of each taxon as bits, and how often.

        A letter that is unknown may be any of its column.
        """
        counts: Counter[tuple[int, ...]] = Counter()
        for column in zip(*self.rows, strict=True):
            letters = sorted({*column} - {*UNKNOWN})
            anything = (1 << len(letters)) - 1
            if len(letters) > 1:
                bits = {letter: 1 << i for i, letter in enumerate(letters)}
                counts[tuple(bits.get(letter, anything) for letter in column)] += 1
        return tuple(counts.items())

    @cached_property
    def least(self) -> int:
        """The changes that no tree does without: the letters of each column, less one."""
        return sum(times * (reduce(or_, column).bit_count() - 1) for column, times in self.patterns)

    def _joined(self, left: _Ancestor, right: _Ancestor) -> _Ancestor:
        """Fitch's rule: the letters that both may have; if there are none, those of either."""
        letters, changes = [], left.changes + right.changes
        for a, b, (_, times) in zip(left.letters, right.letters, self.patterns, strict=True):
            letters.append(a & b or a | b)
            changes += 0 if a & b else times
        return _Ancestor(tuple(letters), changes)

    def _ancestor(self, tree: Tree) -> _Ancestor:
        if isinstance(tree, int):
            return _Ancestor(tuple(column[tree] for column, _ in self.patterns), 0)
        return self._joined(*map(self._ancestor, tree))

    @cached_property
    def _subtrees(self) -> tuple[dict[int, dict[_Ancestor, int]], dict[int, _Splits]]:
        """For each set of leaves, as bits, its trees by their ancestors: counts, and splits.

        Raises TooLargeError if more than 2^22 pairs of ancestors are joined.
        """
        counts: dict[int, dict[_Ancestor, int]] = {}
        splits: dict[int, _Splits] = {}
        joins = 0
        for leaves in range(1, 1 << len(self.names)):
            rest = leaves & (leaves - 1)
            count: dict[_Ancestor, int] = defaultdict(int)
            split: _Splits = defaultdict(list)
            if not rest:
                count[self._ancestor(leaves.bit_length() - 1)] = 1
            right = rest
            while right:
                pairs = [*product(counts[leaves ^ right].items(), counts[right].items())]
                joins += len(pairs)
                if joins > MAX_JOINS:
                    raise TooLargeError(
                        f"Phylogeny: {len(self.names)} taxa have more kinds of subtrees than are "
                        "summed over: use at most 8, or fewer columns that differ"
                    )
                for (a, many), (b, more) in pairs:
                    ancestor = self._joined(a, b)
                    count[ancestor] += many * more
                    split[ancestor].append((right, a, b))
                right = (right - 1) & rest
            counts[leaves], splits[leaves] = dict(count), split
        return counts, splits

    def change_counts(self) -> dict[int, int]:
        """For each number of changes, how many of the rooted trees need that many."""
        counts: Counter[int] = Counter()
        for ancestor, count in self._roots.items():
            counts[ancestor.changes] += count
        return dict(sorted(counts.items()))

    @property
    def _roots(self) -> dict[_Ancestor, int]:
        return self._subtrees[0][(1 << len(self.names)) - 1]

    def z(self) -> Fraction:
        """`Z`, from the numbers of trees with so many changes."""
        return self._root_law.z()

    def sample(self, count: int, seed: int) -> list[Forest]:
        """Independent samples of the target, from the root down, drawn with integers alone."""
        rng, law = seeded(seed), self._root_law
        whole = (1 << len(self.names)) - 1
        return [
            Forest((self._drawn(rng, whole, law.draw(rng)),)) for _ in range(check_count(count))
        ]

    @property
    def _root_law(self) -> FiniteLaw[_Ancestor]:
        weights = {a: n * self._weight ** (a.changes - self.least) for a, n in self._roots.items()}
        return FiniteLaw.of(weights)

    def _drawn(self, rng: Random, leaves: int, ancestor: _Ancestor) -> Tree:
        """A tree of these leaves with this ancestor, uniformly."""
        counts, splits = self._subtrees
        if not leaves & (leaves - 1):
            return leaves.bit_length() - 1
        place = rng.randrange(counts[leaves][ancestor])
        for right, a, b in splits[leaves][ancestor]:
            place -= counts[leaves ^ right][a] * counts[right][b]
            if place < 0:
                break
        return self._drawn(rng, leaves ^ right, a), self._drawn(rng, right, b)


def _least_leaf(tree: Tree) -> int:
    return _least_leaf(tree[0]) if isinstance(tree, tuple) else tree


def forest_count(taxa: int) -> int:
    """The number of forests of rooted binary trees on so many leaves."""
    before, here = 1, 1
    for n in range(2, taxa + 1):
        before, here = here, (2 * n - 3) * here + before
    return here
