"""Pages in the common frame: Markdown, and the sources that Markdown links to.

The frame is pdoc's, so that pages and API reference look alike and one library's templates are enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path, PurePosixPath

import pdoc.render

from tools.website.markdown import rendered
from tools.website.tree import API, FIRST, ROOT, Group, SiteError, navigation, page_paths, relative, site_path

TEMPLATES = Path(__file__).parent / "templates"
_STYLE = PurePosixPath("style.css")
_COPIED = (".svg", ".png", ".json")
_SOURCE_BYTES_MAX = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    title: str
    url: str
    is_here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    title: str
    links: tuple[Link, ...]


def api_page(module: str) -> PurePosixPath:
    """The page that pdoc writes for a module."""
    return API / f"{module.replace('.', '/')}.html"


class Navigation:
    """The list of all pages, as seen from one of them."""

    def __init__(self, groups: Iterable[Group], modules: Iterable[str]) -> None:
        self._groups = [("", [("Penstock", site_path(FIRST))])]
        self._groups += [(group.title, [(e.title, site_path(e.page)) for e in group.entries]) for group in groups]
        self._groups.append(("API reference", [(module, api_page(module)) for module in modules]))

    def seen_from(self, here: PurePosixPath) -> list[Links]:
        return [
            Links(title=title, links=tuple(_link(name, page, here) for name, page in entries))
            for title, entries in self._groups
        ]


def _link(title: str, page: PurePosixPath, here: PurePosixPath) -> Link:
    return Link(title=title, url=relative(here, page), is_here=page == here)


def configure(modules: Iterable[str], root: Path = ROOT) -> None:
    """Configure pdoc's templates. Source code is on its own pages, and nothing comes from a network."""
    pdoc.render.configure(docformat="markdown", show_source=False, template_directory=TEMPLATES)
    names = pdoc.render.env.globals
    names["navigation_of"] = Navigation(navigation(root), modules).seen_from
    names["api_page"] = api_page
    names["style_of"] = lambda here: relative(here, _STYLE)


def write_pages(site: Path, root: Path = ROOT) -> int:
    """Write every page, with the images and sources that they name. Returns the number of files."""
    (site / _STYLE).write_text(pdoc.render.env.get_template("style.css.jinja2").render(), encoding="utf-8")
    files: set[PurePosixPath] = set()
    pages = page_paths(root)
    for page in pages:
        shown = rendered(page, _text(root / page), root=root)
        files |= shown.files
        contents = [heading for heading in shown.headings if heading.level == 2]
        _write(site, site_path(page), title=shown.title, body=shown.html, contents=contents)
    others = sorted(files - set(pages))
    for file in others:
        if file.suffix in _COPIED:
            target = site / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((root / file).read_bytes())
        else:
            _write(site, site_path(file), title=str(file), body=_source(root / file, str(file)), contents=[])
    return len(pages) + len(others)


def _source(path: Path, title: str) -> str:
    """A page of source code, without colours: highlighting hundreds of them would take longer than all the rest."""
    return f"<h1>{escape(title)}</h1>\n<pre><code>{escape(_text(path))}</code></pre>"


def _text(path: Path) -> str:
    if path.stat().st_size > _SOURCE_BYTES_MAX:
        raise SiteError(f"{path} has more than {_SOURCE_BYTES_MAX} bytes: link to something smaller")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SiteError(f"{path} is no text in UTF-8 ({error}): link to something that can be shown") from error


def _write(site: Path, page: PurePosixPath, **values: object) -> None:
    html = pdoc.render.env.get_template("page.html.jinja2").render(here=page, **values)
    target = site / page
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(html, encoding="utf-8")
