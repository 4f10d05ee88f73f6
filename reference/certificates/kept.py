"""Draws that are kept in a folder, so that a certificate goes on where it was cut off."""

import io
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from reference.certificates.betting import Floats
from reference.certificates.features import Features, table
from reference.certificates.importance import Walks
from reference.certificates.walks import Sampler
from reference.errors import InputError
from reference.files import kind_of, load_arrays, replace_file

COLUMNS = ("log_p_f", "log_p_b", "log_reward", "error")


@runtime_checkable
class Seeded(Sampler, Protocol):
    """A sampler whose random numbers can be set.

    Attributes:
        rng: what it draws with.
    """

    rng: np.random.Generator


class KeptDraws:
    """A sampler whose draws are kept, block by block.

    Block i is drawn with random numbers that depend on the seed and i alone, and is written whole
    or not at all: what is drawn after a kill is what would have been drawn, so that nothing is
    chosen by being lost. The first block of a folder is drawn again and must be the same, or the
    sampler, its `p_B`, the problem, the features or the seed is another one. Of the end of a
    trajectory, which may be any object, the values of the features are kept.

    Args:
        sampler: what is drawn from.
        folder: where the blocks are; made if it does not exist.
        seed: of the draws.
        features: from a terminal state to numbers in [0, 1] by name; None where ends are not asked
            for.

    Raises:
        InputError: if the sampler's random numbers cannot be set.
    """

    def __init__(self, sampler: Sampler, folder: Path, seed: int, features: Features | None = None):
        if not isinstance(sampler, Seeded):
            raise InputError(
                f"the draws of {type(sampler).__name__} cannot be kept, as it has no attribute rng "
                "(a numpy.random.Generator) to be set: leave --keep out"
            )
        self.sampler: Seeded = sampler
        self.folder, self.seed, self.features = folder, seed, features
        self._next = {"forward": 0, "backward": 0}
        folder.mkdir(parents=True, exist_ok=True)

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """Trajectories of `p_F`: those of the folder first, which may be fewer than asked for.

        An end is told as the pairs of each feature's name and value there.

        Raises:
            InputError: if ends are asked for without features, or a block is damaged or another's.
        """
        if labels and self.features is None:
            raise InputError("of ends of trajectories, features alone are kept: say which")
        return self._block("forward", self._draw, count, self.features is not None)

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """Likewise, one trajectory `tau ~ p_B(. | x)` for each terminal state."""
        return self._block(
            "backward",
            lambda size: self.sampler.draw_backward(terminals[:size]),
            len(terminals),
            told=False,
        )

    def findings(self) -> Sequence[str]:
        """Those of the sampler."""
        return self.sampler.findings()

    def _draw(self, count: int) -> Walks:
        if self.features is None:
            return self.sampler.draw(count)
        drawn = self.sampler.draw(count, labels=True)
        return drawn._replace(terminals=_pairs(*table(self.features, drawn.terminals)))

    def _block(self, kind: str, draw: Callable[[int], Walks], count: int, told: bool) -> Walks:
        number = self._next[kind]
        self._next[kind] += 1
        path = self.folder / f"{kind}-{number:05}.npz"
        kept = _read(path, told) if kind_of(path) else None
        if kept is not None and number > 0:
            return kept
        self.sampler.rng = np.random.default_rng([self.seed, number, kind == "backward"])
        drawn = draw(count if kept is None else len(kept.log_p_f))
        if not told:
            drawn = drawn._replace(terminals=())
        if kept is None:
            _write(path, drawn)
        elif kept.terminals != drawn.terminals or not all(map(np.array_equal, kept[1:], drawn[1:])):
            raise InputError(
                f"{str(path)!r} is of another sampler, p_B, problem, seed or features, or of "
                "another machine: keep these draws in another folder"
            )
        return drawn


def _pairs(names: Sequence[str], values: Floats) -> tuple[Hashable, ...]:
    return tuple(tuple(zip(names, row, strict=True)) for row in values.tolist())


def _write(path: Path, walks: Walks) -> None:
    columns: dict[str, Any] = dict(zip(COLUMNS, walks[1:], strict=True))
    if walks.terminals:
        names, values = table(dict, walks.terminals)
        columns |= {"names": np.array(names), "features": values}
    buffer = io.BytesIO()
    np.savez(buffer, **columns)
    replace_file(path, buffer.getvalue())


def _read(path: Path, told: bool) -> Walks:
    try:
        columns = load_arrays(path, *COLUMNS)
        if len({(column.ndim, column.shape) for column in columns}) != 1:
            raise ValueError("its columns differ in length")
        log_p_f, log_p_b, log_reward, error = (c.astype(np.float64) for c in columns)
        terminals: Sequence[Hashable] = ()
        if told:
            names, values = load_arrays(path, "names", "features")
            if values.shape != (len(log_p_f), *names.shape):
                raise ValueError("its features differ in length")
            terminals = _pairs(names.tolist(), values)
    except ValueError as problem:
        raise InputError(
            f"{str(path)!r} holds no draws of this kind ({problem}): begin anew in another folder"
        ) from None
    return Walks(terminals, log_p_f, log_p_b, log_reward, error)
