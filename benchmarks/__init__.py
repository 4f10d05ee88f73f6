"""How fast, how large, how wrong: each script prints a table, with `benchmarks/harness.py`."""
