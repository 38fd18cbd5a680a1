"""One client's connection: frames in, answers out, in the order of the requests.

    frame_splitter    bytes to frames
    request_queue     requests that wait for an earlier one
    answer_line       replies in their order, and the bytes that the client has not read
    reading_gate      whether the socket is read at all
    connection        asyncio's callbacks, and the order in which requests are served

A request is served before the next one is looked at. Its reply may be completed later (by a flush, or by data) while
further requests are served, or it may hold up the connection until it is complete (a coroutine), which is what Kafka
does for every request. Either way answers leave in order.

A client that sends requests faster than they can be served gets a turn of a few milliseconds before other connections
get theirs: the rest of its requests waits in the queue.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import cast

from penstock.model.limits import TURN_NS
from penstock.net.answer_line import AnswerLine
from penstock.net.endpoint import NOWHERE, Endpoint, Peer
from penstock.net.frame_splitter import FrameSplitter
from penstock.net.reading_gate import ReadingGate
from penstock.net.reply import Reply, Work
from penstock.net.request_queue import RequestQueue
from penstock.net.service import Channel
from penstock.net.shared import Shared
from penstock.protocol.kafka.primitives import MalformedRequest

logger = logging.getLogger(__name__)


class Connection(asyncio.BufferedProtocol):
    """The protocol object that asyncio drives. Its parts are made when it has a transport."""

    __slots__ = (
        "_answers", "_busy", "_channel", "_closing", "_gate", "_is_fresh", "_last_received", "_queue", "_resting",
        "_shared", "_splitter", "_task", "_transport", "_turn_end", "_working_off", "peer",
    )  # fmt: skip

    _answers: AnswerLine
    _gate: ReadingGate
    _transport: asyncio.Transport
    peer: Peer

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._channel: Channel | None = None  # from the moment at which the connection is admitted
        self._queue = RequestQueue(shared.flow)
        self._splitter = FrameSplitter(shared.scratch, shared.limits.frame_bytes_max, shared.flow, self._adjust_reading)
        self._last_received = 0.0
        self._turn_end = 0
        self._is_fresh = True  # too few bytes were received to recognise the protocol
        self._busy = False  # a coroutine is running, and further requests wait for it
        self._working_off = False
        self._resting = False  # other connections have a turn; `_resume` is scheduled
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    # --- asyncio's side --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        shared = self._shared
        self._transport = cast(asyncio.Transport, transport)
        self._answers = AnswerLine(self._transport, shared, self)
        self._gate = ReadingGate(self._transport, shared, self._splitter, self._queue, self._answers, self._unmuted)
        peer = transport.get_extra_info("peername")
        local = transport.get_extra_info("sockname")
        if isinstance(peer, tuple) and isinstance(local, tuple):
            self.peer = Peer(next(shared.ids), str(peer[0]), int(peer[1]), Endpoint(str(local[0]), int(local[1])))
        else:
            self.peer = Peer(next(shared.ids), "", 0, shared.endpoint or NOWHERE)
        self._last_received = shared.clock()
        self._transport.set_write_buffer_limits(0)  # resume_writing comes whenever the client has read everything
        if shared.on_open(self):
            self._channel = shared.service.connected(self)
        if self._channel is None:
            self._stop_serving()
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._splitter.space()

    def buffer_updated(self, nbytes: int) -> None:
        if self._closing:
            return
        self._last_received = self._shared.clock()
        if self._is_fresh and not self._is_ours(nbytes):
            return
        self._turn_end = time.perf_counter_ns() + TURN_NS
        try:
            self._splitter.received(nbytes, self._accept)
        except MalformedRequest as problem:
            self.close(str(problem))

    def _is_ours(self, nbytes: int) -> bool:
        """Whether to read on; False if the first bytes are too few to decide, or belong to another door."""
        others = self._shared.others
        if others is not None:
            beginning = self._splitter.beginning(nbytes)
            is_other = others[0](beginning)
            if is_other is None:
                self._splitter.keep(beginning)
                return False
            if is_other:
                self._hand_over(others[1](), bytes(beginning))
                return False
        self._is_fresh = False
        return True

    def _hand_over(self, protocol: asyncio.Protocol, received: bytes) -> None:
        """Hand the connection over to another door, whose client has connected here."""
        self._closing = True
        self._release()
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
        if self._task is not None:
            self._task.cancel()
        self._release()

    def _release(self) -> None:
        """End the parts, and give back what they hold."""
        self._gate.release()
        self._answers.release()
        if self._queue.frames:
            self._queue.clear()
        self._splitter.close()
        self._shared.on_close(self)
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.closed()

    def pause_writing(self) -> None:
        pass  # the answer line checks the unread bytes after every write

    def resume_writing(self) -> None:
        self._answers.drained()

    # --- requests --------------------------------------------------------------------------------------------------

    def _accept(self, frame: memoryview, more: bool) -> bool:
        """Serve a frame, or queue it; False if the connection closes. `more`: there are bytes behind it."""
        if self._queue.frames or self._blocked:
            self._queue.put(frame)
            self._gate.adjust()
        else:
            self._serve(frame)
            if self._closing:
                return False
        if more and not self._resting and time.perf_counter_ns() > self._turn_end:
            self._rest()
        return True

    def _serve(self, frame: memoryview) -> None:
        started = self._last_received = self._shared.clock()
        assert self._channel is not None
        try:
            reply = self._channel.serve(frame)
        except MalformedRequest as problem:
            self.close(str(problem))
            return
        except Exception:
            logger.exception("connection %s: a request failed", self.peer.host)
            self.close("internal error")
            return
        if reply.done and self._answers.send_at_once(reply):
            self._shared.service.answered(reply.api_key, self._shared.clock() - started)
            return
        reply.started = started
        self._answers.put(reply)
        if reply.work is not None:
            self._busy = True
            self._task = asyncio.get_running_loop().create_task(self._finish(reply.work, reply))

    async def _finish(self, work: Work, reply: Reply) -> None:
        try:
            body = await work
        except asyncio.CancelledError:
            raise
        except MalformedRequest as problem:
            self.close(str(problem))
            return
        except Exception:
            logger.exception("connection %s: a request failed", self.peer.host)
            self.close("internal error")
            return
        self._busy = False
        self._task = None
        reply.complete(body)
        self._work_off()

    def _work_off(self) -> None:
        """Serve the requests that were queued behind one that is answered now."""
        if self._working_off:
            return  # the answer was complete at once: the loop below continues with the queue
        self._working_off = True
        turn_end = time.perf_counter_ns() + TURN_NS
        while self._queue.frames and not self._closing and not self._blocked:
            self._serve(self._queue.take())
            if time.perf_counter_ns() > turn_end:
                self._rest()
        self._working_off = False
        self._gate.adjust()

    def _rest(self) -> None:
        self._resting = True
        asyncio.get_running_loop().call_soon(self._resume)

    def _resume(self) -> None:
        self._resting = False
        self._work_off()

    @property
    def _blocked(self) -> bool:
        """Whether the next request has to wait: for an answer, for room, for other connections, or for the client."""
        limits, answers = self._shared.limits, self._answers
        unread = answers.unread_bytes
        return (
            self._busy
            or self._resting
            or len(answers.replies) >= limits.in_flight_max
            or unread > limits.unread_bytes_max
            or self._gate.muted
            or (unread > 0 and self._shared.flow.exhausted)
        )

    # --- callbacks of the answer line ------------------------------------------------------------------------------

    def answers_sent(self) -> None:
        if self._queue.frames and not self._busy:
            self._work_off()

    def answers_read(self) -> None:
        self._work_off()

    def answers_unread(self) -> None:
        self._gate.adjust()

    # --- the listener's side ---------------------------------------------------------------------------------------

    @property
    def last_active(self) -> float:
        """When bytes were last received, a request served, or some of an answer read."""
        return max(self._last_received, self._answers.last_read)

    @property
    def answered(self) -> bool:
        """Whether every complete request is answered, though the client may not have read the answer."""
        return not (self._answers.replies or self._queue.frames or self._busy)

    @property
    def unread(self) -> bool:
        """Whether the client has not read all of its answers."""
        return self._answers.unread_bytes > 0

    @property
    def muted(self) -> bool:
        return self._gate.muted

    def stalled_since(self, moment: float) -> bool:
        """Whether a request was begun and none of its bytes came since `moment`, though we were reading."""
        splitter = self._splitter
        waits = splitter.waits_for_room or self._gate.muted
        return splitter.is_inside_frame and not waits and self.last_active < moment

    def mute(self, seconds: float) -> None:
        """Take no further request for a while; answers still go out."""
        self._gate.mute(seconds)

    def _unmuted(self) -> None:
        self._last_received = self._shared.clock()
        self._work_off()

    def refuse(self, seconds: float) -> None:
        """Close the connection after a while without having read anything."""
        self._gate.refuse(seconds, self.close)

    def _adjust_reading(self) -> None:
        self._gate.adjust()

    def stop_reading(self) -> None:
        """Answer the requests that have been read, and take no more: the node stops."""
        self._gate.stop()

    def close(self, reason: str | None = None) -> None:
        """End the connection; a reason is logged in one line."""
        if self._closing:
            return
        self._stop_serving()
        if reason is not None:
            self._shared.on_broken("bad request")
            logger.warning("closed the connection from %s: %s", self.peer.host, reason)
        self._transport.close()

    def _stop_serving(self) -> None:
        self._closing = True
        self._answers.close()
        self._gate.close()
