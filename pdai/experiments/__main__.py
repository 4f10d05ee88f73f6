"""`python -m pdai.experiments` writes the report from the stored results."""

import sys

from pdai.experiments import EXPERIMENTS
from pdai.experiments.report import write_report
from reference.contract.errors import InputError

if __name__ == "__main__":
    try:
        print(*write_report(tuple(EXPERIMENTS.values())), sep="\n")
    except InputError as error:
        sys.exit(str(error))
