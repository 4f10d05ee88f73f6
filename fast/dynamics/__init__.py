"""Latent dynamics `phi`: none (Markovian), linear, recurrent and graph networks, and the SRWM."""

from fast.dynamics.base import AbstractDynamics
from fast.dynamics.markov import AbstractMarkovian
from fast.dynamics.recurrence import AbstractRecurrence

__all__ = ["AbstractDynamics", "AbstractMarkovian", "AbstractRecurrence"]
