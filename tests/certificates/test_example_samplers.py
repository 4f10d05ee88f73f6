"""The worked examples of `assert_law`, each of which has a right sampler and a wrong one."""

from collections.abc import Callable

import pytest

from examples import samplers

TESTS = {name: test for name, test in vars(samplers).items() if name.startswith("test_")}


# The trees of networkx take milliseconds each.
SLOW = {"test_spanning_trees_of_networkx"}
CASES = [
    pytest.param(test, id=name, marks=pytest.mark.long if name in SLOW else ())
    for name, test in TESTS.items()
]


@pytest.mark.parametrize("test", CASES)
def test_an_example(test: Callable[[], None]) -> None:
    test()


def test_every_example_is_run() -> None:
    assert len(TESTS) == 7
