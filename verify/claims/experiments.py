"""Section 5 and appendix: metrics, rewards and claims that only training can settle."""

from verify.claims.record import Claim

CLAIMS: tuple[Claim, ...] = ()
