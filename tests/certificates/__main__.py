"""More random samplers than the tests draw: `python -m tests.certificates [COUNT]`."""

import sys
import tempfile
from pathlib import Path

from tests.certificates.mutants import build
from tests.certificates.test_certificates_program import random_samplers

if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        random_samplers(build(folder), folder / "certificate", count)
    print(f"{count} random samplers: right claims accepted, {4 * count} wrong ones refused")
