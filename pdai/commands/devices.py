"""The device of a training, chosen before JAX looks for devices."""

import sys

import jax

from fast.runs.sizes import device_memory
from fast.training.processes import join
from reference.errors import InputError


def begin(device: str, coordinator: str, processes: int, process: int) -> None:
    """Chooses the device, joins the other processes if there are some, and says where this runs.

    Args:
        device: "any", "cpu" or "gpu".
        coordinator: host and port of process 0; "" for a single process.
        processes: the number of processes.
        process: the number of this one.

    Raises:
        InputError: if there is no such device, or only some of the three are given.
    """
    if device == "cpu":
        jax.config.update("jax_platforms", "cpu")  # type: ignore[no-untyped-call]
    if coordinator:
        join(coordinator, processes, process)
    elif (processes, process) != (1, 0):
        raise InputError(
            f"process {process} of {processes} without a coordinator: add --coordinator HOST:PORT, "
            "where process 0 runs"
        )
    if device == "gpu":
        try:
            jax.devices("gpu")
        except RuntimeError:
            raise InputError(
                f"device is gpu, but JAX finds only {jax.default_backend()}: install the extra "
                "cuda, or use --device cpu"
            ) from None
    here = jax.local_devices()
    several = f" x {len(here)}" if len(here) > 1 else ""
    shared = f", process {process} of {processes}" if processes > 1 else ""
    print(
        f"on {here[0].platform}: {here[0].device_kind}{several}, "
        f"{device_memory() / 2**30:.0f} GiB{shared}",
        file=sys.stderr,
    )
