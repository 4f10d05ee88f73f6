"""Settings of the tests, not of what they test."""

import pytest

from verify.lib.compilation import compile_quickly, forget_programs, keep_programs


def pytest_configure(config: pytest.Config) -> None:
    # Compared are arithmetic, resumption and messages. `pdai verify --exhaustive` runs what ships.
    compile_quickly()
    keep_programs(config)


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    if nextitem is None or nextitem.path != item.path:
        forget_programs()
