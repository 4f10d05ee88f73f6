"""The configuration of a training run, made from options by name. Imports no JAX.

Options have the same names everywhere, so a configuration is a flat mapping on the command line, in
a `config.json` and in Python: the name of its task, those of the parts that are chosen by name
(`dynamics`, `loss`, `p_b`, `replay`), and the options of all of them. An option belongs to the part
that declares it.
"""

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fast.parts import CHOICES, DEFAULTS, Chosen, choose, name_of_part, option_names, own_part
from fast.tasks import TASKS, Task
from fast.training.options import Factors, OptimiserOptions, RunOptions, SamplingOptions
from reference.contract.errors import InputError, build, nearest, require
from reference.problems import restrict

if TYPE_CHECKING:
    from fast.balance.loss import Loss
    from fast.dynamics.base import DynamicsOptions
    from fast.environments import AbstractEnvironment
    from fast.policies.backward import BackwardOptions
    from fast.sampling.replay import NoReplay

FORMAT = 4
# The parts that every run has.
FIXED: dict[str, type] = {
    "sampling": SamplingOptions,
    "optimiser": OptimiserOptions,
    "run": RunOptions,
    "factors": Factors,
}
# The whole reward.
ALL = Factors()


@dataclass(frozen=True)
class TrainConfig:
    """The parts of a run; `configure` makes one from options by name.

    Raises InputError if two parts do not go together, with the reason.
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
        self._check_annealing()
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

    def _check_annealing(self) -> None:
        if not self.sampling.anneal:
            return
        if not self.loss.anneals or self.dynamics.method != "networks" or self.factors.frozen:
            raise InputError(
                f"anneal with loss {self.name_of('loss')}, dynamics {self.name_of('dynamics')} and "
                f"{len(self.factors.frozen)} frozen runs: rewards are annealed at the ends of "
                "trajectories alone; use --anneal 0, or a loss such as tb without frozen runs"
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
        if self.replay.replayed(batch) % self.run.devices:
            raise InputError(
                f"replay draws {self.replay.replayed(batch)} of the {batch} trajectories of a "
                f"batch, which {self.run.devices} devices cannot share evenly: choose another "
                "--replay-share or --batch"
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

    def own_parts(self) -> dict[str, str]:
        """The names of the parts that are the user's own."""
        own = (part for part in CHOICES if own_part(part, getattr(self, part)))
        return {part: self.name_of(part) for part in own}

    def changed(self, **changes: Any) -> "TrainConfig":
        """The configuration with other options; a replaced part loses its options."""
        flat = to_flat(self)
        task = flat.pop("task")
        for part in CHOICES:
            if part in changes and changes[part] != flat[part]:
                left = option_names(type(getattr(self, part)))
                for name in left - option_names(choose(part, changes[part]).options):
                    flat.pop(name, None)
            elif ":" in flat[part]:
                # A user's object is kept, not copied.
                flat[part] = getattr(self, part)
        return configure(task, **{**flat, **changes})

    def problem(self) -> Any:
        """The problem of the task."""
        return self.task.make_problem()

    def restricted(self, factors: Collection[int] | None = None) -> Any:
        """The problem with the reward of some of its factors; by default those of the target.

        Raises InputError if the problem does not split into that many parts.
        """
        problem = self.problem()
        if self.factors.parts == 1:
            return problem
        covered = self.factors.covered if factors is None else factors
        return restrict(problem, self.factors.parts, covered)

    def make_environment(
        self, factors: Collection[int] | None = None
    ) -> "AbstractEnvironment[Any]":
        """The problem as array code, with the reward of the same factors as `restricted`."""
        return self.task.make_environment(self.restricted(factors), self.run.max_states)

    def with_factors(self, **changes: Any) -> "TrainConfig":
        """The configuration with other options of `factors`."""
        return dataclasses.replace(self, factors=dataclasses.replace(self.factors, **changes))

    def folder(self) -> Path:
        """The run folder."""
        dynamics = self.name_of("dynamics").rpartition(":")[2]
        name = f"{self.task.short_name}-{dynamics.lower()}-{self.run.seed}"
        return self.run.out or Path("runs") / name


def configure(task: str | type[Task], source: str = "", **options: Any) -> TrainConfig:
    """The configuration of a task with options by name, all others by default.

    Args:
        task: its name, such as "six6", or its class.
        source: the origin of the options, for messages.
        options: options by name.

    Raises:
        InputError: if an option belongs to no chosen part, or breaks a rule.
    """
    owner = _task_class(task, source) if isinstance(task, str) else task
    usual = usual_options(owner, options)
    parts, used = {}, set(CHOICES)
    for part, chosen in choose_parts(owner, options).items():
        names = option_names(chosen.options)
        given = options if chosen.is_object else {**usual, **options}
        values = {name: value for name, value in given.items() if name in names}
        parts[part] = build(chosen.options, values, source, chosen.make)
        used |= names
    for name in options.keys() - used:
        shown = f"{name} is {options[name]!r}"
        raise InputError(_prefixed(source, _misplaced(shown, name, owner, options)))
    return TrainConfig(**parts)


def to_flat(config: TrainConfig) -> dict[str, Any]:
    """The options of a configuration by name; options of `factors` only if they are set."""
    flat: dict[str, Any] = {"task": config.task.name}
    flat |= {part: name_of_part(part, getattr(config, part)) for part in CHOICES}
    for part in ("task", *CHOICES, *FIXED):
        options = getattr(config, part)
        for field in dataclasses.fields(options):
            value = getattr(options, field.name)
            if field.name != "make" and (part != "factors" or value != field.default):
                flat[field.name] = value
    return flat


def to_json(config: TrainConfig) -> dict[str, Any]:
    """A configuration as plain data, without the folder it is stored in."""
    flat = to_flat(config)
    del flat["out"]
    left = unused(type(config.task), flat)
    # For generated data the resolved score is stored, for a user's data the requested one.
    flat = {k: v for k, v in flat.items() if k not in left} | ({} if left else config.task.facts())
    return {"format": FORMAT, **{name: _plain(value) for name, value in flat.items()}}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return str(value) if isinstance(value, Path) else value


def unused(task: type[Task], options: Mapping[str, Any]) -> tuple[str, ...]:
    """The options of a generator that a user's data replace."""
    return task.generated if any(options.get(name) for name in task.inputs) else ()


def stored_task(options: Mapping[str, Any], folder: Path) -> Task | None:
    """The task of a run folder with its copies of the user's files; None of tasks without files.

    The options are the content of its config.json.
    """
    kind = TASKS.get(str(options.get("task")))
    if kind is None or not kind.inputs:
        return None
    values = {name: options[name] for name in option_names(kind) if name in options}
    return build(kind, values, str(folder / "config.json")).with_copies(folder)


def another_version(source: str | Path) -> InputError:
    """The error of a file of a run that is not of this version's one format."""
    return InputError(f"{source} was made by another version of pdai: train again")


def from_json(data: Mapping[str, Any], source: str) -> TrainConfig:
    """The configuration that `to_json` wrote.

    Raises InputError if the format is another one, or the options are not exactly those of the
    parts, or one has another type or breaks a rule.
    """
    values = dict(data)
    if "solved_format" in values:
        raise InputError(
            f"{source} is of `pdai solve`, whose sampler is exact and was not trained: use sample, "
            "certify, plot or report, or train in another folder"
        )
    version, task = values.pop("format", None), values.pop("task", None)
    if version != FORMAT:
        raise another_version(source)
    owner = _task_class(task, source)
    try:
        parts = choose_parts(owner, values)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    wanted = set(CHOICES).union(
        *(option_names(chosen.options) for part, chosen in parts.items() if part != "factors")
    )
    missing = wanted - {"out", *values, *unused(owner, values)}
    unknown = set(values) - wanted - option_names(Factors)
    if missing or unknown or "out" in values:
        odd = [*(f"no {name}" for name in sorted(missing)), *sorted(unknown)]
        raise InputError(
            f"{source}: its options are not those of its parts ({', '.join(odd) or 'out'}): "
            "restore the file, or train again"
        )
    return configure(owner, source, **values)


def usual_options(owner: type[Task], options: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults of a task, overridden by those of the chosen dynamics, loss and `p_B`."""
    usual = dict(owner.defaults)
    for part in ("dynamics", "loss", "p_b"):
        chosen = options.get(part, usual.get(part, CHOICES[part].usual))
        usual |= DEFAULTS.get(CHOICES[part].name_of(chosen) or "", {})
    return usual


def choices(owner: type[Task], options: Mapping[str, Any]) -> dict[str, Any]:
    """The choice of each part, from the options or by default: a name, a class or an object."""
    usual = {part: kind.usual for part, kind in CHOICES.items()}
    given = {**usual, **usual_options(owner, options), **options}
    return {part: given[part] for part in CHOICES}


def choose_parts(owner: type[Task], options: Mapping[str, Any]) -> dict[str, Chosen]:
    """All parts of a run, the task first, as the options choose them.

    Raises InputError if one is chosen by an unknown name.
    """
    chosen = {part: choose(part, choice) for part, choice in choices(owner, options).items()}
    fixed = {part: Chosen(kind, kind) for part, kind in FIXED.items()}
    return {"task": Chosen(owner, owner), **chosen, **fixed}


def refuse_misplaced(names: Collection[str], owner: type[Task], options: Mapping[str, Any]) -> None:
    """Refuses options of parts that are not chosen, naming the part; names of no part pass."""
    offered = (option_names(chosen.options) for chosen in choose_parts(owner, options).values())
    for name in sorted(set(names).difference(*offered)):
        if any(_owners(kind, name) for kind in CHOICES.values()):
            raise InputError(_misplaced(name, name, owner, options))


def _owners(kinds: Mapping[str, type[Any]], option: str) -> list[str]:
    """The names of the parts that have an option."""
    return [name for name, kind in kinds.items() if option in option_names(kind)]


def _misplaced(shown: str, name: str, owner: type[Task], options: Mapping[str, Any]) -> str:
    """The reason why an option is refused: another part has it, or none."""
    for part, kind in CHOICES.items():
        if owners := _owners(kind, name):
            chosen = choices(owner, options)[part]
            if not isinstance(chosen, str):
                chosen = name_of_part(part, choose(part, chosen).make())
            flag = part.replace("_", "-")
            return (
                f"{shown} with {part} {chosen}, which has no such option: it belongs to --{flag} "
                f"{' or '.join(owners)}; choose that, or leave {name} out"
            )
    parts = choose_parts(owner, options).values()
    meant = nearest(name, {*CHOICES}.union(*(option_names(chosen.options) for chosen in parts)))
    if owners := _owners(TASKS, name):
        return f"{name} is an option of {' and '.join(owners)}, and not of {owner.name}{meant}"
    return f"there is no option {name!r}{meant}"


def _task_class(name: Any, source: str) -> type[Task]:
    if not isinstance(name, str) or name not in TASKS:
        known = f"{sorted(TASKS)}{nearest(name, TASKS)}"
        raise InputError(_prefixed(source, f"the task is {name!r}, but known are {known}"))
    return TASKS[name]


def _prefixed(source: str, message: str) -> str:
    return f"{source}: {message}" if source else message
