"""Samplers of other libraries for `pdai.certify`. Each needs its library only when it is used."""
