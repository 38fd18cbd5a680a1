"""The sending half of a connection: its answers, in the order of the requests, and how much of them is not read.

An answer that is ready leaves when those before it have left, in one write with those that become ready together with
it. One that lies in a file is passed to the socket bit by bit, and the others wait behind it.
"""

from __future__ import annotations

import asyncio
from collections import deque

from penstock.net.endpoint import Peer
from penstock.net.file_sender import FileSender, Part, can_send_files, is_plain
from penstock.net.reply import SILENCE, Buffers, Reply
from penstock.net.shared import Shared
from penstock.protocol.kafka.primitives import INT32

JOINED_BYTES_MAX = 4096  # below, one copy is cheaper than the system's work with many buffers


class AnswerLine(asyncio.BufferedProtocol):
    """What `Connection` is to those who answer. The fields belong to `Connection`."""

    __slots__ = (
        "_busy", "_closing", "_last_answer_bytes", "_queue", "_ready", "_sender", "_shared", "_slots", "_transport",
        "_unread_bytes", "_unread_held", "last_active", "peer",
    )  # fmt: skip

    _busy: bool
    _closing: bool
    _last_answer_bytes: int
    _queue: deque[bytearray]
    _ready: bool
    _sender: FileSender | None
    _shared: Shared
    _slots: deque[Reply]
    _transport: asyncio.Transport
    _unread_bytes: int
    _unread_held: int
    last_active: float
    peer: Peer

    def _work_off(self) -> None:
        """Serve what was queued behind a request that is answered now."""
        raise NotImplementedError

    def _adjust_reading(self) -> None:
        """Read from the socket only while there is room for what would arrive."""
        raise NotImplementedError

    def close(self, reason: str | None = None) -> None:
        """End the connection; a reason is logged in one line."""
        raise NotImplementedError

    def _completed(self) -> None:
        """An answer is ready; with it go those that are completed together with it."""
        if not self._ready and self._slots and self._slots[0].done:
            self._ready = True
            self._shared.outbox.put(self)

    def send_ready(self) -> None:
        """Send the answers at the head of the line that are ready."""
        self._ready = False
        if self._sender is not None:
            return  # `_sent_some` comes back to them
        slots = self._slots
        service = self._shared.service
        now = self._shared.clock()
        parts: list[Part] = []
        while slots and slots[0].done:
            reply = slots.popleft()
            body = reply.body
            if body is None:
                self._write(parts)
                self.close("a request that expects no answer failed")
                return
            if body is not SILENCE:
                parts.append(INT32.pack(len(reply.header) + sum(map(len, body))) + reply.header)
                parts += body
            service.answered(reply.api_key, now - reply.started)
        self._write(parts)
        if self._queue and not self._busy:
            self._work_off()

    def _send(self, header: bytes, body: Buffers) -> None:
        self._write([INT32.pack(len(header) + sum(map(len, body))) + header, *body])

    def _write(self, parts: list[Part]) -> None:
        if self._closing or not parts:
            return
        size = self._last_answer_bytes = sum(map(len, parts))
        if size <= JOINED_BYTES_MAX and is_plain(parts):
            self._transport.write(b"".join(parts))
        elif is_plain(parts):
            self._transport.writelines(parts)
        elif not can_send_files(self._transport):
            self._write_from_memory(parts)
        else:
            self._sender = FileSender(self._transport, parts, self._sent_some, self.close)
            self._sender.send()
            if not self._sender.unsent:
                self._sender = None
        self._note_unread()

    def _write_from_memory(self, parts: list[Part]) -> None:
        try:
            self._transport.writelines(
                [part if isinstance(part, bytes | bytearray | memoryview) else part.read() for part in parts]
            )
        except OSError as error:
            self.close(f"records could not be sent: {error}")

    def _sent_some(self) -> None:
        """Of an answer that lies in a file; when it is through, those behind it have their turn."""
        if self._closing:
            return
        if self._sender is not None and not self._sender.unsent:
            self._sender = None
            self._completed()
        self._note_unread()
        self._work_off()

    def _note_unread(self) -> None:
        unread = self._transport.get_write_buffer_size()
        if self._sender is not None:
            unread += self._sender.unsent
        if unread != self._unread_bytes:
            if unread < self._unread_bytes:
                self.last_active = self._shared.clock()
            self._unread_bytes = unread
            held = self._memory_of(unread)
            change, self._unread_held = held - self._unread_held, held
            self._shared.flow.change(change)
            if unread > self._shared.limits.unread_bytes_max:
                self._adjust_reading()

    def _memory_of(self, unread: int) -> int:
        """An answer takes its memory until the last byte of it is sent; answers are taken to be alike in size."""
        if not unread:
            return 0
        last = self._last_answer_bytes
        return last if unread <= last else unread + last

    @property
    def answered(self) -> bool:
        """Every request that has arrived whole is answered, if perhaps not read by the client."""
        return not (self._slots or self._queue or self._busy)

    @property
    def unread(self) -> bool:
        """The client has still to take what it asked for."""
        return self._unread_bytes > 0
