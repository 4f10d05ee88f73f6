"""Every loss, trained on a small problem until the policy's law is the target."""

from typing import Any

import numpy as np
import pytest

from fast.laws.terminal_law import exact_law, target_law
from fast.parts import LOSSES
from fast.runs.setup import set_up
from fast.training.compose import configure
from fast.training.trainer import make_trainer
from reference.metrics import total_variation

# A thousand steps leave 1e-5 to 7e-4; the noise of the last steps, not the loss, decides how much.
NEAR = 2e-3


def distance(loss: str, options: dict[str, Any], *, of_another_target: bool = False) -> float:
    """The exact TV of a trained policy to its target, or to one with the rewards turned round."""
    # Lines with M = 2: states have several parents, and terminals several trajectories.
    config = configure(
        "lines", length=4, step=2, loss=loss, parameters=4_000, steps=1_000, batch=64, **options
    )
    setup = set_up(config)
    assert setup.enumeration is not None
    trainer = make_trainer(config, setup.environment)
    state, _ = trainer.advance(trainer.init(), config.optimiser.steps)
    law = exact_law(setup.policies(state)[0], setup.enumeration, float64=True)
    target = target_law(setup.enumeration)
    other = target[::-1] if of_another_target else target
    assert np.abs(target[::-1] - target).sum() > 0.1
    return float(total_variation(law.probabilities.tolist(), other.tolist()))


# Flow matching has no backward policy.
CASES = [
    (loss, {"dynamics": dynamics, **p_b})
    for loss in LOSSES
    for dynamics in ("markov", "gru")
    for p_b in ([{}] if loss == "fm" else [{"p_b": "uniform"}, {"p_b": "learned"}])
    if not (loss == "fm" and dynamics == "gru")
]


@pytest.mark.long
@pytest.mark.parametrize(("loss", "options"), CASES, ids=str)
def test_it_ends_at_the_target(loss: str, options: dict[str, Any]) -> None:
    assert distance(loss, options) < NEAR


def test_at_another_target_it_does_not() -> None:
    assert distance("tb", {"dynamics": "markov"}, of_another_target=True) > 20 * NEAR
