"""Settings of the tests, not of what they test."""

from verify.compilation import compile_quickly

# Compared are arithmetic, resumption and messages. `pdai verify --exhaustive` runs what ships.
compile_quickly()
