"""Markov chains whose stationary law is a posterior over graphs, to compare samplers with."""
