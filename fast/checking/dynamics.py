"""The check of a user's dynamics: their rules, along sampled trajectories."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fast.balance.steps import evaluate
from fast.dynamics.base import AbstractDynamics
from fast.dynamics.markov import Uniform
from fast.dynamics.own import check_network
from fast.environments import AbstractEnvironment
from fast.laws.enumeration import Floats
from fast.policies.backward import UniformBackward
from fast.policies.policy import Policy, count_parameters
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import Trajectories, uniforms
from reference.contract.errors import InputError

# A batch with two axes; parts of it are batches with one and none.
BATCH = (2, 8)

# The rounding allowed between two ways to the same numbers, in units in the last place of the
# largest output, per step and root of the number of parameters: errors of a sum of n products grow
# with the root of n, and a latent passes them on.
ULPS = 64


class DynamicsReport(NamedTuple):
    """Figures of a network that has passed every check; `rows` says what each of them is."""

    network: str
    environment: str
    parameters: int
    output: int
    is_markovian: bool
    remembers: bool | None
    unroll_error: float
    recall_error: float
    gradient_norm: float | None
    rounding: float
    tolerance: float

    @property
    def verdict(self) -> str:
        """The report in a sentence."""
        return f"{self.network} breaks no rule"

    def rows(self) -> dict[str, str]:
        """Names and values of the figures, as text."""
        memory = {None: "no state here has two: name another problem", True: "yes", False: "no"}
        norm = "no policy" if self.gradient_norm is None else f"{self.gradient_norm:.2g}"
        return {
            "parameters": f"{self.parameters:,}",
            "outputs": f"{self.output:,}",
            "says that it is Markovian": "yes" if self.is_markovian else "no",
            "two histories of a state give different outputs": memory[self.remembers],
            "unroll against step by step, relative, float64": f"{self.unroll_error:.2g}",
            "recall of record against unroll": f"{self.recall_error:.2g}",
            "gradient of the sum of log p_F, norm": norm,
            "float32 against float64, relative": (
                f"{self.rounding:.2g} (up to {self.tolerance:.2g})"
            ),
        }


def check_dynamics(
    network: AbstractDynamics[Any], environment: AbstractEnvironment, seed: int = 0, name: str = ""
) -> DynamicsReport:
    """Checks every rule of latent dynamics along trajectories drawn from the uniform policy.

    `unroll` equals `read` after `initial` and `advance`, with no, one and two batch axes, and does
    not look ahead. `recall` of `record` equals `unroll`. A network that claims to be Markovian is.
    Derivatives are finite. Outputs in float32 are those in float64, up to rounding.

    Args:
        network: the network, made for the environment. If its outputs are those of a policy
            (`needs_head = False`), `log p_F` is differentiated, else the sum of outputs.
        environment: the environment whose features it sees.
        seed: the seed of the trajectories.
        name: the name in messages; by default the name of its class.

    Raises:
        InputError: at the first broken rule.
    """
    name = name or type(network).__name__
    uniform = Policy(Uniform(environment.actions), UniformBackward(), environment.actions)
    draws = uniforms(jax.random.key(seed), environment, BATCH[0] * BATCH[1])
    drawn, _ = sample_trajectories(uniform, environment, draws)
    seen = np.asarray(jax.jit(jax.vmap(jax.vmap(environment.observe)))(drawn.states))
    seen = seen.reshape(*BATCH, *seen.shape[1:])
    check_network(name, network, seen[0, 0, 0], seen.shape[-2])
    single, *_ = _all_ways(name, _cast(network, jnp.float32), jnp.asarray(seen, jnp.float32))
    with jax.enable_x64(True):
        double, exact = _cast(network, jnp.float64), jnp.asarray(seen, jnp.float64)
        unrolled, stepwise, recalled = _all_ways(name, double, exact)
        parameters = count_parameters(eqx.filter(network, eqx.is_inexact_array))
        ulps = ULPS * seen.shape[-2] * max(1, parameters) ** 0.5
        least = ulps * float(np.finfo(np.float64).eps)
        remembers = _has_memory(seen, unrolled, drawn, least)
        if network.is_markovian and remembers:
            raise InputError(
                f"{name}: is_markovian is True, but two histories of one state give different "
                "outputs: leave it at False, or let unroll() read each state by itself"
            )
        way = "read() after initial() and advance()"
        unroll_error = _compare(name, unrolled, stepwise, least, way)
        recall_error = _compare(name, unrolled, recalled, least, "recall() of record()")
        _check_axes(name, double, exact, unrolled, least)
        _check_causality(name, double, exact, unrolled, least)
    tolerance = ulps * float(np.finfo(np.float32).eps)
    rounding = _compare(name, unrolled, single, tolerance, "itself in float32")
    return DynamicsReport(
        network=name,
        environment=type(environment).__name__,
        parameters=parameters,
        output=network.output,
        is_markovian=network.is_markovian,
        remembers=remembers,
        unroll_error=unroll_error,
        recall_error=recall_error,
        gradient_norm=_gradient_norm(name, network, environment, drawn, seen),
        rounding=rounding,
        tolerance=tolerance,
    )


def _cast(network: AbstractDynamics[Any], dtype: Any) -> AbstractDynamics[Any]:
    return jax.tree.map(  # type: ignore[no-any-return]
        lambda leaf: leaf.astype(dtype) if eqx.is_inexact_array(leaf) else leaf, network
    )


def _all_ways(
    name: str, network: AbstractDynamics[Any], observations: Any
) -> tuple[Floats, Floats, Floats]:
    """The outputs by `unroll`, by `advance` and `read`, and by `recall` of `record`.

    Raises InputError if an output is not finite, or `recall` gives another number of outputs.
    """
    unrolled, stepwise, recalled = map(np.asarray, _outputs(network, observations))
    for method, value in (("unroll", unrolled), ("read", stepwise)):
        if not np.isfinite(value).all():
            raise InputError(
                f"{name}: {method}() gives numbers that are not finite in {value.dtype}: "
                "normalise the latent, or start from smaller parameters"
            )
    if recalled.size != unrolled.size:
        raise InputError(
            f"{name}: recall() gives {recalled.size} numbers, and unroll() {unrolled.size}: let it "
            "give what unroll() gives"
        )
    return unrolled, stepwise, recalled.reshape(unrolled.shape)


@eqx.filter_jit
def _outputs(network: AbstractDynamics[Any], observations: Any) -> tuple[Any, Any, Any]:
    """The outputs of `_all_ways`, unchecked; `advance` and `read` run in a Python loop."""
    latent = network.initial(observations.shape[:-2])
    steps, records = [], []
    for time in range(observations.shape[-2]):
        if time:
            latent = network.advance(latent, observations[..., time, :])
        steps.append(network.read(latent, observations[..., time, :]))
        records.append(network.record(latent, observations[..., time, :])[1])
    # Time first, as sampling stacks them.
    cached = jax.tree.map(lambda *leaves: jnp.stack(leaves), *records)
    flat = observations.reshape(-1, *observations.shape[-2:])
    rows = tuple(leaf.reshape(leaf.shape[0], len(flat), *leaf.shape[3:]) for leaf in cached)
    if network.is_markovian:
        # A Markovian network recalls rows of states, without an axis of time.
        lined = tuple(jnp.swapaxes(leaf, 0, 1).reshape(-1, *leaf.shape[2:]) for leaf in rows)
        recalled = network.recall(flat.reshape(-1, flat.shape[-1]), lined)
    else:
        recalled = network.recall(flat, tuple(jnp.swapaxes(leaf, 0, 1) for leaf in rows))
    return network.unroll(observations), jnp.stack(steps, -2), recalled


def _has_memory(seen: Any, unrolled: Any, drawn: Trajectories, tolerance: float) -> bool | None:
    """True if states with the same features give different outputs, depending on the history.

    None if no state was reached in two ways.
    """
    active = np.asarray(drawn.active)
    features = seen.reshape(*active.shape[:1], -1, seen.shape[-1])[:, : active.shape[1]]
    outputs = unrolled.reshape(*active.shape[:1], -1, unrolled.shape[-1])[:, : active.shape[1]]
    first: dict[bytes, tuple[bytes, Any]] = {}
    answer = None
    for batch, time in np.argwhere(active).tolist():
        history = features[batch, : time + 1].tobytes()
        output = outputs[batch, time]
        other, its = first.setdefault(features[batch, time].tobytes(), (history, output))
        if np.abs(its - output).max() > tolerance * np.abs(unrolled).max():
            return True
        answer = answer if other == history else False
    return answer


def _compare(name: str, unrolled: Any, other: Any, tolerance: float, what: str) -> float:
    """The largest difference, relative to the largest output; refused above the tolerance."""
    difference = np.abs(unrolled - other)
    largest = float(difference.max() / max(np.abs(unrolled).max(), 1e-30))
    if not largest <= tolerance:
        time = int(np.argmax(difference.max(axis=tuple(i for i in range(4) if i != 2))))
        raise InputError(
            f"{name}: unroll() differs from {what} by {largest:.2g} of the largest output, "
            f"most at time {time}, and rounding explains {tolerance:.1g}: let them compute the same"
        )
    return largest


def _check_axes(
    name: str, network: AbstractDynamics[Any], seen: Any, unrolled: Any, tolerance: float
) -> None:
    """Checks that a trajectory alone, and a batch with one axis, have the same outputs."""
    for observations, expected in ((seen[0], unrolled[0]), (seen[0, 0], unrolled[0, 0])):
        alone = np.asarray(_unroll(network, observations))
        latent = network.initial(observations.shape[:-2])
        first = np.asarray(network.read(latent, observations[..., 0, :]))
        wide = expected.reshape(1, -1, *expected.shape[-2:])
        _compare(name, wide, alone.reshape(wide.shape), tolerance, "itself with fewer batch axes")
        start = first.reshape(wide[:, :, :1].shape)
        _compare(name, wide[:, :, :1], start, tolerance, "read() with fewer batch axes")


def _check_causality(
    name: str, network: AbstractDynamics[Any], seen: Any, unrolled: Any, tolerance: float
) -> None:
    """Checks that outputs do not depend on later observations."""
    for time in range(1, seen.shape[-2]):
        changed = seen.at[..., time:, :].set(jnp.roll(seen[..., time:, :], 1, axis=-1) + 1)
        early = np.asarray(_unroll(network, changed))[..., :time, :]
        if not np.abs(early - unrolled[..., :time, :]).max() <= tolerance * np.abs(unrolled).max():
            raise InputError(
                f"{name}: the outputs before time {time} change with what is observed from then "
                "on, but a policy cannot look ahead: let unroll() read s_0, ..., s_t alone at t"
            )


@eqx.filter_jit
def _unroll(network: AbstractDynamics[Any], observations: Any) -> Any:
    return network.unroll(observations)


def _gradient_norm(
    name: str,
    network: AbstractDynamics[Any],
    environment: AbstractEnvironment,
    drawn: Trajectories,
    seen: Any,
) -> float | None:
    """The norm of the gradient of the sum of `log p_F`; None if outputs are not a policy's.

    An entry that is not finite is refused.
    """

    def total(network: AbstractDynamics[Any]) -> Float[Array, ""]:
        if network.needs_head:
            return jnp.sum(network.unroll(jnp.asarray(seen)))
        policy = Policy(network, UniformBackward(), environment.actions)
        return jnp.sum(evaluate(policy, environment, drawn).log_p_f)

    gradient = eqx.filter_jit(eqx.filter_grad(total))(network)
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(gradient)]
    if not all(np.isfinite(leaf).all() for leaf in leaves):
        raise InputError(
            f"{name}: the gradient of the sum of log p_F has an entry that is not finite: avoid "
            "roots and logarithms of zero, also in branches that jnp.where does not take"
        )
    if network.needs_head:
        return None
    return float(np.sqrt(sum(float((leaf.astype(np.float64) ** 2).sum()) for leaf in leaves)))
