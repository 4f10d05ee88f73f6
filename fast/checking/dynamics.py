"""Whether a network of your own keeps the rules of latent dynamics: along sampled trajectories."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from fast.balance.steps import evaluate
from fast.checking.along import along, cast, has_memory
from fast.dynamics.base import AbstractDynamics
from fast.dynamics.markov import Uniform
from fast.dynamics.own import check_network
from fast.environments import AbstractEnvironment
from fast.policies.backward import UniformBackward
from fast.policies.policy import Policy
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import Trajectories, uniforms
from reference.errors import InputError

# A batch of two axes, which is flattened, and cut, for fewer.
BATCH = (2, 8)

# Two ways to the same numbers, in units in the last place of the largest output, per step and root
# of the number of parameters: errors of a sum of n products grow with the root of n, and a latent
# hands them on. In float64, where nothing but a mistake is larger.
ULPS = 64


class DynamicsReport(NamedTuple):
    """A network that has passed every check, in numbers.

    Attributes:
        network: its class.
        environment: the environment's class.
        parameters: the number of its parameters.
        output: the number of its outputs.
        is_markovian: whether it says that it is a function of the state alone.
        remembers: whether two histories of one state were met that give different outputs; None if
            no state was met with two.
        unroll_error: the largest difference between `unroll` and step by step, in float64,
            relative to the largest output.
        recall_error: likewise between `recall` of what `record` gives, and `unroll`.
        gradient_norm: of the sum of `log p_F` of the trajectories, by all parameters; None if the
            outputs are not those of a policy.
        rounding: the largest difference between float32 and float64, relative to the largest
            output.
        tolerance: how large that may be.
    """

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
        """The whole report in a sentence."""
        return f"{self.network} breaks no rule"

    def rows(self) -> dict[str, str]:
        """Name and value of every figure, as text."""
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
    network: AbstractDynamics[Any],
    environment: AbstractEnvironment[Any],
    seed: int = 0,
    name: str = "",
) -> DynamicsReport:
    """Checks every rule of latent dynamics along trajectories drawn from the uniform policy.

    `unroll` is `read` after `initial` and `advance`; with no, one and two batch axes; it does not
    look ahead; `recall` of what `record` gave is `unroll`; a network that says that it is Markovian
    is; derivatives are finite; and in float32 it gives what it gives in float64.

    Args:
        network: made for that environment. Where the read-out is that of a policy
            (`needs_head = False`), `log p_F` is differentiated, else the sum of read-outs.
        environment: of which it sees the features.
        seed: of the trajectories.
        name: in messages, by default that of its class.

    Raises:
        InputError: at the first rule that is broken.
    """
    name = name or type(network).__name__
    _check_markovian(name, network)
    drawn = _draw(environment, seed)
    seen = np.asarray(jax.jit(jax.vmap(jax.vmap(environment.observe)))(drawn.states))
    seen = seen.reshape(*BATCH, *seen.shape[1:])
    check_network(name, network, seen[0, 0, 0], seen.shape[-2])
    single = along(name, cast(network, jnp.float32), jnp.asarray(seen, jnp.float32))
    with jax.enable_x64(True):
        double, exact = cast(network, jnp.float64), jnp.asarray(seen, jnp.float64)
        found = along(name, double, exact)
        parameters = sum(
            leaf.size for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array))
        )
        ulps = ULPS * seen.shape[-2] * max(1, parameters) ** 0.5
        least = ulps * float(np.finfo(np.float64).eps)
        remembers = has_memory(seen, found.unrolled, drawn, least)
        _check_markovian(name, network, remembers=remembers)
        unroll_error = _compare(
            name, found.unrolled, found.stepwise, least, "read() after initial() and advance()"
        )
        recall_error = _compare(name, found.unrolled, found.recalled, least, "recall() of record()")
        _check_axes(name, double, exact, found.unrolled, least)
        _check_causality(name, double, exact, found.unrolled, least)
    tolerance = ulps * float(np.finfo(np.float32).eps)
    rounding = _compare(name, found.unrolled, single.unrolled, tolerance, "itself in float32")
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


def _check_markovian(
    name: str, network: AbstractDynamics[Any], *, remembers: bool | None = False
) -> None:
    """Checks that what says that it is Markovian has no latent, and remembers nothing."""
    if network.is_markovian and jax.tree.leaves(network.initial()):
        raise InputError(
            f"{name}: is_markovian is True, but it has a latent: leave it at False, or derive from "
            "AbstractMarkovian, whose latent is ()"
        )
    if network.is_markovian and remembers:
        raise InputError(
            f"{name}: is_markovian is True, but two histories of one state give different "
            "outputs: leave it at False, or let unroll() read each state by itself"
        )


def _draw(environment: AbstractEnvironment[Any], seed: int) -> Trajectories:
    """Trajectories from the uniform policy."""
    policy = Policy(Uniform(environment.actions), UniformBackward(), environment.actions)
    draws = uniforms(jax.random.key(seed), environment, BATCH[0] * BATCH[1])
    return sample_trajectories(policy, environment, draws)[0]


def _compare(name: str, unrolled: Any, other: Any, tolerance: float, what: str) -> float:
    """The largest difference, relative to the largest output.

    Raises:
        InputError: if it is above the tolerance.
    """
    difference = np.abs(unrolled - other)
    found = float(difference.max() / max(np.abs(unrolled).max(), 1e-30))
    if not found <= tolerance:
        time = int(np.argmax(difference.max(axis=tuple(i for i in range(4) if i != 2))))
        raise InputError(
            f"{name}: unroll() differs from {what} by {found:.2g}, relative to the largest output, "
            f"most at time {time}, and rounding explains {tolerance:.1g}: let them compute the same"
        )
    return found


def _check_axes(
    name: str, network: AbstractDynamics[Any], seen: Any, unrolled: Any, tolerance: float
) -> None:
    """Checks that one trajectory, and a batch of one axis, give what they give among others."""
    for observations, expected in ((seen[0], unrolled[0]), (seen[0, 0], unrolled[0, 0])):
        found = np.asarray(_unroll(network, observations))
        latent = network.initial(observations.shape[:-2])
        first = np.asarray(network.read(latent, observations[..., 0, :]))
        wide = expected.reshape(1, -1, *expected.shape[-2:])
        _compare(name, wide, found.reshape(wide.shape), tolerance, "itself with fewer batch axes")
        start = first.reshape(wide[:, :, :1].shape)
        _compare(name, wide[:, :, :1], start, tolerance, "read() with fewer batch axes")


def _check_causality(
    name: str, network: AbstractDynamics[Any], seen: Any, unrolled: Any, tolerance: float
) -> None:
    """Checks that outputs do not depend on observations that come later."""
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
    environment: AbstractEnvironment[Any],
    drawn: Trajectories,
    seen: Any,
) -> float | None:
    """The norm of the gradient of the sum of `log p_F`, or of read-outs if they are no logits.

    Raises:
        InputError: if an entry is not finite.
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
