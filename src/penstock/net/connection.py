"""One client's connection: frames in, answers out, in the order of the requests.

Bytes are received into a scratch buffer shared by all connections, and a frame that lies in it whole is served from
there without a copy: whoever serves it has done with the bytes when the call returns. Only the rest of a frame that
has not arrived yet gets a buffer of its own, into which the socket then writes directly.

A request is served before the next one is looked at. Its reply may be completed later (by a flush, or by data)
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
from typing import cast

from penstock.net.endpoint import Endpoint, Peer
from penstock.net.incoming import IncomingFrame, explain_size
from penstock.net.reading_gate import ReadingGate
from penstock.net.reply import SILENCE, Reply, Work
from penstock.net.service import Channel
from penstock.net.shared import Shared
from penstock.protocol.kafka.primitives import INT32, MalformedRequest
from penstock.runtime.turns import STEP_NS

log = logging.getLogger(__name__)

QUEUED_OVERHEAD_BYTES = 100  # what a request that waits takes besides its bytes


class Connection(ReadingGate):
    """The protocol object that asyncio drives."""

    __slots__ = ("_channel", "_head", "_is_fresh", "_resting", "_scratch", "_task", "_working_off")

    def __init__(self, shared: Shared, connection_id: int) -> None:
        self._shared = shared
        self._scratch = memoryview(shared.scratch)
        self._transport = cast(asyncio.Transport, None)
        self.peer = Peer(connection_id, "", 0, Endpoint("", 0))
        self._channel: Channel | None = None  # from the moment at which the connection is admitted
        self.last_active = 0.0
        self._is_fresh = True  # not enough was received to tell that it is ours
        self._head = b""  # the first bytes of a frame, too few to tell its size
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
            reached = Endpoint(str(local[0]), int(local[1]))
            self.peer = Peer(self.peer.connection_id, str(peer[0]), int(peer[1]), reached)
        elif self._shared.endpoint is not None:
            self.peer = Peer(self.peer.connection_id, "", 0, self._shared.endpoint)
        self.last_active = self._shared.clock()
        self._transport.set_write_buffer_limits(0)  # tells of every answer that waits, and when the client has taken it
        if self._shared.on_open(self):
            self._channel = self._shared.service.connected(self)
        if self._channel is None:
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
        if self._is_fresh and not self._is_ours(nbytes):
            return
        incoming = self._incoming
        if incoming is not None:
            if incoming.received(nbytes):
                self._incoming = None
                self._accept(incoming.end())
            return
        self._split(len(self._head) + nbytes)

    def _is_ours(self, nbytes: int) -> bool:
        """Whether to read on; False if the first bytes were kept until there are more, or belong to another door."""
        others = self._shared.others
        if others is not None:
            start = self._scratch[: len(self._head) + nbytes]
            is_other = others[0](start)
            if is_other is None:
                self._head = bytes(start)
                return False
            if is_other:
                self._hand_over(others[1](), bytes(start))
                return False
        self._is_fresh = False
        return True

    def _hand_over(self, protocol: asyncio.Protocol, received: bytes) -> None:
        """A client of another door has come in here: from now on it is served there."""
        self._closing = True
        self._end_mute()
        self._shared.on_close(self)
        self._release_channel()
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
        self._end_mute()
        if self._task is not None:
            self._task.cancel()
        if self._sender is not None:
            self._sender.stop()
        for reply in self._slots:
            reply.abandon()
        self._slots.clear()
        self._queue.clear()
        if self._incoming is not None:
            self._incoming.end()
            self._incoming = None
        held = self._queued_bytes + self._unread_held
        self._queued_bytes = self._unread_bytes = self._unread_held = 0
        self._shared.flow.change(-held)
        self._shared.on_close(self)
        self._release_channel()

    def _release_channel(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.closed()

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
        assert self._channel is not None
        try:
            reply = self._channel.serve(frame)
        except MalformedRequest as problem:
            self.close(str(problem))
            return
        except Exception:
            log.exception("connection %s: a request failed", self.peer.host)
            self.close("internal error")
            return
        if reply.done and self._is_sent_at_once(reply):
            if reply.body is not None and reply.body is not SILENCE:
                self._send(reply.header, reply.body)
            self._shared.service.answered(reply.api_key, self._shared.clock() - started)
            return
        reply.started = started
        self._slots.append(reply)
        if reply.done:
            self._completed()
            return
        reply.listen(self._completed)
        if reply.work is not None:
            self._busy = True
            self._task = asyncio.get_running_loop().create_task(self._finish(reply.work, reply))

    def _is_sent_at_once(self, reply: Reply) -> bool:
        """Whether a reply that is ready leaves now: nothing is before it, and nothing is to be gathered with it."""
        if reply.body is SILENCE:
            return True
        return not (self._slots or self._sender is not None or reply.gathers or reply.body is None)

    async def _finish(self, work: Work, reply: Reply) -> None:
        try:
            body = await work
        except asyncio.CancelledError:
            raise
        except MalformedRequest as problem:
            self.close(str(problem))
            return
        except Exception:
            log.exception("connection %s: a request failed", self.peer.host)
            self.close("internal error")
            return
        self._busy = False
        self._task = None
        reply.complete(body)
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
            log.warning("closed the connection from %s: %s", self.peer.host, reason)
        self._transport.close()
