"""The message that every client writes and reads, and the common interface of clients."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

Headers = tuple[tuple[str, bytes | None], ...]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One record as a client sees it; offset and partition are set when it was read."""

    key: bytes | None = None
    value: bytes | None = b""
    headers: Headers = ()
    timestamp_ms: int | None = None
    partition: int = 0
    offset: int = -1

    def as_written(self) -> "Message":
        return replace(self, offset=-1)


class Client(Protocol):
    """A client that can write a list of messages and read a topic from the beginning."""

    name: str

    def produce(
        self, bootstrap: str, topic: str, messages: Sequence[Message], *, codec: str = "none", acks: int = -1
    ) -> None:
        """Write all messages and come back when they are acknowledged (or sent, with acks 0)."""

    def consume(self, bootstrap: str, topic: str, count: int) -> list[Message]:
        """The first `count` messages of the topic's only partition."""
