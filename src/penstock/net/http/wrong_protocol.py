"""A log line about clients that speak another protocol on an HTTP port, once a minute and not for each of them.

uvicorn warns of every such request without saying what to do. A Kafka client with the wrong port reconnects many times
a second, so its mistake would fill the log.
"""

from __future__ import annotations

import logging

from penstock.observability.repeats import Repeats

UVICORN = "uvicorn.error"
_WARNING = "Invalid HTTP request received."
_TEXT = (
    "a client sent bytes that are not HTTP to an HTTP port; if it is a Kafka or push client, give it the port of"
    " kafka.port or push.port"
)


class WrongProtocolFilter(logging.Filter):
    """Filter for uvicorn's logger that replaces its warning by one of `logger`, aggregated."""

    def __init__(self, logger: logging.Logger) -> None:
        super().__init__()
        self._repeats = Repeats(logger)

    def filter(self, record: logging.LogRecord) -> bool:
        if record.msg != _WARNING:
            return True
        self._repeats.warning(_WARNING, _TEXT)
        return False


def replace_warnings(logger: logging.Logger) -> None:
    """Install the filter; once per process, since uvicorn has one logger for all servers."""
    uvicorn = logging.getLogger(UVICORN)
    if not any(isinstance(each, WrongProtocolFilter) for each in uvicorn.filters):
        uvicorn.addFilter(WrongProtocolFilter(logger))
