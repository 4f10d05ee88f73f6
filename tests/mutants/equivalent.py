"""Mutants that change no result, and why."""

from typing import NamedTuple

from tests.mutants.mutant import Mutant


class Equivalent(NamedTuple):
    """A mutant that no test can notice.

    Attributes:
        file: which is changed.
        text: the line of the change, or a part of it in which that begins.
        before: the text that is replaced.
        after: what stands in its place.
        reason: why no result changes.
    """

    file: str
    text: str
    before: str
    after: str
    reason: str


# Of an array with two axes.
LAST_OF_TWO = "the last axis of two is axis 1"
# A gradient of rows that are not due is added as zeros.
ONCE_MORE = "at most a block more, all of whose weights are zero"
EITHER_WAY = "two ways to the same numbers, up to rounding, of which one is quicker here"
ONE_IS_THERE = "JAX takes the last entry for one beyond it, and there is one entry"

EQUIVALENT = (
    Equivalent("fast/balance/flow_matching.py", "mask.any(-1", "-1", "(1)", LAST_OF_TWO),
    Equivalent(
        "fast/balance/losses.py",
        "decay ** (time[None, :] + 1",
        "1",
        "(0)",
        "a common factor of weights that are divided by their sum",
    ),
    Equivalent(
        "fast/balance/losses.py",
        "decay ** (time[None, :] + 1",
        "1",
        "(2)",
        "a common factor of weights that are divided by their sum",
    ),
    Equivalent(
        "fast/balance/rows.py",
        "carry[0] < self.present",
        "carry[0] < self.present",
        "(carry[0] <= self.present)",
        ONCE_MORE,
    ),
    Equivalent(
        "fast/balance/rows.py",
        "min(whole, max(",
        "min(whole, max(SMALLEST, whole // 8))",
        "(max(whole, max(SMALLEST, whole // 8)))",
        "how many rows a block has",
    ),
    Equivalent(
        "fast/balance/steps.py",
        "self.skip_ended and not self.environment.is_graded",
        "self.skip_ended and not self.environment.is_graded",
        "(self.skip_ended or not self.environment.is_graded)",
        EITHER_WAY,
    ),
    Equivalent(
        "fast/balance/recurrent_groups.py",
        "(1, 2, 3",
        "3",
        "(4)",
        "the cuts at which a gradient may stop early end at the same last one",
    ),
    Equivalent(
        "fast/balance/recurrent_groups.py",
        "2, 3, 4)",
        "4",
        "(5)",
        "the cuts at which a gradient may stop early end beyond the last step",
    ),
    Equivalent("fast/balance/steps.py", "index[:, None], -1)", "-1", "(1)", LAST_OF_TWO),
    Equivalent("fast/balance/steps.py", "-1)[:, 0]", "0", "(1)", ONE_IS_THERE),
    Equivalent("fast/sampling/forward.py", "-1)[:, 0]", "0", "(1)", ONE_IS_THERE),
    Equivalent(
        "fast/sampling/forward.py",
        "activations[:1]",
        "1",
        "(0)",
        "what is not kept is computed again",
    ),
    Equivalent(
        "fast/sampling/forward.py",
        "cache: bool = False",
        "False",
        "(True)",
        "who does not ask for what is kept does not read it",
    ),
    Equivalent("fast/sampling/actions.py", "draw * p.sum(-1)", "-1", "(1)", LAST_OF_TWO),
    Equivalent(
        "fast/training/build.py",
        "return build(1)",
        "1",
        "(2)",
        "what has no width does not read it",
    ),
    Equivalent(
        "fast/training/build.py",
        ">= budget, 1, 2)",
        "2",
        "(3)",
        "where the search for a width begins; what it finds is counted",
    ),
    Equivalent(
        "fast/training/build.py",
        "count(2)",
        "2",
        "(3)",
        "where the search for a width begins; what it finds is counted",
    ),
    Equivalent(
        "fast/dynamics/fast_weights.py",
        "np.ones((rows.shape[-2],) * 2)",
        "2",
        "(1)",
        "NumPy's tril of a row of ones is that of as many rows",
    ),
    Equivalent(
        "fast/laws/enumeration.py",
        "node_of.get(key, -1)",
        "1",
        "(0)",
        "a state that is unknown is refused as no child, and so is the first",
    ),
    Equivalent(
        "fast/laws/enumeration.py",
        "back = np.zeros(",
        "np.zeros(len(dag.edges), np.int64)",
        "(np.ones(len(dag.edges), np.int64))",
        "every edge has an action, so that each entry is written",
    ),
    Equivalent(
        "fast/measure/estimates.py",
        "leaf.reshape(len(leaf), -1)",
        "1",
        "(2)",
        "NumPy takes any negative size for the one that is left",
    ),
    Equivalent("fast/laws/likelihood.py", "log_p_f.sum(-1)", "-1", "(1)", LAST_OF_TWO),
    Equivalent("fast/laws/walk.py", "back[:, None], -1)", "-1", "(1)", LAST_OF_TWO),
    Equivalent("fast/laws/row_sampler.py", "at.parents).any(-1)", "-1", "(1)", LAST_OF_TWO),
    Equivalent(
        "fast/training/networks.py",
        "config.run.seeds == 1",
        "1",
        "(2)",
        EITHER_WAY,
    ),
    Equivalent(
        "fast/training/networks.py",
        "config.run.seeds == 1",
        "config.run.seeds == 1",
        "(config.run.seeds != 1)",
        EITHER_WAY,
    ),
    Equivalent(
        "fast/training/processes.py",
        'coordinator.rpartition(":")[::2]',
        "2",
        "(1)",
        "without a colon the host is empty, too",
    ),
)


def reason_for(mutant: Mutant) -> str | None:
    """Why a mutant changes no result; None if it is not known to."""
    for known in EQUIVALENT:
        change = (known.file, known.before, known.after)
        if change == (mutant.file, mutant.before, mutant.after) and mutant.is_in(known.text):
            return known.reason
    return None
