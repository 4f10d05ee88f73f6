"""The protocol of workers: requests and answers are JSON, one per line, over pipes."""

import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from tasks import TASKS, Task


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

    def log_p_f(self, cells: list[list[int]]) -> list[list[float]]:
        """`log p_F` of the actions in cells of a grid: a step along each axis, and the stop."""
        raise NotImplementedError

    # Requests

    def begin(self, task: str, batch: int, seed: int) -> float:
        """Builds with a seed, as the library's own script; the processor seconds of it."""
        started = time.process_time()
        self.seed, self.script = seed, True
        self.build(TASKS[task], batch)
        return time.process_time() - started

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
        self.chunk = {kind: self._calibrate(kind) for kind in ("train", "sample")}
        return {"parameters": parameters, "length": self.sample(self.chunk["sample"])}

    def block(self, kind: str, seconds: float) -> dict[str, float]:
        """Works for about `seconds`: the number of steps or trajectories, wall and CPU seconds."""
        call, chunk, done = self._call(kind), self.chunk[kind], 0
        wall, cpu = time.perf_counter(), time.process_time()
        while time.perf_counter() - wall < seconds:
            call(chunk)
            done += chunk
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        return {
            "count": done * (1 if kind == "train" else self.batch),
            "wall": wall,
            "cpu": cpu,
        }

    def _call(self, kind: str) -> Callable[[int], Any]:
        return self.train if kind == "train" else self.sample

    def _calibrate(self, kind: str) -> int:
        call, trial = self._call(kind), 4
        call(trial)  # compiles
        started = time.perf_counter()
        call(trial)
        chunk = max(1, round(0.2 * trial / (time.perf_counter() - started)))
        call(chunk)
        return chunk


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
