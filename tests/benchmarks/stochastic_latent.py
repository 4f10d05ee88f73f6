"""Does a random latent help over a deterministic one, at equal cost? (The paper leaves it open.)

`python tests/benchmarks/stochastic_latent.py [--steps 2000] [--seeds 5] [--only lines ...]` trains
the same networks by trajectory balance, on sparse Lines, the sparse grid and sharp rings:

- gaussian: steps of the latent drawn from N(mean, scale^2), target R(x) N(w | 0, I);
- deterministic: the latent is the mean, for as many trajectories;
- deterministic, equal CPU time: more steps, as many as the CPU time of the first allows.

It prints a Markdown table, and writes `results/stochastic_latent.json`, after each row. Distances
are of the marginal over x from 2^16 samples, beside their floor: the same of exact samples.
KL(p_F || p_B R / Z) is that of trajectories, with their latents where these are random, in nats: a
bound of the one over x. CPU time is that of training without compilation, of all seeds, which train
side by side.
"""

import argparse
import dataclasses
import json
import statistics
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from fast.stochastic.config import (
    StochasticConfig,
    StochasticGrid,
    StochasticLines,
    StochasticRings,
)
from fast.stochastic.evaluation import floor_of, sampled_distance, sampled_marginal
from fast.stochastic.job import set_up_stochastic

RESULTS = Path(__file__).parent / "results" / "stochastic_latent.json"
SAMPLES, CHUNK = 2**16, 100
COLUMNS = (
    "problem", "latent", "steps", "CPU, s", "TV, mean ± sd", "floor", "KL of trajectories",
    "modes found", "TV by seed",
)  # fmt: skip
COMMON: dict[str, Any] = {"latent_size": 2, "width": 32, "batch": 64}
PROBLEMS: dict[str, StochasticConfig] = {
    "lines": StochasticLines(length=25, target="sparse", **COMMON),
    "grid": StochasticGrid(side=8, landscape="sparse", **COMMON),
    "rings": StochasticRings(radius=4, walk_steps=8, landscape="sharp-rings", **COMMON),
}


def main() -> None:
    """Trains all, and prints a row as each is done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")

    def run(name: str, label: str, config: StochasticConfig) -> float:
        rows.append(measure(name, label, config))
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
        return float(rows[-1]["cpu_seconds"])

    ratios = {}
    for name in options.only:
        config = dataclasses.replace(PROBLEMS[name], steps=options.steps, seeds=options.seeds)
        still = dataclasses.replace(config, latent="deterministic")
        ratios[name] = run(name, "gaussian", config) / run(name, "deterministic", still)
    for name in options.only:
        longer = max(1, round(ratios[name] * options.steps / CHUNK)) * CHUNK
        more = dataclasses.replace(
            PROBLEMS[name], steps=longer, seeds=options.seeds, latent="deterministic"
        )
        run(name, "deterministic, equal CPU time", more)


def measure(name: str, label: str, config: StochasticConfig) -> dict[str, Any]:
    """Trains the seeds of a configuration, and prints and returns what came out."""
    setup = set_up_stochastic(config)
    state = setup.trainer.init()
    cpu: list[float] = []
    for _ in range(config.steps // CHUNK):
        started = time.process_time()
        state, info = setup.trainer.advance(state, CHUNK)
        jax.block_until_ready(state.step)
        cpu.append(time.process_time() - started)
    target = np.array([float(reward) for reward in setup.enumeration.rewards])
    target = target / target.sum()
    # A mode is a terminal with more than half of the highest reward; found: drawn at least a tenth
    # as often as the target has it.
    modes = np.flatnonzero(target > target.max() / 2)
    distances, found, divergences = [], [], []
    for i, policy in enumerate(setup.policies(state)):
        law = sampled_marginal(
            policy, setup.environment, setup.enumeration, setup.target, SAMPLES, seed=i
        )
        distances.append(sampled_distance(law, setup.enumeration))
        divergences.append(setup.enumeration.log_z - law.log_z.mean)
        found.append(int((law.probabilities[modes] > 0.1 * target[modes]).sum()))
    floor = floor_of(setup.enumeration, SAMPLES)
    # The first call compiles; the others do alike.
    seconds = statistics.median(cpu[1:] or cpu) * len(cpu)
    mean = statistics.mean(distances)
    spread = statistics.stdev(distances) if len(distances) > 1 else 0.0
    print(
        f"| {name} | {label} | {config.steps:,} | {seconds:.0f} | {mean:.4f} ± {spread:.4f} | "
        f"{floor[0]:.4f} | {statistics.mean(divergences):.4f} | "
        f"{', '.join(map(str, found))} of {len(modes)} | "
        f"{', '.join(f'{tv:.3f}' for tv in distances)} |",
        flush=True,
    )
    return {
        "problem": name,
        "latent": label,
        "steps": config.steps,
        "batch": config.batch,
        "seeds": list(range(config.seed, config.seed + config.seeds)),
        "cpu_seconds": seconds,
        "tv": distances,
        "floor": floor,
        "kl_of_trajectories": divergences,
        "modes": len(modes),
        "modes_found": found,
        "log_z": [float(x) for x in state.sampler.log_z],
        "true_log_z": setup.enumeration.log_z,
        "last_loss": np.asarray(info.loss[:, -CHUNK:]).mean(1).tolist(),
    }


if __name__ == "__main__":
    main()
