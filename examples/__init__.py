"""Losses, networks and environments of one's own, as they come in from outside."""
