"""The aliasing dial: its settings, their floors, and what is stored of these."""

import json
from pathlib import Path

import pytest

from fast.checking.environment import check_environment
from pdai.experiments.aliasing import EXPERIMENT
from pdai.experiments.dial import BITS, DIAL, GRID, Floors, Interval, Setting, stored
from pdai.experiments.floors import floors, store
from reference import InputError, enumerate_dag
from reference.expressivity.coarse import block_of_cell, end_of_string


def small(coarse: int) -> Setting:
    return Setting(GRID.changed(side=4, coarse=coarse), lambda cell: block_of_cell(cell, coarse))


@pytest.mark.parametrize("row", DIAL)
def test_the_reference_sees_what_networks_see(row: str) -> None:
    setting = DIAL[row]
    problem = setting.config.problem()
    environment = setting.config.task.make_environment(problem, 10_000)
    dag = enumerate_dag(problem)
    seen = {setting.observe(dag.labels[u]) for u, out in enumerate(dag.out_edges) if out}
    report = check_environment(problem, environment)
    assert report.observations == len(seen)
    assert (report.observations == report.inner_states) == (
        row in ("grid, every cell", "bits, all 8")
    )


def test_the_rows_of_the_experiment_are_the_settings_of_the_dial() -> None:
    assert EXPERIMENT.rows == tuple(DIAL)
    for cell in EXPERIMENT.cells:
        assert cell.config is not None
        assert cell.config.task == DIAL[cell.row].config.task  # type: ignore[union-attr]


@pytest.mark.long
def test_floors_fall_with_memory_and_rise_with_the_dial() -> None:
    found = [floors(small(coarse), 2, 20) for coarse in (1, 2, 4)]
    assert found[0] == Floors(Interval(0, 0), Interval(0, 0))
    for one in found[1:]:
        assert 0 < one.markovian.lower < one.markovian.upper
        assert one.with_memory.lower == 0 < one.with_memory.upper < one.markovian.upper
    assert found[1].markovian.upper < found[2].markovian.lower


@pytest.mark.long
def test_of_strings_memory_brings_back_all_letters_but_no_letter() -> None:
    config = BITS.changed(length=8)
    last, none = (
        floors(Setting(config.changed(last=k), lambda s, k=k: end_of_string(s, k), k), 2)
        for k in (3, 0)
    )
    assert last.with_memory == Interval(0, 0)
    assert 0 < last.markovian.lower < last.markovian.upper < none.markovian.lower
    # Control: where nothing but the length is seen, there is nothing to remember.
    assert none.with_memory.upper == pytest.approx(none.markovian.upper, abs=1e-4)


@pytest.mark.long
def test_the_stored_floors_are_those_that_are_computed() -> None:
    kept = stored()
    assert set(kept) == set(DIAL)
    for row in ("grid, every cell", "bits, all 8", "bits, last 4"):
        # What a search or a solver ends with may differ in the last digits between machines.
        for made, one in zip(floors(DIAL[row]), kept[row], strict=True):
            assert made == pytest.approx(one, abs=1e-4)
    for one in kept.values():
        for interval in one:
            assert 0 <= interval.lower <= interval.upper <= 1
    # Control: another setting has other floors.
    other = floors(DIAL["bits, last 4"]).markovian
    assert other != pytest.approx(kept["bits, last 2"].markovian, abs=1e-2)


def test_floors_survive_being_written_and_other_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "floors.json"
    monkeypatch.setattr("pdai.experiments.floors.DIAL", {"one": DIAL["bits, all 8"]})
    store(path)
    assert stored(path) == {"one": Floors(Interval(0, 0), Interval(0, 0))}
    for text in ("[]", "{", json.dumps({"one": {"markovian": [0, 1]}})):
        path.write_text(text)
        with pytest.raises(InputError, match="holds no floors"):
            stored(path)
