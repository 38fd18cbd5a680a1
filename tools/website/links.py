"""The check of all references of a finished site, in its HTML, CSS and SVG: nothing is missing, and a browser fetches
nothing from another host. Links that a reader clicks may lead anywhere.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {
    "script": ("src",), "link": ("href",), "img": ("src", "srcset"), "image": ("href", "xlink:href"),
    "source": ("src", "srcset"), "iframe": ("src",), "object": ("data",), "embed": ("src",), "video": ("src", "poster"),
    "audio": ("src",), "use": ("href", "xlink:href"), "feimage": ("href", "xlink:href"), "input": ("src",),
    "base": ("href",),
}  # fmt: skip
"""Attributes that make a browser fetch something, by element."""
_CSS = re.compile(r"""@import\s+(?:url\()?\s*["']?([^"')\s;]+)|url\(\s*["']?([^"')\s]+)""", re.IGNORECASE)


@dataclass(slots=True)
class References:
    """The references of one file."""

    loaded: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found = References()
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._in_style = tag == "style"
        if "id" in values:
            self.found.ids.add(values["id"])
        if tag == "a":
            self.found.ids.update(filter(None, [values.get("name")]))
            self.found.links += filter(None, [values.get("href")])
        self.found.loaded += [values[name] for name in _LOADED.get(tag, ()) if values.get(name)]
        self.found.loaded += _css_references(values.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.found.loaded += _css_references(data)


def _css_references(text: str) -> list[str]:
    return [imported or named for imported, named in _CSS.findall(text)]


@cache
def references(path: Path) -> References:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".css":
        return References(loaded=_css_references(text))
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.found


def problems(site: Path) -> Iterator[str]:
    """The problems of a site, one line each; none if it is sound."""
    files = {path: references(path) for path in sorted(site.rglob("*")) if path.suffix in (".html", ".svg", ".css")}
    for path, found in files.items():
        name = path.relative_to(site)
        for url in found.loaded:
            if _is_elsewhere(url):
                yield f"{name} loads {url} from another host"
        for url in (*found.loaded, *found.links):
            if problem := _problem(site, path, url, files):
                yield f"{name} refers to {url}: {problem}"


def _is_elsewhere(url: str) -> bool:
    parts = urlsplit(url)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def _problem(site: Path, path: Path, url: str, files: dict[Path, References]) -> str | None:
    parts = urlsplit(url)
    if parts.scheme or parts.netloc:
        return None
    target = path
    if parts.path:
        target = Path(posixpath.normpath(path.parent / unquote(parts.path)))
        if not target.is_relative_to(site):
            return "it leads out of the site"
        if not target.is_file():
            return "there is no such file"
    if parts.fragment and target in files and unquote(parts.fragment) not in files[target].ids:
        return "there is no such place on that page"
    return None
