"""The loss laboratory: published losses, one small file each, with a verdict that is recomputed.

    python -m examples.losses

Every file says what it judges in `JUDGED`; `judging` has the rules, and `page` writes the page.
"""
