"""Appendix C: stochastic latent dynamics."""

from verify.claims.record import Claim

CLAIMS: tuple[Claim, ...] = ()
