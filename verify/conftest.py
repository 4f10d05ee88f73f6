"""Options, Hypothesis profiles, and the ledger that is printed after a run."""

import io
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from rich.console import Console

from reference.contract.errors import no_such
from reference.contract.files import read_file, replace_file
from verify.lib import scopes
from verify.lib.compilation import compile_quickly, forget_programs, keep_programs
from verify.lib.ledger import CLAIMS
from verify.lib.notes import write_table
from verify.lib.report import findings, ledger_json, ledger_table, summary

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile("ci", max_examples=200, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=20_000, deadline=None, derandomize=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("claims of the paper")
    group.addoption(
        "--exhaustive",
        action="store_true",
        help="all lifts up to 6 states, and more: up to an hour",
    )
    group.addoption("--claim", metavar="ID", help="only the tests of that claim")
    group.addoption("--ledger-json", metavar="FILE", help="write the ledger to that file")
    group.addoption(
        "--ledger-notes",
        metavar="FILE",
        help="write its table to that file, and the heads of the notes beside it",
    )


def pytest_configure(config: pytest.Config) -> None:
    # Also in pyproject.toml, which an installed package does not see.
    config.addinivalue_line("markers", "claim(*labels): checks the claims with these labels")
    config.addinivalue_line("markers", "control(*labels): breaks a hypothesis of these claims")
    config.addinivalue_line("markers", "long: takes seconds, and tests more cases")
    config.addinivalue_line("markers", "catches(mistake, file, right, wrong): fails with that edit")
    config.addinivalue_line("markers", "crosscheck(*parts): compares these parts of fast")
    wanted, known = config.getoption("--claim"), [claim.id for claim in CLAIMS]
    if wanted is not None and wanted not in known:
        whole = [claim.id for claim in CLAIMS if wanted in claim.also.split()]
        belongs = [f"{wanted} belongs to {claim}: give that" for claim in whole]
        raise pytest.UsageError(*belongs or [no_such("claim in the ledger", wanted, known)])
    exhaustive = config.getoption("--exhaustive")
    scopes.set_exhaustive(exhaustive)
    if not exhaustive:
        compile_quickly()
    keep_programs(config)
    settings.load_profile("long" if exhaustive else os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path != item.path:
        forget_programs()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--claim`, spares the import of tests that do not name it, and of cross-checks."""
    wanted, name = config.getoption("--claim"), collection_path.name
    if wanted is None or not name.startswith("test_"):
        return True if wanted and name == "crosscheck" else None
    return None if f'"{wanted}"' in read_file(collection_path).decode() else True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("--claim")
    kept = []
    for item in items:
        markers = [
            (kind, label)
            for kind in ("claim", "control")
            for marker in item.iter_markers(kind)
            for label in marker.args
        ]
        # Properties, unlike markers, travel with the report, also from a worker process.
        item.user_properties.extend(markers)
        if wanted is None or wanted in (claim for _, claim in markers):
            kept.append(item)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    by_claim = findings(terminalreporter.stats)
    wanted = config.getoption("--claim")
    claims = [claim for claim in CLAIMS if wanted in (None, claim.id)]
    if path := config.getoption("--ledger-json"):
        replace_file(Path(path), f"{ledger_json(by_claim, claims)}\n".encode())
    if path := config.getoption("--ledger-notes"):
        checked = {claim: "; ".join(finding.scopes) for claim, finding in by_claim.items()}
        write_table(Path(path), checked)
    if by_claim or wanted:
        text = io.StringIO()
        console = Console(file=text, width=max(120, shutil.get_terminal_size().columns))
        console.print(ledger_table(by_claim, claims))
        console.print(summary(claims, by_claim))
        console.print(
            "A check asserts the claim. A control breaks one hypothesis on purpose and asserts "
            "that the conclusion fails, so that the check is known to be able to fail."
        )
        terminalreporter.write_line("")
        terminalreporter.write(text.getvalue())


@pytest.fixture
def scope(record_property: Any) -> scopes.Scope:
    """The record of what a test looked at."""
    return scopes.Scope(lambda what: record_property("scope", what))
