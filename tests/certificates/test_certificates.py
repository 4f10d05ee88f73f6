"""Certificates in Python: written, read, checked, compared with a problem, and sampled from."""

import itertools
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from reference import (
    RATIONAL,
    ForwardPolicy,
    History,
    enumerate_dag,
    enumerate_rewards,
    lift,
    marginal,
)
from reference.certificates import (
    CertifiedSampler,
    Claim,
    Inner,
    MalformedError,
    Relation,
    Terminal,
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
from reference.certificates.sample import below
from reference.errors import InputError
from reference.fields.field import FLOAT64
from reference.problems import Grid, Sets, TableSequences
from tests.certificates.corruptions import (
    CORRUPTIONS,
    FOREIGN,
    FOREIGN_HISTORIES,
    GOOD,
    HISTORIES,
    HISTORY_CORRUPTIONS,
    SAME,
    Merging,
    Small,
)
from tests.certificates.drawn import policy, sampler, tv_by_trajectories


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "certificate"


@pytest.mark.catches(
    "The checker in Python gives a state the mass of its last parent, not the sum.",
    "reference/certificates/check.py",
    "self._masses[child] = new if old is None else self._arithmetic.plus(old, new)",
    "self._masses[child] = new",
)
def test_right_certificates_are_accepted(path: Path) -> None:
    for text in (HISTORIES, *(change(GOOD) for change in SAME.values())):
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
    wrong = {name: change(GOOD) for name, change in CORRUPTIONS.items()}
    wrong |= {name: change(HISTORIES) for name, change in HISTORY_CORRUPTIONS.items()}
    for name, text in wrong.items():
        path.write_text(text)
        verdict = check_certificate(path)
        assert not verdict.accepted, name
        assert verdict.reason, name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("row sums to one plus one ulp", "the row of node 1: its row does not sum to one"),
        ("edge backwards, a cycle", "the row of node 2: its child 1 is not larger than 2"),
        ("negative entry, sum right", "the row of node 2: the probability of its child 4 is neg"),
        ("second source", "the row of node 5: no earlier node leads to it"),
        ("Z wrong", "the rewards sum to 15, not to 16 (Z is wrong)"),
        ("TV of zero", "TV = 0 is claimed, and TV is 0.1"),
        ("rounded, no room above", "TV <= 1/10 is claimed, and TV is between 0.0"),
        ("4,001 digits", "line 9: a number has more than 4,000 digits"),
        ("a label missing", "line 10: expected ' | LABEL'"),
        ("fields exchanged", "line 5: expected 'Z'"),
    ],
)
def test_the_reason_names_the_place(path: Path, name: str, reason: str) -> None:
    path.write_text(CORRUPTIONS[name](GOOD))
    assert reason in check_certificate(path).reason


def test_a_file_that_is_not_there_is_an_error(path: Path) -> None:
    for function in (check_certificate, read_header, CertifiedSampler.load):
        with pytest.raises(InputError, match="No such file"):
            function(path)
    os.mkfifo(path)
    with pytest.raises(InputError, match="is a pipe, which is not read"):
        check_certificate(path)


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
    path.write_text(CORRUPTIONS["truncated before end"](GOOD))
    assert confirm_problem(path, problem).status in ("malformed", "refused")


def test_the_table_of_a_markovian_policy_is_a_lift_too(path: Path) -> None:
    problem = Merging()
    dag = enumerate_dag(problem)
    forward = ForwardPolicy.uniform(dag, RATIONAL)
    write_certificate(path, forward, enumerate_rewards(problem, dag))
    assert confirm_problem(path, problem).accepted
    assert not confirm_problem(path, Small()).accepted


class Ambiguous(Small):
    """Two states with one text."""

    class Shout(str):
        def __repr__(self) -> str:
            return repr(self.lower())

    initial = Shout("A")
    graph = {initial: (Shout("B"), Shout("b"))}  # noqa: RUF012


def test_two_states_of_one_label_are_an_error(path: Path) -> None:
    path.write_text(GOOD)
    with pytest.raises(InputError, match="the same label"):
        confirm_problem(path, Ambiguous())


def test_labels_are_the_same_in_every_process() -> None:
    code = (
        "from reference.certificates import state_label\n"
        "from reference.problems import Cell\n"
        "print(state_label((frozenset({'b', 'a', ('c', 1)}), Cell((1, 2), True), None, 'é\\n')))"
    )
    expected = r"({'a', 'b', ('c', 1)}, Cell((1, 2), True), None, '\xe9\n')" + "\n"
    for seed in "01":
        environment = os.environ | {"PYTHONHASHSEED": seed}
        run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
        assert run.stdout.decode() == expected
    with pytest.raises(InputError, match="no text of its own"):
        state_label((object(),))


# Writing.


@pytest.mark.parametrize(
    "problem", [Grid.minimal(), Sets.minimal(), TableSequences.minimal()], ids=str
)
def test_what_is_written_is_read_again(path: Path, problem) -> None:
    dag = enumerate_dag(problem)
    rewards = enumerate_rewards(problem, dag)
    lifted = lift(dag, History())
    forward = policy(random.Random(2), lifted.dag)
    claim = write_certificate(
        path, forward, rewards, states=lifted_states(lifted), problem="a name", claim="="
    )
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
    for _ in range(50):
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
    problem = Small()
    dag = enumerate_dag(problem)
    rewards = enumerate_rewards(problem, dag)
    forward = ForwardPolicy.uniform(dag, RATIONAL)
    tv = tv_by_trajectories(forward, list(rewards))
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
            write_certificate(path, forward, rewards, claim=claim, scale=scale)
    for claim in (Claim("<=", tv), Claim("<=", tv + little)):
        assert write_certificate(path, forward, rewards, claim=claim) == claim
        assert check_certificate(path).accepted


def test_what_cannot_be_written_is_one_error(path: Path) -> None:
    dag = enumerate_dag(Small())
    forward = ForwardPolicy.uniform(dag, RATIONAL)
    rewards = [Fraction(1)] * 3
    for changed, message in (
        ({"rewards": rewards[:2]}, "2 rewards"),
        ({"rewards": [Fraction(0)] * 3}, "one of them positive"),
        ({"rewards": [Fraction(-1), Fraction(2), Fraction(1)]}, "one of them positive"),
        ({"rewards": [1.5, 1.5, 1.5]}, "reward"),
        ({"forward": ForwardPolicy.uniform(dag, FLOAT64)}, "give one in RATIONAL"),
        ({"states": ["a"]}, "1 states"),
        ({"scale": 0}, "scale"),
        ({"digits": -1}, "digits"),
        ({"claim": "=="}, "claim is '==', but must be one of"),
        ({"problem": "é"}, "printable"),
        ({"states": ["x" * 10_000] * 6}, "printable"),
        ({"rewards": [Fraction(1, 10**4_100)] * 3}, "digits"),
    ):
        arguments = {"forward": forward, "rewards": rewards} | changed
        with pytest.raises(InputError, match=message):
            write_certificate(path, **arguments)
        assert not list(path.parent.iterdir())


def test_unrelated_denominators_ask_for_a_scale(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dag = enumerate_dag(Small())
    forward = ForwardPolicy.from_weights(dag, RATIONAL, [1, 2, 1, 4, 1, 6])
    arguments = (path, forward, [Fraction(1)] * 3)
    # 3, 5 and 7 have the least common multiple 105, of 7 bits.
    monkeypatch.setattr(table, "MAX_DENOMINATOR_BITS", 7)
    write_certificate(*arguments)
    monkeypatch.setattr(table, "MAX_DENOMINATOR_BITS", 6)
    with pytest.raises(InputError, match="give a `scale`"):
        write_certificate(*arguments)
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


# Sampling.


class Script:
    """Bits from a fixed string; counts those that were taken."""

    def __init__(self, string: str) -> None:
        self.left, self.taken = string, 0

    def __call__(self, length: int) -> int:
        if length > len(self.left):
            raise EOFError
        word, self.left = self.left[:length], self.left[length:]
        self.taken += length
        return int(word, 2)


def strings(length: int) -> Iterator[str]:
    return map("".join, itertools.product("01", repeat=length))


@pytest.mark.parametrize("bound", [1, 2, 3, 4, 5, 7, 8])
def test_integers_below_a_bound_are_uniform(bound: int) -> None:
    # Of all strings of bits, each number comes from equally many; the rest were all rejected.
    length = 3 * max(1, (bound - 1).bit_length())
    counts: Counter[int] = Counter()
    for string in strings(length):
        try:
            counts[below(bound, Script(string))] += 1
        except EOFError:
            continue
    assert set(counts) == set(range(bound))
    assert len(set(counts.values())) == 1
    rejected = 1 - Fraction(bound, 2 ** ((bound - 1).bit_length()))
    assert 2**length - counts.total() == 2**length * rejected**3


def test_the_law_of_the_sampler_is_the_certified_one(path: Path) -> None:
    # Powers of two reject nothing: over all strings of six bits, frequencies are the law.
    dag = enumerate_dag(Small())
    weights = [3, 1, 5, 3, 1, 7]
    forward = ForwardPolicy.from_weights(dag, RATIONAL, weights)
    write_certificate(path, forward, [Fraction(1)] * 3)
    sampled = CertifiedSampler.load(path)
    drawn = Counter(sampled.draw(Script(string)) for string in strings(5))
    law = {label: Fraction(count, 2**5) for label, count in drawn.items()}
    p_t = dict(zip(map(state_label, "xyz"), marginal(forward), strict=True))
    assert law == p_t


def test_the_law_with_rejections_is_the_certified_one(path: Path) -> None:
    # Denominators 4 and 3: what has ended within 8 bits has the law but for what was rejected.
    path.write_text(HISTORIES.replace("i 8 5 1 6 7", "i 3 5 1 6 2").replace("= 5 96", "= 0 1"))
    sampled = CertifiedSampler.load(path)
    ended: Counter[str] = Counter()
    for string in strings(8):
        try:
            ended[sampled.draw(Script(string))] += 1
        except EOFError:
            continue
    # 2 bits, then of 3 tries of 2 bits one below 3: both laws are (1/3, 2/3).
    assert ended["'x'"] * 2 == ended["'y'"]
    assert ended.total() == 2**8 * (1 - Fraction(1, 4) ** 3)


@pytest.mark.parametrize("generator", ["numpy", "python"])
def test_frequencies_follow_the_certified_law(path: Path, generator: str) -> None:
    path.write_text(GOOD)
    bits = (
        numpy_bits(np.random.default_rng(0))
        if generator == "numpy"
        else random.Random(0).getrandbits
    )
    sampled = CertifiedSampler.load(path)
    n = 8_000
    drawn = Counter(sampled.draw(bits) for _ in range(n))
    law = {"'x'": 1 / 8, "'y'": 3 / 8, "'z'": 1 / 2}
    assert set(drawn) == set(law)
    chi2 = sum((drawn[x] - n * p) ** 2 / (n * p) for x, p in law.items())
    # 2 degrees of freedom: exceeded with probability e^-9, 1 in 8,000; the seed is fixed.
    assert chi2 < 18
    # Control: the law of a sampler with the same TV is told apart.
    other = {"'x'": 3 / 8, "'y'": 1 / 8, "'z'": 1 / 2}
    assert sum((drawn[x] - n * p) ** 2 / (n * p) for x, p in other.items()) > 18


def test_a_path_is_one_of_the_graph(path: Path) -> None:
    path.write_text(GOOD)
    sampled = CertifiedSampler.load(path)
    assert sampled.path(Script("00" + "0" * 53)) == [0, 1, 3]
    assert sampled.path(Script("11" + "01")) == [0, 2, 5]


def test_numpy_bits_are_below_the_bound() -> None:
    bits = numpy_bits(np.random.default_rng(1))
    for length in (1, 7, 8, 9, 64, 200):
        drawn = [bits(length) for _ in range(200)]
        assert max(drawn) < 2**length
        assert max(drawn) >= 2 ** (length - 1) > min(drawn)


def test_a_table_that_is_not_accepted_is_not_sampled(path: Path) -> None:
    path.write_text(CORRUPTIONS["TV of zero"](GOOD))
    with pytest.raises(InputError, match="refused"):
        CertifiedSampler.load(path)
    path.write_text(CORRUPTIONS["hexadecimal"](GOOD))
    with pytest.raises(MalformedError, match="line 10"):
        CertifiedSampler.load(path)


def test_rows_are_values(path: Path) -> None:
    path.write_text(GOOD)
    with open_certificate(path) as (_, rows):
        listed = list(rows)
    assert listed[2] == Inner("'b'", 3, ((4, 1), (5, 2)))
    assert listed[5] == Terminal("'z'", 6)
