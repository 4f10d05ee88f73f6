"""Samples, laws, certificates and posteriors as frames and in notebooks; a logger."""

import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pdai
from fast.laws.samples import Law, Samples
from reference.certificates.betting import Interval
from tests.certificates.problems import Words, half
from tests.refusals import refused

DRAWN = Samples([(0, 1), (2, 3), (4, 5)], np.array([0.5, 1, 2]), -np.ones(3), np.zeros(3))
LAW = Law(("a", "b<"), np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([0.2, 0.8]))


def test_samples_and_laws_are_frames_and_tables() -> None:
    frame = DRAWN.to_frame()
    assert [*frame.columns] == ["state", "log_reward", "log_p_f", "log_p_b"]
    assert (frame["state"].to_list(), frame["log_reward"].to_list()) == (DRAWN.states, [0.5, 1, 2])
    frame = LAW.to_frame()
    assert [*frame.columns] == ["state", "target", "learned_0", "learned_1"]
    assert frame["learned_1"].to_list() == [0.5, 0.5]
    assert [*LAW._replace(learned=LAW.learned[:1]).to_frame().columns][-1] == "learned"
    assert "<td>b&lt;</td><td>0.8</td>" in LAW._repr_html_()
    many = Samples([*range(30)], *[np.zeros(30)] * 3)._repr_html_()
    assert "samples, the first 12 of 30" in many
    assert many.count("<tr>") == 13


def test_without_pandas_frames_are_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reference.contract.tables.find_spec", lambda name: None)
    assert LAW.to_frame().keys() == LAW.table().keys()
    assert isinstance(LAW.to_frame(), dict)


def test_a_certificate_is_a_frame_of_its_lines_and_has_its_states() -> None:
    made = pdai.certify(half, Words)
    frame = made.to_frame().set_index("line")
    assert frame.loc["TV of terminals", "low"] == made.tv == frame.loc["TV of terminals", "high"]
    states = made.states()
    assert len(states["state"]) == 8
    assert sum(states["p_T_exact"]) == 1
    bare = pdai.certify(np.random.default_rng(0).choice([*"ab"], 900), law={"a": 1, "b": 1})
    row = bare.to_frame().set_index("line").loc["TV of terminals"]
    assert Interval(row["low"], row["high"]) == bare.interval
    assert row["kind"] == "bound"
    assert bare.states()["state"] == []


def test_an_answer_is_a_frame_and_a_table() -> None:
    answer: Any = pdai.posterior([["x", "p"], ["y", "q"], ["x", "q"], ["y", "p"]])
    frame = answer.to_frame()
    assert [*frame.columns] == ["from", "to", "probability"]
    assert frame["probability"].sum() == pytest.approx(answer.posterior.edges.sum())
    assert len(answer.to_frame("ancestors")) == 2
    refused("no table of the answer .*'edge'|'edge'", lambda: answer.to_frame("edge"))
    assert "<th>from</th><th>to</th>" in answer._repr_html_()


def test_draws_are_a_tree_of_arviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)
    refused("to_arviz needs ArviZ", DRAWN.to_arviz)
    # Stands for ArviZ 1, and then for the versions before it.
    monkeypatch.setitem(sys.modules, "arviz", SimpleNamespace(from_dict=lambda groups: groups))
    tree = DRAWN.to_arviz()
    old = SimpleNamespace(from_dict=lambda posterior, sample_stats: [posterior, sample_stats])
    monkeypatch.setitem(sys.modules, "arviz", old)
    assert DRAWN.to_arviz()[0]["state"].shape == (1, 3, 2)
    assert tree["posterior"]["state"].tolist() == [[[0, 1], [2, 3], [4, 5]]]
    assert tree["sample_stats"]["lp"].tolist() == [[0.5, 1, 2]]
    words = DRAWN._replace(states=["ab", "c", "d"])
    refused("states such as 'ab' are not numbers", words.to_arviz)


@pytest.mark.long
def test_a_logger_gets_the_figures_of_each_step(tmp_path: Path) -> None:
    small = {"length": 4, "dynamics": "markov", "parameters": 500, "batch": 8, "steps": 300}
    seen: list[Any] = []
    log = lambda step, figures: seen.append((step, figures))  # noqa: E731
    run = pdai.train("lines", **small, out=tmp_path / "run", log=log)
    assert [step for step, _ in seen] == [100, 200, 300]
    records = {r["step"]: r for r in run.metrics() if "loss" in r}
    for step, figures in seen:
        assert figures["loss"] == records[step]["loss"]
        assert figures.get("tv") == records[step].get("tv")
    assert Fraction(seen[-1][1]["tv"]) >= 0
