"""The aliasing dial: its settings, their floors, and what is stored of these."""

import json
from pathlib import Path

import pytest

from fast.checking.environment import check_environment
from fast.training.compose import TrainConfig
from pdai.experiments.definitions import define
from pdai.experiments.floors import Floors, floors, observation, settings, store
from reference import InputError, enumerate_dag
from reference.certificates.betting import Interval

DIAL = settings()
STORED = define("study:aliasing").bounds
FLOORS = ("least TV without memory", "least TV with memory")


def small(coarse: int) -> TrainConfig:
    return DIAL["grid, every cell"].changed(side=4, coarse=coarse)


def stored(row: str) -> Floors:
    return Floors(*(Interval(*STORED[name][row]) for name in FLOORS))


@pytest.mark.parametrize("row", DIAL)
def test_the_reference_sees_what_networks_see(row: str) -> None:
    config = DIAL[row]
    problem, observe = config.problem(), observation(config)
    environment = config.task.make_environment(problem, 10_000)
    dag = enumerate_dag(problem)
    seen = {observe(dag.labels[u]) for u, out in enumerate(dag.out_edges) if out}
    report = check_environment(problem, environment)
    assert report.observations == len(seen)
    assert (report.observations == report.inner_states) == (
        row in ("grid, every cell", "bits, all 8")
    )


def test_the_rows_of_the_experiment_have_all_models_and_floors() -> None:
    experiment = define("study:aliasing")
    assert experiment.rows == tuple(DIAL)
    for cell in experiment.cells:
        assert cell.config is not None
        assert cell.config.task == DIAL[cell.row].task  # type: ignore[union-attr]
    for rows in experiment.bounds.values():
        assert set(rows) == set(DIAL)


@pytest.mark.long
def test_floors_fall_with_memory_and_rise_with_the_dial() -> None:
    bounds = [floors(small(coarse), 2, 20) for coarse in (1, 2, 4)]
    assert bounds[0] == Floors(Interval(0, 0), Interval(0, 0))
    for one in bounds[1:]:
        assert 0 < one.markovian.low < one.markovian.high
        assert one.with_memory.low == 0 < one.with_memory.high < one.markovian.high
    assert bounds[1].markovian.high < bounds[2].markovian.low


@pytest.mark.long
def test_of_strings_memory_brings_back_all_letters_but_no_letter() -> None:
    last, none = (floors(DIAL["bits, all 8"].changed(last=k), 2) for k in (3, 0))
    assert last.with_memory == Interval(0, 0)
    assert 0 < last.markovian.low < last.markovian.high < none.markovian.low
    # Control: where nothing but the length is seen, there is nothing to remember.
    assert none.with_memory.high == pytest.approx(none.markovian.high, abs=1e-4)


@pytest.mark.long
def test_the_stored_floors_are_those_that_are_computed() -> None:
    for row in ("grid, every cell", "bits, all 8", "bits, last 4"):
        # What a search or a solver ends with may differ in the last digits between machines.
        for made, one in zip(floors(DIAL[row]), stored(row), strict=True):
            assert made == pytest.approx(one, abs=1e-4)
    for row in DIAL:
        for interval in stored(row):
            assert 0 <= interval.low <= interval.high <= 1
    # Control: another setting has other floors.
    other = floors(DIAL["bits, last 4"]).markovian
    assert other != pytest.approx(stored("bits, last 2").markovian, abs=1e-2)


def test_floors_survive_being_written_and_other_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "floors.json"
    monkeypatch.setattr(
        "pdai.experiments.floors.settings", lambda: {"bits, all 8": DIAL["bits, all 8"]}
    )
    store(path)
    monkeypatch.setattr("pdai.experiments.definitions.FLOORS", path)
    # The other rows are not in the file.
    assert define("study:aliasing").bounds == {
        "least TV without memory": {"bits, all 8": (0, 0)},
        "least TV with memory": {"bits, all 8": (0, 0)},
        "maximum likelihood without memory": {"bits, all 8": (0, 0)},
        "least loss without memory": {"bits, all 8": (0, 0)},
    }
    for text in ("[]", "{", json.dumps({"one": {"markovian": [0, 1]}})):
        path.write_text(text)
        with pytest.raises(InputError, match="holds no floors"):
            define("study:aliasing")
