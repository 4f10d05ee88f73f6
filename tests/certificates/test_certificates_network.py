"""The table of a network, as a certificate: of states, and of histories."""

from pathlib import Path

import pytest

from fast.laws.exact_policy import exact_policy
from reference import marginal, normalize, total_variation
from reference.certificates import (
    check_certificate,
    confirm_problem,
    lifted_states,
    read_header,
    write_certificate,
)
from verify.crosscheck.instances import make_instance, random_policy


@pytest.mark.parametrize("dynamics", ["markov", "srwm"])
def test_the_table_of_a_network_is_certified(dynamics: str, tmp_path: Path) -> None:
    instance = make_instance("synthetic, prepend-append")
    rewards = instance.enumeration.rewards
    policy = random_policy(instance.environment, dynamics=dynamics)
    lifted, exact = exact_policy(policy, instance.enumeration, 100_000)
    path = tmp_path / "certificate"
    claim = write_certificate(path, exact, rewards, states=lifted_states(lifted))
    assert claim.value == total_variation(marginal(exact), normalize(rewards))
    assert read_header(path).nodes == len(lifted.dag.labels)
    assert check_certificate(path).accepted
    assert confirm_problem(path, instance.problem).accepted
