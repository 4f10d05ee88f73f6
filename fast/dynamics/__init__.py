"""Latent dynamics `phi`: none (Markovian), linear, recurrent networks, and the SRWM."""

from fast.dynamics.base import AbstractDynamics
from fast.dynamics.gru import GRU
from fast.dynamics.linear import Linear
from fast.dynamics.lstm import LSTM, LSTMLatent
from fast.dynamics.markov import Markov
from fast.dynamics.rnn import RNN, Activation
from fast.dynamics.rotations import haar_bases, rotation_angles
from fast.dynamics.srwm import SRWM, Erase, Link, Rotation, SRWMLatent, WriteKey

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "SRWM",
    "AbstractDynamics",
    "Activation",
    "Erase",
    "LSTMLatent",
    "Linear",
    "Link",
    "Markov",
    "Rotation",
    "SRWMLatent",
    "WriteKey",
    "haar_bases",
    "rotation_angles",
]
