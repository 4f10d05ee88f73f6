"""prop:lifted_balance and its corollaries as identities in symbols.

Each test states the certificate of a proof: the conclusion as a sum of residuals with polynomial
coefficients, in parameters that have nothing in common. Zero residuals then give the conclusion for
every policy, flow and reward on that lift. Each pointed DAG is among the lifts, as its own trivial
one.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from reference.balance import cb_residuals, db_residuals, subtb_residuals, tb_residuals
from reference.dag import Trajectory, pointed_dag
from reference.lifted import History, LiftedDAG, lift
from reference.marginals import marginal, marginal_by_trajectories, mass, path_sums
from reference.policies import BackwardKernel, BackwardPolicy, ForwardPolicy
from verify.lib.fields import Polynomials
from verify.lib.markovian import copies
from verify.lib.named_dags import DIAMOND
from verify.lib.scopes import Scope
from verify.lib.symbolic_scope import everything, free_edges, generic, symbolic_lifts


@pytest.fixture
def all_lifts(scope: Scope, pytestconfig: pytest.Config) -> Iterator[LiftedDAG[int]]:
    """The lifts of the symbolic scope, which is recorded when a test has met all of them."""
    exhaustive = pytestconfig.getoption("exhaustive")
    largest = ", two of each DAG with 6" if exhaustive else ""
    text = f"as identities, on {{:,}} lifts of unlabelled DAGs up to 5 states{largest}"
    return scope.over(symbolic_lifts(exhaustive), text)


def free_kernel(
    lifted: LiftedDAG[Any],
) -> tuple[ForwardPolicy[Any], BackwardKernel[Any], tuple[Any, ...], Any]:
    """`p_F`, any weight on every edge, `R` and `Z`."""
    dag, free = lifted.dag, free_edges(ForwardPolicy, lifted.dag)
    names = [
        *(f"f{edge}" for edge in free),
        *(f"w{edge}" for edge in range(len(dag.edges))),
        *(f"R{x}" for x in dag.terminals),
    ]
    field = Polynomials(" ".join([*names, "Z"]))
    symbols = iter(field.symbols)
    return (
        generic(ForwardPolicy, dag, field, islice(symbols, len(free))),
        BackwardKernel(dag, field, list(islice(symbols, len(dag.edges)))),
        tuple(islice(symbols, len(dag.terminals))),
        next(symbols),
    )


def summed(residuals: Iterator[tuple[Trajectory, Any]], forward: ForwardPolicy[Any]) -> list[Any]:
    """The residuals of the trajectories to each terminal, added up."""
    dag = forward.dag
    total = dict.fromkeys(dag.terminals, forward.field.zero)
    for tau, residual in residuals:
        total[dag.end(tau)] += residual
    return list(total.values())


@pytest.mark.claim("eq:marginal")
def test_the_marginal_is_a_law_for_all_policies(all_lifts: Iterator[LiftedDAG[int]]) -> None:
    for lifted in all_lifts:
        field, forward, *_ = everything(lifted.dag)
        assert marginal(forward) == marginal_by_trajectories(forward)
        assert field.sum(marginal(forward)) == field.one


@pytest.mark.claim("col:tb", "unnormalised-backward-policy")
def test_tb_residuals_add_up_to_what_the_marginal_misses_for_all_weights_on_the_edges(
    all_lifts: Iterator[LiftedDAG[int]],
) -> None:
    for lifted in all_lifts:
        forward, kernel, rewards, z = free_kernel(lifted)
        assert summed(tb_residuals(forward, kernel, rewards, z), forward) == [
            z * p - r * b for p, r, b in zip(marginal(forward), rewards, mass(kernel), strict=True)
        ]
        # The weights of a policy have mass one. As the marginal has sum one, zero residuals over
        # all terminals then force Z to be the sum of R.
        field, _, backward, *_ = everything(lifted.dag)
        assert all(b == field.one for b in mass(backward))


@pytest.mark.claim("col:cb")
def test_cb_residuals_add_up_to_tb_residuals_for_all_policies_and_rewards(
    all_lifts: Iterator[LiftedDAG[int]],
) -> None:
    for lifted in all_lifts:
        field, forward, backward, _, rewards = everything(lifted.dag)
        total = dict.fromkeys(lifted.dag.trajectories(), field.zero)
        for tau, other, residual in cb_residuals(forward, backward, rewards):
            total[tau] += residual
            total[other] -= residual
        assert total == dict(tb_residuals(forward, backward, rewards, field.sum(rewards)))


@pytest.mark.claim("prop:lifted_balance")
def test_db_residuals_add_up_to_subtb_residuals_for_all_policies_and_flows(
    all_lifts: Iterator[LiftedDAG[int]],
) -> None:
    for lifted in all_lifts:
        _, forward, backward, flow, rewards = everything(lifted.dag)
        of_edge = dict(db_residuals(forward, backward, flow, rewards))
        telescoped: dict[Trajectory, Any] = {}
        # Shorter paths first: r(path e) = r(path) p_F(e) + p_B(path) d(e).
        for path, residual in sorted(
            subtb_residuals(forward, backward, flow, rewards), key=lambda pair: len(pair[0])
        ):
            *start, edge = path
            last = backward.along(tuple(start)) * of_edge[edge]
            before = telescoped[tuple(start)] * forward.values[edge] if start else None
            telescoped[path] = last if before is None else before + last
            assert telescoped[path] == residual


@pytest.mark.claim("prop:lifted_balance", "def:flows")
def test_subtb_residuals_from_the_start_add_up_to_what_visits_and_detailed_balance_miss(
    all_lifts: Iterator[LiftedDAG[int]],
) -> None:
    for lifted in all_lifts:
        dag = lifted.dag
        field, forward, backward, flow, rewards = everything(dag)
        at_node = [field.zero] * len(dag.labels)
        over_edge = [field.zero] * len(dag.edges)
        from_start: dict[Trajectory, Any] = {(): field.zero}
        for path, residual in subtb_residuals(forward, backward, flow, rewards):
            if dag.edges[path[0]][0] == 0:
                from_start[path] = residual
        for path, residual in from_start.items():
            if path:
                *start, edge = path
                at_node[dag.edges[edge][1]] += residual
                over_edge[edge] += residual - forward.values[edge] * from_start[tuple(start)]
        # Summed over the paths to s, p_B being 1 in all: F(s_o) u(s) - F(s).
        assert at_node[1:] == [
            flow[0] * u - f for u, f in zip(path_sums(forward)[1:], flow[1:], strict=True)
        ]
        # Over the paths to s, each followed by s -> s': the detailed balance of that edge.
        assert dict(enumerate(over_edge)) == dict(db_residuals(forward, backward, flow, rewards))


@pytest.mark.claim("def:flows")
def test_detailed_balance_leaves_one_flow_for_all_policies(
    all_lifts: Iterator[LiftedDAG[int]],
) -> None:
    for lifted in all_lifts:
        dag = lifted.dag
        field, forward, backward, flow, rewards = everything(dag)
        of_edge = dict(db_residuals(forward, backward, flow, rewards))
        for u, row in enumerate(dag.out_edges):
            through = field.sum(backward.values[e] * flow[dag.edges[e][1]] for e in row)
            if row:
                assert field.sum(of_edge[e] for e in row) == flow[u] - through


@pytest.mark.claim("prop:lifted_balance")
def test_a_copied_base_policy_has_mass_one_at_terminals_and_over_the_lifts_of_each_state(
    all_lifts: Iterator[LiftedDAG[int]],
) -> None:
    for lifted in all_lifts:
        field, _, base_p_b, *_ = everything(lifted.base)
        h = path_sums(base_p_b.on(lifted))
        over = [field.zero] * len(lifted.base.labels)
        for node, state in enumerate(lifted.projection):
            over[state] += h[node]
        assert all(total == field.one for total in over)


@pytest.mark.claim("col:objectives", "cb-tb-loss-identity")
def test_the_cb_loss_is_twice_the_best_tb_loss_for_all_explorations_and_log_ratios(
    all_lifts: Iterator[LiftedDAG[int]],
) -> None:
    # A symbol for f(tau) = log p_F(tau) / (p_B(tau|x) R(x)) of each trajectory, and for log Z.
    for lifted in all_lifts:
        dag = lifted.dag
        names = [f"p{edge}" for edge in free_edges(ForwardPolicy, dag)]
        names += [f"f{number}" for number in range(dag.trajectory_count)]
        field = Polynomials(" ".join([*names, "c"]))
        *f, c = field.symbols[len(free_edges(ForwardPolicy, dag)) :]
        p_e = generic(ForwardPolicy, dag, field, field.symbols[: -len(f) - 1])
        law = [p_e.along(tau) for tau in dag.trajectories()]
        pairs = list(zip(law, f, strict=True))
        mean = field.sum(p * v for p, v in pairs)
        variance = field.sum(p * (v - mean) ** 2 for p, v in pairs)
        tb = field.sum(p * (c + v) ** 2 for p, v in pairs)
        cb = field.sum(p * q * (v - w) ** 2 for p, v in pairs for q, w in pairs)
        assert tb == variance + (c + mean) ** 2
        assert cb == variance + variance


@pytest.mark.control("cb-tb-loss-identity", "col:objectives")
def test_without_normalised_exploration_the_cb_loss_is_not_twice_the_variance() -> None:
    field = Polynomials("p q v w")
    p, q, v, w = field.symbols

    def excess(p: Any, q: Any) -> Any:
        mean = p * v + q * w
        variance = p * (v - mean) ** 2 + q * (w - mean) ** 2
        return 2 * p * q * (v - w) ** 2 - 2 * variance

    assert excess(p, 1 - p) == field.zero
    assert excess(p, q) != field.zero


@pytest.mark.control("col:tb", "unnormalised-backward-policy")
def test_with_free_weights_the_marginal_misses_by_their_mass() -> None:
    forward, kernel, rewards, z = free_kernel(lift(DIAMOND, History()))
    total = summed(tb_residuals(forward, kernel, rewards, z), forward)
    without_mass = [z * p - r for p, r in zip(marginal(forward), rewards, strict=True)]
    assert all(left != right for left, right in zip(total, without_mass, strict=True))


@pytest.mark.control("col:cb")
def test_contrasts_of_equal_length_alone_do_not_add_up_to_trajectory_balance() -> None:
    dag = pointed_dag({"o": ["x", "u"], "u": ["y"], "x": [], "y": []})
    field, forward, backward, _, rewards = everything(dag)
    assert list(cb_residuals(forward, backward, rewards, same_length_only=True)) == []
    residuals = tb_residuals(forward, backward, rewards, field.sum(rewards))
    assert all(residual != field.zero for _, residual in residuals)


@pytest.mark.control("prop:lifted_balance")
def test_a_copied_base_policy_has_less_mass_at_each_lift_of_a_state_with_memory() -> None:
    lifted = lift(DIAMOND, History())
    field, _, base_p_b, *_ = everything(DIAMOND)
    h = path_sums(base_p_b.on(lifted))
    (b, *_) = (base_p_b.values[e] for e in free_edges(BackwardPolicy, DIAMOND))
    assert [h[v] for v in copies(lifted, "c")] == [b, field.one - b]
