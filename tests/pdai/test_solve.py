"""`pdai solve`: exact samplers by dynamic programming or a closed form, in folders of their own."""

import inspect
import io
import math
import sys
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import pdai
from fast.runs.job import train
from fast.runs.records import SEAL, seal_run
from fast.tasks import TASKS
from fast.training.compose import configure
from pdai.show import plotting
from pdai.show.stored import Stored
from pdai.solving.hints import exact_beside
from pdai.solving.solve import solve
from pdai.solving.solved import Solved
from reference import gamma
from reference.contract import loading
from reference.contract.errors import InputError, TooLargeError
from reference.contract.loading import name_of
from reference.fields.field import RATIONAL
from reference.marginals import marginal
from reference.metrics import normalize, total_variation
from reference.policies import BackwardPolicy, ForwardPolicy
from reference.posterior.networks import Network
from reference.problems import HardCore
from reference.problems.closed_form import Enclosure
from reference.problems.enumeration import enumerate_dag, enumerate_rewards
from reference.problems.grid import Cell
from reference.problems.sets import Items, Sets
from reference.rows.exact import exact_row
from reference.rows.flows import Backward, ExactFlows, GraphArrays, Scaled
from reference.solve import forward_from_backward
from tests.certificates.problems import other
from tests.command_lines import ROOT, answer, python
from tests.made_up_runs import tiny_run
from tests.refusals import refused, refuses, whole

FORK = "tests.pdai.test_solve:Fork"
# Every task that can be listed, at a small size, by the options of the command line.
SMALL = {
    "pho4": "--table {table}",
    "syn": "--length 3 --letters 3 --build prepend-append",
    "bits": "--length 8 --word 2",
    "lines": "--length 12 --step 3",
    "grid": "--side 5 --dimension 3",
    "sets": "--items 7 --size 3",
    "preference": "--dimension 2 --order any",
    "random-walk": "--radius 2 --walk-steps 4",
    "ising": "--spins 4",
    "torus": "--rows 2 --columns 2",
    "phylogeny": "--taxa 5",
    "hard-core": "--rows 2 --columns 3",
    "graphs": "--instance marked",
    "structure": "--nodes 3",
    "variables": "--variables 5",
    "custom": f"--problem {FORK}",
}
MOST = Fraction(1, 10**12)


class NoStop:
    """Subsets of three letters, of which those without the last are never answers."""

    initial = ""

    def children(self, state: str) -> list[str]:
        return [state + letter for letter in "abc" if letter > state[-1:]]

    def reward(self, state: str) -> int:
        return 1 + len(state)


class Fork:
    """Six strings of very different rewards, one of which has two parents."""

    initial = ""

    def children(self, state: str) -> tuple[str, ...]:
        after = {"": ("a", "b", "c"), "a": ("aa", "ab"), "b": ("ab", "bb"), "c": ("cc",)}
        return after.get(state, ())

    def log_reward(self, terminal: str) -> float:
        return {"aa": -3000.0, "ab": 2.0, "bb": -1.5, "cc": 2.5}[terminal]


class Warm(Fork):
    """A fork that keeps its argument on its class."""

    beta = 1.0

    def __init__(self, beta: float = 1.0):
        type(self).beta = beta

    def log_reward(self, terminal: str) -> float:
        return self.beta * super().log_reward(terminal)


def test_what_an_instance_was_made_with_may_be_its_class_s(tmp_path: Path) -> None:
    """The class was called again without arguments, and that problem was solved."""
    solved = pdai.solve(Warm(3.0), out=tmp_path / "warm")
    assert solved.log_z.value == pytest.approx(np.logaddexp.reduce([-9e3, 6.0, -4.5, 7.5]))


class Cycle(Fork):
    def children(self, state: str) -> tuple[str, ...]:
        return {"aa": ("a",)}.get(state, super().children(state))


Nothing = other("Nothing", children=lambda _, s: [] if s else ["a", "b"], reward=lambda _, x: 0)
twice = lambda _, s: [2 * s + 1, 2 * s + 2]  # noqa: E731
Endless = other("Endless", initial=0, children=twice, reward=lambda _, x: 1)


class Shuffled:
    """Sets of three of five items, whose children have another order in every process."""

    initial = ""

    def children(self, state: str) -> list[str]:
        longer = {"".join(sorted(state + item)) for item in "abcde" if item not in state}
        return list(longer) if len(state) < 3 else []

    def reward(self, terminal: str) -> int:
        return 1


class _Length(NamedTuple):
    """The length of strings."""

    n: int = 1


class Strings(_Length):
    """Strings of two letters, as a problem that is a tuple."""

    initial = ""

    def children(self, state: str) -> tuple[str, ...]:
        return (state + "a", state + "b") if len(state) < self.n else ()

    def reward(self, terminal: str) -> int:
        return 1


class Bounded(Shuffled):
    """A problem whose `log_z` is a number, as `pdai certify` takes it, not an enclosure."""

    def log_z(self) -> float:
        return math.log(10)

    def sample(self, count: int, seed: int) -> list[str]:
        return ["abc"] * count


class Coins:
    """Coins that fall on 1 with probability 2/3, in closed form, or nearly so."""

    initial = ""

    def __init__(self, coins: int = 10, bias: float = 2 / 3, off: float = 0.0, more: str = ""):
        self.coins, self.bias, self.off, self.more = coins, bias, off, more

    def children(self, state: str) -> tuple[str, ...]:
        return (state + "0", state + "1") if len(state) < self.coins else ()

    def reward(self, terminal: str) -> int:
        return int(2 ** terminal.count("1"))

    def log_z(self) -> Enclosure:
        return Enclosure(self.coins * math.log(3) + self.off, 1e-12)

    def sample(self, count: int, seed: int) -> list[str]:
        ones = np.random.default_rng(seed).random((count, self.coins)) < self.bias
        return ["".join("01"[one] for one in row) + self.more for row in ones.tolist()]


def coins(**members: Any) -> Any:
    """Forty coins, with other members."""
    return type("Others", (Coins,), members)(40)


def solved(name: str, folder: Path, *options: str) -> Solved:
    table, scores = folder.parent / "table.npz", np.random.default_rng(0).normal(size=27)
    np.savez(table, score=scores.astype(np.float32), alphabet="ACG", length=3)
    words = SMALL[name].format(table=table).split()
    answer("solve", name, *words, "--out", str(folder), *options, cwd=folder.parent)
    run = pdai.load(folder)
    assert isinstance(run, Solved)
    return run


def test_every_task_that_can_be_listed_is_in_the_table() -> None:
    # As that of PHO4, which is the user's to bring, they are tables of sequences, and large.
    assert set(SMALL) == set(TASKS) - {"six6", "qm9"}


@pytest.mark.catches(
    "An alignment is read before the folder with its copy is known.",
    "fast/tasks/builtin.py",
    "if not self.reads_file and not any(getattr(self, name) for name in self.inputs):",
    "if not self.reads_file:",
)
def test_a_folder_has_its_own_copy_of_an_alignment(tmp_path: Path) -> None:
    alignment = tmp_path / "mine.fasta"
    alignment.write_text(">a\nACG\n>b\nACC\n>c\nTCC\n")
    task = "solve", "phylogeny", "--alignment"
    answer(*task, "mine.fasta", "--out", "run", cwd=tmp_path)
    alignment.unlink()
    run = pdai.load(tmp_path / "run")
    assert len(run.log_prob(run.problem.sample(5, seed=0))) == 5
    refused = answer(*task, "mine.fasta", "--out", "two", cwd=tmp_path, expect=2)
    assert "cannot be read" in refused.stderr


@pytest.mark.catches(
    "The bound of TV has the roundings of one step, however deep the graph is.",
    "reference/rows/flows.py",
    "roundings = steps * (3 * most",
    "roundings = (3 * most",
    only="bits-uniform",
)
@pytest.mark.parametrize("p_b", ["uniform", "entropy"])
@pytest.mark.parametrize("name", SMALL)
def test_rows_are_those_of_the_reference_and_tv_is_exact_and_below_its_bound(
    name: str, p_b: Backward, tmp_path: Path
) -> None:
    run = solved(name, tmp_path / "run", "--p-b", p_b)
    made = pdai.certify(run, certificate=tmp_path / "proof.json")
    assert made.regime == "E"
    assert made.tv <= min(MOST, Fraction(run.tv_bound))
    assert (tmp_path / "proof.json").is_file()
    dag, paths = run.dag, run.dag.path_counts
    rewards = enumerate_rewards(run.problem, dag)
    z = Enclosure.log_of(sum(rewards, Fraction(0)))
    assert abs(run.log_z.value - z.value) <= run.log_z.error + z.error
    backward = BackwardPolicy.uniform(dag, RATIONAL)
    if p_b == "entropy":
        shares = [Fraction(paths[u], paths[v]) for u, v in dag.edges]
        backward = BackwardPolicy(dag, RATIONAL, shares)
    forward, _ = forward_from_backward(backward, rewards)
    right = np.array([*map(float, forward.values)])
    # The bound of TV has more roundings than any row.
    assert (abs(run.flows.rows - right) <= run.tv_bound * right + 1e-300).all()
    drawn = run.flows.draw(50, np.random.default_rng(3))
    # Every step of a trajectory adds the roundings of its row.
    most, parents = (max(map(len, rows)) for rows in (dag.out_edges, dag.in_edges))
    steps = drawn.steps.shape[1]
    bound = 2 * gamma(steps * (most + parents + 4) + 4) + steps * gamma(most + 2)
    assert run.tv_bound >= bound
    log_b = np.log([float(value) for value in backward.values])
    for steps, total in zip(drawn.steps.tolist(), drawn.log_p_b, strict=True):
        node, along = 0, 0.0
        for step in (step for step in steps if step >= 0):
            edge = dag.out_edges[node][step]
            node, along = dag.edges[edge][1], along + log_b[edge]
        assert total == pytest.approx(along, abs=1e-12)


@pytest.mark.catches(
    "Every block of draws is the first.",
    "pdai/solving/solved.py",
    "self.flows.draw(min(BLOCK, count - done), rng)",
    "self.flows.draw(min(BLOCK, count - done), np.random.default_rng(seed))",
)
def test_draws_have_the_law_of_the_target(tmp_path: Path) -> None:
    run = solved("custom", tmp_path / "run")
    drawn = run.sample(4_000, seed=1)
    counts = Counter(drawn.states)
    weights = {"ab": math.exp(2.0), "bb": math.exp(-1.5), "cc": math.exp(2.5)}
    assert set(counts) == set(weights)
    for state, weight in weights.items():
        p = weight / sum(weights.values())
        # Five standard deviations of a count.
        assert abs(counts[state] - 4_000 * p) < 5 * math.sqrt(4_000 * p)
    assert run.log_prob(["ab"])[0] == pytest.approx(math.log(weights["ab"] / sum(weights.values())))
    # At random a sixth ends in "aa", which has no weight.
    walk = {"ab": 1 / 3, "bb": 1 / 6, "cc": 1 / 3}
    away = sum(abs(weights[x] / sum(weights.values()) - walk[x]) for x in walk)
    assert run.report.uniform.tv.mean == pytest.approx((1 / 6 + away) / 2)
    assert drawn.log_p_b[drawn.states.index("ab")] == pytest.approx(-math.log(2))
    rewards = [Fork().log_reward(state) for state in drawn.states]
    assert drawn.log_reward.tolist() == pytest.approx(rewards)
    assert run.sample(20, seed=5).states == run.sample(20, seed=5).states
    # Blocks are drawn one after the other.
    first, longer = (run.sample(count, seed=5).states for count in (4_096, 10_000))
    assert longer[:4_096] == first != longer[4_096:8_192]
    assert run.sample(20, seed=5).states != run.sample(20, seed=6).states


def test_scaled_numbers_are_rationals_rounded_once() -> None:
    numbers = [Fraction(1, 3), Fraction(0), Fraction(10) ** 400, Fraction(7, 10**500), Fraction(5)]
    made = Scaled.of(numbers)
    for number, value, power in zip(numbers, *made, strict=True):
        exact = Fraction(float(value)) * Fraction(2) ** int(power)
        assert abs(exact - number) <= number / 2**53
    total, shares = made.sums(np.array([0, 2]))
    assert shares.tolist() == [1.0, 0.0, 1.0, 0.0, 0.0]
    assert total.log().tolist() == pytest.approx([math.log(1 / 3), 400 * math.log(10)])


def test_control_a_wrong_flow_is_seen() -> None:
    dag = enumerate_dag(Fork())
    rewards = enumerate_rewards(Fork(), dag)
    graph = GraphArrays.of(dag)
    right, wrong = ExactFlows.of(graph, rewards), ExactFlows.of(graph, (*rewards[:-1], Fraction(1)))

    def tv(flows: ExactFlows) -> Fraction:
        rows = [flows.rows[a:b].tolist() for a, b in pairwise(graph.offsets)]
        values = [p for row in rows if row for p in exact_row(row)]
        return total_variation(marginal(ForwardPolicy(dag, RATIONAL, values)), normalize(rewards))

    assert tv(right) <= right.tv_bound < tv(wrong)


def test_a_changed_row_is_refused_and_if_sealed_again_seen(tmp_path: Path) -> None:
    run = solved("grid", tmp_path / "run")
    path = run.folder / "policy.npz"
    with np.load(path) as stored:
        arrays = dict(stored)
    row = arrays["rows"][: arrays["offsets"][1]]
    row[0] += row[1] / 2
    row[1] /= 2
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    path.write_bytes(buffer.getvalue())
    for words in (("sample", "run"), ("certify", "run"), ("plot", "run")):
        assert "policy.npz was changed" in answer(*words, cwd=tmp_path, expect=2).stderr
    (run.folder / SEAL).unlink()
    seal_run(run.folder)
    made = pdai.certify(tmp_path / "run")
    assert made.tv > Fraction(run.tv_bound)


@pytest.mark.parametrize(
    ("words", "states"),
    [
        ("grid --side 2000", "8,000,000"),
        ("sets --items 20 --size 10 --max-states 1000", "616,666"),
        ("syn --length 8 --max-states 1000", ""),
        ("structure --nodes 5 --max-states 1000", "58,562"),
        ("ising --spins 8 --max-states 1000", "6,561"),
    ],
)
def test_a_closed_form_is_taken_where_there_are_too_many_states(
    words: str, states: str, tmp_path: Path
) -> None:
    printed = answer("solve", *words.split(), "--out", "run", cwd=tmp_path).stdout
    assert "closed-form" in printed
    assert states in printed
    run = pdai.load(tmp_path / "run")
    assert isinstance(run, Solved)
    drawn = run.sample(3)
    assert drawn.log_p_f.tolist() == run.log_prob(drawn.states).tolist()
    refusal = answer("certify", "run", cwd=tmp_path, expect=2).stderr
    assert "as far as the formula is right" in refusal
    # Built-in problems do not read such samples.
    assert "CSV" not in refusal


by_form = partial(solve, way="closed-form")
test_bad_input_in_python = refuses(
    whole,
    (lambda: solve("six7"), "six6"),
    (lambda: solve("grid", sides=3), "side"),
    (lambda: solve("grid", p_b="uniforn"), "uniform"),
    (lambda: solve(Fork(), max_states=0), "max_states"),
    (lambda: by_form(Bounded()), r"Bounded: log_z\(\) is 2.30\d*, but .* Enclosure"),
    (lambda: by_form(Coins(bias=0.5)), "probability .* by R / Z: make reward"),
    (lambda: by_form(Coins(off=0.01)), r"log_z\(\) is 10.99.* rewards .* sum to a log Z of 10.98"),
    (lambda: by_form(Coins(more="1")), "sum to 1.8.*, more than 1: make reward"),
    (lambda: by_form(Coins(more="2")), "sample of Coins has '.*2', which is none of"),
    (lambda: by_form(Coins(40, off=-30)), "sum to .*, more than 1: make reward"),
    *(
        (lambda draw=draw: by_form(coins(sample=draw)), f"Others{words}")
        for draw, words in (
            (lambda s, _, seed: Coins.sample(s, 9, seed), r": sample\(4096, 0\) gives 9 st"),
            (lambda s, n, seed: [x[1:] for x in Coins.sample(s, n, seed)], ": .* not terminal"),
        )
    ),
    (lambda: by_form(coins(log_z=lambda s: Enclosure(40 * math.log(3), 0.1))), "from 0 to 1e-06"),
    (
        lambda: solve(type("Other", (Sets,), {"reward": lambda s, x: 1 + x.members[0]}).random()),
        "Other has reward of its own, but log_z and sample of Sets, for which the target is",
    ),
    (
        # With `max_states=3`, TV of the right sampler was at least 0.92.
        lambda: solve(type("Walls", (HardCore,), {"choices": lambda *_: (0,)}).minimal()),
        "Walls has choices of its own, but log_z and sample and quantity_means of HardCore",
    ),
)


test_what_is_too_large_to_list = refuses(
    whole,
    (lambda: solve(Endless, max_states=100), "100 states"),
    (lambda: solve("torus", rows=120, columns=120), r"up to about 10\^6870\.\d\d states"),
    kind=TooLargeError,
)


def test_a_second_folder_is_told(tmp_path: Path) -> None:
    first, second = (answer("solve", "lines", cwd=tmp_path).stdout for _ in range(2))
    assert first.endswith("run folder: runs/lines-solved\n")
    assert second.endswith(
        "run folder: runs/lines-solved-2 (runs/lines-solved exists, and is kept)\n"
    )


def test_a_folder_is_never_overwritten_and_not_trained(tmp_path: Path) -> None:
    run = solved("lines", tmp_path / "run")
    for line, words in {
        "solve lines --out run": "nothing is overwritten",
        "train --resume run": "`pdai solve`",
    }.items():
        assert words in answer(*line.split(), cwd=tmp_path, expect=2).stderr
    (run.folder / "report.json").unlink()
    assert "report.json is missing" in answer("sample", "run", cwd=tmp_path, expect=2).stderr


@pytest.mark.catches(
    "A solved run is certified beside rewards that it was not solved for.",
    "pdai/solving/solved.py",
    "if (abs(log_rewards - stored[places]) > SAME_REWARD * (1 + abs(log_rewards))).any():",
    "if False:",
)
def test_an_own_problem_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Kept code would be taken for the changed text, of one size and one second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "forked.py"
    module.write_text(inspect.getsource(Fork))
    answer("solve", "forked:Fork", "--out", "run", cwd=tmp_path)
    module.write_text(module.read_text().replace("2.5", "2.6"))
    monkeypatch.delitem(sys.modules, "forked")
    for options, words in (((), "forked.py"), (("--accept-changed",), "other states or rewards")):
        for command in ("sample", "certify"):
            assert words in answer(command, "run", *options, cwd=tmp_path, expect=2).stderr


def test_children_in_another_order_are_refused_even_for_one_sample(tmp_path: Path) -> None:
    (tmp_path / "shuffled.py").write_text(inspect.getsource(Shuffled))

    def run(*line: str, order: str) -> Any:
        return python("-m", "pdai", *line, cwd=tmp_path, PYTHONHASHSEED=order)

    run("solve", "shuffled:Shuffled", "--out", "run", order="1")
    assert not run("sample", "run", order="1").returncode
    refusal = run("sample", "run", "--count", "1", order="2")
    assert "must list the same states in the same order" in refusal.stderr


def test_a_problem_that_is_a_tuple_is_not_that_of_its_class(tmp_path: Path) -> None:
    assert len(solve(Strings(3), out=str(tmp_path / "3")).law().labels) == 8
    assert len(solve(Strings, out=tmp_path / "1").law().labels) == 2


def test_what_is_no_graph_has_no_probability_in_a_closed_form(tmp_path: Path) -> None:
    run = solve("structure", nodes=3, order="any", way="closed-form", out=tmp_path / "run")
    drawn = run.sample(50).states
    assert (run.log_prob(drawn) < 0).all()
    refused(r"parents=\(2, 1, 0\)", lambda: run.log_prob([Network((2, 1, 0), True)]))
    grid = solve("grid", side=4, way="closed-form", out=tmp_path / "grid")
    refused(r"99.* is no terminal state of grid", lambda: grid.log_prob([Cell((99, 0), True)]))
    sets = solve("sets", out=tmp_path / "sets")
    assert (sets.log_prob(sets.sample(5).states) < 0).all()
    for outside in (0, *range(15)), (*range(15), 64), tuple(range(15, -1, -1)):
        with pytest.raises(InputError, match=r"is no terminal state of sets"):
            sets.log_prob([Items(outside)])


def test_a_closed_form_of_ones_own_is_not_said_to_be_proved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pdai.solve(Coins(), max_states=1_000, out=tmp_path / "few")
    assert "which is not proved" in made.report.notes[0]
    # What can be listed is.
    assert pdai.solve(Coins(), out=tmp_path / "listed").recipe.way == "listed"
    said = answer("solve", "custom", "--problem", "tests.pdai.test_solve:Coins", "--way",
                  "closed-form", "--out", str(tmp_path / "said"), cwd=ROOT).stdout  # fmt: skip
    assert "which is not proved" in " ".join(said.replace("│", " ").split())
    assert "exact sampler" not in said
    # A report said "TV 0 (exact)" of draws with TV 0.01, which 4,096 of them do not show.
    assert (made.report.tv_kind, made.report.learned[0].tv) == ("unknown", None)
    answer("report", str(tmp_path / "few"), "--out", "page.html", cwd=tmp_path)
    assert "(exact" not in (tmp_path / "page.html").read_text()
    assert made.log_prob(["1" * 10]) == pytest.approx(10 * math.log(2 / 3))
    # Another process may have the name of the object for another one.
    for named in (Coins(9), Coins(bias=0.6)):
        monkeypatch.setitem(loading._OBJECTS, made.task.problem, named)
        with pytest.raises(InputError, match=r"another log_z\(\), sample or rewards than when"):
            pdai.load(tmp_path / "few").log_prob(["1" * 9])
    for outside in ("2" * 10, "1" * 11):
        refused(f"{outside}' is no terminal state", made.log_prob, [outside])
    made = pdai.solve(Coins(40), max_states=1_000, out=tmp_path / "many")
    refused(r"Coins has more than 20,000 states, and no parents", made.log_prob, ["1" * 40])


@pytest.mark.parametrize(
    "words", ["grid --side 4", "structure --nodes 3", "grid --side 2000", "variables --variables 4"]
)
def test_a_solved_run_is_plotted_and_reported(words: str, tmp_path: Path) -> None:
    answer("solve", *words.split(), "--out", "run", cwd=tmp_path)
    answer("plot", "run", "--out", "run.png", cwd=tmp_path)
    answer("report", "run", "--out", "run.html", cwd=tmp_path)
    page = (tmp_path / "run.html").read_text()
    assert "dynamic programming" in page or "closed form" in page
    # A sum of float64 is no exact distance of so near a law.
    assert plotting._caption(Stored(tmp_path / "run")).endswith(", proved")
    report = pdai.load(tmp_path / "run").report
    assert report.tv_kind == "float64"
    # A sum of float64 differences over the states.
    assert report.learned[0].tv.mean < 1e-12
    for one in report.expectations:
        assert one.target == pytest.approx(one.sampler.mean, abs=1e-12)
    assert bool(report.expectations) == (words.split()[0] in ("structure", "variables"))


@pytest.mark.long
def test_a_solved_run_stands_beside_a_trained_one(tmp_path: Path) -> None:
    solved("lines", tmp_path / "exact")
    train(tiny_run(tmp_path / "trained"))
    answer("plot", "exact", "trained", cwd=tmp_path)
    answer("report", "exact", "trained", "--stored-only", cwd=tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "exact" in page
    assert "trained" in page


@pytest.mark.parametrize(
    ("task", "options", "said"),
    [
        ("lines", {"length": 24, "target": "sparse"}, "lines --length 24 --target sparse`"),
        ("lines", {"target": "sparse", "peaks": (1, 3)}, "--peaks 1 3`"),
        ("grid", {"side": 2000}, None),
        ("custom", {"problem": FORK}, f"`pdai solve {FORK}` is exact within seconds, without"),
        ("custom", {"problem": name_of(lambda: Fork())}, "`pdai.solve` on this problem is exact"),
        ("custom", {"problem": "tests.pdai.test_solve:NoStop"}, "But 4 of 8 states are never"),
        ("custom", {"problem": "tests.pdai.test_solve:Endless"}, None),
        ("custom", {"problem": "tests.pdai.test_solve:Cycle"}, None),
        ("sets", {"parts": 2, "factors": (0,)}, None),
    ],
)
def test_a_training_hints_at_the_exact_sampler(
    task: str, options: dict[str, Any], said: str | None
) -> None:
    config = configure(task, **options)
    hint = exact_beside(config.task, config.factors.parts)
    assert hint is None if said is None else said in (hint or "")


def test_a_missing_stop_is_told_when_a_problem_is_solved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pdai.solve(NoStop, out=tmp_path / "run")
    assert "hint: 4 of 8 states are never answers" in capsys.readouterr().err
    pdai.solve(FORK, out=tmp_path / "control")
    assert "hint" not in capsys.readouterr().err


def test_a_problem_of_a_program_on_stdin_is_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "__file__", "<stdin>")
    assert pdai.solve(Fork, out=tmp_path / "run").sample(3).states


def test_a_folder_keeps_the_data_it_was_solved_for(tmp_path: Path) -> None:
    rows = [f"{'ab'[i % 2]},{'xy'[i // 2 % 2]},{'pq'[i // 3 % 2]}\n" for i in range(24)]
    data = tmp_path / "mine.csv"
    data.write_text("one,two,three\n" + "".join(rows))
    words = "solve structure --score bdeu --out run --data mine.csv"
    answer(*words.split(), cwd=tmp_path)
    data.unlink()
    assert "one" in answer("sample", "run", "--count", "40", cwd=tmp_path).stdout
    made = pdai.certify(tmp_path / "run")
    assert made.tv <= MOST
    answer("report", "run", cwd=tmp_path)
    assert str(tmp_path) not in (tmp_path / "run" / "config.json").read_text()
