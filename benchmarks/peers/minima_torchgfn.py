"""torchgfn's losses at the counterexamples of docs/records/losses.md: see minima.py."""

import importlib.metadata
from typing import Any

import torch
from gfn.containers import Trajectories
from gfn.env import DiscreteEnv
from gfn.estimators import DiscretePolicyEstimator, ScalarEstimator
from gfn.gflownet import (
    DBGFlowNet,
    FMGFlowNet,
    LogPartitionVarianceGFlowNet,
    SubTBGFlowNet,
    TBGFlowNet,
)
from gfn.preprocessors import IdentityPreprocessor
from gfn.utils.modules import DiscreteUniform
from minima import Example, Path_, Sampler, main


class Graph(DiscreteEnv):
    """A graph whose actions are its edges; an end then leaves by the last action."""

    def __init__(self, example: Example):
        self.edges = torch.tensor(example.edges)
        self.log_r = torch.zeros(len(example.labels))
        for end, reward in example.rewards.items():
            self.log_r[end] = torch.tensor(float(reward)).log()
        self.ends = list(example.rewards)
        super().__init__(len(example.edges) + 1, torch.tensor([0]), (1,), sf=torch.tensor([-1]))

    def make_states_class(self) -> Any:
        env = self

        class States(super().make_states_class()):
            def _compute_forward_masks(self) -> torch.Tensor:
                leave = torch.isin(self.tensor, torch.tensor(env.ends))
                return torch.cat([self.tensor == env.edges[:, 0], leave], -1)

            def _compute_backward_masks(self) -> torch.Tensor:
                return self.tensor == env.edges[:, 1]

        return States

    def step(self, states: Any, actions: Any) -> Any:
        return self.States(self.edges[actions.tensor[..., 0], 1:])

    def backward_step(self, states: Any, actions: Any) -> Any:
        return self.States(self.edges[actions.tensor[..., 0], :1])

    def log_reward(self, states: Any) -> torch.Tensor:
        return self.log_r[states.tensor[..., 0]]

    def reward(self, states: Any) -> torch.Tensor:
        return self.log_reward(states).exp()


class Table(torch.nn.Module):
    """A row of parameters for every state."""

    def __init__(self, rows: Any):
        super().__init__()
        self.rows = torch.nn.Parameter(torch.as_tensor(rows))
        self.input_dim = 1

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.rows[states.long()[..., 0]]


def batch_of(env: Graph, example: Example, paths: list[Path_]) -> Trajectories:
    """Trajectories with the steps of paths, and the last one out of the graph."""
    most = max(map(len, paths)) + 1
    states = torch.full((most + 1, len(paths), 1), -1)
    actions = torch.full((most, len(paths), 1), -1)
    for column, path in enumerate(paths):
        states[0, column] = 0
        for time, edge in enumerate(path):
            actions[time, column], states[time + 1, column] = edge, example.edges[edge][1]
        actions[len(path), column] = env.n_actions - 1
    return Trajectories(
        env,
        env.states_from_tensor(states),
        env.actions_from_tensor(actions),
        terminating_idx=torch.tensor([len(path) + 1 for path in paths]),
        log_rewards=env.log_r[[example.edges[path[-1]][1] for path in paths]],
    )


def evaluate(
    loss: str, example: Example, sampler: Sampler, paths: list[Path_]
) -> tuple[float, float]:
    """A loss and its largest slope in the tables of `p_F`, of flows, and in `log Z`."""
    env = Graph(example)
    rows = torch.zeros(len(example.labels), env.n_actions)
    flow = torch.tensor(sampler.log_flow)
    for edge, (u, _) in enumerate(example.edges):
        rows[u, edge] = sampler.log_p_f[edge] + (flow[u] if loss == "FM" else 0)
    for end in env.ends if loss == "FM" else ():
        rows[end, -1] = flow[end]
    if loss == "forward-looking DB":
        flow = flow - env.log_r
    identity = IdentityPreprocessor(output_dim=1)
    p_f = DiscretePolicyEstimator(Table(rows), env.n_actions, preprocessor=identity)
    p_b = DiscretePolicyEstimator(
        DiscreteUniform(env.n_actions - 1), env.n_actions, preprocessor=identity, is_backward=True
    )
    log_f = ScalarEstimator(Table(flow[:, None]), preprocessor=identity)
    gflownet = {
        "TB": lambda: TBGFlowNet(p_f, p_b, init_logZ=sampler.log_z),
        "TB without p_B": lambda: TBGFlowNet(p_f, None, init_logZ=sampler.log_z, constant_pb=True),
        "log variance": lambda: LogPartitionVarianceGFlowNet(p_f, p_b),
        "DB": lambda: DBGFlowNet(p_f, p_b, log_f),
        "forward-looking DB": lambda: DBGFlowNet(p_f, p_b, log_f, forward_looking=True),
        "SubTB": lambda: SubTBGFlowNet(p_f, p_b, log_f),
        "FM": lambda: FMGFlowNet(p_f),
    }[loss]()
    samples = gflownet.to_training_samples(batch_of(env, example, paths))
    value = gflownet.loss(env, samples, recalculate_all_logprobs=True)
    value.backward()
    slopes = [p.grad.abs().max().item() for p in gflownet.parameters() if p.grad is not None]
    return value.item(), max(slopes)


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("torchgfn", "torch")]
    main(
        {
            "versions": ", ".join(versions),
            "right": ("TB", "log variance", "DB", "forward-looking DB", "SubTB", "FM"),
            "without p_B": (
                "trajectory-balance-divided-by-length-without-p-b",
                "soft-rl-without-correction-pcl-sql-several-ways",
                "values-of-the-uniform-policy-rpe-several-ways",
                "ppo-with-the-kl-to-p-b-in-the-reward-ent-ppo-vpg-p-b-is-dropped",
            ),
        },
        evaluate,
    )
