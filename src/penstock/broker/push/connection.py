"""One push client's connection: frames in, frames out, by the table of `protocol.push.states`.

Frames are served in their order. Quick ones (PUBLISH, ACK, HEARTBEAT) are served at once, and PUBLISH frames that
arrived together as one batch; frames that have to wait for something (subscriptions, topics) hold up those behind them.
A client that sends a lot gets a turn of a few milliseconds before other connections get theirs.

A client that does not read is sent nothing more, and nothing more is read from it: the memory that the broker needs for
it is bounded by its transport's buffer, one read and one frame. What a client has sent that has not logged in is in the
room for strangers (`net.strangers`); it may have to give way, but takes nothing from the others.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final, cast

from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.live_subscription import LiveSubscription
from penstock.broker.push.login import LoginRefused, PushLogin
from penstock.broker.push.requests import SERVED
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import FRAME_BYTES_BEFORE_LOGIN_MAX, TURN_NS
from penstock.net.admission.ticket import Refusal, Ticket
from penstock.net.endpoint import NOWHERE, endpoint_of
from penstock.net.flow_control import Account
from penstock.net.open_connections import owner_of
from penstock.net.strangers import Stranger
from penstock.protocol.push.data import AckData
from penstock.protocol.push.frames import NO_ID, Frame, FrameSplitter, FrameType, MalformedFrame
from penstock.protocol.push.messages import NO_SEQUENCE, Disconnect, Error, Heartbeat, Publish, decode, encode
from penstock.protocol.push.states import Side, State, logged_in, step
from penstock.security.authenticator import AuthenticationFailed
from penstock.security.listener import ListenerSecurity, SecurityProtocol
from penstock.security.principal import Principal
from penstock.security.resources import Operation
from penstock.security.session import Session
from penstock.security.tls.certified import certified_login

if TYPE_CHECKING:
    from penstock.broker.push.server import PushDoor

logger = logging.getLogger(__name__)

UNSENT_BYTES_MAX: Final = 512 * 1024
UNANSWERED_MAX: Final = 10_000
QUEUED_FRAME_BYTES: Final = 150
"""Memory of a frame that waits, besides its payload."""
AT_ONCE: Final = frozenset((FrameType.PUBLISH, FrameType.ACK))
CHECKED_ONLY: Final = frozenset((FrameType.HEARTBEAT, FrameType.ERROR, FrameType.DISCONNECT))
"""Frames without a handler. With `requests.SERVED` these are all frames that a client may send."""
LISTENER: Final = "PUSH"
LOOPBACK: Final = "127.0.0.1"
"""The address of clients in this process, for rules that name one."""
READ: Final = Operation.READ  # looked up once: members of an enum are slow to find
_Publishes = list[tuple[int, Publish, int]]


class PushConnection(asyncio.Protocol):
    """The protocol object that asyncio drives. `memberships` are the subscriptions it is in, by name."""

    __slots__ = (
        "_account", "_busy", "_door", "_frame_since", "_full_since", "_is_fresh", "_is_resting", "_outgoing",
        "_outgoing_bytes", "_principal", "_producers", "_queue", "_reading_paused", "_security", "_splitter",
        "_stranger", "_task", "_ticket", "_transport", "_unanswered", "connection_id", "is_full",
        "last_received", "last_sent", "login", "memberships", "session", "state", "unsent_bytes",
    )  # fmt: skip

    def __init__(
        self,
        door: PushDoor,
        connection_id: int,
        security: ListenerSecurity,
        ticket: Ticket | None = None,
        principal: Principal | None = None,
    ) -> None:
        """`ticket` is that of a connection which was admitted before it was made; `principal` that of a client in this
        process, which has nothing to prove.
        """
        self._door = door
        self._security = security
        self._ticket = ticket
        self._account: Account = door.flow  # of bytes of an incomplete frame
        self._stranger: Stranger | None = None  # while the client has to log in
        self._is_fresh = True  # no complete frame was received, or the client has not logged in
        self.connection_id = connection_id
        self._principal = principal
        self.session = Session(listener=LISTENER, host="" if principal is None else LOOPBACK)
        self._producers = door.producers.of(self.session.principal)
        self.login: PushLogin | None = None
        self.state = State.OPEN
        self.memberships: dict[str, tuple[LiveSubscription, Member]] = {}
        self.last_received = self.last_sent = 0.0
        self._transport = cast(asyncio.Transport, None)
        self._splitter = FrameSplitter(
            min(door.settings.frame_bytes_max, FRAME_BYTES_BEFORE_LOGIN_MAX), "before the client has logged in"
        )
        self._queue: deque[Frame] = deque()
        self._busy = False  # a request is being served, and the frames behind it wait
        self._is_resting = False
        self.is_full = False
        self._reading_paused = False
        self._unanswered = 0
        self._outgoing: list[bytes] = []
        self._outgoing_bytes = 0
        self._frame_since: float | None = None
        self._full_since = 0.0
        self.unsent_bytes = 0  # counted while the connection is full
        self._task: asyncio.Task[None] | None = None

    # --- asyncio's side ----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        peer = endpoint_of(transport.get_extra_info("peername"))
        if peer is not NOWHERE:
            self.session = Session(listener=LISTENER, host=peer.host, port=peer.port)
        self._transport.set_write_buffer_limits(UNSENT_BYTES_MAX)
        self.last_received = self.last_sent = self._door.now()
        refusal = self._admit()
        if refusal is not None:
            self.fail(refusal.text, ErrorCode.POLICY_VIOLATION)
            return
        self._door.opened(self)
        try:
            self._authenticate()
        except AuthenticationFailed as failure:
            self.fail(str(failure), ErrorCode.SASL_AUTHENTICATION_FAILED)
            return
        if not self.session.authenticated:
            assert self._ticket is not None
            self._account = self._stranger = Stranger(self._door.flow.strangers, self._ticket)

    def _authenticate(self) -> None:
        """Take what is known of the client: its certificate, or nothing. Where it has to log in, it is unknown yet."""
        protocol = self._security.protocol
        if self._principal is not None:
            self.identify(self.session.with_principal(self._principal))
        elif protocol.has_sasl:
            self.login = self._door.new_login(self, self._security)
            self.state = State.UNAUTHENTICATED
        elif protocol is SecurityProtocol.SSL:
            certificate = self._transport.get_extra_info("ssl_object").getpeercert(True)
            rules, audit = self._security.principal_rules, self._door.access.audit
            self.identify(certified_login(self.session, certificate, rules, audit))
        else:
            self.identify(self._door.access.authenticate(self.session))

    def identify(self, session: Session) -> None:
        """Take the session of a client that has shown who it is: what it publishes is its principal's."""
        self.session = session
        self._producers = self._door.producers.of(session.principal)
        if session.authenticated:
            self._splitter.frame_bytes_max = self._door.settings.frame_bytes_max
            self._splitter.limit_name = "push.frame_bytes_max"
            if self._stranger is not None:
                self._stranger.close()
                self._stranger = None
                self._account = self._door.flow
                self._account.change(self._splitter.held_bytes)

    def logged_in(self, session: Session) -> None:
        """Take the session of a client that has logged in, or has done so again."""
        self.identify(session)
        self.state = logged_in(self.state)
        self._confirm()

    def _admit(self) -> Refusal | None:
        door = self._door.admission
        if self._ticket is not None:
            self._ticket.move(door, self._drop)
            return None
        admitted = door.admit(self.session.host, self._drop)
        if isinstance(admitted, Refusal):
            return admitted
        self._ticket = admitted
        return None

    def data_received(self, data: bytes) -> None:
        if self.state is State.CLOSING:
            return
        self.last_received = self._door.now()
        before = self._splitter.held_bytes
        try:
            self._queue.extend(self._splitter.feed(data))
        except MalformedFrame as problem:
            self._account.change(-before)
            self.fail(str(problem))
            return
        if self._is_fresh and self._queue:
            self._heard()
        if not self._splitter.held_bytes:
            self._frame_since = None
        elif self._frame_since is None or self._queue:
            self._frame_since = self.last_received
        if before != self._splitter.held_bytes:
            self._account.change(self._splitter.held_bytes - before)
            if self._door.flow.exhausted and self._splitter.held_bytes > UNSENT_BYTES_MAX:
                self.fail(
                    "the broker holds too much for its clients at the moment; try again", ErrorCode.POLICY_VIOLATION
                )
                return
        self._work()

    def _heard(self) -> None:
        """Note complete frames of a client that was silent, or has not logged in: those have to be held somewhere."""
        if self._stranger is None:
            self._confirm()
        else:
            self._stranger.hold_served(sum(len(frame.payload) + QUEUED_FRAME_BYTES for frame in self._queue))

    def login_heard(self) -> None:
        """Let the client wait for its login: it has sent all that belongs to it."""
        assert self._ticket is not None
        self._ticket.heard()

    def _confirm(self) -> None:
        self._is_fresh = False
        assert self._ticket is not None
        self._ticket.confirm(owner_of(self.session), self._last_used)

    def _last_used(self) -> float:
        return self.last_received

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.state = State.CLOSING
        if self._ticket is not None:
            self._ticket.release()
        self._queue.clear()
        self._account.change(-self._splitter.held_bytes)
        if self._stranger is not None:
            self._stranger.close()
        if self._task is not None:
            self._task.cancel()
        if self.login is not None:
            self.login.close()
        for live, member in self.memberships.values():
            self._door.subscriptions.leave(live, member)
        self.memberships.clear()
        self._count_unsent(0)
        self._door.closed(self)

    def pause_writing(self) -> None:
        self.is_full = True
        self._full_since = self._door.now()
        self._count_unsent(self._transport.get_write_buffer_size())
        for live, member in self.memberships.values():
            live.block(member)
        self._adjust_reading()

    def resume_writing(self) -> None:
        self.is_full = False
        self._count_unsent(0)
        for live, member in self.memberships.values():
            live.unblock(member)
        self._adjust_reading()

    def _count_unsent(self, size: int) -> None:
        if size != self.unsent_bytes:
            self._door.subscriptions.unsent.count(self, self.session.user, size)
            self.unsent_bytes = size

    @property
    def is_closing(self) -> bool:
        return self.state is State.CLOSING

    def is_stalled(self, moment: float) -> bool:
        """Whether the client began a frame before `moment` and has not completed it."""
        return self._frame_since is not None and self._frame_since < moment

    def silent_seconds(self, now: float) -> float:
        """Seconds since the client last sent something, or stopped reading; 0 while reading from it is paused."""
        if self.is_full:
            return now - self._full_since
        return 0.0 if self._reading_paused else now - self.last_received

    def abort(self) -> None:
        self._transport.abort()

    def _drop(self) -> None:
        """Close the connection without a word: it is silent, or its principal has too many."""
        self.state = State.CLOSING  # nothing more of what was read is served
        self.abort()

    # --- out ---------------------------------------------------------------------------------------------------------

    def send(self, data: bytes) -> None:
        if self.state is State.CLOSING:
            return
        if len(data) > UNSENT_BYTES_MAX:
            self.send_ready()  # apart, so that the data are not copied
        if not self._outgoing:
            self._door.outbox.put(self)
        self._outgoing.append(data)
        self._outgoing_bytes += len(data)
        if self._outgoing_bytes > UNSENT_BYTES_MAX // 4:
            self.send_ready()

    def send_ready(self) -> None:
        """Write the frames that were gathered in this turn."""
        if not self._outgoing or self.state is State.CLOSING:
            return
        outgoing, self._outgoing, self._outgoing_bytes = self._outgoing, [], 0
        self.last_sent = self._door.now()
        self._transport.write(outgoing[0] if len(outgoing) == 1 else b"".join(outgoing))
        if self.is_full:
            self._count_unsent(self._transport.get_write_buffer_size())

    def refuse(self, message_id: int, error: KafkaError) -> None:
        """Answer a request with an error."""
        self._door.refused(error.code)
        self.send(encode(Error(error.code, error.message or error.code.name), message_id))
        self.answered(1)

    def answered(self, count: int) -> None:
        self._unanswered = max(0, self._unanswered - count)
        if self._reading_paused:
            self._adjust_reading()

    def fail(self, reason: str, code: ErrorCode = ErrorCode.INVALID_REQUEST, message_id: int = NO_ID) -> None:
        """Send the reason as an ERROR frame, and close: nothing is read or sent after it."""
        if self.state is State.CLOSING:
            return
        self._door.broken(self.session.host, reason)
        self._end(encode(Error(code, reason), message_id))

    def evict(self, reason: str) -> None:
        self.fail(reason, ErrorCode.REBALANCE_IN_PROGRESS)

    def disconnect(self, reason: str) -> None:
        """Close the connection for a reason that is not the client's: the node stops, the session has ended, or an
        operator wants it."""
        self._end(encode(Disconnect(reason), NO_ID))

    def _end(self, last_frame: bytes) -> None:
        if self.state is State.CLOSING:
            return
        self.send_ready()
        self.state = State.CLOSING
        self._queue.clear()
        if self.is_full:
            self._transport.abort()  # the client does not read, so it would not read this frame either
            return
        self._transport.write(last_frame)
        self._transport.close()
        asyncio.get_running_loop().call_later(self._door.linger_seconds, self._transport.abort)

    def beat(self) -> None:
        self.send(encode(Heartbeat()))

    # --- in ----------------------------------------------------------------------------------------------------------

    def _adjust_reading(self) -> None:
        must_pause = self.is_full or bool(self._queue) or self._unanswered > UNANSWERED_MAX
        if must_pause == self._reading_paused or self.state is State.CLOSING:
            return
        self._reading_paused = must_pause
        if must_pause:
            self._transport.pause_reading()
        else:
            self.last_received = self._door.now()
            self._transport.resume_reading()

    def _work(self) -> None:
        """Serve the frames that have been read, for one turn."""
        if self._is_resting:
            return
        end = time.perf_counter_ns() + TURN_NS
        publishes: _Publishes = []
        try:
            while self._queue and not self._busy and self.state is not State.CLOSING:
                frame = self._queue.popleft()
                following = step(self.state, Side.CLIENT, frame.type, frame.message_id)
                if following is State.CLOSING:
                    decode(frame)  # before the state changes: `fail` sends nothing once the state is CLOSING
                self.state = following
                if not self.session.authenticated and self.login is None:  # for a login, the table says what may come
                    self._door.access.admit(self.session, frame.type.name)
                if frame.type is FrameType.PUBLISH:
                    self._publish(frame, publishes)
                else:
                    publishes = self._append(publishes)
                    self._serve(frame)
                if time.perf_counter_ns() > end and self._queue:
                    self._rest()
                    break
        except MalformedFrame as problem:
            self._append(publishes)
            is_early = self.state is State.UNAUTHENTICATED
            self.fail(str(problem), ErrorCode.ILLEGAL_SASL_STATE if is_early else ErrorCode.INVALID_REQUEST)
            return
        except AuthenticationFailed as failure:
            self._append(publishes)
            self.fail(str(failure), ErrorCode.SASL_AUTHENTICATION_FAILED)
            return
        self._append(publishes)
        self._adjust_reading()

    def _rest(self) -> None:
        self._is_resting = True
        asyncio.get_running_loop().call_soon(self._resume)

    def _resume(self) -> None:
        self._is_resting = False
        self._work()

    def _append(self, publishes: _Publishes) -> _Publishes:
        if publishes:
            self._door.publisher.publish(publishes, self.session, self)
        return []

    def _publish(self, frame: Frame, publishes: _Publishes) -> None:
        message = decode(frame)
        assert isinstance(message, Publish)
        self._unanswered += 1
        try:
            producer_id: int | None = -1
            if message.sequence != NO_SEQUENCE:
                if message.partition < 0:
                    raise KafkaError(
                        ErrorCode.INVALID_REQUEST,
                        "a PUBLISH without a partition has the sequence -1; choose one of both",
                    )
                producer_id = self._producers.find(message.client_id, message.epoch)
            if producer_id is None:
                self._begin(self._publish_first(frame.message_id, message), frame.message_id)
            else:
                publishes.append((frame.message_id, message, producer_id))
        except KafkaError as error:
            self.refuse(frame.message_id, error)

    async def _publish_first(self, message_id: int, message: Publish) -> None:
        """Serve a client's first PUBLISH with a sequence: it needs a producer id, which is made durable first."""
        self._door.publisher.check(self.session, message)  # a refused message leaves no row behind
        producer_id = await self._producers.ensure(message.client_id, message.epoch)
        self._door.publisher.publish([(message_id, message, producer_id)], self.session, self)

    def _serve(self, frame: Frame) -> None:
        if frame.type in SERVED:
            self._begin(self._door.requests.serve(self, frame, decode(frame)), frame.message_id)
        elif frame.type is FrameType.ACK:
            self._acknowledged(frame)
        else:
            assert frame.type in CHECKED_ONLY, f"no handler for {frame.type.name}"
            decode(frame)
            if self.is_closing:
                self._transport.writelines(self._outgoing)
                self._transport.close()

    def _acknowledged(self, frame: Frame) -> None:
        ack = decode(frame)
        if not isinstance(ack, AckData):
            raise MalformedFrame("an ACK from a client answers DATA")
        membership = self.memberships.get(ack.subscription)
        if membership is None:
            self.refuse(
                frame.message_id,
                KafkaError(
                    ErrorCode.GROUP_ID_NOT_FOUND, f"this connection is not in subscription {ack.subscription!r}"
                ),
            )
            return
        live, member = membership
        try:
            self._door.access.check_group(self.session, READ, ack.subscription)
            live.acknowledge(member, ack.ranges)
        except KafkaError as error:
            self.refuse(frame.message_id, error)

    def _begin(self, work: Coroutine[Any, Any, None], message_id: int) -> None:
        """Serve one request; the frames behind it wait."""
        self._busy = True
        self._task = asyncio.ensure_future(self._finish(work, message_id))

    async def _finish(self, work: Coroutine[Any, Any, None], message_id: int) -> None:
        try:
            await work
        except LoginRefused as refused:
            self._door.broken_total += 1  # without a line: the audit log has one
            self._end(encode(Error(refused.code, refused.message or refused.code.name), message_id))
        except KafkaError as error:
            self.refuse(message_id, error)
        except Exception:
            logger.exception("a request of push client %s failed", self.session.host)
            self.refuse(message_id, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the broker's log says more"))
        finally:
            self._busy = False
            self._task = None
        if self.state is not State.CLOSING:
            self._work()
