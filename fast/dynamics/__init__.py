"""Latent dynamics `phi`: none (Markovian), linear, recurrent networks, and the SRWM."""

from fast.dynamics.base import AbstractDynamics
from fast.dynamics.markov import Markov
from fast.dynamics.rotations import haar_bases, rotation_angles
from fast.dynamics.srwm import SRWM, Erase, Link, Rotation, SRWMLatent, WriteKey

__all__ = [
    "SRWM",
    "AbstractDynamics",
    "Erase",
    "Link",
    "Markov",
    "Rotation",
    "SRWMLatent",
    "WriteKey",
    "haar_bases",
    "rotation_angles",
]
