"""Graph networks that no Markovian policy can use (fig:graphssgb)."""

from fast.training.compose import configure
from pdai.experiments.base import Experiment, cells

MODELS = {
    "GCN": {"dynamics": "gcn", "learning_rate": 1e-3},
    "temporal GCN": {"dynamics": "temporal-gcn", "learning_rate": 1e-3},
}

EXPERIMENT = Experiment(
    label="fig:graphssgb",
    title="TV on two graphs, R(q_1) = alpha and R(q_2) = 1 - alpha",
    claim="the Markovian GCN has TV |alpha - 1/2|, the path-dependent one nearly 0.",
    setting="The instance is ours, with the stated properties: five states, two of them terminal. "
    "Learning rate 0.001.",
    metric="tv",
    cells=tuple(
        cell
        for tenths in range(1, 10)
        for cell in cells(
            f"{tenths / 10}",
            configure("graphs", alpha=tenths / 10, steps=1_000, evaluations=4),
            MODELS,
        )
    ),
    finding=(
        "As claimed, for every alpha and seed: the Markovian TV is |alpha - 1/2| to four "
        "digits, that with memory below 0.0015. At alpha = 0.5 there is nothing to gain. That "
        "memory can do this is proved (prop:temporal_gnns); here it is seen that gradient "
        "descent finds it."
    ),
    draw="lines",
    compared=("GCN", "temporal GCN"),
)
