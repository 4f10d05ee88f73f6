"""The JAX sampler and trainer, cross-checked against `reference`."""
