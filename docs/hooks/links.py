"""Links of Markdown texts, which lead to files of the repository, turned to pages of the site."""

import posixpath
import re
from collections.abc import Callable

# Of an inline link or picture: what is before its target, and the target.
LINK = re.compile(r"(\]\()([^)\s]+)(?=\))")
CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.DOTALL | re.MULTILINE)


def target_of(link: str, origin: str) -> str | None:
    """The path in the repository that a link leads to; None of the web, mail or the same page.

    Args:
        link: as written, with or without an anchor.
        origin: the path in the repository of the text that it stands in.
    """
    path = link.split("#")[0]
    if not path or "://" in link or link.startswith("mailto:"):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))


def targets(text: str, origin: str) -> set[str]:
    """The paths in the repository that the links of a text lead to."""
    paths = (target_of(match[2], origin) for part in prose(text) for match in LINK.finditer(part))
    return {path for path in paths if path is not None}


def prose(text: str) -> list[str]:
    """The parts of a text that are no code."""
    return CODE.split(text)[::2]


def rewritten(text: str, origin: str, here: str, page_of: Callable[[str], str | None]) -> str:
    """The text with links to pages of the site in place of paths in the repository.

    Args:
        text: Markdown.
        origin: its path in the repository.
        here: the path of its page in the site.
        page_of: the page of a path in the repository; None if it has none, and the link stays.
    """

    def turned(match: re.Match[str]) -> str:
        path = target_of(match[2], origin)
        page = None if path is None else page_of(path)
        if page is None:
            return match[0]
        anchor = match[2].partition("#")[2]
        relative = posixpath.relpath(page, posixpath.dirname(here) or ".")
        return f"{match[1]}{relative}{'#' + anchor if anchor else ''}"

    parts = CODE.split(text)
    parts[::2] = [LINK.sub(turned, part) for part in parts[::2]]
    return "".join(parts)
