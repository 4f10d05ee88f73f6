"""Dynamics and backward policies of the user's own."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from fast.dynamics.base import AbstractDynamics
from fast.dynamics.cells import GRUOptions
from fast.dynamics.head import Network, WithHead
from fast.dynamics.markov import AbstractMarkovian
from fast.dynamics.wrappers import CellOptions, Reset, Skip
from fast.environments import AbstractEnvironment, feature_count
from fast.tracing import answer, built, same_program, traced
from reference.contract.errors import InputError


@dataclass(frozen=True)
class OwnDynamics(CellOptions):
    """Dynamics of the user's own: a cell with a head, or a whole network.

    A cell is called with `(features, latent_size, key=key)`, a whole network, whose `needs_head` is
    False, with `(features, outputs, key=key)`. Either also gets `horizon` and `environment` where
    its signature names them, and a whole network `width`.
    """

    make: Callable[..., Any] = field(default=GRUOptions, repr=False)

    @property
    def has_width(self) -> bool:
        """True if there is a head, or the network takes a width."""
        return self._has_head or "width" in _named(self.make)

    @property
    def is_markovian(self) -> bool:
        """True if the latent is reset, or the class has none, or says so without an instance."""
        if isinstance(self.make, type) and issubclass(self.make, AbstractMarkovian):
            return True
        return self.reset or getattr(self.make, "is_markovian", False) is True

    @property
    def _has_head(self) -> bool:
        return bool(getattr(self.make, "needs_head", True))

    def _called(
        self, environment: AbstractEnvironment, size: int, key: PRNGKeyArray, **more: Any
    ) -> Network:
        more |= {"horizon": environment.horizon, "environment": environment}
        asked = {name: value for name, value in more.items() if name in _named(self.make)}
        call = partial(self.make, feature_count(environment), size, key=key, **asked)
        advice = "fast.dynamics.base.AbstractDynamics"
        network: Network = built("dynamics", AbstractDynamics, advice, call)
        return network

    def unit(self, environment: AbstractEnvironment, *, key: PRNGKeyArray) -> Network:
        return self._called(environment, self.latent_size, key)

    def build(
        self, environment: AbstractEnvironment, outputs: int, width: int, *, key: PRNGKeyArray
    ) -> Network:
        """The cell with its head, or the whole network."""
        if self._has_head:
            return super().build(environment, outputs, width, key=key)
        network = self._called(environment, outputs, key, width=width)
        if network.output != outputs:
            raise InputError(
                f"dynamics {self.make!r} has {network.output} outputs, but the policy needs "
                f"{outputs}: make it with as many as its second argument says"
            )
        return network


def _named(factory: Callable[..., Any]) -> set[str]:
    """The parameters that a class or function names."""
    return set(inspect.signature(factory).parameters)


def check_network(owner: str, network: Any, seen: Any, steps: int) -> None:
    """Checks a network of the user's own along trajectories, whatever its parameters are.

    The network and the features `seen` of a state are arrays, or their shapes. Raises InputError if
    a method raises, or gives another shape, with no, one or two batch axes; if two traces give two
    programs, as of a network that counts its calls, or draws from NumPy; if it claims to be
    Markovian and has a latent; or if the outputs of one history depend on those beside it, as in
    batch normalisation.

    Args:
        owner: the name in messages.
        network: the network, or its shapes.
        seen: the features of a state, or their shape.
        steps: the length of the trajectories that are tried.
    """
    # The wrappers are ours.
    network = network.dynamics if isinstance(network, WithHead) else network
    network = network.inner if isinstance(network, Reset | Skip) else network
    for batch in ((), (2,), (2, 3)):
        name = f"{owner}, with {len(batch)} batch axes"
        observations = jax.eval_shape(partial(jnp.zeros, (*batch, steps, *seen.shape), seen.dtype))
        same_program(name, _along, name, batch, network, observations)
    latent = eqx.filter_eval_shape(lambda made: made.initial(), network)
    if network.is_markovian and jax.tree.leaves(latent):
        raise InputError(
            f"{owner}: is_markovian is True, but it has a latent: leave it at False, or derive "
            "from AbstractMarkovian, whose latent is ()"
        )
    _check_alone(owner, network, seen, _two_outputs)


def check_backward(owner: str, policy: Any, seen: Any, parents: int) -> None:
    """Checks a backward policy of the user's own, whatever its parameters are.

    Raises InputError as `check_network` does, or if its rows do not sum to 1 over legal parents.

    Args:
        owner: the name in messages.
        policy: the policy, or its shapes.
        seen: the features of a state, or their shape.
        parents: the number of backward actions.
    """

    def rows(made: Any, seen: jax.Array) -> jax.Array:
        shape = (len(seen), parents)
        if hasattr(made, "logits"):
            answer(owner, shape, "logits", made.logits, seen)
        # All are legal at the first state, and at the others all but the last.
        mask = (jnp.arange(parents) < max(parents - 1, 1)) | (jnp.arange(len(seen))[:, None] == 0)
        outputs = jnp.zeros((len(seen), made.outputs)) if made.outputs else None
        return jnp.exp(answer(owner, shape, "log_p_b", made.log_p_b, outputs, seen, mask)) * mask

    same_program(owner, rows, policy, jnp.zeros((3, *seen.shape), seen.dtype))
    both = eqx.filter_jit(lambda made, *batches: tuple(rows(made, batch) for batch in batches))
    sums = np.sum(_check_alone(owner, policy, seen, both), -1)
    if not np.allclose(sums, 1, atol=1e-3):
        raise InputError(
            f"{owner}: log_p_b() gives the legal parents of states the probabilities {sums[0]} "
            "together, but must give them 1: use fast.policies.backward.masked_log_softmax"
        )


def _check_alone(owner: str, network: Any, seen: Any, outputs: Callable[..., Any]) -> Any:
    """The outputs on two batches with one state in common, for which they must be the same bits."""
    rng = np.random.default_rng(0)

    def drawn(leaf: Any) -> jax.Array:
        is_float = jnp.issubdtype(leaf.dtype, jnp.floating)
        values = rng.normal(size=leaf.shape) if is_float else np.zeros(leaf.shape)
        return jnp.asarray(values, leaf.dtype)

    # Policies are built in a trace, where nothing is computed otherwise.
    with jax.ensure_compile_time_eval():
        made, states = jax.tree.map(drawn, network), rng.normal(size=(2, 3, *seen.shape))
        others = np.concatenate([states[:, :1], rng.normal(size=states.shape)[:, 1:]], 1)
        one, two = (outputs(made, *jnp.asarray(x, seen.dtype)) for x in (states, others))
        alike = [np.array_equal(a[0], b[0], equal_nan=True) for a, b in zip(one, two, strict=True)]
    if not all(alike):
        raise InputError(
            f"{owner}: the outputs of a history depend on the others of its batch, so that it has "
            "no distribution of its own: normalise over the features, not over the batch"
        )
    return one


# In the module, so that a network that is built again is not compiled again.
@eqx.filter_jit
def _two_outputs(network: Any, first: jax.Array, second: jax.Array) -> tuple[jax.Array, jax.Array]:
    latent = network.initial(first.shape[:1])
    return network.read(latent, first), network.read(network.advance(latent, second), second)


def _along(owner: str, batch: tuple[int, ...], network: Any, observations: Any) -> Any:
    """The outputs of a network along a trajectory: the first, the last, and all of `unroll`."""
    latent = traced(owner, "initial", network.initial, batch)
    read = (*batch, network.output)
    first = answer(owner, read, "read", network.read, latent, observations[..., 0, :])
    latent = traced(owner, "advance", network.advance, latent, observations[..., -1, :])
    last = answer(owner, read, "read", network.read, latent, observations[..., -1, :])
    shape = (*observations.shape[:-1], network.output)
    return first, last, answer(owner, shape, "unroll", network.unroll, observations)
