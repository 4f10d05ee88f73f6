"""Minimal presets of every problem, and untrained networks on them."""

import functools
import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

import pdai  # noqa: F401  (enters the environments of its rooms)
from fast.dynamics.head import HeadOptions
from fast.dynamics.wrappers import CellOptions
from fast.environments import AbstractEnvironment, TabularEnvironment, make_environment
from fast.laws.enumeration import Enumeration, enumerate_environment
from fast.parts import DYNAMICS
from fast.policies.policy import Policy
from fast.training.build import make_policy
from fast.training.compose import configure
from reference.posterior.structure import StructureLearning
from reference.posterior.variables import VariableSelection
from reference.problems.base import Order, Problem
from reference.problems.bits import BitSequences
from reference.problems.graphs import EdgeAddition, graph
from reference.problems.grid import Grid
from reference.problems.hard_core import HardCore
from reference.problems.ising import Ising
from reference.problems.lines import Lines
from reference.problems.phylogeny import Phylogeny
from reference.problems.preference import Preference
from reference.problems.random_walk import LazyRandomWalk
from reference.problems.sequences import SyntheticSequences
from reference.problems.sets import Sets
from reference.problems.tables import TableSequences
from reference.problems.torus import Torus
from verify.lib.forks import lattice

TABLE = np.random.default_rng(5).normal(size=4**3).astype(np.float32)


# One terminal after a single step, the others after two.
UNEVEN = EdgeAddition(
    (0, 1, 1),
    (graph([]), graph([(0, 1)])),
    (graph([(1, 2)]), graph([(0, 1), (0, 2)])),
    (Fraction(1, 4), Fraction(3, 2)),
)

PROBLEMS: dict[str, Problem[Any]] = {
    "lines": Lines.laplaces(5, 2, seed=1),
    "grid": Grid(4, 2),
    "synthetic, append": SyntheticSequences.random(3, 3, "append", seed=3),
    "synthetic, prepend-append": SyntheticSequences.random(4, 2, "prepend-append", seed=4),
    "graphs": lattice(4, 2),
    "table, prepend-append": TableSequences("ACGT", 3, "prepend-append", TABLE, 3),
    "sets": Sets.random(5, 3, seed=1),
    "walk": LazyRandomWalk(1, 3, 2),
    "bits, prepend-append": BitSequences(("000000", "011011"), 2, "prepend-append", 20),
    "torus, any order": Torus(2, 3, 0.3),
    "ising, any order": Ising.random(3, "any", seed=10),
    "hard-core, any order": HardCore(4, ((0, 1), (1, 2), (2, 3), (0, 3)), Fraction(2, 3)),
    "phylogeny": Phylogeny.random(4, 12, seed=2),
    "structure": StructureLearning.random(3, rows=20, seed=1),
    "variables": VariableSelection.random(3, rows=30, seed=1),
}

DAGS = {
    order: replace(StructureLearning.random(4, rows=20, seed=4), order=order)
    for order in get_args(Order)
}

# Other rewards, or the like state graphs, trees among them: only their environments are compared.
VARIANTS: dict[str, Problem[Any]] = {
    "lines, M = 1": Lines.laplaces(4, 1, seed=2),
    "lines, sparse, M = 3": Lines.sparse(6, 3, (2, 5)),
    "grid, 3 axes": Grid(3, 3),
    "table, append": TableSequences("AC", 4, "append", TABLE[:16], 1),
    "grid, printed": Grid(4, 2, "printed"),
    "grid, sparse": Grid(6, 2, "sparse"),
    "grid, fixed order": Grid(3, 3, order="fixed"),
    "graphs, matching": EdgeAddition.matching(),
    "graphs, paths": EdgeAddition.paths(),
    "graphs, marked": EdgeAddition.marked(),
    "graphs, mirrored": EdgeAddition.mirrored(),
    "graphs, paper": EdgeAddition.paper(),
    "graphs, uneven": UNEVEN,
    "synthetic, printed sum": SyntheticSequences.random(3, 2, "append", seed=6, form="sum"),
    "bits, append": BitSequences(("0000", "0110"), 2, "append"),
    "ising, fixed order": Ising.random(4, "fixed", seed=9),
    "torus, row by row": Torus(3, 3, 0.7, "fixed"),
    "hard-core, fixed order": HardCore.strip(2, 3, 1.5, "fixed"),
    "preference, fixed order": Preference.random(5, 3, 1, "fixed", seed=7),
    "preference, any order": Preference.random(9, 2, 2, "any", seed=8),
    "sets, printed sum": Sets.random(5, 3, "sum", seed=2),
    "walk, sharp rings": LazyRandomWalk(2, 4, 2, "sharp-rings"),
    "walk, sinusoidal": LazyRandomWalk(3, 4, 1, "sinusoidal"),
    "structure, four nodes": StructureLearning.random(4, rows=50, seed=2),
    "structure, fixed order": DAGS["fixed"],
    "structure, two parents": StructureLearning.random(4, rows=20, seed=3, max_parents=2),
}

# Problems of a user's own, turned into tables: with features of their states, and without.
TABLES: dict[str, Grid | EdgeAddition] = {
    "grid, as tables": Grid(3, 2),
    "graphs, as tables": UNEVEN,
}

PRESETS: dict[str, Problem[Any]] = PROBLEMS | VARIANTS | TABLES

# Problems whose states are seen in another way than any encoding says, and in which.
SEEN_OTHERWISE: dict[str, tuple[Problem[Any], dict[str, Any]]] = {
    "walk, waves of time": (LazyRandomWalk(1, 3, 2), {"time_code": "fourier"}),
    "walk, in blocks": (LazyRandomWalk(2, 4, 2), {"coarse": 2}),
    "grid, in blocks": (Grid(6, 2), {"coarse": 4}),
    "grid, in blocks of integers": (Grid(4, 2), {"encoding": "natural", "coarse": 2}),
    "strings, last letter": (SyntheticSequences.random(4, 2, "append", seed=4), {"last": 1}),
    "strings of two ends, last two letters": (PROBLEMS["synthetic, prepend-append"], {"last": 2}),
    "bits, no word": (BitSequences(("000000", "011011"), 2, "append"), {"last": 0}),
    **{f"dags, {order} order, ahead": (DAGS[order], {"graph_code": "ahead"}) for order in DAGS},
}

OBSERVED: dict[str, tuple[Any, AbstractEnvironment]] = {
    name: (problem, make_environment(problem, **options))
    for name, (problem, options) in SEEN_OTHERWISE.items()
}


def seen_along(problem: Problem[Any], environment: AbstractEnvironment) -> npt.NDArray[np.float64]:
    """The observations along four random trajectories, in the last state until all have ended."""
    rng, trajectories = random.Random(0), []
    for _ in range(4):
        trajectories.append([problem.initial])
        while children := list(problem.children(trajectories[-1][-1])):
            trajectories[-1].append(rng.choice(children))
    rows = itertools.zip_longest(*trajectories)
    by_time = [[s or tau[-1] for s, tau in zip(row, trajectories, strict=True)] for row in rows]
    observed = [[environment.observe(environment.encode(s)) for s in row] for row in by_time]
    return np.array(observed, np.float64).swapaxes(0, 1)


class Instance(NamedTuple):
    """A problem, its environment, and both enumerated."""

    problem: Problem[Any]
    environment: AbstractEnvironment
    enumeration: Enumeration

    @property
    def ends(self) -> list[Any]:
        """The labels of the terminal states, in the order of their nodes."""
        return [self.enumeration.dag.labels[x] for x in self.enumeration.dag.terminals]

    @property
    def rewards(self) -> dict[Any, Fraction]:
        """`R(x)` by the label of x."""
        return dict(zip(self.ends, self.enumeration.rewards, strict=True))

    def counts(self, labels: Iterable[Any]) -> npt.NDArray[np.int64]:
        """The number of labels that are of each terminal state."""
        times = Counter(labels)
        assert times.keys() <= set(self.ends)
        return np.array([times[label] for label in self.ends])


def environment_of(name: str) -> AbstractEnvironment:
    """The environment of the preset of that name."""
    problem = PRESETS[name]
    if name in TABLES and isinstance(problem, Grid):
        # The features of a cell: where it is, and whether the trajectory has ended.
        return TabularEnvironment.from_problem(problem, lambda s: [*s.coordinates, s.stopped])
    if name in TABLES and isinstance(problem, EdgeAddition):
        return TabularEnvironment.from_problem(problem)
    return make_environment(problem)


@functools.cache
def make_instance(name: str) -> Instance:
    """The preset of that name."""
    problem = PRESETS[name]
    environment = environment_of(name)
    return Instance(problem, environment, enumerate_environment(problem, environment))


def random_policy(environment: AbstractEnvironment, seed: int = 0, **options: Any) -> Policy:
    """A policy with random weights and biases, far from uniform; options as in a configuration.

    The weights are NumPy's: an untrained policy is nearly uniform, without biases, and each of its
    arrays is drawn by a program to be compiled.
    """
    # With memory, unless asked for: a Markovian network shows less.
    options = {"dynamics": "gru", **options}
    kind = DYNAMICS[options["dynamics"]]
    if issubclass(kind, HeadOptions):
        options = {"table_rows": 0, **options}
    if issubclass(kind, CellOptions):
        options = {"latent_size": 8, **options}
    config = configure("six6", **options)
    shapes = eqx.filter_eval_shape(make_policy, config, environment, 32, key=jax.random.key(0))
    rng = np.random.default_rng(seed)
    policy: Policy = filled(shapes, lambda shape: rng.normal(size=shape) * (2 / shape[0]) ** 0.5)
    return policy


def filled(shapes: Any, draw: Callable[[tuple[int, ...]], Any]) -> Any:
    """A tree of shapes, as `eqx.filter_eval_shape` gives it, with each array drawn by its shape."""
    return jax.tree.map(
        lambda leaf: (
            jnp.asarray(draw(leaf.shape), leaf.dtype)
            if isinstance(leaf, jax.ShapeDtypeStruct)
            else leaf
        ),
        shapes,
    )
