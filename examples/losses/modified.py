"""Modified detailed balance: a stop at every state takes the place of the flow."""

from examples.losses.balance import RIGHT
from examples.losses.graphs import STOPPING
from examples.losses.judging import Case, Judged
from examples.stop_balance import StopBalance
from fast.checking.instances import DIAMOND, make_instance

JUDGED = (
    Judged(
        "modified detailed balance",
        "Deleu et al., Bayesian structure learning with generative flow networks, 2022",
        "(log R(s) + log p_F(s'|s) + log p_F(stop|s') - log R(s') - log p_B - log p_F(stop|s))^2",
        "right under a condition",
        StopBalance(),
        RIGHT,
        "every state can stop, in an end of its own",
        (
            Case(
                StopBalance(),
                make_instance("diamond", DIAMOND),
                "wrong",
                "only one state can stop",
            ),
        ),
        graphs=STOPPING,
    ),
)
