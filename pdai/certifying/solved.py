"""A solved run as a sampler to be certified."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

from fast.runs.identity import changed_parts
from pdai.certifying.options import CertifyOptions
from pdai.certifying.sources import SamplerSource
from pdai.certifying.target import Target
from pdai.solving.solved import Solved
from reference.certificates.exact import ExactLaw, ExactSampler
from reference.certificates.rows import exact_row
from reference.errors import InputError, TooLargeError
from reference.fields.field import RATIONAL
from reference.lifted import LiftedDAG
from reference.policies import ForwardPolicy

ROWS = "the certificate covers the rows of policy.npz, from which `pdai sample` draws exactly"


class SolvedSource(SamplerSource):
    """The rows of a solved run.

    Args:
        run: the run.
        options: the options, of which the limits are used.

    Raises:
        InputError: if it draws from a closed form, or another seed or regime is asked for.
    """

    def __init__(self, run: Solved, options: CertifyOptions):
        self.run = run
        folder = str(run.folder)
        if run.recipe.way != "listed":
            raise InputError(
                f"{folder!r} draws from a closed form, which has no rows to certify, and whose law "
                "is the target as far as its formula is right: solve a smaller instance with --way "
                "listed, or certify samples of it as a CSV file"
            )
        if options.of not in (None, 0) or options.regime not in (None, "E"):
            raise InputError(
                f"{folder!r} is solved: it has one sampler, which regime E certifies; leave "
                "--run-seed and --regime out"
            )
        states = len(run.flows.graph.counts)
        if states > options.max_states:
            raise TooLargeError(
                f"{folder!r} has {states:,} states, more than --max-states: raise it to have TV in "
                f"exact rationals; that it is at most {run.tv_bound:.2g} was proved by pdai solve"
            )
        super().__init__(folder, Target(run.problem, options.max_states, options.seconds))
        self.notes = [ROWS]
        if changed := "; ".join(changed_parts(run.folder)):
            self.notes.append(f"the code has changed since it was solved, and is used: {changed}")

    def exact(self, file: str | Path | None) -> ExactLaw:
        dag, rows, offsets = self.run.dag, self.run.flows.rows, self.run.flows.graph.offsets
        values: list[Fraction] = []
        for start, end in pairwise(offsets.tolist()):
            values += exact_row(rows[start:end].tolist()) if end > start else ()
        # The sampler sees the state, so that its graph is its own lift.
        lifted = LiftedDAG(dag, dag, tuple(range(len(dag.labels))), tuple(range(len(dag.edges))))
        made = ExactSampler(lifted, ForwardPolicy(dag, RATIONAL, values))
        return self._law(made, file, self.run.recipe.task.short_name)
