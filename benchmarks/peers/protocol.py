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
        untimed: the processor seconds of what is not part of a training.
    """

    seed, script, untimed = 0, False, 0.0

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

    def take(self, weights: list[Any]) -> None:
        """Gives the policy the matrices (in, out) of its layers, then their biases."""
        raise NotImplementedError

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
        """Builds a task as the library's own script, from a seed; the seconds of the process."""
        self.seed, self.script = seed, True
        self.build(getattr(tasks, kind)(*fields), batch)
        return self.seconds()

    def seconds(self) -> float:
        """The processor seconds of the process so far, imports and all, without what is untimed."""
        return time.process_time() - self.untimed

    def tv(self) -> float:
        """The distance of what it has trained to the target."""
        started = time.process_time()
        tv = self.distance()
        self.untimed += time.process_time() - started
        return tv

    def distance(self) -> float:
        """The distance, by all steps of the policy."""
        return distance(self.as_sampler().steps)

    def go_on(self, steps: int) -> float:
        """Trains by steps that are a multiple of a hundred; the seconds of the process."""
        for _ in range(0, steps, 100):
            self.train(100)
        return self.seconds()

    def setup(self, task: str, batch: int) -> int:
        """Builds, and finds how many steps and batches fill a tenth of a second.

        The learning rates are so small that the policy stays as it is: else that of a faster
        library would go on, to longer trajectories.
        """
        self.batch = batch
        parameters = self.build(TASKS[task], batch)
        self.freeze()
        self.chunk = {}
        for kind, call in (("train", self.train), ("sample", self.sample)):
            call(4)  # compiles
            started = time.perf_counter()
            call(4)
            self.chunk[kind] = max(1, round(0.4 / (time.perf_counter() - started)))
            call(self.chunk[kind])
        return parameters

    def place(self, weights: list[Any] | None, cells: list[list[int]]) -> dict[str, Any]:
        """Takes a policy: its mean number of actions, and its logits at some cells.

        Args:
            weights: those of a network; None for the library's own untrained one.
            cells: of the hypergrid; none where weights are none.
        """
        if weights is not None:
            self.take([np.array(part, np.float32) for part in weights])
        logits = np.array(self.grid_logits(np.array(cells))).tolist() if cells else []
        batches = -(-8_192 // self.batch // self.chunk["sample"])
        lengths = [self.sample(self.chunk["sample"]) for _ in range(max(1, batches))]
        return {"actions": float(np.mean(lengths)), "logits": logits}

    def block(self, kind: str, seconds: float, clock: str) -> dict[str, float]:
        """Works for some seconds of the clock: steps or trajectories, wall and CPU seconds.

        Args:
            kind: "train" or "sample".
            seconds: at least so many.
            clock: "wall" or "cpu".
        """
        call, chunk, done = getattr(self, kind), self.chunk[kind], 0
        now = {"wall": time.perf_counter, "cpu": time.process_time}
        began = {name: read() for name, read in now.items()}
        while now[clock]() - began[clock] < seconds:
            call(chunk)
            done += chunk
        spent = {name: read() - began[name] for name, read in now.items()}
        return {"count": done * (1 if kind == "train" else self.batch), **spent}


def serve(worker: Worker) -> None:
    """Answers requests until the input ends."""
    # Whatever a library prints must not end up among the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(worker, request.pop("call"))(**request)
        print(json.dumps(answer), file=answers, flush=True)
