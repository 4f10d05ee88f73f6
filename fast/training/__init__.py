"""Training as a pair of pure functions, `init` and `advance`, and its options."""
