"""New projects: from a small template, or as a copy of an example that comes with Penstock."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.cli.pipeline.project import BOOTSTRAP, COMMAND_CONFIG, SPEC_NAMES
from penstock.cli.terminal.errors import CommandError, ExitCode, not_found

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_TEMPLATE = Path(__file__).parent / "template"
_EXAMPLES = (Path(__file__).parent / "examples", Path(__file__).parents[4] / "examples")
"""Places of the examples: in an installed package, and in a clone."""


def make_project(directory: Path, *, topic: str, bootstrap: str, command_config: str = "") -> None:
    name = _checked(directory)
    table = re.sub(r"\W", "_", topic)
    if table[:1].isdecimal():  # the name of a Python function as well
        table = f"topic_{table}"
    values = {"@NAME@": name, "@TOPIC@": topic, "@TABLE@": table, "@BOOTSTRAP@": bootstrap}
    values["@COMMAND_CONFIG@"] = command_config
    for source in sorted(_TEMPLATE.rglob("*")):
        if not source.is_file() or "__pycache__" in source.parts:
            continue
        text = source.read_text()
        for mark, value in values.items():
            text = text.replace(mark, value)
        # The ending .txt keeps linters and type checkers of this package away from the templates.
        _write(directory / source.relative_to(_TEMPLATE).with_suffix(""), text)


def copy_example(
    example: str, directory: Path, *, bootstrap: str | None = None, command_config: str | None = None
) -> None:
    _checked(directory)
    source = _example(example)
    for file in sorted(source.rglob("*")):
        inner = file.relative_to(source)
        if file.is_file() and not {"state", "__pycache__"} & set(inner.parts):
            text = file.read_text()
            if file.suffix == ".yml":
                text = _configured(_configured(text, BOOTSTRAP, bootstrap), COMMAND_CONFIG, command_config)
            _write(directory / inner, text)


def _configured(spec: str, name: str, value: str | None) -> str:
    if not value:
        return spec
    return re.sub(rf"(?m)^(\s*{re.escape(name)}:).*$", lambda line: f'{line[1]} "{value}"', spec)


def _example(name: str) -> Path:
    """Find an example that is a pipeline; the directory of a clone has other programs as well."""
    inner = (path for root in _EXAMPLES if root.is_dir() for path in root.iterdir())
    found = {path.name: path for path in inner if any((path / spec).is_file() for spec in SPEC_NAMES)}
    if name not in found:
        known = ", ".join(sorted(found))
        raise not_found("example", name, found, f"choose from: {known}" if known else "no examples are installed")
    return found[name]


def _checked(directory: Path) -> str:
    name = directory.name
    if not _NAME.fullmatch(name):
        hint = "use letters, digits, - and _, and begin with a letter"
        raise CommandError(f"{name!r} cannot be the name of a project", ExitCode.USAGE, hint=hint)
    if directory.exists():
        raise CommandError(f"{directory} already exists", ExitCode.USAGE, hint="choose another name")
    return name


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
