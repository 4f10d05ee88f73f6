"""Laws of policies that alias states, as equations, on drawn DAGs and by beliefs."""

import random
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, permutations, product
from typing import Any, NamedTuple

import pytest

from reference.contract.errors import InputError
from reference.dag import PointedDAG, pointed_dag
from reference.expressivity.aliasing import TiedPolicies
from reference.fields.field import RATIONAL
from reference.lifted import History, lift
from reference.marginals import marginal
from reference.metrics import normalize
from reference.policies import BackwardPolicy, ForwardPolicy
from reference.solve import forward_from_backward
from verify.lib import linear
from verify.lib.attainable import attainable, tied_by
from verify.lib.cyclic import distances
from verify.lib.forks import EVERYTHING, HALF
from verify.lib.laws import by_label
from verify.lib.scopes import Scope, all_small_dags

Path = tuple[int, ...]


class Aliased(NamedTuple):
    """A DAG in which two states look alike, each with two terminals of its own."""

    dag: PointedDAG[int]
    states: tuple[int, int]
    x: tuple[int, int]
    y: tuple[int, int]

    def prefixes(self, state: int) -> set[Path]:
        """The possible observations before `state`; all other states differ."""
        paths: dict[int, set[Path]] = {0: {()}}
        for u, v in self.dag.edges:
            paths.setdefault(v, set()).update((*path, u) for path in paths[u])
        return paths[state]

    def without_memory(self) -> TiedPolicies:
        """The policies of which the row is the same in both states."""
        return tied_by(self.dag, [self.action(u, v) or (u, v) for u, v in self.dag.edges])

    def with_memory(self) -> TiedPolicies:
        """The policies of which the row is the same after the same observations."""
        lifted = lift(self.dag, History())
        steps = [self.dag.edges[e] for e in lifted.base_edge]
        seen = [lifted.dag.labels[u][1][:-1] for u, _ in lifted.dag.edges]
        keys = [(h, self.action(*step) or step) for h, step in zip(seen, steps, strict=True)]
        return tied_by(lifted.dag, keys)

    def action(self, state: int, child: int) -> str | None:
        """`x` or `y` in the two states."""
        return "x" if child in self.x else "y" if state in self.states else None

    def on_both(self, law: dict[int, Fraction]) -> tuple[Fraction, Fraction]:
        """`p(x_1) p(y_2)` and `p(x_2) p(y_1)`."""
        return law[self.x[0]] * law[self.y[1]], law[self.x[1]] * law[self.y[0]]


def make_aliased(dag: PointedDAG[int], first: int, second: int) -> Aliased:
    """Two sinks of a DAG, given two terminals each."""
    n = len(dag.labels)
    rows = [*dag.children, (), (), (), ()]
    rows[first], rows[second] = (n, n + 1), (n + 2, n + 3)
    grown = PointedDAG(tuple(range(n + 4)), tuple(rows))
    return Aliased(grown, (first, second), (n, n + 2), (n + 1, n + 3))


@cache
def all_small_aliased() -> tuple[Aliased, ...]:
    return tuple(
        make_aliased(dag, *pair)
        for dag in all_small_dags()
        for pair in combinations(dag.terminals, 2)
    )


def law_of(policies: TiedPolicies, rng: random.Random) -> dict[int, Fraction]:
    """`p_T` of random weights."""
    weights = [Fraction(rng.randint(1, 9)) for _ in range(policies.count)]
    return by_label(policies.policy(weights))


def rows_at(case: Aliased, dag: PointedDAG[Any], values: Any) -> dict[Any, list[Fraction]]:
    """The probabilities of `x` and `y` at each (lifted) copy of the two states."""
    return {
        dag.labels[u]: [values[e] for e in dag.out_edges[u]]
        for u in range(len(dag.labels))
        if {dag.labels[v] for v in dag.children[u]} & {*case.x, *case.y}
    }


@pytest.mark.claim("state-aliasing")
@pytest.mark.control("representational-power")
def test_two_aliased_states_by_hand() -> None:
    # o -> a1 -> {x1, y1} and o -> a2 -> {x2, y2}: a common row (w, 1 - w).
    case = make_aliased(PointedDAG((0, 1, 2), ((1, 2), (), ())), 1, 2)
    policies = case.without_memory()
    weights = [Fraction(w) for w in (2, 1, 3, 1)]
    law = by_label(policies.policy(weights))
    assert [law[v] for v in (3, 4, 5, 6)] == [HALF, Fraction(1, 6), Fraction(1, 4), Fraction(1, 12)]
    assert case.on_both(law) == (Fraction(1, 24), Fraction(1, 24))
    # Both have the history o, so memory is of no use.
    assert case.prefixes(1) == case.prefixes(2) == {(0,)}
    # Rows (1, 0) and (0, 1), which a policy that tells them apart may have.
    apart = ForwardPolicy(case.dag, RATIONAL, [HALF, HALF, *map(Fraction, (1, 0, 0, 1))])
    assert case.on_both(by_label(apart)) == (Fraction(1, 4), Fraction(0))


@pytest.mark.claim("state-aliasing")
def test_without_memory_the_laws_are_those_of_one_equation(scope: Scope) -> None:
    rng = random.Random(0)
    for case in scope.over(
        all_small_aliased(), "two aliased states in each of {:,} ways on the small DAGs"
    ):
        dag = case.dag
        left, right = case.on_both(law_of(case.without_memory(), rng))
        assert left == right
        # Each such law is attained: the policy that a Markovian p_B forces has equal rows.
        reward = {v: Fraction(rng.randint(1, 9)) for v in dag.terminals}
        reward[case.y[1]] = reward[case.x[1]] * reward[case.y[0]] / reward[case.x[0]]
        rewards = tuple(reward[v] for v in dag.terminals)
        forward, _ = forward_from_backward(BackwardPolicy.uniform(dag, RATIONAL), rewards)
        assert marginal(forward) == normalize(rewards)
        first, second = rows_at(case, dag, forward.values).values()
        assert first == second


def remembering(case: Aliased, law: dict[int, Fraction], epsilon: Fraction) -> BackwardPolicy[Any]:
    """A `p_B` on histories for which the policy of that terminal law is tied only as it must be.

    State `i` is reached nearly always by a history of its own, `h_i`. The row after any other
    history is (1/2, 1/2), and the rows after `h_1` and `h_2` make up for that.
    """
    before = [sorted(case.prefixes(state)) for state in case.states]
    own = next((h, k) for h, k in product(*before) if h != k)
    share = []
    for i in (0, 1):
        total, rest = law[case.x[i]] + law[case.y[i]], len(before[i]) - 1
        share.append({h: total * epsilon / rest if rest else Fraction(0) for h in before[i]})
        share[i][own[i]] = total - sum(m for h, m in share[i].items() if h != own[i])
    row = dict.fromkeys([*before[0], *before[1]], HALF)
    others = [sum(m * HALF for h, m in share[i].items() if h not in own) for i in (0, 1)]
    solution = linear.solve(
        [[share[i].get(h, Fraction(0)) for h in own] for i in (0, 1)],
        [law[case.x[i]] - others[i] for i in (0, 1)],
    )
    assert solution is not None
    row[own[0]], row[own[1]] = solution
    assert all(0 < p < 1 for p in row.values())
    dag = lift(case.dag, History()).dag
    weights = [Fraction(1)] * len(dag.edges)
    for e, (u, v) in enumerate(dag.edges):
        child = dag.labels[v]
        for i in (0, 1):
            if child in (case.x[i], case.y[i]):
                history = (0, *dag.labels[u][1])[:-1]
                p = row[history]
                weights[e] = share[i][history] * (p if child == case.x[i] else 1 - p)
    return BackwardPolicy.from_weights(dag, RATIONAL, weights)


@pytest.mark.claim("state-aliasing")
def test_with_memory_all_positive_laws_are_attained_unless_both_have_one_history(
    scope: Any,
) -> None:
    rng = random.Random(0)
    bound = freed = equal_sets = 0
    for case in all_small_aliased():
        one, two = map(case.prefixes, case.states)
        if len(one) == len(two) == 1 and one == two:
            left, right = case.on_both(law_of(case.with_memory(), rng))
            assert left == right
            bound += 1
            continue
        drawn = normalize([Fraction(rng.randint(1, 9)) for _ in case.dag.terminals])
        law = dict(zip(case.dag.terminals, drawn, strict=True))
        backward = remembering(case, law, Fraction(1, 1000))
        rewards = tuple(law[backward.dag.labels[x]] for x in backward.dag.terminals)
        forward, _ = forward_from_backward(backward, rewards)
        assert marginal(forward) == rewards
        rows = rows_at(case, backward.dag, forward.values)
        for (_, history), row in rows.items():
            seen = history[:-1]
            assert all(row == other for (_, h), other in rows.items() if h[:-1] == seen)
        freed += 1
        equal_sets += one == two
    assert equal_sets > 0
    scope(f"memory frees {freed:,} of these and not {bound:,}")


@pytest.mark.control("state-aliasing")
def test_equal_sets_of_prefixes_do_not_bind_a_law_if_there_are_two() -> None:
    """Either of two ways leads to either state; the policy takes mostly one way to each."""
    dag = PointedDAG((0, 1, 2, 3, 4), ((1, 2), (3, 4), (3, 4), (), ()))
    case = make_aliased(dag, 3, 4)
    assert case.prefixes(3) == case.prefixes(4) == {(0, 1), (0, 2)}
    law = {5: Fraction(4, 10), 6: Fraction(1, 10), 7: Fraction(1, 10), 8: Fraction(4, 10)}
    assert case.on_both(law) == (Fraction(4, 25), Fraction(1, 100))
    backward = remembering(case, law, Fraction(1, 10))
    rewards = tuple(law[backward.dag.labels[x]] for x in backward.dag.terminals)
    assert marginal(forward_from_backward(backward, rewards)[0]) == rewards


@pytest.mark.control("state-aliasing")
def test_if_the_states_are_told_apart_the_equation_fails() -> None:
    rng = random.Random(0)
    broken = kept = 0
    for case in all_small_aliased():
        free = TiedPolicies(case.dag, tuple(range(len(case.dag.edges))))
        left, right = case.on_both(law_of(free, rng))
        broken, kept = broken + (left != right), kept + (left == right)
    # Of random weights from 1 to 9, a few have equal ratios by chance.
    assert broken > 10 * kept


# Class 0 leads from o to s, class 1 from s to y.
TURN = pointed_dag({"o": ["s", "x"], "s": ["y", "z"], "x": [], "y": [], "z": []})
TURNING = TiedPolicies(TURN, (0, 1, 1, 0))


@pytest.mark.claim("state-aliasing")
def test_a_state_that_looks_like_its_own_parent_costs_three_quarters() -> None:
    """`p_T(y) = w (1 - w) <= 1/4` without memory; by the length of the history they differ."""
    laws = [marginal(TURNING.policy([Fraction(w), Fraction(9 - w)])) for w in range(1, 9)]
    assert [TURN.labels[x] for x in TURN.terminals] == ["x", "y", "z"]
    for w, law in enumerate(laws, 1):
        p = Fraction(w, 9)
        assert law == (1 - p, p * (1 - p), p * p)
        assert law[1] <= Fraction(1, 4)
    assert marginal(TURNING.policy([Fraction(1)] * 2))[1] == Fraction(1, 4)
    assert attainable(TiedPolicies(TURN, (0, 1, 2, 3)), "y") == EVERYTHING


# What policies with ties attain: each edge with its class; what leads nowhere is a terminal.
TWO_WAYS = {"oa": 0, "ob": 0, "ax": 1, "ay": 2, "bx": 2, "by": 1}
LOSING_WAY = {"rx": 2, "ro": 3, "ry": 3, "os": 0, "oy": 1, "sx": 1, "sy": 0}
RANKED = {"rc": 3, "ry": 5, "ca": 4, "cb": 4, "au": 0, "av": 1, "ah": 2, "bx": 2, "by": 0}
RANKED |= {"ux": 7, "vx": 7, "hx": 6, "hy": 6}


def tied(class_of: dict[str, int]) -> TiedPolicies:
    children: dict[str, list[str]] = {v: [] for edge in class_of for v in edge}
    for edge in class_of:
        children[edge[0]].append(edge[1])
    dag = pointed_dag(children)
    edges = [dag.labels[u] + dag.labels[v] for u, v in dag.edges]
    return TiedPolicies(dag, tuple(class_of[edge] for edge in edges))


@pytest.mark.claim("state-aliasing")
@pytest.mark.parametrize(
    ("class_of", "expected"),
    [
        # p_T(x) = w (1 - w) is at most 1/4, where remembering policies reach 1.
        ({"os": 0, "oz": 1, "sx": 1, "sy": 0}, None),
        ({"os": 0, "ox": 1, "sy": 1, "sz": 0}, EVERYTHING),
        ({"os": 0, "oy": 1, "sz": 1, "sx": 0}, EVERYTHING),
        # The way to o, where class 0 would have to win and then class 1, loses half to y.
        (LOSING_WAY, EVERYTHING),
        (LOSING_WAY | {"ro": 2, "ry": 2}, None),
        # At a, 0 or 1 must beat 2, and at b, 2 must beat 0: the ranking 1, 2, 0 does both.
        (RANKED, EVERYTHING),
        # Equal rows are told apart by nothing, and seeing the way does not help.
        (TWO_WAYS, (HALF, HALF)),
        (TWO_WAYS | {"ob": 1, "ax": 2, "by": 2}, (HALF, HALF)),
        (TWO_WAYS | {"ay": 1, "by": 3}, (Fraction(1, 4), Fraction(3, 4))),
        (TWO_WAYS | {"bx": 1, "by": 2}, EVERYTHING),
    ],
)
def test_the_interval_of_a_probability_by_hand(class_of: dict[str, int], expected: Any) -> None:
    """None where a class would have to win here and to lose there."""
    if expected is None:
        with pytest.raises(InputError, match=r"the range of p_T\('x'\) is not determined"):
            attainable(tied(class_of), "x")
    else:
        assert attainable(tied(class_of), "x") == expected


def random_policies(rng: random.Random) -> TiedPolicies:
    """Two to four steps over layers of three states, with up to four classes."""
    depth = rng.randint(2, 4)
    layers = [["o"], *([f"{t}{i}" for i in range(3)] for t in range(1, depth)), ["x", "y"]]
    children: dict[str, list[str]] = {"o": [], "x": [], "y": []}
    for layer, following in pairwise(layers):
        for state in layer:
            size = 2 if following[0] == "x" else rng.randint(1, 3)
            children[state] = sorted(rng.sample(following, min(size, len(following))))
    graph = {state: tuple(row) for state, row in children.items()}
    reached = distances(graph, "o")
    dag: PointedDAG[str] = pointed_dag({s: row for s, row in children.items() if s in reached})
    drawn = [rng.randrange(rng.randint(1, 4)) for _ in dag.edges]
    number = {c: i for i, c in enumerate(dict.fromkeys(drawn))}
    return TiedPolicies(dag, tuple(number[c] for c in drawn))


@pytest.mark.claim("state-aliasing")
def test_the_interval_is_what_policies_attain_on_random_dags(scope: Any) -> None:
    rng = random.Random(0)
    proper = forced = undecided = 0
    for _ in range(150):
        policies = random_policies(rng)
        n = policies.count
        sampled = [
            by_label(policies.policy([Fraction(rng.randint(1, 50)) for _ in range(n)]))["x"]
            for _ in range(10)
        ]
        extreme = [
            by_label(policies.policy([Fraction(10**6) ** rank for rank in ranks]))["x"]
            for ranks in permutations(range(n))
        ]
        try:
            low, high = attainable(policies, "x")
        except InputError:
            undecided += 1
            continue
        if low == high:
            forced += 1
            assert set(sampled + extreme) == {low}
        else:
            proper += 1
            assert all(low < p < high for p in sampled + extreme)
            # In at most four rows, each with at most two rivals 10^6 times less likely.
            assert min(extreme) - low <= Fraction(8, 10**6)
            assert high - max(extreme) <= Fraction(8, 10**6)
    assert min(proper, forced, undecided) > 15
    scope(f"{proper + forced} intervals of random ties, {forced} of them one point")
