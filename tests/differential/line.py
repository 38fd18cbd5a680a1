"""One connection of a script, on which answers may be taken in another order than they come."""

from __future__ import annotations

import time

from tests.support.wire import Connection

ANSWER_WITHIN_S = 10.0


class Line:
    """One named connection, with the answers that came before they were asked for."""

    def __init__(self, host: str, port: int) -> None:
        self.connection = Connection(host, port, timeout_s=ANSWER_WITHIN_S)
        self.next_id = 1
        self.early: dict[int, bytes] = {}

    def take(self, correlation_id: int, within_s: float) -> bytes:
        deadline = time.monotonic() + within_s
        while correlation_id not in self.early:
            self.connection.settimeout(max(0.001, deadline - time.monotonic()))
            payload = self.connection.receive_frame()
            self.early[int.from_bytes(payload[:4], "big", signed=True)] = payload
        return self.early.pop(correlation_id)
