"""The core of a push client, over all of its connections: requests, answers, deliveries, heartbeats. No I/O, no clock.

The driver calls `connected`, `received`, `disconnected` and `tick`, each with the time, and sends the bytes that
`data_to_send` returns. Requests outlive a connection: those without an answer are sent again on the next one, and
subscriptions are joined again. A Call notifies the caller that waits for its answer.

`generation` counts connections; messages that were delivered on one can be acknowledged only there.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.client.push.acknowledgements import Acknowledgements
from penstock.client.push.calls import Call
from penstock.client.push.errors import (
    BrokerRefused,
    ClientClosed,
    LoginFailed,
    NotConnected,
    ProtocolError,
    SubscriptionConflict,
    UnknownSubscription,
    WrongProtocol,
    refusal,
)
from penstock.client.push.events import Delivered, Event, Lost, Refreshed
from penstock.client.push.login import ClientLogin
from penstock.client.push.memberships import Membership
from penstock.client.push.message import Message, Published
from penstock.client.push.partitioner import Partitioner
from penstock.client.push.publications import Publication, Publications
from penstock.client.push.refusal import is_refusal
from penstock.client.transient_errors import TRANSIENT
from penstock.model.errors import ErrorCode
from penstock.model.limits import ACK_RANGES_MAX
from penstock.protocol.push import messages as wire
from penstock.protocol.push.data import AckData, decode_data
from penstock.protocol.push.frames import NO_ID, Frame, FrameSplitter, FrameType, MalformedFrame

logger = logging.getLogger(__name__)

CONFLICT = ErrorCode.INVALID_REQUEST
"""The broker's answer to CREATE_SUBSCRIPTION where the subscription is of another topic."""
RIGHTS = (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
LOGIN_WANTED = (
    "the broker wants a login there; set sasl.mechanism, sasl.username, sasl.password, and security.protocol to"
    " SASL_SSL, or to SASL_PLAINTEXT if it has no TLS"
)
DEAD_AFTER_INTERVALS = 3
FRAME_BYTES_MAX = 1 << 30
"""A limit that only catches bytes of another protocol; the broker has a limit of its own."""


class Pending(NamedTuple):
    """A request without its answer: its value, to be sent again, and the handling of the answer."""

    value: Any
    answered: Callable[[Any], None]
    refused: Callable[[Exception], None]
    call: Call | None = None


class ClientCore:
    """One client's state from `connect` to `disconnect`. Not thread-safe: a driver with threads holds a lock."""

    def __init__(
        self, *, client_id: str, epoch: int, heartbeat_interval_s: float, login: ClientLogin | None = None
    ) -> None:
        """With a `login` each connection begins with it, and everything else waits until it is done."""
        self.client_id = client_id
        self.generation = 0
        self.is_connected = False
        self.is_open = False
        """Whether there is a connection on which requests may be sent: the login is done, if there is one."""
        self.has_heard = False
        """Whether the broker has sent anything behind the login on this connection, or on the last one."""
        self.was_heard = False
        """Whether the broker has ever sent anything."""
        self.was_answered = False
        """Whether it has sent anything on this connection, or on the last one."""
        self.refusal: Exception | None = None
        """Why the last attempt to connect was refused; None once the broker lets this client in, or is away."""
        self._login = login
        self._login_call: Call | None = None
        self.memberships: dict[str, Membership] = {}
        self.lost: dict[str, Exception] = {}
        """Subscriptions that could not be joined again, and why."""
        self._taken_away: wire.Error | None = None  # the right for whose lack the last connection ended
        self._partitioner = Partitioner(f"{client_id} {epoch}")
        self.partition_counts = self._partitioner.counts
        self.choose_partition = self._partitioner.choose
        self._heartbeat_interval_s = heartbeat_interval_s
        self._publications = Publications(client_id, epoch)
        self._published: dict[int, Publication] = {}  # by message id, those of this connection
        self._pending: dict[int, Pending] = {}
        self._ids = itertools.count(1)
        self._out: list[bytes] = []
        self._events: list[Event] = []
        self._to_rejoin: list[Membership] = []
        self._to_be_ready: list[Membership] = []
        self._splitter = FrameSplitter(FRAME_BYTES_MAX)
        self._last_sent = self._last_received = 0.0

    # --- the connection --------------------------------------------------------------------------------------------

    def connected(self, now: float) -> None:
        """Log in, join subscriptions, send requests and publish again, in this order."""
        self.is_connected = True
        self.has_heard = self.was_answered = False
        self.generation += 1
        self._last_sent = self._last_received = now
        self._splitter = FrameSplitter(FRAME_BYTES_MAX)
        self._to_rejoin.clear()
        self._to_be_ready.clear()
        if self._login is None:
            self._resume()
        else:
            self._send_step(self._login.begin())

    def _resume(self) -> None:
        """Send everything that has waited for a connection."""
        self.is_open = True
        waiting, self._pending = self._pending, {}
        for membership in self.memberships.values():
            self._rejoin(membership)
        for pending in waiting.values():
            self._send(pending)
        for publication in self._publications.all_to_send():
            self._post(publication)

    def disconnected(self) -> None:
        self.is_connected = self.is_open = False
        if self._login_call is not None:
            text = "the broker closed the connection before the login was done; check security.protocol"
            self._end_login_call(NotConnected(text))
        self._out.clear()
        self._published.clear()
        self._publications.disconnected()
        for message_id, pending in list(self._pending.items()):
            if isinstance(pending.value, wire.Unsubscribe):  # the end of the connection ends the membership
                del self._pending[message_id]
                pending.answered(None)
            elif pending.call is None:  # our own topic, created again
                del self._pending[message_id]

    def received(self, data: bytes, now: float) -> list[Event]:
        """Take bytes from the broker. Raises ProtocolError if the connection cannot be used any more."""
        self._last_received = now
        self.has_heard = self.is_open
        self.was_heard = self.was_answered = True
        try:
            for frame in self._splitter.feed(data):
                if frame.type is FrameType.DATA:
                    self._deliver(frame)
                else:
                    self._handle(frame)
        except MalformedFrame as error:
            raise ProtocolError(f"the broker does not speak the push protocol: {error}") from error
        if self.is_open:
            self.refusal = None
        events, self._events = self._events, []
        return events

    def tick(self, now: float) -> bool:
        """Send heartbeats. False if the broker has been silent for too long: the connection is dead."""
        if now - self._last_received >= DEAD_AFTER_INTERVALS * self._heartbeat_interval_s:
            return False
        if self._login is not None and now >= self._login.again_at:
            self._send_step(self._login.begin())
        rejoining, self._to_rejoin = self._to_rejoin, []
        for membership in rejoining:
            self._rejoin(membership)
        refreshing, self._to_be_ready = self._to_be_ready, []
        for membership in refreshing:
            self._say_ready(membership)
        if now - self._last_sent >= self._heartbeat_interval_s:
            self._out.append(wire.encode(wire.Heartbeat()))
        return True

    def due_in(self, now: float) -> float:
        """Seconds until a heartbeat has to be sent, or the broker counts as dead, if nothing passes until then."""
        dead = self._last_received + DEAD_AFTER_INTERVALS * self._heartbeat_interval_s
        return max(0.0, min(self._last_sent + self._heartbeat_interval_s, dead, self.login_due_at) - now)

    @property
    def login_due_at(self) -> float:
        """When the client has to log in again; infinity while a login is under way, or if there is none."""
        return math.inf if self._login is None else self._login.again_at

    @property
    def has_due_work(self) -> bool:
        """Whether the next `tick` has more to do than checking the time."""
        return bool(self._to_rejoin or self._to_be_ready)

    def data_to_send(self, now: float) -> bytes:
        if not self._out or not self.is_connected:
            return b""
        data = self._out[0] if len(self._out) == 1 else b"".join(self._out)
        self._out.clear()
        self._last_sent = now
        return data

    @property
    def has_output(self) -> bool:
        return bool(self._out)

    def close(self, reason: str) -> None:
        """Disconnect, and end every wait for an answer that will not come."""
        if self.is_connected:
            self._out.append(wire.encode(wire.Disconnect(reason)))
        self._give_up(ClientClosed("the client was disconnected before the answer came"))
        self.memberships.clear()

    def failed(self, error: ProtocolError, epoch: int) -> bool:
        """Give up requests in flight after the broker closed the connection over one of them: they are not sent again.

        Publications whose outcome is unknown leave gaps, so sequences start again. Returns whether a caller is told.
        """
        self.not_connected(error)
        is_told = self._give_up(error)
        self._publications = Publications(self.client_id, epoch)
        return is_told

    def turned_away(self, error: ProtocolError, epoch: int) -> bool:
        """The broker has ended a connection on which it has said nothing, perhaps for this reason.

        If it never has said anything, requests are given up. Otherwise it was right once, and may be again: an outage
        looks the same. Returns whether a caller is told.
        """
        self.refusal = error
        return not self.was_heard and self.failed(error, epoch)

    def not_connected(self, error: Exception) -> None:
        """An attempt to connect has failed."""
        self.refusal = error if is_refusal(error) else None

    def _give_up(self, error: Exception) -> bool:
        calls = [publication.call for publication in self._publications.clear()]
        waiting, self._pending = self._pending, {}
        calls += [pending.call for pending in waiting.values() if pending.call is not None]
        is_told = bool(calls) or self._login_call is not None
        self._end_login_call(error)
        self._published.clear()
        for call in calls:
            call.fail(error)
        return is_told

    # --- the login -------------------------------------------------------------------------------------------------

    def await_login(self, call: Call) -> None:
        """Have a call told whether the first login succeeds; it does at once if there is none."""
        if self._login is None or self.is_open:
            call.succeed(None)
        else:
            self._login_call = call

    def _send_step(self, step: wire.Authenticate) -> None:
        message_id = next(self._ids)
        self._pending[message_id] = Pending(step, self._step_answered, _login_refused)
        self._out.append(wire.encode(step, message_id))

    def _step_answered(self, answer: Any) -> None:
        assert self._login is not None
        if not isinstance(answer, wire.AuthenticateAck):
            raise LoginFailed("the broker's answer to AUTHENTICATE is one to another request")
        step = self._login.answered(answer, self._last_received)
        if step is not None:
            self._send_step(step)
        elif not self.is_open:
            self._resume()
            self._end_login_call(None)

    def _end_login_call(self, error: Exception | None) -> None:
        call, self._login_call = self._login_call, None
        if call is None:
            return
        if error is None:
            call.succeed(None)
        else:
            call.fail(error)

    # --- requests --------------------------------------------------------------------------------------------------

    def request(self, value: Any, call: Call) -> None:
        """Send any request that is answered by ACK or ERROR, except PUBLISH and SUBSCRIBE."""

        def answered(answer: Any) -> None:
            if isinstance(value, wire.CreateTopic):
                self.partition_counts[value.topic] = answer.partitions
            elif isinstance(value, wire.Unsubscribe | wire.DeleteSubscription):
                self.memberships.pop(value.name, None)
            call.succeed(answer)

        generation = self.generation

        def refused(error: Exception) -> None:
            # The first attempt may have taken effect before its connection broke.
            if isinstance(error, UnknownSubscription) and self.generation > generation and is_deletion:
                answered(None)
            elif (
                isinstance(error, BrokerRefused)
                and isinstance(value, wire.CreateSubscription)
                and error.code == CONFLICT
            ):
                call.fail(SubscriptionConflict(error.code, str(error)))
            else:
                call.fail(error)

        is_deletion = isinstance(value, wire.DeleteSubscription)
        self._send(Pending(value, answered, refused, call))

    def subscribe(self, membership: Membership, call: Call) -> None:
        def answered(answer: wire.SubscribeAck) -> None:
            membership.name = answer.subscription
            membership.credit = answer.credit
            self.memberships[membership.name] = membership
            self.lost.pop(membership.name, None)
            call.succeed(membership)

        self._send(Pending(membership.request(self.client_id), answered, call.fail, call))

    def publish(self, publication: Publication) -> None:
        self._publications.add(publication)
        if self.is_open:
            self._post_waiting(publication)

    def acknowledge(self, name: str, acknowledgements: Acknowledgements) -> None:
        """Send acknowledgements; those of an earlier connection are dropped, because its messages come again."""
        ranges = acknowledgements.take()
        if acknowledgements.generation != self.generation or not self.is_connected or name not in self.memberships:
            return
        for at in range(0, len(ranges), ACK_RANGES_MAX):
            # With an id, though it has no answer: a refusal must not look like the end of the connection.
            self._out.append(wire.encode(AckData(name, ranges[at : at + ACK_RANGES_MAX]), next(self._ids)))

    def withdraw(self, call: Call, publication: Publication | None = None) -> bool:
        """Give up on a call. True if it certainly had and will have no effect."""
        call.done = True
        if publication is not None:
            return self._publications.withdraw(publication)
        for message_id, pending in self._pending.items():
            if pending.call is call:
                del self._pending[message_id]
                break
        return False

    def _send(self, pending: Pending) -> None:
        message_id = next(self._ids)
        self._pending[message_id] = pending
        if self.is_open:
            self._out.append(wire.encode(pending.value, message_id))

    def _post_waiting(self, about: Publication) -> None:
        if self._publications.renewed():
            for publication in self._publications.all_to_send():
                self._post(publication)
            return
        for publication in self._publications.to_send(about.topic, about.partition):
            self._post(publication)

    def _post(self, publication: Publication) -> None:
        message_id = next(self._ids)
        self._published[message_id] = publication
        self._out.append(wire.encode(self._publications.encoded(publication), message_id))

    def _rejoin(self, membership: Membership) -> None:
        def refused(error: Exception) -> None:
            if isinstance(error, BrokerRefused) and error.code in TRANSIENT:
                self._to_rejoin.append(membership)  # at the next tick
                return
            taken = self._taken_away
            if taken is not None and isinstance(error, BrokerRefused) and error.code == taken.code:
                error = refusal(taken.code, taken.message)  # which says what right it was, and to what
            logger.error("subscription %s is lost: %s", membership.name, error)
            self.memberships.pop(membership.name, None)
            self.lost[membership.name] = error
            self._events.append(Lost(membership, error))

        self._send(Pending(membership.request(self.client_id), _nothing, refused))

    def _say_ready(self, membership: Membership) -> None:
        """Send READY.

        While something below the ends is not acknowledged the broker refuses it: the next tick retries.
        """
        refresh_id = membership.refresh_id
        if refresh_id is None:
            return

        def refused(_: Exception) -> None:
            if membership.refresh_id == refresh_id and membership.name in self.memberships:
                self._to_be_ready.append(membership)

        self._send(Pending(wire.Ready(membership.name, refresh_id), _nothing, refused))

    # --- answers and deliveries ------------------------------------------------------------------------------------

    def _deliver(self, frame: Frame) -> None:
        name, topic, items = decode_data(frame.payload)
        membership = self.memberships.get(name)
        if membership is None:
            return  # the client left meanwhile: the broker takes back unacknowledged messages
        generation = self.generation
        found = [Message(name, topic, generation, *item) for item in items]
        last = self._events[-1] if self._events else None
        if isinstance(last, Delivered) and last.membership is membership:
            last.messages.extend(found)
        else:
            self._events.append(Delivered(membership, found))

    def _handle(self, frame: Frame) -> None:
        value = wire.decode(frame)
        if frame.type is FrameType.ACK:
            self._acknowledged(frame.message_id, value)
        elif isinstance(value, wire.Error):
            self._refused(frame.message_id, value)
        elif isinstance(value, wire.Reset):
            membership = self.memberships.get(value.subscription)
            if membership is not None:
                self._events.append(Refreshed(membership, value))
                if membership.is_ready_by_itself:
                    membership.refresh_id = value.refresh_id
                    self._to_be_ready.append(membership)
        elif isinstance(value, wire.Disconnect):
            logger.info("the broker closes the connection: %s", value.reason)

    def _acknowledged(self, message_id: int, answer: Any) -> None:
        publication = self._published.pop(message_id, None)
        if publication is None:
            pending = self._pending.pop(message_id, None)
            if pending is not None:
                pending.answered(answer)
            return
        self._publications.stored(publication)
        publication.call.succeed(Published(publication.topic, *answer))
        self._post_waiting(publication)

    def _refused(self, message_id: int, error: wire.Error) -> None:
        if message_id == NO_ID:
            self._taken_away = error if error.code in RIGHTS else None
            if error.code == ErrorCode.ILLEGAL_SASL_STATE and self._login is None:
                raise WrongProtocol(LOGIN_WANTED)
            raise ProtocolError(f"the broker closes the connection: {error.message}")
        publication = self._published.pop(message_id, None)
        if publication is None:
            pending = self._pending.pop(message_id, None)
            if pending is not None:
                pending.refused(refusal(error.code, error.message))
            else:  # the refusal of a late acknowledgement, or an answer whose caller has given up
                logger.debug("refused: %s", error.message)
            return
        for_its_place = error.code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        if self._publications.refused(publication, for_its_place=for_its_place):
            if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                self.partition_counts.pop(publication.topic, None)
            publication.call.fail(refusal(error.code, error.message))
        self._post_waiting(publication)


def _nothing(_: Any) -> None:
    """The answer to a request without a waiting caller."""


def _login_refused(error: Exception) -> None:
    raise LoginFailed(f"the broker does not let this client in: {error}") from error
