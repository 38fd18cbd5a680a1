"""Takes calls and answers them, each in a thread of its own: one query does not wait for another."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any

from penstock_spark.companion.calls import WITH_PARTS, Answer, Calls
from penstock_spark.companion.wire import VERSION, Frame, read_frame, write_frame
from penstock_spark.plain_errors import told

logger = logging.getLogger(__name__)

AT_ONCE_MAX = 256
HELLO = 0
"""The number of the first frame, which nobody has asked for."""


class Server:
    """Until the end of `calls`."""

    def __init__(self, calls: IO[bytes], answers: IO[bytes]) -> None:
        self._incoming, self._answers = calls, answers
        self._lock = threading.Lock()
        self._calls = Calls()

    def run(self) -> None:
        self._answer(Frame(HELLO, {"version": VERSION}))
        threads = ThreadPoolExecutor(AT_ONCE_MAX, thread_name_prefix="call")
        threads.submit(_load)
        while (frame := read_frame(self._incoming)) is not None:
            threads.submit(self._serve, frame)
        self._calls.close()

    def _serve(self, frame: Frame) -> None:
        try:
            header, parts = self._called(frame.header.pop("call"), frame)
        except Exception as error:
            header, parts = {"error": _explained(error)}, []
        try:
            self._answer(Frame(frame.number, header, parts))
        except OSError:
            logger.debug("nobody waits for this answer any more")

    def _called(self, name: str, frame: Frame) -> Answer:
        call: Callable[..., Answer] = getattr(self._calls, name)
        return call(frame.parts, **frame.header) if name in WITH_PARTS else call(**frame.header)

    def _answer(self, frame: Frame) -> None:
        with self._lock:
            write_frame(self._answers, frame)


def _explained(error: Exception) -> dict[str, Any]:
    """What is shown of an error: its text, and the way to it only if that is a mistake of ours."""
    plain = told(error)
    shown = error if plain is None else plain
    kind = f"{type(shown).__module__}.{type(shown).__qualname__}"
    trace = "" if plain is not None else "".join(traceback.format_exception(error))
    return {"kind": kind, "text": str(shown), "trace": trace}


def _load() -> None:
    """What reading and writing needs, while Spark still plans the first query."""
    import penstock_spark.reading.rows
    import penstock_spark.writing.tasks  # noqa: F401
