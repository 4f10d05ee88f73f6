"""Settings of the tests, not of what they test."""

import os

# Read when JAX is imported, also by the processes that tests start. What is compared is arithmetic,
# resumption and messages; unoptimised machine code is made twice as fast. The cross-checks in
# `verify` run what ships.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
