"""The tutorials run from the first cell to the last, and are stored as they ran."""

import base64
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


def execute(notebook: nbformat.NotebookNode, folder: Path) -> None:
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()


def test_there_are_seven() -> None:
    assert len(NOTEBOOKS) == 7


@pytest.mark.catches(
    "the first page has the TV of another training",
    "docs/index.md",
    "stays at 0.50: one of two modes",
    "stays at 0.05: one of two modes",
)
def test_the_picture_and_numbers_of_the_first_page_are_those_of_a_tutorial() -> None:
    (path,) = (one for one in NOTEBOOKS if one.stem == "7_loss_near_zero")
    outputs = [o for cell in nbformat.read(path, 4).cells for o in cell.get("outputs", [])]
    (picture,) = (o.data["image/png"] for o in outputs if "image/png" in o.get("data", {}))
    docs = ROOT / "docs"
    assert base64.b64decode(picture) == (docs / "loss_near_zero.png").read_bytes()
    printed = "".join(o.text for o in outputs if o.get("name") == "stdout")
    (loss,) = re.findall(r"step 2,000: loss (\S+)", printed)
    (off,) = re.findall(r"log Z is (\S+) nats too low", printed)
    tv, _ = re.findall(r"TV of terminals (\S+)", printed)
    page = " ".join((docs / "index.md").read_text().split())
    ends = f"{float(loss):.0e}".replace("e-0", "e-")
    assert f"it ends at {ends}, and log Z is {off} nats too low. TV, the distance to" in page
    assert f"to the target, stays at {float(tv):.2f}: one of two modes" in page


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    execute(notebook, tmp_path)
    # Each has asserted something, and shown something.
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert any("\nassert " in f"\n{cell.source}" for cell in code)
    assert any(cell.outputs for cell in code)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_tutorial_is_stored_as_it_ran(path: Path) -> None:
    code = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not any(output.output_type == "error" for cell in code for output in cell.outputs)
    # Of the machine that it ran on, nothing is told.
    assert re.findall(r"/(?:tmp|root|home|work)/", path.read_text()) == []


def test_control_a_cell_that_fails_is_seen(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell("assert 1 == 2")
    with pytest.raises(CellExecutionError, match="AssertionError"):
        execute(nbformat.v4.new_notebook(cells=[cell]), tmp_path)
