"""Bit sequences near hidden modes (tab:sequencesabits)."""

from fast.training.compose import configure
from pdai.experiments.base import Cell, Experiment, Quoted, cells
from pdai.experiments.models import MODELS, WITHOUT_PRINTED

COMMON = configure("bits", word=4, parameters=10_000, steps=2_000, evaluations=4)
LARGER = COMMON.changed(length=32, steps=10_000, parameters=60_000)
PAPER = {
    16: (Quoted(0.025, 0.001), Quoted(0.001, 0.000)),
    32: (Quoted(0.057, 0.001), Quoted(0.002, 0.000)),
    64: (Quoted(0.064, 0.005), Quoted(0.002, 0.000)),
}


def _cells() -> tuple[Cell, ...]:
    found: list[Cell] = []
    for length, paper in PAPER.items():
        config = COMMON.changed(length=length, parameters=20_000 if length == 64 else 10_000)
        found += cells(f"{length} bits, c = 3", config, MODELS, paper)
        found += cells(f"{length} bits, c = 20", config.changed(exponent=20), MODELS)
    found += cells("32 bits, c = 3, larger", LARGER, WITHOUT_PRINTED)
    return tuple(found)


EXPERIMENT = Experiment(
    label="tab:sequencesabits",
    title="FCS on bit sequences",
    claim='path-dependent 0.001, 0.002, 0.002, Markovian 0.025, 0.057, 0.064 ("distance").',
    setting=(
        "log R = -c d / n, d the Hamming distance to the nearest of up to 60 hidden modes; four "
        "bits a step, a tree. Which distance and which exponent the paper has is not said; its "
        "Markovian number at 16 bits is below that of an untrained sampler with c = 3. Larger: "
        "60,000 parameters, six times as many, and 10,000 steps, five times as many."
    ),
    metric="fcs",
    cells=_cells(),
    finding=(
        "Not reproduced. The printed SRWM is behind an equal Markovian network in every row. GRU+ "
        "is not told apart from it at 16 and 64 bits, and behind at 32 by 0.002 and 0.018, but "
        "for the larger networks, which are level: the state graph is a tree, and the path is "
        "known to all. With c = 3 our Markovian network is nearly ten times nearer to the target "
        "than the paper's at 16 bits and twice at 32 and 64, where the paper's numbers (0.057 and "
        "0.064) are near the FCS of a policy that was never trained, or above (0.061 and 0.040). "
        "None of ours comes near the paper's 0.002 at 32 and 64 bits; with six times the "
        "parameters and five times the steps both kinds are at 0.011. As long as distance and "
        "exponent are not known, more cannot be said."
    ),
    draw="rows",
)
