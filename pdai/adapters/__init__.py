"""Samplers of other libraries, as what `pdai.certify` takes. Each needs its library, if used."""
