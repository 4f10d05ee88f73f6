"""Distributed and streaming inference: several runs whose samplers multiply (appendix D)."""
