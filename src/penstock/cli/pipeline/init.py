"""New projects: a small one of one's own, or a copy of an example that comes with Penstock."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.cli.terminal.errors import CommandError, ExitCode, not_found

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_TEMPLATE = Path(__file__).parent / "template"
_EXAMPLES = (Path(__file__).parent / "examples", Path(__file__).parents[4] / "examples")
"""In an installed package, and in a clone."""


def make_project(directory: Path, *, topic: str, bootstrap: str) -> None:
    name = _checked(directory)
    table = re.sub(r"\W", "_", topic)
    values = {"@NAME@": name, "@TOPIC@": topic, "@TABLE@": table, "@BOOTSTRAP@": bootstrap}
    for source in sorted(_TEMPLATE.rglob("*")):
        if not source.is_file() or "__pycache__" in source.parts:
            continue
        text = source.read_text()
        for mark, value in values.items():
            text = text.replace(mark, value)
        # Templates are no Python to the tools that look at this package, hence the ending.
        _write(directory / source.relative_to(_TEMPLATE).with_suffix(""), text)


def copy_example(example: str, directory: Path, *, bootstrap: str | None = None) -> None:
    _checked(directory)
    source = _example(example)
    for file in sorted(source.rglob("*")):
        inner = file.relative_to(source)
        if file.is_file() and not {"state", "__pycache__"} & set(inner.parts):
            text = file.read_text()
            if bootstrap and file.suffix == ".yml":
                text = re.sub(r"(?m)^(\s*penstock\.bootstrap\.servers:).*$", rf'\1 "{bootstrap}"', text)
            _write(directory / inner, text)


def _example(name: str) -> Path:
    found = {path.name: path for root in _EXAMPLES if root.is_dir() for path in root.iterdir() if path.is_dir()}
    if name not in found:
        raise not_found("example", name, found, f"there is: {', '.join(sorted(found)) or 'none'}")
    return found[name]


def _checked(directory: Path) -> str:
    name = directory.name
    if not _NAME.fullmatch(name):
        problem = f"{name!r} is no name for a project: letters, digits, - and _, beginning with a letter"
        raise CommandError(problem, ExitCode.USAGE)
    if directory.exists():
        raise CommandError(f"{directory} exists already", ExitCode.USAGE, hint="choose another name")
    return name


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
