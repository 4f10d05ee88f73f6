"""Section 3, linear policies: what they can express on Lines."""

from verify.claims.record import Claim

CLAIMS: tuple[Claim, ...] = ()
