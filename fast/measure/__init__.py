"""How far a sampler is from its target: exactly where it can be, by samples elsewhere."""
