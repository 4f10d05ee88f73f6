"""A file of weights and of their sums over all graphs, which `pdai-check` computes again.

```
pdai-dags 1
posterior NAME
nodes N
Z SUM
w WEIGHT ... | LABEL         a line for each node: the weights of its 2^N sets of parents
m EDGE PATH ... | LABEL      and for each u: the sums with an edge from u, and with a path to u
end
```

Sets come as the binary numbers from 0 on, whose highest digit is the first node. Numbers are
hexadecimal. The verified program is described in `proofs_notes/checker/README.md`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from reference.contract.files import replace_file
from reference.posterior.dag_sums import DagSums
from reference.posterior.graph_posterior import GraphPosterior


def write_dags(path: Path | str, name: str, law: GraphPosterior) -> None:
    """Writes the weights of a posterior, and its sums, to a file.

    Args:
        path: the file, which replaces an old one.
        name: the name of the data, in the file.
        law: the posterior, of at most 14 variables.

    Raises:
        TooLargeError: if it has more.
    """
    lines = _lines(name, law.names, law.integers)
    replace_file(Path(path), "".join(f"{line}\n" for line in lines).encode("ascii"))


def _lines(name: str, names: Iterable[str], sums: DagSums) -> Iterator[str]:
    labels = [*map(ascii, names)]
    masks = masks_in_order(sums.nodes)
    yield from ("pdai-dags 1", f"posterior {name!a}", f"nodes {sums.nodes}")
    yield f"Z {sums.total:x}"
    for row, label in zip(sums.weights, labels, strict=True):
        yield " ".join(["w", *(f"{row[mask]:x}" for mask in masks), "|", label])
    for v, label in enumerate(labels):
        pairs = (f"{sums.edges[u][v]:x} {sums.ancestors[v][u]:x}" for u in range(sums.nodes))
        yield " ".join(["m", *pairs, "|", label])
    yield "end"


def masks_in_order(nodes: int) -> list[int]:
    """All bit masks, as the binary numbers whose highest digit is node 0."""
    return [int(f"{place:0{nodes}b}"[::-1], 2) for place in range(2**nodes)]
