"""GPUs that XLA compiles for without having one, and how fast their makers say they are."""

from typing import Any, NamedTuple

import jax
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

from benchmarks.on_device.program import Cost

# Microseconds for a kernel, the least and the most, as an H100 took them in sixteen trainings
# (results/device-gpu.md); two to four times as many follow from what gfnx 0.0.1 publishes.
LAUNCH = (1.1, 2.1)


class Target(NamedTuple):
    """A GPU, by the numbers of its data sheet.

    Attributes:
        name: of the product.
        capability: the version of its instructions, major and minor.
        processors: streaming multiprocessors.
        units: of float32, for each processor.
        shared: bytes of shared memory for each processor; a block may have a KiB less.
        cache: bytes of the level-2 cache.
        memory: bytes.
        bandwidth: bytes of memory per second.
        operations: of float32 per second, without tensor cores.
        gigahertz: the clock.
    """

    name: str
    capability: tuple[int, int]
    processors: int
    units: int
    shared: int
    cache: int
    memory: int
    bandwidth: float
    operations: float
    gigahertz: float

    def sharding(self) -> SingleDeviceSharding:
        """Arrays on it: functions of such shapes are compiled for it.

        Raises:
            RuntimeError: if the wheel with the compiler is not installed.
        """
        topology = topologies.get_topology_desc(
            platform="cuda", target_config=self._description(), topology="1x1x1"
        )
        return SingleDeviceSharding(topology.devices[0])

    def inferred(self, work: Cost, steps: int) -> dict[str, Any]:
        """Milliseconds of a step, if launches, memory or matrix products alone took time."""
        launches = [work.kernels / steps * microseconds / 1e3 for microseconds in LAUNCH]
        return {
            "launches ms": " to ".join(f"{ms:.2f}" for ms in launches),
            "memory ms": 1e3 * work.bytes / steps / self.bandwidth,
            "products ms": 1e3 * work.operations / steps / self.operations,
        }

    def _description(self) -> str:
        major, minor = self.capability
        feature = "ACCELERATED_FEATURES" if major >= 9 else "NONE"
        return f"""
            gpu_device_info {{
              name: "{self.name}" device_vendor: "NVIDIA Corporation" device_address_bits: 64
              cuda_compute_capability {{
                major: {major} minor: {minor} feature_extension: {feature}
              }}
              core_count: {self.processors} fpus_per_core: {self.units}
              clock_rate_ghz: {self.gigahertz}
              memory_bandwidth: {self.bandwidth:.0f} device_memory_size: {self.memory}
              l2_cache_size: {self.cache}
              shared_memory_per_core: {self.shared}
              shared_memory_per_block_optin: {self.shared - 1024} shared_memory_per_block: 49152
              registers_per_core_limit: 65536 registers_per_block_limit: 65536
              threads_per_warp: 32 threads_per_block_limit: 1024 threads_per_core_limit: 2048
              block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
              thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64
              driver_version: "13.0.0" runtime_version: "13.0.0"
              compile_time_toolkit_version: "13.0.0" dnn_version: "9.10.0"
            }}
            platform_name: "CUDA"
            dnn_version_info {{ major: 9 minor: 10 patch: 0 }}
            device_description_str: "{self.name}"
        """

    def shapes(self, tree: Any) -> Any:
        """The shapes of a tree of arrays, on this GPU."""
        here = self.sharding()
        return jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=here), tree
        )


H100 = Target(
    "NVIDIA H100 80GB HBM3",
    (9, 0),
    processors=132,
    units=128,
    shared=228 * 1024,
    cache=50 * 2**20,
    memory=80 * 10**9,
    bandwidth=3.35e12,
    operations=66.9e12,
    gigahertz=1.98,
)
A100 = Target(
    "NVIDIA A100-SXM4-80GB",
    (8, 0),
    processors=108,
    units=64,
    shared=164 * 1024,
    cache=40 * 2**20,
    memory=80 * 10**9,
    bandwidth=2.04e12,
    operations=19.5e12,
    gigahertz=1.41,
)


def inferred(kind: str, work: Cost, steps: int) -> dict[str, Any]:
    """The result of `Target.inferred` for a device of that kind; empty if it is not known."""
    known = [target for target in (H100, A100) if target.name.split()[1].split("-")[0] in kind]
    return known[0].inferred(work, steps) if known else {}
