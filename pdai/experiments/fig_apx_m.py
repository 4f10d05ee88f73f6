"""The best states met in training (fig:apx:m)."""

from fast.training.compose import configure
from pdai.experiments.base import Experiment, cells
from pdai.experiments.models import SEQUENCES

PRODUCT = configure("syn", length=8, parameters=10_000, steps=2_000)

EXPERIMENT = Experiment(
    label="fig:apx:m",
    title="mean log reward of the 20 best sequences met, Syn-8",
    claim="the path-dependent model finds better ones.",
    setting=(
        "Ten times in training, as many sequences are drawn as were trained on since the time "
        "before; the 20 best of all of them count. The uniform policy draws as many; all models of "
        "a seed are drawn with the same random numbers."
    ),
    metric="best",
    cells=(
        *cells("literal", PRODUCT.changed(form="sum"), SEQUENCES, probe="best"),
        *cells("exponential", PRODUCT, SEQUENCES, probe="best"),
    ),
    finding=(
        "Not reproduced: no model meets better sequences than another. All models of a seed are "
        "so close to the target that the same random numbers make nearly the same sequences of "
        "them. Of the true 20 best of 1,679,616 sequences, whose means are 1.3231 and 3.7550, "
        "trained models met 4 to 7 (literal) and 7 to 14 (exponential), the policy that was never "
        "trained 1 to 5: the mean hardly shows even this, as rewards at the top lie close together."
    ),
    draw="best",
    # Of the 20 best of all 1,679,616 sequences.
    optimum={"literal": 1.3231, "exponential": 3.7550},
)
