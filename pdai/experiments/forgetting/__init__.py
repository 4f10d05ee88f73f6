"""The least TV of policies that see less, and the minima of losses, computed without training."""
