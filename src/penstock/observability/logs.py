"""Logs: one line an event, on stderr, with the levels that the settings give to modules.

    2026-03-01T09:15:02.123Z INFO    net.listener listening host=127.0.0.1 port=9092

Code logs with the standard library: `logger.info("listening", extra={"host": host, "port": port})`. What is in
`extra` becomes key=value (or members of a JSON object with `logging.format: json`). A traceback stays on the line,
with its line breaks escaped: a line is an event, whatever is in it. Control characters in a text line are escaped, too;
JSON is pure ASCII.
"""

from __future__ import annotations

import difflib
import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TextIO

from penstock.model.text.printable import printable

PACKAGE = "penstock"
AUDIT = "penstock.audit"
"""The logger of `security.audit`, which is no module."""
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "color_message"}


class TextLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        name = record.name.removeprefix(PACKAGE + ".")
        parts = [f"{_time(record)} {record.levelname:<7} {name} {record.getMessage()}"]
        parts += [f"{key}={_value(value)}" for key, value in _fields(record).items()]
        if record.exc_info:
            parts.append(f"exception={json.dumps(self.formatException(record.exc_info))}")
        return printable(" ".join(parts))


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        event: dict[str, object] = {"time": _time(record), "level": record.levelname, "module": record.name}
        event["message"] = record.getMessage()
        event |= _fields(record)
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        return json.dumps(event, default=str)


def configure_logs(
    level: str, modules: Mapping[str, str], *, as_json: bool = False, stream: TextIO | None = None
) -> None:
    """Set up the root logger; called once, before anything logs. Raises ValueError for an unknown module."""
    names = {logger_name(module): str(module_level) for module, module_level in modules.items()}
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if as_json else TextLines())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(str(level))
    # The web server's own lines say nothing that ours do not.
    for library in ("uvicorn.error", "asyncio"):
        logging.getLogger(library).setLevel(logging.WARNING)
    _configure_audit(handler.stream)
    for name, module_level in names.items():
        logging.getLogger(name).setLevel(module_level)


def _configure_audit(stream: TextIO) -> None:
    """Audit lines are for programs, so that they are JSON in a text log, too; `logging.level` does not hide them."""
    audit = logging.getLogger(AUDIT)
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    audit.handlers = [handler]
    audit.propagate = False
    audit.setLevel(logging.INFO)


def logger_name(module: str) -> str:
    """'storage' is penstock.storage; a library is named by its own name."""
    module = module.removeprefix(PACKAGE + ".")
    if f"{PACKAGE}.{module}" == AUDIT:
        return AUDIT
    if not module:
        raise ValueError("a log level is given to a module without a name; name one, such as storage")
    parts = module.split(".")
    package = Path(__file__).parent.parent
    if (package / parts[0]).is_dir():
        path = package.joinpath(*parts)
        if path.is_dir() or path.with_suffix(".py").is_file():
            return f"{PACKAGE}.{module}"
        known = [f"{'.'.join(parts[:-1])}.{item.stem}" for item in path.parent.glob("*") if item.stem[:1] != "_"]
    elif module == PACKAGE or (parts[0].isidentifier() and find_spec(parts[0]) is not None):
        return module
    else:
        known = [item.name for item in package.iterdir() if item.is_dir()]
    close = difflib.get_close_matches(module, known, n=1)
    hint = f"did you mean {close[0]}?" if close else f"modules are {', '.join(sorted(known))}"
    raise ValueError(f"unknown module {module} in the log levels; {hint}")


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in record.__dict__.items() if key not in _STANDARD}


def _value(value: object) -> str:
    """Quoted only where a reader, human or program, could not tell where it ends."""
    text = str(value)
    return json.dumps(text) if not text or any(char in text for char in ' "=\n') else text
