"""The seam between a listener and the broker: a service for the listener, a channel for each of its connections."""

from __future__ import annotations

from typing import Protocol

from penstock.net.endpoint import Peer
from penstock.net.reply import Reply
from penstock.security.session import Session


class Stream(Protocol):
    """A connection, as far as its channel is concerned."""

    peer: Peer

    def mute(self, seconds: float) -> None:
        """Take no further request for a while."""
        ...

    def frame_decoded(self) -> None:
        """Give the memory of the request that is being served back; its frame is not looked at again."""
        ...

    def heard(self) -> None:
        """Let the client wait for its login: it has sent all that belongs to it."""
        ...

    def authenticated(self) -> None:
        """Accept frames of the full size, because the client has logged in."""
        ...

    def finish(self) -> None:
        """Send the answers that are due, take no further request, and close."""
        ...


class Channel(Protocol):
    """One connection's requests."""

    @property
    def session(self) -> Session: ...

    @property
    def is_authenticated(self) -> bool:
        """Whether the client need not log in, or has. Until then its frames are short, and its time is limited."""
        ...

    def serve(self, frame: memoryview) -> Reply:
        """Serve one request. Raises MalformedRequest: the connection is closed.

        The frame's memory may be reused after the call.
        """
        ...

    def closed(self) -> None:
        """Release everything that is kept for the client, because the connection has ended."""
        ...


class Service(Protocol):
    """Serves the requests of all connections of a listener."""

    def connected(self, stream: Stream) -> Channel | None:
        """The channel of a new connection; None if the client is refused: the connection is closed."""
        ...

    def refusal_delay(self, host: str) -> float:
        """Count a new connection from an address: 0 to serve it, or the seconds after which it is closed unread."""
        ...

    def answered(self, api_key: int, seconds: float) -> None: ...
