"""The table of a certificate as a sampler: its law, given uniform bits, is the certified one."""

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import numpy as np

from reference.certificates.check import RefusedError, rows_checked
from reference.certificates.format import Inner, Row
from reference.certificates.reading import open_certificate
from reference.errors import InputError

# From k to a uniform integer of k bits, such as secrets.randbits.
Bits = Callable[[int], int]


class CertifiedSampler:
    """Draws from `p_F` of a certificate, by integers only.

    Each step draws a uniform integer below the denominator of the row, from as many bits as it
    has, again while it is too large; the child is the one among whose numerators it falls. So
    `P(child) = numerator / denominator` exactly, if the bits are independent and uniform: no
    number is ever rounded.
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
        """The sampler of a certificate, which is checked (in Python) as it is read.

        Raises:
            InputError: if the file is no certificate, or one of something false.
        """
        try:
            with open_certificate(path) as (header, rows):
                return cls(rows_checked(header, rows))
        except RefusedError as error:
            raise InputError(
                f"the certificate {str(path)!r} is refused ({error}), so its table is not "
                "sampled: write it again"
            ) from None

    def path(self, bits: Bits) -> list[int]:
        """The nodes of a trajectory, from `s_o` to a terminal node."""
        nodes = [0]
        while (row := self._rows[nodes[-1]]) is not None:
            denominator, sums, children = row
            nodes.append(children[bisect_right(sums, below(denominator, bits))])
        return nodes

    def draw(self, bits: Bits) -> str:
        """The label of a terminal state, drawn from the certified law."""
        return self.labels[self.path(bits)[-1]]


def below(bound: int, bits: Bits) -> int:
    """A uniform integer from 0 to `bound - 1`: of the shortest words that hold it, the first less.

    (von Neumann, 1951.)
    """
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
