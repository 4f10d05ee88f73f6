"""torchgfn, as in its `train_hypergrid_simple.py` and scripts for bits, without validation."""

import importlib.metadata
import os
from typing import Any

import torch
from gfn.estimators import DiscretePolicyEstimator
from gfn.gflownet import TBGFlowNet
from gfn.gym import BitSequence, DiscreteEBM, HyperGrid, NonAutoregressiveBitSequence
from gfn.gym.discrete_ebm import IsingModel
from gfn.preprocessors import KHotPreprocessor, Preprocessor
from gfn.samplers import Sampler
from gfn.utils.modules import MLP, DiscreteUniform

from benchmarks.peers.protocol import Worker, serve
from benchmarks.peers.tasks import (
    FROZEN,
    HIDDEN,
    LEARNING_RATE,
    LOG_Z_LEARNING_RATE,
    GridTask,
    IsingTask,
    TableTask,
    Task,
)


class OneHotWords(Preprocessor):
    """One-hot features of the words, with one more value for "empty"."""

    def __init__(self, words: int, values: int):
        super().__init__(output_dim=words * (values + 1))
        self.values = values

    def preprocess(self, states: Any) -> torch.Tensor:
        one_hot = torch.nn.functional.one_hot(states.tensor + 1, self.values + 1)
        return one_hot.flatten(-2).float()


class StringTable(BitSequence):
    """Words from left to right, with `log R` looked up in place of its distance to modes."""

    def __init__(self, task: TableTask):
        bits = task.letters.bit_length() - 1
        super().__init__(word_size=bits, seq_size=bits * task.length, n_modes=1)
        self.log_rewards = torch.tensor(task.log_rewards)
        self.places = task.letters ** torch.arange(task.length).flip(0)

    def log_reward(self, states: Any) -> torch.Tensor:
        return self.log_rewards[(states.tensor * self.places).sum(-1)]

    def reward(self, states: Any) -> torch.Tensor:
        return self.log_reward(states).exp()


class Torchgfn(Worker):
    """Log-probabilities are saved while sampling, which is the faster of its two ways."""

    def versions(self) -> dict[str, str]:
        return {name: importlib.metadata.version(name) for name in ("torchgfn", "torch")}

    def build(self, task: Task, batch: int) -> int:
        torch.manual_seed(self.seed)
        torch.set_num_threads(len(os.sched_getaffinity(0)))
        preprocessor: Preprocessor
        if isinstance(task, GridTask):
            self.env = HyperGrid(
                task.dimension,
                task.side,
                reward_fn_kwargs={"R0": task.r0, "R1": task.r1, "R2": task.r2},
            )
            preprocessor = KHotPreprocessor(height=task.side, ndim=task.dimension)
        elif isinstance(task, IsingTask):
            self.env = DiscreteEBM(task.side**2, IsingModel(torch.tensor(task.matrix)))
            preprocessor = OneHotWords(task.side**2, 2)
        elif isinstance(task, TableTask):
            self.env = StringTable(task)
            preprocessor = OneHotWords(task.length, task.letters)
        else:
            self.env = NonAutoregressiveBitSequence(
                word_size=task.bits,
                seq_size=task.words * task.bits,
                n_modes=len(task.modes),
                reward_exponent=task.exponent,
                H=torch.tensor(task.modes),
            )
            preprocessor = OneHotWords(task.words, 2**task.bits)
        features, actions = preprocessor.output_dim, self.env.n_actions
        width, depth = HIDDEN[0], len(HIDDEN)
        forward = MLP(
            features,
            actions,
            hidden_dim=width,
            n_hidden_layers=depth,
            # As here, so that all can have one policy.
            activation_fn="relu" if self.script else "leaky_relu",
        )
        p_f = DiscretePolicyEstimator(forward, actions, preprocessor=preprocessor)
        backward = (
            MLP(features, actions - 1, trunk=forward.trunk)
            if self.script
            else DiscreteUniform(actions - 1)
        )
        p_b = DiscretePolicyEstimator(
            backward, actions, preprocessor=preprocessor, is_backward=True
        )
        self.gflownet = TBGFlowNet(pf=p_f, pb=p_b, init_logZ=0.0)
        self.sampler = Sampler(p_f)
        self.optimizer = torch.optim.Adam(self.gflownet.pf_pb_parameters(), lr=LEARNING_RATE)
        self.optimizer.add_param_group(
            {"params": self.gflownet.logz_parameters(), "lr": LOG_Z_LEARNING_RATE}
        )
        self.n = batch
        self.forward = forward
        return sum(p.numel() for p in forward.parameters())

    def train(self, steps: int) -> None:
        for _ in range(steps):
            trajectories = self.sampler.sample_trajectories(
                self.env, n=self.n, save_logprobs=True, save_estimator_outputs=False
            )
            self.optimizer.zero_grad()
            loss = self.gflownet.loss(self.env, trajectories, recalculate_all_logprobs=False)
            loss.backward()
            if self.script:
                torch.nn.utils.clip_grad_norm_(self.gflownet.parameters(), 1.0)
            self.optimizer.step()

    def freeze(self) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = FROZEN

    def take(self, weights: list[Any]) -> None:
        layers = [x for x in self.forward.modules() if isinstance(x, torch.nn.Linear)]
        with torch.no_grad():
            for i, layer in enumerate(layers):
                layer.weight.copy_(torch.tensor(weights[i].T))
                layer.bias.copy_(torch.tensor(weights[len(layers) + i]))

    def sample(self, batches: int) -> float:
        total = 0.0
        with torch.no_grad():
            for _ in range(batches):
                trajectories = self.sampler.sample_trajectories(
                    self.env, n=self.n, save_logprobs=False, save_estimator_outputs=False
                )
                # The reward is part of a sample, and computed when it is asked for.
                assert trajectories.log_rewards is not None
                total += float(trajectories.terminating_idx.float().mean())
        return total / batches

    def as_sampler(self, problem: Any = None, label: Any = None) -> Any:
        from pdai.adapters.torchgfn import sampler

        return sampler(self.env, self.gflownet, problem=problem, label=label)

    def grid_logits(self, cells: Any) -> Any:
        with torch.no_grad():
            return self.gflownet.pf(self.env.states_from_tensor(torch.as_tensor(cells))).double()

    def log_rewards(self, terminals: list[list[int]]) -> list[float]:
        states = self.env.states_from_tensor(torch.tensor(terminals))
        return [float(value) for value in self.env.log_reward(states)]


if __name__ == "__main__":
    serve(Torchgfn())
