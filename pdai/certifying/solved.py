"""A solved run as a sampler to be certified."""

from pathlib import Path

from fast.runs.identity import changed_parts
from pdai.certifying.options import CertifyOptions
from pdai.certifying.sources import SamplerSource
from pdai.certifying.target import Target
from pdai.solving.solved import Solved
from reference.certificates.regimes import ExactLaw
from reference.contract.errors import InputError, TooLargeError
from reference.contract.text import at_most

ROWS = "the certificate covers the rows of policy.npz, from which `pdai sample` draws exactly"


class SolvedSource(SamplerSource):
    """The rows of a solved run; the options' limits are used.

    Raises InputError if it draws from a closed form, or another seed or regime is asked for.
    """

    def __init__(self, run: Solved, options: CertifyOptions):
        self.run = run
        folder = str(run.folder)
        if run.recipe.way != "listed":
            raise InputError(
                f"{folder!r} is exact by its formula: it draws from a closed form, whose law is "
                "the target as far as the formula is right, and which has no rows to certify; to "
                "see rows certified, solve a smaller instance with --way listed"
            )
        if options.of not in (None, 0) or options.regime not in (None, "E"):
            raise InputError(
                f"{folder!r} is solved: it has one sampler, which regime E certifies; leave "
                "--run-seed and --regime out"
            )
        states = len(run.flows.graph.counts)
        if states > options.max_states:
            raise TooLargeError(
                f"{folder!r} has {states:,} states, more than --max-states: raise it to have TV "
                f"in exact rationals; at most {at_most(run.tv_bound)} was proved by pdai solve"
            )
        super().__init__(folder, Target(run.problem, options.max_states, options.seconds))
        self.notes = [ROWS]
        if changed := "; ".join(changed_parts(run.folder)):
            self.notes.append(f"the code has changed since it was solved, and is used: {changed}")

    def exact(self, file: str | Path | None) -> ExactLaw:
        name = self.run.task.short_name
        return self._law(self.run.exact, file, name, "the rows of policy.npz")
