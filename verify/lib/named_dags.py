"""The pointed DAGs that examples by hand are made on."""

from reference import pointed_dag

# One step to either end.
FORK = pointed_dag({"o": ["x", "y"], "x": [], "y": []})

# Two ways to x, one to y.
TWO_TO_ONE = pointed_dag({"o": ["a", "b", "y"], "a": ["x"], "b": ["x"], "x": [], "y": []})

# Two ways to c, and two ends from there: a lift may remember the way.
DIAMOND = pointed_dag({"o": ["a", "b"], "a": ["c"], "b": ["c"], "c": ["x", "y"], "x": [], "y": []})
