"""`python -m fast.experiments` writes the report from the stored results."""

from fast.experiments import EXPERIMENTS
from fast.experiments.report import write_report

if __name__ == "__main__":
    print(write_report(tuple(EXPERIMENTS.values())))
