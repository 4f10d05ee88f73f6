"""The configuration of a training run: its parts, each with its options. Imports no JAX.

A `config.json` has the same parts. Options have names of their own, so the command line and Python
give them without a part: an option belongs to the part that declares it.
"""

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fast.parts import (
    CHOICES,
    DEFAULTS,
    make_part,
    name_of_part,
    option_names,
    options_of,
    own_part,
    with_options,
)
from fast.training.options import Factors, OptimiserOptions, RunOptions, SamplingOptions
from reference.contract.errors import InputError, nearest, require

if TYPE_CHECKING:
    from fast.balance.loss import Loss
    from fast.dynamics.base import DynamicsOptions
    from fast.environments import AbstractEnvironment
    from fast.policies.backward import BackwardOptions
    from fast.sampling.replay import NoReplay
    from fast.tasks import Task

FORMAT = 5
# The key of the name of a part beside its options: no option has the name of a keyword.
IS = "is"
NONE: Mapping[str, Any] = MappingProxyType({})
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

    task: "Task"
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
        self._check_latents()
        if self.sampling.batch % self.run.devices:
            raise InputError(
                f"batch is {self.sampling.batch}, but must be a multiple of devices, "
                f"{self.run.devices}: each has an equal share"
            )
        if self.factors.parts > 1 or self.factors.factors:
            self.restricted()

    def _check_loss(self) -> None:
        loss, name, batch = self.loss, self.name_of("loss"), self.sampling.batch
        rule = f"be at least {loss.least_batch}: {name} compares trajectories"
        require(self.sampling, "batch", batch >= loss.least_batch, rule)
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
        codes = {getattr(self.task, name, None) for name in ("encoding", "time_code")}
        if dynamics.rows_by_state and "fourier" in codes:
            raise InputError(
                f"table_rows is {dynamics.rows_by_state} on {self.task.name} with Fourier codes: "
                "their last bits depend on the program, so a state has no row of its own; use "
                "--table-rows 0, or another --encoding"
            )

    def _check_latents(self) -> None:
        """Refuses a random latent with parts that need one that is a function of the states."""
        if self.dynamics.method != "latents":
            return
        loss, p_b, sampling = self.name_of("loss"), self.p_b, self.sampling
        reasons = {
            f"loss {loss}": (
                loss != "tb" or getattr(self.loss, "penalty", "square") != "square",
                "it is trained by trajectory balance, of squares; use --loss tb",
            ),
            f"p_b {self.name_of('p_b')}": (
                p_b.has_parameters or p_b.reads_latent,
                "its p_B is uniform over parents, and a law of its own over latents; leave --p-b "
                "at uniform",
            ),
            "replay or several devices": (
                self.replay.capacity or self.run.devices > 1,
                "it draws all forwards, on one device; use neither",
            ),
            "factors of a reward": (
                self.factors.parts > 1 or self.factors.frozen,
                "samplers are combined along trajectories of states, whose probability is an "
                "integral here; choose other dynamics",
            ),
            f"epsilon {sampling.epsilon} and temperature {sampling.temperature}": (
                getattr(self.dynamics, "gradient", "fixed") == "reparameterised"
                and (sampling.epsilon or sampling.temperature != 1),
                "the gradient reparameterised is that of the on-policy loss; use --epsilon 0 and "
                "--temperature 1",
            ),
        }
        for part, (is_wrong, reason) in reasons.items():
            if is_wrong:
                name = self.name_of("dynamics")
                raise InputError(f"dynamics {name} with {part}: {reason}")

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
        if not self.replay.capacity:
            return
        batch = self.sampling.batch
        replayed = self.replay.replayed(batch)
        if self.p_b.reads_latent:
            raise InputError(
                "replay draws trajectories backwards, which a lifted p_b does not allow, as the "
                "latent is known forwards only: use --p-b learned or uniform, or no replay"
            )
        require(self.replay, "replay_share", 0 < replayed < batch, "leave some of both")
        new, of = batch - replayed, self.replay.capacity
        require(self.replay, "replay_capacity", of >= new, f"hold the {new} new states of a batch")
        if replayed % self.run.devices:
            raise InputError(
                f"replay draws {replayed} of the {batch} trajectories of a batch, which "
                f"{self.run.devices} devices cannot share evenly: choose another --replay-share "
                "or --batch"
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
        """The name of a part that is chosen by name: task, dynamics, loss, p_b or replay."""
        return self.task.name if part == "task" else name_of_part(part, getattr(self, part))

    def own_parts(self) -> dict[str, str]:
        """The names of the parts that are the user's own."""
        own = (part for part in CHOICES if own_part(part, getattr(self, part)))
        return {part: self.name_of(part) for part in own}

    def changed(self, **changes: Any) -> "TrainConfig":
        """The configuration with other options; a replaced part loses its options."""
        names = {part: self.name_of(part) for part in CHOICES}
        usual = usual_options(type(self.task), {**names, **changes})
        parts = {}
        for part, before in vars(self).items():
            if part in CHOICES and changes.get(part, before) not in (before, names[part]):
                kept = {**usual, **options_of(before)}
                parts[part] = make_part(part, changes[part], kept, changes)
            else:
                parts[part] = with_options(before, changes)
        _refuse_others(changes, parts)
        return TrainConfig(**parts)

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
        # Imported here, as few trainings split a reward.
        from reference.problems.factors import restrict

        covered = self.factors.covered if factors is None else factors
        return restrict(problem, self.factors.parts, covered)

    def make_environment(self, factors: Collection[int] | None = None) -> "AbstractEnvironment":
        """The problem as array code, with the reward of the same factors as `restricted`."""
        return self.task.make_environment(self.restricted(factors), self.run.max_states)

    def with_factors(self, **changes: Any) -> "TrainConfig":
        """The configuration with other options of `factors`."""
        return replace(self, factors=replace(self.factors, **changes))

    def folder(self) -> Path:
        """The run folder."""
        dynamics = self.name_of("dynamics").rpartition(":")[2]
        name = f"{self.task.short_name}-{dynamics.lower()}-{self.run.seed}"
        return self.run.out or Path("runs") / name


def configure(task: "str | type[Task]", **options: Any) -> TrainConfig:
    """The configuration of a task with options by name, all others by default.

    Args:
        task: its name, such as "six6", or its class.
        options: options by name.

    Raises:
        InputError: if an option belongs to no chosen part, or breaks a rule.
    """
    owner = _task_class(task) if isinstance(task, str) else task
    return TrainConfig(**parts_of(owner, options))


def parts_of(
    owner: "type[Task]", options: Mapping[str, Any], usual: Mapping[str, Any] = NONE
) -> dict[str, Any]:
    """The parts of a configuration, by the names of its fields; together they may not go.

    Args:
        owner: the class of the task.
        options: options by name.
        usual: defaults by name, before those of the task and of the parts.

    Raises:
        InputError: if an option belongs to no chosen part, or breaks a rule.
    """
    usual = {**usual_options(owner, {**usual, **options}), **usual}
    names = {**{part: kind.usual for part, kind in CHOICES.items()}, **usual, **options}
    values = {**usual, **options}
    parts = {"task": with_options(owner, values)}
    parts |= {part: make_part(part, names[part], usual, options) for part in CHOICES}
    parts |= {part: with_options(kind, values) for part, kind in FIXED.items()}
    _refuse_others(options, parts)
    return parts


def _refuse_others(options: Mapping[str, Any], parts: Mapping[str, Any]) -> None:
    """Refuses options of none of the parts."""
    for name in options.keys() - set(CHOICES).union(*map(options_of, parts.values())):
        raise InputError(_misplaced(f"{name} is {options[name]!r}", name, parts))


def to_json(config: TrainConfig) -> dict[str, Any]:
    """A configuration as plain data, part by part, without the folder it is stored in."""
    data: dict[str, Any] = {"format": FORMAT}
    for part, options in vars(config).items():
        data[part] = {} if part in FIXED else {IS: config.name_of(part)}
        data[part] |= {name: _plain(value) for name, value in options_of(options).items()}
    del data["run"]["out"]
    if config.factors == ALL:
        del data["factors"]
    return data


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(entry) for entry in value]
    return str(value) if isinstance(value, Path) else value


def by_name(data: Mapping[str, Any]) -> dict[str, Any]:
    """The options in a stored configuration by name, as no two parts have one of the same name."""
    options: dict[str, Any] = {}
    for part, values in data.items():
        if isinstance(values, dict):
            options |= {part if name == IS else name: x for name, x in values.items()}
        else:
            options[part] = values
    return options


def stored_task(options: Mapping[str, Any], folder: Path) -> "Task | None":
    """The task of a run folder with its copies of the user's files; None of tasks without files.

    The options are those of its config.json, by name.
    """
    kind = _tasks().get(str(options.get("task")))
    if kind is None or not kind.inputs:
        return None
    task: Task = with_options(kind, options).with_copies(folder)
    return task


def another_version(source: str | Path) -> InputError:
    """The error of a file of a run that is not of this version's one format."""
    return InputError(f"{source} was made by another version of pdai: train again")


def from_json(data: Mapping[str, Any], source: str) -> TrainConfig:
    """The configuration that `to_json` wrote.

    Raises InputError if the format is another one, or the options are not exactly those of the
    parts, or one has another type or breaks a rule.
    """
    if "solved_format" in data:
        raise InputError(
            f"{source} is of `pdai solve`, whose sampler is exact and was not trained: use sample, "
            "certify, plot or report, or train in another folder"
        )
    if data.get("format") != FORMAT:
        raise another_version(source)
    wanted = {"task", *CHOICES, *FIXED}
    try:
        _check_names(data.keys() - {"format"} | {"factors"}, wanted)
        return TrainConfig(**{part: _stored(part, data[part]) for part in wanted & data.keys()})
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def _stored(part: str, data: Any) -> Any:
    """The part that stored options make; raises InputError unless they are exactly its options."""
    values = dict(data) if isinstance(data, dict) else {}
    if part in FIXED:
        stored = with_options(FIXED[part], values)
    elif part == "task":
        stored = with_options(_task_class(values.pop(IS, None)), values)
    else:
        stored = make_part(part, values.pop(IS, None), NONE, values)
    _check_names(values.keys(), option_names(type(stored)) - {"out"})
    return stored


def _check_names(names: Set[str], wanted: Set[str]) -> None:
    odd = [*(f"no {name}" for name in sorted(wanted - names)), *sorted(names - wanted)]
    if odd:
        raise InputError(
            f"its options are not those of its parts ({', '.join(odd)}): restore the file, or "
            "train again"
        )


def usual_options(owner: "type[Task]", options: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults of a task, overridden by those of the chosen dynamics, loss and `p_B`."""
    usual = dict(owner.defaults)
    for part in ("dynamics", "loss", "p_b"):
        chosen = options.get(part, usual.get(part, CHOICES[part].usual))
        usual |= DEFAULTS.get(CHOICES[part].name_of(chosen) or "", {})
    return usual


def refuse_misplaced(names: Collection[str], parts: Mapping[str, Any]) -> None:
    """Refuses options of parts and tasks that are not chosen, by name; other names pass."""
    offered = (option_names(type(part)) for part in parts.values())
    for name in sorted(set(names).difference(*offered)):
        if any(_owners(kind, name) for kind in (*CHOICES.values(), _tasks())):
            raise InputError(_misplaced(name, name, parts))


def _owners(kinds: Mapping[str, type[Any]], option: str) -> list[str]:
    """The names of the parts that have an option."""
    return [name for name, kind in kinds.items() if option in option_names(kind)]


def _misplaced(shown: str, name: str, parts: Mapping[str, Any]) -> str:
    """The reason why an option is refused: another part has it, or none."""
    for part, kind in CHOICES.items():
        if owners := _owners(kind, name):
            flag = part.replace("_", "-")
            return (
                f"{shown} with {part} {name_of_part(part, parts[part])}, which has no such option: "
                f"it belongs to --{flag} {' or '.join(owners)}; choose that, or leave {name} out"
            )
    offered = (option_names(type(part)) for part in parts.values())
    meant = nearest(name, {*CHOICES}.union(*offered))
    if owners := _owners(_tasks(), name):
        task = parts["task"].name
        return f"{name} is an option of {' and '.join(owners)}, and not of {task}{meant}"
    return f"there is no option {name!r}{meant}"


def _task_class(name: Any) -> "type[Task]":
    tasks = _tasks()
    if not isinstance(name, str) or name not in tasks:
        names = f"{sorted(tasks)}{nearest(name, tasks)}"
        raise InputError(f"the task is {name!r}, but known are {names}")
    return tasks[name]


def _tasks() -> "Mapping[str, type[Task]]":
    # Imported here, as a training has its task, and needs no other.
    from fast.tasks import TASKS

    return TASKS
