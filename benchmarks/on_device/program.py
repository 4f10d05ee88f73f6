"""The work of a compiled program in a step, read from its text: kernels, bytes, operations.

`cost_analysis` of a compiled program counts the body of a loop once, whatever its number of rounds.
Here a loop counts as often as XLA says that it runs, and of the branches of a condition the most
expensive one.
"""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

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


class Cost(NamedTuple):
    """The operations of a program.

    Attributes:
        kernels: how many instructions are run that are no mere names of parts.
        bytes: what they read and write; of arrays of which a slice is read or replaced, the slice.
        operations: additions and multiplications of its matrix products.
        unknown: how many loops have no known number of rounds; each is counted as one.
    """

    kernels: int
    bytes: int
    operations: int = 0
    unknown: int = 0

    def __add__(self, other: "Cost") -> "Cost":  # type: ignore[override]
        return Cost(*(a + b for a, b in zip(self, other, strict=True)))

    def times(self, count: int) -> "Cost":
        """As often as that."""
        return Cost(self.kernels * count, self.bytes * count, self.operations * count, self.unknown)


class Instruction(NamedTuple):
    """A line of a program: its opcode, its result's bytes and shape, its operands, and the rest."""

    opcode: str
    size: int
    shape: list[int]
    operands: list[str]
    rest: str


def cost(text: str) -> Cost:
    """The cost of the entry computation of an optimised HLO module."""
    programs, entry = parsed(text)
    return _of(programs, entry)


def waits(text: str) -> list[str]:
    """Operations that ask a host, or wait for it, while the program runs: none is best."""
    programs, _ = parsed(text)
    lines = [line for program in programs.values() for line in program.values()]
    counts = {
        "conditionals": sum(line.opcode == "conditional" for line in lines),
        "loops of unknown length": sum(
            line.opcode == "while" and not TRIPS.search(line.rest) for line in lines
        ),
        "calls of the host": sum("callback" in line.rest for line in lines),
    }
    return [f"{count} {name}" for name, count in counts.items() if count]


def parsed(text: str) -> tuple[dict[str, dict[str, Instruction]], str]:
    """The computations of a module by name, and the name of its entry."""
    programs: dict[str, dict[str, Instruction]] = {}
    entry = ""
    for line in text.splitlines():
        if head := HEAD.match(line):
            current = programs.setdefault(head[2], {})
            entry = head[2] if head[1] else entry
        elif match := LINE.match(line):
            current[match[1]] = _instruction(match[2])
    return programs, entry


def _instruction(text: str) -> Instruction:
    match = OPCODE.search(text)
    assert match, text
    # Layouts and comments hold parentheses of their own; operands end where the depth does.
    depth, end = 1, match.end()
    while depth and end < len(text):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    operands = re.findall(r"[\w.\-]+", text[match.end() : end])
    result = text[: match.start()]
    return Instruction(match[1], _size(result), _shape(result), operands, text[end:])


def _size(text: str) -> int:
    total = 0
    for kind, dimensions in SHAPE.findall(text):
        count = 1
        for dimension in dimensions.split(",") if dimensions else ():
            count *= int(dimension)
        total += count * BYTES.get(kind, 0)
    return total


def _shape(text: str) -> list[int]:
    """The dimensions of an array; of a tuple those of its first."""
    first = SHAPE.search(text)
    return [int(size) for size in first[2].split(",")] if first and first[2] else []


def _operations(
    programs: dict[str, dict[str, Instruction]], lines: dict[str, Instruction], line: Instruction
) -> int:
    """Those of the matrix products in an instruction: two for each element and summand."""
    if line.opcode == "dot":
        summed = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", line.rest)
        shape = lines[line.operands[0]].shape
        axes = [int(axis) for axis in summed[1].split(",") if axis] if summed else []
        return 2 * math.prod(line.shape) * math.prod(shape[axis] for axis in axes)
    inside = (programs[called] for called in _called(line.rest, "calls"))
    return sum(_operations(programs, part, each) for part in inside for each in part.values())


def _of(programs: dict[str, dict[str, Instruction]], name: str) -> Cost:
    lines = programs[name]
    return sum((_one(programs, lines, line) for line in lines.values()), start=Cost(0, 0))


def _one(
    programs: dict[str, dict[str, Instruction]], lines: dict[str, Instruction], line: Instruction
) -> Cost:
    if line.opcode in FREE:
        return Cost(0, 0)
    if line.opcode == "while":
        trips = TRIPS.search(line.rest)
        parts = [_of(programs, called) for called in _called(line.rest, "body", "condition")]
        round_ = sum(parts, start=Cost(0, 0))
        return round_.times(int(trips[1])) if trips else round_ + Cost(0, 0, unknown=1)
    if line.opcode == "conditional":
        names = _called(line.rest, "branch_computations", "true_computation", "false_computation")
        return max((_of(programs, called) for called in names), key=lambda c: c.bytes)
    if line.opcode == "call":
        return sum((_of(programs, c) for c in _called(line.rest, "to_apply")), start=Cost(0, 0))
    return Cost(1, _moved(programs, lines, line), _operations(programs, lines, line))


def _moved(
    programs: dict[str, dict[str, Instruction]], lines: dict[str, Instruction], line: Instruction
) -> int:
    read = [lines[name].size for name in line.operands if name in lines]
    inside = [programs[called] for called in _called(line.rest, "calls")]
    if len(inside) != 1 or line.opcode != "fusion":
        return line.size + sum(read)
    (part,) = inside
    *_, root = part
    ends = part[root].operands if part[root].opcode == "tuple" else [root]
    given = {int(p.operands[0]): name for name, p in part.items() if p.opcode == "parameter"}
    return sum(_written(part, end) for end in ends) + sum(
        _read(part, given[number], size) for number, size in enumerate(read)
    )


def _written(part: dict[str, Instruction], name: str) -> int:
    """The bytes of a result of a fused computation; of one replaced in part, those of the part."""
    while part[name].opcode == "bitcast":
        (name,) = part[name].operands
    if part[name].opcode == "dynamic-update-slice":
        return part[part[name].operands[1]].size
    return part[name].size


def _read(part: dict[str, Instruction], name: str, size: int) -> int:
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


def _called(rest: str, *attributes: str) -> Iterator[str]:
    for attribute in attributes:
        if match := re.search(rf"\b{attribute}=(\{{[^}}]*\}}|%?[\w.\-]+)", rest):
            yield from re.findall(r"[\w.\-]+", match[1])
