"""The configuration of a training run: its parts, each with its options. Imports no JAX."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from fast.parts import CHOICES, name_of_part, own_part
from fast.tasks.task import Task
from fast.training.options import Factors, OptimiserOptions, RunOptions, SamplingOptions
from reference.arguments import require
from reference.errors import InputError
from reference.problems import restrict

if TYPE_CHECKING:
    from fast.balance.loss import Loss
    from fast.dynamics.base import DynamicsOptions
    from fast.policies.backward import BackwardOptions
    from fast.sampling.replay import NoReplay

# The whole reward.
ALL = Factors()


@dataclass(frozen=True)
class TrainConfig:
    """The parts of a run.

    `fast.training.compose.configure` makes one from options by name.

    Attributes:
        task: the problem.
        dynamics: the network.
        loss: the loss that is minimised.
        p_b: the backward policy.
        sampling: the size and the exploration of batches.
        replay: the trajectories of a batch that are drawn backwards.
        optimiser: steps and learning rate.
        run: seeds, arithmetic, devices, measurements, the folder.
        factors: the part of the reward.

    Raises:
        InputError: if two parts do not go together, with the reason.
    """

    task: Task
    dynamics: "DynamicsOptions[Any]"
    loss: "Loss"
    p_b: "BackwardOptions"
    sampling: SamplingOptions
    replay: "NoReplay"
    optimiser: OptimiserOptions
    run: RunOptions
    factors: Factors = ALL

    def __post_init__(self) -> None:
        self._check_loss()
        self._check_dynamics()
        self._check_replay()
        self._check_frozen()
        self.dynamics.check(self)
        if self.sampling.batch % self.run.devices:
            raise InputError(
                f"batch is {self.sampling.batch}, which {self.run.devices} devices cannot share "
                "evenly"
            )
        if self.factors.parts > 1 or self.factors.factors:
            self.restricted()

    def _check_loss(self) -> None:
        loss, name = self.loss, self.name_of("loss")
        least = loss.least_batch
        require(
            self.sampling,
            "batch",
            self.sampling.batch >= least,
            f"be at least {least}: {name} compares trajectories",
        )
        if loss.needs_markovian and not self.dynamics.is_markovian:
            raise InputError(
                f"loss {name} with dynamics {self.name_of('dynamics')}: flow matching sums over "
                "all parents of a lifted state (s, W), of which a trajectory shows one; use db, "
                "subtb, tb or log_variance, or --dynamics markov"
            )
        if not loss.reads_backward and (self.p_b.has_parameters or self.p_b.reads_latent):
            raise InputError(f"loss {name} has no backward policy: leave --p-b at uniform")

    def _check_dynamics(self) -> None:
        dynamics, name = self.dynamics, self.name_of("dynamics")
        if dynamics.reads_graphs and not self.task.has_graphs:
            raise InputError(
                f"dynamics {name} on {self.task.name}: graph networks read graphs, so they go with "
                "the tasks graphs and structure only; use gru, lstm, rnn, srwm or markov"
            )
        if dynamics.reads_graphs and (self.loss.needs_flow or self.p_b.reads_latent):
            raise InputError(
                f"dynamics {name} with loss {self.name_of('loss')} and p_b {self.name_of('p_b')}: "
                "graph networks score edges and give no flow and no backward policy; use loss tb "
                "or log_variance, and --p-b uniform or learned"
            )
        if self.p_b.reads_latent and dynamics.is_markovian:
            raise InputError(
                f"p_b lifted with dynamics {name}: there is no latent to read; use --p-b learned"
            )

    def _check_replay(self) -> None:
        batch = self.sampling.batch
        if not self.replay.capacity:
            return
        if self.p_b.reads_latent:
            raise InputError(
                "replay draws trajectories backwards, which a lifted p_b does not allow, as the "
                "latent is known forwards only: use --p-b learned or uniform, or no replay"
            )
        require(
            self.replay,
            "replay_share",
            0 < self.replay.replayed(batch) < batch,
            "leave some of both",
        )
        if self.run.devices > 1:
            raise InputError(
                f"replay with {self.run.devices} devices: the buffer lives on one device; use one "
                "of the two"
            )

    def _check_frozen(self) -> None:
        if not self.factors.frozen:
            return
        if not self.loss.combines_samplers:
            raise InputError(
                f"loss {self.name_of('loss')} with frozen runs: the balance conditions that "
                "combine samplers compare pairs of complete trajectories; use --loss log_variance"
            )
        if self.p_b.reads_latent:
            raise InputError(
                "p_b lifted with frozen runs: its mass would bend the product of their laws; use "
                "--p-b learned or uniform"
            )
        if self.replay.by_reward:
            raise InputError(
                "replay reward with frozen runs: the reward of all factors is not evaluated; use "
                "--replay uniform, or none"
            )

    def name_of(self, part: str) -> str:
        """The name of a part that is chosen by name: dynamics, loss, p_b or replay."""
        return name_of_part(part, getattr(self, part))

    def own_parts(self) -> list[str]:
        """The names of the parts that are the user's own."""
        return [part for part in CHOICES if own_part(part, getattr(self, part))]

    def changed(self, **changes: Any) -> Self:
        """The same with other options; a replaced part takes its own options with it."""
        from fast.training.compose import change

        return change(self, changes)

    def problem(self) -> Any:
        """The problem of the task."""
        return self.task.make_problem()

    def restricted(self, factors: Collection[int] | None = None) -> Any:
        """The problem with the reward of some of its factors; by default those of the target.

        Raises:
            InputError: if the problem does not split into that many parts.
        """
        problem = self.problem()
        if self.factors.parts == 1:
            return problem
        covered = self.factors.covered if factors is None else factors
        return restrict(problem, self.factors.parts, covered)

    def folder(self) -> Path:
        """The run folder."""
        dynamics = self.name_of("dynamics").rpartition(":")[2]
        name = f"{self.task.short_name}-{dynamics.lower()}-{self.run.seed}"
        return self.run.out or Path("runs") / name
