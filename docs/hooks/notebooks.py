"""Notebooks as pages: their text, code, and the outputs that were committed with them."""

import base64
from pathlib import Path
from typing import Any

import nbformat


def notebook_page(path: Path) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and the bytes of its PNG pictures by the name of their file."""
    cells: list[Any] = nbformat.read(path, as_version=4).cells
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for number, cell in enumerate(cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        parts += _printed(cell.outputs)
        for place, output in enumerate(cell.outputs):
            if output.output_type == "stream":
                continue
            name = f"{path.stem}_{number}_{place}.png"
            parts.append(_shown(output, name, pictures))
    return "\n\n".join(parts) + "\n", pictures


def _printed(outputs: list[Any]) -> list[str]:
    """The output of a cell, in one block; nothing if it printed nothing."""
    text = "".join(output.text for output in outputs if output.output_type == "stream")
    return [f"```text\n{text.rstrip()}\n```"] if text else []


def _shown(output: Any, name: str, pictures: dict[str, bytes]) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        # Blank lines would end the block of HTML.
        lines = (line for line in data["text/html"].splitlines() if line.strip())
        return '<div class="output">\n' + "\n".join(lines) + "\n</div>"
    if "image/svg+xml" in data:
        return f'<div class="output">\n{data["image/svg+xml"]}\n</div>'
    if "image/png" in data:
        pictures[name] = base64.b64decode(data["image/png"])
        return f"![]({name})"
    return f"```text\n{data['text/plain']}\n```"
