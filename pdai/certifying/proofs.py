"""Files of certificates: written, and checked at once by the verified program or by Python."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from reference.certificates import (
    BUILD_COMMAND,
    Sample,
    Verdict,
    check_bare,
    check_certificate,
    check_samples,
    confirm_problem,
    find_checker,
    lifted_states,
    run_checker,
    state_label,
    write_bare,
    write_certificate,
    write_samples,
)
from reference.certificates.betting import Interval
from reference.certificates.problem import states_by_label
from reference.certificates.refuted import OTHER
from reference.certificates.statement import Line
from reference.contract.errors import InputError
from reference.contract.loading import name_of
from reference.problems.enumeration import AskedProblem
from reference.rows.exact import ExactSampler
from reference.rows.sums import ExactPath


def _checked_claim(path: str | Path, check: Callable[[str | Path], Verdict]) -> Verdict:
    """The verdict of `pdai-check` if it is built, and else of a check in Python.

    Raises InputError if it is not accepted.
    """
    program = find_checker()
    return _accepted(path, "claim", check(path) if program is None else run_checker(path, program))


def _accepted(path: str | Path, part: str, verdict: Verdict) -> Verdict:
    """The verdict on a part of a file, as it was written; raises InputError if not accepted."""
    if not verdict.accepted:
        raise InputError(
            f"the {part} of {str(path)!r}, as it was written, is {verdict}: do not hand the file "
            "on; is another process writing to it, or pdai-check of another version?"
        )
    return verdict


def exact_proof(
    path: str | Path, made: ExactSampler, rewards: Sequence[Fraction], problem: Any, name: str
) -> list[str]:
    """Writes the certificate of an enumerated sampler, and gives the results of its checks.

    The claim is TV as a fraction, or a bound of 12 decimals if that has too many digits.

    Args:
        path: the file.
        made: the enumerated sampler.
        rewards: of all terminal states.
        problem: the problem, whose graph and rewards are compared with those of the file.
        name: the name of the problem in the file.
    """
    states = lifted_states(made.lifted)
    # Before there is a file, whose claim alone would be accepted.
    states_by_label(made.lifted.base)
    try:
        write_certificate(path, made.forward, rewards, states=states, problem=name)
    except InputError:
        bound: Any = {"claim": "<=", "scale": 10**40}
        write_certificate(path, made.forward, rewards, states=states, problem=name, **bound)
    claim = _checked_claim(path, check_certificate)
    confirmed = confirm_problem(path, problem, len(made.lifted.base.labels))
    _accepted(path, "graph or rewards", confirmed)
    more = "its graph and rewards are those of the problem, compared in Python"
    return _remarks(path, claim, more)


def _remarks(path: str | Path, claim: Verdict, more: str) -> list[str]:
    """The verdict on a file in words, and how to build the verified program if it is not there."""
    build = [] if claim.verified else [f"the verified program: `{BUILD_COMMAND}`"]
    return [f"{path}: {claim}; {more}", *build]


def samples_proof(
    path: str | Path,
    paths: Sequence[ExactPath],
    problem: Any,
    log_z: Interval,
    interval: Interval,
    level: float,
) -> list[str]:
    """Writes a statistical certificate, and gives the result of its check in words.

    Args:
        path: the file.
        paths: the trajectories, in the order of the draws.
        problem: the problem, which has the rewards.
        log_z: bounds of log Z, in nats.
        interval: the bounds of TV.
        level: the probability with which these are wrong, at most.
    """
    reward = AskedProblem[Any](problem).reward
    rewards = {x: reward(x) for x in dict.fromkeys(path.terminal for path in paths)}
    samples = [
        Sample(
            state_label(x),
            rewards[x].as_integer_ratio(),
            [p.as_integer_ratio() for p in forward],
            [p.as_integer_ratio() for p in backward],
        )
        for x, forward, backward in paths
    ]
    claim = write_samples(path, samples, log_z, interval, level, problem=name_of(type(problem)))
    verdict = _checked_claim(path, check_samples)
    bounds = Line("TV", claim, "bound").text()
    return _remarks(path, verdict, f"TV lies in {bounds}, if its samples are independent draws")


def bare_proof(
    path: str | Path,
    samples: Sequence[Hashable],
    law: Mapping[Hashable, Fraction],
    problem: Any,
    level: float,
) -> list[str]:
    """Writes a statistical certificate of bare samples, and gives the result of its check in words.

    Args:
        path: the file.
        samples: the samples, in the order of the draws.
        law: the probability of each terminal state under the target.
        problem: the problem or the law, whose name the file has.
        level: the probability with which the bound is wrong, at most.
    """
    texts = {value: state_label(value) for value in law}
    # Values of the same text are one value of the file, whose TV is then no larger.
    listed = dict.fromkeys(texts.values(), Fraction(0))
    for value, p in law.items():
        listed[texts[value]] += p
    name = name_of(type(problem))
    low = write_bare(path, listed, (texts.get(x, OTHER) for x in samples), level, problem=name)
    bounds = Line("TV", Interval(low, 1.0), "bound").text()
    more = f"TV lies in {bounds}, if the samples are independent draws"
    return _remarks(path, _checked_claim(path, check_bare), more)
