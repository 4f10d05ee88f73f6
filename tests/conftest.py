"""Settings of the tests, not of what they test."""

import os

# Read when JAX starts, also by the processes that tests start. What is compared is arithmetic,
# resumption and messages; unoptimised machine code is made twice as fast, and fusions without their
# own code generator in half of that. `pdai verify --exhaustive` runs what ships.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")
