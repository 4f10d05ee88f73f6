"""Certificates of any sampler: its total variation to the target, exactly or with confidence."""
