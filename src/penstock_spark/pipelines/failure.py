"""The reason why an update failed, in one sentence, from Spark's messages, Java's causes and Python's tracebacks.

All of them are in the log. A person needs the innermost cause: the exception that the source, the sink or a definition
raised, or the condition with which Spark refused a plan; and its place, if it is in a file of the project.
"""

from __future__ import annotations

import re
import traceback
from pathlib import Path

from penstock_spark.pipelines.sql_file import SqlFile, SqlMistake, without_line

_FLOW = re.compile(r"\b[Ff]low:? '?([\w`]+(?:\.[\w`]+)*)")
_FAILED = re.compile(r"\bFAILED\b|Failed to (?:resolve|analyze) flow|failed")
_RAISED = re.compile(r"^(?:.*: )?\s*((?:[a-z_]\w*\.)+[A-Z][\w$]+|[A-Z]\w*(?:Error|Exception)): (.+)$", re.MULTILINE)
_JAVA = ("java.", "javax.", "org.", "scala.", "io.", "com.")
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]{3,})\] ?(.+)")
MAX_CHARACTERS = 600


class Failure:
    """Messages and the error of one update; true once there is an error."""

    def __init__(self, project: Path) -> None:
        self._project = project.resolve()
        self._flow = ""
        self._messages: list[str] = []
        self._error = ""
        self.sources: list[SqlFile] = []
        """The SQL files whose definitions were registered."""

    def __bool__(self) -> bool:
        return bool(self._error)

    def take_message(self, text: str) -> None:
        """Keep a message of the run if it is about a failure: those of flows come before the error that ends it."""
        if _FAILED.search(text):
            self._messages.append(text)

    def take_error(self, error: BaseException) -> None:
        place = self._place(error)
        if isinstance(error, SqlMistake):
            self._error = place + explained(str(error))
            return
        last = f"{type(error).__name__}: {error}"
        reason = max((explained(text) for text in (*reversed(self._messages), last)), key=_worth)
        for message in self._messages:
            if found := _FLOW.search(message):
                self._flow = found[1].replace("`", "")
                break
        if not place and (in_sql := self._place_in_sql(reason)):
            place, last = in_sql, without_line(reason)
        self._error = place + (explained(last) if place else reason)

    def document(self) -> dict[str, str]:
        return {"error": self._error, "flow": self._flow}

    def _place(self, error: BaseException) -> str:
        """Return the place in the project's definitions that raised the error; empty if it came from elsewhere."""
        if isinstance(error, SqlMistake):
            return error.place
        if isinstance(error, SyntaxError) and error.filename:
            return f"{self._relative(error.filename)}:{error.lineno}: "
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename).is_relative_to(self._project)]
        return f"{self._relative(own[-1].filename)}:{own[-1].lineno}: " if own else ""

    def _place_in_sql(self, reason: str) -> str:
        return next((place for source in self.sources if (place := source.place_of_flow(self._flow, reason))), "")

    def _relative(self, name: str) -> str:
        path = Path(name)
        return str(path.relative_to(self._project)) if path.is_relative_to(self._project) else name


def _worth(text: str) -> int:
    """Rank a cause with a name above a sentence that something failed."""
    if not text:
        return 0
    return 1 if _FAILED.search(text) else 2


def explained(text: str) -> str:
    """Find the innermost cause in a text of many lines."""
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
