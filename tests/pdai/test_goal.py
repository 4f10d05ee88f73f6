"""Training towards a distance: rounds, their log, resumption, and goals that cannot be shown."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pdai
from fast.runs.records import SEAL, read_json, write_json
from fast.training.compose import configure, to_json
from pdai.goal import LEVEL, LOG, _next, first_steps, go_on, is_goal, train_until
from pdai.show.progress import QUIET
from reference.certificates.betting import Interval
from reference.certificates.statement import Certificate
from tests.certificates.problems import other
from tests.command_lines import answer
from tests.refusals import refused, refuses

TINY = {"steps": 200, "parameters": 4_000, "batch": 16, "evaluations": 1}
CONFIG = configure("grid", side=4, tv=0.002, **TINY)


def record(number: int, start: int, high: float, **options: Any) -> dict[str, Any]:
    return {"round": number, "start": start, "options": options, "high": high, "seconds": 1.0}


FIRST = record(1, 0, 0.8, steps=100)
LONGER = [FIRST, record(2, 0, 0.5), record(3, 2, 0.4)]


@pytest.mark.long
def test_rounds_go_on_until_tv_is_certified_and_the_log_says_how(tmp_path: Path) -> None:
    goal = train_until(CONFIG.changed(out=tmp_path / "goal"), QUIET)
    rounds = json.loads((tmp_path / "goal" / LOG).read_text())["rounds"]
    assert goal.reached
    assert goal.rounds == rounds
    assert rounds[-1]["high"] <= 0.002 < min([1.0, *(one["high"] for one in rounds[:-1])])
    assert len(rounds) > 1
    assert [one["steps"] for one in rounds[:3]] == [100, 200, 600]
    assert goal.run.folder == tmp_path / "goal" / f"round-{len(rounds)}"
    assert float(pdai.certify(goal.run).interval.high) <= 0.002

    # A log without its last round, as after a kill: that round is read, certified, and as before.
    log = {"config": to_json(CONFIG), "rounds": rounds[:-1]}
    write_json(tmp_path / "goal" / LOG, log, checksum=True)
    assert is_goal(tmp_path / "goal")
    assert go_on(tmp_path / "goal", QUIET).rounds == rounds


def test_the_command_prints_the_rounds_and_fails_if_time_is_over(tmp_path: Path) -> None:
    out = tmp_path / "goal"
    words = ["train", "grid", "--side", "4", "--steps", "200", "--tv", "1e-4"]
    words += ["--tv-seconds", "1e-3", "--out", str(out)]
    done = answer(*words, cwd=tmp_path, expect=1)
    assert "round 1, from new parameters: 100 steps" in done.stderr
    assert "not reached" in done.stdout + done.stderr
    again = answer("train", "--resume", str(out), cwd=tmp_path, expect=1)
    assert "round 1, from" not in again.stderr

    # A lower bound in the log, or another run, would be printed as certified.
    other = "round-1 is another run than was certified"
    for path, old, new, words in (
        (out / LOG, '"high": [^,]*', '"high": 0', f"{LOG} was changed"),
        (out / LOG, '"sha256"', '"other"', f"{LOG} was changed"),
        (out / "round-1" / SEAL, '"law.npz": [^,]*', '"law.npz": 0', other),
    ):
        text = path.read_text()
        path.write_text(re.sub(old, new, text))
        refused(words, go_on, out, QUIET)
        path.write_text(text)
    assert not go_on(out, QUIET).reached
    log = read_json(out / LOG, checksum=True)
    del log["rounds"][0]["seal"]
    write_json(out / LOG, log, checksum=True)
    refused(other, go_on, out, QUIET)


@pytest.mark.parametrize(
    ("rounds", "plan"),
    [
        ([], (0, {"steps": 100})),
        ([FIRST], (0, {})),
        ([FIRST, record(2, 0, 0.5)], (2, {})),
        ([FIRST, record(2, 0, 0.5), record(3, 2, 0.3)], (3, {})),
        (LONGER, (0, {"table_rows": 65_536})),
        ([*LONGER, record(4, 0, 0.6, table_rows=65_536)], (4, {"table_rows": 65_536})),
        (
            [record(n, n - 1, 0.4, table_rows=9, anneal=1) for n in (1, 2)],
            (0, {"table_rows": 9, "anneal": 1, "order": "fixed", "replay": "annealed"}),
        ),
        (
            [record(n, n - 1, 0.4, table_rows=9, anneal=1, order="fixed") for n in (1, 2)],
            (0, {"table_rows": 9, "anneal": 1, "order": "fixed", "batch": 32, "parameters": 8_000}),
        ),
    ],
)
def test_what_comes_next_follows_from_the_log(rounds: Any, plan: Any) -> None:
    following = _next(CONFIG, rounds)
    assert tuple(following) == plan
    assert ("order fixed" in following.how) == ("order" in plan[1])


@pytest.mark.parametrize(("steps", "first"), [(100, 100), (101, 100), (5_000, 1_300)])
def test_the_first_round_has_whole_chunks(steps: int, first: int) -> None:
    assert first_steps(steps) == first
    plan = _next(CONFIG.changed(steps=steps), [])
    assert plan.options == ({"steps": first} if first < steps else {})


@pytest.mark.parametrize(
    ("task", "options", "change"),
    [
        ("graphs", {}, {"anneal": 0.6}),
        ("structure", {}, {"table_rows": 65_536}),
        ("structure", {"nodes": 8}, {"batch": 256, "parameters": 80_000}),
    ],
)
def test_a_table_is_tried_with_a_head_and_few_states(
    task: str, options: dict[str, Any], change: dict[str, Any]
) -> None:
    assert _next(configure(task, tv=0.05, **options), LONGER).options == change


# Too large to enumerate, without log Z.
NO_Z = other("NoZ", children=lambda _, s: [s + "a", s + "b"] if len(s) < 20 else [])
test_a_goal_that_no_certificate_can_show_and_a_display_of_no_kind_are_refused = refuses(
    lambda problem, options: pdai.train(problem, **options),
    ("grid", {"tv": 1.0}, "tv"),
    ("grid", {"tv": -0.1}, "tv"),
    ("grid", {"tv": 0.1, "seeds": 2}, "one sampler"),
    ("sets", {"tv": 1e-7}, "too large to enumerate, and a certificate then takes"),
    (NO_Z, {"tv": 0.1}, "log Z of .* is not known"),
    ("grid", {"tv": 0.1, "tv_seconds": 0.0}, "tv_seconds"),
    ("grid", {"steps": 1, "display": "loud"}, "display"),
)


@pytest.mark.catches(
    "gives every round the whole level", "pdai/goal.py", "level=LEVEL / 2**number", "level=LEVEL"
)
@pytest.mark.catches(
    "draws every round's samples from one seed, though the log decides which rounds follow",
    "pdai/goal.py",
    "seed=config.run.seed + number",
    "seed=config.run.seed",
)
def test_recorded_levels_of_rounds_sum_to_less_than_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SimpleNamespace(config=CONFIG, metrics=lambda: [{"seconds": 1.0}])
    seeds: list[int] = []

    def certify(_: Any, *, level: float, seed: int, **options: Any) -> Any:
        seeds.append(seed)
        return Certificate("Z", Interval(0.0, 0.5), "terminals", level, 9, [], [])

    monkeypatch.setattr("pdai.goal._trained", lambda *_: run)
    monkeypatch.setattr("pdai.goal.Run", lambda _: run)
    monkeypatch.setattr("pdai.goal._seal", lambda *_: "")
    monkeypatch.setattr("pdai.goal.certify", certify)
    config = CONFIG.changed(out=tmp_path / "goal", tv_seconds=8.0)
    levels = [record["level"] for record in train_until(config, QUIET).rounds]
    assert len(set(seeds)) == len(levels) == 8
    assert min(levels) > 0
    assert sum(levels) <= LEVEL == 1e-6
