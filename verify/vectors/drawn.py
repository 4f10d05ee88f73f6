"""The tasks of the paper in their smallest size, and small lifts drawn at random."""

import random
from collections.abc import Iterator
from fractions import Fraction

from reference import History, LiftedDAG, enumerate_dag, enumerate_rewards, lift
from reference.problems.presets import MINIMAL
from verify.lib.small_scope import from_parents, lifts
from verify.vectors.samplers import Draws, SamplerCase

MAX_LIFTED_STATES = 60
SMALL_LIFTS = 40
STATES = 6


def preset_cases() -> Iterator[SamplerCase]:
    """Every minimal preset; where it has few histories, its lift by all of them too."""
    for name, make in MINIMAL.items():
        problem = make()
        dag = enumerate_dag(problem)
        rewards, rng = enumerate_rewards(problem, dag), random.Random(name)
        base = Draws(name, dag, rewards, rng)
        yield from (base.arbitrary(), base.balanced())
        lifted = lift(dag, History())
        if len(dag.labels) < len(lifted.dag.labels) <= MAX_LIFTED_STATES:
            history = Draws(f"{name}/history", lifted, rewards, rng)
            yield from (history.arbitrary(), history.copied())


def small_lift_cases() -> Iterator[SamplerCase]:
    """Lifts with memory of DAGs with six states and two terminals or more, drawn from a seed."""
    rng = random.Random(0)
    drawn: dict[object, LiftedDAG[int]] = {}
    while len(drawn) < SMALL_LIFTS:
        parents = [rng.sample(range(j), rng.randint(1, j)) for j in range(1, STATES)]
        dag = from_parents([sorted(row) for row in parents])
        # With one terminal every marginal is 1, so that nothing wrong could be seen in it.
        if len(dag.terminals) > 1:
            memories = [u for u in lifts(dag) if len(u.dag.labels) > STATES]
            if memories:
                lifted = rng.choice(memories)
                drawn[dag.children, lifted.dag.children] = lifted
    for number, lifted in enumerate(drawn.values()):
        rewards = tuple(Fraction(rng.randint(1, 9)) for _ in lifted.dag.terminals)
        draws = Draws(f"lift-{number}", lifted, rewards, rng)
        yield from (draws.arbitrary(), draws.balanced(), draws.copied(), draws.misnormalised())
