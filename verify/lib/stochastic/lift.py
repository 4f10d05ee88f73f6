"""A stochastic latent on every state of a pointed DAG: the finite case of def:cldag.

The paper lets the latent live in a topological space. Here it takes finitely many values, so every
set is measurable, "almost surely" means "on the states that `nu` charges", and each condition of
def:cldag (`verify.lib.stochastic.axioms`) and each lemma after it (`verify.lib.stochastic.lemmas`)
is decided in exact rationals.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, Self

from reference.dag import PointedDAG
from verify.lib.stochastic.kernels import (
    ZERO,
    Kernel,
    LiftedState,
    Measure,
    restrict,
    scale,
    support,
    visits,
)


@dataclass(frozen=True, eq=False)
class StochasticLift:
    """The data of def:cldag: kernels `kappa_F`, `kappa_B` and a measure `nu` on `nodes x Omega`.

    Every state carries a latent here, `s_o` and the terminals included, unlike in the deterministic
    lift (`reference.lifted.LiftedDAG`). Rows of the kernels are laws, and `nu` is a probability
    with `nu(S_o*) > 0`. Only these assumptions of def:cldag before its seven axioms are checked;
    the kernels may break any axiom, and may even leave the DAG. Use `from_forward` to obtain the
    lift that a forward kernel forces.
    """

    dag: PointedDAG[Any]
    latents: tuple[Hashable, ...]
    kappa_f: Kernel
    kappa_b: Kernel
    nu: Measure

    def __post_init__(self) -> None:
        assert self.kappa_f.keys() == self.kappa_b.keys() == self.states
        for law in (self.nu, *self.kappa_f.values(), *self.kappa_b.values()):
            assert sum(law.values(), ZERO) == 1
            assert law.keys() <= self.states
            assert min(law.values()) >= 0
        assert any(restrict(self.nu, self.initial).values())

    @cached_property
    def states(self) -> frozenset[LiftedState]:
        """The lifted state space."""
        return frozenset(product(range(len(self.dag.labels)), self.latents))

    @cached_property
    def initial(self) -> frozenset[LiftedState]:
        """`S_o* = {s_o} x Omega`."""
        return frozenset(product([0], self.latents))

    @cached_property
    def terminal(self) -> frozenset[LiftedState]:
        """`X* = X x Omega`."""
        return frozenset(product(self.dag.terminals, self.latents))

    @cached_property
    def inner(self) -> frozenset[LiftedState]:
        """`S x Omega`: neither initial nor terminal."""
        return self.states - self.initial - self.terminal

    @cached_property
    def charged(self) -> frozenset[LiftedState]:
        """The support of `nu`."""
        return frozenset(support(self.nu))

    @cached_property
    def initial_law(self) -> dict[LiftedState, Fraction]:
        """`xi`, the restriction of `nu` to the initial states, normalised."""
        return _normalised(restrict(self.nu, self.initial))

    @cached_property
    def terminal_law(self) -> dict[LiftedState, Fraction]:
        """The law of the terminal at which a trajectory arrives: `nu` on `X*`, normalised."""
        return _normalised(restrict(self.nu, self.terminal))

    @classmethod
    def from_forward(
        cls,
        dag: PointedDAG[Any],
        latents: tuple[Hashable, ...],
        kappa_f: Kernel,
        initial: Mapping[Any, Fraction],
    ) -> Self:
        """The lift that a forward kernel and a law of the initial latent force by duality.

        `kappa_f` has from a non-terminal `(s, W)` a law on `children(s) x Omega`, and from a
        terminal `(x, W)` one on `{x} x Omega`. `nu` is the expected number of visits before
        absorption, normalised, and `kappa_B` is the conditional law of the parent (Bayes):
        `kappa_B(t, s) = nu(s) kappa_F(s, t) / nu(t)`. On `S_o*`, and where `nu(t) = 0`, duality
        leaves the row free; it is set to the initial law.
        """
        states = frozenset(product(range(len(dag.labels)), latents))
        start = {(0, latent): mass for latent, mass in initial.items()}
        inner = {s for s in states if s[0] != 0 and dag.children[s[0]]}
        count = {**start, **visits(kappa_f, start, inner, len(dag.labels) - 1)}
        nu = _normalised(count)
        kappa_b: dict[LiftedState, dict[LiftedState, Fraction]] = {t: {} for t in states}
        for s in support(nu):
            if dag.children[s[0]]:
                for t, p in kappa_f[s].items():
                    if p:
                        kappa_b[t][s] = nu[s] * p / nu[t]
        return cls(dag, latents, kappa_f, {t: row or start for t, row in kappa_b.items()}, nu)


def _normalised(measure: Measure) -> dict[LiftedState, Fraction]:
    return scale(measure, 1 / sum(measure.values(), ZERO))
