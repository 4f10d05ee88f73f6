"""What the options of a training run may be called, and which of them are alike."""

from typing import Literal

Encoding = Literal["one-hot", "natural", "affine", "fourier"]
DynamicsName = Literal[
    "srwm", "gru", "lstm", "rnn", "linear", "markov", "linear-markov", "temporal-gcn", "gcn"
]
LossName = Literal["tb", "log_variance", "db", "subtb", "fm"]
BackwardKind = Literal["uniform", "learned", "lifted"]
PenaltyName = Literal["square", "huber", "log-cosh"]
Replay = Literal["none", "uniform", "reward"]

MARKOVIAN: tuple[DynamicsName, ...] = ("markov", "linear-markov", "gcn")
WITHOUT_HEAD: tuple[DynamicsName, ...] = ("linear", "linear-markov", "gcn", "temporal-gcn")
ON_GRAPHS: tuple[DynamicsName, ...] = ("gcn", "temporal-gcn")
FLOWS: tuple[LossName, ...] = ("db", "subtb", "fm")
