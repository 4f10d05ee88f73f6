"""Random samplers, and what `reference` says of a certificate by listing its trajectories."""

import random
import re
from fractions import Fraction
from typing import get_args

from reference import RATIONAL, ForwardPolicy, PointedDAG
from reference.certificates import Claim, Relation
from reference.contract.errors import InputError
from reference.marginals import marginal_by_trajectories
from reference.metrics import normalize, total_variation


def sampler(rng: random.Random) -> tuple[ForwardPolicy[Fraction], list[Fraction]]:
    """A policy on a DAG of 2 to 10 nodes, and rewards."""
    n = rng.randint(2, 10)
    parents = [sorted(rng.sample(range(j), rng.randint(1, min(j, 4)))) for j in range(1, n)]
    children = tuple(tuple(v for v in range(1, n) if u in parents[v - 1]) for u in range(n))
    dag = PointedDAG(tuple(range(n)), children)
    rewards = [
        Fraction(rng.choice([0, 1, 5, rng.getrandbits(40)]), rng.randint(1, 9))
        for _ in dag.terminals
    ]
    if not sum(rewards):
        rewards[-1] = Fraction(1, 3)
    return policy(rng, dag), rewards


def policy(rng: random.Random, dag: PointedDAG) -> ForwardPolicy[Fraction]:
    """Random rows, with zeros, and with weights of very different sizes."""
    weights: list[int] = []
    for row in dag.children:
        drawn = [rng.choice([0, 1, 2, 3, 7, rng.getrandbits(60)]) for _ in row]
        weights += drawn if sum(drawn) else [1] * len(drawn)
    return ForwardPolicy.from_weights(dag, RATIONAL, weights)


def tv_by_trajectories(forward: ForwardPolicy[Fraction], rewards: list[Fraction]) -> Fraction:
    """`TV(p_T, R / Z)`, by listing all trajectories."""
    return total_variation(marginal_by_trajectories(forward), normalize(rewards))


def with_a_number_changed(rng: random.Random, text: str) -> str:
    """One number below the header line is changed by 1 or 2."""
    numbers = re.compile(r"(?<= )-?\d+(?=[ \n])")
    places = [match.span() for match in numbers.finditer(text, text.index("\n"))]
    first, last = rng.choice(places)
    number = int(text[first:last]) + rng.choice([-2, -1, 1, 2])
    return text[:first] + str(number) + text[last:]


def words_of(text: str) -> tuple[list[list[str]], list[list[str]]]:
    """The words of the fields, and of the rows without labels: read without our reader."""
    lines = [line.partition(" | ")[0].split(" ") for line in text.splitlines()]
    return [line[1:] for line in lines[2:6]], lines[6:-1]


def is_right(text: str) -> bool:
    """Whether a text of the right form, in exact arithmetic, is true."""
    ((nodes,), _, z, (relation, *tv)), rows = words_of(text)
    (total, common), (numerator, denominator) = map(int, z), map(int, tv)
    assert relation in get_args(Relation)
    children, values, rewards = [], [], []
    for kind, *words in rows:
        numbers = list(map(int, words))
        row = numbers[1::2] if kind == "i" else []
        if kind == "i" and (numbers[0] <= 0 or not row or row != sorted(row)):
            return False
        children.append(tuple(row))
        values += [Fraction(w, numbers[0]) for w in numbers[2::2]] if kind == "i" else []
        rewards += [numbers[0]] if kind == "t" else []
    try:
        dag = PointedDAG(tuple(range(len(children))), tuple(children))
        p_t = marginal_by_trajectories(ForwardPolicy(dag, RATIONAL, values))
        target = normalize([Fraction(reward) for reward in rewards])
    except InputError:
        return False
    if len(children) != int(nodes) or min(common, denominator) <= 0 or sum(rewards) != total:
        return False
    gap = total_variation(p_t, target)
    return Claim(relation, Fraction(numerator, denominator)).holds(gap, gap)
