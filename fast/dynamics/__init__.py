"""Latent dynamics `phi`: none (Markovian), linear, recurrent networks, and the SRWM."""

from fast.dynamics.base import AbstractDynamics
from fast.dynamics.gru import GRU
from fast.dynamics.linear import Linear, LinearMarkov
from fast.dynamics.lstm import LSTM, LSTMLatent
from fast.dynamics.markov import AbstractMarkovian, Markov
from fast.dynamics.rnn import RNN, Activation
from fast.dynamics.rotations import haar_bases, rotation_angles
from fast.dynamics.srwm import SRWM, Erase, Link, Rotation, SRWMLatent, WriteKey
from fast.dynamics.wrappers import Reset, Skip

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "SRWM",
    "AbstractDynamics",
    "AbstractMarkovian",
    "Activation",
    "Erase",
    "LSTMLatent",
    "Linear",
    "LinearMarkov",
    "Link",
    "Markov",
    "Reset",
    "Rotation",
    "SRWMLatent",
    "Skip",
    "WriteKey",
    "haar_bases",
    "rotation_angles",
]
