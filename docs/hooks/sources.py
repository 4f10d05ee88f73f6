"""Pages that show a file of the repository, or list a folder, where a link leads to one."""

from pathlib import Path

LANGUAGES = {".py": "python", ".v": "coq", ".ml": "ocaml", ".toml": "toml", ".json": "json"}
# Larger files, such as results, are told by their size.
MOST_SHOWN = 200_000


def page_name(path: str) -> str:
    """The page of a file or folder of the repository."""
    return f"source/{path}.md"


def source_page(root: Path, path: str) -> str:
    """A page with the text of a file, or the names of what is in a folder, as Markdown.

    Args:
        root: the repository.
        path: in it.
    """
    file = root / path
    head = "---\nsearch:\n  exclude: true\nhide:\n  - toc\n---\n\n"
    head += f"# {path}\n\n"
    if file.is_dir():
        return head + "".join(f"- {_entry(path, child)}\n" for child in _children(file))
    size = file.stat().st_size
    if size > MOST_SHOWN or file.suffix not in {*LANGUAGES, ".txt", ".mli", ".cff", ""}:
        return head + f"A file of {size:,} bytes, in the repository.\n"
    text = file.read_text()
    return f"{head}``````{LANGUAGES.get(file.suffix, 'text')}\n{text}\n``````\n"


def _entry(path: str, child: Path) -> str:
    name = child.name + "/" * child.is_dir()
    return f"[{name}]({child.name})" if child.suffix in (".md", ".py", ".v") else f"`{name}`"


def _children(folder: Path) -> list[Path]:
    kept = (child for child in folder.iterdir() if not child.name.startswith(("_", ".")))
    return sorted(kept)
