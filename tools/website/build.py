"""The whole site, built beside the old one, checked, and put in its place if nothing is wrong."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.website.api import MODULES, write_api
from tools.website.links import problems
from tools.website.pages import configure, write_pages
from tools.website.tree import ROOT, SiteError

MARKER = ".penstock-site"
"""Only a directory with this file in it, or an empty one, is ever replaced."""
_PROBLEMS_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    pages: int
    modules: int


def build(output: Path, root: Path = ROOT) -> Built:
    """Build the site. SiteError, with `output` unchanged, if it may not be replaced or a page has a problem."""
    _check_replaceable(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{output.name}-", dir=output.parent) as directory:
        site = Path(directory) / "site"
        site.mkdir()
        configure(MODULES, root)
        built = Built(pages=write_pages(site, root), modules=write_api(site, root))
        (site / MARKER).write_text("Made by `make docs`; the next run replaces this directory.\n", encoding="utf-8")
        if found := list(problems(site)):
            shown = "\n".join(f"  {problem}" for problem in found[:_PROBLEMS_SHOWN])
            raise SiteError(f"{len(found)} references of the site are wrong:\n{shown}")
        if output.exists():
            shutil.rmtree(output)
        site.rename(output)
    return built


def _check_replaceable(output: Path) -> None:
    if not output.exists():
        return
    if not output.is_dir() or output.is_symlink():
        raise SiteError(f"{output} is no directory: give another one with --output")
    if any(output.iterdir()) and not (output / MARKER).is_file():
        raise SiteError(f"{output} has files that are not of a site: give an empty or a new directory with --output")
