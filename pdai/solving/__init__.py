"""Exact samplers, by dynamic programming or a closed form, without JAX."""
