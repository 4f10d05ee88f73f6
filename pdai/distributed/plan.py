"""Plans: clients and their aggregate (prop:apx:dist), or the steps of a stream (prop:apx:sm).

An experiment is a dictionary of ordinary runs, each with its own folder, and a run that trains
on the whole reward with the same number of trajectories. Imports no JAX, so that the command line
answers at once.
"""

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from fast.training.compose import TrainConfig, from_json, to_json
from reference.contract.errors import InputError, build, check_fields, check_integer

FORMAT = 1

# The run that trains on the whole reward.
DIRECT = "direct"


@dataclass(frozen=True)
class Plan(ABC):
    """Several runs that learn the product of factors together, and one that learns it directly."""

    kind: ClassVar[str]
    in_turn: ClassVar[tuple[str, ...]]
    # The plan's own options, without the options of its runs.
    options: ClassVar[type[Any]]

    config: TrainConfig
    """Options of every run; --out is the folder of them all."""

    def __post_init__(self) -> None:
        check_fields(self, stored=True)
        for field in dataclasses.fields(self.config.factors):
            name, value = field.name, getattr(self.config.factors, field.name)
            if value != field.default:
                raise InputError(
                    f"{self.kind} with {name} = {value}: this command gives "
                    "each run its factors; leave the option out"
                )
        check_integer(self.kind, self.options.__name__.lower(), self.parts, 2)
        for name in self.in_turn:
            if (count := len(getattr(self, name))) > self.parts:
                raise InputError(
                    f"{self.kind}: {name} names {count}, but there are {self.parts}, one "
                    "for each: leave the rest out"
                )
        # An error in the options of one run is raised before any is started.
        self.runs()

    @property
    @abstractmethod
    def parts(self) -> int:
        """The number of factors of the reward."""

    @property
    @abstractmethod
    def combined(self) -> str:
        """The name of the run whose law is to be proportional to the product."""

    @abstractmethod
    def pieces(self) -> dict[str, TrainConfig]:
        """All runs but the direct one; the frozen runs of a run come before it."""

    def runs(self) -> dict[str, TrainConfig]:
        """All runs; the direct run draws the same number of trajectories as all others together."""
        pieces = self.pieces()
        steps = sum(config.optimiser.steps for config in pieces.values())
        return {**pieces, DIRECT: self.config.changed(steps=steps, out=self.folder() / DIRECT)}

    def folder(self) -> Path:
        """The folder of all runs."""
        name = f"{self.config.task.short_name}-{self.kind}-{self.config.run.seed}"
        return self.config.run.out or Path("runs") / name

    def to_json(self) -> dict[str, Any]:
        """The plan as plain data, without its folder."""
        return {"format": FORMAT, "kind": self.kind, **vars(self), "config": to_json(self.config)}

    def changed(self, **options: Any) -> Self:
        """The plan with other options of its runs."""
        return dataclasses.replace(self, config=self.config.changed(**options))

    def _turn(self, name: str, part: str, number: int) -> str:
        """The name of a part of a run: from the option `name`, in turn, or that of all runs."""
        listed: tuple[str, ...] = getattr(self, name)
        return listed[number % len(listed)] if listed else self.config.name_of(part)

    def _run(self, name: str, *covered: int, **changes: Any) -> TrainConfig:
        return self.config.changed(
            parts=self.parts, factors=covered, out=self.folder() / name, **changes
        )


@dataclass(frozen=True)
class Clients:
    """The number of clients, and their differences."""

    clients: int = 3
    """The number of clients, which share the items, positions or comparisons equally."""
    client_dynamics: tuple[str, ...] = ()
    """Latent dynamics of the clients, in turn, such as srwm gru markov; by default --dynamics."""
    client_p_b: tuple[str, ...] = ()
    """Backward policies of the clients, in turn; by default --p-b."""


@dataclass(frozen=True)
class Distributed(Clients, Plan):
    """Clients with one factor of the reward each, and the aggregate of their samplers."""

    kind = "distribute"
    options = Clients
    in_turn = ("client_dynamics", "client_p_b")

    @property
    def parts(self) -> int:
        """One factor per client."""
        return self.clients

    @property
    def combined(self) -> str:
        """The aggregate."""
        return "aggregate"

    def pieces(self) -> dict[str, TrainConfig]:
        """The clients, each with its own seed, and their aggregate."""
        clients = {
            f"client-{k}": self._run(
                f"client-{k}",
                k,
                dynamics=self._turn("client_dynamics", "dynamics", k),
                p_b=self._turn("client_p_b", "p_b", k),
                seed=self.config.run.seed + (k + 1) * self.config.run.seeds,
            )
            for k in range(self.clients)
        }
        frozen = tuple(client.folder() for client in clients.values())
        aggregate = self._run(self.combined, loss="log_variance", frozen=frozen)
        return {**clients, self.combined: aggregate}


@dataclass(frozen=True)
class Chunks:
    """The chunks, and the differences of the samplers after each."""

    chunks: int = 3
    """The number of chunks, in turn: parts of the items, positions or comparisons."""
    chunk_dynamics: tuple[str, ...] = ()
    """Latent dynamics after each chunk, in turn; by default --dynamics."""
    anew: bool = False
    """Start each sampler from random parameters, and not from those of the one before, where both
    have the same dynamics."""


@dataclass(frozen=True)
class Streamed(Chunks, Plan):
    """A sampler that is updated chunk by chunk, without the chunks that it has seen."""

    kind = "stream"
    options = Chunks
    in_turn = ("chunk_dynamics",)

    @property
    def parts(self) -> int:
        """One factor per chunk."""
        return self.chunks

    @property
    def combined(self) -> str:
        """The sampler after the last chunk."""
        return f"chunk-{self.chunks - 1}"

    def pieces(self) -> dict[str, TrainConfig]:
        """The sampler after each chunk: it reads the sampler before, and sees the new reward."""
        first = self._turn("chunk_dynamics", "dynamics", 0)
        runs = {"chunk-0": self._run("chunk-0", 0, dynamics=first)}
        for t in range(1, self.chunks):
            before = runs[f"chunk-{t - 1}"]
            dynamics = self._turn("chunk_dynamics", "dynamics", t)
            runs[f"chunk-{t}"] = self._run(
                f"chunk-{t}",
                *range(t + 1),
                loss="log_variance",
                dynamics=dynamics,
                seed=self.config.run.seed + t * self.config.run.seeds,
                frozen=(before.folder(),),
                warm=not self.anew
                and dynamics == before.name_of("dynamics")
                and not before.loss.needs_flow,
            )
        return runs


KINDS: dict[str, type[Plan]] = {plan.kind: plan for plan in (Distributed, Streamed)}


def plan_from_json(data: dict[str, Any], folder: Path) -> Plan:
    """The plan that `to_json` wrote into a folder.

    Raises InputError if it is of another format, or its fields are not those of its kind, have
    other types, or break a rule.
    """
    values, source = dict(data), str(folder / "plan.json")
    version, kind = values.pop("format", None), values.pop("kind", None)
    if version != FORMAT or not isinstance(kind, str) or kind not in KINDS:
        raise InputError(
            f"{source} has format {version!r} and kind {kind!r}, but this version of pdai reads "
            f"format {FORMAT} and the kinds {sorted(KINDS)}: use the version that wrote it"
        )
    fields = {field.name for field in dataclasses.fields(KINDS[kind])}
    if set(values) != fields:
        raise InputError(
            f"{source} has the wrong fields: missing {sorted(fields - set(values))}, unknown "
            f"{sorted(set(values) - fields)}; use the version that wrote it"
        )
    config = values.pop("config")
    if not isinstance(config, dict):
        raise InputError(
            f"{source} has the config {config!r}, which is no JSON object: train again"
        )
    options = {"config": from_json(config, source).changed(out=folder), **values}
    return build(KINDS[kind], options, source)
