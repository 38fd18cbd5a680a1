"""The part of a Produce request that is the same in the next one of its connection.

A producer's requests to one partition repeat the same bytes, except for the correlation id and the batch.
`RepeatedProduce` keeps the parsed form of such a request; the next one that begins with the same bytes needs no
parsing, and its answer is filled into a prepared frame.

    request    api key, version | correlation id | client id … partition index | size | batch | no tagged fields
               same             | new            | same                        | new  | new   | same
"""

from __future__ import annotations

from struct import Struct

from penstock.protocol.kafka.primitives import INT32, write_count, write_string, write_unsigned_varint
from penstock.protocol.kafka.produce import FLEXIBLE, PartitionResult, ProduceRequest, encode_response

AFTER_CORRELATION_ID = 8
_LOG_START_VERSION = 5
_ERROR_OFFSET_TIME_START = Struct(">hqqq")
_ERROR_OFFSET_TIME = Struct(">hqq")


class RepeatedProduce:
    """A Produce request with exactly one batch, and room for the next one's."""

    __slots__ = ("_after", "_before", "_flexible", "_result", "_start", "_tail", "end", "same", "topic", "version")

    def __init__(self, frame: memoryview, version: int, request: ProduceRequest) -> None:
        self.version = version
        self._flexible = version >= FLEXIBLE
        ((topic, partition, records),) = request.partitions
        assert records is not None
        self.topic = topic
        self._tail = b"\0\0\0" if self._flexible else b""  # of the partition, the topic and the request
        size_bytes = len(write_unsigned_varint(len(records) + 1)) if self._flexible else 4
        self.end = len(frame) - len(self._tail) - len(records) - size_bytes
        self._start = bytes(frame[:4])
        self.same = bytes(frame[AFTER_CORRELATION_ID : self.end])
        """What requests like this one have between the correlation id and the size of the batch, which is at `end`."""
        self._result = _ERROR_OFFSET_TIME_START if version >= _LOG_START_VERSION else _ERROR_OFFSET_TIME
        answer = encode_response([PartitionResult(topic, partition, 0, 0, 0, 0)], version)
        name = topic if isinstance(topic, bytes) else write_string(topic, self._flexible)
        one = write_count(1, self._flexible)
        self._before = b"".join((one, name, one, INT32.pack(partition)))
        self._after = bytes(answer[len(self._before) + self._result.size :])

    @classmethod
    def of(cls, frame: memoryview, version: int, request: ProduceRequest) -> RepeatedProduce | None:
        """The form of a request; None if requests like this one have to be parsed each time."""
        if request.acks == 0 or len(request.partitions) != 1 or request.partitions[0].records is None:
            return None
        repeated = cls(frame, version, request)
        return repeated if repeated.batch_in(frame) == request.partitions[0].records else None

    def batch_in(self, frame: memoryview) -> memoryview | None:
        """The batch of a request that is like the first one; None if it is another."""
        return self.batch_behind(frame) if frame[AFTER_CORRELATION_ID : self.end] == self.same else None

    def batch_behind(self, frame: memoryview) -> memoryview | None:
        """The same for a request that is known to have `same`: the rest of it is looked at."""
        end = self.end
        if len(frame) < end + 4 or frame[:4] != self._start:
            return None
        if not self._flexible:
            batch = frame[end + 4 :]
            return batch if INT32.unpack_from(frame, end)[0] == len(batch) else None
        size = shift = 0
        while shift <= 28:
            byte = frame[end]
            end += 1
            size |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        batch = frame[end:-3]
        return batch if size == len(batch) + 1 and frame[-3:] == self._tail else None

    def response_header(self, frame: memoryview) -> bytes:
        return bytes(frame[4:8]) + (b"\0" if self._flexible else b"")

    def response(self, error: int, base_offset: int, append_time_ms: int, log_start: int) -> bytes:
        if self._result is _ERROR_OFFSET_TIME_START:
            result = _ERROR_OFFSET_TIME_START.pack(error, base_offset, append_time_ms, log_start)
        else:
            result = _ERROR_OFFSET_TIME.pack(error, base_offset, append_time_ms)
        return self._before + result + self._after
