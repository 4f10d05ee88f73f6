"""Number systems: fractions, float64, rigorous enclosures, polynomials, rational functions."""
