"""Numbers of the device beside float64 references, which a CPU computes; each with a control.

The references are: the inversion of a distribution function by NumPy; the terms of balance by the
network in float64 on a CPU; losses written by hand; gradients by plain differentiation in float64;
laws in exact rationals. What is compared with another policy's numbers must differ.
"""

import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import chi2

from benchmarks.on_device.budget import Row
from fast.balance.losses import log_ratio as ratios_of
from fast.balance.losses import log_variance, subtb, tb
from fast.balance.steps import evaluate
from fast.laws.enumeration import decode_all
from fast.laws.exact_policy import exact_policy
from fast.laws.terminal_law import exact_law
from fast.laws.walk import to_float64
from fast.policies.policy import Sampler
from fast.sampling import actions
from fast.sampling.forward import sample_trajectories
from fast.sampling.trajectories import uniforms
from fast.training.compose import configure
from fast.training.step import Batch, loss_and_gradient
from reference import marginal
from verify.crosscheck import by_hand
from verify.crosscheck.compare import distance, tree_distance
from verify.crosscheck.instances import make_instance, random_policy

# Soft-maxes and sums of a few log-probabilities in float32, of logits up to about 30, as in
# verify/crosscheck; of float64 the network's rounding.
SINGLE, DOUBLE = 2e-4, 1e-11
# A gradient is a sum over a batch, each part rounded on its way back through the network.
GRADIENT = 2e-3
SAMPLES, BATCH, LOG_Z = 16_384, 64, 0.3
# A goodness-of-fit test rejects a right sampler with this probability.
ERROR_PROBABILITY = 1e-6


def row(what: str, error: float, allowed: float, control: float | None) -> dict[str, Any]:
    """An error beside what is allowed, and that of the control, which must be larger."""
    right = bool(error <= allowed and (control is None or allowed < control))
    return {"what": what, "error": error, "allowed": allowed, "control": control, "right": right}


def drawing(_: None = None) -> list[dict[str, Any]]:
    """Both ways of inverting a distribution function, beside NumPy's in float64."""
    rng = np.random.default_rng(0)
    p = rng.exponential(size=(4_096, 24)) * (rng.random((4_096, 24)) < 0.7)
    p[:, 0] += 1e-3
    p = (p / p.sum(1, keepdims=True)).astype(np.float32)
    draws = rng.random(4_096).astype(np.float32)
    below = np.cumsum(p.astype(np.float64), 1)
    level = draws * p.sum(1, dtype=np.float32)
    expected = (below <= level[:, None]).sum(1)
    # A draw that is within the rounding of a partial sum may go either way.
    clear = np.abs(below - level[:, None]).min(1) > 1e-5
    comparisons = []
    for way in (actions._invert_by_loop, actions._invert_by_cumsum):
        chosen = np.asarray(jax.jit(way)(p, level))
        wrong = float((chosen != expected)[clear].mean())
        legal = bool((p[np.arange(len(p)), chosen] > 0).all())
        control = float((np.asarray(jax.jit(way)(p, level[::-1])) != expected)[clear].mean())
        comparisons.append(row(f"actions by {way.__name__.strip('_')}", wrong, 0.0, control))
        comparisons[-1]["right"] &= legal
    return comparisons


def on_cpu() -> Any:
    """Computations in float64 on the host."""
    return jax.default_device(jax.local_devices(backend="cpu")[0])


def here(tree: Any) -> Any:
    """Arrays on the host (inside `on_cpu`), of the types that they have."""
    return jax.tree.map(lambda x: jnp.asarray(np.asarray(x)), tree)


def double(tree: Any) -> Any:
    """NumPy's arrays, floats among them in float64."""
    host = jax.tree.map(np.asarray, tree)
    return jax.tree.map(lambda x: x.astype(np.float64) if x.dtype.kind == "f" else x, host)


def network(name: str, dynamics: str) -> list[dict[str, Any]]:
    """All comparisons of one problem and one kind of policy."""
    instance = make_instance(name)
    policy, other = (random_policy(instance.environment, s, dynamics=dynamics) for s in (0, 1))
    compared = terms_losses_gradients(instance.environment, policy, other)
    return [*compared, *laws_and_samples(instance, policy, other)]


def terms_losses_gradients(environment: Any, policy: Any, other: Any) -> list[dict[str, Any]]:
    """Along a batch drawn on the device."""
    loss = configure("six6", loss="tb").loss

    # Arguments and no constants, which the compiler would spend its time on.
    @jax.jit
    def on_device(policy: Any, environment: Any, key: Any) -> Any:
        draws = uniforms(key, environment, BATCH)
        drawn, cached = sample_trajectories(policy, environment, draws, cache=True)
        sampler = Sampler(policy, jnp.float32(LOG_Z))
        loss_gradient = loss_and_gradient(loss, environment, sampler, Batch(drawn, cached), key)  # type: ignore[arg-type]
        steps = evaluate(policy, environment, drawn)
        values = [tb(steps, jnp.float32(LOG_Z)), log_variance(ratios_of(steps)), subtb(steps)]
        return drawn, cached.log_p_f, steps, values, loss_gradient.by

    drawn, log_p_f, steps, values, gradient = on_device(policy, environment, jax.random.key(0))
    wrong = on_device(other, environment, jax.random.key(0))[-1]
    with on_cpu(), jax.enable_x64(True):
        host = here((environment, drawn))

        def loss_of(sampler: Any, environment: Any, drawn: Any) -> Any:
            return tb(evaluate(sampler.policy, environment, drawn), sampler.log_z)

        terms = jax.jit(evaluate)
        exact, strange = (terms(to_float64(here(which)), *host) for which in (policy, other))
        sampler = Sampler(to_float64(here(policy)), jnp.array(LOG_Z))
        expected = jax.jit(jax.grad(loss_of))(sampler, *host)
    off = distance(strange.log_p_f, exact.log_p_f)
    compared = (
        ("p_F", steps.log_p_f, exact.log_p_f, off),
        ("p_F while sampling", log_p_f, exact.log_p_f, off),
        # A uniform p_B is the same of every policy.
        ("p_B", steps.log_p_b, exact.log_p_b, None),
    )
    comparisons = [
        row(f"log {name}", distance(ours, theirs), SINGLE, control)
        for name, ours, theirs, control in compared
    ]
    hand, hand_strange = double(steps), double(strange)
    functions = (
        ("tb", lambda s: by_hand.tb(s, LOG_Z)),
        ("log_variance", lambda s: by_hand.log_variance(by_hand.log_ratio(s))),
        ("subtb", lambda s: by_hand.subtb(s)),
    )
    for value, (which, function) in zip(values, functions, strict=True):
        theirs = function(hand)
        control = distance(function(hand_strange), theirs)
        comparisons.append(row(f"loss {which}", distance(value, theirs), SINGLE, control))
    errors = [tree_distance(double(g), double(expected)) for g in (gradient, wrong)]
    return [*comparisons, row("gradient of tb", errors[0], GRADIENT, errors[1])]


def laws_and_samples(instance: Any, policy: Any, other: Any) -> list[dict[str, Any]]:
    """The law in each precision, and samples, drawn as the device draws them."""
    enumeration = instance.enumeration
    with on_cpu():
        exact, wrong = (
            np.array([float(x) for x in marginal(exact_policy(p, enumeration, 100_000)[1])])
            for p in (here(policy), here(other))
        )
    comparisons = []
    for float64 in (False, True):
        law = exact_law(policy, enumeration, float64=float64).probabilities
        name = f"law, float{64 if float64 else 32}"
        errors = [float(np.abs(law - p).sum() / 2) for p in (exact, wrong)]
        comparisons.append(row(name, errors[0], DOUBLE if float64 else SINGLE, errors[1]))
    final = jax.jit(drawn_ends)(policy, instance.environment, jax.random.key(3))
    dag = enumeration.dag
    nodes = [dag.index[label] for label in decode_all(instance.environment, final)]
    counts = np.bincount(nodes, minlength=len(dag.labels))[list(dag.terminals)]
    fits = [chi_square(counts, p * SAMPLES) for p in (exact, wrong)]
    return [*comparisons, row("samples", fits[0], 1.0, fits[1])]


def drawn_ends(policy: Any, environment: Any, key: Any) -> Any:
    """Terminal states, as the device draws them."""
    draws = uniforms(key, environment, SAMPLES)
    return sample_trajectories(policy, environment, draws)[0].final


def chi_square(counts: Any, expected: Any) -> float:
    """Pearson's statistic over its critical value; cells that expect less than 20 are one."""
    small = expected < 20
    c, e = (np.append(x[~small], x[small].sum()) for x in (counts, expected))
    keep = e > 0
    c, e = c[keep], e[keep]
    critical = chi2.ppf(1 - ERROR_PROBABILITY, max(1, len(e) - 1))
    return float(((c - e) ** 2 / e).sum() / critical)


def rows(smallest: bool) -> Iterator[Row]:
    """The drawing of actions, then problems and kinds of policies; with `smallest` one of each."""
    names = ("grid",) if smallest else ("synthetic, prepend-append", "grid", "sets")
    kinds = ("gru",) if smallest else ("gru", "markov", "srwm", "lstm")
    yield Row("correctness", "drawing", 1, lambda: None, drawing)
    for n, name in enumerate(names):
        for k, dynamics in enumerate(kinds):
            compare = functools.partial(network, name, dynamics)
            # Each problem and each kind once before anything is timed, the rest beside it.
            late = 2 + n if n == k else 102 + n + k
            yield Row("correctness", f"{name}, {dynamics}", late, compare, list)
