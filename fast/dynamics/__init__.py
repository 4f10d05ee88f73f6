"""Latent dynamics `phi`: none (Markovian), linear, recurrent and graph networks, and the SRWM."""
