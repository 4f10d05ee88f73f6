"""Checks of a user's loss, dynamics or environment."""
