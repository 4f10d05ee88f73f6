"""Right and fast on this device: `python benchmarks/device.py [--minutes 8] [--device gpu]`.

One command that needs no network, and of packages numpy, scipy, jax, equinox, optax and jaxtyping
alone. It compares rollouts, losses, gradients and laws with float64 references, times training,
sampling and exact laws, and writes after every row, so that a kill loses nothing: one JSON file and
one Markdown table. Beside the times of a GPU that it knows are those that `gpu_program.py` infers.
Rows without time left are dropped, the least important first, and named.
"""

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
# Where nothing is installed, the project is found beside this file.
sys.path.insert(0, str(HERE.parent))

from benchmarks.harness import Table, parser  # noqa: E402


def parsed() -> argparse.Namespace:
    """The command line."""
    command = parser(__doc__)
    command.add_argument("--device", choices=("cpu", "gpu"), help="default: what JAX finds first")
    command.add_argument("--minutes", type=float, default=8.0, help="all in all")
    command.add_argument("--smallest", action="store_true", help="a row of each kind, to try it")
    command.add_argument("--only", nargs="+", default=[], help="kinds of rows, such as training")
    command.add_argument("--batches", nargs="+", type=int, help="trajectories per training step")
    return command.parse_args()


def main() -> int:
    """Runs the rows; 1 if a number is wrong."""
    options = parsed()
    if options.device == "cpu":
        os.environ["JAX_PLATFORMS"] = "cpu"
    from benchmarks.on_device import throughput
    from benchmarks.on_device.budget import Budget
    from benchmarks.on_device.machine import chosen, facts
    from benchmarks.on_device.rows import rows

    device = chosen(options.device)
    machine = facts(device)
    print(f"{machine['device']}, {machine['memory_gib']:.0f} GiB, jax {machine['jax']}", flush=True)
    out = options.out or HERE / "results" / f"device-{device.platform}"
    about = machine | {"minutes": options.minutes, "smallest": options.smallest}
    table = Table("python benchmarks/device.py", out, about, printed=False)
    wanted = [
        row
        for row in rows(device, options.batches or throughput.BATCHES, smallest=options.smallest)
        if not options.only or row.kind in options.only
    ]
    budget = Budget(60 * options.minutes, together=1 if device.platform == "cpu" else 8)
    budget.spend(wanted, table)
    print(f"{out}.json, {out}.md", flush=True)
    return int(budget.failed)


if __name__ == "__main__":
    sys.exit(main())
