"""`python -m pdai.experiments` writes the report from the stored results."""

from pdai.experiments import EXPERIMENTS
from pdai.experiments.report import write_report

if __name__ == "__main__":
    print(*write_report(tuple(EXPERIMENTS.values())), sep="\n")
