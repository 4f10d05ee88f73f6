"""Training as a pair of pure functions, `init` and `advance`, and what it is asked to do."""
