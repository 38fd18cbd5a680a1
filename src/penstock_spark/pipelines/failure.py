"""Why an update failed, in a sentence: out of Spark's messages, Java's causes and Python's tracebacks.

The whole of it is in the log. What a person needs is the innermost cause: the exception that the source, the sink or a
definition raised, or the condition with which Spark refused a plan.
"""

from __future__ import annotations

import re
import traceback
from pathlib import Path

_FLOW = re.compile(r"\b[Ff]low:? '?([\w`]+(?:\.[\w`]+)*)")
_FAILED = re.compile(r"\bFAILED\b|Failed to (?:resolve|analyze) flow|failed")
_RAISED = re.compile(r"^\s*((?:[a-z_]\w*\.)+[A-Z][\w$]+|[A-Z]\w*(?:Error|Exception)): (.+)$", re.MULTILINE)
_JAVA = ("java.", "javax.", "org.", "scala.", "io.", "com.")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]{3,})\] ?(.+)")
MAX_CHARACTERS = 600


class Failure:
    """What was told of it so far; true if there was any."""

    def __init__(self, project: Path) -> None:
        self._project = project.resolve()
        self._flow = ""
        self._messages: list[str] = []
        self._error = ""

    def __bool__(self) -> bool:
        return bool(self._error)

    def take_message(self, text: str) -> None:
        """One of the events of the run: those of failing flows come before the error that ends it."""
        if _FAILED.search(text):
            self._messages.append(text)

    def take_error(self, error: BaseException) -> None:
        place = self._place(error)
        last = f"{type(error).__name__}: {error}"
        told = max((explained(text) for text in (*reversed(self._messages), last)), key=_worth)
        for message in self._messages:
            if found := _FLOW.search(message):
                self._flow = found[1].replace("`", "")
                break
        self._error = place + (explained(last) if place else told)

    def document(self) -> dict[str, str]:
        return {"error": self._error, "flow": self._flow}

    def _place(self, error: BaseException) -> str:
        """Where in the project's own definitions it happened, if it happened there."""
        if isinstance(error, SyntaxError) and error.filename:
            return f"{self._relative(error.filename)}:{error.lineno}: "
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename).is_relative_to(self._project)]
        return f"{self._relative(own[-1].filename)}:{own[-1].lineno}: " if own else ""

    def _relative(self, name: str) -> str:
        path = Path(name)
        return str(path.relative_to(self._project)) if path.is_relative_to(self._project) else name


def _worth(text: str) -> int:
    """A cause with a name tells more than a sentence that something failed."""
    if not text:
        return 0
    return 1 if _FAILED.search(text) else 2


def explained(text: str) -> str:
    """The innermost cause in a text of many lines."""
    raised = [(name, message) for name, message in _RAISED.findall(text) if not name.startswith(_JAVA)]
    if raised:
        name, message = raised[-1]
        return _short(f"{name.rpartition('.')[2]}: {message}")
    conditions = [found for line in text.splitlines() if (found := _CONDITION.search(line))]
    if conditions:
        return _short(f"{conditions[-1][2]} ({conditions[-1][1]})")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _short(lines[0]) if lines else ""


def _short(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]} …"
