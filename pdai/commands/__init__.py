"""The commands of `pdai`. None imports JAX before it runs."""
