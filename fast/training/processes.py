"""One training over several processes, each with its own devices, joined by `jax.distributed`.

Each process draws the columns of the batch for its own devices; all other inputs and outputs of a
step are equal in all processes. So a training over several processes has the numbers of a training
in one process with the same number of devices.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import jax
import numpy as np
from jax import lax
from jax.experimental import multihost_utils
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from reference.contract.errors import InputError

T = TypeVar("T")


def join(coordinator: str, processes: int, process: int, seconds: int = 300) -> None:
    """Joins the processes of a training, before anything is computed, and waits for the others.

    Process 0 listens. Raises InputError if the numbers are out of range, or the others do not come.

    Args:
        coordinator: host and port of process 0, such as "node1:8476".
        processes: the number of processes.
        process: the number of this process, from 0.
        seconds: the time to wait for the others, seconds.
    """
    if not 0 <= process < processes:
        raise InputError(
            f"process is {process} of {processes} processes: number them from 0 to {processes - 1}"
        )
    if not all(coordinator.rpartition(":")[::2]) or not coordinator.rpartition(":")[2].isdigit():
        raise InputError(
            f"coordinator is {coordinator!r}, but must be the host and a free port of process 0, "
            "such as node1:8476"
        )
    # Read when the first CPU device is made; GPUs have their own collectives.
    jax.config.update("jax_cpu_collectives_implementation", "gloo")  # type: ignore[no-untyped-call]
    try:
        jax.distributed.initialize(coordinator, processes, process, initialization_timeout=seconds)
    except RuntimeError as error:
        raise InputError(
            f"process {process} of {processes} did not meet the others at {coordinator} within "
            f"{seconds} s: start all of them with the same coordinator, where process 0 runs "
            f"({str(error).splitlines()[0]})"
        ) from None


def spanning(advance: Callable[..., Any]) -> Callable[..., Any]:
    """Runs a compiled function of arrays and a constant on the devices of all processes.

    Its arguments and results are arrays of this process, equal in all processes.
    """
    mesh = jax.make_mesh((jax.device_count(),), ("all",), axis_types=(AxisType.Auto,))
    everywhere = NamedSharding(mesh, PartitionSpec())  # type: ignore[no-untyped-call]

    def over_all(*arguments: Any) -> Any:
        *arrays, constant = arguments
        shared = jax.tree.map(
            lambda x: jax.make_array_from_process_local_data(  # type: ignore[no-untyped-call]
                everywhere, np.asarray(x)
            ),
            arrays,
        )
        return jax.tree.map(lambda x: x.addressable_data(0), advance(*shared, constant))

    return over_all


def gathered(tree: T, axis: str | None) -> T:
    """The rows of all devices, one after another; without an axis, those of the only device."""
    if axis is None:
        return tree
    every: T = jax.tree.map(lambda leaf: lax.all_gather(leaf, axis, tiled=True), tree)
    return every


def broadcast_from_first(tree: Any) -> Any:
    """The arrays of process 0, in all processes; with one process, the given arrays."""
    if jax.process_count() == 1:
        return tree
    return jax.tree.map(jax.numpy.asarray, multihost_utils.broadcast_one_to_all(tree))


def check_same(options: Mapping[str, Any]) -> None:
    """Checks that all processes have the same options, as plain data.

    Raises InputError if the options differ; raised in all processes.
    """
    if jax.process_count() == 1:
        return
    digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode()).digest()
    every = np.asarray(multihost_utils.process_allgather(np.frombuffer(digest, np.uint8)))
    others = np.flatnonzero((every != every[0]).any(1)).tolist()
    if others:
        raise InputError(
            f"processes {others} were started with other options than process 0: give all of them "
            "the same, but for --process and --out"
        )
