"""The reference of the public API, made by pdoc from docstrings, signatures and types.

`MODULES` defines what is public: programs import from these modules and from nothing else. Spark's options are not
Python names; their tables come from docs/spark.md.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pdoc.doc
import pdoc.render

import penstock
from tools.website.pages import api_page
from tools.website.tree import ROOT, SiteError

MODULES = (
    "penstock",
    "penstock.sdk",
    "penstock.client.push.errors",
    "penstock.consumers.errors",
    "penstock_spark",
)
_UNPACKED = re.compile(r"\*&lt;class &#x27;(.*?)&#x27;&gt;")
"""Python's notation for `Unpack[…]`, which readers would not recognise."""
_SPARK_PAGE = "docs/spark.md"
_SPARK_SECTIONS = ("Options", "Writing")


def write_api(site: Path, root: Path = ROOT) -> int:
    """Write a page for each module, and the search index. Returns the number of pages."""
    modules = documented(root)
    pdoc.render.env.globals["shown_above"] = frozenset(penstock.__all__)
    for name, module in modules.items():
        target = site / api_page(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        html = _UNPACKED.sub(r"Unpack[\1]", pdoc.render.html_module(module, modules))
        target.write_text(html, encoding="utf-8")
    (site / api_page("search")).with_name("search.js").write_text(pdoc.render.search_index(modules), encoding="utf-8")
    return len(modules)


@cache
def documented(root: Path = ROOT) -> dict[str, pdoc.doc.Module]:
    """The modules as pdoc sees them."""
    for name in penstock.__all__:  # these are loaded on first access, which pdoc does not make
        getattr(penstock, name)
    modules = {name: pdoc.doc.Module.from_name(name) for name in MODULES}
    shown = {each.taken_from for module in modules.values() for each in module.own_members}
    for module in modules.values():
        for each in module.own_members:
            if isinstance(each, pdoc.doc.Class):
                each.own_members = [*each.own_members, *_inherited_unseen(each, shown)]
    spark = modules["penstock_spark"]
    spark.docstring = "\n\n".join([_own_docstring(spark), *spark_options(root)])
    return modules


def _inherited_unseen(shown_class: pdoc.doc.Class, shown: Container[tuple[str, str]]) -> Iterator[pdoc.doc.Doc[Any]]:
    """Members that a class inherits from bases that are not in the reference themselves."""
    for base, members in shown_class.inherited_members.items():
        if base[0].startswith("penstock") and base not in shown:
            yield from (member for member in members if member.name != "__init__")


def _own_docstring(module: pdoc.doc.Module) -> str:
    return (module.obj.__doc__ or "").strip()


def spark_options(root: Path = ROOT) -> Iterator[str]:
    """The sections of docs/spark.md that list options, with links that work on the API's page."""
    text = (root / _SPARK_PAGE).read_text(encoding="utf-8")
    for title in _SPARK_SECTIONS:
        found = re.search(rf"^## {title}\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL)
        if found is None:
            raise SiteError(
                f"{_SPARK_PAGE} has no section {title}: name its section of options in tools/website/api.py"
            )
        body = found[1].replace("](#", "](../docs/spark.html#")
        body = re.sub(r"\]\(([\w-]+)\.md(#[\w-]+)?\)", r"](../docs/\1.html\2)", body)
        yield f"## {title}\n{body}"
