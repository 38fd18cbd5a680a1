"""One client's connection: frames in, answers out, in the order of the requests.

Bytes are received into a scratch buffer shared by all connections, and a frame that lies in it whole is served from
there without a copy: whoever serves it has done with the bytes when the call returns. Only the rest of a frame that
has not arrived yet gets a buffer of its own, into which the socket then writes directly.

A request is served before the next one is looked at. Its answer may come later (`Pending`: a flush, data to wait for)
while further requests are served, or it may hold up the connection until it is complete (a coroutine), which is what
Kafka does for every request. Either way answers leave in order.

A client that sends requests faster than they can be served gets a turn of a few milliseconds, then others do: the rest
of what was read waits in the queue.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, cast

from penstock.net.caller import Caller, Endpoint
from penstock.net.file_sender import FileSender, Part, is_plain
from penstock.net.flow_control import FlowControl
from penstock.net.incoming import IncomingFrame
from penstock.net.mute import Mute
from penstock.net.outbox import Outbox
from penstock.net.pending import SILENCE, Buffers, Pending
from penstock.protocol.kafka.primitives import INT32, MalformedRequest
from penstock.runtime.turns import STEP_NS

log = logging.getLogger(__name__)

SCRATCH_BYTES = 256 * 1024
QUEUED_OVERHEAD_BYTES = 100  # what a request that waits takes besides its bytes

JOINED_BYTES_MAX = 4096  # below, one copy is cheaper than the system's work with many buffers

Answer = Buffers | Pending | Coroutine[Any, Any, Buffers | None] | None


class Service(Protocol):
    """What a connection does with a request."""

    def serve(self, frame: memoryview, caller: Caller) -> tuple[bytes, int, Answer]:
        """(response header, api key, answer). Raises MalformedRequest: the connection is closed.

        An answer of None means that nothing is sent; the frame's memory may be reused after the call.
        """
        ...

    def answered(self, api_key: int, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    frame_bytes_max: int
    in_flight_max: int
    queued_bytes_max: int
    unread_bytes_max: int


@dataclass(slots=True)
class Shared:
    """What the connections of one listener have in common."""

    service: Service
    flow: FlowControl
    limits: ConnectionLimits
    clock: Callable[[], float]
    on_open: Callable[[Connection], bool]
    on_close: Callable[[Connection], None]
    on_broken: Callable[[str], None]
    scratch: bytearray
    outbox: Outbox
    muted: int = 0
    """How many are not read because their clients are over a quota."""


class Connection(asyncio.BufferedProtocol):
    """The protocol object that asyncio drives."""

    __slots__ = (
        "_busy",
        "_closing",
        "_head",
        "_incoming",
        "_last_answer_bytes",
        "_mute",
        "_paused",
        "_queue",
        "_queued_bytes",
        "_ready",
        "_resting",
        "_scratch",
        "_sender",
        "_shared",
        "_slots",
        "_stopped",
        "_task",
        "_transport",
        "_unread_bytes",
        "_unread_held",
        "_working_off",
        "caller",
        "last_active",
    )

    def __init__(self, shared: Shared, connection_id: int) -> None:
        self._shared = shared
        self._scratch = memoryview(shared.scratch)
        self._transport: asyncio.Transport = cast(asyncio.Transport, None)
        self.caller = Caller(connection_id, "", Endpoint("", 0))
        self.last_active = 0.0
        self._head = b""  # up to three bytes of a frame's size
        self._incoming: IncomingFrame | None = None
        self._queue: deque[bytearray] = deque()  # requests that wait for a coroutine to end
        self._queued_bytes = 0
        self._unread_bytes = 0
        self._unread_held = 0  # the memory of them
        self._last_answer_bytes = 0
        self._slots: deque[Pending] = deque()  # answers not sent yet, oldest first
        self._ready = False  # in the outbox
        self._busy = False
        self._paused = False
        self._stopped = False
        self._working_off = False
        self._resting = False  # others have a turn; `_resume` is on its way
        self._closing = False
        self._mute: Mute | None = None
        self._sender: FileSender | None = None  # answers wait behind what it sends
        self._task: asyncio.Task[None] | None = None

    # --- asyncio's side --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        local = transport.get_extra_info("sockname")
        if isinstance(peer, tuple) and isinstance(local, tuple):
            self.caller.peer_host, self.caller.peer_port = str(peer[0]), int(peer[1])
            self.caller.local = Endpoint(str(local[0]), int(local[1]))
        self.caller.connection = self
        self.last_active = self._shared.clock()
        self._transport.set_write_buffer_limits(0)  # tells of every answer that waits, and when the client has taken it
        if not self._shared.on_open(self):
            self._closing = True
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._incoming is not None:
            return self._incoming.space()
        start = len(self._head)
        if start:
            self._scratch[:start] = self._head
        return self._scratch[start:]

    def buffer_updated(self, nbytes: int) -> None:
        if self._closing:
            return
        self.last_active = self._shared.clock()
        incoming = self._incoming
        if incoming is not None:
            if incoming.received(nbytes):
                self._incoming = None
                self._accept(incoming.end())
            return
        self._split(len(self._head) + nbytes)

    def eof_received(self) -> bool:
        return False  # nothing to finish: a client that stops sending has gone

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        self.caller.connection = None
        self._end_mute()
        if self._task is not None:
            self._task.cancel()
        if self._sender is not None:
            self._sender.stop()
        for pending in self._slots:
            pending.abandon()
        self._slots.clear()
        self._queue.clear()
        if self._incoming is not None:
            self._incoming.end()
            self._incoming = None
        held = self._queued_bytes + self._unread_held
        self._queued_bytes = self._unread_bytes = self._unread_held = 0
        self._shared.flow.change(-held)
        self._shared.on_close(self)
        if self.caller.on_closed is not None:
            self.caller.on_closed(self.caller)

    def pause_writing(self) -> None:
        pass  # `_send` has a look at what is unread after every answer

    def resume_writing(self) -> None:
        if self._sender is not None:
            self._sender.send()
            self._sent_some()
        else:
            self._note_unread()
            self._work_off()

    # --- frames ----------------------------------------------------------------------------------------------------

    def _split(self, end: int) -> None:
        """Serve the whole frames in scratch[:end] and keep the rest."""
        scratch = self._scratch
        position = 0
        turn_end = time.perf_counter_ns() + STEP_NS
        self._head = b""
        while end - position >= 4:
            (size,) = INT32.unpack_from(scratch, position)
            if not 0 <= size <= self._shared.limits.frame_bytes_max:
                self.close(_explain_size(size, scratch[position : position + 4]))
                return
            if end - position - 4 < size:
                part = scratch[position + 4 : end]
                self._incoming = IncomingFrame(size, part, self._shared.flow, self._adjust_reading)
                if self._incoming.waits_for_room:
                    self._adjust_reading()
                return
            position += 4
            self._accept(scratch[position : position + size])
            if self._closing:
                return
            position += size
            if position < end and not self._resting and time.perf_counter_ns() > turn_end:
                self._rest()
        self._head = bytes(scratch[position:end])

    def _accept(self, frame: memoryview) -> None:
        if self._queue or self._blocked:
            self._queue.append(bytearray(frame))
            self._queued_bytes += len(frame) + QUEUED_OVERHEAD_BYTES
            self._shared.flow.change(len(frame) + QUEUED_OVERHEAD_BYTES)
            self._adjust_reading()
        else:
            self._serve(frame)

    # --- requests --------------------------------------------------------------------------------------------------

    def _serve(self, frame: memoryview) -> None:
        started = self.last_active = self._shared.clock()
        try:
            header, api_key, answer = self._shared.service.serve(frame, self.caller)
        except MalformedRequest as problem:
            self.close(str(problem))
            return
        except Exception:
            log.exception("connection %s: a request failed", self.caller.peer_host)
            self.close("internal error")
            return
        if answer is None:
            self._shared.service.answered(api_key, self._shared.clock() - started)
            return
        if isinstance(answer, list):
            if self._slots or self._sender is not None:
                pending = Pending()
                pending.body, pending.done = answer, True
                self._enqueue(pending, header, api_key, started)
            else:
                self._send(header, answer)
                self._shared.service.answered(api_key, self._shared.clock() - started)
            return
        if isinstance(answer, Pending):
            answer.listen(self._completed)
            self._enqueue(answer, header, api_key, started)
            return
        pending = Pending()
        pending.listen(self._completed)
        self._enqueue(pending, header, api_key, started)
        self._busy = True
        self._task = asyncio.get_running_loop().create_task(
            self._finish(cast(Coroutine[Any, Any, Buffers | None], answer), pending)
        )

    def _enqueue(self, pending: Pending, header: bytes, api_key: int, started: float) -> None:
        pending.header, pending.api_key, pending.started = header, api_key, started
        self._slots.append(pending)
        if pending.done:
            self._completed()

    async def _finish(self, answer: Coroutine[Any, Any, Buffers | None], pending: Pending) -> None:
        try:
            body = await answer
        except asyncio.CancelledError:
            raise
        except MalformedRequest as problem:
            self.close(str(problem))
            return
        except Exception:
            log.exception("connection %s: a request failed", self.caller.peer_host)
            self.close("internal error")
            return
        self._busy = False
        self._task = None
        pending.complete(body)
        self._work_off()

    def _work_off(self) -> None:
        """Serve what was queued behind a request that is answered now."""
        if self._working_off:
            return  # an answer that came at once: the loop below goes on with the queue
        self._working_off = True
        turn_end = time.perf_counter_ns() + STEP_NS
        while self._queue and not self._closing and not self._blocked:
            frame = self._queue.popleft()
            self._queued_bytes -= len(frame) + QUEUED_OVERHEAD_BYTES
            self._shared.flow.change(-len(frame) - QUEUED_OVERHEAD_BYTES)
            self._serve(memoryview(frame))
            if time.perf_counter_ns() > turn_end:
                self._rest()
        self._working_off = False
        self._adjust_reading()

    def _rest(self) -> None:
        self._resting = True
        asyncio.get_running_loop().call_soon(self._resume)

    def _resume(self) -> None:
        self._resting = False
        self._work_off()

    @property
    def _blocked(self) -> bool:
        """The next request has to wait: for an answer under way, for many of them, for others, or for the client."""
        limits = self._shared.limits
        return (
            self._busy
            or self._resting
            or len(self._slots) >= limits.in_flight_max
            or self._unread_bytes > limits.unread_bytes_max
            or self._mute is not None
            or (self._unread_bytes > 0 and self._shared.flow.exhausted)
        )

    # --- answers ---------------------------------------------------------------------------------------------------

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
            pending = slots.popleft()
            body = pending.body
            if body is None:
                self._write(parts)
                self.close("a request that expects no answer failed")
                return
            if body is not SILENCE:
                parts.append(INT32.pack(len(pending.header) + sum(map(len, body))) + pending.header)
                parts += body
            service.answered(pending.api_key, now - pending.started)
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
        else:
            self._sender = FileSender(self._transport, parts, self._sent_some, self.close)
            self._sender.send()
            if not self._sender.unsent:
                self._sender = None
        self._note_unread()

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

    # --- flow ------------------------------------------------------------------------------------------------------

    def _adjust_reading(self) -> None:
        """Read from the socket only while there is room for what would arrive."""
        if self._closing or self._stopped:
            return
        limits = self._shared.limits
        full = (
            self._waits_for_room
            or self._mute is not None
            or self._queued_bytes > limits.queued_bytes_max
            or len(self._queue) >= limits.in_flight_max
            or self._unread_bytes > limits.unread_bytes_max
        )
        if not full and self._shared.flow.exhausted and (self._queue or self._unread_bytes):
            full = True
            self._shared.flow.wait_for_room(self._adjust_reading)
        if full and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        elif not full and self._paused:
            self._paused = False
            self._transport.resume_reading()

    def mute(self, seconds: float) -> None:
        """Take no further request for a while; answers go out. Not while the node stops: it answers what it has."""
        if self._mute is not None:
            self._mute.extend(seconds)
        else:
            self._begin_mute(seconds, self._unmute)

    def refuse(self, seconds: float) -> None:
        """Close it after a while without having read anything."""
        self._begin_mute(seconds, self.close)

    def _begin_mute(self, seconds: float, on_end: Callable[[], None]) -> None:
        if not self._closing and not self._stopped:
            self._mute = Mute(self._transport, seconds, on_end)
            self._shared.muted += 1
            self._adjust_reading()

    def _unmute(self) -> None:
        self._end_mute()
        self.last_active = self._shared.clock()
        self._work_off()

    def _end_mute(self) -> None:
        if self._mute is not None:
            self._mute.cancel()
            self._mute = None
            self._shared.muted -= 1

    @property
    def muted(self) -> bool:
        return self._mute is not None

    @property
    def _waits_for_room(self) -> bool:
        return self._incoming is not None and self._incoming.waits_for_room

    def stalled_since(self, moment: float) -> bool:
        """It has begun a request and sent no byte of it since; not for want of room on our side, nor muted by us."""
        return (
            self._incoming is not None and not self._waits_for_room and self._mute is None and self.last_active < moment
        )

    @property
    def answered(self) -> bool:
        """Every request that has arrived whole is answered, if perhaps not read by the client."""
        return not (self._slots or self._queue or self._busy)

    @property
    def unread(self) -> bool:
        """The client has still to take what it asked for."""
        return self._unread_bytes > 0

    def stop_reading(self) -> None:
        """Shutdown: what has been read is answered, nothing more is taken."""
        self._stopped = True
        if not self._closing and not self._paused:
            self._paused = True
            self._transport.pause_reading()
        if self._mute is not None:
            self._unmute()

    def close(self, reason: str | None = None) -> None:
        """End the connection; a reason is logged in one line."""
        if self._closing:
            return
        self._closing = True
        if self._sender is not None:
            self._sender.stop()
        if reason is not None:
            self._shared.on_broken("bad request")
            log.warning("closed the connection from %s: %s", self.caller.peer_host, reason)
        self._transport.close()


def kept(part: memoryview) -> memoryview:
    """A part of a frame for use after the call that serves it. What is larger than the shared buffer is not in it."""
    return part if len(part) > SCRATCH_BYTES else memoryview(bytearray(part))


def _explain_size(size: int, start: memoryview) -> str:
    text = bytes(start)
    if text in (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI", b"DELE"):
        return "an HTTP request on the Kafka port; HTTP has a port of its own (http.port)"
    if text[:2] == b"\x16\x03":
        return "a TLS handshake on a plaintext port"
    return f"a frame of {size} bytes is not allowed"
