"""Studies of forgetting and credit: settings, stored floors and prices, what is decided early."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest

from fast.checking.environment import check_environment
from fast.training.compose import configure
from pdai.experiments import EXPERIMENTS
from pdai.experiments.base import MARKOVIAN
from pdai.experiments.definitions import FOLDER, SHOWN_DIGITS, define, outwards
from pdai.experiments.forgetting import price
from pdai.experiments.forgetting.minimisers import LOSSES
from pdai.experiments.forgetting.minors import least_distance
from pdai.experiments.forgetting.price import observation, settings
from pdai.experiments.forgetting.price import price as priced
from pdai.experiments.frames import Results
from pdai.experiments.results import stored
from pdai.experiments.verdicts import Comparison
from reference import InputError, enumerate_dag, enumerate_rewards
from reference.certificates.betting import Interval
from reference.problems import SyntheticSequences

DIAL = settings()


def small(coarse: int) -> Any:
    grid: Any = DIAL["grid, every cell"]
    return replace(grid, side=4, coarse=coarse)


@pytest.mark.parametrize("row", [row for row in DIAL if not row.startswith("SIX6")])
def test_the_reference_sees_what_networks_see(row: str) -> None:
    task = DIAL[row]
    problem, observe = task.make_problem(), observation(task)
    environment = task.make_environment(problem, 10_000)
    dag = enumerate_dag(problem)
    seen = {observe(dag.labels[u]) for u, out in enumerate(dag.out_edges) if out}
    report = check_environment(problem, environment)
    assert report.observations == len(seen)
    is_whole = row in ("grid, every cell", "bits, last 7")
    assert (report.observations == report.inner_states) is is_whole


def test_the_bounds_of_look_alikes_are_the_stored_prices() -> None:
    experiment, lines = define("study:aliasing"), {line.row: line.price for line in price.lines()}
    assert len(experiment.bounds) == 5
    for cell in experiment.cells:
        assert cell.config is not None
        if cell.row == "bits, all 8":
            assert {bounds[cell.row] for bounds in experiment.bounds.values()} == {(0, 0)}
            continue
        assert cell.config.task == DIAL[cell.row]  # type: ignore[union-attr]
        priced_row = lines[cell.row]
        least = experiment.bounds["least TV without memory"][cell.row]
        assert least == outwards(*priced_row.floor, 4)
        names = {
            "least loss without memory": "on policy",
            "least loss, uniform exploration": "uniform",
        }
        for name, loss in names.items():
            assert Interval(*experiment.bounds[name][cell.row]) == priced_row.minima[loss][0]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price, "STARTS", 2)
    monkeypatch.setattr(price, "SPLITS", 20)
    monkeypatch.setattr(price, "RAISINGS", (Fraction(1, 2),))
    monkeypatch.setattr(price, "LOSSES", ("likelihood",))
    monkeypatch.setattr(price, "MANY", 100)


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_floors_fall_with_memory_and_rise_with_the_dial() -> None:
    bounds = [priced(small(coarse)) for coarse in (1, 2, 4)]
    assert (bounds[0].floor, bounds[0].with_memory) == (Interval(0, 0), Interval(0, 0))
    for one in bounds[1:]:
        assert 0 < one.floor.low < one.floor.high
        assert one.with_memory.low == 0 < one.with_memory.high < one.floor.high
    assert bounds[1].floor.high < bounds[2].floor.low


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_of_strings_memory_brings_back_all_letters_but_no_letter() -> None:
    every: Any = DIAL["bits, last 7"]
    last, none = (priced(replace(every, last=k)) for k in (3, 0))
    assert last.with_memory == Interval(0, 0)
    assert 0 < last.floor.low < last.floor.high < none.floor.low
    # Control: where nothing but the length is seen, there is nothing to remember.
    assert none.with_memory.high == pytest.approx(none.floor.high, abs=1e-4)


PAGE = price.PAGE.read_text()


def test_the_page_has_the_stored_numbers_of_every_row() -> None:
    lines = price.lines()
    assert [line.row for line in lines] == list(DIAL)
    assert price.page(PAGE, lines) == PAGE
    # Control: another number changes the page.
    one = lines[0]._replace(trained=lines[1].trained)
    assert price.page(PAGE, [one, *lines[1:]]) != PAGE


@pytest.mark.catches(
    "the page on losses has uniform exploration end where trajectory balance does on policy",
    "docs/loss_decides.md",
    "| 0.3569 | 0.6771 |",
    "| 0.3569 | 0.3550 |",
)
def test_the_page_on_losses_has_the_stored_numbers() -> None:
    text = (FOLDER.parents[1] / "docs" / "loss_decides.md").read_text()
    page = " ".join(text.replace("\n>", "").split())
    lines = {line.row: line for line in price.lines()}
    hidden = {row: line for row, line in lines.items() if line.price.floor.high > 0}
    losses = Results(define("study:losses"), stored(define("study:losses")))
    alike = [row for row in losses.rows if row in hidden]

    def at(row: str) -> list[float]:
        """What some policy attains, and the TV at the minimum of each loss."""
        ends = outwards(*lines[row].price.floor, SHOWN_DIGITS)
        return [ends[1], *(lines[row].price.minima[loss][0].high for loss in LOSSES)]

    for row in ("bits, last 4", "bits, last 2", "grid, blocks of 2", "grid, blocks of 4"):
        least, likeliest, on_policy, uniform = at(row)
        assert all(is_proved for _, is_proved in lines[row].price.minima.values())
        cells = [least, likeliest, losses.values(row, "likelihood").mean(), on_policy]
        cells += [mean(lines[row].trained[MARKOVIAN]), uniform]
        cells.append(losses.values(row, "TB, uniform").mean())
        assert f"| {row} | {' | '.join(f'{tv:.4f}' for tv in cells)} |" in page
    least, likeliest, on_policy, uniform = at("grid, blocks of 2")
    assert f"the minimum of likelihood has a total variation (TV) of {likeliest:.3f}." in page
    assert f"balance has {on_policy:.3f}, and {uniform:.3f} with uniform exploration." in page
    assert f"Some policy with the same inputs has {least:.3f}." in page
    of_two = losses.at("grid, blocks of 2")
    *near, far = sorted(of_two.learned[of_two.model.str.endswith("uniform")])
    moved = f"from {on_policy:.3f} to {uniform:.3f}, and networks go there: to {near[0]:.2f} to"
    assert f"{moved} {near[-1]:.2f}, but for one seed of log variance, at {far:.2f}." in page
    costs = [Comparison(losses, row, ("TB", "TB, uniform")).gap for row in ("SIX6", "sparse grid")]
    of_six6, of_grid = (gap.mean for gap in costs if gap)
    assert f"cost {of_six6:.3f} on SIX6, and {of_grid:.2f} on the sparse grid" in page
    gaps = {row: Comparison(losses, row, ("likelihood", "TB")).gap for row in losses.rows}
    by_likelihood = {row: gap.mean for row, gap in gaps.items() if gap}
    assert {row for row, gain in by_likelihood.items() if gain > 0} == {*alike, "walk, rings"}
    above = {row: losses.values(row, "likelihood").mean() - at(row)[1] for row in alike}
    assert max(above[row] for row in alike if row.startswith("grid")) < 0.0005
    _, most = outwards(0, max(above.values()), SHOWN_DIGITS)
    assert f"on bits at most {most:.4f} farther off" in page
    seen = [f"{-by_likelihood[row]:.3f} on" for row in ("16 bits", "SIX6", "sparse grid")]
    assert f"by {seen[0]} 16 bits, {seen[1]} SIX6 and {seen[2]} the sparse grid" in page
    less = [f"{Comparison(losses, row, ('likelihood', 'likelihood, 512')).size:.2f}"
            for row in ("16 bits", "sparse grid")]  # fmt: skip
    assert f"leave {less[0]} of its TV on 16 bits, and {less[1]} on the sparse grid" in page
    assert f"where most is search, it is nearer by {by_likelihood['walk, rings']:.3f}" in page
    pairs = [losses.values(row, name).mean() for row in losses.rows if row not in hidden
             for name in ("TB", "log variance")]  # fmt: skip
    assert "the means of the two losses are within 0.002" in page
    assert 0.0014 < max(abs(np.diff(np.reshape(pairs, (5, 2))))) < 0.002
    of_bits = [row for row in losses.rows if row.startswith("bits")]
    for exploration, loss in (("", "on policy"), (", uniform", "uniform")):
        for row, name in product(of_bits, ("TB", "log variance")):
            learned = losses.values(row, f"{name}{exploration}").mean()
            assert abs(learned - lines[row].price.minima[loss][0].high) < 0.0014
    off, gains, moves = (dict[str, list[float]]() for _ in range(3))
    for row, line in hidden.items():
        _, likeliest, on_policy, uniform = at(row)
        family = row.split(", ")[0]
        off.setdefault(family, []).append(abs(mean(line.trained[MARKOVIAN]) - on_policy))
        gains.setdefault(family, []).append(100 * (1 - likeliest / on_policy))
        moves.setdefault(family, []).append(uniform - on_policy)
    assert max(off["bits"]) < 0.0009
    assert len(off["bits"]) == 6
    assert "within 0.0009 of the minimum of their loss, in all six rows" in page
    bits, grid = ([f"{end(gains[name]):.0f}" for end in (min, max)] for name in ("bits", "grid"))
    assert (
        f"{' to '.join(bits)} % nearer there, with the same policies; {' to '.join(grid)} %" in page
    )
    assert f"at most {max(gains['SIX6']):.1f} % on SIX6" in page
    assert [gain for gain in gains["SIX6"] if gain < 0] == [pytest.approx(-0.5, abs=0.05)]
    assert min(moves["bits"]) < 0 < max(moves["bits"]) < 0.006
    assert min(moves["bits"]) > -0.006
    ends = [f"{end(moves['SIX6']):.3f}" for end in (min, max)]
    assert f"On SIX6 uniform exploration costs {' to '.join(ends)}: there" in page
    blocks = Results(define("study:aliasing"), stored(define("study:aliasing")))
    before = blocks.untrained("grid, blocks of 4")
    beyond = [row for row in hidden if at(row)[2] > before and row.startswith("grid")]
    assert beyond == ["grid, blocks of 4", "grid, blocks of 8"]
    assert "With blocks of 4 and 8 that of trajectory balance is farther off than an" in page


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


def test_other_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="row of study:forgetting"):
        price.store(["bits, last 9"], tmp_path / "prices.json")


def syn(**options: Any) -> Any:
    return configure("syn", letters=4, **options).problem()


def law_of(problem: Any) -> dict[str, Fraction]:
    dag = enumerate_dag(problem)
    rewards = enumerate_rewards(problem, dag)
    return {dag.labels[x]: r / sum(rewards) for x, r in zip(dag.terminals, rewards, strict=True)}


def test_the_reward_is_that_of_the_first_letters_whatever_the_length() -> None:
    short, long = syn(length=2), syn(length=5, decisive=2)
    rewards = {x: long.reward(x) for x in map("".join, product("abcd", repeat=5))}
    assert all(reward == short.reward(x[:2]) for x, reward in rewards.items())
    assert len(set(rewards.values())) > 4
    # Control: by default it depends on all letters.
    assert syn(length=3).reward("aaa") != syn(length=3).reward("aad")


def test_by_default_the_problem_is_what_it_was() -> None:
    made = syn(length=5)
    expected = SyntheticSequences.random(5, 4, "append", 0)
    assert (made.u, made.v) == (expected.u, expected.v)
    same = syn(length=5, decisive=5)
    assert (same.u, same.v) == (expected.u, expected.v)


@pytest.mark.parametrize("decisive", [0, -1, 6])
def test_no_letter_and_more_than_there_are_are_refused(decisive: int) -> None:
    with pytest.raises(
        InputError, match=f"decisive is {decisive}, but must be .*at (least 1|most 5)"
    ):
        configure("syn", length=5, decisive=decisive)


def test_what_is_hidden_can_be_sampled_and_its_flows_cannot_be_balanced() -> None:
    law = law_of(syn(length=3, decisive=2))
    # No minor tells the law from those of policies that see the length and one letter, or none.
    assert least_distance(law, 1) == least_distance(law, 0) == 0
    # Control: the sum of the same terms is no such law.
    assert least_distance(law_of(syn(length=3, decisive=2, form="sum")), 0) > 0
    # After two letters of which the last is seen, the flow depends on the first.
    flows = [sum(p for x, p in law.items() if x.startswith(two)) for two in ("ad", "dd")]
    assert flows[0] != flows[1]
    # Control: with one decisive letter it does not depend on what comes after.
    idle = law_of(syn(length=3, decisive=1))
    assert len({sum(p for x, p in idle.items() if x.startswith(two)) for two in ("ad", "aa")}) == 1


def test_rows_are_the_lengths_seen_and_hidden_with_the_loss_that_has_flows() -> None:
    experiment = EXPERIMENTS["study:credit"]
    assert len(experiment.rows) == 2 * len((3, 5, 7))
    for cell in experiment.cells:
        config: Any = cell.config
        assert f"{config.task.length} letters" in cell.row
        assert config.loss.needs_flow
        assert config.task.decisive == 2
        assert (config.task.last == 1) == cell.row.endswith("last one seen")
