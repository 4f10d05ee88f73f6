"""Distributed and streaming inference: experiments, workers that die, and bad input."""

import json
import multiprocessing
import os
import re
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from fast.balance.losses import LogVariance
from fast.dynamics.cells import GRUOptions
from fast.dynamics.srwm import SRWMOptions
from fast.environments import make_environment
from fast.measure.report import Report
from fast.runs.folder import load_config
from fast.runs.frozen import factors_left
from fast.runs.job import complete, train
from fast.runs.records import append_metrics, read_json, read_metrics
from fast.training.combined import FrozenSamplers
from fast.training.compose import TrainConfig, configure, from_json, to_json
from fast.training.trainer import make_trainer
from pdai import certify
from pdai.distributed import comparison, engine, experiment
from pdai.distributed.comparison import Comparison, compare
from pdai.distributed.engine import LocalProcesses, Task, bring_to_end, dask_executor
from pdai.distributed.experiment import RunsFailedError, begin, proceed, run_all
from pdai.distributed.plan import Distributed, Plan, Streamed, plan_from_json
from pdai.show.tables import comparison_table
from reference import InputError
from reference.certificates import Terminal, check_certificate, confirm_problem, open_certificate
from tests.command_lines import answer, parameters, start, wait_until
from tests.refusals import refused, refuses, whole

TINY = configure(
    "sets",
    items=5,
    size=2,
    dynamics="gru",
    latent_size=8,
    parameters=2_000,
    batch=16,
    steps=600,
    checkpoint_every=100,
    evaluations=1,
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Comparison]:
    """Two clients with other dynamics and backward policies, their aggregate, and a direct run."""
    out = tmp_path_factory.mktemp("distribute") / "all"
    config = TINY.changed(out=out, dynamics="markov", parameters=4_000)
    plan = Distributed(config, 2, client_dynamics=("gru", "markov"), client_p_b=("learned",))
    with ThreadPoolExecutor(1) as executor:
        return plan, begin(plan, executor)[1]


def tv_of(made: Comparison, name: str, law: str = "learned") -> float:
    """The TV of the first seed of a run, or of its untrained policy."""
    report = made.reports[name]
    tv = (report.learned[0] if law == "learned" else report.uniform).tv
    return tv.mean


@pytest.mark.long
def test_the_aggregate_learns_the_product_in_its_bound(finished: tuple[Plan, Comparison]) -> None:
    plan, made = finished
    assert tv_of(made, "aggregate", "uniform") > 0.15
    assert tv_of(made, "aggregate") < 0.05
    assert tv_of(made, "aggregate") <= made.predicted[0] < 1
    assert tv_of(made, "direct") <= made.direct_bound[0] < 1
    rows = dict(zip(*(column.cells for column in comparison_table(made).columns[:2]), strict=True))
    assert float(rows["TV that residuals allow"]) >= made.predicted[0]
    # Equal trajectories: those of all clients and of the aggregate.
    drawn = dict(made.trajectories)
    assert drawn.pop("direct") == sum(drawn.values()) == 3 * 600 * 16
    data = json.loads((plan.folder() / "report.json").read_text())
    assert data["predicted"] == made.predicted
    stored = data["reports"]["aggregate"]["learned"][0]["tv"]["mean"]
    assert stored == tv_of(made, "aggregate")


@pytest.mark.long
def test_every_run_is_an_ordinary_one_that_depends_on_no_other_folder(
    finished: tuple[Plan, Comparison], tmp_path: Path
) -> None:
    folder = finished[0].folder()
    alone = tmp_path / "alone"
    shutil.copytree(folder / "aggregate", alone)
    config = load_config(alone)
    assert [path.parent for path in config.factors.frozen] == [alone / "frozen"] * 2
    frozen = [load_config(path) for path in config.factors.frozen]
    assert [run.name_of("dynamics") for run in frozen] == ["gru", "markov"]
    assert [run.factors.factors for run in frozen] == [(0,), (1,)]
    # Where it was stopped, it goes on to the same bits.
    (alone / "seal.json").unlink()
    report = Report.from_json(json.loads((folder / "aggregate" / "report.json").read_text()))
    assert complete(config.changed(frozen=config.factors.frozen)) == report
    assert parameters(alone) == parameters(folder / "aggregate")


def rewards_in(path: Path) -> dict[str, Fraction]:
    """`R(x)` by the label of a terminal state, as a certificate has them."""
    with open_certificate(path) as (header, rows):
        return {
            row.label: Fraction(row.reward, header.reward_denominator)
            for row in rows
            if isinstance(row, Terminal)
        }


@pytest.mark.long
def test_the_certificate_of_an_aggregate_is_about_the_product_of_its_clients_rewards(
    finished: tuple[Plan, Comparison], tmp_path: Path
) -> None:
    """It is one like any other: nothing that checks it has to know of clients."""
    plan, result = finished
    files = {name: tmp_path / name for name in ("client-0", "client-1", "aggregate")}
    made = {name: certify(plan.folder() / name, certificate=files[name]) for name in files}
    aggregate = files["aggregate"]
    exact = made["aggregate"].tv
    assert float(exact) == pytest.approx(tv_of(result, "aggregate"), abs=1e-6)
    assert any(f"{aggregate}: accepted by" in note for note in made["aggregate"].notes)
    assert check_certificate(aggregate).accepted
    product, one, other = (rewards_in(files[n]) for n in ("aggregate", "client-0", "client-1"))
    assert product == {label: one[label] * other[label] for label in product}
    assert len(set(product.values())) > 1
    # Controls: a client's is one of its factor, and not of the product; a better TV is refused.
    problem = load_config(plan.folder() / "aggregate").restricted()
    assert confirm_problem(aggregate, problem).accepted
    assert confirm_problem(files["client-0"], problem).status == "refused"
    text = aggregate.read_text()
    better = exact * Fraction(99, 100)
    claimed = f"TV = {exact.numerator} {exact.denominator}\n"
    assert text.count(claimed) == 1
    aggregate.write_text(text.replace(claimed, f"TV = {better.numerator} {better.denominator}\n"))
    assert check_certificate(aggregate).status == "refused"


@pytest.mark.long
def test_a_finished_experiment_is_read_not_done_again(finished: tuple[Plan, Comparison]) -> None:
    plan, made = finished
    before = {name: parameters(config.folder()) for name, config in plan.runs().items()}
    with ThreadPoolExecutor(1) as executor:
        again = proceed(plan.folder(), executor)[1]
        refused("exists, and nothing is overwritten: continue it", begin, plan, executor)
    assert again == made
    assert before == {name: parameters(config.folder()) for name, config in plan.runs().items()}


@pytest.mark.long
def test_threads_train_side_by_side_and_leave_stderr_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, short = sys.stderr, TINY.changed(steps=20, evaluations=1, dynamics="markov")
    with ThreadPoolExecutor(2) as executor:
        begin(Distributed(short.changed(out=tmp_path / "threads"), 2), executor)
    assert sys.stderr is before
    stderr = capsys.readouterr().err
    # What is said is of the experiment; the runs themselves show nothing.
    assert "client-0: finished" in stderr
    assert not re.search(r"\d steps", stderr)
    with ThreadPoolExecutor(1) as executor:
        executor.submit(complete, short.changed(out=tmp_path / "loud")).result()
    assert "20 steps" in capsys.readouterr().err


def test_a_plan_is_there_before_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: Any) -> None:
        raise SystemExit

    plan = Streamed(TINY.changed(out=tmp_path / "stream"), 2)
    for part, left in (("write_json", []), ("_do", ["stream"])):
        with monkeypatch.context() as patched:
            patched.setattr(experiment, part, killed)
            with ThreadPoolExecutor(1) as executor, pytest.raises(SystemExit):
                begin(plan, executor)
        assert [path.name for path in tmp_path.iterdir()] == left
    data = read_json(tmp_path / "stream" / "plan.json")
    assert plan_from_json(data, tmp_path / "stream") == plan


class TwoPriors:
    """Bits of two factors, and a prior that is in both parts too."""

    initial = ""
    factor_count = 2

    def __init__(self, kept: Sequence[int] = (0, 1)):
        self.kept = kept

    def children(self, state: str) -> tuple[str, ...]:
        return () if len(state) == 2 else (state + "0", state + "1")

    def log_reward(self, terminal: str) -> float:
        return terminal.count("1") + sum(terminal[k] == "1" for k in self.kept)

    def with_factors(self, kept: Sequence[int]) -> "TwoPriors":
        return TwoPriors(kept)


OWN = configure("custom", problem=f"{__name__}:TwoPriors")
test_parts_whose_product_is_another_reward_are_refused_before_a_training = refuses(
    lambda kind: begin(kind(OWN, 2), ThreadPoolExecutor(1)),
    (Distributed, "TwoPriors in 2 parts.* by 0 at '00', and by 2 at '11'"),
    (Streamed, "TwoPriors in 2 parts.* by 0 at '00', and by 2 at '11'"),
)


@pytest.mark.long
def test_a_stream_updates_its_sampler_chunk_by_chunk(tmp_path: Path) -> None:
    config = TINY.changed(dynamics="markov", utility_seed=3, seeds=2, out=tmp_path / "stream")
    plan = Streamed(config, 2)
    with ThreadPoolExecutor(1) as executor:
        _, made = begin(plan, executor)
    tv = [figures.tv.mean for figures in made.reports["chunk-1"].learned if figures.tv]
    # Each of the two seeds within the bound of its own residuals.
    assert len(tv) == len(made.predicted) == 2
    assert all(np.array(tv) <= np.array(made.predicted))
    assert max(tv) < 0.05
    assert made.trajectories["direct"] == 2 * 600 * 16 * 2
    # The second starts where the first ended, which knew half of the target.
    before = read_metrics(plan.runs()["chunk-1"].folder())[0]
    assert before["step"] == 0
    assert max(before["tv"]) < tv_of(made, "chunk-1", "uniform") - 0.2


@pytest.mark.catches(
    "Every seed of an aggregate is given the samplers of the first one.",
    "fast/training/trainer.py",
    "arguments = (state, seeds, frozen.policies)",
    "arguments = (state, seeds, jax.tree.map(lambda x: jnp.stack([x[0]] * len(x)), "
    "frozen.policies))",
)
@pytest.mark.long
def test_seeds_are_paired_with_those_of_the_given_samplers() -> None:
    config = TINY.changed(dynamics="markov", seeds=2)
    environment = make_environment(config.problem())
    # Far from uniform, so that one is not the other.
    start = make_trainer(config.changed(seed=10), environment).init().sampler.policy
    policies = jax.tree.map(lambda leaf: 4 * leaf, start)

    def losses(config: TrainConfig, policies: Any) -> Any:
        frozen = FrozenSamplers((policies,), (environment,), False)
        trainer = make_trainer(config, environment, frozen)
        return np.asarray(trainer.advance(trainer.init(), 3)[1].loss)

    together = losses(config, policies)
    for seed in range(2):
        of_seed = jax.tree.map(lambda leaf, at=seed: leaf[at : at + 1], policies)
        alone = losses(config.changed(seeds=1, seed=seed), of_seed)
        assert together[seed] == pytest.approx(alone[0], rel=1e-3)
    # Control: given the other's, it is another.
    swapped = losses(config, jax.tree.map(lambda leaf: leaf[::-1], policies))
    assert not np.allclose(together, swapped, rtol=1e-2)


@pytest.fixture
def programs_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a process that is started again find what the first one compiled."""
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path / "programs"))


def check_killed(
    plan: Plan, out: Path, executor: Executor, workers: Callable[[], list[Any]]
) -> list[str]:
    """Kills a worker in the middle, and finds the same bits as without; what was said."""
    runs = {n: plan.runs()[n].changed(out=out / n) for n in ("client-0", "client-1")}
    said, killed = list[str](), list[int]()

    def kill() -> None:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            records = [read_metrics(run.folder()) for run in runs.values()]
            steps = [of_run[-1]["step"] for of_run in records if of_run]
            if any(100 <= step < 600 for step in steps) and (living := workers()):
                killed.append(living[0].pid)
                os.kill(living[0].pid, signal.SIGKILL)
                return
            time.sleep(0.002)

    killer = threading.Thread(target=kill)
    killer.start()
    reports = run_all(runs, executor, said.append)
    killer.join()
    assert len(killed) == 1
    for name, run in runs.items():
        assert parameters(run.folder()) == parameters(plan.runs()[name].folder())
        steps = [record["step"] for record in read_metrics(run.folder()) if "loss" in record]
        assert steps == [100, 200, 300, 400, 500, 600]
        assert reports[name].learned[0].tv is not None
    return said


@pytest.mark.long
@pytest.mark.usefixtures("programs_kept")
def test_a_client_whose_process_is_killed_goes_on_from_its_checkpoint(
    finished: tuple[Plan, Comparison], tmp_path: Path
) -> None:
    with LocalProcesses(1) as executor:
        said = check_killed(finished[0], tmp_path, executor, multiprocessing.active_children)
    assert sum("its worker died" in line for line in said) == 1


@pytest.mark.long
@pytest.mark.usefixtures("programs_kept")
def test_dask_starts_a_killed_workers_client_again(
    finished: tuple[Plan, Comparison], tmp_path: Path
) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        dask_executor(cluster.scheduler_address) as executor,
    ):
        check_killed(finished[0], tmp_path, executor, lambda: [*cluster.workers.values()])


@pytest.mark.long
def test_runs_that_fail_are_named_and_the_others_are_kept(
    finished: tuple[Plan, Comparison], tmp_path: Path
) -> None:
    done = finished[0].runs()["client-1"]
    foreign = tmp_path / "foreign"
    shutil.copytree(done.folder(), foreign)
    bad = TINY.changed(loss="tb", learning_rate=1e38, dynamics="markov")
    runs = {
        "diverging": bad.changed(out=tmp_path / "diverging"),
        "foreign": done.changed(seed=77, out=foreign),
        "kept": done,
        "waiting": TINY.changed(
            loss="log_variance", frozen=(tmp_path / "diverging",), out=tmp_path / "waiting"
        ),
    }
    with ThreadPoolExecutor(1) as executor, pytest.raises(RunsFailedError) as failure:
        run_all(runs, executor, print)
    message = str(failure.value)
    assert "2 of 4 runs failed" in message
    assert "not begun, as they wait for these: waiting" in message
    assert re.search(r"diverging in '.*': the loss of seed 0 became (nan|inf) at step", message)
    assert re.search(r"foreign in '.*' has seed = \d+, but 77 is asked for: it is another", message)
    assert "kept" not in message.partition("\n")[2]
    # It failed before a step was saved.
    assert not (tmp_path / "diverging").exists()
    assert not (tmp_path / "waiting").exists()


def test_a_run_whose_worker_dies_every_time_is_given_up(tmp_path: Path) -> None:
    class Dying(Executor):
        def submit(self, task: Any, /, *arguments: Any, **options: Any) -> Future[Any]:
            future = Future[Any]()
            future.set_exception(BrokenExecutor("a process died"))
            return future

    with pytest.raises(RunsFailedError, match=r"its worker died 4 times .*: a process died"):
        run_all({"client-0": TINY.changed(out=tmp_path / "x")}, Dying(), print)


@pytest.mark.long
def test_given_runs_must_be_finished_whole_and_the_same(
    finished: tuple[Plan, Comparison], tmp_path: Path
) -> None:
    plan = finished[0]
    aggregate = plan.runs()["aggregate"]
    clients = [tmp_path / f"client-{k}" for k in range(2)]
    for path, original in zip(clients, aggregate.factors.frozen, strict=True):
        shutil.copytree(original, path)
    config = aggregate.changed(frozen=tuple(clients), out=tmp_path / "aggregate")
    (clients[0] / "seal.json").unlink()
    refused(r"client-0' is not finished: continue it", train, config)
    assert not config.folder().exists()
    # Other parameters than those that the aggregate was given.
    shutil.copytree(aggregate.folder(), config.folder())
    header, _, body = (clients[1] / "checkpoint.eqx").read_bytes().partition(b"\n")
    (clients[1] / "checkpoint.eqx").write_bytes(header + b"\n" + body[:-8] + bytes(8))
    refused("asks other samplers than", complete, config)
    refused("is damaged", lambda: train(config.changed(out=tmp_path / "new")))
    with pytest.raises(InputError, match="warm, but the network of the frozen run"):
        train(config.changed(frozen=(clients[0],), warm=True, out=tmp_path / "new"))


@pytest.mark.long
def test_too_many_trajectories_are_not_gone_through(
    finished: tuple[Plan, Comparison], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, made = finished
    monkeypatch.setattr(comparison, "MAX_TRAJECTORIES", 1)
    left_out = compare(plan, made.reports)
    assert left_out == replace(made, oscillations=None) != made
    assert left_out.predicted is left_out.direct_bound is None


@pytest.mark.long
@pytest.mark.usefixtures("programs_kept")
def test_an_interrupted_experiment_is_resumed_by_the_command_it_names(tmp_path: Path) -> None:
    words = "distribute --workers 1 sets --clients 2 --items 5 --size 2 --dynamics markov"
    small = "--parameters 2000 --steps 400 --batch 16 --checkpoint-every 100"
    metrics = tmp_path / "runs" / "sets-distribute-0" / "client-0" / "metrics.jsonl"
    with start([*words.split(), *small.split()], tmp_path) as run:
        wait_until(lambda: metrics.is_file() and '"step": 100' in metrics.read_text())
        run.send_signal(signal.SIGINT)
        _, errors = run.communicate()
    assert run.returncode == 130, errors
    assert "Traceback" not in errors
    again = re.search(r"stopped; continue with: pdai (.*)", errors)
    output = answer(*again[1].split(), cwd=tmp_path).stdout
    assert "claims combined-tv-bound and residual-tv-bound" in output
    assert "trajectories drawn in all" in output
    assert re.search(r"client-1 +│ +\d\.\d+", output)
    assert (tmp_path / "runs" / "sets-distribute-0" / "plot.png").is_file()


OUT = Path("out")
PARTS = TINY.changed(parts=3)
NAMES = (Path("a"), Path("b"), Path("c"))


def part(*factors: int) -> TrainConfig:
    return PARTS.changed(factors=factors)


def left(config: TrainConfig, *given: TrainConfig) -> tuple[int, ...]:
    """The factors that the runs a, b and c leave over, if their configurations are as given."""
    return factors_left(config.changed(loss="log_variance", frozen=NAMES[: len(given)]), given)


def test_control_samplers_that_multiply_to_the_target_are_accepted() -> None:
    assert left(PARTS, part(0), part(1), part(2)) == ()
    assert left(PARTS, part(1)) == (0, 2)


test_plans_without_a_meaning_are_refused = refuses(
    whole,
    (lambda: left(PARTS, part(0), part(1), part(1)), "factor 1 is in the frozen runs"),
    (lambda: left(part(0, 1), part(2)), "has factor 2, but"),
    (lambda: left(PARTS, part(0), part(1)), r"leave the factors \[2\] over"),
    (lambda: left(PARTS, configure("grid")), "is on grid, and this one on sets"),
    (lambda: left(PARTS, PARTS.changed(items=6)), "has items = 6, and this run 5"),
    (lambda: left(PARTS, PARTS.changed(utility_seed=9)), "utility_seed = 9, and this run 0"),
    (lambda: left(PARTS, TINY.changed(parts=2)), "has parts = 2, and this run 3"),
    (lambda: left(PARTS, PARTS.changed(seeds=2)), "has seeds = 2, and this run 1"),
    (lambda: TINY.changed(parts=6), "in 6 parts: its reward is a product of 5 factors"),
    (lambda: TINY.changed(parts=2, factors=(2,)), "must be different numbers from 0 to 1"),
    (lambda: TINY.changed(parts=2, factors=(0, 0)), "must be different numbers"),
    (lambda: TINY.changed(parts=0), "parts is 0, but must be at least 1"),
    (lambda: configure("grid", parts=2), "Grid does not split into factors"),
    (lambda: TINY.changed(form="sum", parts=2), "with form='sum' the reward is no product"),
    (lambda: TINY.changed(loss="tb", frozen=NAMES[:1]), "loss tb with frozen runs"),
    (lambda: TINY.changed(p_b="lifted", frozen=NAMES[:1]), "p_b lifted with frozen runs"),
    (lambda: TINY.changed(replay="reward", frozen=NAMES[:1]), "replay reward with frozen"),
    (lambda: TINY.changed(warm=True), "warm with 0 frozen runs"),
    (lambda: Distributed(TINY, 1), "distribute: clients is 1, but must be"),
    (lambda: Distributed(TINY, 2, ("gru", "srwm", "markov")), "names 3, but there are 2"),
    (lambda: Streamed(TINY, 2, ("gru", "srwm", "markov")), "chunk_dynamics names 3, but"),
    (lambda: Distributed(TINY.changed(parts=2)), "distribute with parts = 2"),
    (lambda: Distributed(TINY, 2, ("gcn",)), "dynamics gcn on sets"),
    (lambda: Streamed(configure("preference", comparisons=2), 3), "a product of 2 factors"),
    (lambda: Streamed(TINY, 0), "stream: chunks is 0"),
    (lambda: Distributed(TINY, 2, ("GRU",)), r"dynamics is 'GRU', but must be one"),
    (lambda: Distributed(TINY, 2.0), "clients is 2.0, but must be an integer"),
    (lambda: Streamed(TINY, 2, anew=1), "anew is 1, but must be True or False"),
    (lambda: Distributed(TINY.changed(seed=2**31 - 2)), "seed is 2147483648 and seeds is 1"),
)


@pytest.mark.parametrize("loss", ["log_variance", "subtb"])
def test_runs_of_other_dynamics_and_losses_have_the_options_that_mean_something(loss: Any) -> None:
    options = {"subtb_lambda": 0.5} if loss == "subtb" else {}
    base = TINY.changed(dynamics="srwm", rotation="none", loss=loss, penalty="huber", **options)
    assert isinstance(base.dynamics, SRWMOptions)
    assert base.dynamics.rotation == "none"
    runs = Distributed(base, 3, ("gru", "markov", "srwm")).runs()
    assert runs["client-0"].dynamics == GRUOptions(latent_size=8, parameters=2_000)
    assert runs["client-1"].name_of("dynamics") == "markov"
    assert {runs[n].dynamics for n in ("client-2", "aggregate", "direct")} == {base.dynamics}
    assert runs["aggregate"].loss == LogVariance("huber")
    assert runs["client-2"].loss == runs["direct"].loss == base.loss
    chunks = Streamed(base, 2, ("srwm", "gru")).runs()
    assert chunks["chunk-0"].dynamics == base.dynamics
    assert chunks["chunk-1"].name_of("dynamics") == "gru"


def test_clients_have_seeds_of_their_own_which_all_count(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Distributed(TINY.changed(seeds=2), 2)
    assert [plan.runs()[f"client-{k}"].run.seed for k in range(2)] == [2, 4]
    monkeypatch.setattr(comparison, "spreads", lambda *_: None)
    reports: Any = dict.fromkeys(plan.runs())
    drawn = dict.fromkeys(["client-0", "client-1", "aggregate"], 2 * 600 * 16)
    assert compare(plan, reports).trajectories == {**drawn, "direct": 3 * 2 * 600 * 16}


def test_chunks_are_warm_where_their_network_is_that_of_the_chunk_before() -> None:
    chunks = Streamed(TINY, 2).runs()
    assert [chunks[f"chunk-{t}"].factors.covered for t in range(2)] == [(0,), (0, 1)]
    assert chunks["chunk-1"].factors.warm
    assert not Streamed(TINY, 2, ("markov", "gru")).runs()["chunk-1"].factors.warm
    assert not Streamed(TINY, 2, anew=True).runs()["chunk-1"].factors.warm


@pytest.mark.parametrize(
    ("plan", "size"),
    [
        (Distributed(TINY.changed(out=OUT), 2, ("gru",), ("learned", "uniform")), "clients"),
        (Streamed(TINY.changed(out=OUT), 3, ("markov",), anew=True), "chunks"),
    ],
    ids=["distributed", "streamed"],
)
def test_a_plan_survives_json_and_one_that_was_edited_is_refused(plan: Plan, size: str) -> None:
    data = json.loads(json.dumps(plan.to_json()))
    assert plan_from_json(data, OUT) == plan
    steps = {**data["config"]["optimiser"], "steps": "9"}
    edits: list[tuple[dict[str, Any], str]] = [
        ({"format": 9}, "has format 9"),
        ({"kind": "x"}, "kind 'x'"),
        ({"kind": [plan.kind]}, "has format 1 and kind"),
        ({"colour": "red"}, r"unknown \['colour'\]"),
        ({"config": None}, "has the config None, which is no JSON object"),
        ({"config": {**data["config"], "optimiser": steps}}, "steps is '9', but must be"),
        ({size: None}, rf"{size} is None, but must be an integer"),
    ]
    for edit, message in edits:
        refused(rf"plan\.json.*{message}", plan_from_json, {**data, **edit}, OUT)


def test_factors_are_stored_unless_they_are_the_whole_reward() -> None:
    assert "factors" not in to_json(TINY)
    config = TINY.changed(parts=2, factors=(0, 1), frozen=NAMES[:1], warm=True)
    assert from_json(json.loads(json.dumps(to_json(config))), "config.json") == config


def test_a_process_that_dies_takes_no_other_along() -> None:
    with LocalProcesses(2) as executor:
        other = executor.submit(time.sleep, 1)
        assert isinstance(executor.submit(os._exit, 1).exception(), BrokenExecutor)
        assert other.exception() is None


@pytest.mark.parametrize(
    ("address", "message"),
    [("nowhere.json", "there is no scheduler file"), ("nope://x", "'nope://x' does not answer")],
)
def test_a_dask_scheduler_that_is_missing_is_refused(address: str, message: str) -> None:
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    with pytest.raises(InputError, match=message), dask_executor(address):
        pass


def test_how_far_tasks_are_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "INTERVAL", 0.01)
    append_metrics(tmp_path, {"step": 300})
    heard, said = threading.Event(), list[str]()

    def say(line: str) -> None:
        said.append(line)
        heard.set()

    def wait_and_go_on(seconds: float) -> bool:
        # Several times more, when there is nothing new to say.
        time.sleep(0.1)
        return heard.wait(seconds)

    tasks = {
        "first": Task(wait_and_go_on, 60, {tmp_path: 600, tmp_path / "none": 900}),
        "second": Task(abs, -1, {tmp_path / "none": 600}),
        "third": Task(abs, -2, {}, after=("second",)),
    }
    with ThreadPoolExecutor(1) as executor:
        ended = list(bring_to_end(tasks, executor, say))
    assert said[0] == "first 300/1,500  1 to begin"
    assert len(said) == len(set(said))
    assert sorted((end.name, end.result) for end in ended) == [
        ("first", True), ("second", 1), ("third", 2)
    ]  # fmt: skip
