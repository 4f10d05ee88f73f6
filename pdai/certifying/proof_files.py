"""Certificate files of exact samplers, checked as soon as they are written."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from reference.certificates import (
    BUILD_COMMAND,
    check_certificate,
    confirm_problem,
    find_checker,
    lifted_states,
    run_checker,
    write_certificate,
)
from reference.certificates.exact import ExactSampler
from reference.errors import InputError


def write_proof(
    path: str | Path, made: ExactSampler, rewards: Sequence[Fraction], problem: Any, name: str
) -> list[str]:
    """Writes the certificate file of an exact sampler, and checks it.

    The claim is TV as a fraction, or a bound of 12 decimals if that has too many digits.

    Args:
        path: the path of the file.
        made: the exact sampler.
        rewards: `R(x)`, one per terminal state.
        problem: the problem with these states and rewards.
        name: the name of the problem, for readers of the file.

    Returns:
        The results of the checks, in sentences.

    Raises:
        InputError: if the file is not accepted.
    """
    states = lifted_states(made.lifted)
    try:
        write_certificate(path, made.forward, rewards, states=states, problem=name)
    except InputError:
        write_certificate(
            path, made.forward, rewards, states=states, problem=name, claim="<=", scale=10**40
        )
    program = find_checker()
    claim = check_certificate(path) if program is None else run_checker(path, program)
    graph = confirm_problem(path, problem, len(made.lifted.base.labels))
    for part, verdict in (("claim", claim), ("graph or rewards", graph)):
        if not verdict.accepted:
            raise InputError(
                f"the {part} of {str(path)!r}, as it was written, is {verdict}: do not hand the "
                "file on; is another process writing to it, or pdai-check of another version?"
            )
    said = f"{path}: {claim}; its graph and rewards are those of the problem, compared in Python"
    return [said] if claim.verified else [said, f"the verified program: `{BUILD_COMMAND}`"]
