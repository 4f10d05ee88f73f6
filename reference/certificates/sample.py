"""The table of a certificate as a sampler, exact if its bits are uniform."""

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import numpy as np

from reference.certificates.check import RefusedError, check_rows
from reference.certificates.format import Inner, Row
from reference.certificates.reading import open_certificate
from reference.errors import InputError

# From k to a uniform integer of k bits, such as secrets.randbits.
Bits = Callable[[int], int]


class CertifiedSampler:
    """Draws from `p_F` of a certificate, by integers only.

    Each step draws a uniform integer below the denominator of the row, and takes the child whose
    share of the numerators holds it. So `P(child) = numerator / denominator` exactly, if the bits
    are independent and uniform.
    """

    def __init__(self, rows: list[Row]) -> None:
        self.labels = tuple(row.label for row in rows)
        self._rows = [
            (
                row.denominator,
                list(accumulate(numerator for _, numerator in row.steps)),
                [child for child, _ in row.steps],
            )
            if isinstance(row, Inner)
            else None
            for row in rows
        ]

    @classmethod
    def load(cls, path: Path | str) -> "CertifiedSampler":
        """The sampler of a certificate, once this is checked (in Python).

        Raises:
            InputError: if the file is no certificate, or claims something false.
        """
        try:
            with open_certificate(path) as (header, lines):
                rows = [*lines]
                check_rows(header, rows)
        except RefusedError as error:
            raise InputError(
                f"the certificate {str(path)!r} is refused ({error}), so its table is not "
                "sampled: write it again"
            ) from None
        return cls(rows)

    def path(self, bits: Bits) -> list[int]:
        """The nodes of a trajectory, from `s_o` to a terminal node."""
        nodes = [0]
        while (row := self._rows[nodes[-1]]) is not None:
            denominator, sums, children = row
            nodes.append(children[bisect_right(sums, below(denominator, bits))])
        return nodes

    def draw(self, bits: Bits) -> str:
        """The label of a terminal state, drawn from the certified distribution."""
        return self.labels[self.path(bits)[-1]]


def below(bound: int, bits: Bits) -> int:
    """A uniform integer from 0 to `bound - 1`, by rejection (von Neumann, 1951)."""
    length = (bound - 1).bit_length()
    if not length:
        return 0
    while (drawn := bits(length)) >= bound:
        pass
    return drawn


def numpy_bits(generator: np.random.Generator) -> Bits:
    """The bits of a NumPy generator, as `CertifiedSampler` takes them."""

    def bits(length: int) -> int:
        octets = (length + 7) // 8
        return int.from_bytes(generator.bytes(octets), "little") >> (8 * octets - length)

    return bits
