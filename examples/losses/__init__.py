"""The loss laboratory: published losses in files by theme, each with a verdict that is recomputed.

    python -m examples.losses

Each such file has its own in `JUDGED`; `judging` has the rules, and `page` writes the page.
"""
