"""Markers, Hypothesis profiles, and the ledger that is printed after a run."""

import io
import os
import shutil
from collections import Counter
from typing import Any

import pytest
from hypothesis import settings
from rich.console import Console
from rich.table import Table

from verify.ledger import CLAIMS

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=20_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_configure(config: pytest.Config) -> None:
    # Also in pyproject.toml, which an installed package does not see.
    config.addinivalue_line("markers", "claim(label): checks the claim with that label")
    config.addinivalue_line("markers", "control(label): breaks a hypothesis of that claim")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Properties, unlike markers, travel with the report, also from a worker process.
    for item in items:
        for kind in ("claim", "control"):
            marker = item.get_closest_marker(kind)
            if marker is not None:
                item.user_properties.append((kind, marker.args[0]))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    counts: Counter[tuple[object, ...]] = Counter()
    scope: dict[object, list[str]] = {}
    for outcome in ("passed", "failed", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            properties = getattr(report, "user_properties", [])
            for kind, label in properties:
                if kind in ("claim", "control"):
                    counts[kind, label, outcome] += 1
                    found = [str(value) for name, value in properties if name == "scope"]
                    scope.setdefault(label, []).extend(found)
    table = Table(title="Ledger of the paper's claims", show_lines=True)
    table.add_column("claim", no_wrap=True)
    for name in ("verdict", "checked on", "control"):
        table.add_column(name)
    for name in ("checks", "controls"):
        table.add_column(name, justify="right", no_wrap=True)
    for claim in CLAIMS:
        cells = []
        for kind in ("claim", "control"):
            good = counts[kind, claim.label, "passed"]
            bad = counts[kind, claim.label, "failed"] + counts[kind, claim.label, "error"]
            cells.append(f"{good} ok" + (f", {bad} FAILED" if bad else ""))
        if claim.label in scope:
            checked = "; ".join(dict.fromkeys(scope[claim.label]))
            table.add_row(claim.label, claim.verdict, checked, claim.control, *cells)
    if table.row_count:
        text = io.StringIO()
        console = Console(file=text, width=max(120, shutil.get_terminal_size().columns))
        console.print(table)
        console.print(
            "A check asserts the claim. A control breaks one hypothesis on purpose and asserts "
            "that the conclusion fails, so that the check is known to be able to fail."
        )
        terminalreporter.write_line("")
        terminalreporter.write(text.getvalue())


@pytest.fixture
def scope(record_property: Any) -> Any:
    """Says in the ledger what a test looked at: `scope("548 lifts")`."""
    return lambda what: record_property("scope", what)
