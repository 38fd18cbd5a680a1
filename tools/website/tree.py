"""The files of the project that are pages of the site, and their names there.

The site has the tree of the project, with `.html` for `.md`, so that links between pages keep their shape.
docs/README.md is the first page, index.html; its headings and lists are the navigation of all others.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
FIRST = PurePosixPath("docs/README.md")
API = PurePosixPath("api")
_TOP_LEVEL = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
_ENTRY = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<target>[^)#]+)\)", re.MULTILINE)


class SiteError(Exception):
    """A mistake in a page; the message names the fix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    title: str
    page: PurePosixPath
    """The path, relative to the project's root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    title: str
    entries: tuple[Entry, ...]


def page_paths(root: Path = ROOT) -> list[PurePosixPath]:
    """Every page, relative to the project's root."""
    found = [root / name for name in _TOP_LEVEL if (root / name).is_file()]
    found += [*(root / "docs").rglob("*.md"), *(root / "examples").glob("*/README.md")]
    return sorted(PurePosixPath(path.relative_to(root).as_posix()) for path in found)


def site_path(path: PurePosixPath) -> PurePosixPath:
    """The path of a project file on the site."""
    if path == FIRST:
        return PurePosixPath("index.html")
    if path.suffix == ".md":
        return path.with_suffix(".html")
    if path.suffix in (".svg", ".png", ".json"):
        return path
    return path.with_name(f"{path.name}.html")  # a source, shown as a page


def resolved(page: PurePosixPath, target: str) -> PurePosixPath:
    """The file of the project that a relative link of a page names."""
    return PurePosixPath(posixpath.normpath(posixpath.join(page.parent.as_posix(), target)))


def relative(origin: PurePosixPath, target: PurePosixPath) -> str:
    """The link from one file of the site to another."""
    return posixpath.relpath(target.as_posix(), origin.parent.as_posix())


def navigation(root: Path = ROOT) -> tuple[Group, ...]:
    """The groups of docs/README.md. SiteError if a page is in none of them, or if a listed page does not exist."""
    text = (root / FIRST).read_text(encoding="utf-8")
    groups = []
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        entries = [Entry(title=m["title"], page=resolved(FIRST, m["target"])) for m in _ENTRY.finditer(body)]
        if entries:
            groups.append(Group(title=title.strip(), entries=tuple(entries)))
    listed = {entry.page for group in groups for entry in group.entries}
    pages = {page for page in page_paths(root) if page.parts[0] != "examples"} - {FIRST}
    if missing := sorted(map(str, pages - listed)):
        raise SiteError(f"{FIRST} does not list {', '.join(missing)}: add a line `- [title](path): what it says`")
    if unknown := sorted(str(page) for page in listed if not (root / page).is_file()):
        raise SiteError(f"{FIRST} lists {', '.join(unknown)}, which does not exist")
    return tuple(groups)
