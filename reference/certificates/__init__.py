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
...     claim = write_certificate(path, p_f, rewards, claim="<=", digits=3)
...     verdicts = check_certificate(path), confirm_problem(path, problem)
>>> print(claim)
TV <= 657/1000
>>> print(verdicts[0])
accepted by Python (not verified)
"""

from reference.certificates.check import Verdict as Verdict
from reference.certificates.check import check_certificate as check_certificate
from reference.certificates.format import Claim as Claim
from reference.certificates.format import Header as Header
from reference.certificates.format import Inner as Inner
from reference.certificates.format import Relation as Relation
from reference.certificates.format import Terminal as Terminal
from reference.certificates.format import write_rows as write_rows
from reference.certificates.problem import confirm_problem as confirm_problem
from reference.certificates.problem import state_label as state_label
from reference.certificates.program import BUILD_COMMAND as BUILD_COMMAND
from reference.certificates.program import find_checker as find_checker
from reference.certificates.program import run_checker as run_checker
from reference.certificates.reading import MalformedError as MalformedError
from reference.certificates.reading import open_certificate as open_certificate
from reference.certificates.reading import read_header as read_header
from reference.certificates.refuted import check_bare as check_bare
from reference.certificates.refuted import write_bare as write_bare
from reference.certificates.sample import CertifiedSampler as CertifiedSampler
from reference.certificates.sample import numpy_bits as numpy_bits
from reference.certificates.sampled import Sample as Sample
from reference.certificates.sampled import check_samples as check_samples
from reference.certificates.sampled import write_samples as write_samples
from reference.certificates.table import lifted_states as lifted_states
from reference.certificates.table import write_certificate as write_certificate
