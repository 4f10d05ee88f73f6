"""Whether memory pays where the state graph is no tree: both tuned, and with itself reset."""

from fast.training.compose import configure
from pdai.experiments.base import Experiment, cells
from pdai.experiments.grids import ONE_HOT
from pdai.experiments.tab_isingsa import ANY
from pdai.experiments.tab_sets import PRODUCT
from pdai.experiments.tuning import MODELS as TRIED
from pdai.experiments.walks import RINGS

# What was best over the rows of study:tuning.
GRU = TRIED["GRU, 32, 0.01"]
MODELS = {
    "Markovian": TRIED["Markovian, 0.01"],
    "GRU": GRU,
    "GRU reset": {**GRU, "reset": True},
}

SIX6 = configure("six6", parameters=20_000, steps=4_000, evaluations=4, law_samples=2**16)

EXPERIMENT = Experiment(
    label="study:dags",
    title="TV on graphs that are no trees, with memory and without, both tuned",
    claim="",
    setting=(
        "GRU: a latent of 32 numbers, which alone feeds one hidden layer. Both learning rates are "
        "0.01, the best of study:tuning, which tried five settings of the Markovian network and "
        "eight of GRUs; parameters, steps and exploration are equal. On the grids and walks the "
        "law of the GRU is sampled, that of the others exact."
    ),
    metric="tv",
    cells=(
        *cells("grid", ONE_HOT, MODELS),
        *cells("sparse grid", ONE_HOT.changed(landscape="sparse"), MODELS),
        *cells("sets, K = 16", PRODUCT, MODELS),
        *cells("sets, K = 32", PRODUCT.changed(size=32), MODELS),
        *cells("36 spins", ANY, MODELS),
        *cells("SIX6, both ends", SIX6, MODELS),
        *cells("walk, rings", RINGS, MODELS),
        *cells("walk, sharp rings", RINGS.changed(landscape="sharp-rings"), MODELS),
    ),
    finding=(
        "Memory pays on the walks: on both kinds of rings the GRU is ahead of the Markovian "
        "network and of itself reset, beyond doubt, also at equal time, and on rings near the "
        "floor of its samples. On sets it is ahead by less than counts, and so is its reset; on "
        "the grids it is at the floor of its samples, on spins not told apart (one seed of five "
        "ended at 0.09; log Z began 16 nats off there, which training mends since, and was not "
        "made again). On SIX6 the Markovian network is ahead by 0.005; in the README, after "
        "five times as many steps, by 0.004, of a larger GRU with a skip connection. At equal "
        "time the Markovian network is ahead there, on the larger sets and on spins."
    ),
    draw="rows",
    compared=("Markovian", "GRU"),
    also=(("GRU reset", "GRU"),),
)
