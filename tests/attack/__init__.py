"""Attacks on what comes from outside: garbage, damage, hostile folders, sizes, kills.

`python -m tests.attack --minutes 10` makes random ones for that long, and prints what happened. An
attack ends as it should if it is refused by `InputError`, in one line at the command line, or has
no effect on the answer.
"""
