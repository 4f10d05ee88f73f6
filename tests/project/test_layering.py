"""The import rule, read from the source: reference <- fast <- pdai; verify and tests above."""

import ast
import subprocess
import sys
from functools import cache
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
    *("reference.problems", "reference.contract.user_code"),
    *("reference.contract.errors", "reference.contract.loading"),
}
# The paper in exact arithmetic and its samplers know neither of these rooms.
ROOMS = ("reference.certificates", "reference.posterior")
AROUND = ("reference/certificates", "reference/posterior", "reference/looking")


@cache
def imports(path: Path) -> tuple[set[str], set[str]]:
    """The imports of a file, also inside functions: modules, and names from modules."""
    names, froms = set[str](), set[str]()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            froms |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call) and _last_name(node.func) == "import_module":
            names |= {name.value for name in node.args if isinstance(name, ast.Constant)}
    return names, froms


def _last_name(called: ast.expr) -> str:
    return str(getattr(called, "attr", getattr(called, "id", "")))


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
        assert violations(path, imports(path)[0]) == set(), path


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


def test_the_core_imports_no_room() -> None:
    core = [x for p in ("reference", "fast") for x in files(p) if not str(x).startswith(AROUND)]
    to_rooms = {x for x in core if any(name.startswith(ROOMS) for name in set().union(*imports(x)))}
    assert to_rooms == set()


def test_a_room_enters_its_tasks_when_pdai_is_imported() -> None:
    steps = "from fast.tasks import TASKS; print('structure' in TASKS); import pdai"
    steps += "; print(TASKS['structure'].__module__, [*TASKS][-1])"
    command = [sys.executable, "-c", steps]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "pdai.posteriors.tasks", "custom"]


def modules(package: str) -> dict[str, set[str]]:
    """Imports of each module; the faces of packages are left out."""
    return {
        ".".join(path.with_suffix("").parts): set(imports(path)[1])
        for path in files(package)
        if path.name != "__init__.py"
    }


def test_the_contract_imports_nothing_of_the_reference_but_itself_and_fields() -> None:
    allowed = ("reference.contract", "reference.fields")
    for path in sorted((ROOT / "reference" / "contract").glob("*.py")):
        ours = {name for name in imports(path)[0] if name.split(".")[0] in OURS}
        assert all(name.startswith(allowed) for name in ours), path


def test_no_modules_import_each_other_in_a_circle() -> None:
    imported = {name: names for package in MAY_IMPORT for name, names in modules(package).items()}
    TopologicalSorter({name: names & imported.keys() for name, names in imported.items()}).prepare()


def test_control_a_circle_is_seen() -> None:
    imported = modules("fast")
    imported["fast.environments.base"].add("fast.runs.job")
    with pytest.raises(CycleError, match="cycle"):
        TopologicalSorter({n: names & imported.keys() for n, names in imported.items()}).prepare()


# Importing these, and asking for help, loads no JAX.
LIGHT = (
    *("import reference", "import fast.training.compose", "import fast.tasks"),
    *("import pdai.posteriors.answers", "from pdai.cli import main", "main(['--help'])"),
    *("main(['train', '--help'])", "main(['distribute', 'sets', '--help'])"),
    "main('train six6 --dynamics gru --loss my_module:MyLoss --help'.split())",
)
TAKING_STEPS = """
import contextlib, io, sys
for step in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        exec(step)
    print("jax" in sys.modules)
"""


def test_the_reference_the_command_line_and_its_help_load_no_jax() -> None:
    # The last shows every option, of those parts too that import JAX: a control.
    steps = (*LIGHT, "main(['train', 'six6', '--help-all'])")
    command = [sys.executable, "-c", TAKING_STEPS, *steps]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    loaded = dict(zip(steps, done.stdout.split(), strict=True))
    assert loaded == {**dict.fromkeys(LIGHT, "False"), steps[-1]: "True"}


# Refuses the packages given as arguments, and imports what `{module}` names.
REFUSING = """
import sys
from importlib.abc import MetaPathFinder

REFUSED = sys.argv[1:]

class Refuse(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in REFUSED:
            raise ModuleNotFoundError(name + " is refused", name=name)

sys.meta_path.insert(0, Refuse())
import {module}
"""
HEAVY = ("sympy", "flint", "matplotlib", "rich", "jax", "scipy")
# Modules, and what of `HEAVY` each misses; those after the first are controls.
MISSES = {
    "reference": "",
    "sympy": "sympy is refused",
    "reference.fields.balls": "flint is refused",
    "pdai.show.plotting": "matplotlib is refused",
}
IMPORTING = f"""
import importlib
for name in {[*MISSES]}:
    try:
        importlib.import_module(name)
        print()
    except ImportError as error:
        print(error)
"""


def test_the_reference_loads_nothing_heavy() -> None:
    command = [sys.executable, "-c", REFUSING.format(module="sys") + IMPORTING, *HEAVY]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert dict(zip(MISSES, done.stdout.splitlines(), strict=True)) == MISSES


def test_help_on_the_reference_needs_no_extra() -> None:
    """It asks for every name, and ended at the first one that needs sympy."""
    code = REFUSING.format(module="pydoc, reference") + "pydoc.render_doc(reference)"
    command = [sys.executable, "-c", code, "sympy", "matplotlib", "jax"]
    assert subprocess.run(command, cwd=ROOT, check=False, capture_output=True).stderr == b""
