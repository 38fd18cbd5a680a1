"""A message as a handler sees it, and the receipt of its publisher."""

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
    generation: int  # of the connection on which it came: it can be acknowledged only there
    partition: int
    delivery_count: int
    key: bytes | None
    sequence_number: int
    timestamp: int
    raw_properties: bytes
    body: bytes | None

    @property
    def headers(self) -> tuple[tuple[bytes, bytes | None], ...]:
        """The properties as bytes, in their order, including repeated names."""
        return decode_properties(self.raw_properties) if self.raw_properties else ()

    @property
    def properties(self) -> dict[str, str | None]:
        """The properties by name, as text; of a repeated name the last. Bytes that are not UTF-8 become surrogates."""
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
    """The place where a message was stored."""

    topic: str
    partition: int
    offset: int
    timestamp: int
