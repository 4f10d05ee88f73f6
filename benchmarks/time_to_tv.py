"""Seconds until a sampler is near: `python benchmarks/time_to_tv.py [--seeds 5] [--only six6]`.

Processor seconds until the exact TV of terminal states is below each distance, at log-spaced steps
of one training of the default length, whose rate falls to zero at its end; the first seed of a
process compiles, the others use its programs. Contestants: the task's defaults as they were before
tables, annealing and learned `p_B`; as they are; the same with memory; `pdai.solve`, which is
exact; and Gibbs sampling, ten thousand chains whose law is followed exactly. Every task here can be
enumerated, so TV is exact and is not timed.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

import pdai
from benchmarks.harness import Spread, Table, machine, parser
from fast.laws.enumeration import Floats, enumerate_environment
from fast.laws.terminal_law import (
    exact_law,
    has_exact_law,
    sampled_law,
    target_law,
    uniform_law,
)
from fast.training.compose import configure
from fast.training.trainer import make_trainer
from reference.metrics import total_variation
from reference.problems import Cell

DISTANCES = (0.2, 0.1, 0.05, 0.02, 0.01)
TASKS: dict[str, dict[str, Any]] = {
    "grid 16^2": {"task": "grid", "side": 16},
    "grid 8^4": {"task": "grid", "side": 8, "dimension": 4},
    "SIX6, both ends": {"task": "six6"},
    "SIX6, appended": {"task": "six6", "build": "append"},
    "Syn-6": {"task": "syn", "length": 6},
    **{
        f"posterior, {nodes} variables, {rows:,} rows, data {seed}": {
            "task": "structure",
            "nodes": nodes,
            "rows": rows,
            "data_seed": seed,
            "steps": 3_000,
            "learning_rate": 3e-3,
        }
        for nodes, rows, seed in [
            *((4, 1_000, seed) for seed in range(5)),
            *((5, 100, seed) for seed in range(2)),
        ]
    },
}
# The options that had other defaults.
BEFORE: dict[str, dict[str, Any]] = {
    "six6": {"table_rows": 0, "parameters": 40_000, "batch": 128, "steps": 20_000},
    "structure": {"anneal": 0.0, "p_b": "uniform", "epsilon": 1.0, "epsilon_until": 0.8},
}


def contestants(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The contestants on a task, by name."""
    return {
        "before": {**options, **BEFORE.get(options["task"], {})},
        "now": dict(options),
        "now, GRU+": {**options, "dynamics": "gru", "skip": True},
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
            law = (
                exact_law(policy, enumeration, float64=False)
                if has_exact_law(policy, enumeration)
                else sampled_law(policy, environment, enumeration, 2**20, seed)
            )
            distances.append(float(total_variation(law.probabilities.tolist(), target.tolist())))
        yield spent, distances
        clock = time.process_time()


def grid_distance(cells: Floats, log_rewards: Floats, log_p_f: Floats) -> float:
    """TV of the cells where a policy stops to the normalised rewards.

    Args:
        cells: all cells, in the order of C.
        log_rewards: their log rewards.
        log_p_f: `log p_F` of a step along each axis and of the stop, a row per cell.
    """
    side, axes = int(cells.max()) + 1, cells.shape[1]
    flow, p_f = np.zeros(len(cells)), np.exp(log_p_f)
    flow[0] = 1
    for total in range(axes * (side - 1)):
        here = np.flatnonzero(cells.sum(1) == total)
        for axis in range(axes):
            goes = here[cells[here, axis] < side - 1]
            np.add.at(flow, goes + side ** (axes - 1 - axis), flow[goes] * p_f[goes, axis])
    target = np.exp(log_rewards - log_rewards.max())
    return float(np.abs(flow * p_f[:, -1] - target / target.sum()).sum() / 2)


def solved(options: Mapping[str, Any]) -> float:
    """Processor seconds of `pdai.solve`, whose TV is zero up to its certified rounding."""
    clock = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        rest = {k: v for k, v in options.items() if k not in ("task", "steps", "learning_rate")}
        pdai.solve(options["task"], out=Path(folder) / "run", **rest)
        return time.process_time() - clock


def coordinates(terminal: Any) -> tuple[Any, ...]:
    """The coordinates that Gibbs sampling draws anew: of a cell, letters, or a pair of nodes."""
    if isinstance(terminal, Cell):
        return terminal.coordinates
    if isinstance(terminal, str):
        return tuple(terminal)
    parents = terminal.parents
    pairs = [(i, j) for j in range(len(parents)) for i in range(j)]
    return tuple((parents[j] >> i & 1, parents[i] >> j & 1) for i, j in pairs)


class Block:
    """The update of one coordinate, `x_i ~ pi(. | other coordinates)` (Geman and Geman, 1984).

    Attributes:
        group: of each terminal: which others have the same other coordinates.
        share: `pi(x)` within its group.
    """

    def __init__(self, points: Sequence[tuple[Any, ...]], log_rewards: Floats, i: int) -> None:
        numbers: dict[Any, int] = {}
        self.group = np.array(
            [numbers.setdefault(x[:i] + x[i + 1 :], len(numbers)) for x in points]
        )
        largest = np.full(len(numbers), -np.inf)
        np.maximum.at(largest, self.group, log_rewards)
        weights = np.exp(log_rewards - largest[self.group])
        self.share = weights / np.bincount(self.group, weights)[self.group]
        # Of one group after another, so that a uniform number chooses within a group.
        self._order = np.argsort(self.group, kind="stable")
        self._ends = self.group[self._order] + 0.0
        starts = np.flatnonzero(np.diff(self._ends, prepend=-1.0))
        sums = np.cumsum(self.share[self._order])
        before = np.concatenate([[0.0], sums])[starts]
        self._ends += sums - np.repeat(before, np.diff(np.append(starts, len(sums))))

    def law(self, law: Floats) -> Floats:
        """The law of a chain after the update, from its law before."""
        return np.bincount(self.group, law)[self.group] * self.share

    def move(self, chains: Floats, uniforms: Floats) -> Floats:
        """Moves chains, numbers of terminals, by one uniform number each."""
        at = np.searchsorted(self._ends, self.group[chains] + uniforms, side="right")
        return self._order[np.minimum(at, len(self._order) - 1)]


def gibbs(options: Mapping[str, Any], sweeps: int = 256) -> Iterator[tuple[float, float]]:
    """Processor seconds of ten thousand chains, and the TV of their law, at powers of two.

    A chain begins at a draw of the untrained policy and draws each coordinate anew in turn. Rewards
    are looked up, which flatters it.
    """
    config = configure(**options)
    _, enumeration = laid_out(config.task, config.run.max_states)
    target, law = target_law(enumeration), uniform_law(enumeration)
    labels = enumeration.dag.labels
    points = [coordinates(labels[x]) for x in enumeration.dag.terminals]
    clock, generator = time.process_time(), np.random.default_rng(0)
    blocks = [Block(points, enumeration.log_rewards, i) for i in range(len(points[0]))]
    chains = generator.choice(len(law), 10_000, p=law / law.sum())
    for sweep in range(1, sweeps + 1):
        for block in blocks:
            chains = block.move(chains, generator.random(len(chains)))
        spent = time.process_time() - clock
        for block in blocks:
            law = block.law(law)
        clock = time.process_time() - spent
        if sweep & (sweep - 1) == 0:
            yield spent, float(np.abs(law - target).sum() / 2)


def row_of(task: str, name: str, curves: list[list[tuple[float, float]]]) -> dict[str, Any]:
    """The least, middle and largest seconds to each distance; "never" if a seed does not arrive."""
    row: dict[str, Any] = {"task": task, "sampler": name}
    for distance in DISTANCES:
        first = [next((s for s, tv in one if tv < distance), None) for one in curves]
        reached = [seconds for seconds in first if seconds is not None]
        if len(reached) == len(first):
            row[f"TV < {distance}, s"] = str(Spread(reached))
        else:
            row[f"TV < {distance}, s"] = f"{len(reached)} of {len(first)} seeds" if reached else "-"
    row["last TV"] = str(Spread([one[-1][1] for one in curves]))
    row["all steps, s"] = str(Spread([one[-1][0] for one in curves]))
    return row


def main() -> None:
    """Prints a row for each task and sampler."""
    command = parser(__doc__)
    command.add_argument("--seeds", type=int, default=5)
    command.add_argument("--only", default="", help="tasks whose names begin so")
    command.add_argument("--samplers", nargs="+", default=None, help="these alone, such as now")
    asked = command.parse_args()
    table = Table("python benchmarks/time_to_tv.py", asked.out, machine("jax"))
    for task, options in TASKS.items():
        if not task.lower().startswith(asked.only.lower()):
            continue
        seconds = [solved(options) for _ in range(asked.seeds)]
        table.add(row_of(task, "pdai solve", [[(s, 0.0)] for s in seconds]))
        if asked.samplers is None or "Gibbs" in asked.samplers:
            table.add(row_of(task, "Gibbs", [list(gibbs(options))]))
        for name, chosen in contestants(options).items():
            if asked.samplers and name not in asked.samplers:
                continue
            table.add(row_of(task, name, [list(curve(chosen, s)) for s in range(asked.seeds)]))


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
