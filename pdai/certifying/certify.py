"""`pdai.certify`: the total variation of any sampler to its target."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from os.path import isdir, isfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pdai.certifying.objects import HasLogProb, certify_object
from pdai.certifying.policy import certify_policy
from pdai.certifying.samples import Draws, certify_samples
from reference.certificates.drawn_theorem import write_drawn_theorem
from reference.certificates.listed import ListedLaw, from_logs, law_of
from reference.certificates.statement import FLOAT_INPUT, Certificate
from reference.certificates.theorem import write_theorem
from reference.contract.errors import InputError, check_type, no_such, shown
from reference.contract.files import InFolder, check_output
from reference.contract.loading import load_object
from reference.contract.tables import FILES, STDIN
from reference.contract.user_code import called
from reference.rows.walks import Sampler

# The kinds of samplers, by the names of the functions that judge them.
KINDS = {
    "certify_run": "a run, which has a problem and rows of its own",
    "certify_policy": "a function",
    "certify_samples": "samples, which are drawn already",
    "certify_object": "an object that draws trajectories or has log_prob",
}
LAWS = ("law", "weights", "log_weights", "support", "columns")
COUNTED = (
    "the law is a Counter, whose counts are taken for exact weights: if they count draws of the "
    "target, the distance is to those draws, and not to the target"
)


# A module of the user's may have numpy.seterr(all="raise"), where exponentials underflow.
@np.errstate(all="warn", under="ignore")
def certify(
    what: Any,
    problem: Any = None,
    *,
    law: Any = None,
    weights: Mapping[Hashable, Any] | None = None,
    log_weights: Mapping[Hashable, Any] | None = None,
    support: Any = None,
    theorem: str | Path | None = None,
    **options: Any,
) -> Certificate:
    """Certify how close a sampler is to its target: TV exactly, or with a level of confidence.

    The certificate has the first of these regimes that the inputs allow. E: everything is
    enumerated. Z: `log Z` is known or bounded. S: samples of the target are given. N: neither, so
    that only lower bounds are certified.

    Args:
        what: a run, or its folder; a function from a state to a row of numbers, one per child;
            samples, as a sequence, an array, an iterator or a frame, or how often each came, as a
            `Counter`, a dict or `value_counts()`; a file of samples or of recorded trajectories,
            `-` for the standard input; an object whose `draw(count)` gives
            as many independent draws; one with `log_prob(x)`, such as a module of PyTorch; a
            sampler of `pdai.adapters`; or `module:name` of a function or an object.
        problem: a problem, its class, or `module:Name`; a run has its own.
        law: the target without a problem: the weight of each value, a file or a frame of these, or
            `uniform`.
        weights: the weight of each value, as in `law`.
        log_weights: the logarithm of the weight of each value, in nats.
        support: the values of the uniform law, or a file with one in each line.
        theorem: a file of a theorem to write, for `pdai theorem`.
        options: those of `certify_run`, `certify_policy`, `certify_samples` or `certify_object`,
            which judges it.

    Raises:
        InputError: if the sampler, the problem, an option or a sample breaks a rule, or the
            requested regime is not possible.
    """
    judge, sampler = _judge_of(_counted(what))
    options = {name: value for name, value in options.items() if value is not None}
    targets: dict[str, Any] = {"law": law, "weights": weights, "log_weights": log_weights}
    targets = {
        name: one for name, one in {**targets, "problem": problem}.items() if one is not None
    }
    _check_read(judge, {**targets, **options})
    for name in ("p_b", "features", "log_prob"):
        if isinstance(spec := options.get(name), str):
            options[name] = load_object(spec, "function", "my_module:name")
    if targets or support is not None:
        reading = options.get("header"), options.get("columns", ())
        options["problem"] = _target(targets, support, *reading)
    if judge is not certify_samples:
        options.pop("columns", None)
    if theorem is None:
        certificate = judge(sampler, **options)
    else:
        certificate = _stated(judge, sampler, Path(theorem), options)
    if isinstance(target := options.get("problem"), ListedLaw):
        certificate = replace(certificate, notes=[*certificate.notes, *target.notes])
    if isinstance(law, Counter) or isinstance(weights, Counter):
        certificate = replace(certificate, notes=[*certificate.notes, COUNTED])
    return certificate


def _stated(
    judge: Callable[..., Certificate], sampler: Any, path: Path, options: dict[str, Any]
) -> Certificate:
    """The certificate of a sampler, whose table or samples are written as a theorem."""
    check_output(path)
    if "certificate" not in _options_of(judge):
        raise InputError(
            f"theorem is {shown(str(path))}, but certify writes none for {KINDS[judge.__name__]}: "
            "leave it out"
        )
    if Path(options.get("certificate", "")) == path:
        raise InputError(f"theorem and certificate are both {shown(str(path))}: name two files")
    with TemporaryDirectory() as folder:
        file = options.setdefault("certificate", Path(folder) / "table")
        certificate = judge(sampler, **options)
        if certificate.regime == "E":
            claim = write_theorem(path, file, closed=certificate.kind == FLOAT_INPUT).claim
        else:
            claim = write_drawn_theorem(path, file).claim
    notes = [n.replace(f"{folder}/table: ", f"the table of {path}: ") for n in certificate.notes]
    note = f"{path}: a theorem: {claim}; Coq's kernel checks it: pdai theorem {path}"
    return replace(certificate, notes=[*notes, note])


def _counted(what: Any) -> Any:
    """A `Counter` of a dict of whole numbers, or of `value_counts()` of pandas; else what it is."""
    if hasattr(what, "to_dict") and getattr(what, "name", None) == "count":
        return Counter(what.to_dict())
    is_counts = type(what) is dict and what and all(type(x) is int for x in what.values())
    return Counter(what) if is_counts else what


def _judge_of(what: Any) -> tuple[Callable[..., Certificate], Any]:
    """The function that judges such a sampler, and the sampler; raises InputError for none."""
    # A text may be longer than the name of a file can be.
    if isinstance(what, InFolder) or (isinstance(what, str | Path) and isdir(what)):
        # Imported here, as other samplers need no runs.
        from pdai.certifying.run import certify_run

        return certify_run, what
    if isinstance(what, str | Path):
        if str(what) == STDIN or isfile(what) or Path(what).suffix in FILES:
            return certify_samples, what
        if isinstance(what, Path) or ":" not in what:
            raise InputError(
                f"there is no run folder and no file {shown(str(what))} here: check the path; a "
                "sampler of your own is named module:Name, such as my_module:policy"
            )
        judge, sampler = _judge_of(load_object(what, "sampler", "my_module:policy"))
        return judge, what if judge is certify_policy else sampler
    if isinstance(what, type) and issubclass(what, Draws | HasLogProb):
        what = called(what.__name__, "its constructor", what)
    if isinstance(what, Sampler) or (isinstance(what, HasLogProb) and not isinstance(what, Draws)):
        return certify_object, what
    is_listed = isinstance(what, Iterable) and not isinstance(what, Mapping)
    if isinstance(what, Draws | Counter) or is_listed:
        return certify_samples, what
    if callable(what):
        return certify_policy, what
    raise InputError(
        f"the sampler is of the type {type(what).__name__}, but must be a run folder, a "
        "function from a state to a row of probabilities (table.__getitem__), samples in the "
        "order of the draws or a Counter of them, a CSV file of them, or has draw(count)"
    )


def _check_read(judge: Callable[..., Certificate], options: Mapping[str, Any]) -> None:
    """Checks that a judge reads what it is asked; raises InputError with the names of the rest."""
    read = _options_of(judge)
    unread = {name: value for name, value in options.items() if name not in read}
    if not unread:
        return
    from pdai.certifying.run import certify_run

    judges = (certify_run, certify_policy, certify_samples, certify_object)
    names = dict.fromkeys(name for one in judges for name in _options_of(one))
    for name in unread:
        if name not in names:
            raise InputError(no_such("option of certify", name, names))
    values = " and ".join(f"{name} is {shown(value)}" for name, value in unread.items())
    them = "it" if len(unread) == 1 else "them"
    raise InputError(
        f"{values}, but certify does not read {them} for {KINDS[judge.__name__]}: leave {them} out"
    )


def _options_of(judge: Callable[..., Certificate]) -> Sequence[str]:
    """The names of what a judge reads beside the sampler; a law stands for a problem."""
    _, *names = signature(judge).parameters
    return [*names, *LAWS] if "problem" in names else names


def _target(
    targets: Mapping[str, Any], support: Any, header: bool | None, columns: Sequence[str]
) -> Any:
    """The one target, a problem or a law; raises InputError if there are several, or it is none.

    Header and columns are those of its files.
    """
    if len(targets) > 1:
        raise InputError(
            f"the {' and the '.join(targets)} each give the target: leave one of the two out"
        )
    if support is not None and not targets.keys() - {"problem"}:
        raise InputError("support is given without a law: add law='uniform' (--law uniform)")
    ((name, law),) = targets.items()
    if name == "problem":
        return law
    if callable(law) or (isinstance(law, str) and ":" in law and not Path(law).exists()):
        raise InputError(
            f"{name} is {shown(law)}, but must have a weight for each value: write a file of "
            "them, or in Python give log_weights={x: log_density(x) for x in values}"
        )
    if name != "law":
        check_type("certify", name, law, Mapping)
    if name == "log_weights":
        return ListedLaw(from_logs(law))
    return law_of(law, support, header, columns)
