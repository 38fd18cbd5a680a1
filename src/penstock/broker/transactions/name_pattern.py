"""A pattern over transactional ids (ListTransactions v2), which a client may choose freely.

RE2's time to match grows with the size of the pattern times the length of the name. So the size of patterns is limited,
and long names are matched in a thread: RE2 releases the interpreter lock, and the event loop goes on.
"""

from __future__ import annotations

import asyncio
from typing import Any

import re2

from penstock.model.errors import ErrorCode, KafkaError

PATTERN_LENGTH_MAX = 1024  # one that is made of character classes takes 30 ms to read
_PROGRAM_BYTES_MAX = 1 << 16  # some 2,700 steps: 4 ms for a name of 100 characters, at the very worst
_NAME_LENGTH_ON_LOOP = 200


class NamePattern:
    """A compiled pattern; the whole name has to match."""

    def __init__(self, text: str) -> None:
        """Compile a pattern. KafkaError INVALID_REGULAR_EXPRESSION if it is malformed or too large."""
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.max_mem = _PROGRAM_BYTES_MAX
        if len(text) > PATTERN_LENGTH_MAX:
            raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION)
        try:
            self._compiled: Any = re2.compile(text, options)
        except re2.error:
            raise KafkaError(ErrorCode.INVALID_REGULAR_EXPRESSION) from None

    async def matches(self, name: str) -> bool:
        if len(name) <= _NAME_LENGTH_ON_LOOP:
            return self._compiled.fullmatch(name) is not None
        return await asyncio.to_thread(self._compiled.fullmatch, name) is not None
