"""Parsimony: Fitch's rule against all letters at inner nodes, and sums over trees against lists."""

from collections import Counter
from pathlib import Path

import pytest

from reference import InputError, TooLargeError, enumerate_dag
from reference.problems import Phylogeny, phylogeny
from reference.problems.phylogeny import Tree, forest_count

ROWS = ("ACGTA-A", "ACGAAGA", "CAGAACA", "CAC?AAA", "GATTAGA")
FIVE = Phylogeny(("a", "b", "c", "d", "e"), ROWS, 0.5)


def costs(tree: Tree, column: str) -> dict[str, int]:
    """The fewest changes below a node for each letter at it, by trying all at each (Sankoff)."""
    if isinstance(tree, int):
        return {a: 0 if column[tree] in (a, *phylogeny.UNKNOWN) else 99 for a in "ACGT"}
    below = [costs(child, column) for child in tree]
    return {a: sum(min(c[b] + (a != b) for b in "ACGT") for c in below) for a in "ACGT"}


@pytest.mark.catches(
    "Letters that two children share are not preferred to those of either.",
    "reference/problems/phylogeny.py",
    "letters.append(a & b or a | b)",
    "letters.append(a | b)",
)
def test_changes_are_the_fewest_over_all_letters_of_ancestors() -> None:
    dag = enumerate_dag(FIVE)
    trees = [dag.labels[x].trees[0] for x in dag.terminals]
    assert len(trees) == 105
    columns = ["".join(column) for column in zip(*ROWS, strict=True)]
    expected = [sum(min(costs(tree, column).values()) for column in columns) for tree in trees]
    assert [*map(FIVE.changes, trees)] == expected
    assert FIVE.change_counts() == Counter(expected)
    assert FIVE.least <= min(expected) < max(expected)
    assert FIVE.z() == sum(FIVE.reward(dag.labels[x]) for x in dag.terminals)


@pytest.mark.parametrize("taxa", range(2, 7))
def test_forests_and_trees_are_as_many_as_known(taxa: int) -> None:
    dag = enumerate_dag(Phylogeny.random(taxa))
    trees = {2: 1, 3: 3, 4: 15, 5: 105, 6: 945}
    assert len(dag.terminals) == trees[taxa]
    assert len(dag.labels) == forest_count(taxa)


def test_eight_taxa_have_135135_trees_and_the_root_does_not_matter() -> None:
    problem = Phylogeny.random(8, 7, seed=1)
    counts = problem.change_counts()
    assert sum(counts.values()) == 135_135
    # Each of the 10,395 unrooted trees is rooted at any of its 13 edges.
    assert all(count % 13 == 0 for count in counts.values())
    assert forest_count(8) == 353_522
    # Control: of the trees of seven, counted alike, not all classes are multiples of 13.
    seven = Phylogeny.random(7, 7, seed=1).change_counts()
    assert sum(seven.values()) == 10_395
    assert any(count % 13 for count in seven.values())


def test_an_alignment_is_read_from_a_file_and_refused_with_its_fault(tmp_path: Path) -> None:
    path = tmp_path / "five.fasta"
    path.write_text(
        "".join(f">{n}\n{r[:3]}\n{r[3:]}\n" for n, r in zip("abcde", ROWS, strict=True))
    )
    assert Phylogeny.aligned(path, cost=0.5) == FIVE
    with pytest.raises(InputError, match="leave taxa, sites and the seed"):
        Phylogeny.aligned(path, taxa=5)
    for text, words in (
        ("a\nAC", "is no FASTA file"),
        (">a\nAC\n>b\nA", "equally long"),
        (">a", "FASTA"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=words):
            Phylogeny.from_fasta(path)


def test_too_many_subtrees_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(phylogeny, "MAX_JOINS", 100)
    with pytest.raises(TooLargeError, match="use at most 8"):
        Phylogeny.random(6).z()
    assert sum(Phylogeny.random(4).change_counts().values()) == 15
