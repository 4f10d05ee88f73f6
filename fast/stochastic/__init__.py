"""Samplers whose latent is random: the stochastic section of the paper's appendix."""
