"""gibbs: what two half-steps of a lift have of a Gibbs sampler, and what they have not."""

from fractions import Fraction

import pytest

from reference import RATIONAL, ForwardPolicy, pointed_dag
from verify.lib.scopes import Scope, all_small_lifts

Law = list[Fraction]


def after_a_step(policy: ForwardPolicy[Fraction], law: Law, restart: bool = False) -> Law:
    """The law after a step, where terminal states are kept, or lead back to `s_o`."""
    dag = policy.dag
    after = [Fraction(0)] * len(dag.labels)
    for node, row in enumerate(dag.out_edges):
        for edge in row:
            after[dag.edges[edge][1]] += law[node] * policy.values[edge]
        if not row:
            after[0 if restart else node] += law[node]
    return after


@pytest.mark.claim("gibbs")
def test_the_latent_follows_from_the_new_state_and_the_old_latent(scope: Scope) -> None:
    for draw in scope.lifts():
        lifted = draw.lifted
        for row in lifted.dag.out_edges:
            states = [lifted.projection[lifted.dag.edges[edge][1]] for edge in row]
            assert len(set(states)) == len(states)


@pytest.mark.claim("gibbs")
def test_every_invariant_law_lives_on_terminal_states() -> None:
    for draw in all_small_lifts():
        dag = draw.lifted.dag
        policy = ForwardPolicy.uniform(dag, RATIONAL)
        law = [Fraction(1, len(dag.labels))] * len(dag.labels)
        for _ in dag.labels:
            law = after_a_step(policy, law)
        # From everywhere: so an invariant law, which every step repeats, has no mass elsewhere.
        assert sum(law[x] for x in dag.terminals) == 1


@pytest.mark.control("gibbs")
def test_with_a_way_back_a_law_on_inner_states_is_invariant() -> None:
    dag = pointed_dag({"o": ["a", "b"], "a": ["x"], "b": ["x"], "x": []})
    policy = ForwardPolicy.uniform(dag, RATIONAL)
    invariant = [Fraction(1, 6 if label in ("a", "b") else 3) for label in dag.labels]
    assert after_a_step(policy, invariant, restart=True) == invariant
    assert after_a_step(policy, invariant) != invariant


@pytest.mark.control("gibbs")
def test_each_half_step_of_a_gibbs_sampler_leaves_its_target() -> None:
    bits = (0, 1)
    target = {(s, w): Fraction(1 + s + 2 * w * s, 7) for s in bits for w in bits}
    assert sum(target.values()) == Fraction(8, 7)
    target = {key: value * Fraction(7, 8) for key, value in target.items()}

    def redraw(
        law: dict[tuple[int, int], Fraction], state: bool
    ) -> dict[tuple[int, int], Fraction]:
        after = dict.fromkeys(law, Fraction(0))
        for (s, w), mass in law.items():
            for bit in bits:
                new = (bit, w) if state else (s, bit)
                others = [(b, w) if state else (s, b) for b in bits]
                after[new] += mass * target[new] / sum(target[o] for o in others)
        return after

    assert redraw(target, state=True) == target
    assert redraw(target, state=False) == target
    # A latent that is a function of the state and itself, as in a lift, keeps no such law.
    moved = dict.fromkeys(target, Fraction(0))
    for (s, w), mass in target.items():
        moved[s, (w + s) % 2] += mass
    assert moved != target
