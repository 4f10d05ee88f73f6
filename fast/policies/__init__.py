"""Policies: distributions and flows from the outputs of a network, and their construction."""
