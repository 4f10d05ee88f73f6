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

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
