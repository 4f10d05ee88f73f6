"""The test vectors: what is written, that a stranger's code reads it, and that errors are seen."""

import ast
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flint import arb

from pdai.cli import main
from reference import InputError
from verify.vectors import write_vectors
from verify.vectors.folder import HERE, MANIFEST
from verify.vectors.kinds import KINDS
from verify.vectors.logs import nearest
from verify.vectors.refusals import read

ROOT = Path(__file__).parent.parent
WRITE = "import sys, pathlib, verify.vectors as v; v.write_vectors(pathlib.Path(sys.argv[1]))"
Case = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written") / "vectors"
    write_vectors(path)
    return path


def manifest(folder: Path) -> Case:
    data: Case = json.loads((folder / MANIFEST).read_text())
    return data


def cases(folder: Path, kind: str) -> Iterator[Case]:
    for file in manifest(folder)["files"]:
        if file["kind"] == kind:
            yield from json.loads((folder / file["path"]).read_text())["cases"]


def named(folder: Path, kind: str, name: str) -> Case:
    return next(case for case in cases(folder, kind) if case["id"] == name)


def fractions(texts: list[str | None]) -> list[Fraction]:
    return [Fraction(text) for text in texts if text is not None]


def test_the_manifest_lists_every_file_with_its_hash_and_count(folder: Path) -> None:
    data = manifest(folder)
    assert {path.name for path in folder.iterdir()} == {
        MANIFEST,
        *(file["path"] for file in data["files"]),
    }
    for file in data["files"]:
        content = (folder / file["path"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert file["bytes"] == len(content)
        if file["kind"]:
            found = json.loads(content)
            assert (found["kind"], len(found["cases"])) == (file["kind"], file["cases"])
    ids = [case["id"] for kind in KINDS for case in cases(folder, kind)]
    assert len(ids) == len(set(ids)) == data["cases"] > 250
    assert sum(file["bytes"] for file in data["files"]) < 3_000_000


def test_another_process_writes_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    subprocess.run(
        [sys.executable, "-c", WRITE, str(again)],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": "12345"},
        check=True,
        capture_output=True,
    )
    contents = [{path.name: path.read_bytes() for path in f.iterdir()} for f in (folder, again)]
    assert contents[0] == contents[1]


def test_every_field_is_described_and_every_description_has_a_field(folder: Path) -> None:
    for kind, described in KINDS.items():
        found: set[str] = set()
        for case in cases(folder, kind):
            for key, value in case.items():
                nested = key in ("expected", "log") and value is not None
                found |= {f"{key}.{name}" for name in value} if nested else {key}
        # The kind's own "about"; "log" itself; and what is told with the field it belongs to.
        told_elsewhere = {"id", "p_b_kind", "base_p_b"} | ({"trajectories"} - {*described})
        assert found | {"about"} == {*described} | (told_elsewhere & found), kind


# The consumer of the README.


def consume(folder: Path) -> subprocess.CompletedProcess[str]:
    # Isolated, so that nothing of ours is found.
    command = [sys.executable, "-I", "-S", str(folder / "check.py")]
    return subprocess.run(command, cwd="/", text=True, capture_output=True, check=False)


def test_the_consumer_agrees_with_every_vector(folder: Path) -> None:
    done = consume(folder)
    count = sum(1 for _ in cases(folder, "sampler"))
    assert (done.returncode, done.stdout) == (0, f"{count} cases, 0 differences\n")


def test_the_consumer_is_short_needs_nothing_and_is_shown_in_the_readme(folder: Path) -> None:
    code = (folder / "check.py").read_text()
    assert f"```python\n{code}```" in (folder / "README.md").read_text()
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 35
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= sys.stdlib_module_names
        if isinstance(node, ast.ImportFrom):
            assert node.module in sys.stdlib_module_names


def test_the_readme_has_no_placeholder_left(folder: Path) -> None:
    text = (folder / "README.md").read_text().split("```python")[0]
    for placeholder in re.findall(r"\{(\w+)\}", (HERE / "format.md").read_text()):
        assert f"{{{placeholder}}}" not in text


@pytest.mark.parametrize(
    ("key", "seen"), [("marginal", "marginal"), ("tb", "tb"), ("p_f", "state_visits")]
)
def test_control_a_corrupted_vector_fails_the_consumer(
    folder: Path, tmp_path: Path, key: str, seen: str
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(folder, broken)
    path = broken / "lifts.json"
    data = json.loads(path.read_text())
    case = data["cases"][7]
    values = case["p_f"] if key == "p_f" else case["expected"][key]
    values[-1] = str(Fraction(values[-1]) + Fraction(1, 10**30))
    path.write_text(json.dumps(data))
    done = consume(broken)
    assert done.returncode == 1
    assert f"lifts.json: {case['id']}: {seen} differs" in done.stdout


def test_control_a_folder_without_cases_fails_the_consumer(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "check.py", tmp_path)
    (tmp_path / MANIFEST).write_text('{"files": []}')
    assert consume(tmp_path).returncode == 1


# The expected values, recomputed from the JSON alone.


def test_expected_values_are_those_of_their_definitions(folder: Path) -> None:
    for case in cases(folder, "sampler"):
        expected, edges = case["expected"], case["graph"]["edges"]
        p_f, p_b, flow, rewards = (fractions(case[k]) for k in ("p_f", "p_b", "flow", "rewards"))
        terminals = case["graph"]["terminals"]
        reward = dict(zip(terminals, rewards, strict=True))
        assert [flow[x] for x in terminals] == rewards

        def along(values: list[Fraction], path: list[int]) -> Fraction:
            return prod((values[e] for e in path), start=Fraction(1))

        def end(path: list[int], edges: list[list[int]] = edges) -> int:
            return edges[path[-1]][1]

        paths = [path for path, _ in expected.get("subtb", [])]
        taus = case["trajectories"]
        for path in [*paths, *taus]:
            assert all(edges[e][1] == edges[f][0] for e, f in pairwise(path))
        assert len({*map(tuple, taus)}) == len(taus)
        assert sum(along(p_f, tau) for tau in taus) == 1
        law = [sum(along(p_f, tau) for tau in taus if end(tau) == x) for x in terminals]
        mass = [sum(along(p_b, tau) for tau in taus if end(tau) == x) for x in terminals]
        target = [r / sum(rewards) for r in rewards]
        assert fractions(expected["marginal"]) == law
        assert fractions(expected["p_b_mass"]) == mass
        assert fractions(expected["target"]) == target
        assert Fraction(expected["reward_sum"]) == sum(rewards)
        distance = sum(abs(p - q) for p, q in zip(law, target, strict=True)) / 2
        assert Fraction(expected["total_variation"]) == distance
        weight = [along(p_b, tau) * reward[end(tau)] for tau in taus]
        assert fractions(expected["tb"]) == [
            flow[0] * along(p_f, tau) - w for tau, w in zip(taus, weight, strict=True)
        ]
        assert fractions(expected["db"]) == [
            flow[u] * p_f[e] - flow[v] * p_b[e] for e, (u, v) in enumerate(edges)
        ]
        assert [Fraction(r) for _, r in expected.get("subtb", [])] == [
            flow[edges[path[0]][0]] * along(p_f, path) - along(p_b, path) * flow[end(path)]
            for path in paths
        ]
        for i, j, residual in expected.get("cb", []):
            contrast = along(p_f, taus[i]) * weight[j] - along(p_f, taus[j]) * weight[i]
            assert Fraction(residual) == contrast
        inflow = [Fraction(0)] * len(flow)
        into = [Fraction(0)] * len(flow)
        for e, (u, v) in enumerate(edges):
            inflow[v] += flow[u] * p_f[e]
            into[v] += p_b[e]
        assert expected["fm"][0] is expected["p_b_row_sums"][0] is None
        assert fractions(expected["fm"]) == [a - b for a, b in zip(inflow, flow, strict=True)][1:]
        assert fractions(expected["p_b_row_sums"]) == into[1:]
        z = sum(weight)
        assert Fraction(expected["forced"]["z"]) == z
        assert fractions(expected["forced"]["marginal"]) == [
            r * b / z for r, b in zip(rewards, mass, strict=True)
        ]


def test_forced_policies_satisfy_trajectory_balance(folder: Path) -> None:
    for case in cases(folder, "sampler"):
        forced, edges = case["expected"]["forced"], case["graph"]["edges"]
        # Where the row is free no flow goes, so any number does.
        p_f = [Fraction(text or 0) for text in forced["p_f"]]
        p_b, z = fractions(case["p_b"]), Fraction(forced["z"])
        reward = dict(zip(case["graph"]["terminals"], fractions(case["rewards"]), strict=True))
        for tau in case["trajectories"]:
            weight = reward[edges[tau[-1]][1]] * prod(p_b[e] for e in tau)
            assert z * prod(p_f[e] for e in tau) == weight


def test_a_case_keeps_what_its_name_promises(folder: Path) -> None:
    counts = dict.fromkeys(("arbitrary", "balanced", "copied", "misnormalised"), 0)
    wrong_inside = wrong_law = 0
    for case in cases(folder, "sampler"):
        kind, expected = case["id"].split("/")[-1], case["expected"]
        if kind not in counts:
            continue
        counts[kind] += 1
        visits, flow = fractions(expected["state_visits"]), fractions(case["flow"])
        assert (set(expected["tb"]) == {"0"}) == (kind != "arbitrary")
        if kind == "balanced":
            assert visits == [f / flow[0] for f in flow]
            assert {*expected["p_b_row_sums"]} == {None, "1"}
        if kind in ("balanced", "copied"):
            assert expected["marginal"] == expected["target"]
            wrong_inside += visits != [f / flow[0] for f in flow]
        if kind == "misnormalised":
            wrong_law += expected["marginal"] != expected["target"]
    assert min(counts.values()) > 40
    assert wrong_inside > counts["copied"] / 2
    assert wrong_law > counts["misnormalised"] / 2


def test_projections_and_transforms_keep_the_law(folder: Path) -> None:
    seen = 0
    for case in cases(folder, "sampler"):
        expected = case["expected"]
        if "lift" in case:
            below, edges = case["lift"], case["graph"]["edges"]
            base = below["base"]["edges"]
            for e, (u, v) in enumerate(edges):
                assert base[below["base_edge"][e]] == [
                    below["projection"][u],
                    below["projection"][v],
                ]
            projected = [Fraction(p or 0) for p in expected["markov_projection"]]
            visits = [Fraction(s == 0) for s in range(len(below["base"]["states"]))]
            for (u, v), p in zip(base, projected, strict=True):
                visits[v] += visits[u] * p
            law = [visits[x] for x in below["base"]["terminals"]]
            assert law == fractions(expected["marginal"])
            lifted = [Fraction(0)] * len(visits)
            for s, visit in zip(
                below["projection"], fractions(expected["state_visits"]), strict=True
            ):
                lifted[s] += visit
            assert visits == lifted
        if case["p_b_kind"] == "copied":
            base_p_b = fractions(case["base_p_b"])
            assert fractions(case["p_b"]) == [base_p_b[e] for e in case["lift"]["base_edge"]]
            p_b, transformed = fractions(case["p_b"]), expected["h_transform"]
            for tau in case["trajectories"]:
                found = prod(Fraction(transformed[e] or 0) for e in tau)
                assert found == prod(p_b[e] for e in tau)
            rows: dict[int, Fraction] = {}
            for (_, v), text in zip(case["graph"]["edges"], transformed, strict=True):
                if text is not None:
                    rows[v] = rows.get(v, Fraction(0)) + Fraction(text)
            assert {*rows.values()} == {Fraction(1)}
            seen += 1
    assert seen > 40


# The logarithmic part, as another library computes it: in floats, from rounded probabilities.


def float_logs(case: Case, dtype: type[np.floating[Any]]) -> Case:
    def log(value: Fraction) -> np.floating[Any]:
        if 1e-30 < value < 1e30:
            return np.log(dtype(float(value)))
        return dtype(math.log(value.numerator) - math.log(value.denominator))

    def logs(values: list[str]) -> Any:
        return np.array([log(Fraction(value)) for value in values], dtype=dtype)

    edges, taus = case["graph"]["edges"], case["trajectories"]
    log_p_f, log_p_b, log_flow = logs(case["p_f"]), logs(case["p_b"]), logs(case["flow"])
    db = np.array(
        [log_flow[u] + log_p_f[e] - log_flow[v] - log_p_b[e] for e, (u, v) in enumerate(edges)]
    )
    ends = [edges[tau[-1]][1] for tau in taus]
    f = np.array(
        [np.sum(log_p_f[tau], dtype=dtype) - np.sum(log_p_b[tau], dtype=dtype) for tau in taus]
    )
    tb = log_flow[0] + f - log_flow[ends]
    subtb = []
    for tau in taus:
        total = np.concatenate([np.zeros(1, dtype), np.cumsum(db[tau], dtype=dtype)])
        pairs = np.array(list(combinations(range(len(tau) + 1), 2)))
        weights = dtype(0.9) ** (pairs[:, 1] - pairs[:, 0]).astype(dtype)
        squares = (total[pairs[:, 1]] - total[pairs[:, 0]]) ** 2
        subtb.append((weights * squares).sum() / weights.sum())
    logits = np.zeros(len(edges), dtype)
    for tau, residual in zip(taus, tb, strict=True):
        left = {edges[e][0] for e in tau}
        on = np.isin(np.arange(len(edges)), tau)
        at = np.array([u in left for u, _ in edges])
        logits += dtype(2) * residual * (on - at * np.exp(log_p_f)) / dtype(len(taus))
    return {
        "tb": tb,
        "db": db,
        "loss": {
            "tb": np.mean(tb**2),
            "cb": 2 * np.var(tb, ddof=1) if len(tb) > 1 else None,
            "db": np.mean(np.concatenate([db[tau] for tau in taus]) ** 2),
            "subtb": np.mean(np.array(subtb)),
        },
        "tb_gradient": {"logits": logits, "log_z": 2 * np.mean(tb)},
    }


def errors(log: Case, found: Case, tolerance: Case) -> Iterator[float]:
    """The distance of every number, in units of its tolerance."""

    def distance(name: str, one: Any, other: Any) -> float:
        gap = float(np.max(np.abs(np.asarray(one, np.float64) - np.asarray(other, np.float64))))
        return gap / tolerance[name]

    yield distance("residual", log["tb"], found["tb"])
    yield distance("residual", log["db"], found["db"])
    for name, loss in log["loss"].items():
        if loss is not None:
            yield distance(name, loss, found["loss"][name])
    for name, gradient in log["tb_gradient"].items():
        yield distance("tb_gradient", gradient, found["tb_gradient"][name])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_floats_agree_with_the_logarithms_within_their_tolerance(
    folder: Path, dtype: type[np.floating[Any]]
) -> None:
    name = dtype.__name__
    count = 0
    for case in cases(folder, "sampler"):
        log = case["log"]
        zero = "0" in case["p_f"] + case["p_b"] + case["rewards"] + case["flow"]
        assert (log is None) == zero
        if log is not None:
            found, tolerance = float_logs(case, dtype), log["tolerance"][name]
            assert max(errors(log, found, tolerance)) <= 1, case["id"]
            assert tolerance["residual"] < (1e-10 if dtype is np.float64 else 0.05)
            count += 1
    assert count > 250


def swapped_policies(case: Case) -> None:
    case["p_f"], case["p_b"] = case["p_b"], case["p_f"]


def doubled_z(case: Case) -> None:
    case["flow"][0] = str(2 * Fraction(case["flow"][0]))


def one_weight_changed(case: Case) -> None:
    case["p_b"][0] = str(Fraction(case["p_b"][0]) * (1 + Fraction(1, 10**6)))


@pytest.mark.parametrize("fault", [swapped_policies, doubled_z, one_weight_changed])
def test_control_a_faulty_library_is_told_apart_by_the_tolerance(
    folder: Path, fault: Callable[[Case], None]
) -> None:
    for case in cases(folder, "sampler"):
        if re.fullmatch(r"lift-\d+/arbitrary", case["id"]):
            log = case["log"]
            fault(case)
            found = float_logs(case, np.float64)
            assert max(errors(log, found, log["tolerance"]["float64"])) > 100


def test_control_a_ball_that_is_too_wide_has_no_nearest_float() -> None:
    with pytest.raises(ArithmeticError, match="no nearest float64"):
        nearest(arb(1, 1e-10))
    assert nearest(arb(0)) == 0
    assert nearest(arb(1) / 4) == 0.25


# The counterexamples, with the numbers of the paper's audit.


def test_counterexamples_have_the_marginals_that_they_are_known_for(folder: Path) -> None:
    def law(name: str) -> Case:
        case = named(folder, "sampler", name)
        names = [case["graph"]["states"][x] for x in case["graph"]["terminals"]]
        return dict(zip(names, case["expected"]["marginal"], strict=True))

    assert law("contrasts-of-equal-length") == {"x": "9/10", "y": "1/10"}
    assert law("p-b-left-out") == {"x": "2/3", "y": "1/3"}
    assert law("projection-is-weighted") == {"x": "9/10", "y": "1/10"}
    assert law("p-b-by-the-terminal") == {"x": "1/2", "y": "1/2"}
    (pair,) = named(folder, "sampler", "contrasts-of-equal-length")["expected"]["cb"]
    lengths = [
        len(tau) for tau in named(folder, "sampler", "contrasts-of-equal-length")["trajectories"]
    ]
    assert sorted(lengths) == [1, 2]
    assert pair[2] != "0"


def test_counterexamples_fail_where_they_should(folder: Path) -> None:
    inside = named(folder, "sampler", "copied-p-b-inside")
    copies = [i for i, name in enumerate(inside["graph"]["states"]) if name.startswith("c#")]
    assert [inside["expected"]["state_visits"][i] for i in copies] == ["1/2", "1/2"]
    assert [inside["flow"][i] for i in copies] == ["3", "3"] == [inside["flow"][0]] * 2
    overwritten = named(folder, "sampler", "inner-flow-overwritten")["expected"]
    assert overwritten["marginal"] == overwritten["target"]
    assert {*overwritten["tb"]} == {"0"}
    for name in ("db", "fm"):
        assert {*overwritten[name]} - {"0", None}
    assert any(residual != "0" for _, residual in overwritten["subtb"])
    unvisited = named(folder, "sampler", "p-b-with-a-zero")
    copies = [i for i, name in enumerate(unvisited["graph"]["states"]) if name.startswith("u#")]
    rows = [
        [
            p
            for (u, _), p in zip(unvisited["graph"]["edges"], unvisited["p_f"], strict=True)
            if u == c
        ]
        for c in copies
    ]
    assert rows == [["1", "0"], ["0", "1"]]
    assert {*unvisited["expected"]["tb"]} == {"0"}
    beyond = named(folder, "sampler", "beyond-float64")
    assert {float(Fraction(reward)) for reward in beyond["rewards"]} == {0.0}
    assert beyond["log"]["loss"]["tb"] == 0


def test_combinations_are_told_apart_by_their_residuals_unless_a_client_has_a_zero(
    folder: Path,
) -> None:
    for name, balanced, right in (
        ("product-of-two", True, True),
        ("not-the-product", False, False),
        ("client-with-a-zero", True, False),
    ):
        expected = named(folder, "combination", name)["expected"]
        assert all(residual == "0" for *_, residual in expected["aggregated"]) == balanced
        assert (expected["marginal"] == expected["target"]) == right
    assert sorted(expected["marginal"]) == ["1/5", "4/5"]


# Refusals.

REASONS = {
    "second-source": "not reachable from the initial state",
    "unreachable-terminal": "not reachable from the initial state",
    "cycle": "has the cycle 'b' -> 'a' -> 'b'",
    "self-loop": "has the cycle 'a' -> 'a'",
    "edge-into-the-initial-state": "has the cycle",
    "dead-end": "not terminal but has no children",
    "terminal-with-children": "terminal states have no children",
    "repeated-edge": "twice",
    "edge-to-no-state": "not a state of the DAG",
    "initial-state-alone": "has no children, so there is no trajectory",
    "p-f-row-above-one": "sums to 4/3",
    "p-f-row-below-one": "sums to 5/6",
    "p-f-negative": "must be a number >= 0",
    "p-f-too-short": "1 values for a DAG of 2 edges",
    "p-b-row": "sums to 5/6",
    "p-b-normalised-over-children": "BackwardPolicy: the row of state",
    "reward-negative": "the reward of",
    "rewards-all-zero": "sum to zero",
    "reward-missing": "1 rewards for 2 terminal states",
    "lift-projection": "the projection does not map",
    "lift-base-edge": "the projection does not map",
    "copied-p-b-as-a-policy": "sums to 1/2",
}


def test_the_reference_refuses_each_case_for_its_reason_and_accepts_it_repaired(
    folder: Path,
) -> None:
    found = list(cases(folder, "refusal"))
    assert {case["id"] for case in found} == set(REASONS)
    for case in found:
        with pytest.raises(InputError, match=re.escape(REASONS[case["id"]])):
            read(case["refused"])
        read(case["accepted"])


# The folder.


def test_older_vectors_are_replaced_and_nothing_else_is(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Made once for all tests.
    contents = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr("verify.vectors.folder.make_files", lambda: contents)
    older = tmp_path / "older"
    shutil.copytree(folder, older)
    data = manifest(older)
    data["files"].append({"path": "former.json"})
    (older / "former.json").write_text("{}")
    (older / "lifts.json").write_text("{}")
    (older / MANIFEST).write_text(json.dumps(data))
    write_vectors(older)
    assert {path.name: path.read_bytes() for path in older.iterdir()} == contents
    (older / "notes.txt").write_text("mine")
    (older / "lifts.json").write_text("changed")
    with pytest.raises(InputError, match=r"holds 'notes.txt', which is not one of our vectors"):
        write_vectors(older)
    assert (older / "lifts.json").read_text() == "changed"


def test_what_an_interrupted_run_left_is_replaced(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents: dict[str, Any] = {path.name: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setattr("verify.vectors.folder.make_files", lambda: contents | {"lifts.json": None})
    with pytest.raises(TypeError):
        write_vectors(tmp_path)
    assert not (tmp_path / "lifts.json").exists()
    monkeypatch.setattr("verify.vectors.folder.make_files", lambda: contents)
    write_vectors(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == contents


@pytest.mark.parametrize("content", ["", "[]", '{"title": "another", "files": []}'])
def test_a_manifest_of_something_else_is_not_written_over(tmp_path: Path, content: str) -> None:
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(InputError, match="not one of our vectors"):
        write_vectors(tmp_path)
    assert (tmp_path / MANIFEST).read_text() == content


def test_a_folder_that_cannot_be_written_gives_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    for where in ("file", "file/below"):
        with pytest.raises(SystemExit) as stop:
            main(["vectors", str(tmp_path / where)])
        assert stop.value.code == 2
        message = capsys.readouterr().err
        assert re.fullmatch(r"pdai: the vectors cannot be written into '.*' \(Not a directory\): "
                            r"name another folder\n", message)  # fmt: skip
