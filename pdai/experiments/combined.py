"""Samplers combined from others, without the rewards of these (prop:apx:dist, prop:apx:sm)."""

from typing import Any

from fast.training.compose import configure
from pdai.distributed.plan import DIRECT, Distributed, Plan, Streamed
from pdai.experiments.base import Cell, Experiment
from pdai.experiments.models import FIRST_GRU

COMBINED, PRODUCT = "combined", "on the product"
COMMON: dict[str, Any] = {
    **FIRST_GRU, "parameters": 10_000, "steps": 1_000, "evaluations": 4, "law_samples": 2**16
}  # fmt: skip
DIFFERENT: dict[str, Any] = {"client_dynamics": ("gru", "srwm", "markov")}
SETTING = (
    "{parts}, 1,000 steps each; the sampler on the product has as many trajectories "
    "as all of them together. The TV of the small instances is exact; of the others, of "
    "trajectories: a bound of the one between the laws of terminals, estimated without bias."
)


def _row(row: str, plan: Plan) -> tuple[Cell, Cell]:
    return Cell(row, COMBINED, plan), Cell(row, PRODUCT, plan.runs()[DIRECT])


DISTRIBUTED = Experiment(
    label="prop:apx:dist",
    title="TV of samplers aggregated from clients' samplers",
    claim="",
    setting=SETTING.format(
        parts="The aggregate has GRU+, clients the same head on GRU, SRWM and no dynamics in turn"
    ),
    metric="tv",
    cells=(
        *_row(
            "5 of 14 items, 3 clients",
            Distributed(configure("sets", items=14, size=5, **COMMON), clients=3, **DIFFERENT),
        ),
        *_row(
            "16 of 64 items, 4 clients", Distributed(configure("sets", **COMMON), 4, **DIFFERENT)
        ),
        *_row("Syn-8, 4 clients", Distributed(configure("syn", **COMMON), 4, **DIFFERENT)),
    ),
    finding=(
        "It works, at a price: aggregates of three different dynamics come within 0.002 of the "
        "product on the small sets and on Syn-8, and within 0.014 on 16 of 64 items, where the "
        "sampler on the product with as many trajectories is four to five times nearer. Errors "
        "of the clients add, and the aggregate has a fourth or fifth of the trajectories. What "
        "N6 allows, from the residuals on all trajectories, holds with room: it is a maximum, "
        "35 to 165 times what is seen."
    ),
    draw="rows",
    compared=(PRODUCT, COMBINED),
)

STREAMED = Experiment(
    label="prop:apx:sm",
    title="TV of samplers updated chunk by chunk",
    claim="",
    setting=SETTING.format(parts="The samplers after each chunk have GRU+")
    + " Each begins with the parameters of the one before. Chunks are of comparisons or items.",
    metric="tv",
    cells=(
        *_row(
            "9^4 weights, 50 comparisons, 3 chunks",
            Streamed(configure("preference", dimension=4, comparisons=50, **COMMON), chunks=3),
        ),
        *_row(
            "9^8 weights, 100 comparisons, 4 chunks",
            Streamed(configure("preference", comparisons=100, **COMMON), chunks=4),
        ),
        *_row(
            "5 of 14 items, 3 chunks",
            Streamed(configure("sets", items=14, size=5, **COMMON), chunks=3),
        ),
    ),
    finding=(
        "It works, at a price that grows with the problem: updating is 1.6 times as "
        "far off as training on everything at once on the small sets, two and a half times on "
        "9^4 weights, and more than four times on 9^8, where it ends at 0.11. Each step "
        "inherits what the one before got wrong, and the last has a third or fourth of the "
        "trajectories. Where a posterior all but excludes most weights, N6 allows everything."
    ),
    draw="rows",
    compared=(PRODUCT, COMBINED),
)
