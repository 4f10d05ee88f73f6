"""The options of `pdai.certify` and of `pdai certify`: one record, read by both."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Self

import tyro

from pdai.certifying.target import log_z_interval
from reference.certificates.regimes import Budget
from reference.certificates.statement import Regime
from reference.contract.errors import (
    InputError,
    check_fields,
    check_hashable,
    check_integer,
    check_seed,
    check_sequence,
    shown,
)
from reference.contract.files import check_output
from reference.contract.loading import load_object
from reference.contract.user_code import number_or_infinite
from reference.rows.features import Features
from reference.rows.functions import Gives, Takes


def _from_words(metavar: str, nargs: Any, read: Callable[[list[str]], Any]) -> Any:
    """The command-line form of an option whose Python type has no text form."""
    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=nargs,
        metavar=metavar,
        instance_from_str=read,
        is_instance=lambda value: True,
        str_from_instance=lambda value: [str(value)],
    )


_NAME = _from_words("MODULE:NAME", 1, lambda words: words[0])
_LAW = _from_words("uniform|PATH", 1, lambda words: words[0])
_PATH = _from_words("PATH", 1, lambda words: Path(words[0]))
_LOG_Z = _from_words(
    "FLOAT [FLOAT]", "*", lambda words: float(*words) if len(words) == 1 else [*map(float, words)]
)


def checked_level(level: Any) -> float:
    """A level of confidence; raises InputError unless it lies between 0 and 1."""
    # A fraction of a smaller level would be zero in float64.
    if not 1e-300 < (number := number_or_infinite(level, "level")) < 1:
        raise InputError(f"level is {level}, but must lie between 0 and 1: say, 1e-6")
    return number


@dataclass(frozen=True, kw_only=True)
class CertifyOptions:
    """The options of a certificate. In Python, a function or samples may replace a name."""

    log_z: Annotated[Any, _LOG_Z] = None
    """log Z in nats, or a lower and an upper bound of it; by default the problem's."""
    target: Annotated[Sequence[Hashable] | str | Path | None, _PATH] = None
    """Independent samples of the target for regime S: a CSV file."""
    law: Annotated[Mapping[Hashable, Any] | str | Path | None, _LAW] = None
    """The target without a problem: a file of values and weights, or uniform over --support."""
    support: Annotated[Sequence[Hashable] | str | Path | None, _PATH] = None
    """The values of the uniform law: a file with one in each line."""
    header: Annotated[bool | None, tyro.conf.arg(constructor=bool)] = None
    """The first lines of CSV files name the columns, or are values; by default they do where they
    hold names that are known, such as value, terminal, state or sample, and no others."""
    weights: Annotated[Mapping[Hashable, Any] | None, tyro.conf.Fixed, tyro.conf.Suppress] = None
    """The weights of the law by value, as `law` takes them."""
    log_weights: Annotated[Mapping[Hashable, Any] | None, tyro.conf.Fixed, tyro.conf.Suppress] = (
        None
    )
    """The logarithms of the weights of the law by value, in nats."""
    log_prob: Annotated[Callable[[Any], Any] | None, _NAME] = None
    """A function from a sampled value to its log-probability under the sampler, in nats."""
    p_b: Annotated[Callable[[Any], Any] | None, _NAME] = None
    """A function from a state to a row over its parents; by default uniform."""
    takes: Takes = "state"
    """The argument of the function: a state, a list of states, a history or a list of these."""
    gives: Gives = "probabilities"
    """The numbers in the rows of the function."""
    if_independent: bool = False
    """Take samples for independent draws, untested: the report is titled so."""
    regime: Regime | None = None
    """E, Z, S or N; by default the first in this order that the inputs allow."""
    width: float = 0.01
    """Stop drawing once the interval is this narrow."""
    samples: int = 100_000
    """Draw at most this many trajectories."""
    seconds: float = 60.0
    """Draw, and learn p_B, for at most this many seconds of wall time."""
    level: float = 1e-6
    """Probability with which each bound may fail, at most."""
    seed: int = 0
    """Random seed of the draws."""
    of: Annotated[int | None, tyro.conf.arg(name="run-seed")] = None
    """Which of a run's seeds; by default its first."""
    tighten: int = 0
    """Learn p_B first, in this many steps of 256 trajectories."""
    paths: int = 1
    """Bound TV of terminal states with this many backward paths to each; regimes Z and S."""
    features: Annotated[Features | None, _NAME] = None
    """A function from a terminal state to numbers in [0, 1] by name: their means are reported."""
    mode_states: Annotated[Sequence[Hashable], tyro.conf.Fixed, tyro.conf.Suppress] = ()
    """Terminal states whose probabilities are reported."""
    max_states: int = 100_000
    """Enumerate at most this many states or histories."""
    certificate: Annotated[Path | str | None, _PATH, tyro.conf.arg(aliases=["--proof"])] = None
    """Write a certificate to this file, in regime E or Z or for samples beside a listed law, and
    check it (by pdai-check if built)."""

    def checked(self) -> Self:
        """The options, checked, with functions in place of their names.

        Raises InputError if an option is of another type than declared, or out of its range.
        """
        loaded = {
            name: load_object(spec, "function", "my_module:name")
            for name in ("p_b", "features", "log_prob")
            if isinstance(spec := getattr(self, name), str)
        }
        for name in ("law", "weights", "log_weights"):
            law = getattr(self, name)
            if callable(law) or (isinstance(law, str) and ":" in law and not Path(law).exists()):
                raise InputError(
                    f"{name} is {shown(law)}, but must have a weight for each value: write a file "
                    "of them, or in Python give log_weights={x: log_density(x) for x in values}"
                )
        # Any kind of number is accepted.
        loaded |= {
            name: number_or_infinite(getattr(self, name), name) for name in ("width", "seconds")
        }
        loaded["level"] = checked_level(self.level)
        check_fields(options := replace(self, **loaded), "certify")
        check_seed("certify", self.seed)
        check_integer("certify", "tighten", self.tighten, 0)
        check_integer("certify", "paths", self.paths, 1)
        check_integer("certify", "max_states", self.max_states, 1, most=10**12)
        for name, value, least in zip(Budget._fields, options.budget, (0, 2, 0), strict=True):
            if not value >= least:
                raise InputError(f"{name} is {value}, but must be at least {least}")
        if self.target is not None and not isinstance(self.target, str | Path):
            check_sequence("certify", "target", self.target)
            if not len(self.target):
                raise InputError("target is empty, but must be samples of the target: leave it out")
            for state in self.target:
                check_hashable("a sample of the target", state)
        if self.log_z is not None:
            log_z_interval(self.log_z, "log_z")
        if self.certificate is not None:
            check_output(Path(self.certificate))
        return options

    def drawn(self, count: int) -> None:
        """Receives the number of trajectories drawn so far; a command prints it."""

    @property
    def budget(self) -> Budget:
        """The limits at which drawing stops."""
        return Budget(self.width, self.samples, self.seconds)
