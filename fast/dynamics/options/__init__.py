"""Latent dynamics by name, as options. Imports no JAX before a network is built."""

from fast.dynamics.options.base import DynamicsOptions, HeadOptions, MarkovOptions
from fast.dynamics.options.cells import (
    CellOptions,
    GRUOptions,
    LSTMOptions,
    MinGRUOptions,
    RNNOptions,
)
from fast.dynamics.options.graphs import GCNOptions, TemporalGCNOptions
from fast.dynamics.options.linear import LinearMarkovOptions, LinearOptions
from fast.dynamics.options.matrices import SelfReferentialOptions, SRWMOptions
from fast.dynamics.options.own import OwnDynamics

DYNAMICS: dict[str, type[DynamicsOptions]] = {
    "gru": GRUOptions,
    "lstm": LSTMOptions,
    "rnn": RNNOptions,
    "srwm": SRWMOptions,
    "self-referential": SelfReferentialOptions,
    "mingru": MinGRUOptions,
    "linear": LinearOptions,
    "markov": MarkovOptions,
    "linear-markov": LinearMarkovOptions,
    "temporal-gcn": TemporalGCNOptions,
    "gcn": GCNOptions,
}

__all__ = [
    "DYNAMICS",
    "CellOptions",
    "DynamicsOptions",
    "GCNOptions",
    "GRUOptions",
    "HeadOptions",
    "LSTMOptions",
    "LinearMarkovOptions",
    "LinearOptions",
    "MarkovOptions",
    "MinGRUOptions",
    "OwnDynamics",
    "RNNOptions",
    "SRWMOptions",
    "SelfReferentialOptions",
    "TemporalGCNOptions",
]
