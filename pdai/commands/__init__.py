"""The commands of `pdai`, by what they do. None imports JAX before it runs."""
