"""Scenario files: found by path or by the name of one that comes with Penstock, and checked line by line."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from penstock.cli.bench.scenario import Consumers, Producers, Scenario, Topic
from penstock.cli.bench.shapes import Burst, KeyShape, Normal, Ramp, RateShape, SizeShape
from penstock.cli.terminal.errors import CommandError, ExitCode, not_found

SHIPPED = Path(__file__).parent / "scenarios"
_MODELS = (Scenario, Topic, Producers, Consumers, RateShape, Burst, Ramp, SizeShape, Normal, KeyShape)
KEYS = {field.alias or name for model in _MODELS for name, field in model.model_fields.items()}
_PROBLEMS_SHOWN = 10

Place = tuple[str | int, ...]


def shipped() -> dict[str, Path]:
    return {path.stem: path for path in sorted(SHIPPED.glob("*.yaml"))}


def load_scenario(name: str) -> Scenario:
    """The file at this path, or else the shipped scenario of this name."""
    path = Path(name)
    if not path.is_file():
        known = shipped()
        if name not in known:
            raise not_found("scenario", name, known, f"give a YAML file, or one of {', '.join(known)}")
        path = known[name]
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}", ExitCode.USAGE) from error
    return parse_scenario(text, str(path))


def parse_scenario(text: str, origin: str) -> Scenario:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        content = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise CommandError(f"{origin}{line}: not YAML: {error.problem}", ExitCode.USAGE) from error
    if root is None or not isinstance(content, dict):
        raise CommandError(f"{origin}: a scenario is a mapping with `producers` and `consumers`", ExitCode.USAGE)
    lines: dict[Place, int] = {}
    _note_lines(root, (), lines)
    try:
        return Scenario.model_validate({"name": Path(origin).stem, **content})
    except ValidationError as error:
        problems = [_explain(finding, origin, lines) for finding in error.errors(include_url=False)]
        raise CommandError("\n          ".join(problems[:_PROBLEMS_SHOWN]), ExitCode.USAGE) from error


def _note_lines(node: Any, place: Place, lines: dict[Place, int]) -> None:
    """Lines of all keys and items, counted from 1."""
    lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*place, key.value)
            lines[inner] = key.start_mark.line + 1
            _note_lines(value, inner, lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _note_lines(value, (*place, index), lines)


def _explain(finding: Any, origin: str, lines: dict[Place, int]) -> str:
    """'load.yaml:7: producers[0].sise: unknown key; did you mean size?'"""
    written = _as_written(finding["loc"], lines)
    line = lines.get(written, 1)
    where = f"{origin}:{line}: {_dotted(finding['loc'])}".rstrip(": ")
    if finding["type"] == "extra_forbidden":
        close = difflib.get_close_matches(str(finding["loc"][-1]), KEYS, n=1, cutoff=0.6)
        return f"{where}: unknown key" + (f"; did you mean {close[0]}?" if close else "")
    if finding["type"] == "missing":
        return f"{where}: is missing"
    reason = finding["msg"].removeprefix("Value error, ").replace("Input should be", "should be")
    value = finding["input"]
    given = f"{value!r}: " if isinstance(value, str | int | float | list) else ""
    return f"{where}: {given}{reason}"


def _as_written(location: Place, lines: dict[Place, int]) -> Place:
    """The longest part of a location that is in the file: a plain number has no keys inside."""
    written: Place = ()
    for part in location:
        if (*written, part) in lines:
            written = (*written, part)
    return written


def _dotted(location: Place) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")
