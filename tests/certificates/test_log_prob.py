"""Samples with log-probabilities beside them, and a law."""

import ast
import math
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pdai
from pdai.adapters.log_prob import sampler
from reference import InputError
from reference.problems import Cell, Grid
from tests.certificates.problems import FAIR, Words, certify_lines, drawn
from tests.command_lines import answer
from tests.refusals import refused, refuses

WRONG = {"a": 0.26, "b": 0.25, "c": 0.49}
ALONE = "TV of terminals by the samples alone"


def log_prob(x: str) -> float:
    return math.log(WRONG[x])


@pytest.mark.catches(
    "A log-probability of terminal states is taken for one of trajectories.",
    "pdai/certifying/samples.py",
    'self.of = "terminals"',
    'self.of = "trajectories"',
)
def test_log_probabilities_bring_the_interval_to_a_tenth_of_that_of_bare_samples() -> None:
    """TV is 0.01, the mean of `1 - 0.25 / 0.26` where a is drawn."""
    samples = drawn(20_000, [*WRONG.values()])
    bare = pdai.certify(samples, law=FAIR).interval
    made = pdai.certify(samples, law=FAIR, log_prob=log_prob)
    assert (made.regime, made.of, made.samples) == ("Z", "terminals", 20_000)
    assert made.interval.low < 0.01 < made.interval.high
    assert made.interval.width < bare.width / 10
    assert not any("trajectory distributions" in note for note in made.notes)
    # Three weights have no tail.
    assert "Pareto k of the weights" not in made.report


def test_a_file_may_have_them_in_a_column(tmp_path: Path) -> None:
    (tmp_path / "law.csv").write_text("a,1\nb,1\nc,2\n")
    lines = [f"{x},{log_prob(x)}" for x in drawn(5_000, [*WRONG.values()])]
    (tmp_path / "s.csv").write_text("\n".join(["terminal,log_prob", *lines]))
    ask = ("certify", "s.csv", "--law", "law.csv", "--fail-above")
    assert (
        "TV of terminals, if these are the probabilities drawn from [0.00"
        in answer(*ask, "0.02", cwd=tmp_path, expect=0).stdout
    )
    answer(*ask, "0.001", cwd=tmp_path, expect=1)


def test_a_problem_of_many_steps_takes_them_too() -> None:
    """Words are drawn uniformly, which is the law."""
    words = [a + b + c for a in "ab" for b in "ab" for c in "ab"]
    ends = [x for x in words if not Words().children(x)]
    samples = np.random.default_rng(0).choice(ends, 500).tolist()
    target = pdai.certify(samples, Words, log_prob=lambda x: -math.log(len(ends)))
    assert (target.regime, target.of) == ("Z", "terminals")


def test_where_states_are_not_listed_each_is_followed_back(tmp_path: Path) -> None:
    """As many cells beyond the grid as in it, each as probable: TV is at least a half."""
    rows = np.random.default_rng(0).integers(64, size=640).tolist()
    cells, lines = [Cell((i, 0), True) for i in rows], [f'"{i},0",-4.2' for i in rows]
    (tmp_path / "s.csv").write_text("\n".join(["terminal,log_prob", *lines]))
    grid = Grid(32)
    object.__setattr__(grid, "parse", lambda text: Cell(ast.literal_eval(text), True))
    for samples, more in ((cells, {"log_prob": lambda x: -4.2}), (tmp_path / "s.csv", {})):
        with pytest.raises(InputError, match=r"has Cell.*, which is not reached in Grid"):
            pdai.certify(samples, grid, max_states=9, **more)


test_what_is_no_log_probability_is_refused = refuses(
    lambda samples, options: pdai.certify(samples, law=FAIR, **options),
    (["a", "b"] * 5, {"log_prob": lambda x: 0.0}, "2 distinct samples sum to 2, more than 1"),
    (["a", "b"] * 5, {"log_prob": lambda x: math.nan}, "log_prob"),
    (["a", "b"] * 5, {"log_prob": lambda x: -math.inf}, "log_prob of 'a' is -inf"),
    (
        lambda state: [1],
        {"log_prob": log_prob},
        "log_prob is .*, but certify does not read it for a function: leave it out",
    ),
)


@pytest.mark.catches(
    "Samples are not compared with the log-probabilities beside them.",
    "reference/certificates/recorded.py",
    "if least_gap(bounds._replace(low=0.0) if is_least else bounds, share) > EXCESS:",
    "if False:",
)
@pytest.mark.parametrize("power", [0.5, 2.0])
def test_samples_of_another_temperature_than_their_log_prob_are_refused(power: float) -> None:
    """By the log-probabilities, TV was at most 0.0039, where it is 0.09 and 0.17."""
    chances = np.array([*FAIR.values()]) ** power
    samples = np.random.default_rng(0).choice([*FAIR], 20_000, p=chances / chances.sum())
    with pytest.raises(InputError, match=r"probability .* by their log_prob: give that of the"):
        pdai.certify(samples, law=FAIR, log_prob=lambda x: math.log(FAIR[x] / 4))


def test_samples_beside_the_log_prob_of_their_target_are_refused() -> None:
    """By the log-probabilities, TV was at most 0.0008, where it is 11/600."""
    law = {"a": 1, "b": 2, "c": 3}

    def made(*chances: float) -> Any:
        samples = np.random.default_rng(1).choice([*law], 20_000, p=chances)
        beside = pdai.certify(samples, law=law, log_prob=lambda x: math.log(law[x] / 6))
        assert pdai.certify(samples, law=law).interval == beside.value(ALONE)
        return beside

    assert made(1 / 6, 1 / 3, 1 / 2).interval.high < 0.0008
    refused(r"\[0, 0.0007\d*\] by the log-.* in \[0.003\d*, 0.04", made, 0.185, 0.315, 0.5)


def test_a_state_has_one() -> None:
    lines = ["terminal,log_prob", "a,-1", "a,-2"]
    refused("'a' has the log_prob -1 and -2", lambda: certify_lines(lines, law=FAIR))
    refused("log_prob is given without a target", certify_lines, lines)
    # The means of two steps, in place of their sums: TV was at least 0.4, where it is 0.
    means = [f"{x},{math.log(FAIR[x] / 4) / 2},0,{math.log(FAIR[x])}" for x in "abcc"]
    recorded = ["terminal,log_p_f,log_p_b,log_reward", *means]
    words = r"trajectories to 3 distinct states sum to 1.7.* steps"
    refused(words, lambda: certify_lines(recorded, law=FAIR))


class Module:
    """A stand-in for a module of PyTorch: a batch of states, and an answer with `detach`."""

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    def __iter__(self) -> Any:
        raise AssertionError

    def log_prob(self, x: Any) -> Any:
        assert x.shape[1:] == (2,)
        return Tensor(np.log(np.where(x.sum(1) > 1, 0.4, 0.2) * self.scale, dtype=np.float32))


Module.__module__ = "torch.nn.modules.module"


class Tensor:
    def __init__(self, values: Any):
        self.values = values

    def detach(self) -> "Tensor":
        return self

    def cpu(self) -> Any:
        return self.values


PAIRS: dict[Any, int] = {(0, 0): 1, (0, 1): 1, (1, 0): 1, (1, 1): 1}


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(as_tensor=np.asarray))


@pytest.mark.usefixtures("torch")
@pytest.mark.catches(
    "The probability that is missing is spread over the terminal states.",
    "pdai/certifying/objects.py",
    "if total < 1 - ROUNDING * (1 + spread):",
    "if total < 0:",
)
def test_a_module_with_log_prob_is_certified_at_every_state() -> None:
    """Its probabilities are 1/5, 1/5, 1/5 and 2/5; halved, one half lies elsewhere."""
    made = pdai.certify(Module(), law=PAIRS)
    assert (made.regime, made.of) == ("E", "terminals")
    assert made.tv == pytest.approx(Fraction(3, 20), abs=1e-6)
    # What float32 explains is not missing, and nothing more: TV was 0 with 9e-5 elsewhere.
    for lost, tv in ((0.5, 0.5), (9e-5, 0.15 + 0.6 * 9e-5), (1e-7, 0.15)):
        less = pdai.certify(Module(1 - lost), law=PAIRS)
        assert less.tv == pytest.approx(tv, abs=1e-6)
        assert any("lies outside" in note for note in less.notes) == (lost > 1e-6)
    samples = [x for x, n in zip(PAIRS, (1, 1, 1, 2), strict=True) for _ in range(2_000 * n)]
    samples = [samples[i] for i in np.random.default_rng(0).permutation(len(samples))]
    bare = pdai.certify(samples, law=PAIRS, log_prob=Module().log_prob)
    assert bare.interval.low < 0.15 < bare.interval.high < bare.interval.low + 0.1


def test_a_function_of_encoded_states_and_an_object_of_a_problem() -> None:
    texts = sampler(lambda x: np.log(x), encode=lambda states: [WRONG[x] for x in states])
    assert pdai.certify(texts, law=FAIR).tv == pytest.approx(Fraction(1, 100), abs=1e-12)
    uniform = SimpleNamespace(log_prob=lambda x: -math.log(8))
    assert pdai.certify(uniform, Words).tv == pytest.approx(Fraction(3, 20), abs=1e-12)
    # Far below the least float, and no less drawn.
    rare = SimpleNamespace(log_prob={"a": -math.log(2), "b": -math.log(2), "c": -800.0}.get)
    kl = pdai.certify(rare, law=FAIR).value("KL(target || p_T), nats")
    assert kl == pytest.approx(400 - math.log(2), rel=1e-12)


test_what_cannot_be_asked_is_refused = refuses(
    lambda what, options: pdai.certify(what, **options),
    (Module(1.5), {"law": PAIRS}, "sum to 1.5, more than 1"),
    (Module(), {"law": {"a": 1}}, "'a' is no number and no tuple of numbers"),
    (Module(), {}, "no target"),
    (Module(), {"law": PAIRS, "regime": "Z"}, "give samples, and log_prob="),
    (
        Module(),
        {"law": PAIRS, "certificate": "file"},
        "certificate is 'file', but certify does not read it for an object",
    ),
    (sampler(lambda x: 0.0, encode=list), {"law": FAIR}, r"the shape \(\) for 3 states"),
    (sampler(iter, encode=list), {"law": FAIR}, r"the shape \(\) for 3 states"),
    (
        sampler(lambda xs: pd.Series([-1.0] * len(xs), index=xs[::-1]), encode=list),
        {"law": FAIR},
        r"the shape \(\) for 3 states",
    ),
    (
        sampler(lambda xs: np.ma.array([-1.0] * len(xs), mask=True), encode=list),
        {"law": FAIR},
        "log_prob of 'a' is nan",
    ),
    (
        sampler(lambda xs: np.log2([WRONG[x] for x in xs]), encode=list),
        {"law": FAIR},
        "sum to .*, and to 1 in base 2: give natural logarithms",
    ),
    (
        sampler(lambda x: np.log(np.random.default_rng().dirichlet([1] * len(x))), encode=list),
        {"law": FAIR},
        "asked again",
    ),
    (sampler(lambda x: -np.log([len(x)] * len(x)), encode=list), {"law": FAIR}, "asked again"),
    marks=[pytest.mark.usefixtures("torch")],
)


def test_a_module_of_pytorch_itself() -> None:
    torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed, and not in dev")
    law = dict(enumerate([1, 2, 3]))
    made = pdai.certify(torch.distributions.Categorical(logits=torch.zeros(3)), law=law)
    assert made.tv == pytest.approx(Fraction(1, 6), abs=1e-6)
