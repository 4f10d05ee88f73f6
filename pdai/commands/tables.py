"""How commands print tables."""


def show(table: object) -> None:
    """Prints a table of rich to stdout."""
    from rich.console import Console

    # Not a terminal: wide enough that no cell is cut.
    console = Console()
    Console(width=None if console.is_terminal else 120).print(table)
