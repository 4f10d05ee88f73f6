"""Policies: the laws and flows that a network's outputs stand for, and how one is built."""
