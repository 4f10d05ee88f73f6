"""The report of runs: one HTML page that needs nothing else, to read, hover and click."""
