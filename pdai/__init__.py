"""The public interface: train samplers in Python, and certify how far they are from the target.

    import pdai

    run = pdai.train("lines", dynamics="gru", loss="tb", steps=500)
    run.report, run.law(), run.sample(10)
    pdai.certify(run)
    pdai.report([run], "report.html")

A problem, loss, network, backward policy or environment of your own is given as an object where the
command line takes `module:Name`.
"""

import importlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fast.laws.samples import Law as Law
    from fast.laws.samples import Samples as Samples
    from pdai.certifying.certify import certify as certify
    from pdai.certifying.power import power as power
    from pdai.checks import check as check
    from pdai.front import draw as draw
    from pdai.front import inspect as inspect
    from pdai.front import train as train
    from pdai.loading import load as load
    from pdai.posteriors.answers import posterior as posterior
    from pdai.run import Run as Run
    from pdai.show.page.page import report as report
    from pdai.solving.solve import solve as solve
    from pdai.solving.solved import Solved as Solved
    from reference.certificates.statement import Certificate as Certificate

# The module of each public name.
_FROM = {
    "Certificate": "reference.certificates.statement",
    "Law": "fast.laws.samples",
    "Run": "pdai.run",
    "Samples": "fast.laws.samples",
    "Solved": "pdai.solving.solved",
    "certify": "pdai.certifying.certify",
    "check": "pdai.checks",
    "draw": "pdai.front",
    "inspect": "pdai.front",
    "load": "pdai.loading",
    "posterior": "pdai.posteriors.answers",
    "power": "pdai.certifying.power",
    "report": "pdai.show.page.page",
    "solve": "pdai.solving.solve",
    "train": "pdai.front",
}
__all__ = list(_FROM)

# A room enters its parts in the tables of `fast`. Of a foreign `fast` `check_names` tells later.
with suppress(ImportError):
    importlib.import_module("pdai.posteriors")


def check_names() -> None:
    """Checks that no foreign module hides one of ours, whose names are generic."""
    for name, part in (("reference", "reference.problems"), ("fast", "fast.training")):
        try:
            importlib.import_module(part)
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith(name):
                raise
            other = importlib.import_module(name)
            place = getattr(other, "__file__", None) or next(iter(other.__path__))
            raise ImportError(
                f"pdai needs its package {name!r}, but {place} has that name and is found first: "
                "rename it, or run from another folder"
            ) from None


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used, as JAX loads slowly."""
    if name in _FROM:
        check_names()
        from reference.contract.errors import naming_extras
        from reference.contract.loading import no_collection

        with naming_extras(), no_collection():
            return getattr(importlib.import_module(_FROM[name]), name)
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("pdai")
        except PackageNotFoundError:
            return "unknown"
    raise AttributeError(f"module 'pdai' has no attribute {name!r}")
