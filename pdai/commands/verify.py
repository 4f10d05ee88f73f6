"""`pdai verify`."""

import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Verify:
    """Run the checks of the paper's claims, and print the ledger; exit 1 on any surprise.

    Try:
        pdai verify
        pdai verify --claim prop:lines
        pdai verify --json
    """

    claim: str | None = None
    """Only the checks of this claim, by its name in the ledger, such as prop:lines or N5."""
    exhaustive: bool = False
    """All lifts up to 6 states (else 5), some with 7, 20,000 random instances: up to an hour."""
    json: bool = False
    """Print the ledger as JSON to stdout, and all else to stderr."""
    write_notes: Path | None = None
    """Write the ledger's table to this file: proofs_notes/README.md in a checkout. It is of all
    claims, so not with --claim."""

    def run(self) -> None:
        """Runs the tests of the claims."""
        from pdai.claims import check_claims

        sys.exit(
            check_claims(
                self.claim, exhaustive=self.exhaustive, as_json=self.json, notes=self.write_notes
            )
        )
