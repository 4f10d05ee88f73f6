"""Settings of the tests, not of what they test."""

import os

# Read when JAX is imported, also by the processes that tests start. What is compared is arithmetic,
# resumption and messages; unoptimised machine code is made twice as fast. This holds whenever these
# tests are among those run: `pytest verify/` alone, and `pdai verify`, run what ships.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
