"""Draws that are kept in a folder, so that a certificate goes on where it was cut off."""

import io
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

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
    sampler, its `p_B`, the problem or the seed is another one.

    Args:
        sampler: what is drawn from.
        folder: where the blocks are; made if it does not exist.
        seed: of the draws.

    Raises:
        InputError: if the sampler's random numbers cannot be set.
    """

    def __init__(self, sampler: Sampler, folder: Path, seed: int):
        if not isinstance(sampler, Seeded):
            raise InputError(
                f"the draws of {type(sampler).__name__} cannot be kept, as it has no attribute rng "
                "(a numpy.random.Generator) to be set: leave --keep out"
            )
        self.sampler: Seeded = sampler
        self.folder, self.seed = folder, seed
        self._next = {"forward": 0, "backward": 0}
        folder.mkdir(parents=True, exist_ok=True)

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """Trajectories of `p_F`: those of the folder first, which may be fewer than asked for.

        Raises:
            InputError: if their ends are asked for, which are not kept, or a block is damaged.
        """
        if labels:
            raise InputError("ends of trajectories are not kept: leave out --features, or --keep")
        return self._block("forward", lambda size: self.sampler.draw(size), count)

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """Likewise, one trajectory `tau ~ p_B(. | x)` for each terminal state."""
        return self._block(
            "backward",
            lambda size: self.sampler.draw_backward(terminals[:size]),
            len(terminals),
        )

    def findings(self) -> Sequence[str]:
        """Those of the sampler."""
        return self.sampler.findings()

    def _block(self, kind: str, draw: Callable[[int], Walks], count: int) -> Walks:
        number = self._next[kind]
        self._next[kind] += 1
        path = self.folder / f"{kind}-{number:05}.npz"
        kept = self._read(path) if kind_of(path) else None
        if kept is not None and number > 0:
            return kept
        self.sampler.rng = np.random.default_rng([self.seed, number, kind == "backward"])
        drawn = draw(count if kept is None else len(kept.log_p_f))
        if kept is None:
            buffer = io.BytesIO()
            np.savez(buffer, **{name: getattr(drawn, name) for name in COLUMNS})
            replace_file(path, buffer.getvalue())
        elif not all(np.array_equal(getattr(kept, c), getattr(drawn, c)) for c in COLUMNS):
            raise InputError(
                f"{str(path)!r} is of another sampler, p_B, problem or seed, or of another "
                "machine: keep these draws in another folder"
            )
        return drawn

    def _read(self, path: Path) -> Walks:
        try:
            columns = load_arrays(path, *COLUMNS)
            if len({(column.ndim, column.shape) for column in columns}) != 1:
                raise ValueError("its columns differ in length")
            log_p_f, log_p_b, log_reward, error = (c.astype(np.float64) for c in columns)
        except ValueError as problem:
            raise InputError(
                f"{str(path)!r} holds no draws ({problem}): begin anew in another folder"
            ) from None
        return Walks((), log_p_f, log_p_b, log_reward, error)
