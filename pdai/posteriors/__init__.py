"""Exact posteriors given a table, and samplers trained on them; importing it enters its tasks."""

from fast import ENTERED_ENVIRONMENTS, ENTERED_TASKS

ENTERED_TASKS["structure"] = "pdai.posteriors.tasks:StructureTask"
ENTERED_TASKS["variables"] = "pdai.posteriors.tasks:VariablesTask"
ENTERED_ENVIRONMENTS.add("pdai.posteriors.environments")
