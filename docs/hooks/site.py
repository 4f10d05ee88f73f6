"""Pages of the site beside `docs/`: those of the repository, and those made of it.

Texts link to files, as they do in a repository; here each link is turned to the page of the file.
"""

import logging
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from docs.hooks import api, command_line, paper  # noqa: E402
from docs.hooks.links import rewritten, targets  # noqa: E402
from docs.hooks.notebooks import notebook_page  # noqa: E402
from docs.hooks.pictures import pictures  # noqa: E402
from docs.hooks.sources import page_name, source_page  # noqa: E402

# Markdown elsewhere in the repository that is part of the site, by the beginning of its path.
TEXTS = ("proofs_notes/", "pdai/", "benchmarks/", "CONTRIBUTING.md", "CHANGELOG.md", "PROMISE.md")
# Written for the site from these, and no pages of their own.
PARTS = ("pdai/experiments/texts/", "pdai/experiments/findings/")

# A warning, which ends a strict build.
LOG = logging.getLogger("mkdocs.hooks.site")
LOADED = re.compile(
    r"<(?:script|img|iframe|link)\b[^>]*?\b(?:src|href)=\"?((?:https?:)?//[^\s\">]+)"
)

# The page, picture or file in the site of each path in the repository that has one.
PLACES: dict[str, str] = {}
# The path in the repository of each page.
ORIGINS: dict[str, str] = {}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what is not in `docs/`, and then a page of each file that a link leads to."""
    PLACES.clear()
    ORIGINS.clear()
    texts: dict[str, str] = {}
    for file in list(files):
        _place(file.src_uri, f"docs/{file.src_uri}")
        if file.src_uri.endswith(".md"):
            texts[file.src_uri] = file.content_string
    for name, text in _made().items():
        _place(name, f"docs/{name}")
        texts[name] = text
        files.append(File.generated(config, name, content=text))
    for name, svg in pictures().items():
        files.append(File.generated(config, f"pictures/{name}", content=svg))
    for notebook in sorted((ROOT / "docs" / "tutorials").glob("*.ipynb")):
        text, shown = notebook_page(notebook)
        name = f"tutorials/{notebook.stem}.md"
        _place(name, f"docs/tutorials/{notebook.name}")
        texts[name] = text
        files.append(File.generated(config, name, content=text))
        for picture, content in shown.items():
            files.append(File.generated(config, f"tutorials/{picture}", content=content))
    for path in _tracked():
        if path.startswith(TEXTS) and path.endswith(".md") and not path.startswith(PARTS):
            texts[path] = (ROOT / path).read_text()
            _place(path, path)
            files.append(File.generated(config, path, content=texts[path]))
    _add_sources(texts, files, config)
    return files


def _made() -> dict[str, str]:
    """The pages that are made of the ledger, of docstrings and of the command line."""
    return {
        **{f"paper/{name}": text for name, text in paper.pages().items()},
        **{f"api/{name}": text for name, text in api.pages().items()},
        "command_line.md": command_line.command_line_page(),
    }


def _place(page: str, path: str) -> None:
    PLACES[path] = page
    ORIGINS[page] = path


def _add_sources(texts: dict[str, str], files: Files, config: MkDocsConfig) -> None:
    """Adds a page of each file that a text links to, and of what is in such a folder."""
    new = dict(texts)
    while new:
        wanted = {path for page, text in new.items() for path in targets(text, ORIGINS[page])}
        new = {}
        for path in sorted(wanted - PLACES.keys()):
            if not (ROOT / path).exists():
                continue
            if path.endswith((".png", ".svg")):
                _place(path, path)
                content = (ROOT / path).read_bytes()
                files.append(File.generated(config, path, content=content))
                continue
            name, text = page_name(path), source_page(ROOT, path)
            # Names in a folder are links into it.
            _place(name, f"{path}/." if (ROOT / path).is_dir() else path)
            PLACES[path] = name
            if (ROOT / path).is_dir():
                new[name] = text
            files.append(File.generated(config, name, content=text))


def _tracked() -> list[str]:
    """The files of the repository, without what git ignores."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return listed.stdout.splitlines()


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns the links of a page to pages of the site."""
    origin: Any = ORIGINS.get(page.file.src_uri)
    if origin is None:
        return markdown
    return rewritten(markdown, origin, page.file.src_uri, PLACES.get)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Sees to it that a page needs no network."""
    for address in network_addresses(output):
        LOG.warning("%s loads %s from the network", page.file.src_uri, address)
    return output


def network_addresses(html: str) -> list[str]:
    """The files that a page loads from elsewhere: scripts, styles, pictures and frames."""
    addresses: list[str] = LOADED.findall(html)
    return addresses
