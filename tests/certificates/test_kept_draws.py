"""Draws that are kept: a certificate that was cut off comes out as if it had not been."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pdai
from pdai.certifying.certify import source_of
from pdai.certifying.options import CertifyOptions
from reference import InputError
from reference.certificates.importance import Walks
from reference.certificates.kept import KeptDraws
from reference.problems import Grid

PROBLEM = Grid(3, 2)
SAMPLES = 3 * 4_096


def policy(state: Any) -> list[float]:
    """Likes to stop."""
    others = len(PROBLEM.children(state)) - 1
    return [0.4, *[0.6 / others] * others] if others else [1.0]


def certified(folder: Path | None, **options: Any) -> Any:
    asked = {"regime": "Z", "samples": SAMPLES, "width": 0.0, **options}
    return pdai.certify(policy, PROBLEM, keep=folder, **asked).to_json()


class CutError(Exception):
    """Stands for a kill."""


def shy(state: Any) -> list[float]:
    """Likes every child as well."""
    return [1 / len(PROBLEM.children(state))] * len(PROBLEM.children(state))


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
        ("Z", None, 0),
        ("Z", None, 2),
        ("Z", where, 1),
        ("S", None, 0),
        ("S", None, 1),
        ("S", None, 2),
        ("N", None, 1),
    ],
)
def test_a_certificate_that_is_cut_off_goes_on_to_the_same_numbers(
    regime: str, features: Any, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = certified(tmp_path / "whole", regime=regime, features=features)
    from reference.certificates import kept

    write = kept.replace_file

    def certified_until(writes: int) -> int:
        """Cuts off after so many writes; tells how many blocks are there."""
        written = []

        def cut(path: Path, content: bytes) -> None:
            if len(written) == writes:
                raise CutError
            written.append(path)
            write(path, content)

        with monkeypatch.context() as patched:
            patched.setattr(kept, "replace_file", cut)
            with pytest.raises(CutError):
                certified(tmp_path / "cut", regime=regime, features=features)
        return len(list((tmp_path / "cut").glob("*.npz")))

    # The seal is written before all blocks and after each; then between a block and its seal.
    assert certified_until(1 + 2 * block) == block
    assert certified_until(1) == block + 1
    assert certified(tmp_path / "cut", regime=regime, features=features) == whole
    # And once more, from what is kept alone.
    assert certified(tmp_path / "cut", regime=regime, features=features) == whole


@pytest.mark.catches(
    "All blocks of kept draws are drawn with the same random numbers.",
    "reference/certificates/kept.py",
    'default_rng([self.seed, number, kind == "backward"])',
    'default_rng([self.seed, 0, kind == "backward"])',
)
@pytest.mark.parametrize(("regime", "blocks"), [("Z", 3), ("N", 4)])
def test_more_samples_are_added_to_those_that_are_kept(
    regime: str, blocks: int, tmp_path: Path
) -> None:
    few = certified(tmp_path, regime=regime, samples=4_096)
    more = certified(tmp_path, regime=regime, samples=SAMPLES)
    assert (few["samples"], more["samples"]) == (4_096, SAMPLES)
    assert few["interval"][0] < more["interval"][0]
    assert more == certified(tmp_path / "at once", regime=regime)
    assert sorted(path.name for path in tmp_path.glob("*.npz")) == [
        f"forward-{i:05}.npz" for i in range(blocks)
    ]
    first, second = (np.load(tmp_path / f"forward-0000{i}.npz")["log_p_f"] for i in (0, 1))
    assert not np.array_equal(first, second)


def test_control_draws_of_another_sampler_or_seed_are_refused(tmp_path: Path) -> None:
    certified(tmp_path)
    for options, name in (
        ({"seed": 1}, "seed"),
        ({"tighten": 3}, "tighten"),
        ({"p_b": lambda state: []}, "p_B"),
    ):
        with pytest.raises(InputError, match=f"holds draws that differ in {name}: keep these in"):
            certified(tmp_path, **options)
    target = PROBLEM.sample(5_000, 0)
    asked: dict[str, Any] = {"regime": "S", "samples": 4_096, "keep": tmp_path / "target"}
    pdai.certify(policy, PROBLEM, target=target, **asked)
    with pytest.raises(InputError, match="that differ in target"):
        pdai.certify(policy, PROBLEM, target=[*target[:-1], target[0]], **asked)
    for sampler, problem, name in ((shy, PROBLEM, "sampler"), (policy, Another(3, 2), "problem")):
        with pytest.raises(InputError, match=f"that differ in {name}"):
            pdai.certify(sampler, problem, regime="Z", keep=tmp_path)


@pytest.mark.catches(
    "Features that were kept are not compared with those that are drawn again.",
    "reference/certificates/kept.py",
    "elif kept.terminals != drawn.terminals or not all",
    "elif not all",
)
def test_control_features_that_were_not_kept_or_are_others_are_refused(tmp_path: Path) -> None:
    kept = certified(tmp_path / "with", features=where, samples=4_096)
    plain = certified(None, features=where, samples=4_096)
    assert [line["name"] for line in kept["lines"]] == [line["name"] for line in plain["lines"]]
    assert any(line["name"] == "origin: sampler" for line in kept["lines"])
    with pytest.raises(InputError, match="differ in features"):
        certified(tmp_path / "with", features=lambda x: {**where(x), "origin": 0.5})
    certified(tmp_path / "closures", features=scaled(1), samples=4_096)
    with pytest.raises(InputError, match=r"forward-00000.npz' is of another .* or features"):
        certified(tmp_path / "closures", features=scaled(2), samples=4_096)
    # Without features, what is kept with them will do; not the other way round.
    assert certified(tmp_path / "with", samples=4_096)["interval"] == kept["interval"]
    certified(tmp_path / "without", samples=4_096)
    with pytest.raises(InputError, match="differ in features"):
        certified(tmp_path / "without", features=where, samples=4_096)


def without(path: Path) -> dict[str, Any]:
    return {name: np.load(path)[name] for name in ("log_p_b", "log_reward", "error")}


EDITS: dict[str, Any] = {
    "of another sampler": lambda path, other: path.write_bytes((other / path.name).read_bytes()),
    "cut off": lambda path, _: path.write_bytes(path.read_bytes()[:-40]),
    "above one": lambda path, _: np.savez(path, log_p_f=np.full(4_096, 0.1), **without(path)),
    "rounded": lambda path, _: np.savez(
        path, log_p_f=np.load(path)["log_p_f"].astype(int), **without(path)
    ),
    "empty": lambda path, _: np.savez(path, log_p_f=[], log_p_b=[], log_reward=[], error=[]),
    "missing": lambda path, _: path.unlink(),
}


def of_closure(share: float, folder: Path) -> Any:
    return certified(folder, p_b=leaning(share), samples=8_192)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Draws of two samplers whose p_B have one name and one source."""
    folder = tmp_path_factory.mktemp("kept")
    of_closure(0.4, folder / "mine")
    of_closure(0.5, folder / "other")
    return folder


@pytest.mark.parametrize("edit", EDITS)
def test_a_block_that_is_not_what_was_drawn_is_refused(
    edit: str, kept: Path, tmp_path: Path
) -> None:
    shutil.copytree(kept / "mine", tmp_path / "mine")
    EDITS[edit](tmp_path / "mine" / "forward-00001.npz", kept / "other")
    with pytest.raises(InputError, match=r"forward-00001.npz' is not what was drawn here"):
        of_closure(0.4, tmp_path / "mine")


@pytest.mark.catches(
    "Draws of another sampler are taken for those of this one.",
    "reference/certificates/kept.py",
    "not all(map(np.array_equal",
    "not any(map(np.array_equal",
)
def test_control_blocks_of_another_sampler_and_their_seal_are_refused(kept: Path) -> None:
    of_closure(0.5, kept / "other")
    with pytest.raises(InputError, match=r"forward-00000.npz' is of another sampler"):
        of_closure(0.4, kept / "other")
    (kept / "other" / "seal.json").unlink()
    with pytest.raises(InputError, match=r"seal.json' is missing or damaged"):
        of_closure(0.5, kept / "other")


def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    class Unseeded:
        """Draws with random numbers of its own."""

        def draw(self, count: int, *, labels: bool = False) -> Walks:
            raise AssertionError

        def draw_backward(self, terminals: Any) -> Walks:
            raise AssertionError

        def findings(self) -> list[str]:
            return []

    with pytest.raises(InputError, match="has no attribute rng"):
        KeptDraws(Unseeded(), tmp_path, 0)


def test_draws_of_an_object_whose_random_numbers_can_be_set_are_kept(tmp_path: Path) -> None:
    drawing = source_of(policy, PROBLEM, CertifyOptions(max_states=1_000))
    asked: dict[str, Any] = {"regime": "Z", "samples": SAMPLES, "width": 0.0, "keep": tmp_path}
    first, again = (pdai.certify(drawing.walker(), PROBLEM, **asked) for _ in range(2))
    assert first.to_json() == again.to_json()
    assert first.to_json()["interval"] == certified(tmp_path / "rows")["interval"]
