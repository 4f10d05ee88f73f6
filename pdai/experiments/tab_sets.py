"""Sets of K out of 64 items (tab:sets)."""

from fast.training.compose import configure
from pdai.experiments.base import Experiment, Quoted, cells
from pdai.experiments.models import SETS, with_reset

PRODUCT = configure("sets", parameters=10_000, steps=2_000, evaluations=4)
# 32 backward trajectories for each state that FCS looks at: measuring takes as long as training.
QUICKER = PRODUCT.changed(parameters=20_000, law_samples=2**13)
LITERAL = QUICKER.changed(form="sum")

EXPERIMENT = Experiment(
    label="tab:sets",
    title="FCS on sets of K out of 64 items",
    claim="path-dependent 0.053 and 0.064, Markovian 0.091 and 0.105, for K = 16 and 24.",
    setting=(
        'Utilities are normal, one draw for all seeds. "Literal" is the printed reward, the sum of '
        "exp(u); the other rows have their product, which is hard enough to tell samplers apart. "
        "The state graph is no tree: each set is built in K! orders."
    ),
    metric="fcs",
    cells=(
        *cells(
            "K = 16, literal",
            LITERAL,
            SETS,
            (Quoted(0.091, 0.012), Quoted(0.053, 0.006)),
        ),
        *cells("K = 16", QUICKER, with_reset(SETS)),
    ),
    finding="Not run yet.",
    draw="rows",
)
