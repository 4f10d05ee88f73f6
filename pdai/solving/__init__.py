"""Exact samplers, by dynamic programming or a closed form; and the teacher that they make.

Only the teacher imports JAX.
"""
