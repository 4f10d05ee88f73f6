"""Trajectories drawn forwards from a policy, backwards from terminal states, and replay."""
