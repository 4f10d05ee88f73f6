"""The SRWM in JAX against eq:ASRWM written out in float64 NumPy, matrix by matrix."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt
import pytest

from fast.dynamics import SRWM, rotation_angles
from reference.errors import InputError

Floats = npt.NDArray[np.float64]

D, FEATURES, TIME = 6, 5, 9
# float32 against float64 after nine steps of a stable recurrence with numbers of order one.
TOLERANCE = 2e-4


def rotation_matrix(d: int) -> Floats:
    """R, dense: plane j is spanned by the coordinates j and j + d/2."""
    R = np.zeros((d, d))
    for j, angle in enumerate(rotation_angles(d // 2)):
        k = j + d // 2
        R[j, j], R[j, k], R[k, j], R[k, k] = (
            np.cos(angle),
            -np.sin(angle),
            np.sin(angle),
            np.cos(angle),
        )
    return R


def literal_asrwm(layer: SRWM, observations: Floats, rotate_write: bool = True) -> Floats:
    """`y_t = W_t psi(s_t)` along a trajectory, by eq:ASRWM as printed (or its options)."""
    embedding, slow, bias, a, b = (
        np.asarray(x, np.float64)
        for x in (layer.embedding, layer.slow, layer.bias, layer.a, layer.b)
    )
    d = layer.a.size
    R = rotation_matrix(d) if layer.rotation == "planes" else np.eye(d)

    def zeta(x: Floats) -> Floats:
        if layer.link == "identity":
            return x
        elu: Floats = np.where(x >= 0, x, np.expm1(np.minimum(x, 0)))
        positive: Floats = (elu + 1) / (elu.sum() + d)
        return positive

    W = np.outer(a, b)
    outputs = []
    for t, observation in enumerate(observations):
        psi = embedding @ observation
        if t > 0:
            projected = slow @ psi + bias
            q, k, v, beta = (
                projected[:d],
                projected[d : 2 * d],
                projected[2 * d : 3 * d],
                projected[-1],
            )
            gate = 1 / (1 + np.exp(-beta))
            write = zeta(q) if layer.write_key == "q" else zeta(k)
            if not rotate_write:
                write = np.linalg.matrix_power(R, -t) @ write
            W = W @ R + gate * np.outer(v - W @ zeta(k), write)
        outputs.append(np.concatenate([W @ psi, psi]) if layer.skip else W @ psi)
    return np.array(outputs)


def make(**options: Any) -> SRWM:
    return SRWM(FEATURES, D, TIME, **options, key=jax.random.key(1))


OBSERVATIONS = np.random.default_rng(0).normal(size=(3, TIME, FEATURES))

VARIANTS: list[dict[str, Any]] = [
    {},
    {"rotation": "none"},
    {"write_key": "k"},
    {"link": "identity"},
    {"skip": True},
    {"rotation": "none", "write_key": "k", "link": "identity"},
]


def scale(outputs: Floats) -> float:
    return float(np.abs(outputs).max())


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_unrolled_srwm_equals_the_printed_recurrence(options: dict[str, Any]) -> None:
    layer = make(**options)
    expected = np.array([literal_asrwm(layer, o) for o in OBSERVATIONS])
    found = layer.unroll(jnp.asarray(OBSERVATIONS, jnp.float32))
    assert np.abs(found - expected).max() <= TOLERANCE * scale(expected)


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_stepwise_srwm_equals_the_printed_recurrence(options: dict[str, Any]) -> None:
    layer = make(**options)
    observations = jnp.asarray(OBSERVATIONS, jnp.float32)
    latent = layer.initial((3,))
    for t in range(TIME):
        if t > 0:
            latent = layer.advance(latent, observations[:, t])
        found = layer.read(latent, observations[:, t])
        expected = np.array([literal_asrwm(layer, o[: t + 1])[-1] for o in OBSERVATIONS])
        assert np.abs(found - expected).max() <= TOLERANCE * scale(expected)


def test_in_float64_the_two_forms_agree_to_float64() -> None:
    with jax.enable_x64(True):
        layer: SRWM = jax.tree.map(lambda leaf: leaf.astype(jnp.float64), make())
        found = layer.unroll(jnp.asarray(OBSERVATIONS))
        expected = np.array([literal_asrwm(layer, o) for o in OBSERVATIONS])
        assert np.abs(found - expected).max() <= 1e-12 * scale(expected)


def test_gradients_of_both_forms_agree() -> None:
    observations = jnp.asarray(OBSERVATIONS[0], jnp.float32)

    def stepwise(layer: SRWM) -> jax.Array:
        latent, total = layer.initial(), jnp.sum(layer.read(layer.initial(), observations[0]) ** 2)
        for observation in observations[1:]:
            latent = layer.advance(latent, observation)
            total += jnp.sum(layer.read(latent, observation) ** 2)
        return total

    ours = jax.grad(lambda layer: jnp.sum(layer.unroll(observations) ** 2))(make())
    theirs = jax.grad(stepwise)(make())
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert np.abs(a - b).max() <= 1e-3 * np.abs(b).max()


def test_control_forgetting_to_rotate_the_write_vector_is_seen() -> None:
    layer = make()
    wrong = np.array([literal_asrwm(layer, o, rotate_write=False) for o in OBSERVATIONS])
    found = layer.unroll(jnp.asarray(OBSERVATIONS, jnp.float32))
    assert np.abs(found - wrong).max() > 100 * TOLERANCE * scale(wrong)


def test_control_the_ablations_change_the_outputs() -> None:
    base = make().unroll(jnp.asarray(OBSERVATIONS, jnp.float32))
    for options in VARIANTS[1:]:
        # A skip leaves y_t as it is, and appends to it.
        other = make(**options).unroll(jnp.asarray(OBSERVATIONS, jnp.float32))
        if options.get("skip"):
            assert other.shape[-1] == 2 * D
            continue
        assert np.abs(base - other).max() > 100 * TOLERANCE * scale(np.asarray(base))


def test_the_rotation_is_orthogonal_and_does_not_nearly_return() -> None:
    R = rotation_matrix(32)
    assert np.abs(R.T @ R - np.eye(32)).max() <= 1e-14
    assert np.linalg.det(R) == pytest.approx(1, abs=1e-12)
    power = np.eye(32)
    for _ in range(64):
        power = power @ R
        assert np.abs(power - np.eye(32)).max() > 0.5


def test_the_future_does_not_reach_the_past() -> None:
    observations = jnp.asarray(OBSERVATIONS, jnp.float32)
    changed = observations.at[:, 5:].set(7.0)
    before, after = make().unroll(observations), make().unroll(changed)
    assert np.abs(before[:, :5] - after[:, :5]).max() <= TOLERANCE
    assert np.abs(before[:, 5:] - after[:, 5:]).max() > 100 * TOLERANCE


def test_an_odd_latent_size_is_refused() -> None:
    with pytest.raises(InputError, match="d = 5, but d must be even"):
        SRWM(FEATURES, 5, TIME, key=jax.random.key(0))
