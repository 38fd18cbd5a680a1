"""What uvicorn logs that says too much or too little to an operator, in our words.

    another protocol on an HTTP port    one line a minute: a client with the wrong port reconnects many times a second
    requests cut off by a stop          one line with their number, instead of a traceback for each of them

A client that holds many connections with unfinished bodies would fill the log at each stop.
"""

from __future__ import annotations

import asyncio
import logging

from penstock.observability.repeats import Repeats

UVICORN = "uvicorn.error"
_WRONG_PROTOCOL = "Invalid HTTP request received."
_CUT_OFF = "Cancel %s running task(s), timeout graceful shutdown exceeded"
_WRONG_PROTOCOL_TEXT = (
    "a client sent bytes that are not HTTP, or too long a header, to an HTTP port; if it is a Kafka or push client,"
    " give it the port of kafka.port or push.port"
)


class ServerLogFilter(logging.Filter):
    """Filter for uvicorn's logger that replaces its lines by those of `logger`."""

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__()
        self._logger = logger
        self._repeats = Repeats(logger)
        self._is_cutting_off = False

    def filter(self, record: logging.LogRecord) -> bool:
        if record.msg == _WRONG_PROTOCOL:
            self._repeats.warning(_WRONG_PROTOCOL, _WRONG_PROTOCOL_TEXT)
            return False
        if record.msg == _CUT_OFF:
            self._is_cutting_off = True
            count = record.args[0] if isinstance(record.args, tuple) else "some"
            self._logger.warning("the stop has cut off HTTP requests that were under way: %s", count)
            return False
        return not (self._is_cutting_off and _is_cancelled(record))


def _is_cancelled(record: logging.LogRecord) -> bool:
    """Whether this is the end of a request that was cut off; at any other time it would be a bug."""
    return record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)


def replace_warnings(logger: logging.Logger) -> None:
    """Install the filter; one in a process, since uvicorn has one logger for all servers."""
    uvicorn = logging.getLogger(UVICORN)
    for installed in [each for each in uvicorn.filters if isinstance(each, ServerLogFilter)]:
        uvicorn.removeFilter(installed)
    uvicorn.addFilter(ServerLogFilter(logger))
