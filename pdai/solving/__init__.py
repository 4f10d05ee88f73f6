"""Exact samplers: by dynamic programming, or by a problem's closed form. Imports no JAX."""
