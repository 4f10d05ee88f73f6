"""Rows of a sampler: exact probabilities, drawn walks, sums over paths, flows."""
