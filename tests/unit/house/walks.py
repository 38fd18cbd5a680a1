"""The walks of docs/architecture.md as values: which files and functions each of them names."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "architecture.md"

_STEP = re.compile(r"`([\w/]+\.py)`:\s+((?:`[\w.]+`(?:,\s+|\s+and\s+)?)+)")
_HEADING = re.compile(r"^### (.+)$", re.MULTILINE)


def walks(page: str) -> dict[str, str]:
    """The text of each walk by its heading."""
    section = page.split("\n## The walks\n", 1)[1].split("\n## ", 1)[0]
    parts = _HEADING.split(section)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def named_files(walk: str) -> list[str]:
    """Every file that a walk names, in order."""
    return list(dict.fromkeys(re.findall(r"`([\w/]+\.py)`", walk)))


def named_functions(walk: str) -> list[tuple[str, str]]:
    """Each file with each of the functions that stand behind it."""
    return [(file, name) for file, names in _STEP.findall(walk) for name in re.findall(r"`([\w.]+)`", names)]


def diagram(walk: str) -> Path | None:
    """The picture's source."""
    found = re.search(r"!\[[^\]]+\]\((diagrams/[\w-]+)\.svg\)", walk)
    return None if found is None else (PAGE.parent / found[1]).with_suffix(".toml")


def source(file: str) -> Path:
    """A file of a walk: below src/penstock, unless it begins with another package."""
    return ROOT / "src" / file if file.startswith("penstock_spark/") else ROOT / "src" / "penstock" / file


@cache
def defined_names(file: str) -> frozenset[str]:
    """Functions, methods and classes of a file."""
    nodes = ast.walk(ast.parse(source(file).read_text()))
    return frozenset(
        node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
