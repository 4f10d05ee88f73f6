"""Section 4 and appendix, the recurrences: RNN, SRWM, heads."""

from verify.claims.record import Claim

CLAIMS: tuple[Claim, ...] = ()
