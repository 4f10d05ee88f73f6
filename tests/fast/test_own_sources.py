"""Runs of one's own parts: whatever their source consists of is what it was when they began."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pdai
from fast.runs.audit import audit
from fast.runs.display import SILENT
from fast.runs.folder import is_markovian, load_config
from fast.runs.frozen import arithmetic
from fast.runs.identity import changed_parts
from fast.runs.job import complete, load_run, resume
from fast.runs.records import SEAL, read_json
from pdai.certifying.options import CertifyOptions
from pdai.certifying.runs import RunSource
from pdai.run import Run
from pdai.show.plotting import figure_of
from reference.errors import InputError
from reference.loading import as_problem
from tests.command_lines import answer

PROJECT = {
    "own_pack/__init__.py": "",
    "own_pack/net.py": """
import importlib

import jax
import jax.numpy as jnp
import own_library

from fast.dynamics.markov import Markov

from .base import Base
from .helpers import squash

SLOPE = own_library.SLOPE
named = importlib.import_module("own_pack.named")


def gated(x):
    return jax.nn.sigmoid(SLOPE * x)


class Net(Base):
    def update(self, latent, projected):
        gate, candidate = jnp.split(projected, 2, axis=-1)
        return latent + gated(gate) * (squash(candidate) - latent)


def plain(features, size, *, key):
    return Markov(output=features)
""",
    "own_pack/base.py": """
from examples.min_gru import MinGRU


class Base(MinGRU):
    def visible(self, latent):
        return 1.0 * latent
""",
    "own_pack/helpers.py": """
def squash(x):
    from own_pack.constants import RATE

    return RATE * x
""",
    "own_pack/constants.py": "RATE = 1.0\n",
    "own_loss.py": """
from dataclasses import dataclass

import jax.numpy as jnp

from fast.balance.loss import RatioLoss

POWER = 2.0


class Even(RatioLoss):
    def penalty(self, x):
        return jnp.abs(x) ** POWER


@dataclass(frozen=True)
class Power(Even):
    def of_ratios(self, ratios, key):
        return self.penalty(ratios - ratios.mean()).mean()
""",
    "own_world.py": """
from examples.subsets import Subsets, SubsetsProblem

BONUS = 0.5


class World(Subsets):
    def log_reward(self, state):
        return super().log_reward(state) + BONUS


class Problem(SubsetsProblem):
    def log_reward(self, terminal):
        return super().log_reward(terminal) + BONUS
""",
    "own_pack/named.py": "UNUSED = 1\n",
    "aside.py": "UNUSED = 1\n",
    "library/own_library.py": "SLOPE = 1.0\n",
}
OWN: dict[str, Any] = {
    "problem": "own_world:Problem",
    "environment": "own_world:World",
    "dynamics": "own_pack.net:Net",
    "loss": "own_loss:Power",
    "latent_size": 4,
}
TINY: dict[str, Any] = {"steps": 100, "batch": 8, "evaluations": 1, "display": SILENT}
# The kind of what is edited: the file, what is in it, what comes there, the part it is of.
EDITS: dict[str, tuple[str, str, str, str]] = {
    "body of a method": ("own_pack/net.py", "latent + gated", "latent - gated", "dynamics"),
    "function of the module": ("own_pack/net.py", "sigmoid", "relu", "dynamics"),
    "constant of the module": ("own_pack/net.py", "SLOPE = own", "SLOPE = 2 * own", "dynamics"),
    "base class elsewhere": ("own_pack/base.py", "1.0 *", "2.0 *", "dynamics"),
    "function elsewhere": ("own_pack/helpers.py", "RATE * x", "RATE + x", "dynamics"),
    "constant two modules away": ("own_pack/constants.py", "1.0", "2.0", "dynamics"),
    "library in another folder": ("library/own_library.py", "1.0", "2.0", "dynamics"),
    "module imported by its name": ("own_pack/named.py", "1", "2", "dynamics"),
    "package": ("own_pack/__init__.py", "", "import jax", "dynamics"),
    "constant of a loss": ("own_loss.py", "2.0", "3.0", "loss"),
    "base class of a loss": ("own_loss.py", "jnp.abs(x)", "jnp.abs(2 * x)", "loss"),
    "rewards of an environment and its problem": (
        "own_world.py", "BONUS = 0.5", "BONUS = 1.5", r"problem own_world:Problem.*environment"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A user's folder with a run of parts of their own, in the working directory."""
    folder = tmp_path_factory.mktemp("project")
    for name, text in PROJECT.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.syspath_prepend(folder)
        patched.syspath_prepend(folder / "library")
        pdai.train(out=folder / "run", **OWN, **TINY)
        yield folder


@pytest.fixture
def edit(project: Path) -> Iterator[Callable[[str], str]]:
    """Makes an edit of the project, which is undone after the test; tells what is refused."""
    whole = {name: (project / name).read_bytes() for name in PROJECT}

    def make(kind: str) -> str:
        name, before, after, part = EDITS[kind]
        text = (project / name).read_text()
        assert before in text
        (project / name).write_text(text.replace(before, after) if before else after)
        file = name.removeprefix("library/")
        return rf"changed since the run '.*run' began: .*{part} .*\(.*{file}.*\).*accept_changed"

    yield make
    for name, content in whole.items():
        (project / name).write_bytes(content)


@pytest.mark.parametrize("kind", EDITS)
def test_a_run_whose_source_was_edited_is_not_loaded(
    kind: str, edit: Callable[[str], str], project: Path
) -> None:
    message = edit(kind)
    with pytest.raises(InputError, match=message):
        pdai.load(project / "run")


LOOKS: dict[str, Callable[[Path], Any]] = {
    "audit": audit,
    "certify": pdai.certify,
    "sample": lambda run: Run(run).sample(2),
    "sample exactly": lambda run: RunSource(Run(run), CertifyOptions()).target_draws(2),
    "resume": resume,
    "complete": lambda run: complete(pdai.load(run, accept_changed=True).config),
    "page": lambda run: pdai.report(run, run.parent / "page.html"),
    "frozen": lambda run: pdai.train(
        frozen=(run,), out=run.parent / "combined", **{**OWN, **TINY, "loss": "log_variance"}
    ),
}


@pytest.mark.parametrize("name", LOOKS)
def test_whatever_asks_the_sampler_of_an_edited_run_refuses(
    name: str, edit: Callable[[str], str], project: Path
) -> None:
    message = edit("constant two modules away")
    with pytest.raises(InputError, match=message):
        LOOKS[name](project / "run")
    assert not (project / "combined").exists()


def test_no_run_is_trained_with_modules_that_were_edited_since_they_were_imported(
    edit: Callable[[str], str], project: Path
) -> None:
    edit("function elsewhere")
    with pytest.raises(InputError, match=r"own_pack/helpers.py, of the dynamics .*was edited sin"):
        pdai.train(out=project / "late", **OWN, **TINY)
    assert not (project / "late").exists()


def test_control_what_a_run_does_not_import_may_change_and_what_is_stored_is_shown(
    edit: Callable[[str], str], project: Path
) -> None:
    (project / "aside.py").write_text("UNUSED = 2\n")
    assert len(pdai.load(project / "run").sample(2).states) == 2
    edit("constant of a loss")
    figure_of([project / "run"])
    pdai.report(project / "run", project / "page.html", seconds=None)


def test_an_edit_that_is_accepted_is_said_in_whatever_is_printed(
    edit: Callable[[str], str], project: Path, tmp_path: Path
) -> None:
    edit("constant of a loss")
    part = "loss own_loss:Power (own_loss.py)"
    unfinished = Path(shutil.copytree(project / "run", tmp_path / "cut"))
    (unfinished / SEAL).unlink()
    for command in (
        ["audit", "run"],
        ["certify", "run"],
        ["sample", "run"],
        ["train", "--resume", str(unfinished)],
        ["report", "run"],
    ):
        done = answer(*command, "--accept-changed", cwd=project)
        assert f"{part}; what follows is of the code as it is now" in done.stderr
    notes = pdai.certify(pdai.load(project / "run", accept_changed=True)).notes
    assert f"the code has changed since the run, and is used as it is: {part}" in notes
    assert part in (project / "report.html").read_text()


def test_parameters_that_no_longer_fit_name_the_module_that_changed(
    edit: Callable[[str], str], project: Path
) -> None:
    edit("body of a method")
    config = load_config(project / "run", accept_changed=True).changed(latent_size=5)
    with (
        arithmetic(config.run.precision),
        pytest.raises(
            InputError,
            match=r"does not fit its config.json .* changed was dynamics own_pack.net:Net",
        ),
    ):
        load_run(config)


def test_what_a_network_says_of_itself_is_recorded_and_drawn(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = {**OWN, "dynamics": "own_pack.net:plain"}
    run = pdai.train(out=project / "plain", **plain, **TINY)
    for folder, said in ((run.folder, True), (project / "run", False)):
        assert read_json(folder / "meta.json")["is_markovian"] is said
        assert is_markovian(folder) is said
        title = figure_of([folder]).axes[0].get_title()
        assert title.partition(":")[0] == ("Markovian" if said else "path-dependent")


def test_an_object_of_another_processs_script_is_named_and_not_called_changed(
    tmp_path: Path,
) -> None:
    own = {"problem": {"name": "__main__:Beads", "files": {"beads.py": "0" * 64}}}
    (tmp_path / "meta.json").write_text(json.dumps({"own": own}))
    assert changed_parts(tmp_path) == []
    with pytest.raises(InputError, match="'__main__:Beads' was defined in a script, which another"):
        as_problem("__main__:Beads")
