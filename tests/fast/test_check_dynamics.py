"""The check of the rules of latent dynamics, on networks that keep them and that do not."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

import pdai
from examples.min_gru import MinGRU
from examples.transformer import Attention
from fast.checking.dynamics import check_dynamics
from fast.dynamics.cells import GRU
from fast.dynamics.head import WithHead
from fast.dynamics.linear import Linear
from fast.dynamics.markov import Markov
from fast.dynamics.perceptron import Perceptron
from fast.environments import make_environment
from reference import InputError
from reference.problems import Grid, Lines
from tests.refusals import refuses

ENVIRONMENT = make_environment(Grid(3, 2))
FEATURES = jax.eval_shape(ENVIRONMENT.observe, ENVIRONMENT.initial()).shape[0]
KEY = jax.random.key(0)


def headed(cell: Any) -> Any:
    return WithHead(cell, Perceptron([cell.output, 5, ENVIRONMENT.actions], key=KEY))


def test_a_recurrent_policy_passes() -> None:
    report = check_dynamics(headed(GRU(FEATURES, 4, key=KEY)), ENVIRONMENT)
    assert (report.network, report.environment) == ("WithHead", "GridEnvironment")
    assert report.remembers
    assert not report.is_markovian
    assert report.gradient_norm is not None
    assert report.gradient_norm > 0
    assert report.unroll_error < 1e-14
    assert 1e-9 < report.rounding < 1e-6 < report.tolerance < 1e-2
    assert report.rows()["two histories of a state give different outputs"] == "yes"


@pytest.mark.parametrize(
    ("network", "markovian", "gradient"),
    [
        (headed(Markov(FEATURES)), True, True),
        (Markov(FEATURES), True, False),
        (GRU(FEATURES, 4, key=KEY), False, False),
        (Linear(FEATURES, ENVIRONMENT.actions, key=KEY), False, True),
    ],
)
def test_so_do_others_with_and_without_a_head(
    network: Any, markovian: bool, gradient: bool
) -> None:
    report = check_dynamics(network, ENVIRONMENT)
    assert (report.is_markovian, report.remembers) == (markovian, not markovian)
    assert (report.gradient_norm is not None) == gradient


def broken(name: str, **methods: Any) -> Any:
    """A recurrent network with other methods."""
    return type(name, (GRU,), methods)(FEATURES, 4, key=KEY)


def late_by_one(self: Any, observations: Any) -> Any:
    right = GRU.unroll(self, observations)
    return jnp.concatenate([right[..., :1, :], right[..., :-1, :]], -2)


def peeks(self: Any, observations: Any) -> Any:
    """Subtracts the mean over the whole trajectory, as a normalisation in the wrong axis does."""
    right = GRU.unroll(self, observations)
    return right - 1e-3 * right.mean(-2, keepdims=True)


def peeks_everywhere(self: Any, observations: Any) -> Any:
    """Hides it from the comparison with single steps, where nothing is larger than one."""
    later = jnp.maximum(jnp.abs(observations) - 1, 0).sum((-2, -1), keepdims=True)
    return GRU.unroll(self, observations) + later


class RemembersInUnroll(Markov):
    """Sums up what it has seen, and denies it."""

    def unroll(self, observations: Any) -> Any:
        return jnp.cumsum(observations, -2)


class RecallsAnother(WithHead[Any]):
    """Takes back half of what it recorded."""

    def record(self, latent: Any, observation: Any) -> Any:
        output, activations = super().record(latent, observation)
        return output, tuple(each / 2 for each in activations)


def one_at_a_time(self: Any, latent: Any, projected: Any) -> Any:
    """As cells for one sample do."""
    return GRU.update(self, latent.reshape(self.output), projected)


def trembles(_: Any, latent: Any) -> Any:
    """A guard against zero that is no smaller than the numbers that it guards, in float32."""
    return latent + 1e5 * float(jnp.finfo(latent.dtype).eps)


test_control_a_broken_network_is_refused = refuses(
    lambda network: check_dynamics(network, ENVIRONMENT),
    (broken("LateByOne", unroll=late_by_one),
     r"unroll\(\) differs from read\(\) after initial\(\) and advance\(\)"),
    (broken("Peeks", unroll=peeks), r"unroll\(\) differs from read\(\)"),
    (broken("SaysMarkovian", is_markovian=property(lambda _: True)),
     "is_markovian is True, but it has a latent"),
    (RemembersInUnroll(FEATURES), "is_markovian is True, but two histories"),
    # As batch normalisation does in training.
    (broken("Centred", visible=lambda _, latent: latent - latent.mean(0)),
     "Centred: the outputs of a history depend on the others of its batch"),
    (broken("OneAtATime", update=one_at_a_time),
     r"OneAtATime, with 1 batch axes: advance\(\) raises"),
    (broken("OnlyBatches", initial=lambda self, batch=(): GRU.initial(self, batch or (1,))),
     r"with 0 batch axes: read\(\) .* but must give an array .*\(4,\)"),
    # A root of zero, whose derivative is infinite.
    (broken("Roots", visible=lambda _, latent: jnp.sqrt(jnp.abs(latent))),
     "has an entry that is not finite"),
    (broken("Trembles", visible=trembles), "differs from itself in float32"),
    (broken("Short", visible=lambda _, latent: latent[..., 1:]),
     r"gives float32 numbers of the shape \(3,\), but must .* \(4,\)"),
    (RecallsAnother(GRU(FEATURES, 4, key=KEY), Perceptron([4, 5, 3], key=KEY)),
     r"unroll\(\) differs from recall\(\) of record\(\)"),
    marks=[pytest.mark.long],
)  # fmt: skip


def test_control_a_network_that_looks_ahead_is_refused() -> None:
    with pytest.raises(InputError, match="a policy cannot look ahead"):
        check_dynamics(broken("PeeksEverywhere", unroll=peeks_everywhere), ENVIRONMENT)


def test_without_a_state_of_two_histories_memory_is_not_judged() -> None:
    lines = make_environment(Lines.minimal())
    features = jax.eval_shape(lines.observe, lines.initial()).shape[0]
    report = check_dynamics(GRU(features, 4, key=KEY), lines)
    assert report.remembers is None
    assert "no state here has two" in "".join(report.rows().values())


@pytest.mark.long
@pytest.mark.parametrize("make", [MinGRU, Attention])
def test_networks_of_ones_own_pass_their_check(make: Any) -> None:
    assert pdai.check(make).rows()


class Deaf(Linear):
    """A network of one size, whatever width it is asked for."""

    def __init__(self, features: int, size: int, *, width: int, key: Any):
        super().__init__(features, size, key=key)


def test_control_a_network_that_ignores_its_width_is_told_to_take_it_out() -> None:
    with pytest.raises(InputError, match="it ignores its width, so take `width` out of its __init"):
        pdai.check(Deaf)
