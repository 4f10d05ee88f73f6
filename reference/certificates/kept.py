"""Draws that are kept in a folder, so that a certificate goes on where it was cut off."""

import hashlib
import io
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np

from reference.certificates.betting import Floats
from reference.certificates.features import Features, table
from reference.certificates.importance import Walks
from reference.certificates.walks import Sampler
from reference.errors import InputError
from reference.files import kind_of, load_arrays, parsed_json, read_file, replace_file
from reference.sources import digest_of

SEAL = "seal.json"
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
    chosen by being lost. A seal, `seal.json`, says what the blocks were drawn from and has the
    digest of each; a block that it does not name is drawn again. So is the first one, which must be
    the same, as not all of a sampler is in its source. Of the end of a trajectory, which may be any
    object, the values of the features are kept.

    Args:
        sampler: what is drawn from.
        folder: where the blocks are; made if it does not exist.
        seed: of the draws.
        features: from a terminal state to numbers in [0, 1] by name; None where ends are not asked
            for.
        of: what else the draws depend on, by name, as digests or numbers; None for what may be
            any.

    Raises:
        InputError: if the sampler's random numbers cannot be set, or the folder has draws of
            something else.
    """

    def __init__(
        self,
        sampler: Sampler,
        folder: Path,
        seed: int,
        features: Features | None = None,
        of: Mapping[str, str | int | None] = MappingProxyType({}),
    ):
        if not isinstance(sampler, Seeded):
            raise InputError(
                f"the draws of {type(sampler).__name__} cannot be kept, as it has no attribute rng "
                "(a numpy.random.Generator) to be set: leave --keep out"
            )
        self.sampler: Seeded = sampler
        self.folder, self.seed, self.features = folder, seed, features
        self._next = {"forward": 0, "backward": 0}
        folder.mkdir(parents=True, exist_ok=True)
        named = None if features is None else digest_of(features)
        self._of, self._blocks = self._sealed({**of, "seed": seed, "features": named})

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

    def _sealed(self, of: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """What the folder's draws are of, and the digests of its blocks."""
        path = self.folder / SEAL
        if not kind_of(path) and not any(self.folder.glob("*ward-*.npz")):
            self._seal(of, {})
            return of, {}
        try:
            stored = parsed_json(read_file(path))
            before, blocks = dict(stored["of"]), dict(stored["blocks"])
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{str(path)!r} is missing or damaged, which says what the draws beside it are of: "
                "begin anew in another folder"
            ) from None
        for name, value in of.items():
            if value is not None and before.get(name) != value:
                raise InputError(
                    f"{str(self.folder)!r} holds draws that differ in {name}: keep these in "
                    "another folder"
                )
        return before, blocks

    def _seal(self, of: dict[str, Any], blocks: dict[str, str]) -> None:
        content = json.dumps({"of": of, "blocks": blocks}, indent=1)
        replace_file(self.folder / SEAL, content.encode())

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
        digest = self._blocks.get(path.name)
        kept = None if digest is None else _read(path, digest, told)
        if kept is not None and number > 0:
            return kept
        self.sampler.rng = np.random.default_rng([self.seed, number, kind == "backward"])
        drawn = draw(count if kept is None else len(kept.log_p_f))
        if not told:
            drawn = drawn._replace(terminals=())
        if kept is None:
            content = _packed(drawn)
            replace_file(path, content)
            self._blocks[path.name] = hashlib.sha256(content).hexdigest()
            self._seal(self._of, self._blocks)
        elif kept.terminals != drawn.terminals or not all(map(np.array_equal, kept[1:], drawn[1:])):
            raise InputError(
                f"{str(path)!r} is of another sampler, p_B, problem or features, or of another "
                "machine: keep these draws in another folder"
            )
        return drawn


def _pairs(names: Sequence[str], values: Floats) -> tuple[Hashable, ...]:
    return tuple(tuple(zip(names, row, strict=True)) for row in values.tolist())


def _packed(walks: Walks) -> bytes:
    columns: dict[str, Any] = dict(zip(COLUMNS, walks[1:], strict=True))
    if walks.terminals:
        names, values = table(dict, walks.terminals)
        columns |= {"names": np.array(names), "features": values}
    buffer = io.BytesIO()
    np.savez(buffer, **columns)
    return buffer.getvalue()


def _read(path: Path, digest: str, told: bool) -> Walks:
    if not kind_of(path) or hashlib.sha256(read_file(path)).hexdigest() != digest:
        raise InputError(
            f"{str(path)!r} is not what was drawn here: bring it back, or begin anew in another "
            "folder"
        )
    log_p_f, log_p_b, log_reward, error = load_arrays(path, *COLUMNS)
    terminals: Sequence[Hashable] = ()
    if told:
        names, values = load_arrays(path, "names", "features")
        terminals = _pairs(names.tolist(), values)
    return Walks(terminals, log_p_f, log_p_b, log_reward, error)
