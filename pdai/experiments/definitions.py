"""The experiments, read from `definitions.toml` and `findings/`. Imports no JAX."""

import json
import tomllib
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from math import ceil, floor
from pathlib import Path
from typing import Any

from fast.training.compose import configure
from pdai.distributed.plan import DIRECT, KINDS
from pdai.experiments.base import LEAST, LEAST_LOSS, LIKELIEST, Cell, Experiment, Quoted, cells
from reference.contract.files import parsed_json, read_file

FOLDER = Path(__file__).parent
PRICES = FOLDER / "results" / "study_forgetting_prices.json"

# The fields of a row that are not options of its task.
_OF_A_ROW = ("columns", "models", "latents", "paper", "probe", "plan", "stored")
_COMBINED, _PRODUCT = "combined", "on the product"
# The names of stored floors in tables, and those of the losses whose minima are shown beside them.
_BOUNDS = {LEAST: "floor", "least TV with memory": "with_memory"}
_MINIMA = {
    LIKELIEST: "likelihood",
    LEAST_LOSS: "on policy",
    "least loss, uniform exploration": "uniform",
}
# Floors are shown with four digits, rounded outwards.
SHOWN_DIGITS = 4


def define(label: str, pho4: Path | None = None) -> Experiment:
    """The experiment of a label; cells of PHO4 have no training without its table."""
    fields = dict(next(entry for entry in _data()["experiment"] if entry["label"] == label))
    shared = {name: fields.pop(name) for name in _OF_A_ROW if name in fields}
    rows = [{**shared, **row} for row in fields.pop("rows")]
    if steps := fields.pop("again", 0):
        rows += [{**row, "row": f"{row['row']}, {steps:,} steps", "steps": steps} for row in rows]
    every = tuple(cell for row in rows for cell in _cells(row, pho4))
    texts = ("title", "claim", "setting", "explained")
    fields |= {name: _flowing(fields.get(name, "")) for name in texts}
    if "bounds" in fields:
        # The row of study:forgetting that each row has its prices of.
        names = {row["row"]: row["row"] for row in rows} | fields["bounds"]
        stored = parsed_json(read_file(PRICES))
        prices = {row: stored[name] for row, name in names.items() if name in stored}
        bounds = {
            name: {row: outwards(p[key][0], p[key][1], SHOWN_DIGITS) for row, p in prices.items()}
            for name, key in _BOUNDS.items()
        }
        for name, loss in _MINIMA.items():
            bounds[name] = {row: (*price["minima"][loss][0],) for row, price in prices.items()}
        fields["bounds"] = bounds
    path = FOLDER / "findings" / f"{label.replace(':', '_')}.md"
    finding = "\n\n".join(map(_flowing, read_file(path, follow=True).decode().split("\n\n")))
    return Experiment(cells=every, finding=finding, **{k: _fixed(v) for k, v in fields.items()})


def labels() -> list[str]:
    """The labels of all experiments, in the order of the report."""
    return [entry["label"] for entry in _data()["experiment"]]


def pairs_of_gains() -> list[dict[str, Any]]:
    """The pairs of stored cells that differ in one thing, task by task."""
    gains: list[dict[str, Any]] = [
        json.loads(json.dumps(gain).replace("{}", row))
        for gain in _data()["gain"]
        for row in gain.get("rows", [""])
    ]
    for gain in gains:
        if chain := gain.get("memory"):
            gain.update(form=chain[:2], memory=chain[1:])
    return gains


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(read_file(FOLDER / "definitions.toml", follow=True).decode())


def _cells(row: Mapping[str, Any], pho4: Path | None) -> tuple[Cell, ...]:
    """The cells of a row of the file."""
    name, paper = row["row"], [Quoted(*pair) for pair in row.get("paper", ())]
    options = {key: value for key, value in row.items() if key not in ("row", *_OF_A_ROW)}
    columns = _columns(row)
    if "stored" in row:
        return tuple(Cell(name, model, None) for model in row["stored"])
    if options.get("base") == "pho4":
        if pho4 is None:
            return cells(name, None, columns, paper)
        options["table"] = pho4
    config = configure(**_whole(options))
    if "plan" in row:
        plan_options = {key: _fixed(value) for key, value in row["plan"].items()}
        plan = KINDS[plan_options.pop("kind")](config, **plan_options)
        return Cell(name, _COMBINED, plan), Cell(name, _PRODUCT, plan.runs()[DIRECT])
    return cells(name, config, columns, paper, row.get("probe"))


def _columns(row: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The columns of a row, each with the options that it changes."""
    names = row.get("columns", [])
    chosen: dict[str, dict[str, Any]] = {}
    for name in [names] if isinstance(names, str) else names:
        columns = _data()["columns"][name]
        if "learning_rates" in columns:
            columns = {
                f"{network}, {rate:g}": {"network": network, "learning_rate": rate}
                for network in columns["networks"]
                for rate in columns["learning_rates"]
            }
        chosen |= {model: _whole(options) for model, options in columns.items()}
    for model, size in row.get("latents", {}).items():
        chosen[model] = {**chosen[model], "latent_size": size}
    return {model: chosen[model] for model in row.get("models", chosen)}


def _whole(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with those of the task and the network that they name, which they override."""
    for key, kind in (("base", "tasks"), ("network", "networks")):
        while key in options:
            rest = {name: value for name, value in options.items() if name != key}
            options = {**_data()[kind][options[key]], **rest}
    return dict(options)


def outwards(lower: Fraction | float, upper: Fraction | float, digits: int) -> tuple[float, float]:
    """The ends of an interval as decimals, rounded outwards.

    Args:
        lower: the lower end.
        upper: the upper end.
        digits: the number of decimals.
    """
    scale = 10**digits
    # The decimals of a float, not its binary value: 0.1763 stays as it is.
    low, high = (Fraction(str(end)) * scale for end in (lower, upper))
    return floor(low) / scale, ceil(high) / scale


def _flowing(text: str) -> str:
    """A text with spaces for its line breaks."""
    return " ".join(text.split())


def _fixed(value: Any) -> Any:
    return tuple(map(_fixed, value)) if isinstance(value, list) else value
