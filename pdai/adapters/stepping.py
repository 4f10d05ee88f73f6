"""A sampler of another library, stepped in batches, with exact draws from its rows."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np

from reference.certificates.regimes import ExactLaw, law_beside_target
from reference.contract.errors import InputError, TooLargeError, check_hashable, shown
from reference.contract.user_code import ASKED_AGAIN, asked_again, called
from reference.dag import PointedDAG, pointed_dag
from reference.fields.field import RATIONAL
from reference.marginals import marginal
from reference.policies import ForwardPolicy
from reference.problems.closed_form import Enclosure
from reference.problems.enumeration import LONGEST
from reference.problems.members import as_problem
from reference.rows.exact import Floats, Ints, choose_all, exact_row, soft_rows
from reference.rows.functions import BATCH_ROUNDING, LOGITS
from reference.rows.importance import Walks
from reference.rows.sums import PathSums
from reference.rows.walks import LogRewards, Sampler

# The error of a float32 log reward, relative to its size and one: a thousand roundings.
FLOAT32_ERROR = 2.0**-14
# A state's key, and whether the trajectory ends in it.
Node = tuple[Hashable, bool]
# States of a sum whose moves are made twice.
MOVED_AGAIN = 1_000
UNIFORM = "p_B is uniform over parents, as none was given; a learned one may bound TV more closely"


class Logits(NamedTuple):
    """Rows of logits, shape (batch, n), and which entries are legal."""

    values: Any
    mask: Any

    def rows(self, used: Any) -> Floats:
        """The closed soft-max rows of the active entries; uniform rows elsewhere."""
        unused = ~np.asarray(used)[:, None]
        values = np.where(unused, 0.0, np.asarray(self.values))
        return soft_rows(values, unused | np.asarray(self.mask))


class WayBack(NamedTuple):
    """The backward move of a step: the logits of `p_B` over the parents, and the one it came from.

    It does not count where a step has a single parent, as a stop has.
    """

    logits: Logits
    taken: Ints
    counts: Any


class Steps(Protocol):
    """The functions of a library that a sampler needs, on batches of its states."""

    def start(self, count: int) -> Any:
        """A batch of initial states."""
        ...

    def forward(self, states: Any) -> Logits:
        """The logits of `p_F`."""
        ...

    def move(self, states: Any, actions: Ints, active: Any) -> tuple[Any, Any, WayBack]:
        """The next states, whether they are ends, and the backward moves.

        Args:
            states: a batch of states.
            actions: the action of each, shape (batch,).
            active: whether each moves; the others stay as they are.
        """
        ...

    def ends(self, states: Any) -> tuple[list[Hashable], Floats]:
        """Labels and `log R`, in nats, of terminal states."""
        ...

    def take(self, states: Any, which: Ints) -> Any:
        """The states at some places, which may repeat."""
        ...

    def keys(self, states: Any) -> list[Hashable]:
        """A key of each state, equal for equal states alone."""
        ...


class SteppedSampler(Sampler):
    """Another library's sampler, to be certified.

    Args:
        steps: the functions of the library.
        problem: a problem of this project, whose exact rewards are used, and with which the
            library's must agree; without it those of the library, to float32.
        label: a function from a label of the library to a state of the problem.
        seed: the random seed of the draws.
        notes: remarks for readers.
    """

    def __init__(
        self,
        steps: Steps,
        problem: Any = None,
        label: Callable[[Any], Hashable] | None = None,
        seed: int = 0,
        notes: Sequence[str] = (),
    ):
        problem = None if problem is None else as_problem(problem)
        self.steps, self.problem, self.label, self.notes = steps, problem, label, notes
        self.rng = np.random.default_rng(seed)
        self._rewards = LogRewards(problem)
        self._unasked = ASKED_AGAIN
        # Moves of the first draws are made twice.
        self._is_new = True
        # The library's end of each label.
        self._end_of: dict[Hashable, Hashable] = {}

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """Fresh, independent trajectories of `p_F`."""
        states, sums = self.steps.start(count), PathSums(count)
        active = np.ones(count, bool)
        for _ in range(LONGEST):
            rows = self._forward(states).rows(active)
            action = choose_all(rows, self.rng)
            sums.add_step(sums.log_p_f, rows, action, active)
            states, ended, back = self._move(states, action, active, twice=self._is_new)
            counted = active & np.asarray(back.counts)
            if not np.asarray(back.logits.mask)[counted, np.asarray(back.taken)[counted]].all():
                raise InputError(
                    "the library's backward mask forbids a step that was taken: its backward "
                    "actions must be those that the adapter names, each with its own place"
                )
            sums.add_step(sums.log_p_b, back.logits.rows(counted), back.taken, counted)
            active = active & ~np.asarray(ended)
            if not active.any():
                break
        else:
            raise InputError(f"a trajectory has more than {LONGEST:,} steps: is there a cycle?")
        self._is_new = False
        return sums.walks(*self._ends(states, drawn=True))

    def exact(self, dag: PointedDAG[Any], rewards: Sequence[Fraction], most: int) -> ExactLaw:
        """The exact distribution of the library's rows, over all states that it can reach.

        Args:
            dag: the problem's graph, among whose terminal states the ends must be.
            rewards: of its terminal states.
            most: the largest number of states.

        Raises TooLargeError if it has more, and InputError if an end is not a terminal state of the
        problem, or its reward differs.
        """
        (root,) = self.steps.keys(states := self.steps.start(1))
        mass: dict[Hashable, dict[Node, Fraction]] = {}
        ends: dict[Node, Hashable] = {}
        met = {root}
        while len(keys := self.steps.keys(states)):
            logits = self._forward(states)
            exact = [exact_row(row) for row in soft_rows(logits.values, logits.mask).tolist()]
            at, actions = np.nonzero(np.asarray(logits.mask))
            is_early = len(met) <= MOVED_AGAIN
            following, ended, _ = self._move(
                self.steps.take(states, at), actions, np.ones(len(at), bool), twice=is_early
            )
            stops = np.asarray(ended).tolist()
            after: list[Node] = list(zip(self.steps.keys(following), stops, strict=True))
            for i, action, child in zip(at.tolist(), actions.tolist(), after, strict=True):
                row = mass.setdefault(keys[i], {})
                row[child] = row.get(child, Fraction(0)) + exact[i][action]
            if len(last := np.flatnonzero(ended)):
                labels, _ = self._ends(self.steps.take(following, last))
                ends |= dict(zip((after[i] for i in last), labels, strict=True))
            new = {key: i for i, (key, stopped) in enumerate(after) if not stopped}
            fresh = [i for key, i in new.items() if key not in met]
            met |= new.keys()
            if len(met) + len(ends) > most:
                raise TooLargeError(f"the library has more than {most:,} states")
            states = self.steps.take(following, np.array(fresh, int))
        p_t = _terminal_law((root, False), mass, ends)
        labels = [dag.labels[x] for x in dag.terminals]
        if strange := p_t.keys() - set(labels):
            raise InputError(
                f"the library ends in {shown(min(strange, key=repr))}, which is no terminal state "
                "of the problem: correct label, or name the right problem"
            )
        p_t = {x: p_t.get(x, Fraction(0)) for x in labels}
        law = law_beside_target([*p_t.values()], labels, rewards, LOGITS)
        agree = "rewards are the problem's, with which the library's agree at every end"
        return law._replace(notes=[*law.notes, agree])

    def _ends(self, states: Any, *, drawn: bool = False) -> tuple[list[Hashable], list[Enclosure]]:
        """The labels of terminal states, and `log R`: the problem's, if there is one.

        Beside log Z of a problem, each end that is drawn must have a label of its own; a law that
        is summed may merge some.
        """
        labels, given = self.steps.ends(states)
        is_alone = drawn and self.problem is not None
        if self.label is not None:
            own, labels = labels, [called("the sampler", "label", self.label, x) for x in labels]
            for end, x in zip(own, labels, strict=True):
                check_hashable("a state that label gives", x)
                if is_alone and (first := self._end_of.setdefault(x, end)) != end:
                    raise InputError(
                        f"label gives {shown(x)} for the ends {shown(first)} and {shown(end)} of "
                        "the library, but log Z counts its reward once: give each end its own "
                        "state, or list all states (max_states)"
                    )
        tolerance = FLOAT32_ERROR * (1 + np.abs(given))
        rows = zip(labels, given.tolist(), tolerance.tolist(), strict=True)
        return labels, [self._rewards.confirm(*row, "library") for row in rows]

    def _move(
        self, states: Any, actions: Ints, active: Any, *, twice: bool
    ) -> tuple[Any, Any, WayBack]:
        """The moves of the library; raises InputError if one made twice leads elsewhere."""
        moved = self.steps.move(states, actions, active)
        if not twice:
            return moved
        first, again = (
            [*zip(self.steps.keys(after), np.asarray(ended).tolist(), strict=True)]
            for after, ended, _ in (moved, self.steps.move(states, actions, active))
        )
        for i in np.flatnonzero(active).tolist():
            if first[i] != again[i]:
                state = self.steps.keys(self.steps.take(states, np.array([i])))[0]
                call = f"the library: action {actions[i]} in {shown(state)}"
                raise asked_again(call, first[i], again[i])
        return moved

    def _forward(self, states: Any) -> Logits:
        logits: Logits = called("the library", "forward", self.steps.forward, states)
        # Asked again in another batch, as rows of dropout, or of a batch, are those of no sampler.
        some = np.arange(0, min(len(logits.mask), self._unasked), 2)
        self._unasked -= len(some)
        if len(some):
            used = np.asarray(logits.mask)[some].any(1)
            first = Logits(np.asarray(logits.values)[some], np.asarray(logits.mask)[some])
            part = self.steps.take(states, some)
            again = called("the library", "forward", self.steps.forward, part)
            rows = first.rows(used), again.rows(used)
            if (off := abs(rows[0] - rows[1]).max(1) > BATCH_ROUNDING).any():
                raise asked_again(
                    f"the library: the row of {shown(self.steps.keys(part)[off.argmax()])}",
                    *(row[off.argmax()].tolist() for row in rows),
                )
        return logits

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """Refuses: other libraries are not drawn backwards."""
        raise InputError(
            "samplers of other libraries are not drawn backwards: give log Z, for regime Z"
        )

    def findings(self) -> Sequence[str]:
        """The origin of the rewards, and the kind of `p_B`, in sentences."""
        whose = "rewards are the problem's, with which the library's agree on all that was drawn"
        if self.problem is None:
            whose = "rewards are the library's own; their float32 rounding widens the interval"
        return [whose, *self.notes]


def _terminal_law(
    root: Node, mass: Mapping[Hashable, Mapping[Node, Fraction]], ends: Mapping[Node, Hashable]
) -> dict[Hashable, Fraction]:
    """`p_T(x)` from the rows of all states that are not terminal."""
    graph: dict[Node, list[Node]] = {end: [] for end in ends}
    graph |= {(key, False): list(row) for key, row in mass.items()}
    dag = pointed_dag(graph, root)
    values = [mass[dag.labels[u][0]][dag.labels[v]] for u, v in dag.edges]
    law: dict[Hashable, Fraction] = {}
    for x, p in zip(dag.terminals, marginal(ForwardPolicy(dag, RATIONAL, values)), strict=True):
        label = ends[dag.labels[x]]
        law[label] = law.get(label, Fraction(0)) + p
    return law
