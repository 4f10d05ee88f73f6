"""The price of forgetting: its stored numbers, its page, and a row computed again."""

import json
from pathlib import Path

import pytest

from pdai.experiments import price
from pdai.experiments.floors import settings
from pdai.experiments.minimisers import LOSSES
from reference import InputError
from reference.certificates.betting import Interval

ROWS = settings(price.LABEL)
PAGE = price.PAGE.read_text()


def test_the_page_has_the_stored_numbers_of_every_row() -> None:
    lines = price.lines()
    assert [line.row for line in lines] == list(ROWS)
    assert price.page(PAGE, lines) == PAGE
    # Control: another number changes the page.
    one = lines[0]._replace(trained=lines[1].trained)
    assert price.page(PAGE, [one, *lines[1:]]) != PAGE


def test_no_minimum_is_below_the_floor_and_seeing_more_never_raises_it() -> None:
    lines = {line.row: line.price for line in price.lines()}
    for made in lines.values():
        assert 0 <= made.floor.low <= made.floor.high
        for loss in LOSSES:
            ends, _ = made.minima[loss]
            assert made.floor.high <= ends.high + 1e-6
        assert made.with_memory.high <= made.floor.high
    for row, least in [("bits, last {}", 1), ("SIX6, last {}", 0)]:
        chain = [lines[row.format(k)] for k in range(least, 8)]
        assert sorted(chain, key=lambda made: made.parameters) == chain
        for ends in ("low", "high"):
            values = [getattr(made.floor, ends) for made in chain]
            assert sorted(values, reverse=True) == values
        assert chain[-1].floor == Interval(0, 0)
    # The table of order k, in closed form.
    likelihood = [lines[f"SIX6, last {k}"].minima["likelihood"][0].high for k in range(8)]
    assert likelihood == pytest.approx(
        [0.353, 0.270, 0.225, 0.193, 0.173, 0.148, 0.117, 0], abs=5e-4
    )


@pytest.mark.long
def test_a_row_that_is_computed_again_is_what_is_stored(tmp_path: Path) -> None:
    path, row = tmp_path / "prices.json", "bits, last 6"
    price.store([row], path)
    again = price.Price(*json.loads(path.read_text())[row].values())
    stored = {line.row: line.price for line in price.lines()}[row]
    assert again.parameters == stored.parameters
    # The end of a search or a solver may differ in the last digits between machines.
    assert again.floor == pytest.approx(stored.floor, abs=1e-4)
    for loss in LOSSES:
        ends, is_proved = again.minima[loss]
        assert is_proved
        assert ends == pytest.approx(stored.minima[loss][0], abs=2e-6)


def test_other_files_and_rows_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    for text in ("[]", "{", json.dumps({"bits, last 1": {"floor": [0, 1]}})):
        path.write_text(text)
        with pytest.raises(InputError, match="holds no prices"):
            price.lines(path)
    with pytest.raises(InputError, match="row of study:forgetting"):
        price.store(["bits, last 9"], path)
