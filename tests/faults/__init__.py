"""Faults of the kind that people make, each with the test that must see it; see `__main__`."""

from tests.faults import in_certificates, in_fast, in_problems, in_reference
from tests.faults.fault import Fault

FAULTS: tuple[Fault, ...] = (
    *in_reference.FAULTS,
    *in_certificates.FAULTS,
    *in_problems.FAULTS,
    *in_fast.FAULTS,
)
