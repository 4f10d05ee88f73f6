"""Policies with tied actions: the attainable set against policies, at random and at extremes."""

import random
from fractions import Fraction
from itertools import pairwise, permutations

import pytest

from reference import InputError, PointedDAG, TooLargeError, marginal, pointed_dag
from reference.aliasing import Interval, TiedPolicies

HALF = Fraction(1, 2)
EVERYTHING = Interval(Fraction(0), Fraction(1))

# Class 0 leads from o to s, class 1 from s to y.
TURN = pointed_dag({"o": ["s", "x"], "s": ["y", "z"], "x": [], "y": [], "z": []})
TURNING = TiedPolicies(TURN, (0, 1, 1, 0))


def tied(dag: PointedDAG[str], class_of: dict[str, int]) -> TiedPolicies:
    """The classes by the names of parent and child, such as "os"."""
    edges = [dag.labels[u] + dag.labels[v] for u, v in dag.edges]
    return TiedPolicies(dag, tuple(class_of[edge] for edge in edges))


def test_a_policy_has_the_weights_of_its_classes() -> None:
    assert TURNING.count == 2
    assert TURNING.row(0) == TURNING.row(1) == (0, 1)
    assert TURNING.separates(0)
    assert not TiedPolicies(TURN, (0, 0, 1, 2)).separates(0)
    w = Fraction(3, 4)
    law = marginal(TURNING.policy([Fraction(3), Fraction(1)]))
    assert [TURN.labels[x] for x in TURN.terminals] == ["x", "y", "z"]
    assert law == (1 - w, w * (1 - w), w * w)


def test_a_class_that_would_have_to_win_and_to_lose_is_reported() -> None:
    # p_T(y) = w (1 - w) is at most 1/4, where remembering policies reach 1.
    assert TURNING.attainable("x") == TURNING.attainable("z") == EVERYTHING
    with pytest.raises(InputError, match=r"the range of p_T\('y'\) is not determined"):
        TURNING.attainable("y")


def test_control_with_classes_of_their_own_nothing_conflicts() -> None:
    assert TiedPolicies(TURN, (0, 1, 2, 3)).attainable("y") == EVERYTHING


def test_a_conflict_where_no_optimum_leads_does_not_matter() -> None:
    # The way to o, where class 0 would have to win and then class 1, loses half to y.
    dag = pointed_dag({"r": ["x", "o", "y"], "o": ["s", "y"], "s": ["x", "y"], "x": [], "y": []})
    class_of = {"rx": 2, "ro": 3, "ry": 3, "os": 0, "oy": 1, "sx": 1, "sy": 0}
    assert tied(dag, class_of).attainable("x") == EVERYTHING
    with pytest.raises(InputError, match="not determined"):
        tied(dag, class_of | {"ro": 2, "ry": 2}).attainable("x")


def test_one_of_several_optimal_classes_is_enough() -> None:
    # At a, 0 or 1 must beat 2, and at b, 2 must beat 0: the ranking 1, 2, 0 does both.
    dag = pointed_dag(
        {
            "r": ["c", "y"],
            "c": ["a", "b"],
            "a": ["u", "v", "h"],
            "b": ["x", "y"],
            "u": ["x"],
            "v": ["x"],
            "h": ["x", "y"],
            "x": [],
            "y": [],
        }
    )
    class_of = {
        "rc": 3,
        "ry": 5,
        "ca": 4,
        "cb": 4,
        "au": 0,
        "av": 1,
        "ah": 2,
        "bx": 2,
        "by": 0,
        "ux": 7,
        "vx": 7,
        "hx": 6,
        "hy": 6,
    }
    assert tied(dag, class_of).attainable("x") == EVERYTHING


def test_states_with_equal_rows_are_told_apart_by_nothing() -> None:
    dag = pointed_dag({"o": ["a", "b"], "a": ["x", "y"], "b": ["x", "y"], "x": [], "y": []})
    assert TiedPolicies(dag, (0, 0, 1, 2, 2, 1)).attainable("x") == (HALF, HALF)
    # The way to a and b, if it is seen, does not help: which of the two rows it is, is the same.
    assert TiedPolicies(dag, (0, 1, 2, 2, 2, 2)).attainable("x") == (HALF, HALF)
    assert TiedPolicies(dag, (0, 0, 1, 1, 2, 3)).attainable("x") == (Fraction(1, 4), Fraction(3, 4))
    assert TiedPolicies(dag, (0, 0, 1, 2, 1, 2)).attainable("x") == EVERYTHING


def random_policies(rng: random.Random) -> TiedPolicies:
    """Two to four steps over layers of three states, with up to four classes."""
    depth = rng.randint(2, 4)
    layers = [["o"], *([f"{t}{i}" for i in range(3)] for t in range(1, depth)), ["x", "y"]]
    children: dict[str, list[str]] = {"o": [], "x": [], "y": []}
    for layer, following in pairwise(layers):
        for state in layer:
            size = 2 if following[0] == "x" else rng.randint(1, 3)
            children[state] = sorted(rng.sample(following, min(size, len(following))))
    children = reachable(children)
    dag: PointedDAG[str] = pointed_dag(children)
    drawn = [rng.randrange(rng.randint(1, 4)) for _ in dag.edges]
    number = {c: i for i, c in enumerate(dict.fromkeys(drawn))}
    return TiedPolicies(dag, tuple(number[c] for c in drawn))


def reachable(children: dict[str, list[str]]) -> dict[str, list[str]]:
    kept, stack = {"o"}, ["o"]
    while stack:
        new = set(children[stack.pop()]) - kept
        kept |= new
        stack += new
    return {state: row for state, row in children.items() if state in kept}


def p_x(policies: TiedPolicies, weights: list[Fraction]) -> Fraction:
    dag = policies.dag
    law = marginal(policies.policy(weights))
    return law[[dag.labels[x] for x in dag.terminals].index("x")]


def test_the_interval_is_what_policies_attain_on_random_dags() -> None:
    rng = random.Random(0)
    proper = forced = undecided = 0
    for _ in range(300):
        policies = random_policies(rng)
        n = policies.count
        sampled = [
            p_x(policies, [Fraction(rng.randint(1, 50)) for _ in range(n)]) for _ in range(10)
        ]
        extreme = [
            p_x(policies, [Fraction(10**6) ** rank for rank in ranks])
            for ranks in permutations(range(n))
        ]
        try:
            low, high = policies.attainable("x")
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
    assert min(proper, forced, undecided) > 30


def test_distance_is_to_the_closed_interval() -> None:
    interval = Interval(Fraction(1, 4), Fraction(3, 4))
    distances = [interval.distance(Fraction(n, 8)) for n in (0, 2, 4, 6, 7)]
    assert distances == [Fraction(1, 4), 0, 0, 0, Fraction(1, 8)]
    assert Interval(HALF, HALF).forced
    assert not interval.forced


def test_malformed_classes_weights_and_names_are_refused() -> None:
    with pytest.raises(InputError, match="3 classes for a DAG of 4 edges"):
        TiedPolicies(TURN, (0, 1, 2))
    with pytest.raises(InputError, match="without gaps"):
        TiedPolicies(TURN, (0, 1, 1, 3))
    with pytest.raises(InputError, match="one positive weight per class"):
        TURNING.policy([Fraction(1)])
    with pytest.raises(InputError, match="one positive weight per class"):
        TURNING.policy([Fraction(1), Fraction(0)])
    with pytest.raises(InputError, match="'s' is not a terminal"):
        TURNING.attainable("s")
    with pytest.raises(TooLargeError, match="more than 2 beliefs"):
        TURNING.attainable("x", max_beliefs=2)
