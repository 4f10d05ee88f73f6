"""Keeps pytest from importing the workers: each needs a library of its own environment."""

collect_ignore_glob = ["peers/*.py", "certify/*.py"]
