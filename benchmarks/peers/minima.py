"""The minima of the losses of a library, against the counterexamples of docs/records/losses.md.

Run by the Python of the library's environment, which needs nothing of this project:

    torchgfn/bin/python benchmarks/peers/minima_torchgfn.py
    gfnx/bin/python benchmarks/peers/minima_gfnx.py --scripts checkout/baselines

On each Markovian graph of `examples/losses/counterexamples`, every right loss of a library must be
zero with its gradient at the balanced policy (flows in proportion to a uniform `p_B`), and must not
be at the policies of counterexamples. A case that is wrong must be zero with its gradient at the
policy of its counterexample, and not if the mistake is mended.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples" / "losses" / "counterexamples"
# A loss is zero below the first, and is not above the second; gradients are zero below the third.
ZERO, SEEN, FLAT = 1e-10, 1e-4, 1e-6

Path_ = tuple[int, ...]


@dataclass(frozen=True)
class Sampler:
    """`log p_F` of every edge, `log F` of every state and `log Z`."""

    log_p_f: list[float]
    log_flow: list[float]
    log_z: float


@dataclass(frozen=True)
class Example:
    """A counterexample: states are numbers, 0 the first, and each edge is an action of its own."""

    name: str
    labels: list[str]
    edges: list[tuple[int, int]]
    rewards: dict[int, Fraction]
    p_f: list[Fraction]

    @classmethod
    def read(cls, file: Path) -> "Example":
        written = json.loads(file.read_text())
        labels = list(written["graph"])
        edges, p_f = [], []
        for label, children in written["graph"].items():
            shares = written["p_F"].get(label, ["1"])
            edges += [(labels.index(label), labels.index(child)) for child in children]
            p_f += map(Fraction, shares if children else ())
        rewards = {labels.index(x): Fraction(r) for x, r in written["rewards"].items()}
        return cls(file.stem, labels, edges, rewards, p_f)

    def with_rewards(self, **changed: int) -> "Example":
        """The same with other rewards at some ends."""
        new = {self.labels.index(x): Fraction(r) for x, r in changed.items()}
        return Example(self.name, self.labels, self.edges, self.rewards | new, self.p_f)

    def paths(self, state: int = 0) -> Iterator[Path_]:
        """The edges of every complete trajectory."""
        if state in self.rewards:
            yield ()
        for edge, (u, v) in enumerate(self.edges):
            if u == state:
                yield from ((edge, *rest) for rest in self.paths(v))

    def p_b(self, edge: int) -> Fraction:
        """The uniform `p_B` of an edge."""
        return Fraction(1, sum(v == self.edges[edge][1] for _, v in self.edges))

    def flow(self, state: int) -> Fraction:
        """The flow of a state at balance."""
        if state in self.rewards:
            return self.rewards[state]
        after = [(e, v) for e, (u, v) in enumerate(self.edges) if u == state]
        return sum((self.p_b(e) * self.flow(v) for e, v in after), start=Fraction(0))

    def balanced(self) -> Sampler:
        flows = [self.flow(s) for s in range(len(self.labels))]
        shares = [self.p_b(e) * flows[v] / flows[u] for e, (u, v) in enumerate(self.edges)]
        return Sampler(list(map(math.log, shares)), list(map(math.log, flows)), math.log(flows[0]))

    def own(self, paths: list[Path_], *, with_p_b: bool = True) -> Sampler:
        """The policy of the counterexample, with the flows of balance and `Z` of the first path."""
        ratio = self.rewards[self.edges[paths[0][-1]][1]]
        for edge in paths[0]:
            ratio *= (self.p_b(edge) if with_p_b else 1) / self.p_f[edge]
        flows = self.balanced().log_flow
        return Sampler(list(map(math.log, self.p_f)), flows, math.log(ratio))


# A loss of a library at a sampler on trajectories: its value, and its largest slope.
Evaluate = Callable[[str, Example, Sampler, list[Path_]], tuple[float, float]]


def of_length(example: Example, length: int) -> list[Path_]:
    return [path for path in example.paths() if len(path) == length]


def wrong_cases(library: Mapping[str, Any]) -> Iterator[tuple[str, str, Example, list[Path_], Any]]:
    """A case as published: its loss, what it is, its graph, a batch, and how it is mended.

    It is mended by a batch of all trajectories, or by another loss.
    """
    hole = {
        "replay-local-search-a-teacher-a-hole-in-the-support": 1,
        "a-forced-end-at-a-cap-of-length-longer-ones-are-dropped": 1,
        "ace-w-0-and-an-explorer-of-long-ways": 2,
    }
    for name, length in hole.items():
        example = Example.read(FOLDER / f"{name}.json")
        yield "TB", f"trajectories of length {length} alone", example, of_length(example, length), 0
    if "log variance" in library["right"]:
        name = "log-variance-contrastive-balance-pairs-of-equal-length-alone"
        example = Example.read(FOLDER / f"{name}.json")
        for length in (1, 2):
            batch = of_length(example, length)
            yield "log variance", f"a batch of length {length} alone", example, batch, 0
        example = Example.read(FOLDER / "z-of-the-batch-gflowrl-groups-of-one.json")
        yield "log variance", "a batch of one", example, [next(example.paths())], 0
    for name in library["without p_B"]:
        example = Example.read(FOLDER / f"{name}.json")
        yield "TB without p_B", "pb=None", example, list(example.paths()), "TB"
    if "forward-looking DB" in library["right"]:
        example = Example.read(FOLDER / "fl-db-phi-y-log-6-for-r-y-2.json").with_rewards(y=6)
        yield "forward-looking DB", "phi(y) = log 6", example, list(example.paths()), "R(y) = 2"


def key_of(example: Example) -> tuple[str, str]:
    """The graph and the rewards, which several counterexamples share."""
    return str(example.edges), str(example.rewards)


def main(library: Mapping[str, Any], evaluate: Evaluate) -> None:
    """Prints both tables as Markdown; the exit status is 1 where a minimum differs."""
    files = sorted(FOLDER.glob("*.json"))
    examples = [Example.read(file) for file in files if '"memory": false' in file.read_text()]
    problems = {key_of(each): each for each in examples}
    policies = {(*key_of(each), str(each.p_f)): each for each in examples}
    print(f"{library['versions']}; {len(problems)} graphs with rewards, {len(policies)} policies\n")
    print("| loss | at balance at most | elsewhere at least |\n| --- | --- | --- |")
    same = True
    for loss in library["right"]:
        zeros = [evaluate(loss, e, e.balanced(), list(e.paths())) for e in problems.values()]
        others = [
            evaluate(loss, e, e.own(paths := list(e.paths())), paths)[0] for e in policies.values()
        ]
        value, slope = (max(column) for column in zip(*zeros, strict=True))
        same &= value < ZERO and slope < FLAT and min(others) > SEEN
        print(f"| {loss} | {value:.0e}, slope {slope:.0e} | {min(others):.1g} |", flush=True)
    print("\n| counterexample | loss, and what is wrong | there | mended |")
    print("| --- | --- | --- | --- |")
    for loss, what, example, batch, mended in wrong_cases(library):
        sampler = example.own(batch, with_p_b=loss != "TB without p_B")
        if loss == "forward-looking DB":
            sampler = example.balanced()
            assert sampler.log_p_f == [*map(math.log, example.p_f)]
        value, slope = evaluate(loss, example, sampler, batch)
        whole = Example.read(FOLDER / f"{example.name}.json")
        other, _ = evaluate(mended if mended == "TB" else loss, whole, sampler, list(whole.paths()))
        same &= value < ZERO and slope < FLAT and other > SEEN
        print(f"| {example.name} | {loss}: {what} | {value:.0e}, slope {slope:.0e} | {other:.2g} |")
    if not same:
        sys.exit("a minimum differs")
