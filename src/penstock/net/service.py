"""What a connection does with a request: somebody who serves it, and the kinds of answers that there are."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol

from penstock.net.caller import Caller
from penstock.net.pending import Buffers, Pending

Answer = Buffers | Pending | Coroutine[Any, Any, Buffers | None] | None


class Service(Protocol):
    """What a connection does with a request."""

    def serve(self, frame: memoryview, caller: Caller) -> tuple[bytes, int, Answer]:
        """(response header, api key, answer). Raises MalformedRequest: the connection is closed.

        An answer of None means that nothing is sent; the frame's memory may be reused after the call.
        """
        ...

    def answered(self, api_key: int, seconds: float) -> None: ...
