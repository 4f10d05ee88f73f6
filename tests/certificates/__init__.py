"""Certificates that are right, wrong in one place, or drawn at random; mutants of the program."""
