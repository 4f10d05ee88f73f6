"""Limits on networks whose graphs are summed: size, cost and numbers of parents."""

import math

import numpy as np
import numpy.typing as npt

from reference.contract.errors import TooLargeError, check_integer
from reference.contract.files import memory_of_machine

# Above this, 3^n terms take hours, and the table of local scores takes gigabytes.
MAX_VARIABLES = 16
# The same in double-double arithmetic: minutes, and two gigabytes.
MAX_IN_FLOATS = 20
# Seconds on one core, for a product and a sum of integers, and for each bit of a local weight.
SECONDS_PER_TERM, SECONDS_PER_BIT = 3e-7, 2.5e-9
# The assumed number of bits of a weight, before the weights are known.
USUAL_BITS = 500
# Above this, the numbers below are longer than a line, and in the end too large for floats.
MOST_SPELT_OUT = 40


def check_size(nodes: int) -> int:
    """The number of variables, if it is at most 16; raises TooLargeError if not."""
    check_integer("StructureLearning", "the number of variables", nodes, 2, most=10_000)
    if nodes > MAX_VARIABLES:
        raise TooLargeError(
            f"StructureLearning: {nodes} variables need {cost(nodes, USUAL_BITS)}, and at most "
            f"{MAX_VARIABLES} are taken: leave variables out"
        )
    return nodes


def check_summable(nodes: int, owner: str = "GraphPosterior") -> int:
    """The number of variables, if their graphs can be summed in floats.

    Raises TooLargeError if there are more than 20, InputError if it is no integer of at least 2.
    """
    check_integer(owner, "the number of columns", nodes, 2, most=10_000)
    if nodes > MAX_IN_FLOATS:
        raise TooLargeError(
            f"{nodes} columns are too many for an exact posterior, which has "
            f"{shown_terms(nodes)}: at most {MAX_IN_FLOATS} are taken, so leave out "
            f"{nodes - MAX_IN_FLOATS} or more; `--max-parents 4` makes {MAX_IN_FLOATS} faster"
        )
    return nodes


def shown_terms(nodes: int) -> str:
    """The number of terms of a sum over all graphs, as text."""
    return f"3^{nodes} terms" if nodes > MOST_SPELT_OUT else f"3^{nodes} = {3**nodes:,} terms"


def check_affordable(nodes: int, bits: int) -> None:
    """Checks that sums of weights of so many bits fit into memory; raises TooLargeError if not."""
    if memory(nodes, bits) > memory_of_machine() // 2:
        raise TooLargeError(
            f"StructureLearning: {nodes} variables with weights of {bits:,} bits need "
            f"{cost(nodes, bits)}, more than half of this machine has: leave variables out, or use "
            "fewer observations"
        )


def memory(nodes: int, bits: int) -> int:
    """The memory in bytes: four tables of products of n weights, and n tables of single weights."""
    return int(2**nodes * (4 * (32 + nodes * bits // 8) + nodes * (32 + bits // 8)))


def cost(nodes: int, bits: int) -> str:
    """Terms, time and memory of a sum over all graphs, as text."""
    if nodes > MOST_SPELT_OUT:
        return f"3^{nodes} terms, more than any machine can sum"
    terms = 3**nodes
    seconds = terms * (SECONDS_PER_TERM + bits * SECONDS_PER_BIT)
    time = f"{seconds:,.0f} s" if seconds < 600 else f"{seconds / 3600:,.1f} hours"
    size = memory(nodes, bits) / 2**30
    return f"3^{nodes} = {terms:,} terms, about {time} and {size:,.1f} GiB"


def check_max_parents(max_parents: int | None, nodes: int) -> int:
    """The largest number of parents of a node, at most `n - 1`; InputError for none >= 0."""
    if max_parents is None:
        return nodes - 1
    check_integer("StructureLearning", "max_parents", max_parents, 0)
    return min(max_parents, nodes - 1)


def possible_families(nodes: int, max_parents: int) -> npt.NDArray[np.bool_]:
    """True where a node may have the parents of a bit mask, shape (n, 2^n)."""
    masks = np.arange(2**nodes)
    own = masks >> np.arange(nodes)[:, None] & 1
    return np.asarray((own == 0) & (np.bitwise_count(masks) <= max_parents), np.bool_)


def dag_count(nodes: int) -> int:
    """The number of directed acyclic graphs on n labelled nodes (Robinson, 1973)."""
    counts = [1]
    for n in range(1, nodes + 1):
        terms = (
            (-1) ** (k + 1) * math.comb(n, k) * 2 ** (k * (n - k)) * counts[n - k]
            for k in range(1, n + 1)
        )
        counts.append(sum(terms))
    return counts[nodes]
