"""The lemmas after def:cldag on a finite stochastic lift, each with the hypotheses that it needs.

Trajectory duality (lemma:trajs) is `verify.lib.stochastic.axioms.duality_residuals`. Each lemma is
proved, on any space, in the note of its name in `proofs_notes`.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from verify.lib.stochastic.axioms import axioms, cells, horizon, is_nondegenerate
from verify.lib.stochastic.kernels import (
    ZERO,
    Kernel,
    LiftedState,
    Measure,
    Path,
    closure,
    paths,
    power,
    push,
    restrict,
    successors,
    visits,
)
from verify.lib.stochastic.lift import StochasticLift


@dataclass(frozen=True)
class Lemma:
    """A lemma on one lift: whether each axiom that its proof uses holds, and its conclusion.

    A conclusion that speaks of an `N` that does not exist is False.
    """

    hypotheses: dict[str, bool]
    conclusion: bool

    @property
    def applies(self) -> bool:
        """True if all hypotheses hold; the conclusion must then hold."""
        return all(self.hypotheses.values())


def from_horizon_on(
    lift: StochasticLift, kernel: Kernel, start: frozenset[LiftedState]
) -> frozenset[LiftedState]:
    """The states that can be occupied at some time `n >= N`; all of them, if there is no `N`."""
    n = horizon(lift)
    return lift.states if n is None else closure(kernel, successors(kernel, start, n))


def lemma_of(lift: StochasticLift, names: tuple[str, ...], conclusion: bool) -> Lemma:
    """The lemma whose hypotheses are these axioms."""
    verdicts = axioms(lift)._asdict()
    return Lemma({name: verdicts[name] for name in names}, conclusion)


def forward_absorption_lasts(lift: StochasticLift) -> Lemma:
    """lemma:abs: for all `n >= N`, `kappa_F^n(s, X*) = 1` for non-terminal `s` and nu-a.e. `x*`.

    With reachability (3') it holds for every `x*`. Without absolute continuity it fails even if
    every other axiom but full support holds.
    """
    start = lift.initial | lift.inner | (lift.terminal & lift.charged)
    return lemma_of(
        lift,
        ("forward_absorption", "absolute_continuity_f"),
        from_horizon_on(lift, lift.kappa_f, start) <= lift.terminal,
    )


def compositions_are_nondegenerate(lift: StochasticLift, n: int) -> Lemma:
    """lemma:abscty: `kappa_B^{o n}(s, .) << nu`, and it is nondegenerate within each cell.

    Unions of cells would be too much to ask, already for `n = 1`.
    """
    composed = power(lift.kappa_b, n, through=lift.inner)
    return lemma_of(
        lift,
        ("absolute_continuity_b", "nondegeneracy"),
        successors(composed, lift.states) <= lift.charged
        and is_nondegenerate(composed, lift.nu, cells(lift)),
    )


def nu_is_forced(lift: StochasticLift) -> Lemma:
    """On `(S u X) x Omega`, `nu` is `sum over k = 1..N of nu|S_o* kappa_F^{o k}`.

    Claim forced-visit-measure. So `nu` is the normalised measure of visits and cannot be chosen,
    and reachability (3') is a consequence.
    """
    steps = horizon(lift)
    conclusion = False
    if steps is not None:
        start = restrict(lift.nu, lift.initial)
        arrivals = visits(lift.kappa_f, start, lift.inner, steps)
        conclusion = all(
            lift.nu.get(s, ZERO) == arrivals.get(s, ZERO) for s in lift.inner | lift.terminal
        )
    return lemma_of(lift, ("duality", "forward_absorption", "backward_absorption"), conclusion)


_BACKWARD = ("duality", "forward_absorption", "backward_absorption", "absolute_continuity_b")


def backward_absorption_at_horizon(lift: StochasticLift) -> Lemma:
    """lemma:abbs: `kappa_B^N(x*, S_o*) = 1` for nu-a.e. `x*`, with `N` as in axiom (2).

    Absolute continuity is used on `S_o*` only: "absorbing" is asked nu-a.s., and a step within
    `S_o*` could otherwise end in a nu-null state that `kappa_B` leaves. Continuity and
    nondegeneracy, on which the printed proof rests, are not used. The printed "for each `x*`" needs
    full support, or an `x*` from where `kappa_B << nu` does not enter `X*`.
    """
    n, start = horizon(lift), lift.terminal & lift.charged
    absorbed = n is not None and successors(lift.kappa_b, start, n) <= lift.initial
    return lemma_of(lift, _BACKWARD, absorbed)


def backward_absorption_lasts(lift: StochasticLift) -> Lemma:
    """The lemma after lemma:abbs: `kappa_B^n(x*, S_o*) = 1` for nu-a.e. `x*` and all `n >= N`."""
    start = lift.terminal & lift.charged
    return lemma_of(lift, _BACKWARD, from_horizon_on(lift, lift.kappa_b, start) <= lift.initial)


def freeze(lift: StochasticLift) -> StochasticLift:
    """The same lift with latents kept while a kernel waits: `kappa_F` on `X*`, `kappa_B` on `S_o*`.

    This keeps duality, which does not speak of these rows.
    """
    stay = {s: {s: Fraction(1)} for s in lift.states}
    return replace(
        lift,
        kappa_f={s: stay[s] if s in lift.terminal else row for s, row in lift.kappa_f.items()},
        kappa_b={s: stay[s] if s in lift.initial else row for s, row in lift.kappa_b.items()},
    )


def end_point_residuals(
    lift: StochasticLift, xi: Measure, target: Measure, n: int
) -> dict[tuple[LiftedState, LiftedState], Fraction]:
    """`xi(s) P_F^n(s, x) - Pi(x) P_B^n(x, s)` for `s` in `S_o*` and `x` in `X*`.

    `P_F` and `P_B` are the kernels of the lift, and `Pi` a measure on `X*`, normalised or not. The
    closing argument: if all are zero and `P_B^n(x, S_o*) = 1` where `Pi(x) > 0`, summing over `s`
    gives `xi P_F^n = Pi` on `X*`. If `Pi` is a probability and `P_F` has absorbed everything by
    time `n`, the second condition follows from the first.

    A dual pair, with `xi` and `Pi` proportional to `nu` on `S_o*` and `X*`, need not make them
    zero: while a short trajectory waits in `X*` or in `S_o*` its latent moves, and with it the
    joint law of the two ends. It does if latents are kept while waiting (`freeze`), or if all
    trajectories have `n` steps. See `proofs_notes/end_point_identity.md`.
    """
    forward, backward = power(lift.kappa_f, n), power(lift.kappa_b, n)
    return {
        (s, x): xi.get(s, ZERO) * forward[s].get(x, ZERO)
        - target.get(x, ZERO) * backward[x].get(s, ZERO)
        for s in lift.initial
        for x in lift.terminal
    }


def padded_laws(lift: StochasticLift, n: int) -> tuple[dict[Path, Fraction], dict[Path, Fraction]]:
    """The laws of `(s_0, ..., s_n)` under `xi, kappa_F`, and under `xi kappa_F^n, kappa_B`.

    The fixed-length trajectory balance loss takes the logarithm of their ratio. A trajectory of
    fewer than `n` steps waits at its end under the first, and at its start under the second:
    the two laws share just the trajectories of exactly `n` steps, and are mutually singular if
    there are none. Stopped on arrival, trajectories of any length have the same law under both. See
    `proofs_notes/fixed_length_loss.md`.
    """
    xi = lift.initial_law
    forward = dict(paths(xi, lift.kappa_f, n))
    ends = push(xi, power(lift.kappa_f, n))
    return forward, {path[::-1]: weight for path, weight in paths(ends, lift.kappa_b, n)}
