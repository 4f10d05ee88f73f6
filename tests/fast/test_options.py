"""Options by name: what makes a configuration, and what is refused in which words."""

import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import fast
from fast.balance.losses import LogVariance
from fast.dynamics.cells import GRUOptions
from fast.parts import CHOICES, option_names
from fast.tasks import TASKS
from fast.training.compose import FIXED, FORMAT, IS, TrainConfig, configure, from_json, to_json
from reference import InputError, enumerate_dag
from tests.fast.test_matrix import SMALL
from tests.refusals import refuses

SHIPPED = [name for name in TASKS if name not in ("pho4", "qm9")]
# A task of the user's own has no default problem.
NEEDED: dict[str, dict[str, Any]] = {"custom": {"problem": "reference.problems:Grid.minimal"}}


def descendants(kind: type[Any]) -> set[type[Any]]:
    """A class and all that derive from it."""
    return {kind}.union(*map(descendants, kind.__subclasses__()))


@pytest.mark.parametrize("part", CHOICES)
def test_the_table_of_a_kind_has_every_part_of_the_package(part: str) -> None:
    for module in pkgutil.walk_packages(fast.__path__, "fast."):
        importlib.import_module(module.name)
    kind = CHOICES[part]
    module, _, base = kind.base.partition(":")
    every = descendants(getattr(importlib.import_module(f"fast.{module}"), base))
    named = [one for one in every if "name" in vars(one) and one.__module__.startswith("fast.")]
    targets = {one.name: f"{one.__module__}:{one.__qualname__}" for one in named}
    assert {name: f"fast.{entry.target}" for name, entry in kind.entries.items()} == targets
    assert [*kind] == sorted(kind)
    for name, entry in kind.entries.items():
        said = " ".join((inspect.getdoc(kind[name]) or "").split())
        assert re.match(re.escape(entry.summary) + "([.:;]|$)", said), name


@pytest.mark.parametrize("name", SHIPPED)
def test_configurations_survive_json(name: str) -> None:
    config = configure(name, **NEEDED.get(name, {}), seed=7)
    assert from_json(to_json(config), "config.json") == config


def stored(part: str, **changes: Any) -> dict[str, Any]:
    """The stored configuration of a run on Lines, with changes in one of its parts."""
    data = {
        **to_json(configure("lines")),
        "factors": {"parts": 1, "factors": [], "frozen": [], "warm": False},
    }
    return data | {part: {**data.get(part, {}), **changes}}


test_foreign_configurations_are_refused = refuses(
    lambda data: from_json(data, "config.json"),
    ({"format": 99}, "made by another version of pdai"),
    (stored("task", **{IS: "chess"}), "the task is 'chess', but known are"),
    (stored("colour"), r"not those of its parts \(colour\)"),
    (stored("loss", colour="red"), r"not those of its parts \(colour\)"),
    (stored("dynamics", heads=2), r"not those of its parts \(heads\)"),
    ({**stored("task"), "task": "lines"}, "the task is None, but known are"),
    (stored("task", **{IS: ["lines"]}), r"the task is \['lines'\], but known are"),
    (stored("optimiser", steps="100"), r"config\.json: OptimiserOptions: steps is '100', but"),
    (stored("task", peaks=None), r"config\.json: LinesTask: peaks is None, but must be a tuple"),
    (stored("factors", frozen=7), r"config\.json: Factors: frozen is 7, but must be a tuple"),
    (stored("factors", frozen=[7]), r"Factors: frozen\[0\] is 7, but must be a pathlib.Path"),
    (stored("run", seed="a"), r"config\.json: RunOptions: seed is 'a', but must be an integer"),
    (stored("dynamics", **{IS: "Markov"}), r"config\.json: dynamics is 'Markov', but must be"),
    (stored("dynamics", **{IS: 3}), r"config\.json: dynamics is 3, .* or a DynamicsOptions"),
    (stored("optimiser", steps=0), r"config\.json: steps is 0, but must be at least 1"),
    (stored("run", out="runs"), r"config\.json: its options are not those of its parts \(out\)"),
)


def test_a_configuration_without_some_options_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"not those of its parts \(no dynamics, no loss, .*no sampling"
    ):
        from_json({"format": FORMAT, "task": {IS: "lines"}, "run": {}}, "config.json")


test_impossible_options_and_those_of_another_type_are_refused = refuses(
    lambda options: configure(**{"task": "lines", "dynamics": "gru", **options}),
    ({"steps": 0}, "steps is 0, but must be at least 1"),
    (
        {"loss": "log_variance", "batch": 1},
        "batch is 1, but must be at least 2: log_variance compares trajectories",
    ),
    ({"batch": 0}, "batch is 0, but must be at least 1"),
    ({"loss": "subtb", "subtb_lambda": 0.0}, r"subtb_lambda is 0.0, but must lie in \(0, 1\]"),
    ({"loss": "subtb", "subtb_lambda": 1.5}, "subtb_lambda is 1.5"),
    ({"temperature": 0.0}, "temperature is 0.0, but must be positive"),
    ({"loss": "fm"}, "loss fm with dynamics gru: flow matching sums over all parents"),
    ({"dynamics": "markov", "p_b": "lifted"}, "there is no latent to read"),
    ({"p_b": "lifted", "replay": "reward"}, "a lifted p_b does not allow"),
    ({"dynamics": "markov", "loss": "fm", "p_b": "learned"}, "fm has no backward policy"),
    ({"replay": "uniform", "replay_share": 0.001}, "leave some of both"),
    ({"replay": "uniform", "replay_share": 1.0}, "must lie strictly between 0 and 1"),
    ({"replay": "uniform", "replay_capacity": 0}, "replay_capacity is 0, but must be at least"),
    ({"replay": "uniform", "replay_capacity": 63}, "is 63, but must hold the 64 new states"),
    ({"replay": "uniform", "replay_share": 0.1, "devices": 2}, "replay draws 13 of the 128 .*2"),
    ({"devices": 3}, "batch is 128, but must be a multiple of devices, 3"),
    ({"epsilon": 1.5}, "epsilon is 1.5, but must lie"),
    ({"loss": "tb", "log_z_learning_rate": 0.0}, "log_z_learning_rate is 0.0, but must be pos"),
    ({"task": "six6", "exponent": 0}, "exponent is 0"),
    ({"seed": -1}, "seed is -1 and seeds is 1, but all seeds must be at least 0 and below"),
    ({"seed": 2**31}, "seed is 2147483648 and seeds is 1, but all seeds must be"),
    ({"seed": 2**31 - 2, "seeds": 3}, "seed is 2147483646 and seeds is 3"),
    ({"task": "six6", "items": 5}, "items is an option of sets, and not of six6"),
    ({"colour": "red"}, "there is no option 'colour'"),
    ({"dynamic": "gru"}, "there is no option 'dynamic': did you mean dynamics?"),
    ({"task": "six6", "step": 9}, "is an option of lines, and not of six6: did you mean steps?"),
    ({"dynamics": "Markov"}, "dynamics is 'Markov', but must be one of .*'srwm'"),
    ({"peaks": (3, 5)}, r"peaks is \(3, 5\) with target laplaces, .* use the other target"),
    ({"target": "sparse", "length": 20, "target_seed": 4}, "target_seed is 4 with target spar"),
    ({"loss": "trajectory_balance"}, "loss is 'trajectory_balance', but must be one of 'db'"),
    ({"schedule": "linear"}, "schedule is 'linear', but must be one of 'cosine', 'constant'"),
    ({"replay": None}, "replay is None, but must be .* a NoReplay"),
    ({"p_b": "none"}, "p_b is 'none', but must be one of 'learned'"),
    ({"loss": GRUOptions()}, "loss is GRUOptions.*, but must be .* a Loss"),
    ({"loss": "reference.problems:Grid"}, "loss is .*Grid.*, but must be .* a Loss"),
    ({"loss": "nowhere:It"}, "'nowhere' cannot be imported"),
    ({"penalty": "cube"}, "penalty is 'cube', but must be one of 'square'"),
    ({"batch": 12.5}, "batch is 12.5, but must be an integer"),
    ({"seeds": True}, "seeds is True, but must be an integer"),
    ({"temperature": True}, "temperature is True, but must be a number"),
    ({"skip": 1}, "skip is 1, but must be True or False"),
    ({"peaks": 3}, r"peaks is 3, but must be a tuple"),
    ({"peaks": (2, 20.0)}, r"peaks\[1\] is 20.0, but must be an integer"),
    ({"frozen": (7,)}, r"frozen\[0\] is 7, but must be a pathlib.Path"),
    ({"out": 7}, "out is 7, but must be a pathlib.Path"),
)


def homeless() -> list[tuple[str, str, str, str]]:
    """Options that a part has by one name and not by another: part, option, owner, the other."""
    return [
        (part, option, owner, other)
        for part, known in CHOICES.items()
        for owner, kind in known.items()
        for option in sorted(option_names(kind))
        for other in known
        if option not in option_names(known[other])
    ]


def with_part(part: str, name: str, **options: Any) -> TrainConfig:
    """A configuration with a part of this name, and others that go with it."""
    if name == "fm":
        options["dynamics"] = "markov"
    return configure("graphs" if name.endswith("gcn") else "lines", **{part: name}, **options)


@pytest.mark.parametrize(("part", "option", "owner", "other"), homeless())
def test_an_option_of_a_part_that_is_not_chosen_is_refused(
    part: str, option: str, owner: str, other: str
) -> None:
    usual = getattr(getattr(with_part(part, owner), part), option)
    flag = part.replace("_", "-")
    message = (
        rf"{option} is {re.escape(repr(usual))} with {part} {other}, which has no such option: "
        rf"it belongs to --{flag} (.* or )?{owner}( or .*)?; choose that, or leave {option} out"
    )
    with pytest.raises(InputError, match=message):
        with_part(part, other, **{option: usual})
    # The control: each is accepted by itself, and they go together in the part that has them.
    assert with_part(part, other)
    assert with_part(part, owner, **{option: usual}) == with_part(part, owner)


def test_no_option_is_of_two_parts() -> None:
    assert len(homeless()) > 100
    parts = {part: [*known.values()] for part, known in CHOICES.items()}
    parts |= {"task": [*TASKS.values()]} | {part: [kind] for part, kind in FIXED.items()}
    names = {part: set().union(*map(option_names, kinds)) for part, kinds in parts.items()}
    every = [name for options in names.values() for name in options] + [*CHOICES, "task", "format"]
    assert len(every) == len(set(every))


def test_options_of_their_types_and_at_their_edges_are_accepted() -> None:
    config = configure(
        "lines", learning_rate=1, frozen=(Path("a"),), loss="log_variance", out=Path("b")
    )
    assert config.changed(seed=2**31 - 2, seeds=2, out=None).run.seeds == 2
    # What is only refused where it changes nothing.
    configure("lines", dynamics="srwm", heads=2, rotation="none", erase="after", penalty="huber")
    configure("lines", dynamics="rnn", activation="tanh", loss="subtb", subtb_lambda=0.5)


def test_a_problem_of_the_users_own_has_its_own_features() -> None:
    with pytest.raises(InputError, match=r"encoding is an option of .*lines.*, and not of custom"):
        configure("custom", problem="reference.problems:Grid.minimal", encoding="fourier")


def test_what_a_change_leaves_without_meaning_goes_with_its_part() -> None:
    options = {"dynamics": "srwm", "rotation": "none", "loss": "subtb", "subtb_lambda": 0.5}
    config = configure("lines", **options)
    assert config.changed(seed=3) == configure("lines", **options, seed=3)
    left = config.changed(dynamics="gru", loss="log_variance")
    assert left == configure("lines", dynamics="gru", loss="log_variance")
    with pytest.raises(InputError, match="rotation is 'haar' with dynamics gru"):
        left.changed(rotation="haar")


def test_a_part_that_is_given_as_an_object_is_what_it_is() -> None:
    # The defaults of Lines have other parameters than an object of its own.
    cell = GRUOptions(parameters=5_000, latent_size=8)
    config = configure("lines", dynamics=cell, loss=LogVariance())
    assert (config.dynamics, config.name_of("dynamics")) == (cell, "gru")
    assert configure("lines").dynamics.parameters == 10_000
    assert config == configure(
        "lines", dynamics="gru", parameters=5_000, latent_size=8, loss="log_variance"
    )
    # An option given beside it changes it, and those of other parts are refused as ever.
    assert configure("lines", dynamics=cell, skip=True).dynamics == dataclasses.replace(
        cell, skip=True
    )
    with pytest.raises(InputError, match="heads is 2 with dynamics gru, which has no such option"):
        configure("lines", dynamics=cell, heads=2)


@dataclasses.dataclass(frozen=True)
class Kindly(LogVariance):
    """A loss of the user's own, whose options have whatever names."""

    kind: str = "mild"
    part: int = 1


def test_an_option_of_the_users_own_has_any_name() -> None:
    config = configure("lines", loss=Kindly, kind="wild")
    assert (config.loss, config.name_of("loss")) == (Kindly(kind="wild"), f"{__name__}:Kindly")
    assert config.changed(part=2).loss == Kindly(kind="wild", part=2)
    assert option_names(Kindly) == {"kind", "part", "penalty"}


def test_tasks_can_be_taken_to_other_processes() -> None:
    kinds = list(TASKS.values())
    assert pickle.loads(pickle.dumps(kinds)) == kinds


@pytest.mark.parametrize("name", TASKS)
def test_the_size_of_a_problem_is_known_without_enumeration(name: str) -> None:
    small = {**SMALL, "bits": {"length": 8, "build": "prepend-append"}}
    if name in ("pho4", "qm9", "custom", "six6"):
        pytest.skip("no table to enumerate, no size known beforehand, or enumerated elsewhere")
    config = configure(name, **small.get(name, {}))
    states = len(enumerate_dag(config.problem()).labels)
    assert states <= config.task.states() <= 2 * states
