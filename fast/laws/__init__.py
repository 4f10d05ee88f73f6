"""Exact laws of policies on enumerated problems, and trajectories drawn from them."""
