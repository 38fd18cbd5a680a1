"""A message as a handler sees it, and what its publisher gets back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from penstock.protocol.push.frames import FrameType
from penstock.protocol.push.properties import decode_properties


@dataclass(slots=True, eq=False, repr=False)
class Message:
    """One delivery of a message. Do not change it.

    `sequence_number` is its offset in the partition, `timestamp` is in milliseconds, `message_type` is 1 (DATA). A null
    `body` is None: a Kafka tombstone. `delivery_count` is 1 the first time.
    """

    message_type = FrameType.DATA

    subscription: str
    topic: str
    generation: int  # of the connection it came on, which alone can acknowledge it
    partition: int
    delivery_count: int
    key: bytes | None
    sequence_number: int
    timestamp: int
    raw_properties: bytes
    body: bytes | None

    @property
    def headers(self) -> tuple[tuple[bytes, bytes | None], ...]:
        """The properties as bytes, in their order, names that come twice included."""
        return decode_properties(self.raw_properties) if self.raw_properties else ()

    @property
    def properties(self) -> dict[str, str | None]:
        """By name, as text; bytes that are not UTF-8 as surrogates. Of a name that comes twice, the last."""
        return {
            name.decode("utf-8", "surrogateescape"): (
                None if value is None else value.decode("utf-8", "surrogateescape")
            )
            for name, value in self.headers
        }

    @property
    def text(self) -> str:
        """The body as UTF-8; a null body is an empty text."""
        return "" if self.body is None else self.body.decode()

    def __repr__(self) -> str:
        return f"<Message {self.topic}-{self.partition}@{self.sequence_number} key={self.key!r} body={self.body!r}>"


class Published(NamedTuple):
    """Where a message was stored."""

    topic: str
    partition: int
    offset: int
    timestamp: int
