"""Appendix D and results of ours: distributed and streaming inference, bounds."""

from verify.claims.record import Claim

CLAIMS: tuple[Claim, ...] = ()
