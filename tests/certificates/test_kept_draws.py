"""Draws that are kept: a certificate that was cut off comes out as if it had not been."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pdai
from pdai.certifying.certify import source_of
from pdai.certifying.options import CertifyOptions
from reference import InputError
from reference.certificates import kept as module
from reference.certificates import regimes
from reference.certificates.kept import KeptDraws
from reference.problems import Grid
from tests.certificates.problems import GRID, stopping, uniform
from tests.refusals import refused

BLOCK = 512
SAMPLES = 3 * BLOCK
POLICY = stopping(0.4)


@pytest.fixture(scope="module", autouse=True)
def small_blocks() -> Iterator[None]:
    """What is kept does not depend on the size of a block."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(regimes, "BLOCK", BLOCK)
        patched.setattr(regimes, "PILOT", BLOCK)
        yield


def certified(
    folder: Path | None, sampler: Any = POLICY, problem: Any = GRID, **options: Any
) -> Any:
    asked = {"regime": "Z", "samples": SAMPLES, "width": 0.0, **options}
    return pdai.certify(sampler, problem, keep=folder, **asked).to_json()


def leaning(share: float) -> Any:
    """A p_B whose numbers are no part of its source: of two samplers, p_F draws the same."""

    def p_b(state: Any) -> list[float]:
        if state.stopped or sum(map(bool, state.coordinates)) == 1:
            return [1.0]
        return [share, 1 - share]

    return p_b


def scaled(by: int) -> Any:
    """Features whose scale is no part of their source."""
    return lambda x: {"first": x.coordinates[0] / (2 * by)}


class Another(Grid):
    """A problem of another name."""


def where(x: Any) -> dict[str, float]:
    return {"first": x.coordinates[0] / 2, "origin": float(x.coordinates == (0, 0))}


class CutError(Exception):
    """Stands for a kill."""


@pytest.mark.catches(
    "After a kill, blocks are drawn with the random numbers of the first ones.",
    "reference/certificates/kept.py",
    'self.sampler.rng = np.random.default_rng([self.seed, number, kind == "backward"])',
    "pass",
    only="Z-None-2",
)
@pytest.mark.long
@pytest.mark.parametrize(
    ("regime", "features", "block"),
    [
        *(("Z", None, 0), ("Z", None, 2), ("Z", where, 1), ("N", None, 1)),
        *(("S", None, block) for block in range(3)),
    ],
)
def test_a_certificate_that_is_cut_off_goes_on_to_the_same_numbers(
    regime: str, features: Any, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"regime": regime, "features": features}
    whole = certified(tmp_path / "whole", **asked)
    write, cut_off = module.replace_file, tmp_path / "cut"

    def blocks_after(writes: int) -> int:
        """Cuts off after so many writes; tells how many blocks are there."""
        written = []

        def cut(path: Path, content: bytes) -> None:
            if len(written) == writes:
                raise CutError
            written.append(path)
            write(path, content)

        with monkeypatch.context() as patched:
            patched.setattr(module, "replace_file", cut)
            with pytest.raises(CutError):
                certified(cut_off, **asked)
        return len(list(cut_off.glob("*.npz")))

    # The seal is written before all blocks and after each; then between a block and its seal.
    assert blocks_after(1 + 2 * block) == block
    assert blocks_after(1) == block + 1
    # And once more, from what is kept alone.
    assert certified(cut_off, **asked) == certified(cut_off, **asked) == whole


@pytest.mark.catches(
    "All blocks of kept draws are drawn with the same random numbers.",
    "reference/certificates/kept.py",
    'default_rng([self.seed, number, kind == "backward"])',
    'default_rng([self.seed, 0, kind == "backward"])',
)
@pytest.mark.parametrize(("regime", "blocks"), [("Z", 3), ("N", 4)])
def test_more_samples_are_added_to_those_kept(regime: str, blocks: int, tmp_path: Path) -> None:
    few, more = (certified(tmp_path, regime=regime, samples=n) for n in (BLOCK, SAMPLES))
    assert (few["samples"], more["samples"]) == (BLOCK, SAMPLES)
    assert few["interval"][0] < more["interval"][0]
    assert more == certified(tmp_path / "at once", regime=regime)
    names = [f"forward-{i:05}.npz" for i in range(blocks)]
    assert sorted(path.name for path in tmp_path.glob("*.npz")) == names
    first, second = (np.load(tmp_path / name)["log_p_f"] for name in names[:2])
    assert not np.array_equal(first, second)


TARGET = GRID.sample(1_000, 0)
OTHERS: dict[str, dict[str, Any]] = {
    "seed": {"seed": 1},
    "tighten": {"tighten": 3},
    "p_B": {"p_b": lambda state: []},
    "sampler": {"sampler": uniform(GRID)},
    "problem": {"problem": Another(3, 2)},
    "target": {"target": [*TARGET[:-1], TARGET[0]]},
}


def test_control_draws_of_other_inputs_are_refused(tmp_path: Path) -> None:
    asked = {"regime": "S", "samples": BLOCK, "target": TARGET}
    certified(tmp_path, **asked)
    for name, other in OTHERS.items():
        with pytest.raises(InputError, match=f"holds draws that differ in {name}: keep these in"):
            certified(tmp_path, **(asked | other))


@pytest.mark.catches(
    "Features that were kept are not compared with those that are drawn again.",
    "reference/certificates/kept.py",
    "elif kept.terminals != drawn.terminals or not all",
    "elif not all",
)
def test_control_features_that_were_not_kept_or_are_others_are_refused(tmp_path: Path) -> None:
    def of(folder: str, features: Any = None) -> Any:
        return certified(tmp_path / folder, features=features, samples=BLOCK)

    kept = of("with", where)
    plain = certified(None, features=where, samples=BLOCK)
    assert [line["name"] for line in kept["lines"]] == [line["name"] for line in plain["lines"]]
    assert any(line["name"] == "origin: sampler" for line in kept["lines"])
    refused("differ in features", lambda: of("with", lambda x: {**where(x), "origin": 0.5}))
    of("closures", scaled(1))
    refused(r"forward-00000.npz' is of another .* or features", lambda: of("closures", scaled(2)))
    # Without features, what is kept with them will do; not the other way round.
    assert of("with")["interval"] == kept["interval"]
    of("without")
    refused("differ in features", of, "without", where)


def of_closure(share: float, folder: Path) -> Any:
    return certified(folder, p_b=leaning(share), samples=2 * BLOCK)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Draws of two samplers whose p_B have one name and one source."""
    folder = tmp_path_factory.mktemp("kept")
    of_closure(0.4, folder / "mine")
    of_closure(0.5, folder / "other")
    return folder


@pytest.mark.parametrize("edit", ["of another sampler", "cut off", "empty", "missing"])
def test_a_block_that_was_not_drawn_is_refused(edit: str, kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept / "mine", tmp_path / "mine")
    path = tmp_path / "mine" / "forward-00001.npz"
    content = {
        "of another sampler": (kept / "other" / path.name).read_bytes(),
        "cut off": path.read_bytes()[:-40],
        "empty": b"",
    }
    path.unlink()
    if edit in content:
        path.write_bytes(content[edit])
    refused(r"forward-00001.npz' is not what was drawn here", of_closure, 0.4, tmp_path / "mine")


@pytest.mark.catches(
    "Draws of another sampler are taken for those of this one.",
    "reference/certificates/kept.py",
    "not all(map(np.array_equal",
    "not any(map(np.array_equal",
)
def test_control_blocks_of_another_sampler_and_their_seal_are_refused(kept: Path) -> None:
    of_closure(0.5, kept / "other")
    refused(r"forward-00000.npz' is of another sampler", of_closure, 0.4, kept / "other")
    (kept / "other" / "seal.json").unlink()
    refused(r"seal.json' is missing or damaged", of_closure, 0.5, kept / "other")


def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    refused("has no attribute rng", KeptDraws, object(), tmp_path, 0)


def test_draws_of_an_object_whose_random_numbers_can_be_set_are_kept(tmp_path: Path) -> None:
    drawing = source_of(POLICY, GRID, CertifyOptions(max_states=1_000))
    first, again = (certified(tmp_path / "object", drawing.walker()) for _ in range(2))
    assert first == again
    assert first["interval"] == certified(tmp_path / "rows")["interval"]
