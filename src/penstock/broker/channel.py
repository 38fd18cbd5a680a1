"""One Kafka connection as the broker sees it: its session, and how its next request is served.

Implements `net.service.Channel`. The channel owns what belongs to the client and ends with the connection.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.net.endpoint import Endpoint
from penstock.net.reply import Reply
from penstock.net.service import Stream
from penstock.security.session import Session

if TYPE_CHECKING:
    from penstock.broker.gate import Gate
    from penstock.broker.produce.repeat_path import RepeatPaths


class KafkaChannel:
    """Made by the gate for each connection."""

    __slots__ = ("_gate", "_on_closed", "_stream", "repeat_paths", "session", "waiting_partitions")

    def __init__(self, gate: Gate, stream: Stream, session: Session) -> None:
        self._gate = gate
        self._stream = stream
        self._on_closed: tuple[Callable[[int], None], ...] = ()
        self.session = session
        """Replaced with `renew` when more is known about the client; a request keeps the one it began with."""
        self.waiting_partitions = 0
        """Partitions of the fetches that wait for data (`broker.fetch.parking`)."""
        self.repeat_paths: RepeatPaths | None = None
        """The short ways for Produce requests like those before. Set by the handler of Produce."""

    @property
    def is_authenticated(self) -> bool:
        return self.session.authenticated

    @property
    def connection_id(self) -> int:
        return self._stream.peer.connection_id

    @property
    def endpoint(self) -> Endpoint:
        """The address for the client: the one it came in on, unless its listener advertises another."""
        advertised, local = self._gate.advertised, self._stream.peer.local
        if advertised is None:
            return local
        return advertised if advertised.port else Endpoint(advertised.host, local.port)

    def serve(self, frame: memoryview) -> Reply:
        gate = self._gate
        if gate.throttle is None and self.repeat_paths is not None:
            reply = self.repeat_paths.serve(frame)
            if reply is not None:
                return reply
        return gate.serve(frame, self)

    def renew(self, session: Session) -> None:
        """Go on with another session: what was remembered under the old one is void."""
        has_logged_in = session.authenticated and not self.session.authenticated
        self.session = session
        if has_logged_in:
            self._stream.authenticated()
        self.repeat_paths = None

    def mute(self, seconds: float) -> None:
        """Take no further request of the client for a while."""
        self._stream.mute(seconds)

    def frame_decoded(self) -> None:
        """Give the memory of a large request back, which would be held until it is answered."""
        self._stream.frame_decoded()

    def when_closed(self, callback: Callable[[int], None]) -> None:
        """Call back with the connection's id when it has ended; once, however often it was asked for."""
        if callback not in self._on_closed:
            self._on_closed = (*self._on_closed, callback)

    def closed(self) -> None:
        self.repeat_paths = None
        callbacks, self._on_closed = self._on_closed, ()
        for callback in callbacks:
            callback(self.connection_id)
