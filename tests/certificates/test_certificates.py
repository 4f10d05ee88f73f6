"""Certificates in Python: written, read, checked, compared with a problem, and sampled from."""

import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fast.laws.exact_policy import exact_policy
from reference import RATIONAL, ForwardPolicy, History, enumerate_dag, enumerate_rewards, lift
from reference.certificates import (
    CertifiedSampler,
    Claim,
    MalformedError,
    Relation,
    check_certificate,
    confirm_problem,
    lifted_states,
    numpy_bits,
    open_certificate,
    read_header,
    state_label,
    table,
    write_certificate,
    write_rows,
)
from reference.certificates.check import Walk
from reference.contract.errors import InputError
from reference.fields.field import FLOAT64
from reference.problems import Grid, Sets, TableSequences
from tests.certificates.corruptions import (
    FOREIGN,
    FOREIGN_HISTORIES,
    GOOD,
    HISTORIES,
    RIGHT,
    WRONG,
    Merging,
    Small,
)
from tests.certificates.drawn import policy, sampler, tv_by_trajectories
from tests.refusals import refused
from verify.crosscheck.instances import make_instance, random_policy
from verify.lib.bits import bits_of

SMALL = enumerate_dag(Small())
UNIFORM = ForwardPolicy.uniform(SMALL, RATIONAL)
ONES = [Fraction(1)] * 3


@pytest.mark.catches(
    "The checker in Python gives a state the mass of its last parent, not the sum.",
    "reference/certificates/check.py",
    "self._masses[child] = new if old is None else self._arithmetic.plus(old, new)",
    "self._masses[child] = new",
)
def test_right_certificates_are_accepted(path: Path) -> None:
    for text in RIGHT:
        path.write_text(text)
        verdict = check_certificate(path)
        assert verdict.accepted, text
        assert str(verdict) == "accepted by Python (not verified)"


@pytest.mark.catches(
    "The checker in Python takes rows that sum to less than one.",
    "reference/certificates/check.py",
    "if sum(numerator for _, numerator in row.steps) != row.denominator:",
    "if sum(numerator for _, numerator in row.steps) > row.denominator:",
)
def test_control_wrong_certificates_are_not(path: Path) -> None:
    for name, text in WRONG.items():
        path.write_text(text)
        verdict = check_certificate(path)
        assert not verdict.accepted, name
        assert verdict.reason, name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("4503599627370497", "the row of node 1: its row does not sum to one"),
        ("i 3 1 1 5 2", "the row of node 2: its child 1 is not larger than 2"),
        ("i 3 4 -1 5 4", "the row of node 2: the probability of its child 4 is neg"),
        ("i 3 4 3", "the row of node 5: no earlier node leads to it"),
        ("Z 16 6", "the rewards sum to 15, not to 16 (Z is wrong)"),
        ("TV = 0 1", "TV = 0 is claimed, and TV is 0.1"),
        ("rounded, no room above", "TV <= 1/10 is claimed, and TV is between 0.0"),
        ("i 3 4 1 5 2" + "0" * 4_000, "line 9: a number has more than 4,000 digits"),
        ("-> t 3", "line 10: expected ' | LABEL'"),
        ("fields exchanged", "line 5: expected 'Z'"),
    ],
    ids=lambda text: text[-60:],
)
def test_the_reason_names_the_place(path: Path, name: str, reason: str) -> None:
    path.write_text(next(text for full, text in WRONG.items() if full.endswith(name)))
    assert reason in check_certificate(path).reason


def test_a_file_that_is_not_there_is_an_error(path: Path) -> None:
    for function in (check_certificate, read_header, CertifiedSampler.load):
        refused("No such file", function, path)
    os.mkfifo(path)
    refused("is a pipe, which is not read", check_certificate, path)


# The problem in the file.


@pytest.mark.catches(
    "A terminal state may be two nodes of a certificate, each with part of its mass.",
    "reference/certificates/problem.py",
    "if state in ends:",
    "if False:",
)
@pytest.mark.catches(
    "A child of a state may be two nodes of a certificate.",
    "reference/certificates/problem.py",
    "sorted(below[child] for child in numbers) != sorted(",
    "{below[child] for child in numbers} != set(",
)
@pytest.mark.parametrize(
    ("problem", "text", "changes"),
    [(Small(), GOOD, FOREIGN), (Merging(), HISTORIES, FOREIGN_HISTORIES)],
)
def test_a_certificate_of_another_problem_is_noticed(
    path: Path, problem: Small, text: str, changes: dict
) -> None:
    path.write_text(text)
    assert confirm_problem(path, problem).accepted
    for name, change in changes.items():
        path.write_text(change(text))
        # What it claims is true: only the comparison can tell.
        assert check_certificate(path).accepted, name
        assert confirm_problem(path, problem).status == "refused", name
    path.write_text(GOOD[: GOOD.index("end")])
    assert confirm_problem(path, problem).status in ("malformed", "refused")


class Ambiguous(Small):
    """Two states with one text."""

    class Shout(str):
        def __repr__(self) -> str:
            return repr(self.lower())

    initial = Shout("A")
    graph = {initial: (Shout("B"), Shout("b"))}  # noqa: RUF012


def test_two_states_of_one_label_are_an_error(path: Path) -> None:
    path.write_text(GOOD)
    refused("the same label", lambda: confirm_problem(path, Ambiguous()))


def test_labels_are_the_same_in_every_process() -> None:
    code = (
        "from reference.certificates.problem import state_label\n"
        "from reference.problems.grid import Cell\n"
        "print(state_label((frozenset({'b', 'a', ('c', 1)}), Cell((1, 2), True), None, 'é\\n')))"
    )
    expected = r"({'a', 'b', ('c', 1)}, Cell((1, 2), True), None, '\xe9\n')" + "\n"
    for seed in "01":
        environment = os.environ | {"PYTHONHASHSEED": seed}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
        assert run.stdout.decode() == expected
    refused("no text of its own", lambda: state_label((object(),)))


# Writing.


def of_random_rows(problem: Any) -> Any:
    lifted = lift(enumerate_dag(problem), History())
    return problem, lifted, policy(random.Random(2), lifted.dag)


def of_network(dynamics: str) -> Any:
    instance = make_instance("synthetic, prepend-append")
    network = random_policy(instance.environment, dynamics=dynamics)
    return instance.problem, *exact_policy(network, instance.enumeration, 100_000)


@pytest.mark.parametrize(
    ("make", "of"),
    [
        *((of_random_rows, kind.minimal()) for kind in (Grid, Sets, TableSequences)),
        *((of_network, dynamics) for dynamics in ("markov", "srwm")),
    ],
    ids=["grid", "sets", "sequences", "markov", "srwm"],
)
def test_what_is_written_is_read_again(path: Path, make: Any, of: Any) -> None:
    problem, lifted, forward = make(of)
    rewards = enumerate_rewards(problem, enumerate_dag(problem))
    states = lifted_states(lifted)
    claim = write_certificate(path, forward, rewards, states=states, problem="a name", claim="=")
    assert claim.value == tv_by_trajectories(forward, list(rewards))
    header = read_header(path)
    assert (header.problem, header.claim, header.nodes) == ("a name", claim, len(lifted.dag.labels))
    assert check_certificate(path).accepted
    assert confirm_problem(path, problem).accepted
    again = path.with_name("again")
    with open_certificate(path) as (header, rows):
        write_rows(again, header, rows)
    assert again.read_bytes() == path.read_bytes()


def test_bounds_are_rounded_outward(path: Path) -> None:
    rng = random.Random(3)
    for _ in range(25):
        forward, rewards = sampler(rng)
        tv = tv_by_trajectories(forward, rewards)
        for scale in (None, 1, 10**6):
            high = write_certificate(path, forward, rewards, claim="<=", digits=4, scale=scale)
            assert check_certificate(path).accepted
            low = write_certificate(path, forward, rewards, claim=">=", digits=4, scale=scale)
            assert check_certificate(path).accepted
            assert low.value <= tv <= high.value
            assert {low.value.denominator, high.value.denominator} <= {
                2**i * 5**j for i in range(5) for j in range(5)
            }
        # The last scale is fine enough: each bound is a unit of the fourth decimal away.
        assert high.value - low.value <= Fraction(3, 10**4)


def test_a_claim_that_does_not_hold_is_not_written(path: Path) -> None:
    rewards = enumerate_rewards(Small(), SMALL)
    tv = tv_by_trajectories(UNIFORM, list(rewards))
    little = Fraction(1, 10**20)
    wrong: list[tuple[Relation | Claim, int | None]] = [
        (Claim("=", tv + little), None),
        (Claim("<=", tv - little), None),
        (Claim(">=", tv + little), None),
        ("=", 7),
        (Claim("<=", tv), 7),
    ]
    for claim, scale in wrong:
        with pytest.raises(InputError, match="cannot be claimed"):
            write_certificate(path, UNIFORM, rewards, claim=claim, scale=scale)
    for claim in (Claim("<=", tv), Claim("<=", tv + little)):
        assert write_certificate(path, UNIFORM, rewards, claim=claim) == claim
        assert check_certificate(path).accepted


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rewards": ONES[:2]}, "2 rewards"),
        ({"rewards": [Fraction(0)] * 3}, "one of them positive"),
        ({"rewards": [Fraction(-1), Fraction(2), Fraction(1)]}, "one of them positive"),
        ({"rewards": [1.5, 1.5, 1.5]}, "reward"),
        ({"forward": ForwardPolicy.uniform(SMALL, FLOAT64)}, "give one in RATIONAL"),
        ({"states": ["a"]}, "1 states"),
        ({"scale": 0}, "scale"),
        ({"digits": -1}, "digits"),
        ({"claim": "=="}, "claim is '==', but must be one of"),
        ({"problem": "é"}, "printable"),
        ({"states": ["x" * 10_000] * 6}, "printable"),
        ({"rewards": [Fraction(1, 10**4_100)] * 3}, "digits"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_what_cannot_be_written_is_one_error(path: Path, changed: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        write_certificate(path, **{"forward": UNIFORM, "rewards": ONES, **changed})
    assert not list(path.parent.iterdir())


def test_unrelated_denominators_need_a_scale(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forward = ForwardPolicy.from_weights(SMALL, RATIONAL, [1, 2, 1, 4, 1, 6])
    arguments = (path, forward, ONES)
    # 3, 5 and 7 have the least common multiple 105, of 7 bits.
    monkeypatch.setattr(table, "MAX_DENOMINATOR_BITS", 7)
    write_certificate(*arguments)
    monkeypatch.setattr(table, "MAX_DENOMINATOR_BITS", 6)
    refused("give a `scale`", lambda: write_certificate(*arguments))
    write_certificate(*arguments, claim="<=", scale=10**40)
    assert check_certificate(path).accepted


def test_memory_follows_the_width_of_the_graph(path: Path) -> None:
    problem = Sets.minimal()
    dag = enumerate_dag(problem)
    lifted = lift(dag, History())
    forward = ForwardPolicy.uniform(lifted.dag, RATIONAL)
    rewards = enumerate_rewards(problem, dag)
    write_certificate(path, forward, rewards, states=lifted_states(lifted), claim="<=")
    with open_certificate(path) as (header, rows):
        walk = Walk(header.nodes, header.reward_sum, header.scale)
        open_masses = []
        for row in rows:
            walk.step(row)
            open_masses.append(len(walk._masses))
    branches = max(map(len, dag.children))
    assert max(open_masses) <= len(dag.terminals) + branches * max(dag.depths)
    assert open_masses[-1] == 0
    assert header.nodes > 2 * max(open_masses)


def test_a_path_is_one_of_the_graph(path: Path) -> None:
    path.write_text(GOOD)
    sampled = CertifiedSampler.load(path)
    assert sampled.path(bits_of("00" + "0" * 53)) == [0, 1, 3]
    assert sampled.path(bits_of("11" + "01")) == [0, 2, 5]


def test_numpy_bits_are_below_the_bound() -> None:
    bits = numpy_bits(np.random.default_rng(1))
    for length in (1, 7, 8, 9, 64, 200):
        drawn = [bits(length) for _ in range(200)]
        assert max(drawn) < 2**length
        assert max(drawn) >= 2 ** (length - 1) > min(drawn)


def test_a_table_that_is_not_accepted_is_not_sampled(path: Path) -> None:
    path.write_text(GOOD.replace("TV = 1 10", "TV = 0 1"))
    refused("refused", CertifiedSampler.load, path)
    path.write_text(GOOD.replace("t 3 |", "t 0x3 |"))
    with pytest.raises(MalformedError, match="line 10"):
        CertifiedSampler.load(path)
