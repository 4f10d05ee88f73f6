"""The ledger and the tests agree: no claim without a check and a control, no check without a claim.

Read from the source by its syntax tree, so that it holds whichever tests are selected.
"""

import ast
from pathlib import Path
from typing import get_args

from verify.ledger import CLAIMS, Verdict

FOLDER = Path(__file__).parent


def marked(path: Path) -> dict[str, int]:
    """How many tests of a file are marked as claim or control, and check that LABEL is used."""
    counts = {"claim": 0, "control": 0}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            kinds = [
                d.func.attr
                for d in node.decorator_list
                if isinstance(d, ast.Call)
                and isinstance(d.func, ast.Attribute)
                and ast.unparse(d.args[0] if d.args else d) == "LABEL"
            ]
            assert len(kinds) == 1, f"{path.name}: {node.name} is neither claim nor control"
            counts[kinds[0]] += 1
    return counts


def label_of(path: Path) -> str:
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "LABEL":
            return str(ast.literal_eval(node.value))
    raise AssertionError(f"{path.name} has no LABEL")


def test_every_claim_has_a_check_and_a_control_in_its_file() -> None:
    for claim in CLAIMS:
        path = FOLDER / claim.file
        assert label_of(path) == claim.label
        counts = marked(path)
        assert counts["claim"] >= 1
        assert counts["control"] >= 1


def test_every_claim_file_is_in_the_ledger() -> None:
    files = {
        path.name
        for prefix in ("test_def_", "test_eq_", "test_cor_", "test_prop_", "test_lemma_")
        for path in FOLDER.glob(f"{prefix}*.py")
    }
    assert files == {claim.file for claim in CLAIMS}


def test_labels_are_distinct_and_verdicts_are_known() -> None:
    assert len({claim.label for claim in CLAIMS}) == len(CLAIMS)
    assert all(claim.verdict in get_args(Verdict) for claim in CLAIMS)
