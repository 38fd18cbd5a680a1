"""The bytes of a connection that h11 has not parsed yet, of which a header has few lines.

h11 takes microseconds for each line of a header, however short: thousands of them fit into a header of few bytes, and
would take the event loop for milliseconds. So the lines are counted as their bytes come, and a header with too many is
never taken apart. The same holds for the trailer behind a chunked body.

Imports the web stack: for modules that are loaded when an application is built, in a thread.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

import h11
from h11._receivebuffer import ReceiveBuffer

HEADER_BYTES_MAX: Final = 16 * 1024
"""Of a request line and its headers together; cookies and tokens fit."""
HEADER_LINES_MAX: Final = 100
"""Browsers behind proxies send 30."""
TOO_LONG: Final = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
_LINE_FEEDS_MAX: Final = HEADER_LINES_MAX + 2  # of the request line, and of the blank one at the end
_BLANK_LINE: Final = re.compile(rb"\n\r?\n")


class HeaderLines(ReceiveBuffer):
    """The buffer of a connection. What lies behind the header, a body or more requests, is not counted."""

    def __init__(self, bytes_max: int = HEADER_BYTES_MAX) -> None:
        super().__init__()
        self._bytes_max = bytes_max

    def maybe_extract_lines(self) -> list[bytearray] | None:
        """The lines of a header that is complete. RemoteProtocolError as soon as it has too many, or is too long."""
        if self._is_too_long():
            raise h11.RemoteProtocolError("too long a header", error_status_hint=TOO_LONG)
        return super().maybe_extract_lines()

    def _is_too_long(self) -> bool:
        data = self._data
        if len(data) <= self._bytes_max and data.count(b"\n") <= _LINE_FEEDS_MAX:
            return False
        if data.startswith((b"\r\n", b"\n")):
            return False  # nothing of it is header
        blank = _BLANK_LINE.search(data, 0, self._bytes_max)
        end = self._bytes_max if blank is None else blank.end()
        return data.count(b"\n", 0, end) > _LINE_FEEDS_MAX or (blank is None and len(data) > end)
