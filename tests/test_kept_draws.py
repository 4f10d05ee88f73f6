"""Draws that are kept: a certificate that was cut off comes out as if it had not been."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pdai
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


def where(x: Any) -> dict[str, float]:
    return {"first": x.coordinates[0] / 2, "origin": float(x.coordinates == (0, 0))}


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

    write, written = kept.replace_file, []

    def cut(path: Path, content: bytes) -> None:
        if len(written) == block:
            raise CutError
        written.append(path)
        write(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(kept, "replace_file", cut)
        with pytest.raises(CutError):
            certified(tmp_path / "cut", regime=regime, features=features)
    assert len(list((tmp_path / "cut").iterdir())) == block
    assert certified(tmp_path / "cut", regime=regime, features=features) == whole
    # And once more, from what is kept alone.
    assert certified(tmp_path / "cut", regime=regime, features=features) == whole


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
    with pytest.raises(InputError, match="is of another sampler"):
        certified(tmp_path, seed=1)
    with pytest.raises(InputError, match="is of another sampler"):
        certified(tmp_path, tighten=3)
    with pytest.raises(InputError, match="is of another sampler"):
        pdai.certify(
            lambda s: [1 / len(PROBLEM.children(s))] * len(PROBLEM.children(s)),
            PROBLEM,
            regime="Z",
            keep=tmp_path,
        )


def test_control_features_that_were_not_kept_or_are_others_are_refused(tmp_path: Path) -> None:
    kept = certified(tmp_path / "with", features=where, samples=4_096)
    plain = certified(None, features=where, samples=4_096)
    assert [line["name"] for line in kept["lines"]] == [line["name"] for line in plain["lines"]]
    assert any(line["name"] == "origin: sampler" for line in kept["lines"])
    with pytest.raises(InputError, match="or features"):
        certified(tmp_path / "with", features=lambda x: {**where(x), "origin": 0.5})
    # Without features, what is kept with them will do; not the other way round.
    assert certified(tmp_path / "with", samples=4_096)["interval"] == kept["interval"]
    certified(tmp_path / "without", samples=4_096)
    with pytest.raises(InputError, match="holds no draws of this kind"):
        certified(tmp_path / "without", features=where, samples=4_096)


def test_damaged_draws_are_refused(tmp_path: Path) -> None:
    certified(tmp_path)
    path = tmp_path / "forward-00001.npz"
    content = path.read_bytes()
    path.write_bytes(content[:-40])
    with pytest.raises(InputError, match="begin anew in another folder"):
        certified(tmp_path)
    np.savez(path, log_p_f=[1.0], log_p_b=[1.0, 2.0], log_reward=[0.0], error=[0.0])
    with pytest.raises(InputError, match="its columns differ in length"):
        certified(tmp_path)


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
