"""Certificates: how far a sampler is from its target, with a proof or a level of confidence."""
