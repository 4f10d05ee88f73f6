"""The words of a command line, before its options are known."""

from collections.abc import Sequence

HELP = {"-h", "--help"}
# The value of an option that ends a command line.
MISSING = "--"


def flag_values(arguments: Sequence[str]) -> dict[str, str]:
    """The options in a command line, by their names in Python, with the word after each."""
    values = {}
    for number, word in enumerate(arguments):
        flag, equals, value = word.partition("=")
        if flag.startswith("--"):
            after = next(iter(arguments[number + 1 :]), MISSING)
            values[flag[2:].replace("-", "_")] = value if equals else after
    return values
