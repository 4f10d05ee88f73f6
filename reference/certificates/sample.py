"""The table of a certificate as a sampler, exact if its bits are uniform."""

from itertools import accumulate
from pathlib import Path

import numpy as np

from reference.certificates.check import RefusedError, check_rows
from reference.certificates.format import Inner, Row
from reference.certificates.reading import open_certificate
from reference.contract.errors import InputError
from reference.rows.exact import Bits, place


class CertifiedSampler:
    """Draws from `p_F` of a certificate, by integers only.

    For each step, bits halve [0, 1) until what is left lies within one child's share of the row
    (Han and Hoshi, 1997). So `P(child) = numerator / denominator` exactly, if the bits are
    independent and uniform. `pdai-check --sample`, which is proved, draws the same from the same
    bits.
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
        """The sampler of a certificate, checked in Python; raises InputError if it is refused."""
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
            nodes.append(children[place(denominator, sums, bits)])
        return nodes

    def draw(self, bits: Bits) -> str:
        """The label of a terminal state, drawn from the certified distribution."""
        return self.labels[self.path(bits)[-1]]


def numpy_bits(generator: np.random.Generator) -> Bits:
    """The bits of a NumPy generator, as `CertifiedSampler` takes them."""

    def bits(length: int) -> int:
        octets = (length + 7) // 8
        return int.from_bytes(generator.bytes(octets), "little") >> (8 * octets - length)

    return bits
