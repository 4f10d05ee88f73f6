"""Right and fast on this device: `python benchmarks/device.py [--minutes 8] [--device gpu]`.

One command that needs no network, and of packages numpy, scipy, jax, equinox, optax, jaxtyping and
lazy_loader alone. It compares rollouts, losses, gradients and laws with float64 references, times
training, sampling and exact laws, and writes after every row, so that a kill loses nothing: one
JSON file and one Markdown table. Beside the times of a GPU that it knows are those that
`gpu_program.py` infers. Rows without time left are dropped, the least important first, and named.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
# Where nothing is installed, the project is found beside this file.
sys.path.insert(0, str(HERE.parent))

from benchmarks.harness import Table, parser  # noqa: E402
from benchmarks.on_device import correctness, rates  # noqa: E402
from benchmarks.on_device.budget import Budget, chosen, facts  # noqa: E402


def main() -> int:
    """Runs the rows; 1 if a number is wrong."""
    command = parser(__doc__)
    command.add_argument("--device", choices=("cpu", "gpu"), help="default: what JAX finds first")
    command.add_argument("--minutes", type=float, default=8.0, help="all in all")
    command.add_argument("--smallest", action="store_true", help="a row of each kind, to try it")
    command.add_argument("--only", nargs="+", default=[], help="kinds of rows, such as training")
    options = command.parse_args()
    device = chosen(options.device)
    is_cpu, machine = device.platform == "cpu", facts(device)
    print(f"{machine['device']}, {machine['memory_gib']:.0f} GiB, jax {machine['jax']}", flush=True)
    out = options.out or HERE / "results" / f"device-{device.platform}"
    about = machine | {"minutes": options.minutes, "smallest": options.smallest}
    table = Table("python benchmarks/device.py", out, about, printed=False)
    rows = [*correctness.rows(options.smallest), *rates.rows(is_cpu, smallest=options.smallest)]
    budget = Budget(60 * options.minutes, together=1 if is_cpu else 8)
    wanted = options.only or [row.kind for row in rows]
    budget.spend([row for row in rows if row.kind in wanted], table)
    print(f"{out}.json, {out}.md", flush=True)
    return int(budget.failed)


if __name__ == "__main__":
    sys.exit(main())
