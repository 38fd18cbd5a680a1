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
from typing import Final, cast

from penstock.model.limits import FRAME_BYTES_BEFORE_LOGIN_MAX, TURN_NS
from penstock.net.admission.ticket import Ticket
from penstock.net.connection.answer_line import AnswerLine
from penstock.net.connection.frame_splitter import FrameSplitter
from penstock.net.connection.reading_gate import ReadingGate
from penstock.net.connection.request_queue import RequestQueue
from penstock.net.connection.shared import Shared
from penstock.net.endpoint import NOWHERE, Endpoint, Peer, endpoint_of, host_and_port
from penstock.net.flow_control import SMALL_FRAME_BYTES
from penstock.net.open_connections import owner_of
from penstock.net.reply import Reply, Work
from penstock.net.service import Channel
from penstock.net.strangers import Stranger
from penstock.protocol.kafka.primitives import MalformedRequest
from penstock.security.session import Session

logger = logging.getLogger(__name__)

TURN_S: Final = TURN_NS / 1e9


class Connection(asyncio.BufferedProtocol):
    """The protocol object that asyncio drives. Its parts are made when it has a transport."""

    __slots__ = (
        "_answers", "_busy", "_channel", "_closing", "_gate", "_is_fresh", "_is_recognised",
        "_last_received", "_queue", "_resting", "_shared", "_splitter", "_stranger", "_task", "_ticket", "_transport",
        "_turn_end", "_working_off", "peer",
    )  # fmt: skip

    _answers: AnswerLine
    _gate: ReadingGate
    _transport: asyncio.Transport
    peer: Peer

    def __init__(self, shared: Shared, ticket: Ticket | None = None) -> None:
        self._shared = shared
        self._ticket = ticket  # under TLS a connection is admitted before it is made, otherwise in `connection_made`
        self._channel: Channel | None = None
        self._queue = RequestQueue(shared.flow)
        self._splitter = FrameSplitter(
            shared.scratch, shared.limits.frame_bytes_max, shared.flow, self._adjust_reading, self._is_decoding
        )
        self._last_received = 0.0
        self._turn_end = 0.0
        self._is_fresh = True  # no complete request was received, or the client has not logged in
        self._stranger: Stranger | None = None  # while the client has to log in
        self._is_recognised = False  # too few bytes were received to recognise the protocol
        self._busy = False  # a coroutine is running, and further requests wait for it
        self._working_off = False
        self._resting = False  # other connections have a turn; `_resume` is scheduled
        self._closing = False
        self._task: asyncio.Task[None] | None = None

    # --- asyncio's side --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        shared = self._shared
        self._transport = cast(asyncio.Transport, transport)
        host, port = host_and_port(transport.get_extra_info("peername"))
        if self._ticket is not None:
            self._ticket.hand_over(self._drop_silent)
        else:
            admitted = shared.door.admit(host, self._drop_silent)
            if type(admitted) is not Ticket:
                self._closing = True
                self._transport.abort()
                return
            self._ticket = admitted
        self._answers = AnswerLine(self._transport, shared, self)
        self._gate = ReadingGate(self._transport, shared, self._splitter, self._queue, self._answers, self._unmuted)
        self.peer = Peer(next(shared.ids), host, port, shared.endpoint if shared.has_one_address else self._local())
        if shared.encrypted:
            self._transport.set_write_buffer_limits(1, 0)  # with 0 a transport of TLS pauses though it is empty
            self.peer = self.peer._replace(certificate=transport.get_extra_info("ssl_object").getpeercert(True))
        else:
            self._transport.set_write_buffer_limits(0)  # resume_writing comes whenever the client has read everything
        self._last_received = shared.clock()
        shared.on_open(self)
        self._channel = shared.service.connected(self)
        if self._channel is None:
            self._stop_serving()
            self._transport.abort()
        elif not self._channel.is_authenticated:
            self._begin_strange(self._ticket)

    def _begin_strange(self, ticket: Ticket) -> None:
        """Hold what the client sends in the room for strangers, until it has logged in."""
        shared = self._shared
        stranger = self._stranger = Stranger(shared.flow.strangers, ticket)
        self._splitter.begin_strange(stranger, min(shared.limits.frame_bytes_max, FRAME_BYTES_BEFORE_LOGIN_MAX))
        self._queue.move(stranger)
        self._answers.move(stranger)

    def _end_strange(self, stranger: Stranger) -> None:
        shared = self._shared
        self._stranger = None
        self._splitter.end_strange(shared.scratch, shared.limits.frame_bytes_max)
        self._queue.move(shared.flow)
        self._answers.move(shared.flow)
        stranger.close()

    def _local(self) -> Endpoint:
        """The address at which the client reached us, where the listener has several."""
        local = endpoint_of(self._transport.get_extra_info("sockname"))
        return self._shared.endpoint if local is NOWHERE else local

    def _drop_silent(self) -> None:
        """Close the connection without a word: it is silent, or its principal has too many."""
        self._shared.on_broken("silent" if self._is_fresh else "room")
        self._stop_serving()
        self._transport.abort()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._splitter.space()

    def buffer_updated(self, nbytes: int) -> None:
        if self._closing:
            return
        now = self._last_received = self._shared.clock()
        accept = self._accept
        if self._is_fresh:
            if not self._is_recognised and not self._is_ours(nbytes):
                return
            accept = self._accept_first
        self._turn_end = now + TURN_S
        try:
            self._splitter.received(nbytes, accept)
        except MalformedRequest as problem:
            self.close(str(problem))

    def _is_ours(self, nbytes: int) -> bool:
        """Whether to read on; False if the first bytes are too few to decide, or belong to another door."""
        others = self._shared.others
        if others is not None:
            assert self._ticket is not None
            beginning = self._splitter.beginning(nbytes)
            is_other = others[0](beginning)
            if is_other is None:
                self._splitter.keep(beginning)
                return False
            if is_other:
                self._hand_over(others[1](self._ticket), bytes(beginning))
                return False
        self._is_recognised = True
        return True

    def _hand_over(self, protocol: asyncio.Protocol, received: bytes) -> None:
        """Hand the connection over to another door, whose client has connected here; it has the ticket now."""
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
        if self._ticket is not None:  # else it was refused, and has no parts
            self._release()
            self._ticket.release()

    def _release(self) -> None:
        """End the parts, and give back what they hold."""
        self._gate.release()
        self._answers.release()
        if self._queue.frames:
            self._queue.clear()
        self._splitter.close()
        if self._stranger is not None:
            self._stranger.close()
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
        answers = self._answers
        # Most requests find nothing under way, and need not ask for each limit.
        may_wait = self._busy or self._resting or answers.replies or answers.unread_bytes or self._gate.muted
        if self._queue.frames or (may_wait and self._blocked):
            if len(frame) > SMALL_FRAME_BYTES and self._shared.flow.exhausted:
                self.close("no room for a large request behind others that wait")
                return False
            self._queue.put(frame)
            self._gate.adjust()
        else:
            self._serve(frame, self._last_received)
            if self._closing:
                return False
        if more and not self._resting and self._shared.clock() > self._turn_end:
            self._rest()
        return True

    def _accept_first(self, frame: memoryview, more: bool) -> bool:
        """The same for the first frames. If the client need not log in, it has shown by now that it is one."""
        if self._stranger is not None:
            self._stranger.hold_frame(0)
            return self._accept(frame, more) and not self._closing  # it may have had to give way
        self._confirm()
        return self._accept(frame, more)

    def _serve(self, frame: memoryview, started: float) -> None:
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
            if self._stranger is not None:
                self._stranger.hold_served(len(frame))

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
        if self._splitter.served is not None:
            self._splitter.release()
        reply.complete(body)
        self._work_off()

    def _work_off(self) -> None:
        """Serve the requests that were queued behind one that is answered now."""
        if self._working_off:
            return  # the answer was complete at once: the loop below continues with the queue
        self._working_off = True
        clock = self._shared.clock
        now = clock()
        turn_end = now + TURN_S
        while self._queue.frames and not self._closing and not self._blocked:
            self._last_received = now
            self._serve(self._queue.take(), now)
            now = clock()
            if now > turn_end:
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
    def session(self) -> Session | None:
        return None if self._channel is None else self._channel.session

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

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way that the client would have to wait for."""
        return self.answered and not self.muted and not self._splitter.waits_for_room

    def sends_too_slowly(self, now: float, spare_seconds: float) -> bool:
        """Whether a request was begun and its bytes come too slowly, though we were reading."""
        return self._splitter.is_too_slow(self._gate.reading_clock(now), spare_seconds)

    def _is_decoding(self) -> bool:
        """Whether the frame that was just accepted is still needed: not if it was queued, which copies it."""
        return self._busy and not self._queue.frames

    def frame_decoded(self) -> None:
        """Give back the room of the request that is being served: its frame is no longer needed."""
        self._splitter.release()

    def heard(self) -> None:
        """Let the client wait for its login: it has sent all that belongs to it."""
        assert self._ticket is not None
        self._ticket.heard()

    def authenticated(self) -> None:
        """Accept frames of the full size, for as long as the client likes: it has logged in."""
        if self._stranger is not None:
            self._end_strange(self._stranger)
        self._confirm()

    def _confirm(self) -> None:
        self._is_fresh = False
        assert self._ticket is not None
        self._ticket.confirm(owner_of(self.session), self._last_used)

    def _last_used(self) -> float:
        return self.last_active

    def mute(self, seconds: float) -> None:
        """Take no further request for a while; answers still go out."""
        self._gate.mute(seconds)

    def finish(self) -> None:
        """Send the answers that are due, take no further request, and close; for use while a coroutine answers."""
        if self._queue.frames:
            self._queue.clear()
        self._gate.stop()
        self._answers.close_when_sent()

    def _unmuted(self) -> None:
        self._last_received = self._shared.clock()
        self._work_off()

    def refuse(self, seconds: float) -> None:
        """Close the connection after a while without having read anything."""
        self._gate.refuse(seconds, self.close)

    def _adjust_reading(self) -> None:
        self._last_received = self._shared.clock()  # a wait for room is over, or begins: either way it is not idle
        self._gate.adjust()

    def stop_reading(self) -> None:
        """Answer the requests that have been read, and take no more: the node stops."""
        self._gate.stop()

    def close(self, reason: str | None = None) -> None:
        """End the connection; a reason is logged in one line. An empty one has been, where it was found."""
        if self._closing:
            return
        self._stop_serving()
        if reason is not None:
            self._shared.on_broken("bad request")
        if reason:
            self._shared.broken_lines.warning("broken", "closed the connection from %s: %s", self.peer.host, reason)
        self._splitter.close()
        self._transport.close()

    def abort(self) -> None:
        """End the connection without waiting until the client has read its answers."""
        self._transport.abort()

    def disconnect(self, reason: str) -> None:
        """End the connection because an operator wants it to end; Kafka's protocol has no word for the reason."""
        self._shared.on_broken("disconnected")
        self.close()
        self.abort()

    @property
    def is_closing(self) -> bool:
        return self._closing

    def _stop_serving(self) -> None:
        self._closing = True
        self._answers.close()
        self._gate.close()
