"""The pages of the API: one for each room of a package, its modules rendered by mkdocstrings."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("pdai", "reference", "fast")
# What `import pdai` gives stands before what it is made of.
FIRST = ("pdai.front", "pdai.certifying.certify", "pdai.run")
# The commands are on the page of the command line, and the experiments in the report.
LEFT_OUT = ("pdai/commands", "pdai/experiments", "reference/problems/data")


def pages() -> dict[str, str]:
    """The text of each page in `api/`, by its name."""
    made = {}
    for package in PACKAGES:
        for folder in (ROOT / package, *sorted((ROOT / package).rglob("*/"))):
            room = folder.relative_to(ROOT).as_posix()
            if (folder / "__init__.py").exists() and not room.startswith(LEFT_OUT):
                made[f"{room.replace('/', '.')}.md"] = _page(folder)
    rooms = "".join(f"- [`{name.removesuffix('.md')}`]({name})\n" for name in made)
    return {"index.md": f"# API\n\nFrom the docstrings, by package and room.\n\n{rooms}", **made}


def _place(name: str) -> tuple[int, str]:
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)


def _page(folder: Path) -> str:
    room = ".".join(folder.relative_to(ROOT).parts)
    modules = sorted(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))
    named = [f"{room}.{module}" for module in modules]
    directives = [f"::: {room}\n    options:\n      members: false\n"]
    directives += [f"::: {name}\n" for name in sorted(named, key=_place)]
    return f"# {room}\n\n" + "\n".join(directives)
