"""The work of a compiled program, read from its text, and the time that a GPU would take for it.

`cost_analysis` of a compiled program counts the body of a loop once, whatever its number of rounds.
Here a loop counts as often as XLA says that it runs, and of the branches of a condition the most
expensive one.
"""

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
from jax.experimental import topologies
from jax.sharding import SingleDeviceSharding

BYTES = {"pred": 1, "s8": 1, "u8": 1, "f16": 2, "bf16": 2, "s16": 2, "u16": 2, "f32": 4, "s32": 4,
         "u32": 4, "f64": 8, "s64": 8, "u64": 8, "c64": 8}  # fmt: skip
# What runs nothing by itself.
FREE = {"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all",
        "partition-id", "replica-id", "opt-barrier"}  # fmt: skip

HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) .*\{$")
LINE = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = (.*)$")
SHAPE = re.compile(r"(\w+)\[([\d,]*)\]")
OPCODE = re.compile(r"(?:^|\s)([a-z][\w\-]*)\(")
TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
# Microseconds for a kernel, the least and the most, as an H100 took them in sixteen trainings
# (results/device-gpu.md); two to four times as many follow from what gfnx 0.0.1 publishes.
LAUNCH = (1.1, 2.1)


class Cost(NamedTuple):
    """The operations of a program.

    Attributes:
        kernels: how many instructions are run that are no mere names of parts.
        bytes: what they read and write; of arrays of which a slice is read or replaced, the slice.
        operations: additions and multiplications of its matrix products.
        unknown: how many loops have no known number of rounds; each is counted as one.
    """

    kernels: int = 0
    bytes: int = 0
    operations: int = 0
    unknown: int = 0

    def __add__(self, other: "Cost") -> "Cost":  # type: ignore[override]
        return Cost(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, count: int) -> "Cost":
        """As often as that."""
        return Cost(self.kernels * count, self.bytes * count, self.operations * count, self.unknown)


class Instruction(NamedTuple):
    """A line of a program: its result, its opcode, its operands, and the rest."""

    result: str
    opcode: str
    operands: list[str]
    rest: str

    @property
    def shapes(self) -> list[tuple[str, list[int]]]:
        """The type and the dimensions of each array of the result."""
        return [
            (kind, [int(size) for size in sizes.split(",") if size])
            for kind, sizes in SHAPE.findall(self.result)
        ]

    @property
    def size(self) -> int:
        return sum(math.prod(sizes) * BYTES.get(kind, 0) for kind, sizes in self.shapes)

    def called(self, *attributes: str) -> Iterator[str]:
        """The names of the computations under some of its attributes."""
        for attribute in attributes:
            if match := re.search(rf"\b{attribute}=(\{{[^}}]*\}}|%?[\w.\-]+)", self.rest):
                yield from re.findall(r"[\w.\-]+", match[1])


# The instructions of a computation by name.
Lines = dict[str, Instruction]


def cost(text: str) -> Cost:
    """The cost of the entry computation of an optimised HLO module."""
    programs, entry = _parsed(text)
    return _of(programs, entry)


def waits(text: str) -> list[str]:
    """Operations that ask a host, or wait for it, while the program runs: none is best."""
    programs, _ = _parsed(text)
    lines = [line for program in programs.values() for line in program.values()]
    counts = {
        "conditionals": sum(line.opcode == "conditional" for line in lines),
        "loops of unknown length": sum(
            line.opcode == "while" and not TRIPS.search(line.rest) for line in lines
        ),
        "calls of the host": sum("callback" in line.rest for line in lines),
    }
    return [f"{count} {name}" for name, count in counts.items() if count]


def _parsed(text: str) -> tuple[dict[str, Lines], str]:
    """The computations of a module by name, and the name of its entry."""
    programs: dict[str, Lines] = {}
    entry = ""
    for line in text.splitlines():
        if head := HEAD.match(line):
            current = programs.setdefault(head[2], {})
            entry = head[2] if head[1] else entry
        elif match := LINE.match(line):
            current[match[1]] = _instruction(match[2])
    return programs, entry


def _instruction(text: str) -> Instruction:
    # The sixth operand of a tuple, and others, are counted in comments.
    text = re.sub(r"/\*.*?\*/", "", text)
    match = OPCODE.search(text)
    assert match, text
    # Layouts hold parentheses of their own; operands end where the depth does.
    depth, end = 1, match.end()
    while depth and end < len(text):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    operands = re.findall(r"[\w.\-]+", text[match.end() : end])
    return Instruction(text[: match.start()], match[1], operands, text[end:])


def _of(programs: dict[str, Lines], name: str) -> Cost:
    lines = programs[name]
    return sum((_one(programs, lines, line) for line in lines.values()), start=Cost())


def _one(programs: dict[str, Lines], lines: Lines, line: Instruction) -> Cost:
    if line.opcode in FREE:
        return Cost()
    if line.opcode == "while":
        trips = TRIPS.search(line.rest)
        parts = [_of(programs, called) for called in line.called("body", "condition")]
        round_ = sum(parts, start=Cost())
        return round_.times(int(trips[1])) if trips else round_ + Cost(unknown=1)
    if line.opcode == "conditional":
        names = line.called("branch_computations", "true_computation", "false_computation")
        return max((_of(programs, called) for called in names), key=lambda c: c.bytes)
    if line.opcode == "call":
        return sum((_of(programs, called) for called in line.called("to_apply")), start=Cost())
    return Cost(1, _moved(programs, lines, line), _operations(programs, lines, line))


def _operations(programs: dict[str, Lines], lines: Lines, line: Instruction) -> int:
    """Those of the matrix products in an instruction: two for each element and summand."""
    if line.opcode == "dot":
        summed = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", line.rest)
        shape = lines[line.operands[0]].shapes[0][1]
        axes = [int(axis) for axis in summed[1].split(",") if axis] if summed else []
        return 2 * math.prod(line.shapes[0][1]) * math.prod(shape[axis] for axis in axes)
    inside = (programs[called] for called in line.called("calls"))
    return sum(_operations(programs, part, each) for part in inside for each in part.values())


def _moved(programs: dict[str, Lines], lines: Lines, line: Instruction) -> int:
    read = [lines[name].size for name in line.operands if name in lines]
    inside = [programs[called] for called in line.called("calls")]
    if len(inside) != 1 or line.opcode != "fusion":
        return line.size + sum(read)
    (part,) = inside
    *_, root = part
    ends = part[root].operands if part[root].opcode == "tuple" else [root]
    names = {int(p.operands[0]): name for name, p in part.items() if p.opcode == "parameter"}
    return sum(_written(part, end) for end in ends) + sum(
        _read(part, names[number], size) for number, size in enumerate(read)
    )


def _written(part: Lines, name: str) -> int:
    """The bytes of a result of a fused computation; of one replaced in part, those of the part."""
    while part[name].opcode == "bitcast":
        (name,) = part[name].operands
    if part[name].opcode == "dynamic-update-slice":
        return part[part[name].operands[1]].size
    return part[name].size


def _read(part: Lines, name: str, size: int) -> int:
    """The bytes that a fused computation reads of an argument: all, or slices of it alone."""
    total = 0
    for other, line in part.items():
        if name not in line.operands:
            continue
        if line.opcode == "bitcast":
            total += _read(part, other, size)
        elif line.opcode == "dynamic-slice" and line.operands[0] == name:
            total += line.size
        elif line.opcode != "dynamic-update-slice" or line.operands[0] != name:
            return size
    return min(total, size)


class Target(NamedTuple):
    """A GPU that XLA compiles for without having one, by the numbers of its data sheet.

    Attributes:
        name: of the product.
        capability: the version of its instructions, major and minor.
        processors: streaming multiprocessors.
        units: of float32, for each processor.
        shared: bytes of shared memory for each processor; a block may have a KiB less.
        cache: bytes of the level-2 cache.
        bandwidth: bytes of memory per second; its size is 80 GB.
        operations: of float32 per second, without tensor cores.
        gigahertz: the clock.
    """

    name: str
    capability: tuple[int, int]
    processors: int
    units: int
    shared: int
    cache: int
    bandwidth: float
    operations: float
    gigahertz: float

    def sharding(self) -> SingleDeviceSharding:
        """Arrays on it: functions of such shapes are compiled for it.

        Raises:
            RuntimeError: if the wheel with the compiler is not installed.
        """
        major, minor = self.capability
        feature = "ACCELERATED_FEATURES" if major >= 9 else "NONE"
        description = f"""
            gpu_device_info {{
              name: "{self.name}" device_vendor: "NVIDIA Corporation" device_address_bits: 64
              cuda_compute_capability {{
                major: {major} minor: {minor} feature_extension: {feature}
              }}
              core_count: {self.processors} fpus_per_core: {self.units}
              clock_rate_ghz: {self.gigahertz}
              memory_bandwidth: {self.bandwidth:.0f} device_memory_size: 80000000000
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
        topology = topologies.get_topology_desc(
            platform="cuda", target_config=description, topology="1x1x1"
        )
        return SingleDeviceSharding(topology.devices[0])

    def shapes(self, tree: Any) -> Any:
        """The shapes of a tree of arrays, on this GPU."""
        here = self.sharding()
        return jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=here), tree
        )


H100 = Target(
    "NVIDIA H100 80GB HBM3", (9, 0), 132, 128, 228 * 1024, 50 * 2**20, 3.35e12, 66.9e12, 1.98
)
A100 = Target(
    "NVIDIA A100-SXM4-80GB", (8, 0), 108, 64, 164 * 1024, 40 * 2**20, 2.04e12, 19.5e12, 1.41
)


def inferred(kind: str, work: Cost, steps: int) -> dict[str, Any]:
    """Milliseconds of a step, if launches, memory or matrix products alone took time.

    Args:
        kind: the name of a device; of one that is not known, nothing is said.
        work: of a program.
        steps: in the program.
    """
    targets = [target for target in (H100, A100) if target.name.split()[1].split("-")[0] in kind]
    if not targets:
        return {}
    launches = [work.kernels / steps * microseconds / 1e3 for microseconds in LAUNCH]
    return {
        "launches ms": " to ".join(f"{ms:.2f}" for ms in launches),
        "memory ms": 1e3 * work.bytes / steps / targets[0].bandwidth,
        "products ms": 1e3 * work.operations / steps / targets[0].operations,
    }
