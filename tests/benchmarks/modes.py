"""Which path-dependent policies find all four modes of the 16 x 16 grid, and how soon.

`python tests/benchmarks/modes.py [--steps 2000] [--seeds 3] [--only NAME ...]` trains each by
trajectory balance with little exploration (epsilon 0.05, falling to 0 at half), 128 trajectories a
step, and prints a Markdown table: modes found, and TV to the target, from 2^16 samples.
"""

import argparse
from typing import Any

import jax
import numpy as np

from fast.bridge import enumerate_environment
from fast.environments import make_environment
from fast.evaluation import target_law
from fast.laws import sampled_law
from fast.tasks import GridConfig
from fast.training import make_trainer
from reference.metrics import total_variation

SAMPLES = 2**16
PRINTED: dict[str, Any] = {"dynamics": "srwm", "skip": False}
POLICIES: dict[str, dict[str, Any]] = {
    "markov": {"dynamics": "markov"},
    "gru": {"dynamics": "gru", "hidden_layers": 1},
    "srwm as printed": PRINTED,
    "srwm, skip": {**PRINTED, "skip": True},
    "srwm, write at k, erase after": {**PRINTED, "write_key": "k", "erase": "after"},
    "srwm, normalised read-out": {**PRINTED, "normalize": True},
    "srwm, W_o a tenth": {**PRINTED, "latent_scale": 0.1},
    "srwm, slow weights double": {**PRINTED, "slow_scale": 2.0},
    "srwm, three hidden layers": {**PRINTED, "hidden_layers": 3},
    "srwm, skip, three hidden layers": {**PRINTED, "skip": True, "hidden_layers": 3},
}


def main() -> None:
    """Trains all, and prints a row as each is done."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=POLICIES, default=list(POLICIES))
    options = parser.parse_args()
    problem = GridConfig().problem()
    enumeration = enumerate_environment(problem, make_environment(problem))
    target = target_law(enumeration)
    # A mode is a connected block of cells of the highest reward: here a single cell each.
    modes = np.flatnonzero(enumeration.log_rewards > enumeration.log_rewards.max() - 1e-6)
    print(f"Exact sampling has TV {_floor(target):.4f}; uniform over cells {_uniform(target):.4f}.")
    print("| policy | modes found (of 4), by seed | TV, by seed |\n|---|---|---|")
    for name in options.only:
        found, distances = [], []
        for seed in range(options.seeds):
            config = GridConfig(seed=seed, steps=options.steps, epsilon=0.05, **POLICIES[name])
            environment = make_environment(problem)
            trainer = make_trainer(config, environment)
            state = trainer.init()
            for _ in range(options.steps // 100):
                state, _ = trainer.advance(state, 100)
            policy = jax.tree.map(lambda leaf: leaf[0], state.sampler.policy)
            law = sampled_law(policy, environment, enumeration, SAMPLES, seed).probabilities
            # Found: drawn at least a tenth as often as the target has it.
            found.append(int((law[modes] > 0.1 * target[modes]).sum()))
            distances.append(total_variation(law.tolist(), target.tolist()))
        cells = ", ".join(f"{tv:.3f}" for tv in distances)
        print(f"| {name} | {', '.join(map(str, found))} | {cells} |", flush=True)


def _floor(target: Any) -> float:
    drawn = np.random.default_rng(0).multinomial(SAMPLES, target) / SAMPLES
    return float(np.abs(drawn - target).sum() / 2)


def _uniform(target: Any) -> float:
    return float(np.abs(1 / len(target) - target).sum() / 2)


if __name__ == "__main__":
    main()
