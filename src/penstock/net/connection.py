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
from collections.abc import Coroutine
from typing import Any, cast

from penstock.net.caller import Caller, Endpoint
from penstock.net.incoming import IncomingFrame, explain_size
from penstock.net.pending import Buffers, Pending
from penstock.net.reading_gate import ReadingGate
from penstock.net.shared import Shared
from penstock.protocol.kafka.primitives import INT32, MalformedRequest
from penstock.runtime.turns import STEP_NS

log = logging.getLogger(__name__)

QUEUED_OVERHEAD_BYTES = 100  # what a request that waits takes besides its bytes


class Connection(ReadingGate):
    """The protocol object that asyncio drives."""

    __slots__ = ("_head", "_is_fresh", "_resting", "_scratch", "_task", "_working_off")

    def __init__(self, shared: Shared, connection_id: int) -> None:
        self._shared = shared
        self._scratch = memoryview(shared.scratch)
        self._transport = cast(asyncio.Transport, None)
        self.caller = Caller(connection_id, "", Endpoint("", 0))
        self.last_active = 0.0
        self._is_fresh = True  # nothing was received yet
        self._head = b""  # up to three bytes of a frame's size
        self._incoming = None
        self._queue = deque()  # requests that wait for a coroutine to end
        self._queued_bytes = 0
        self._unread_bytes = 0
        self._unread_held = 0  # the memory of them
        self._last_answer_bytes = 0
        self._slots = deque()  # answers not sent yet, oldest first
        self._ready = False  # in the outbox
        self._busy = False
        self._paused = False
        self._stopped = False
        self._working_off = False
        self._resting = False  # others have a turn; `_resume` is on its way
        self._closing = False
        self._mute = None
        self._sender = None  # answers wait behind what it sends
        self._task: asyncio.Task[None] | None = None

    # --- asyncio's side --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        local = transport.get_extra_info("sockname")
        if isinstance(peer, tuple) and isinstance(local, tuple):
            self.caller.peer_host, self.caller.peer_port = str(peer[0]), int(peer[1])
            self.caller.local = Endpoint(str(local[0]), int(local[1]))
        elif self._shared.endpoint is not None:
            self.caller.local = self._shared.endpoint
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
        if self._is_fresh:
            self._is_fresh = False
            others = self._shared.others
            if others is not None and self._scratch[0] in others[0]:
                self._hand_over(others[1](), bytes(self._scratch[:nbytes]))
                return
        incoming = self._incoming
        if incoming is not None:
            if incoming.received(nbytes):
                self._incoming = None
                self._accept(incoming.end())
            return
        self._split(len(self._head) + nbytes)

    def _hand_over(self, protocol: asyncio.Protocol, received: bytes) -> None:
        """A client of another door has come in here: from now on it is served there."""
        self._closing = True
        self.caller.connection = None
        self._end_mute()
        self._shared.on_close(self)
        transport = self._transport
        transport.pause_reading()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        transport.resume_reading()
        protocol.data_received(received)

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
                self.close(explain_size(size, scratch[position : position + 4]))
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
