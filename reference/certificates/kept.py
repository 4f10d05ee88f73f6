"""Draws that are kept in a folder, so that an interrupted certificate can be resumed."""

import io
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from reference.certificates.betting import Floats
from reference.certificates.features import Features, table
from reference.certificates.importance import Walks
from reference.certificates.walks import Sampler
from reference.errors import InputError
from reference.files import kind_of, load_arrays, parsed_json, read_file, replace_file, sha256
from reference.sources import digest_of

SEAL = "seal.json"
COLUMNS = ("log_p_f", "log_p_b", "log_reward", "error")


class KeptDraws(Sampler):
    """A sampler whose draws are kept in a folder, block by block.

    The random numbers of a block depend on the seed and its number alone, and a block is written
    whole or not at all. So after a kill the same numbers are drawn again, and no draw is selected
    by being lost. `seal.json` has the digests of the blocks and of all that they depend on; a block
    that it does not name is drawn again. The first block is always drawn again and compared, since
    a sampler is more than its source. For the end of a trajectory, the values of its features are
    kept.

    The sampler's attribute `rng` is set before each block; without features, ends are not needed.
    `of` has digests or numbers of all other inputs of the draws, by name; None is not compared.
    Raises InputError if the random numbers cannot be set, or the folder has other draws.
    """

    def __init__(
        self,
        sampler: Sampler,
        folder: Path,
        seed: int,
        features: Features | None = None,
        of: Mapping[str, str | int | None] = MappingProxyType({}),
    ):
        if not hasattr(sampler, "rng"):
            raise InputError(
                f"the draws of {type(sampler).__name__} cannot be kept, as it has no attribute rng "
                "(a numpy.random.Generator) to be set: leave --keep out"
            )
        self.sampler: Any = sampler
        self.folder, self.seed, self.features = folder, seed, features
        self._next = {"forward": 0, "backward": 0}
        folder.mkdir(parents=True, exist_ok=True)
        named = None if features is None else digest_of(features)
        self._of, self._blocks = self._sealed({**of, "seed": seed, "features": named})

    def draw(self, count: int, *, labels: bool = False) -> Walks:
        """Trajectories of `p_F`: those of the folder first; a call may return fewer than requested.

        The end of a trajectory is given as the pairs of each feature's name and value there. Raises
        InputError if ends are requested without features, or a block is damaged or another's.
        """
        if labels and self.features is None:
            raise InputError("of ends of trajectories, features alone are kept: say which")
        return self._block("forward", self._draw, count)

    def draw_backward(self, terminals: Sequence[Hashable]) -> Walks:
        """One trajectory `tau ~ p_B(. | x)` for each terminal state, kept as in `draw`."""

        def draw(count: int) -> Walks:
            return self.sampler.draw_backward(terminals[:count])._replace(terminals=())  # type: ignore[no-any-return]

        return self._block("backward", draw, len(terminals))

    def findings(self) -> Sequence[str]:
        """The remarks of the sampler."""
        return self.sampler.findings()  # type: ignore[no-any-return]

    def _sealed(self, of: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """The sources of the folder's draws, and the digests of its blocks, by name."""
        path = self.folder / SEAL
        if not kind_of(path) and not any(self.folder.glob("*ward-*.npz")):
            self._seal(of, {})
            return of, {}
        try:
            stored = parsed_json(read_file(path))
            before, blocks = dict(stored["of"]), dict(stored["blocks"])
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{str(path)!r} is missing or damaged, which names the source of the draws beside "
                "it: begin anew in another folder"
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

    def _draw(self, count: int) -> Walks:
        walks: Walks = self.sampler.draw(count, labels=self.features is not None)
        if self.features is None:
            return walks._replace(terminals=())
        return walks._replace(terminals=_pairs(*table(self.features, walks.terminals)))

    def _block(self, kind: str, draw: Callable[[int], Walks], count: int) -> Walks:
        number = self._next[kind]
        self._next[kind] += 1
        path = self.folder / f"{kind}-{number:05}.npz"
        digest = self._blocks.get(path.name)
        has_features = kind == "forward" and self.features is not None
        kept = None if digest is None else _read(path, digest, has_features)
        if kept is not None and number > 0:
            return kept
        self.sampler.rng = np.random.default_rng([self.seed, number, kind == "backward"])
        drawn = draw(count if kept is None else len(kept.log_p_f))
        if kept is None:
            content = _packed(drawn)
            replace_file(path, content)
            self._blocks[path.name] = sha256(content)
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


def _read(path: Path, digest: str, has_features: bool) -> Walks:
    if not kind_of(path) or sha256(read_file(path)) != digest:
        raise InputError(
            f"{str(path)!r} is not what was drawn here: bring it back, or begin anew in another "
            "folder"
        )
    terminals: Sequence[Hashable] = ()
    if has_features:
        names, values = load_arrays(path, "names", "features")
        terminals = _pairs(names.tolist(), values)
    return Walks(terminals, *load_arrays(path, *COLUMNS))
