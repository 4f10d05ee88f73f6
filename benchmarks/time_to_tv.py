"""Seconds until a sampler is near: `python benchmarks/time_to_tv.py [--seeds 5] [--only six6]`.

Processor seconds until the exact TV of terminal states is below each distance, at log-spaced steps
of one training of the default length, whose rate falls to zero at its end; the first seed of a
process compiles, the others use its programs. Contestants: the task's defaults, also with memory;
`pdai.solve`, which is exact; and chains, ten thousand whose law is followed exactly (order MCMC: of
graphs drawn from its orders and weighed, which is not timed; tempered: simulated, given the sums of
powers of R, and only the states at R itself count).
Every task here can be enumerated, so TV is exact and is not timed; of a sampler whose histories are
too many, it is estimated from backward trajectories.

With `--gfnx ENV` or `--torchgfn ENV` instead: tasks that all three have (peers/README.md), TV from
`p_F` in every state. The others train as their own scripts do, this project as the first round of
`--tv`; each training is a process of its own on the cores that this one may use, whose imports and
compilation count, and the libraries take turns, seed by seed, until TV is below 0.02.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import count, permutations
from math import comb
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.special import logsumexp

import pdai
from benchmarks.certify.cases import six6_task
from benchmarks.harness import Spread, Table, machine, parser
from benchmarks.peers.run import Process
from benchmarks.peers.tasks import TASKS as PEER_TASKS
from benchmarks.peers.tasks import BitTask, IsingTask, Task
from fast.laws.enumeration import Floats, Ints, enumerate_environment
from fast.laws.terminal_law import law_of, target_law, uniform_law
from fast.training.compose import configure
from fast.training.trainer import make_trainer
from pdai.goal import first_steps
from reference.metrics import total_variation
from reference.posterior.mcmc import GraphTarget, OrderTarget
from reference.problems import Cell

DISTANCES = (0.2, 0.1, 0.05, 0.02, 0.01)
# Seconds and TV along a training.
Curve = Sequence[tuple[float, float]]
# Of the rewards of tempered chains.
POWERS = tuple(2.0**k for k in range(-6, 1))
TASKS: dict[str, dict[str, Any]] = {
    "grid 16^2": {"task": "grid", "side": 16},
    "grid 8^4": {"task": "grid", "side": 8, "dimension": 4},
    "SIX6, both ends": {"task": "six6"},
    "SIX6, appended": {"task": "six6", "build": "append"},
    "Syn-6": {"task": "syn", "length": 6},
    # On these two chains of single coordinates pass from mode to mode rarely.
    "sparse grid 16^2": {"task": "grid", "side": 16, "landscape": "sparse"},
    "peaked bits 16": {"task": "bits", "length": 16, "exponent": 80},
    **{
        f"posterior, {nodes} variables, {rows:,} rows, data {seed}": {
            "task": "structure",
            "nodes": nodes,
            "rows": rows,
            "data_seed": seed,
            "steps": 3_000,
        }
        for nodes, rows, seed in [
            *((4, 1_000, seed) for seed in range(5)),
            *((5, 100, seed) for seed in range(2)),
        ]
    },
}


def contestants(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The contestants on a task, by name."""
    return {
        "now": dict(options),
        "now, GRU+": {**options, "dynamics": "gru", "skip": True},
        "now, minGRU": {**options, "dynamics": "mingru"},
    }


@cache
def laid_out(task: Any, most: int) -> tuple[Any, Any]:
    """The environment and the states of a task, which contestants share."""
    problem = task.make_problem()
    environment = task.make_environment(problem, most)
    return environment, enumerate_environment(problem, environment, most)


def curve(options: dict[str, Any], seed: int) -> Iterator[tuple[float, float]]:
    """Processor seconds and TV, at the end of each power of two times a hundred steps."""
    for spent, (tv,) in curves(options, seed):
        yield spent, tv


def curves(
    options: dict[str, Any], seed: int, *, compiled: bool = False
) -> Iterator[tuple[float, list[float]]]:
    """The same for all seeds that are trained side by side, with the seconds of one of them.

    Args:
        options: the configuration by name; its `seeds` begin at `seed`.
        seed: the first seed.
        compiled: whether the programs are compiled before the clock starts.
    """
    config = configure(**options, seed=seed)
    environment, enumeration = laid_out(config.task, config.run.max_states)
    target, clock = target_law(enumeration), time.process_time()
    trainer = make_trainer(config, environment)
    if compiled:
        jax.block_until_ready(trainer.advance(trainer.init(), 100)[1])
        clock = time.process_time()
    state, spent, step = trainer.init(), 0.0, 0
    while step < config.optimiser.steps:
        until = min(max(100, 2 * step), config.optimiser.steps)
        while step < until:
            state, info = trainer.advance(state, min(100, until - step))
            step += min(100, until - step)
        jax.block_until_ready(info)
        spent += (time.process_time() - clock) / config.run.seeds
        distances = []
        for policy in map(state.policy, range(config.run.seeds)):
            law = law_of(policy, environment, enumeration, final=True, seed=seed)
            distances.append(float(total_variation(law.probabilities.tolist(), target.tolist())))
        yield spent, distances
        clock = time.process_time()


def solved(options: Mapping[str, Any]) -> float:
    """Processor seconds of `pdai.solve`, whose TV is zero up to its certified rounding."""
    clock = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        rest = {k: v for k, v in options.items() if k not in ("task", "steps")}
        pdai.solve(options["task"], out=Path(folder) / "run", **rest)
        return time.process_time() - clock


def coordinates(terminal: Any) -> tuple[int, ...]:
    """The coordinates that chains draw anew: of a cell, letters, or the edges between two nodes."""
    if isinstance(terminal, Cell):
        return terminal.coordinates
    if isinstance(terminal, str):
        return tuple(map(ord, terminal))
    parents = terminal.parents
    pairs = [(i, j) for j in range(len(parents)) for i in range(j)]
    return tuple(2 * (parents[j] >> i & 1) + (parents[i] >> j & 1) for i, j in pairs)


class Kernel:
    """A transition matrix between terminals, or orders, that leaves a law invariant.

    Attributes:
        matrix: the probability of each step that has one, rows before, columns after.
    """

    def __init__(self, matrix: Any) -> None:
        self.matrix = csr_array(matrix)
        self._ends = np.cumsum(self.matrix.data)
        last = np.maximum(self.matrix.indptr - 1, 0)
        self._starts = np.where(self.matrix.indptr > 0, self._ends[last], 0.0)[:-1]

    def law(self, law: Floats) -> Floats:
        """The law of a chain after the step, from its law before."""
        return law @ self.matrix

    def move(self, chains: Floats, uniforms: Floats) -> Floats:
        """Moves chains, numbers of rows, by one uniform number each."""
        at = np.searchsorted(self._ends, self._starts[chains] + uniforms, side="right")
        return self.matrix.indices[np.minimum(at, self.matrix.indptr[chains + 1] - 1)]


def alike(points: Ints, i: int) -> Any:
    """1 for each pair of points, a row each, with the same other coordinates."""
    others = np.delete(points - points.min(), i, axis=1)
    keys = others @ (others.max(initial=0) + 1) ** np.arange(others.shape[1])
    _, group = np.unique(keys, return_inverse=True)
    member = csr_array((np.ones(len(group)), (np.arange(len(group)), group)))
    return csr_array(member @ member.T)


def gibbs(near: Any, log_weights: Floats) -> Kernel:
    """`x_i ~ w(. | other coordinates)`, of points that are alike (Geman and Geman, 1984)."""
    starts, sizes = near.indptr[:-1], np.diff(near.indptr)
    logs = log_weights[near.indices]
    weights = np.exp(logs - np.repeat(np.maximum.reduceat(logs, starts), sizes))
    share = weights / np.repeat(np.add.reduceat(weights, starts), sizes)
    return Kernel(csr_array((share, near.indices, near.indptr), near.shape))


def metropolis(near: Any, log_weights: Floats) -> Kernel:
    """A neighbour, each as likely, accepted by the rule of Hastings (1970), with their numbers."""
    sizes = np.diff(near.indptr)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    scores = log_weights - np.log(sizes)
    gain = np.minimum(scores[near.indices] - scores[rows], 0.0)
    moves = csr_array((np.exp(gain) / sizes[rows], near.indices, near.indptr), near.shape)
    return Kernel(moves + diags_array(np.maximum(1 - moves.sum(1), 0.0)))


class Chain(NamedTuple):
    """A Markov chain whose law is followed exactly, and what it tells of terminals.

    Attributes:
        kernels: a sweep applies them in turn.
        start: the law of its first state.
        read: the law of terminals, from that of states.
    """

    kernels: Sequence[Kernel]
    start: Floats
    read: Callable[[Floats], Floats] = np.asarray


def chains_of(enumeration: Any, problem: Any) -> dict[str, Callable[[], Chain]]:
    """The chains on a task, by name; each begins at draws of the untrained policy."""
    labels = [enumeration.dag.labels[x] for x in enumeration.dag.terminals]
    points, logs = np.array([coordinates(label) for label in labels]), enumeration.log_rewards
    start, axes = uniform_law(enumeration).probabilities, range(points.shape[1])

    def single(rule: Callable[[Any, Floats], Kernel]) -> Chain:
        return Chain([rule(alike(points, i), logs) for i in axes], start)

    def tempered() -> Chain:
        # Powers of R with their exact sums; the power is one more coordinate.
        numbers = np.repeat(points.min() + np.arange(len(POWERS)), len(points))
        warm = np.column_stack([np.tile(points, (len(POWERS), 1)), numbers])
        weights = np.concatenate([power * logs - logsumexp(power * logs) for power in POWERS])
        kernels = [gibbs(alike(warm, i), weights) for i in (*axes, len(axes))]
        begin = np.concatenate([start, np.zeros((len(POWERS) - 1) * len(start))])
        return Chain(kernels, begin, lambda law: law[-len(start) :] / law[-len(start) :].sum())

    def structure() -> Chain:
        target = GraphTarget(problem)
        number = {label.parents: i for i, label in enumerate(labels)}
        near = [[number[b] for b in target.neighbours(label.parents)] for label in labels]
        step = metropolis(neighbours(near), logs)
        return Chain([step] * comb(problem.nodes, 2), start)

    def orders() -> Chain:
        target, every = OrderTarget(problem), list(permutations(range(problem.nodes)))
        number = {order: i for i, order in enumerate(every)}
        near = neighbours([[number[b] for b in target.neighbours(a)] for a in every])
        weights = np.array([target.log_weight(order) for order in every])
        before = np.array(
            [[sum(1 << u for u in a[: a.index(v)]) for v in sorted(a)] for a in every]
        )
        fits = np.array([~((label.parents & ~before).any(1)) for label in labels]).T
        draws = np.exp(np.where(fits, logs - weights[:, None], -np.inf))
        draws /= draws.sum(1, keepdims=True) * fits.sum(0)
        first = np.full(len(every), 1 / len(every))
        kernels = [metropolis(near, weights)] * comb(problem.nodes, 2)
        return Chain(kernels, first, lambda law: (law @ draws) / (law @ draws).sum())

    singles = {"Gibbs": partial(single, gibbs), "Metropolis": partial(single, metropolis)}
    graphs = {"structure MCMC": structure, "order MCMC": orders}
    return {**singles, "tempered Gibbs": tempered, **(graphs if hasattr(problem, "nodes") else {})}


def neighbours(near: Sequence[Sequence[int]]) -> Any:
    """1 for each neighbour of each state."""
    ends = np.cumsum([0, *map(len, near)])
    return csr_array((np.ones(ends[-1]), np.concatenate(near), ends), (len(near), len(near)))


def chain_curve(
    make: Callable[[], Chain], target: Floats, limit: float = 5.0
) -> Iterator[tuple[float, float]]:
    """Processor seconds of ten thousand chains, and the TV of their law, at powers of two.

    Ends below the least distance, or after `limit` seconds. Rewards are looked up, which flatters
    chains.
    """
    clock, generator = time.process_time(), np.random.default_rng(0)
    kernels, law, read = make()
    chains = generator.choice(len(law), 10_000, p=law / law.sum())
    for sweep in count(1):
        for kernel in kernels:
            chains = kernel.move(chains, generator.random(len(chains)))
        spent = time.process_time() - clock
        for kernel in kernels:
            law = kernel.law(law)
        clock = time.process_time() - spent
        if sweep & (sweep - 1) == 0:
            tv = float(np.abs(read(law) - target).sum() / 2)
            yield spent, tv
            if tv < DISTANCES[-1] or spent > limit:
                return


def first_below(curve: Curve, distance: float) -> float:
    """The seconds after which a sampler is first nearer than that; infinity if it never is."""
    return next((seconds for seconds, tv in curve if tv < distance), float("inf"))


def columns(curves: Sequence[Curve], distances: Sequence[float] = DISTANCES) -> dict[str, Any]:
    """The least, middle and largest seconds to each distance, or how many of the seeds arrive."""
    cells = dict[str, Any]()
    for distance in distances:
        first = [first_below(one, distance) for one in curves]
        arrived = sum(seconds < float("inf") for seconds in first)
        some = f"{arrived} of {len(first)} seeds" if arrived else "-"
        cells[f"TV < {distance}, s"] = Spread(first) if arrived == len(first) else some
    cells["last TV"] = Spread([one[-1][1] for one in curves])
    cells["all steps, s"] = Spread([one[-1][0] for one in curves])
    return cells


def row_of(task: str, name: str, curves: Sequence[Curve]) -> dict[str, Any]:
    return {"task": task, "sampler": name, **columns(curves)}


# Where trainings beside peers end.
NEAREST = 0.02
# num_envs of the scripts of gfnx, and batch_size of those of torchgfn; the default coupling here.
PEER_BATCH, COUPLING = 16, 0.4


def peer_tasks() -> dict[str, tuple[Task, dict[str, Any]]]:
    """Each task that gfnx and torchgfn have as well, and its options here."""
    bits = {"task": "bits", "length": 16, "word": 4}
    torus = {"task": "torus", "rows": 3, "columns": 3, "coupling": COUPLING}
    ours = configure(**bits).task.make_problem()
    modes = tuple(tuple(map(int, mode)) for mode in ours.modes)
    return {
        "hypergrid 16^2": (PEER_TASKS["hypergrid 16^2"], TASKS["grid 16^2"]),
        "hypergrid 8^4": (PEER_TASKS["hypergrid 8^4"], TASKS["grid 8^4"]),
        "SIX6, left to right": (six6_task(), TASKS["SIX6, appended"]),
        "bits 16, words of 4": (BitTask(4, 4, modes, float(ours.exponent)), bits),
        "Ising, torus 3^2": (IsingTask(3, COUPLING), torus),
    }


def peer_curve(
    library: str, python: str, task: tuple[Task, dict[str, Any]], seed: int, limit: float
) -> Iterator[tuple[float, float]]:
    """Processor seconds of a process of its own and TV, at powers of two times a hundred steps.

    No more steps after the limit, below TV 0.02, or at the end of a training.

    Args:
        library: pdai, gfnx or torchgfn.
        python: the Python of its environment.
        task: as peers build it, and its options here, with the number of steps.
        seed: of the training.
        limit: processor seconds.
    """
    worker, (theirs, options) = Process(library, python, os.sched_getaffinity(0)), task
    if library == "pdai":
        spent, steps = worker.ask("own", options=options, seed=seed), options["steps"]
    else:
        kind, fields = type(theirs).__name__, list(theirs)
        spent = worker.ask("begin", kind=kind, fields=fields, batch=PEER_BATCH, seed=seed)
        steps = float("inf")
    step, tv = 0, 1.0
    while spent < limit and tv >= NEAREST and step < steps:
        more = min(max(100, step), steps - step)
        spent = worker.ask("go_on", steps=more)
        step += more
        tv = worker.ask("tv")
        yield spent, tv
    worker.close()


def beside_peers(table: Table, asked: Any) -> None:
    """A row for each library on each task that all have, seed after seed in turns."""
    folders = {"gfnx": asked.gfnx, "torchgfn": asked.torchgfn}
    pythons = {"pdai": sys.executable} | {x: f"{y}/bin/python" for x, y in folders.items() if y}
    for name, (task, options) in peer_tasks().items():
        if not name.lower().startswith(asked.only.lower()):
            continue
        steps = first_steps(configure(**options).optimiser.steps)
        both = task, {**options, "steps": steps}
        every: dict[str, list[Curve]] = {library: [] for library in pythons}
        for seed in range(asked.seeds):
            for library, python in pythons.items():
                one = [*peer_curve(library, python, both, seed, asked.seconds)]
                every[library].append(one)
                # At once: the last seed of a task may come an hour after its first.
                table.add({"seed": seed, **_peer_row(name, library, [one])}, kind="each seed")
        for library, curves in every.items():
            table.add(_peer_row(name, library, curves))


def _peer_row(task: str, library: str, curves: Sequence[Curve]) -> dict[str, Any]:
    begun = Spread([one[0][0] for one in curves])
    return row_of(task, library, curves) | {"first 100 steps, s": begun}


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--seeds", type=int, default=5)
    command.add_argument("--only", default="", help="tasks whose names begin so")
    command.add_argument(
        "--samplers", nargs="+", default=None, help="these alone, such as now, or chains"
    )
    command.add_argument("--gfnx", help="folder of its virtual environment: tasks that it has")
    command.add_argument("--torchgfn", help="the same of torchgfn")
    command.add_argument("--seconds", type=float, default=40, help="no more steps of these after")
    asked = command.parse_args()
    table = Table("python benchmarks/time_to_tv.py", asked.out, machine("jax"))
    if asked.gfnx or asked.torchgfn:
        beside_peers(table, asked)
        return
    for task, options in TASKS.items():
        if not task.lower().startswith(asked.only.lower()):
            continue
        seconds = [solved(options) for _ in range(asked.seeds)]
        table.add(row_of(task, "pdai solve", [[(s, 0.0)] for s in seconds]))
        config = configure(**options)
        _, enumeration = laid_out(config.task, config.run.max_states)
        target = target_law(enumeration)
        for name, make in chains_of(enumeration, config.task.make_problem()).items():
            if asked.samplers is None or {name, "chains"} & set(asked.samplers):
                table.add(row_of(task, name, [list(chain_curve(make, target))]))
        for name, chosen in contestants(options).items():
            if asked.samplers is None or name in asked.samplers:
                table.add(row_of(task, name, [list(curve(chosen, s)) for s in range(asked.seeds)]))


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
