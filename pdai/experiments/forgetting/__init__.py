"""What policies that see less can reach, and the minima of losses, computed; nothing is trained."""
