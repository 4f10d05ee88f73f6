"""The import rule, read from the source: reference <- fast <- pdai; verify and tests above."""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = {"reference", "fast", "pdai", "verify", "tests"}
MAY_IMPORT = {
    "reference": {"reference"},
    "fast": {"fast", "reference"},
    "pdai": {"pdai", "fast", "reference"},
}
# What a package needs beyond Python: the front alone has the command line, tables and pictures.
FRONT = {"tyro", "rich", "matplotlib", "pytest", "distributed"}
FORBIDDEN = {
    "reference": {"jax", "equinox", "optax", *FRONT - {"matplotlib"}},
    "fast": FRONT,
    "pdai": set(),
}
# The rooms of `fast` that hold what it computes against the reference, or are made of what the
# reference enumerates. Semantics are written twice, so the others may take from the reference the
# parameters and labels of problems (and their errors), and nothing else.
COMPARING = (
    *("fast/laws", "fast/measure", "fast/checking"),
    *("fast/runs", "fast/environments/tabular.py"),
)
PARAMETERS_ONLY = {
    *("reference.problems", "reference.errors", "reference.loading", "reference.arguments"),
    "reference.user_code",  # errors of what a user wrote
}


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            found |= {name.value for name in node.args if isinstance(name, ast.Constant)}
    return found


def files(package: str) -> list[Path]:
    return [path.relative_to(ROOT) for path in sorted((ROOT / package).rglob("*.py"))]


def violations(path: Path, imported: set[str]) -> set[str]:
    """The imports of a file that the rule forbids."""
    package = path.parts[0]
    tops = {name: name.split(".")[0] for name in imported}
    bad = {name for name, top in tops.items() if top in OURS - MAY_IMPORT[package]}
    bad |= {name for name, top in tops.items() if top in FORBIDDEN[package]}
    if package == "fast" and not str(path).startswith(COMPARING):
        bad |= {
            name
            for name, top in tops.items()
            if top == "reference"
            and not name.startswith("reference.problems.")
            and name not in PARAMETERS_ONLY
        }
    return bad


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_flow_one_way(package: str) -> None:
    assert files(package)
    for path in files(package):
        assert violations(path, imports(ROOT / path)) == set(), path


def test_control_forbidden_imports_are_seen() -> None:
    for path, name in (
        ("reference/dag.py", "jax.numpy"),
        ("reference/dag.py", "fast.policies.policy"),
        ("reference/dag.py", "rich"),
        ("fast/runs/job.py", "pdai.show.plotting"),
        ("fast/runs/job.py", "matplotlib.figure"),
        ("fast/training/compose.py", "tyro"),
        ("fast/sampling/forward.py", "reference.marginals"),
        ("fast/environments/sets.py", "reference.dag"),
        ("pdai/cli.py", "verify.ledger"),
    ):
        assert violations(Path(path), {name}), (path, name)
    for path, name in (
        ("fast/laws/terminal_law.py", "reference.marginals"),
        ("fast/environments/sets.py", "reference.problems.sets"),
        ("pdai/cli.py", "tyro"),
    ):
        assert not violations(Path(path), {name}), (path, name)


def modules(package: str) -> dict[str, set[str]]:
    """Imports of each module, also inside functions; the faces of packages are left out."""
    return {
        ".".join(path.with_suffix("").parts): {
            name
            for node in ast.walk(ast.parse((ROOT / path).read_text()))
            if isinstance(node, ast.ImportFrom) and node.module
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        }
        for path in files(package)
        if path.name != "__init__.py"
    }


def test_no_modules_import_each_other_in_a_circle() -> None:
    imported = {name: names for package in MAY_IMPORT for name, names in modules(package).items()}
    TopologicalSorter({name: names & imported.keys() for name, names in imported.items()}).prepare()


def test_control_a_circle_is_seen() -> None:
    imported = modules("fast")
    imported["fast.environments.base"].add("fast.runs.job")
    with pytest.raises(CycleError, match="cycle"):
        TopologicalSorter({n: names & imported.keys() for n, names in imported.items()}).prepare()


@pytest.mark.parametrize(
    "module", ["reference", "fast.training.compose", "fast.tasks", "pdai.cli", "pdai.answers"]
)
def test_importing_the_reference_or_the_command_line_does_not_import_jax(module: str) -> None:
    code = f"import sys, {module}; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--help", 0),
        ("train --help", 0),
        ("train six6 --dynamics gru --loss my_module:MyLoss --help", 0),
        ("distribute sets --help", 0),
        ("train six6 --help-all", 1),
    ],
)
def test_help_imports_jax_only_to_show_every_option(line: str, expected: int) -> None:
    code = f"""
import contextlib, io, sys
from pdai.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main({line.split()})
sys.exit("jax" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == expected


def test_control_importing_training_imports_jax() -> None:
    code = "import sys, fast.training.trainer; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 1


# Refuses the packages given as arguments, and imports what `{module}` names.
REFUSING = """
import sys
from importlib.abc import MetaPathFinder

class Refuse(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ImportError(name + " is refused")

sys.meta_path.insert(0, Refuse())
import {module}
"""
HEAVY = ("sympy", "flint", "matplotlib", "rich", "jax", "scipy")


def ending(module: str) -> str:
    """What Python writes to stderr when it imports a module and finds none of `HEAVY`."""
    command = [sys.executable, "-c", REFUSING.format(module=module), *HEAVY]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True).stderr


def test_the_reference_loads_nothing_heavy() -> None:
    assert ending("reference") == ""


@pytest.mark.parametrize(
    ("module", "refused"),
    [
        ("reference.fields.symbolic", "sympy"),
        ("reference.fields.balls", "flint"),
        ("pdai.show.plotting", "matplotlib"),
    ],
)
def test_control_a_heavy_import_is_refused(module: str, refused: str) -> None:
    assert f"{refused} is refused" in ending(module)
