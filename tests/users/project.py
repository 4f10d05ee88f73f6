"""A user's folder of modules with a problem, an environment, a network and a loss of their own."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pdai
from fast.runs.display import SILENT

FILES = {
    "own_pack/__init__.py": "",
    "own_pack/net.py": """
import jax
import jax.numpy as jnp

from fast.dynamics.markov import Markov

from .base import Base

SLOPE = 1.0


def gated(x):
    return jax.nn.sigmoid(SLOPE * x)


class Net(Base):
    def update(self, latent, projected):
        gate, candidate = jnp.split(projected, 2, axis=-1)
        return latent + gated(gate) * (candidate - latent)


def plain(features, size, *, key):
    return Markov(output=features)
""",
    "own_pack/base.py": """
from examples.min_gru import MinGRU


class Base(MinGRU):
    def visible(self, latent):
        return 1.0 * latent
""",
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
    "constant of the module": ("own_pack/net.py", "SLOPE = 1", "SLOPE = 2", "dynamics"),
    "constant of a loss": ("own_loss.py", "2.0", "3.0", "loss"),
    "base class of a loss": ("own_loss.py", "jnp.abs(x)", "jnp.abs(2 * x)", "loss"),
    "rewards of an environment and its problem": (
        "own_world.py", "BONUS = 0.5", "BONUS = 1.5", r"problem own_world:Problem.*environment"
    ),
}  # fmt: skip


class Project:
    """The project, written to a folder and importable from there.

    Attributes:
        folder: where it is.
        run: the folder of a run of its parts, after `trained`.
    """

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

    def trained(self) -> "Project":
        """The project with its run."""
        pdai.train(out=self.run, **OWN, **TINY)
        return self

    @contextmanager
    def edited(self, kind: str) -> Iterator[str]:
        """Makes an edit, undone at the end; yields how a run from before it is refused."""
        name, before, after, part = EDITS[kind]
        path = self.folder / name
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after))
        try:
            yield rf"changed since the run '.*run' began: .*{part} .*\(.*{name}.*\).*accept_changed"
        finally:
            path.write_text(text)
