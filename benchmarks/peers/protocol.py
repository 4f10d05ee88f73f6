"""The protocol of workers: requests and answers are JSON, one per line, over pipes."""

import json
import sys
import time
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from benchmarks.peers import tasks
from benchmarks.peers.tasks import TASKS, Task


def distance(steps: Any) -> float:
    """TV of where a policy ends to the normalised rewards, by all steps that it can take.

    Equal states are one, and every end is met after one number of steps.

    Args:
        steps: a library's, as `pdai.adapters.stepping.Steps`.
    """
    states, mass = steps.start(1), np.ones(1)
    law: list[float] = []
    log_rewards: list[float] = []
    while len(mass):
        logits = steps.forward(states)
        at, actions = np.nonzero(np.asarray(logits.mask))
        flow = mass[at] * logits.rows(np.ones(len(mass), bool))[at, actions]
        after, ended, _ = steps.move(steps.take(states, at), actions, np.ones(len(at), bool))
        number: dict[Any, int] = {}
        nodes = zip(steps.keys(after), np.asarray(ended).tolist(), strict=True)
        which = [number.setdefault(node, len(number)) for node in nodes]
        _, first = np.unique(which, return_index=True)
        mass, stops = np.bincount(which, flow), np.asarray(ended)[first]
        if stops.any():
            law += mass[stops].tolist()
            log_rewards += np.asarray(steps.ends(steps.take(after, first[stops]))[1]).tolist()
        states, mass = steps.take(after, first[~stops]), mass[~stops]
    target = np.exp(np.array(log_rewards) - max(log_rewards))
    return float(np.abs(law - target / target.sum()).sum() / 2)


class Worker(ABC):
    """One library on one task at a time.

    Attributes:
        seed: the seed of its random numbers.
        script: whether it trains as the library's own script does, in place of what all share.
    """

    seed, script = 0, False

    @abstractmethod
    def versions(self) -> dict[str, str]:
        """The versions of what decides the speed."""

    @abstractmethod
    def build(self, task: Task, batch: int) -> int:
        """Makes environment, network and optimiser afresh; returns the number of parameters."""

    @abstractmethod
    def train(self, steps: int) -> None:
        """Trains; returns when the last step is done."""

    @abstractmethod
    def freeze(self) -> None:
        """Makes the learning rates so small that further steps leave the policy as it is."""

    @abstractmethod
    def sample(self, batches: int) -> float:
        """Samples without training; returns the mean number of actions of a trajectory."""

    @abstractmethod
    def log_rewards(self, terminals: list[list[int]]) -> list[float]:
        """`log R` of terminal states, by the library's own code."""

    def matmul(self) -> float:
        """GFLOP/s of (batch x 256) times (256 x 256) in float32, where it is measured."""
        raise NotImplementedError

    def as_sampler(self, problem: Any = None, label: Any = None) -> Any:
        """The trained policy by the adapter for samplers of the library, as a user writes it."""
        raise NotImplementedError

    def grid_logits(self, cells: Any) -> Any:
        """Logits at cells of a hypergrid, shape (n, dimension): increments, then the exit."""
        raise NotImplementedError

    # Requests

    def begin(self, kind: str, fields: list[Any], batch: int, seed: int) -> float:
        """Builds a task as the library's own script, from a seed; the processor seconds of it."""
        started = time.process_time()
        self.seed, self.script = seed, True
        self.build(getattr(tasks, kind)(*fields), batch)
        return time.process_time() - started

    def tv(self) -> float:
        """The distance of what it has trained to the target."""
        return distance(self.as_sampler().steps)

    def go_on(self, steps: int) -> float:
        """Trains by steps that are a multiple of a hundred; the processor seconds of it."""
        started = time.process_time()
        for _ in range(0, steps, 100):
            self.train(100)
        return time.process_time() - started

    def setup(self, task: str, batch: int, steps: int) -> dict[str, float]:
        """Builds, trains `steps` steps, and finds how much work fills about 0.2 s.

        The policy then stays as it is: else that of a faster library would go on, to longer
        trajectories.
        """
        self.batch = batch
        parameters = self.build(TASKS[task], batch)
        self.train(steps)
        self.freeze()
        self.chunk = {}
        for kind, call in (("train", self.train), ("sample", self.sample)):
            call(4)  # compiles
            started = time.perf_counter()
            call(4)
            self.chunk[kind] = max(1, round(0.8 / (time.perf_counter() - started)))
            call(self.chunk[kind])
        return {"parameters": parameters, "length": self.sample(self.chunk["sample"])}

    def block(self, kind: str, seconds: float) -> dict[str, float]:
        """Works for about `seconds`: the number of steps or trajectories, wall and CPU seconds."""
        call, chunk, done = getattr(self, kind), self.chunk[kind], 0
        wall, cpu = time.perf_counter(), time.process_time()
        while time.perf_counter() - wall < seconds:
            call(chunk)
            done += chunk
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        return {"count": done * (1 if kind == "train" else self.batch), "wall": wall, "cpu": cpu}


def serve(worker: Worker) -> None:
    """Answers requests until the input ends, or takes one training step (`--first-step`)."""
    if sys.argv[1:2] == ["--first-step"]:
        worker.build(TASKS[sys.argv[2]], int(sys.argv[3]))
        worker.train(1)
        print("done", flush=True)
        return
    # Whatever a library prints must not end up among the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(worker, request.pop("call"))(**request)
        print(json.dumps(answer), file=answers, flush=True)
