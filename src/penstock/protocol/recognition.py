"""Which protocol a client speaks that has connected to the Kafka port: Kafka's own, or the push protocol.

    Kafka   size:4                        api key:2  version:2  correlation id:4  client id length:2 …
    push    type:1  message id:8                                length:4          payload …

The first byte of a Kafka request is 0 below 16 MiB, and at most 6 below 100 MiB; most push types are larger than that.
For the others both readings are compared. Both are possible only for a Produce request whose size is a multiple of
16 MiB, or a push frame with a message id from 768 to 3583. Then the rest of the push header decides: its length and
its first text are the correlation id and the client id of a Kafka request. Push clients number their requests from 1
on: a first message id of 2^24 and more may be read as a Kafka request of another API, and is left to the Kafka port.
"""

from __future__ import annotations

from struct import Struct

from penstock.protocol.kafka.apis import API_VERSIONS, APIS, PRODUCE
from penstock.protocol.push.frames import HEADER, HEADER_BYTES, FrameType

_KAFKA = Struct(">ihh")  # size, api key, version
_PUSH_TYPES = frozenset(FrameType)
_NAME_BYTES_MAX = 249  # of subscriptions and topics, which payloads of the types in question begin with
_TEXT_LENGTH = Struct(">H")
Buffer = bytes | bytearray | memoryview


def is_push(start: Buffer, frame_bytes_max: int) -> bool | None:
    """Whether a connection that begins with these bytes is a push client's; None while there are too few to tell.

    `frame_bytes_max` is the size of the largest Kafka request.
    """
    first = start[0]
    if first not in _PUSH_TYPES:
        return False
    if first > frame_bytes_max >> 24:
        return True
    if len(start) < _KAFKA.size:
        return None
    size, api_key, version = _KAFKA.unpack_from(start)
    if size > frame_bytes_max or not _is_request(api_key, version):
        return True
    if size & 0xFFFFFF or api_key != PRODUCE:
        return False  # as a push frame, its message id would be one that no client gets to
    return _breaks_tie(start)


def _is_request(api_key: int, version: int) -> bool:
    api = APIS.get(api_key)
    return api is not None and (api.accepts(version) or api_key == API_VERSIONS)


def _breaks_tie(start: Buffer) -> bool | None:
    if len(start) < HEADER_BYTES:
        return None
    _, _, length = HEADER.unpack_from(start)
    if not length:
        return False  # no push request of these types is empty; a first correlation id is 0 to 255 in most clients
    if length & 0xFF not in (0, 0xFF):
        return True  # else a client id of 256 bytes and more
    for position in (HEADER_BYTES, HEADER_BYTES + 2):  # a subscription without a name is followed by a topic
        if len(start) < position + 2:
            return None
        (name_bytes,) = _TEXT_LENGTH.unpack_from(start, position)
        if name_bytes:
            return bool(name_bytes <= _NAME_BYTES_MAX)  # of a Kafka request the client id, transactional id or acks
    return False
