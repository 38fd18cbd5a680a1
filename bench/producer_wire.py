"""Requests of a producer with an id: the second generation of the transaction protocol, as in Java clients of 4.x.

Produce v12 adds the partition to the transaction by itself, EndTxn v5 gives the next epoch. A Produce frame is built
once; only its producer's numbers and the checksum over them are written for each request.
"""

from __future__ import annotations

import datetime
import struct
import time
from typing import Any

import kio.index
from kio.static.constants import EntityType

from bench.wire import Wire, batch_of
from penstock.client.produces import Identity, sign
from penstock.protocol.kafka.primitives import write_string, write_unsigned_varint

CONCURRENT_TRANSACTIONS = 51
_NOT_YET = (14, 15, 16, CONCURRENT_TRANSACTIONS)  # the coordinator is loading, not there, elsewhere, or at the last end
_READY_S = 60.0
_TRANSACTION_TIMEOUT = datetime.timedelta(minutes=10)
_FIND_COORDINATOR, _FIND_COORDINATOR_VERSION = 10, 2
_INIT_PRODUCER_ID, _INIT_PRODUCER_ID_VERSION = 22, 1
_PRODUCE_HEAD = struct.pack(">hhihB", 0, 12, 1, -1, 0)
_END_HEAD = struct.pack(">hhihB", 26, 5, 1, -1, 0)
_INT32 = struct.Struct(">i")
_ERROR = struct.Struct(">h")
_ANSWER_HEAD_BYTES = 4 + 1  # correlation id, tags
_END_ANSWER = struct.Struct(">ihqh")  # throttle time, error, producer id, epoch


def init_producer_id(wire: Wire, transactional_id: str | None) -> Identity:
    """Asked for until there is a coordinator."""
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        code = 0 if transactional_id is None else _find_coordinator(wire, transactional_id)
        if not code:
            answer = _init_producer_id(wire, transactional_id)
            code = answer.error_code
            if not code:
                return Identity(answer.producer_id, answer.producer_epoch)
        if code not in _NOT_YET:
            raise RuntimeError(f"InitProducerId was refused: error {code}")
        time.sleep(0.05)
    raise RuntimeError("there is no transaction coordinator")


def _find_coordinator(wire: Wire, transactional_id: str) -> int:
    module: Any = kio.index.load_payload_module(_FIND_COORDINATOR, _FIND_COORDINATOR_VERSION, EntityType.request)
    request = module.FindCoordinatorRequest(key=transactional_id, key_type=1)
    return int(wire.ask(_FIND_COORDINATOR, _FIND_COORDINATOR_VERSION, request).error_code)


def _init_producer_id(wire: Wire, transactional_id: str | None) -> Any:
    module: Any = kio.index.load_payload_module(_INIT_PRODUCER_ID, _INIT_PRODUCER_ID_VERSION, EntityType.request)
    request = module.InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout=_TRANSACTION_TIMEOUT)
    return wire.ask(_INIT_PRODUCER_ID, _INIT_PRODUCER_ID_VERSION, request)


class ProduceFrame:
    """One batch for one partition, acks=all, to be sent again and again with other numbers."""

    def __init__(
        self, topic: str, partition: int, messages: int, message_bytes: int, transactional_id: str | None
    ) -> None:
        batch = batch_of(messages, message_bytes)
        body = bytearray(_PRODUCE_HEAD + write_string(transactional_id, True))
        body += struct.pack(">hiB", -1, 30_000, 2) + write_string(topic, True)
        body += struct.pack(">Bi", 2, partition) + write_unsigned_varint(len(batch) + 1)
        start = len(body) + _INT32.size
        body += batch + b"\0\0\0"
        self._frame = bytearray(_INT32.pack(len(body))) + body
        self._batch = memoryview(self._frame)[start : start + len(batch)]
        self._is_transactional = transactional_id is not None
        self._error_at = _ANSWER_HEAD_BYTES + 1 + len(write_string(topic, True)) + 1 + 4

    def numbered(self, sender: Identity, sequence: int) -> bytearray:
        """The same memory each time: to be sent before the next call."""
        sign(self._batch, sender, sequence, transactional=self._is_transactional)
        return self._frame

    def error(self, answer: bytearray) -> int:
        return int(_ERROR.unpack_from(answer, self._error_at)[0])


def end_frame(transactional_id: str, sender: Identity, *, commit: bool = True) -> bytes:
    body = _END_HEAD + write_string(transactional_id, True) + struct.pack(">qh?B", *sender, commit, 0)
    return _INT32.pack(len(body)) + body


def end_answer(answer: bytearray) -> tuple[int, Identity]:
    """The error, and who the producer is from now on."""
    _, error, producer_id, epoch = _END_ANSWER.unpack_from(answer, _ANSWER_HEAD_BYTES)
    return error, Identity(producer_id, epoch)
