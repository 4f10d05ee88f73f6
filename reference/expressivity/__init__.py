"""Policies with tied actions, coarse observations, and the worth of memory."""
