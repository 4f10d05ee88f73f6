"""The comparison of a certificate with a problem: states, edges and rewards, exactly."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from reference.certificates.check import RefusedError, Verdict, verdict_of
from reference.certificates.format import Header, Inner, Row, open_certificate
from reference.contract.errors import InputError
from reference.dag import PointedDAG
from reference.problems.base import MAX_NODES, Problem
from reference.problems.enumeration import enumerate_dag, enumerate_rewards


def state_label(state: Hashable) -> str:
    """The text of a state in a certificate: printable ASCII, the same in every process.

    It is `repr`, except that the elements of frozen sets are sorted. Raises InputError if the state
    has no text of its own.
    """
    kind = type(state)
    if isinstance(state, frozenset):
        return f"{{{', '.join(sorted(map(state_label, state)))}}}"
    if isinstance(state, tuple):
        parts = ", ".join(map(state_label, state))
        return f"{kind.__name__ if kind is not tuple else ''}({parts})"
    if is_dataclass(state):
        values = (f"{f.name}={state_label(getattr(state, f.name))}" for f in fields(state))
        return f"{kind.__name__}({', '.join(values)})"
    if kind.__repr__ is object.__repr__:
        raise InputError(
            f"a state of the type {kind.__name__} has no text of its own, by which a certificate "
            "could name it: use a tuple or a frozen dataclass, or define __repr__"
        )
    return ascii(state)


def confirm_problem(path: Path | str, problem: Problem[Any], max_nodes: int = MAX_NODES) -> Verdict:
    """Compares the graph and the rewards of a certificate with those of a problem, exactly.

    The labels of the file must map it onto the graph of the problem. The children of each node must
    be, one to one, the children of its state; node 0 must be the initial state; and each terminal
    state must be one node, with its reward. Then the graph of the file is the problem's or a lift
    of it (def:pointeddag), such as the histories. `check_certificate` checks the claim.

    Args:
        path: the certificate.
        problem: whose states have the labels of the file.
        max_nodes: the most states of the problem.

    Raises:
        InputError: if there is no such file, or two states have the same label.
        TooLargeError: if the problem has more states.
    """
    dag = enumerate_dag(problem, max_nodes)
    states, rewards = states_by_label(dag), enumerate_rewards(problem, dag)

    def compare(header: Header, rows: Iterator[Row]) -> None:
        below = _project(header, rows, dag, states, rewards)
        # A second pass, as children come later in the file than the rows that name them.
        with open_certificate(path) as (_, rows):
            for node, row in enumerate(rows):
                if not isinstance(row, Inner):
                    continue
                numbers = [child for child, _ in row.steps]
                if any(not 0 < child < len(below) for child in numbers):
                    raise RefusedError(f"node {node} has a child that is no node of the file")
                if sorted(below[child] for child in numbers) != sorted(dag.children[below[node]]):
                    raise RefusedError(
                        f"node {node}: the children of {row.label} are not those of the problem"
                    )

    return verdict_of(open_certificate(path), compare)


def states_by_label(dag: PointedDAG[Any]) -> dict[str, int]:
    """The number of each state, by its text; raises InputError if two have the same."""
    states: dict[str, int] = {}
    for state, name in enumerate(map(state_label, dag.labels)):
        if name in states:
            raise InputError(
                f"the states {dag.labels[states[name]]!r} and {dag.labels[state]!r} have the same "
                f"label {name!r} in a certificate: give them different texts"
            )
        states[name] = state
    return states


def _project(
    header: Header,
    rows: Iterator[Row],
    dag: PointedDAG[Any],
    states: dict[str, int],
    rewards: Sequence[Fraction],
) -> list[int]:
    """The state of each node, after a comparison of labels and rewards."""
    reward_of = dict(zip(dag.terminals, rewards, strict=True))
    below: list[int] = []
    ends: set[int] = set()
    for node, row in enumerate(rows):
        if row.label not in states:
            raise RefusedError(f"node {node}: {row.label} is no state of the problem")
        state = states[row.label]
        below.append(state)
        if node == 0 and state != 0:
            raise RefusedError(f"node 0 is {row.label}, which is not the initial state")
        if isinstance(row, Inner):
            continue
        if state not in reward_of:
            raise RefusedError(f"node {node}: {row.label} is not terminal in the problem")
        if state in ends:
            raise RefusedError(f"node {node}: the terminal state {row.label} comes twice")
        ends.add(state)
        # Multiplied out, as the file may have any denominator.
        reward = reward_of[state]
        if row.reward * reward.denominator != reward.numerator * header.reward_denominator:
            raise RefusedError(
                f"node {node}: the reward of {row.label} is {row.reward} / "
                f"{header.reward_denominator}, and {reward} in the problem"
            )
    return below
