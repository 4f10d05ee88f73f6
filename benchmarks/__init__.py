"""Speed, size and error: each script prints a table, with `benchmarks/harness.py`."""
