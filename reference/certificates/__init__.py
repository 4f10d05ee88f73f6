"""Certificates of samplers: files with exact rows, rewards, and their total variation.

A reader of the file need not trust its writer: `pdai-check`, a program extracted from a proof
(`proofs_notes/checker`), accepts only true claims.

>>> import tempfile
>>> from reference import RATIONAL, ForwardPolicy, enumerate_dag, enumerate_rewards
>>> from reference.certificates import check_certificate, confirm_problem, write_certificate
>>> from reference.problems import Grid
>>> problem = Grid.minimal()
>>> dag = enumerate_dag(problem)
>>> with tempfile.TemporaryDirectory() as folder:
...     path = folder + "/grid.cert"
...     p_f, rewards = ForwardPolicy.uniform(dag, RATIONAL), enumerate_rewards(problem, dag)
...     claim = write_certificate(path, p_f, rewards, relation="<=", digits=3)
...     verdicts = check_certificate(path), confirm_problem(path, problem)
>>> print(claim)
TV <= 657/1000
>>> print(verdicts[0])
accepted by Python (not verified)
"""

from reference.certificates.check import Verdict, check_certificate
from reference.certificates.format import (
    Claim,
    Header,
    Inner,
    Relation,
    Terminal,
    write_rows,
)
from reference.certificates.problem import confirm_problem, state_label
from reference.certificates.program import BUILD_COMMAND, find_checker, run_checker
from reference.certificates.reading import MalformedError, open_certificate, read_header
from reference.certificates.sample import CertifiedSampler, numpy_bits
from reference.certificates.table import lifted_states, write_certificate

__all__ = [
    "BUILD_COMMAND",
    "CertifiedSampler",
    "Claim",
    "Header",
    "Inner",
    "MalformedError",
    "Relation",
    "Terminal",
    "Verdict",
    "check_certificate",
    "confirm_problem",
    "find_checker",
    "lifted_states",
    "numpy_bits",
    "open_certificate",
    "read_header",
    "run_checker",
    "state_label",
    "write_certificate",
    "write_rows",
]
