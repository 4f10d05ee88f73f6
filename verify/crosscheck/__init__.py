"""`fast` against `reference`, or against an independent float64 version."""
