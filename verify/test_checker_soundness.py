"""Certificates of every small lift, which are accepted, and others, which are not unless true."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from reference import RATIONAL, ForwardPolicy, marginal_by_trajectories, normalize, total_variation
from reference.certificates import Sample, check_certificate, write_certificate
from reference.certificates.refuted import THRESHOLDS, BareHeader, won_by_bets
from reference.certificates.sampled import BETS, SamplesHeader, Values, capital
from verify.lib.scopes import Scope, all_small_lifts, described


def instances(every: int) -> Iterator[tuple[ForwardPolicy[Fraction], tuple[Fraction, ...]]]:
    for draw in islice(all_small_lifts(), 0, None, every):
        dag, rng = draw.lifted.dag, draw.rng
        weights = [rng.randint(1, 9) for _ in dag.edges]
        rewards = tuple(Fraction(rng.randint(1, 9), rng.randint(1, 4)) for _ in dag.terminals)
        yield ForwardPolicy.from_weights(dag, RATIONAL, weights), rewards


@pytest.mark.claim("checker-soundness")
def test_a_certificate_is_accepted_iff_its_claim_is_the_distance(
    tmp_path: Path, scope: Scope
) -> None:
    path = tmp_path / "lift.cert"
    for forward, rewards in scope.over(instances(every=7)):
        # By the list of all trajectories.
        tv = total_variation(marginal_by_trajectories(forward), normalize(rewards))
        assert write_certificate(path, forward, rewards).value == tv
        text = path.read_text()
        assert check_certificate(path).accepted
        wrong = tv + Fraction(1, 10**30)
        for relation, right in (("=", False), ("<=", True), (">=", False)):
            line = f"TV {relation} {wrong.numerator} {wrong.denominator}"
            head, _, rest = text.partition("TV = ")
            path.write_text(head + line + "\n" + rest.partition("\n")[2])
            assert check_certificate(path).accepted == right
    scope(f"one in 7 of {described(scope.count * 7)}")


@pytest.mark.control("checker-soundness")
def test_a_certificate_with_a_changed_number_is_refused(tmp_path: Path) -> None:
    """But for the denominator of all rewards, which leaves the law of the target as it is."""
    forward, rewards = max(
        instances(every=7), key=lambda made: (len(made[1]), len(made[0].dag.edges))
    )
    path = tmp_path / "lift.cert"
    write_certificate(path, forward, rewards)
    lines, changed = path.read_text().splitlines(), 0
    for number, line in enumerate(lines[2:-1], 2):
        numbers, bar, label = line.partition(" | ")
        words = numbers.split(" ")
        for place, word in enumerate(words):
            if word.isdigit():
                other = [*words[:place], str(int(word) + 1), *words[place + 1 :]]
                text = [*lines[:number], " ".join(other) + bar + label, *lines[number + 1 :]]
                path.write_text("\n".join(text) + "\n")
                of_all_rewards = (words[0], place) == ("Z", 2)
                assert check_certificate(path).accepted == of_all_rewards, text
                changed += 1
    assert changed > 20


@pytest.mark.claim("checker-soundness")
def test_wrong_claims_about_samples_are_seldom_accepted(scope: Any) -> None:
    """Ends of 3/4 and 1/4 for 1/2 each; after each draw, somebody claims a little too much."""
    unit, steps, level = 10**12, 9, Fraction(1, 2)
    law = [Sample("-", (1, 1), [chance], [(1, 1)]) for chance in ((3, 4), (1, 4))]
    header = SamplesHeader("-", 0, 2**140, 2, 2, 1, 1, 2, 0, 0, unit, 0, 0, 0)
    values, tv = Values(header, law), unit // 4

    def is_accepted(draws: tuple[int, ...]) -> bool:
        low, high = ([side[i] for i in draws] for side in (values.low, values.high))
        won = capital(header, tv + 1, low), capital(header, unit - (tv - 1), high)
        return max(won) >= header.scale * len(BETS)

    wrong = ever([Fraction(*sample.forward[0]) for sample in law], steps, is_accepted)
    assert 0 < wrong <= level
    scope(f"all {2**steps} sequences of {steps} draws of two ends")


@pytest.mark.claim("checker-soundness")
def test_wrong_claims_about_bare_samples_are_seldom_accepted() -> None:
    """Values of 3/8 and 5/8 for 1/8 and 7/8; after each draw, somebody claims a little too much."""
    header = BareHeader("-", 2, 0, 2**140, 1, 2, 10**12 // 4 + 1, 10**12, 0, 0)
    needed = header.scale * len(BETS) * len(THRESHOLDS)
    wrong = ever(
        [Fraction(3, 8), Fraction(5, 8)],
        9,
        lambda draws: won_by_bets(header, (1, 7), draws) >= needed,
    )
    assert 0 < wrong <= Fraction(1, 2)


def ever(law: Sequence[Fraction], steps: int, holds: Callable[[tuple[int, ...]], bool]) -> Fraction:
    """The probability that something ever holds of the draws so far, over all sequences."""
    wrong = Fraction(0)
    alive: dict[tuple[int, ...], Fraction] = {(): Fraction(1)}
    for _ in range(steps):
        drawn = {(*draws, i): p * q for draws, p in alive.items() for i, q in enumerate(law)}
        alive = {draws: p for draws, p in drawn.items() if not holds(draws)}
        wrong += sum(drawn.values()) - sum(alive.values())
    return wrong
