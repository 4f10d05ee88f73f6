"""lines-lift: latents of Lines against their closed form."""

from collections import Counter
from fractions import Fraction

import pytest

from reference import Additive, History, LiftedDAG, PointedDAG, lift
from reference.problems import Lines, enumerate_dag
from verify.lib.linear import Parameters, Vector, dot
from verify.lib.linear_policy import LinearDynamics

A_O = (Fraction(1), Fraction(-2))
V = (Fraction(1), Fraction(1, 2))
W = (Fraction(2), Fraction(-1, 3))
PSI = tuple((Fraction(i), Fraction(i * i + 1)) for i in range(7))
# `a + (w . psi(s)) v`
EXAMPLE = LinearDynamics(PSI, Parameters(A_O, V, W))


def moved(start: Vector, by: Fraction) -> Vector:
    return tuple(a + by * v for a, v in zip(start, V, strict=True))


class Dependent(LinearDynamics):
    """A phi that depends on a, as the example's does not: `(w . psi(s) + a_1) v`."""

    def advance(self, state: str, latent: Vector) -> Vector:
        """`a + (w . psi(s) + a_1) v`."""
        return moved(super().advance(state, latent), latent[0])


def closed_form_holds(lifted: LiftedDAG[str], first: int = 1) -> bool:
    """True if a_t = a_o + sum of w . psi(s_j) v over first <= j <= t, along every trajectory."""
    for tau in lifted.dag.trajectories():
        *path, _ = lifted.dag.states(tau)
        for t, (_, latent) in enumerate(path):
            added = sum((dot(W, PSI[int(s[1:])]) for s, _ in path[first : t + 1]), Fraction(0))
            if latent != moved(A_O, added):
                return False
    return True


@pytest.mark.catches(
    "W is updated with the state that is left instead of the one that is entered.",
    "reference/lifted.py",
    "arrived = dynamics.advance(base.labels[v], latent)",
    "arrived = dynamics.advance(base.labels[u], latent)",
)
@pytest.mark.claim("lines-lift")
def test_the_recurrence_is_a_lift_whose_latents_have_a_closed_form() -> None:
    for step in (1, 2, 3):
        dag = enumerate_dag(Lines.laplaces(6, step))
        lifted = lift(dag, EXAMPLE)
        assert closed_form_holds(lifted)
        assert lifted.dag.trajectory_count == dag.trajectory_count
        assert set(lifted.dag.labels) & set(dag.labels) == {f"q{i}" for i in range(7)}


@pytest.mark.catches(
    "phi is returned as the new latent, and the old one is not added.",
    "reference/lifted.py",
    "            return latent + step\n",
    "            return step\n",
)
@pytest.mark.claim("lines-lift")
def test_the_papers_own_dynamics_merge_histories_first_at_p5() -> None:
    # Up to the scale of w and v, psi(p_i) = i adds up positions; M = 2.
    positions: Additive[str] = Additive(lambda state, _: int(state[1:]))
    dag = enumerate_dag(Lines.laplaces(6, 2))
    by_sum = Counter(lift(dag, positions).projection)
    vectors: Additive[str] = Additive(lambda s, _: (int(s[1:]), 2 * int(s[1:])), (0, 0))
    assert Counter(lift(dag, vectors).projection) == by_sum
    by_history = Counter(lift(dag, History()).projection)
    merged = [dag.labels[v] for v in by_sum if by_sum[v] < by_history[v]]
    assert merged == ["p5", "p6"]
    assert 1 + 2 + 3 + 5 == 2 + 4 + 5


@pytest.mark.control("lines-lift")
def test_a_phi_that_depends_on_the_latent_has_other_latents() -> None:
    dag: PointedDAG[str] = enumerate_dag(Lines.laplaces(6, 2))
    assert not closed_form_holds(lift(dag, Dependent(PSI, EXAMPLE.parameters)))


@pytest.mark.control("lines-lift")
def test_a_sum_that_starts_at_the_initial_state_is_off_by_its_embedding() -> None:
    # w . psi(p_0) = -1/3, so from j = 0 on every latent would lie v / 3 further back.
    lifted = lift(enumerate_dag(Lines.laplaces(6, 2)), EXAMPLE)
    assert dot(W, PSI[0]) == Fraction(-1, 3)
    assert closed_form_holds(lifted)
    assert not closed_form_holds(lifted, first=0)
