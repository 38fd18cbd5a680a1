"""A page of Markdown as HTML: headings get the same anchors as on GitHub, links become those of the site."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from tools.website.tree import ROOT, SiteError, relative, resolved, site_path

_ELSEWHERE = ("https://", "http://", "mailto:")
_FORMATTER = HtmlFormatter(nowrap=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    level: int
    title: str
    anchor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    title: str
    html: str
    headings: tuple[Heading, ...]
    files: frozenset[PurePosixPath]
    """The files of the project that it links to, pages and others."""


def highlighted(code: str, language: str) -> str:
    """The inside of a `<pre>`. A language that Pygments does not know is plain text."""
    try:
        lexer = get_lexer_by_name(language or "text", stripnl=False)
    except ClassNotFound:
        lexer = get_lexer_by_name("text", stripnl=False)
    return str(highlight(code, lexer, _FORMATTER))


def _fence(code: str, language: str, _: str) -> str:
    return f'<pre class="pdoc-code codehilite"><code>{highlighted(code, language)}</code></pre>\n'


_MARKDOWN = MarkdownIt("commonmark", {"html": True, "highlight": _fence}).enable(["table", "strikethrough"])


def anchor(title: str, taken: set[str]) -> str:
    """The anchor as on GitHub: lower case, no punctuation, hyphens for spaces; a number if it is repeated."""
    plain = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    found, number = plain, 0
    while found in taken:
        number += 1
        found = f"{plain}-{number}"
    taken.add(found)
    return found


def rendered(page: PurePosixPath, text: str, *, shown_at: PurePosixPath | None = None, root: Path = ROOT) -> Rendered:
    """Render a page. `shown_at` is the file of the site that shows it, by default the page's own."""
    here = shown_at or site_path(page)
    tokens = _MARKDOWN.parse(text)
    headings = tuple(_headings(tokens))
    files: set[PurePosixPath] = set()
    for token in _links(tokens):
        name = "href" if token.type == "link_open" else "src"
        token.attrs[name] = _on_site(page, str(token.attrs[name]), here, root, files)
    title = next((heading.title for heading in headings if heading.level == 1), page.stem)
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    return Rendered(title=title, html=html, headings=headings, files=frozenset(files))


def _headings(tokens: Sequence[Token]) -> Iterable[Heading]:
    taken: set[str] = set()
    for opening, content in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        title = "".join(child.content for child in content.children or () if child.type in ("text", "code_inline"))
        opening.attrs["id"] = anchor(title, taken)
        yield Heading(level=int(opening.tag[1]), title=title, anchor=str(opening.attrs["id"]))


def _links(tokens: Iterable[Token]) -> Iterable[Token]:
    for token in tokens:
        if token.type in ("link_open", "image"):
            yield token
        yield from _links(token.children or ())


def _on_site(page: PurePosixPath, target: str, here: PurePosixPath, root: Path, files: set[PurePosixPath]) -> str:
    if target.startswith((*_ELSEWHERE, "#")):
        return target
    path, mark, fragment = target.partition("#")
    file = resolved(page, path)
    if ".." in file.parts or not (root / file).is_file():
        raise SiteError(f"{page} links to {target}, which is no file of the project")
    files.add(file)
    return f"{relative(here, site_path(file))}{mark}{fragment}"
