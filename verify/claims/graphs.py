"""Section 3, graph networks: what memory adds to refinement."""

from verify.claims.record import Claim

CLAIMS: tuple[Claim, ...] = ()
