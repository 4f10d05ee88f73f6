"""Theorems about tables, which Coq's kernel checks: without Coq nothing is run."""

import math
import re
import shutil
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pdai
from pdai.certifying import theorems
from pdai.certifying.theorems import CLOSED, Answer, check_theorem
from reference import InputError, TooLargeError
from reference.certificates import drawn_theorem
from reference.certificates import theorem as written
from reference.certificates.drawn_theorem import read_drawn_theorem, write_drawn_theorem
from reference.certificates.theorem import library, read_theorem
from tests.certificates.problems import other
from tests.certificates.samples import HEADER, RIGHT_BARE, text_of, words
from tests.command_lines import answer
from tests.refusals import refused

needs_coq = pytest.mark.skipif(
    shutil.which("coqc") is None, reason="NO THEOREM WAS CHECKED: needs Debian's coq"
)


needs_mathcomp = pytest.mark.skipif(
    not Path("/usr/lib/ocaml/coq/user-contrib/mathcomp/algebra").exists(),
    reason="NO THEOREM WAS CHECKED: needs Debian's libcoq-mathcomp-algebra",
)


class Paths:
    """Two ways to c, from which x and y are reached."""

    initial = "s"

    def children(self, state: str) -> list[str]:
        return {"s": ["a", "b"], "a": ["c"], "b": ["c"], "c": ["x", "y"]}.get(state, [])

    def reward(self, terminal: str) -> int:
        return {"x": 1, "y": 4}[terminal]


ROWS: dict[str, list[Any]] = {"s": ["1/4", "3/4"], "a": [1], "b": [1], "c": ["7/20", "13/20"]}


def seeing(path: list[str]) -> list[Any]:
    """x has 1/2 after a, and 1/5 after b: TV is 3/40."""
    rows = {**ROWS, "c": ["1/2", "1/2"] if "a" in path else ["1/5", "4/5"]}
    return rows[path[-1]]


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The proofs are compiled in a fresh folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def proved(path: Path) -> Answer:
    """The answer of the kernel, which must accept from no assumption."""
    made = check_theorem(path)
    assert (made.accepted, made.assumptions, made.reason) == (True, CLOSED, "")
    return made


@needs_coq
@pytest.mark.catches(
    "A reward is read in place of the total, which the kernel refuses.",
    "reference/certificates/theorem.py",
    "sums = scale or _SCALE, header.reward_sum",
    "sums = scale or _SCALE, header.reward_denominator",
)
def test_a_wrong_sampler_is_at_three_twentieths(path: Path) -> None:
    made = pdai.certify(ROWS.__getitem__, Paths, theorem=path)
    assert made.tv == Fraction(3, 20)
    assert "a total variation of exactly 3/20; Coq's kernel checks it: " in made.notes[-1]
    assert made.notes[0].startswith(f"the table of {path}: ")
    text = path.read_text()
    assert "has a total variation of exactly 3/20\n" in text
    assert "All numbers were given as fractions" in text
    page = (Path(__file__).parents[2] / "docs" / "records" / "certify.md").read_text()
    begins = page.index("(* A theorem about one sampler")
    for shown_part in page[begins : page.index("```", begins)].split("...\n"):
        assert shown_part in text
    assert proved(path).statement == (
        "Theorem total_variation :\n"
        "  is_sampler table /\\ is_target table /\\ partition table == ratio 5 1 /\\\n"
        "  exists p_T, law table p_T /\\ TV table p_T == 3 # 20."
    )


@needs_coq
def test_rows_of_floats_are_closed_and_the_file_says_so(path: Path) -> None:
    pdai.certify(lambda state: [0.1, 0.9] if len(state) < 3 else [], other(), theorem=path)
    assert (
        "but the largest\n   number of a row of floats, which is one minus the others"
        in path.read_text()
    )
    proved(path)


@needs_coq
def test_a_sampler_that_sees_the_path(path: Path) -> None:
    """A label comes once for each history; TV is that of the ends."""
    assert pdai.certify(seeing, Paths, takes="history", theorem=path).tv == Fraction(3, 40)
    assert path.read_text().count("inner \"'c'\" ") == 2
    proved(path)


class Beads:
    """Strings of six letters, put on at either end: changes are rewarded."""

    initial = ""

    def children(self, beads: str) -> list[str]:
        longer = {new for bead in "rg" for new in (beads + bead, bead + beads)}
        return sorted(longer) if len(beads) < 6 else []

    def reward(self, beads: str) -> int:
        return 1 + beads.count("rg") + beads.count("gr")


@needs_coq
@pytest.mark.long
def test_a_solved_and_a_trained_sampler_of_six_letters(tmp_path: Path, path: Path) -> None:
    """The trained one is a network that sees the whole path."""
    run = pdai.solve(Beads, out=tmp_path / "solved")
    assert pdai.certify(run, theorem=path).tv < 1e-12
    proved(path)
    options: Any = {"dynamics": "gru", "steps": 20, "batch": 16}
    trained = pdai.train(Beads, out=tmp_path / "trained", **options)
    made = pdai.certify(trained, theorem=path)
    assert made.tv > 0.01
    assert len(set(labels := re.findall(r'inner "(\S+)"', path.read_text()))) < len(labels)
    proved(path)


@needs_coq
@pytest.mark.long
def test_the_solved_sampler_of_six6(tmp_path: Path, path: Path) -> None:
    """It takes the kernel 90 seconds of a processor, and 2.6 GB."""
    certificate = pdai.certify(pdai.solve("six6", out=tmp_path / "run"), theorem=path)
    assert 0 < certificate.tv < 1e-12
    assert proved(path).statement.endswith("0.000000000000 <= TV table p_T <= 0.000000000001.")


@needs_coq
@pytest.mark.catches(
    "A lower bound is rounded up.",
    "reference/certificates/theorem.py",
    "Fraction(math.floor(low * unit), unit)",
    "Fraction(math.ceil(low * unit), unit)",
)
def test_masses_of_unrelated_denominators_are_rounded(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written, "_MOST_BITS", 3)
    rows = {**ROWS, "c": ["1/3", "2/3"]}
    assert pdai.certify(rows.__getitem__, Paths, theorem=path).tv == Fraction(2, 15)
    assert "0.133333333333 <= TV table p_T <= 0.133333333334" in proved(path).statement


@needs_coq
@pytest.mark.catches(
    "A theorem that rests on an axiom counts as proved.",
    "pdai/certifying/theorems.py",
    "run.returncode == 0 and run.stdout.strip() == CLOSED",
    "run.returncode == 0",
)
def test_an_axiom_is_no_proof(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody compares the text before."""
    pdai.certify(ROWS.__getitem__, Paths, theorem=path)
    monkeypatch.setattr(theorems, "_read", lambda path: (Path(path).read_text(), theorems._TABLE))
    proof = re.compile(r"(?<=Proof\. ).*(?= Qed)")
    text = proof.sub("destruct cheat.", path.read_text()).replace("== 3 # 20", "== 2 # 20")
    path.write_text(text.replace("\nTheorem", "\nAxiom cheat : False.\nTheorem"))
    made = check_theorem(path)
    assert not made.accepted
    assert "Axioms: cheat : False" in made.reason


CHANGES = (
    *(("(to 1 1;;", "(to 1 2;;"), ("(to 1 1;;", "(to 2 1;;"), ("to 2 3;;", "to 2 4;;")),
    *(("to 4 7;;", "to 4 8;;"), ("to 5 13;;", "to 5 12;;"), ("\"'s'\" 4", "\"'s'\" 5")),
    *(("\"'c'\" 20", "\"'c'\" 21"), ("\"'x'\" 1", "\"'x'\" 2"), ("\"'y'\" 4", "\"'y'\" 5")),
    *(("ratio 5 1", "ratio 6 1"), ("6 20 5 3 20", "6 10 5 3 20"), ("== 3 # 20", "== 3 # 21")),
)


@needs_coq
def test_twelve_changed_numbers_are_refused_by_the_kernel(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nobody compares the text before."""
    pdai.certify(ROWS.__getitem__, Paths, theorem=path)
    text = path.read_text()
    monkeypatch.setattr(theorems, "_read", lambda path: (Path(path).read_text(), theorems._TABLE))
    proved(path)
    for right, changed in CHANGES:
        assert right in text
        path.write_text(text.replace(right, changed, 1))
        made = check_theorem(path)
        assert not made.accepted, (right, changed)
        assert "Unable to unify" in made.reason or "has type" in made.reason


@pytest.mark.catches(
    "Another file, with any command, is given to Coq.",
    "pdai/certifying/theorems.py",
    "if content is not None and wanted == text:",
    "if content is not None:",
)
def test_a_file_that_differs_by_a_character_is_not_run(path: Path) -> None:
    """Whatever it is: Coq has commands that write files, and load programs."""
    pdai.certify(ROWS.__getitem__, Paths, theorem=path)
    text = path.read_text()
    content = read_theorem(text)
    assert content is not None
    assert content.text() == text
    for right, changed in (
        *(("Open Scope", 'Redirect "x" Open Scope'), ("law table", "law  table")),
        *(("exactly 3/20", "exactly 2/20"), ("(* 3 *)", "(* 5 *)"), ("Qed.", "Qed. ")),
    ):
        line = text[: text.index(right)].count("\n") + 1
        path.write_text(text.replace(right, changed))
        with pytest.raises(InputError, match=f"line {line} differs from what its") as refusal:
            check_theorem(path)
        assert refusal.value.status == 1
    for cut in ("", text[:500], text.replace("(exactly table", "(exactly other")):
        path.write_text(cut)
        refused("no claim of that kind.*run coqc yourself", check_theorem, path)


@needs_coq
def test_labels_are_texts_of_coq_whatever_they_hold(path: Path) -> None:
    """Quotation marks are doubled, and what would open a comment opens none."""
    ends = ['"', '(*"', "*)", "\n", "\u00e9", "\\"]
    law = {end: Fraction(1, 6) for end in ends}
    assert pdai.certify(lambda state: [*law.values()], law=law, theorem=path).tv == 0
    assert 'inner "\'(*""\'"' in path.read_text().replace("terminal", "inner")
    proved(path)


def test_what_no_theorem_can_be_written_of(
    path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(written, "MOST_EDGES", 5)
    large = "6 rows and 6 edges, which would take Coq some 0 minutes and 0 GB: at most 5 edges are "
    call = partial(pdai.certify, ROWS.__getitem__, Paths, theorem="x.v")
    refused(large + "written; take a smaller instance, or --certificate", call, kind=TooLargeError)
    call = partial(pdai.certify, ["x", "y"], Paths(), theorem="x.v", regime="N")
    refused("a certificate file, or a theorem, needs regime E.*leave the file out", call)
    one = SimpleNamespace(log_prob=lambda x: math.log(0.5))
    call = partial(pdai.certify, one, law={"x": 1, "y": 4}, theorem="x.v")
    refused("theorem is 'x.v', but certify writes none for an object that draws", call)
    call = partial(pdai.certify, ROWS.__getitem__, Paths, theorem="x.v", certificate=Path("x.v"))
    refused("theorem and certificate are both 'x.v': name two files", call)
    call = partial(pdai.certify, ROWS.__getitem__, Paths, theorem="no/x.v")
    refused("cannot be written, as its folder does not exist", call)


def test_without_coq_the_command_says_how_to_get_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pdai.certify(ROWS.__getitem__, Paths, theorem=path)
    monkeypatch.setenv("PATH", "")
    refused(r"coqc is not on the PATH: install it \(sudo apt-get install coq", check_theorem, path)


@needs_coq
def test_the_command_prints_the_statement(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("from tests.certificates.test_theorems import ROWS, Paths\n"
                                     "policy = ROWS.__getitem__\n")  # fmt: skip
    ask = ("certify", "own:policy", "--problem", "own:Paths", "--theorem", "own.v")
    answer(*ask, cwd=tmp_path)
    said = answer("theorem", "own.v", cwd=tmp_path).stdout
    assert "TV table p_T == 3 # 20." in said
    assert "proved, by Coq's kernel: own.v" in said
    assert CLOSED in said
    text = (tmp_path / "own.v").read_text()
    (tmp_path / "own.v").write_text(text.replace("to 4 7;;", "to 4 8;;"))
    said = answer("theorem", "own.v", cwd=tmp_path, expect=1).stdout
    assert "refused by Coq's kernel: own.v" in said
    assert CLOSED not in said


@pytest.fixture
def trajectories(path: Path) -> str:
    """The theorem of sixteen trajectories, each of which takes the kernel a tenth of a second."""
    header = HEADER._replace(tv_low=0, tv_high=600_000)
    path.with_name("cert").write_text(text_of(header, words(16)))
    write_drawn_theorem(path, path.with_name("cert"))
    return path.read_text()


@pytest.fixture
def draws(path: Path) -> str:
    """The theorem of bare samples."""
    path.with_name("cert").write_text(RIGHT_BARE[0])
    write_drawn_theorem(path, path.with_name("cert"))
    return path.read_text()


@needs_mathcomp
@pytest.mark.long
def test_trajectories_are_seldom_wrong(path: Path, trajectories: str) -> None:
    assert "trajectories_seldom_mislead (level claim)" in proved(path).statement


@needs_mathcomp
@pytest.mark.long
def test_bare_samples_are_seldom_wrong(
    path: Path, draws: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel computes what the bets have won, and refuses another number."""
    assert "draws_seldom_mislead (weights_of law) (odds claim)" in proved(path).statement
    monkeypatch.setattr(theorems, "_read", lambda path: (Path(path).read_text(), theorems._DRAWN))
    numbers = re.search(r"Definition claim := \w+ ([\d ]+)", draws)
    assert numbers is not None
    won = numbers[1].split()[-1]
    path.write_text(draws.replace(won, str(int(won) - 1)))
    refusal = check_theorem(path)
    assert not refusal.accepted
    assert "Unable to unify" in refusal.reason or "has type" in refusal.reason


def test_theorems_of_samples_are_read_as_they_are_written(trajectories: str, draws: str) -> None:
    for text in (trajectories, draws):
        content = read_drawn_theorem(text)
        assert content is not None
        assert content.text() == text
    assert "Z of R p_B is between 20/1 and 21/1," in trajectories
    assert (
        "is between 0.000000000000 and 0.600000000000,\n   but for at most 1/2 of all such files"
        in trajectories
    )
    assert "   then TV to the law is at least " in draws


def test_trajectories_and_samples_of_a_command_are_theorems(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where states are too many, and beside a law."""
    asked: dict[str, Any] = {"regime": "Z", "samples": 300, "level": 1e-3, "theorem": path}
    made = pdai.certify(lambda state: ["1/4", "3/4"], other(), log_z=math.log(20), **asked)
    assert made.regime == "Z"
    assert path.read_text().count(") trajectory ") == made.samples
    samples = ["x", "x", "y"] * 200
    made = pdai.certify(samples, law={"x": 1, "y": 4}, if_independent=True, theorem=path)
    assert path.read_text().count(") drew ") == 600
    assert "TV to the law is at least" in made.notes[-1]
    monkeypatch.setattr(drawn_theorem, "_MOST", 599)
    call = partial(pdai.certify, samples, law={"x": 1, "y": 4}, if_independent=True, theorem=path)
    rule = "would have 600 samples, which would take Coq some 0 minutes: at most 599 are written"
    with pytest.raises(TooLargeError, match=rule):
        call()


def test_the_wheel_has_the_proofs() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    kept = {"Cert": "checker/*.v", **{name: f"coq/{name}.v" for name in theorems._DRAWN["Pdai"]}}
    assert all(f'"!/proofs_notes/{pattern}"' in text for pattern in kept.values())
    for name, modules in theorems._DRAWN.items():
        folder = library().parent / theorems._FOLDERS[name]
        assert all((folder / f"{module}.v").exists() for module in modules)
