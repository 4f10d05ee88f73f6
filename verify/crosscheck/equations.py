"""The equations of every latent dynamics, written out in float64 NumPy.

`W_t = W_{t-1} + phi(s_t, W_{t-1})`, and `y_t` is a function of `(s_t, W_t)`.
"""

from collections.abc import Callable
from itertools import permutations
from typing import Any, NamedTuple

import jax
import numpy as np
import numpy.typing as npt

from fast.checking.tabular_policy import LiftedTable, MarkovTable
from fast.dynamics.arc_scorer import AbstractScorer, ArcScorer
from fast.dynamics.attention import Attention
from fast.dynamics.cells import GRU, LSTM, RNN, MinGRU
from fast.dynamics.graph_networks import EdgeScorer, GCNNetwork, TemporalGCNNetwork
from fast.dynamics.head import WithHead
from fast.dynamics.linear import Linear, LinearMarkov
from fast.dynamics.markov import Markov, Uniform
from fast.dynamics.residual import ResidualBlock
from fast.dynamics.rotations import haar_bases, rotation_angles
from fast.dynamics.self_reference import SelfReferential
from fast.dynamics.srwm import SRWM
from fast.dynamics.wrappers import Reset, Skip
from verify.crosscheck.compare import perceptron

Floats = npt.NDArray[np.float64]


class Equations(NamedTuple):
    """Dynamics by their definition, for one trajectory."""

    initial: Any
    phi: Callable[[Floats, Any], Any]
    read: Callable[[Floats, Any], Floats]


BEFORE, AT_START, BACKWARDS, LATE, TWO_LOOPS = (
    "reads before the update",
    "updates at the initial state",
    "rotates backwards",
    "evaluates the gate at the new graph",
    "adds two loops to every node",
)


def follow(equations: Equations, observations: Floats, fault: str = "") -> Floats:
    """`y_t` along a trajectory; a fault is a plausible mistake in the order of the steps."""
    W, outputs = equations.initial, []
    for t, s in enumerate(observations):
        before = W
        if t > 0 or fault == AT_START:
            W = W + equations.phi(s, W)
        outputs.append(equations.read(s, before if fault == BEFORE else W))
    return np.array(outputs)


def follow_all(layer: Any, observations: Floats, fault: str = "") -> Floats:
    """`y_t` along all trajectories, of the numbers of a layer in float64."""
    numbers = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), layer)
    if fault == BACKWARDS:
        equations = srwm_equations(numbers, True)
    elif fault in (LATE, TWO_LOOPS):
        equations = path_equations(numbers, fault == LATE, 1 + (fault == TWO_LOOPS))
    else:
        equations = equations_of(numbers)
    flat = observations.reshape(-1, *observations.shape[-2:])
    outputs = np.array([follow(equations, o, fault) for o in flat])
    return outputs.reshape(*observations.shape[:-1], -1)


def sigmoid(x: Floats) -> Floats:
    share: Floats = 1 / (1 + np.exp(-x))
    return share


def still(s: Floats, W: Any) -> float:
    """The `phi` of what has no latent."""
    return 0.0


def rotation_matrix(
    d: int, head: int = 0, heads: int = 1, kind: str = "planes", angle_scale: float = 1.0
) -> Floats:
    """R of one head, dense: plane j is spanned by the coordinates j and j + d/2, in the basis."""
    if kind == "none":
        return np.eye(d)
    B = np.zeros((d, d))
    angles = rotation_angles(heads * d // 2)[head * d // 2 : (head + 1) * d // 2]
    for j, theta in enumerate(angle_scale * angles):
        k = j + d // 2
        B[j, j], B[j, k] = np.cos(theta), -np.sin(theta)
        B[k, j], B[k, k] = np.sin(theta), np.cos(theta)
    Q = haar_bases(heads, d)[head] if kind == "haar" else np.eye(d)
    rotation: Floats = Q.T @ B @ Q
    return rotation


def link(x: Floats, kind: str) -> Floats:
    """The link function of one vector."""
    if kind == "identity":
        return x
    if kind == "softmax":
        exp: Floats = np.exp(x) / np.exp(x).sum()
        return exp
    elu: Floats = np.where(x >= 0, x, np.expm1(np.minimum(x, 0)))
    share: Floats = (elu + 1) / (elu.sum() + x.size)
    return share


def srwm_equations(p: SRWM, backwards: bool = False) -> Equations:
    """eq:ASRWM and its options, one matrix per head."""
    d, h = len(p.embedding), p.heads
    e = d // h
    parts = [slice(i * e, (i + 1) * e) for i in range(h)]
    R = [rotation_matrix(e, i, h, p.rotation, p.angle_scale) for i in range(h)]
    if backwards:
        R = [r.T for r in R]

    def phi(s: Floats, W: Floats) -> Floats:
        q, k, v, beta = np.split(p.slow @ p.embedding @ s + p.bias, [d, 2 * d, 3 * d])
        change = []
        for i, part in enumerate(parts):
            key, query = link(k[part], p.link), link(q[part], p.link)
            old = W[i] @ key if p.erase == "before" else W[i] @ R[i] @ key
            write = query if p.write_key == "q" else key
            rotated = W[i] @ (R[i] - np.eye(e))
            change.append(rotated + sigmoid(beta[i]) * np.outer(v[part] - old, write))
        return np.array(change)

    def read(s: Floats, W: Floats) -> Floats:
        psi = p.embedding @ s
        y = np.concatenate([W[i] @ psi[part] for i, part in enumerate(parts)])
        return y / np.sqrt(np.mean(y**2) + 1e-6) if p.normalize else y

    if p.b is None:
        return Equations(p.a, phi, read)
    a, b = np.asarray(p.a), np.asarray(p.b)
    return Equations(np.array([np.outer(a[part], b[part]) for part in parts]), phi, read)


def self_referential_equations(p: SelfReferential) -> Equations:
    """Irie et al.: each head's matrix makes its q, k and four rates, and all rows change."""
    d = p.output // p.heads

    def phi(s: Floats, W: Floats) -> Floats:
        change = []
        for i, psi in enumerate(np.split(p.embedding @ s, p.heads)):
            rows = W[i] @ psi
            q, k = link(rows[d : 2 * d], p.link), link(rows[2 * d : 3 * d], p.link)
            blocks = np.split(W[i] @ q - W[i] @ k, [d, 2 * d, 3 * d])
            rates = sigmoid(rows[3 * d :])
            scaled = [rate * block for rate, block in zip(rates, blocks, strict=True)]
            change.append(np.outer(np.concatenate(scaled), k))
        return np.array(change)

    def read(s: Floats, W: Floats) -> Floats:
        parts = np.split(p.embedding @ s, p.heads)
        return np.concatenate([W[i][:d] @ psi for i, psi in enumerate(parts)])

    return Equations(p.start, phi, read)


def attention_equations(p: Attention) -> Equations:
    """Soft-max attention, head by head; a row of W is key, value, and 1 where it is used."""
    d, steps = p.output, p.bias.shape[1]
    parts = np.split(np.arange(d), p.heads)
    start = np.zeros((steps, 2 * d + 1))
    start[0] = [*p.start[0], *p.start[1], 1]

    def phi(s: Floats, W: Floats) -> Floats:
        change = np.zeros_like(W)
        change[int(W[:, -1].sum())] = [*(p.inputs[d:] @ s), 1]
        return change

    def read(s: Floats, W: Floats) -> Floats:
        used, query, outputs = int(W[:, -1].sum()), p.inputs[:d] @ s, []
        for part, bias in zip(parts, p.bias, strict=True):
            scores = W[:used, part] @ query[part] / np.sqrt(len(part)) + bias[:used][::-1]
            weights = np.exp(scores - scores.max())
            outputs.append(weights @ W[:used, d + part] / weights.sum())
        return np.concatenate(outputs)

    return Equations(start, phi, read)


def block_equations(p: ResidualBlock[Any]) -> Equations:
    """`g + f(n(g))` of `g = E s + O y`, where the inner dynamics see `n(E s)`."""
    initial, phi, read = equations_of(p.inner)
    E: Floats = np.asarray(p.embedding)

    def n(x: Floats) -> Floats:
        normalised: Floats = (x - x.mean()) / np.sqrt(x.var() + 1e-5)
        return normalised

    def outer(s: Floats, W: Any) -> Floats:
        g: Floats = E @ s + p.out @ read(n(E @ s), W)
        output: Floats = g + perceptron(p.feed_forward, n(g))
        return output

    return Equations(initial, lambda s, W: phi(n(E @ s), W), outer)


def linear_equations(p: Linear) -> Equations:
    """eq:linear_rec, with the matrix `W_t = b a_t'` itself as the latent."""
    b = np.array(p.b)
    return Equations(
        np.outer(b, p.a), lambda s, W: np.outer(b, (p.w @ s) * p.v), lambda s, W: W @ s
    )


def rnn_equations(p: RNN) -> Equations:
    """The paper's `phi`, in rows as printed, or Elman's."""
    W_s, W_h = p.inputs.T, p.recurrent.T

    def phi(s: Floats, W: Floats) -> Floats:
        if p.activation == "tanh":
            elman: Floats = np.tanh(s @ W_s + W @ W_h + p.bias) - W
            return elman
        printed: Floats = s @ W_s + W @ (W_h - np.eye(W.size)) + p.bias
        return printed

    return Equations(p.start, phi, lambda s, W: W)


def gru_equations(p: GRU) -> Equations:
    """Cho et al., with the reset gate after the product, as in cuDNN."""

    def phi(s: Floats, W: Floats) -> Floats:
        (r, z, n), (r_h, z_h, n_h) = (
            np.split(p.inputs @ s + p.bias, 3),
            np.split(p.recurrent @ W, 3),
        )
        candidate = np.tanh(n + sigmoid(r + r_h) * (n_h + p.candidate_bias))
        keep = sigmoid(z + z_h)
        change: Floats = keep * W + (1 - keep) * candidate - W
        return change

    return Equations(p.start, phi, lambda s, W: W)


def lstm_equations(p: LSTM) -> Equations:
    """Hochreiter and Schmidhuber's cell with a forget gate; the latent is `(h, c)`."""

    def phi(s: Floats, W: Floats) -> Floats:
        h, c = W
        i, f, g, o = np.split(p.inputs @ s + p.recurrent @ h + p.bias, 4)
        cell = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        return np.array([sigmoid(o) * np.tanh(cell), cell]) - W

    return Equations(np.array(p.start), phi, lambda s, W: W[0])


def min_gru_equations(p: MinGRU) -> Equations:
    """`W_t = (1 - z_t) o W_{t-1} + z_t o h_t`, as Feng et al. write it."""

    def phi(s: Floats, W: Floats) -> Floats:
        gate, candidate = np.split(p.inputs @ s + p.bias, 2)
        z = sigmoid(gate)
        change: Floats = (1 - z) * W + z * candidate - W
        return change

    return Equations(p.start, phi, lambda s, W: W)


def adjacency(p: AbstractScorer, s: Floats) -> Floats:
    """The adjacency matrix in an observation: whole, or without its diagonal and beside more."""
    n = p.nodes
    if isinstance(p, EdgeScorer):
        return s.reshape(n, n)
    A = np.zeros((n, n))
    for (u, v), present in zip(permutations(range(n), 2), s, strict=False):
        A[u, v] = present
    return A


def aggregated(p: Any, H: Floats, A: Floats, v: int, loops: int) -> Floats:
    """The input of node v: from itself and from the lists of its neighbours."""
    into, out = ([u for u in range(len(A)) if M[u, v]] for M in (A, A.T))

    def total(nodes: list[int], scale: Floats) -> Floats:
        return sum((H[u] / scale[u] for u in nodes), np.zeros(H.shape[1]))

    plain = np.ones(len(A))
    if isinstance(p, ArcScorer):
        return np.concatenate([H[v], total(into, plain), total(out, plain)])
    if p.layer == "graphconv":
        return np.concatenate([H[v], total(into, plain)])
    degree = loops + A.sum(0)
    return total([v] * loops + into, np.sqrt(degree[v] * degree))


def scores(p: Any, A: Floats, marks: Floats, loops: int = 1) -> Floats:
    """eq:graphss, for nodes with these columns beside `X`; on DAGs also the logit to stop."""
    n = p.nodes
    features = tuple(range(n)) if isinstance(p, ArcScorer) else p.features
    X = np.equal.outer(features, sorted(set(features))).astype(float)

    def layer(H: Floats, i: int) -> Floats:
        rows = [aggregated(p, H, A, v, loops) @ p.weights[i] + p.biases[i] for v in range(n)]
        return np.array(rows)

    f = layer(np.maximum(layer(np.concatenate([X, marks], 1), 0), 0), 1)

    def zeta(u: int, v: int) -> float:
        U, V = p.ends if isinstance(p, ArcScorer) else np.split(p.hidden, 2)
        return float(p.readout @ np.maximum(f[u] @ U + f[v] @ V + p.hidden_bias, 0))

    if isinstance(p, ArcScorer):
        stop = p.stop @ np.maximum(f.mean(0) @ p.pooled + p.pooled_bias, 0)
        return np.array([*(zeta(u, v) for u, v in permutations(range(n), 2)), stop])
    if not p.symmetric:
        return np.array([zeta(u, v) for u, v in p.edges])
    return np.array([(zeta(u, v) + zeta(v, u)) / 2 for u, v in p.edges])


def graph_equations(p: GCNNetwork) -> Equations:
    """eq:graphss, with what tells nodes apart."""

    def read(s: Floats, W: Any) -> Floats:
        A = adjacency(p.scorer, s)
        # Graphs have fewer nodes than the eigenvectors that are taken.
        marks = {
            "none": np.zeros((len(A), 0)),
            "identifiers": np.eye(len(A)),
            "laplacian": np.linalg.eigh(np.diag(A.sum(0)) - A)[1],
        }
        return scores(p.scorer, A, marks[p.marks])

    return Equations(0.0, still, read)


def path_equations(p: TemporalGCNNetwork, late: bool = False, loops: int = 1) -> Equations:
    """eq:pdgraphss and ex. Graphs, with m in the first row of W and A in the others."""
    is_directed = isinstance(p.scorer, ArcScorer)

    def degree(A: Floats) -> Floats:
        total: Floats = A.sum(0) + (A.sum(1) if is_directed else 0)
        return total

    def phi(s: Floats, W: Floats) -> Floats:
        A, new = W[1:], adjacency(p.scorer, s)
        gated = new if late or p.update == "example" else A
        alpha = 1.0 if p.gate == "constant" else 1 / (1 + degree(gated).sum() / 2)
        change = 0 * A if p.update == "example" else new - A
        return np.vstack([alpha * (degree(new) - degree(A)), change])

    def read(s: Floats, W: Floats) -> Floats:
        return scores(p.scorer, adjacency(p.scorer, s), W[0][:, None], loops)

    start = np.zeros((1 + p.scorer.nodes, p.scorer.nodes))
    for u, v in p.start:
        start[1 + u, v] = start[1 + v, u] = 1
    return Equations(start, phi, read)


def skip_equations(p: Skip[Any]) -> Equations:
    initial, phi, read = equations_of(p.inner)
    return Equations(initial, phi, lambda s, W: np.concatenate([read(s, W), s]))


def reset_equations(p: Reset) -> Equations:
    """`y_t` after one step from `W_o`."""
    initial, phi, read = equations_of(p.inner)
    return Equations(initial, still, lambda s, W: read(s, W + phi(s, W)))


def head_equations(p: WithHead[Any]) -> Equations:
    initial, phi, read = equations_of(p.dynamics)
    return Equations(initial, phi, lambda s, W: perceptron(p.head, read(s, W)))


EQUATIONS: dict[type, Callable[[Any], Equations]] = {
    Markov: lambda p: Equations(0.0, still, lambda s, W: s),
    Uniform: lambda p: Equations(0.0, still, lambda s, W: np.zeros(p.output)),
    MarkovTable: lambda p: Equations(0.0, still, lambda s, W: p.table[s.argmax()]),
    LiftedTable: lambda p: Equations(
        0, lambda s, W: p.following[W][s.argmax()] - W, lambda s, W: p.table[W]
    ),
    LinearMarkov: lambda p: Equations(0.0, still, lambda s, W: np.array(p.b) * (p.a @ s)),
    Linear: linear_equations,
    RNN: rnn_equations,
    GRU: gru_equations,
    LSTM: lstm_equations,
    MinGRU: min_gru_equations,
    SRWM: srwm_equations,
    Attention: attention_equations,
    SelfReferential: self_referential_equations,
    ResidualBlock: block_equations,
    Skip: skip_equations,
    Reset: reset_equations,
    GCNNetwork: graph_equations,
    TemporalGCNNetwork: path_equations,
    WithHead: head_equations,
}


def equations_of(numbers: Any) -> Equations:
    return EQUATIONS[type(numbers)](numbers)
