"""The attacks of `python -m tests.attack`, a bounded number of each kind."""

import random
from pathlib import Path

from reference import BackwardPolicy, ForwardPolicy
from tests.attack import calls, commands
from tests.attack.outcome import FAILURES, attempted


def test_garbage_for_any_public_function_is_refused_or_answered_rightly() -> None:
    rng, functions = random.Random(0), calls.names()
    assert {"marginal", "kl_divergence", "ForwardPolicy.from_rows", "Grid", "lift"} <= set(
        functions
    )
    found = [calls.attack(rng, name, call) for name, call in functions.items() for _ in range(30)]
    assert [outcome.story for outcome in found if outcome.ending in FAILURES] == []
    endings = {outcome.ending for outcome in found}
    assert endings == {"refused", "answered rightly"}


def test_control_failures_are_seen() -> None:
    def refusing() -> None:
        raise TypeError("not ours")

    def endless() -> None:
        while True:
            pass

    policy = ForwardPolicy.uniform(calls.DAG, calls.RATIONAL)
    backward = BackwardPolicy.uniform(calls.DAG, calls.RATIONAL)
    assert attempted("", refusing, lambda _: True).ending == "foreign error"
    assert attempted("", endless, lambda _: True, seconds=0.05).ending == "hung"
    assert attempted("", lambda: 1, lambda _: False).ending == "wrong in silence"
    # As it was when a law was taken of any policy.
    assert not calls.is_meant("marginal", {"policy": backward})
    assert not calls.is_meant("mass", {"kernel": policy})
    assert not calls.is_meant("kl_divergence", {"p": [3.0, 4.0], "q": [5.0, 6.0]})


def test_garbage_on_the_command_line_ends_in_one_line(tmp_path: Path) -> None:
    for words in (["sample", "x" * 5_000], ["plot", "\udcff"]):
        found = commands.attack(words, tmp_path)
        assert found.ending == "refused", found.story
