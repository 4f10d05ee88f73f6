"""`--paths`: an upper end for terminal states, by several backward paths of each."""

from typing import Any

import pytest

import pdai
from reference.certificates.betting import Interval
from tests.certificates.problems import certify_lines, other
from tests.refusals import refused, refuses

# One end by two ways, of which p_F takes one three times as often: TV of trajectories is 1/4.
AFTER = {"o": ["ox", "oy"], "ox": ["oxy"], "oy": ["oxy"]}
Diamond = other(
    initial="o",
    children=lambda p, s: AFTER.get(s, []),
    parents=lambda p, s: [before for before, row in AFTER.items() if s in row],
    reward=lambda p, s: 1,
)


def mostly_x(state: str) -> list[float]:
    return [0.75, 0.25] if state == "o" else [1.0]


def certified(paths: int, **options: Any) -> Any:
    settings = {"regime": "Z", "samples": 4_096, "width": 0.0, "level": 1e-3} | options
    return pdai.certify(mostly_x, Diamond, paths=paths, **settings)


@pytest.mark.catches(
    "The lower end of what is bounded with paths is given as that of terminal states.",
    "pdai/certifying/judging.py",
    'interval, of = Interval(0.0, interval.high), "terminals"',
    'interval, of = interval, "terminals"',
)
@pytest.mark.parametrize("regime", ["Z", "S"])
def test_two_paths_halve_the_upper_end_where_terminal_states_are_right(regime: str) -> None:
    """With two paths it is `3/4 1/2 (1 - 1 / (3/2)) = 1/8`, of which both ends are found."""
    target = {"target": ["oxy"] * 4_096} if regime == "S" else {}
    one, two = (certified(count, regime=regime, **target) for count in (1, 2))
    assert (one.of, two.of) == ("trajectories", "terminals")
    assert one.interval.low < 0.25 < one.interval.high < 0.3
    inner = two.value("TV of terminals with 2 paths of each")
    assert inner.low < 0.125 < inner.high < 0.15
    assert two.interval == Interval(0.0, inner.high)
    assert any("several-paths-tv-bound" in note for note in two.notes)


def test_where_paths_are_not_used_a_note_says_so() -> None:
    for regime in ("E", "N"):
        made = certified(2, regime=regime)
        assert f"the paths given: not used in regime {regime}" in made.notes


test_paths_that_cannot_be_drawn_are_refused = refuses(
    lambda options: certified(**options),
    ({"paths": 0}, "paths is 0, but must be an integer of at least 1"),
    ({"paths": 2, "certificate": "x.cert"}, "leave the file out, .* without --paths"),
)


def test_recorded_samples_have_no_other_paths() -> None:
    lines = ["terminal,log_p_f,log_p_b,log_reward", *["aaa,-2,0,1"] * 100]
    words = "paths is 2, but certify does not read it for samples, which are drawn already"
    refused(words, lambda: certify_lines(lines, log_z=3.0, regime="Z", paths=2))
