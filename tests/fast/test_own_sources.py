"""Runs of one's own parts: the file of each is what it was when the run began."""

import importlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import pdai
from fast.runs.display import SILENT
from fast.runs.folder import is_markovian, load_config
from fast.runs.frozen import arithmetic, load_trained
from fast.runs.identity import changed_parts
from fast.runs.job import complete, resume, train
from fast.runs.records import SEAL, read_json
from pdai.certifying.target import Target
from pdai.certifying.trained import RunSource
from pdai.run import Run
from pdai.show.plotting import figure_of
from reference.contract.errors import InputError
from reference.problems.members import as_problem
from tests.command_lines import answer
from tests.made_up_runs import tiny_run

FILES = {
    "own_pack/__init__.py": "",
    "own_pack/net.py": """
from fast.dynamics.markov import Markov

from .base import Base

SLOPE = 1.0


class Net(Base):
    def visible(self, latent):
        return SLOPE * super().visible(latent)


def plain(features, size, *, key):
    return Markov(output=features)
""",
    "own_pack/base.py": """
from examples.min_gru import MinGRU


class Base(MinGRU):
    pass
""",
    "own_loss.py": """
from dataclasses import dataclass

import jax.numpy as jnp

from fast.balance.loss import RatioLoss

POWER = 2.0


@dataclass(frozen=True)
class Power(RatioLoss):
    def of_ratios(self, ratios, key):
        return (jnp.abs(ratios - ratios.mean()) ** POWER).mean()
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
}
OWN: dict[str, Any] = {
    "problem": "own_world:Problem",
    "environment": "own_world:World",
    "dynamics": "own_pack.net:Net",
    "loss": "own_loss:Power",
    "latent_size": 4,
}
TINY: dict[str, Any] = {"steps": 100, "batch": 8, "evaluations": 1, "display": SILENT}
# Of each part: its file, what is in it, what comes there, and the words for the part.
EDITS: dict[str, tuple[str, str, str, str]] = {
    "network": ("own_pack/net.py", "SLOPE = 1", "SLOPE = 2", "dynamics"),
    "loss": ("own_loss.py", "POWER = 2", "POWER = 3", "loss"),
    "world": ("own_world.py", "= 0.5", "= 1.5", r"problem own_world:Problem.*environment"),
}


class Project:
    """The project, written to a folder and importable from there, with a run of its parts."""

    def __init__(self, folder: Path):
        self.folder, self.run = folder, folder / "run"
        for name, text in FILES.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
        sys.path.insert(0, str(folder))
        # Another project of this process may have been imported.
        for name in [name for name in sys.modules if name.startswith("own_")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        pdai.train(out=self.run, **OWN, **TINY)

    @contextmanager
    def edited(self, part: str) -> Iterator[str]:
        """Makes an edit, undone at the end; yields how a run from before it is refused."""
        name, before, after, words = EDITS[part]
        path = self.folder / name
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))
        try:
            yield rf"changed since the run '.*run' began: .*{words} .*\(.*{name}.*\).*accept_ch"
        finally:
            path.write_text(text)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """A user's folder with a run of parts of their own, in the working directory."""
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setattr("sys.path", [*sys.path])
        yield Project(folder)


@pytest.mark.catches(
    "The file of a part as it is now is not compared, but what this process imported.",
    "fast/runs/identity.py",
    "for digest in (source.now, source.imported)):",
    "for digest in (source.imported,)):",
)
@pytest.mark.parametrize("part", EDITS)
def test_a_run_whose_source_was_edited_is_not_loaded(part: str, project: Project) -> None:
    with project.edited(part) as message, pytest.raises(InputError, match=message):
        pdai.load(project.run)


def exactly(run: Run) -> Any:
    return RunSource(run, Target(run.problem, 100_000, 60.0)).target_draws(2)


LOOKS: dict[str, Callable[[Path], Any]] = {
    "certify": pdai.certify,
    "sample": lambda run: Run(run).sample(2),
    "sample exactly": lambda run: exactly(Run(run)),
    "resume": resume,
    "complete": lambda run: complete(pdai.load(run, accept_changed=True).config),
    "page": lambda run: pdai.report(run, run.parent / "page.html"),
    "frozen": lambda run: pdai.train(
        frozen=(run,), out=run.parent / "combined", **{**OWN, **TINY, "loss": "log_variance"}
    ),
}


@pytest.mark.parametrize("name", LOOKS)
def test_whatever_asks_the_sampler_of_an_edited_run_refuses(name: str, project: Project) -> None:
    edit = project.edited("network")
    with edit as message, pytest.raises(InputError, match=message):
        LOOKS[name](project.run)
    assert not (project.folder / "combined").exists()


@pytest.mark.catches(
    "A run records the file of a part that was edited since it was imported.",
    "fast/runs/identity.py",
    "if source.imported != source.now:",
    "if not source.now:",
)
def test_no_run_is_trained_with_modules_that_were_edited_since_they_were_imported(
    project: Project,
) -> None:
    message = r"own_pack/net.py, of the dynamics .*was edited sin"
    with project.edited("network"), pytest.raises(InputError, match=message):
        pdai.train(out=project.folder / "late", **OWN, **TINY)
    assert not (project.folder / "late").exists()


def test_control_other_files_may_change_and_what_is_stored_is_shown(project: Project) -> None:
    imported = project.folder / "own_pack" / "base.py"
    imported.write_text(imported.read_text() + "\nUNUSED = 2\n")
    assert len(pdai.load(project.run).sample(2).states) == 2
    with project.edited("loss"):
        figure_of([project.run])
        pdai.report(project.run, project.folder / "page.html", seconds=None)


def test_an_edit_that_is_accepted_is_said_in_whatever_is_printed(
    project: Project, tmp_path: Path
) -> None:
    part = "loss own_loss:Power (own_loss.py)"
    unfinished = Path(shutil.copytree(project.run, tmp_path / "cut"))
    (unfinished / SEAL).unlink()
    with project.edited("loss"):
        for line in ("certify run", "sample run", f"train --resume {unfinished}",
                     "report run"):  # fmt: skip
            done = answer(*line.split(), "--accept-changed", cwd=project.folder)
            assert f"{part}; what follows is of the code as it is now" in done.stderr
        notes = pdai.certify(pdai.load(project.run, accept_changed=True)).notes
    assert f"the code has changed since the run, and is used as it is: {part}" in notes
    assert part in (project.folder / "report.html").read_text()


def test_parameters_that_no_longer_fit_name_the_module_that_changed(project: Project) -> None:
    message = r"does not fit its config.json .* changed was dynamics own_pack.net:Net"
    with project.edited("network"):
        config = load_config(project.run, accept_changed=True).changed(latent_size=5)
        with arithmetic(config.run.precision), pytest.raises(InputError, match=message):
            load_trained(config)


def test_what_a_network_says_of_itself_is_recorded_and_drawn(project: Project) -> None:
    plain, _ = train(tiny_run(project.folder / "plain", dynamics="own_pack.net:plain"))
    for folder, said in ((plain, True), (project.run, False)):
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
    away = {"name": "not_here:Beads", "files": {"not_here.py": "0" * 64}}
    (tmp_path / "meta.json").write_text(json.dumps({"own": {"problem": away}}))
    (said,) = changed_parts(tmp_path)
    assert "not_here.py is not here: run from the folder that holds it" in said
    with pytest.raises(InputError, match="'__main__:Beads' was defined in a script, which another"):
        as_problem("__main__:Beads")
