"""Number systems: fractions, float64, rigorous enclosures, rational functions."""
