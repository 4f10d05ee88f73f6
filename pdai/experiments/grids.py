"""The 16 x 16 grid, sparse and standard (fig:gridsa, fig:apx:h)."""

from fast.training.compose import configure
from pdai.experiments.base import BEST, MARKOVIAN, Experiment, cells
from pdai.experiments.models import GRIDS, with_reset

ONE_HOT = configure(
    "grid", parameters=10_000, steps=2_000, epsilon=0.05, evaluations=5, law_samples=2**16
)
SETTING = (
    "5 % of the actions are random at first, none after half of training. Integers are the "
    "embedding that the paper prints for Lines; their sines and cosines are the usual cure. A TV "
    "of about 0.25, 0.5 or 0.75 is one, two or three of the four modes missed."
)


# 64 backward trajectories for each terminal: of more, measuring takes longer than training.
QUICKER = ONE_HOT.changed(law_samples=2**14, evaluations=4)
ROUGH = QUICKER.changed(landscape="sparse")
CURE = {name: GRIDS[name] for name in (MARKOVIAN, BEST)}

SPARSE = Experiment(
    label="fig:gridsa",
    title="TV on the sparse 16 x 16 grid",
    claim="the path-dependent model fits better; the Markovian one struggles to find its way.",
    setting=f"Four cells of reward 1 in a sea of 1/1000: the paper's picture is lost. {SETTING}",
    metric="tv",
    cells=(
        *cells("one-hot", ROUGH, with_reset(GRIDS)),
        *cells("integers", ROUGH.changed(encoding="natural"), with_reset(GRIDS)),
        *cells("sines and cosines", ROUGH.changed(encoding="fourier"), CURE),
    ),
    finding="Not run yet.",
)

STANDARD = Experiment(
    label="fig:apx:h",
    title="TV on the standard 16 x 16 grid",
    claim="the path-dependent model fits better.",
    setting=f"The usual reward, not the misprinted one. {SETTING}",
    metric="tv",
    cells=cells("one-hot", QUICKER, with_reset(GRIDS)),
    finding="Not run yet.",
)
