"""Distances between a sampler and its target: exact where possible, else estimated."""
