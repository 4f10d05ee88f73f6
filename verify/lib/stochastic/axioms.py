"""The axioms of def:cldag on a finite stochastic lift, repaired and as printed.

As printed they contradict each other in three ways. (A) Nondegeneracy with `E` the whole space
asks `kappa_B(s, X*) > 0` as soon as `nu(X*) > 0`, which forward absorption and absolute continuity
force; backward absorption asks `kappa_B(s, X*) = 0`. (B) Reachability is asked of every measurable
set, the empty one included; and of subsets of `S_o*`, which no step enters. (C) `S_o*` is asked to
be the only absorbing set, but the whole space is always absorbing, and `S_o* u S x Omega` too.

`axioms` decides a consistent repair. (1), (2) and (6) stay. (3) is asked only of the sets `B` in
`(S u X) x Omega` with `nu(B) > 0`. (4) asks that `S_o*` be absorbing, not that nothing else is.
(5), which says nothing on a finite space with the discrete topology, becomes full support of `nu`.
(7) is asked within each cell `{u} x Omega`. Every finite DAG and `Omega` with positive kernels
satisfies all of it. Proofs: `proofs_notes/def_cldag.md`.
"""

from collections.abc import Iterable, Set
from fractions import Fraction
from typing import NamedTuple

from verify.lib.stochastic.kernels import (
    ZERO,
    Kernel,
    LiftedState,
    Measure,
    Path,
    absorbed_after,
    closure,
    paths,
    restrict,
    successors,
    support,
)
from verify.lib.stochastic.lift import StochasticLift


class Axioms(NamedTuple):
    """The verdict on each axiom of the repaired def:cldag, by the paper's numbers.

    Attributes:
        duality: (1) `nu(ds) kappa_F(s, dt) = nu(dt) kappa_B(t, ds)`, `s` non-terminal, `t` not
            initial.
        forward_absorption: (2) for some `N`, `kappa_F^N(s, X*) = 1` from every non-terminal `s`;
            `kappa_F(x*, {x} x Omega) = 1` nu-a.s.; `kappa_F` never enters `S_o*`.
        reachability: (3') sets of positive `nu` in `(S u X) x Omega` are reached from `nu|S_o*`.
        backward_absorption: (4') nu-a.s., `kappa_B` stays in `S_o*` and does not enter `X*`.
        full_support: (5') `nu` charges every lifted state.
        absolute_continuity_f: (6) `kappa_F(s, .) << nu` for every `s`.
        absolute_continuity_b: (6) `kappa_B(s, .) << nu` for every `s`.
        nondegeneracy: (7') if `kappa_B(s, .)` charges `{u} x Omega`, it charges each `{u} x A` of
            positive `nu`.
    """

    duality: bool
    forward_absorption: bool
    reachability: bool
    backward_absorption: bool
    full_support: bool
    absolute_continuity_f: bool
    absolute_continuity_b: bool
    nondegeneracy: bool


class PrintedForms(NamedTuple):
    """The three axioms of def:cldag that the contradictions rest on, decided as printed.

    Attributes:
        reachability: (3) every measurable set is reached from `nu|S_o*`, `k = 0` allowed. Never.
        only_absorbing_set: (4) `S_o*` is absorbing for `kappa_B`, the whole space is not. Never.
        nondegeneracy: (7) if `kappa_B(s, E) > 0`, it charges each subset of `E` of positive `nu`.
            Only if `kappa_B` enters `X*`.
    """

    reachability: bool
    only_absorbing_set: bool
    nondegeneracy: bool


def axioms(lift: StochasticLift) -> Axioms:
    """Decides each axiom of the repaired def:cldag."""
    reached = closure(lift.kappa_f, lift.initial & lift.charged)
    return Axioms(
        duality=not any(duality_residuals(lift, 1).values()),
        forward_absorption=_absorbs_forward(lift),
        reachability=lift.charged - lift.initial <= reached,
        backward_absorption=is_absorbing(lift.kappa_b, lift.nu, lift.initial)
        and successors(lift.kappa_b, lift.charged).isdisjoint(lift.terminal),
        full_support=lift.charged == lift.states,
        absolute_continuity_f=successors(lift.kappa_f, lift.states) <= lift.charged,
        absolute_continuity_b=successors(lift.kappa_b, lift.states) <= lift.charged,
        nondegeneracy=is_nondegenerate(lift.kappa_b, lift.nu, cells(lift)),
    )


def printed_forms(lift: StochasticLift) -> PrintedForms:
    """Decides the three printed axioms on the sets that are hardest to satisfy.

    A set is reached iff one of its points is, so the empty set and the points suffice for (3). Any
    `E` that is charged lies in the whole space, so that one `E` suffices for (7).
    """
    reached = closure(lift.kappa_f, lift.initial & lift.charged)
    sets: list[frozenset[LiftedState]] = [frozenset(), *(frozenset([s]) for s in lift.states)]
    return PrintedForms(
        reachability=all(reached & b for b in sets),
        only_absorbing_set=is_absorbing(lift.kappa_b, lift.nu, lift.initial)
        and not is_absorbing(lift.kappa_b, lift.nu, lift.states),
        nondegeneracy=is_nondegenerate(lift.kappa_b, lift.nu, [lift.states]),
    )


def horizon(lift: StochasticLift) -> int | None:
    """The smallest `N` of axiom (2): from every non-terminal state, `kappa_F^N(s, X*) = 1`."""
    return absorbed_after(lift.kappa_f, lift.initial | lift.inner, lift.terminal)


def is_absorbing(kernel: Kernel, nu: Measure, target: Set[LiftedState]) -> bool:
    """True if `kernel(s, target) = 1` for `nu`-almost every `s` in `target`."""
    return successors(kernel, target & support(nu)) <= target


def is_nondegenerate(kernel: Kernel, nu: Measure, parts: Iterable[Set[LiftedState]]) -> bool:
    """True if a row that charges one of `parts` charges all its subsets of positive `nu`."""
    charged = support(nu)
    return all(
        part & charged <= support(row)
        for part in parts
        for row in kernel.values()
        if part & support(row)
    )


def cells(lift: StochasticLift) -> list[frozenset[LiftedState]]:
    """The cells `{u} x Omega`, one per node `u` of the DAG."""
    return [frozenset((u, w) for w in lift.latents) for u in range(len(lift.dag.labels))]


def duality_residuals(lift: StochasticLift, n: int) -> dict[Path, Fraction]:
    """The residual of trajectory duality (lemma:trajs), per path of `n` steps that a side charges.

    `nu(s_1) prod kappa_F(s_i, s_{i+1}) - nu(s_{n+1}) prod kappa_B(s_{i+1}, s_i)`, with `s_1`
    non-terminal, `s_2..s_n` in `S x Omega` and `s_{n+1}` not initial. For `n = 1` this is axiom
    (1), and if that holds all residuals are zero for every `n`.
    """
    below, above = lift.initial | lift.inner, lift.inner | lift.terminal
    residuals: dict[Path, Fraction] = {}
    for path, weight in paths(restrict(lift.nu, below), lift.kappa_f, n, lift.inner):
        if path[-1] in above:
            residuals[path] = weight
    for path, weight in paths(restrict(lift.nu, above), lift.kappa_b, n, lift.inner):
        if path[-1] in below:
            residuals[path[::-1]] = residuals.get(path[::-1], ZERO) - weight
    return residuals


def _absorbs_forward(lift: StochasticLift) -> bool:
    return (
        horizon(lift) is not None
        and all(is_absorbing(lift.kappa_f, lift.nu, cells(lift)[x]) for x in lift.dag.terminals)
        and successors(lift.kappa_f, lift.states).isdisjoint(lift.initial)
    )
