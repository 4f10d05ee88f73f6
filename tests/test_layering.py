"""The import rule, read from the source: reference <- fast <- verify, tests."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = {"reference", "fast", "verify", "tests"}
MAY_IMPORT = {"reference": {"reference"}, "fast": {"fast", "reference"}}

# The modules that hold a trained network or an environment against the reference, and the
# environment made of a problem's enumerated DAG; the others may take from the reference the
# parameters and labels of problems (and their errors), but no semantics.
BRIDGES = {
    "audit", "bridge", "certificates", "checking", "comparison", "estimates", "evaluation", "laws",
    "meter", "probes", "tables", "tabular",
}  # fmt: skip
PARAMETERS_ONLY = {"reference.problems", "reference.errors"}
# The command line also offers what the reference does alone, without a network, and a task may be
# a problem that its user names, as an environment may be. The test vectors are made by `verify`,
# which nothing in `fast` is built on: the command that writes them loads it by name when it runs.
COMMANDS = {
    "look": {"reference.drawing", "reference.inspection"},
    "custom": {"reference.inspection"},
    "loading": {"reference.inspection"},
}


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def loaded_by_name(path: Path) -> set[str]:
    """The modules of ours that a file gives to `import_module` as a literal."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    return {
        call.args[0].value
        for call in calls
        if ast.unparse(call.func).endswith("import_module")
        and isinstance(call.args[0], ast.Constant)
        and call.args[0].value.split(".")[0] in OURS
    }


def files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def violations(package: str, path: Path, imported: set[str]) -> set[str]:
    """The imports of a file that the rule forbids."""
    bad = {name for name in imported if name.split(".")[0] in OURS - MAY_IMPORT[package]}
    if package == "reference":
        bad |= {name for name in imported if name.split(".")[0] in {"jax", "equinox", "optax"}}
    if package == "fast" and path.stem not in BRIDGES:
        bad |= {
            name
            for name in imported
            if name.split(".")[0] == "reference"
            and not name.startswith("reference.problems.")
            and name not in PARAMETERS_ONLY | COMMANDS.get(path.stem, set())
        }
    return bad


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_flow_one_way(package: str) -> None:
    assert files(package)
    for path in files(package):
        assert violations(package, path, imports(path)) == set(), path


def test_only_the_command_line_loads_a_module_of_ours_by_name() -> None:
    loaded = {path.stem: loaded_by_name(path) for package in MAY_IMPORT for path in files(package)}
    assert {stem: names for stem, names in loaded.items() if names} == {
        "verify": {"verify.vectors"}
    }


def test_control_forbidden_imports_are_seen() -> None:
    assert violations("reference", Path("dag.py"), {"jax.numpy"})
    assert violations("reference", Path("dag.py"), {"fast.policies"})
    assert violations("fast", Path("rollout.py"), {"reference.marginals"})
    assert violations("fast", Path("cli.py"), {"verify.ledger"})
    assert violations("fast", Path("cli.py"), {"reference.marginals"})
    assert violations("fast", Path("rollout.py"), {"reference.inspection"})
    assert violations("fast", Path("sets.py"), {"reference.dag"})
    assert not violations("fast", Path("bridge.py"), {"reference.marginals"})
    assert not violations("fast", Path("sets.py"), {"reference.problems.sets"})


@pytest.mark.parametrize(
    "module", ["reference", "fast.config", "fast.tasks", "fast.cli", "fast.experiments"]
)
def test_importing_the_reference_or_the_command_line_does_not_import_jax(module: str) -> None:
    code = f"import sys, {module}; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_control_importing_training_imports_jax() -> None:
    code = "import sys, fast.training; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 1
