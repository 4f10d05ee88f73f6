"""Latent dynamics `phi`: none (Markovian) or a self-referential weight matrix."""

from fast.dynamics.base import AbstractDynamics
from fast.dynamics.markov import Markov
from fast.dynamics.srwm import SRWM, Link, Rotation, SRWMLatent, WriteKey, rotation_angles

__all__ = [
    "SRWM",
    "AbstractDynamics",
    "Link",
    "Markov",
    "Rotation",
    "SRWMLatent",
    "WriteKey",
    "rotation_angles",
]
