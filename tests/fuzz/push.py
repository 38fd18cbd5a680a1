"""Target: bytes on a push connection, in any pieces, decoded and served by a whole broker with its subscriptions.

    byte 0     how the bytes are cut into pieces: 0 not at all, else the seed of their lengths
    byte 1     bit 0: the client reads nothing until the end; bit 1: the listener has SASL; bit 2: its sessions end
    the rest   what the client sends

Wrong is: an exception other than MalformedFrame, an error in the log, a request that is neither answered nor ends the
connection, anything sent that is no frame or does not belong there, a payload that means something else once it is
written and read again, a request that is served without a login where one is asked for, and whatever is left when the
client has gone.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any, Final
from unittest.mock import patch

from scramp.core import Nonce

from penstock.broker.push.connection import UNSENT_BYTES_MAX, PushConnection
from penstock.broker.push.publishing import Answers
from penstock.broker.push.server import PushDoor
from penstock.net.login.logins import MECHANISMS, Logins
from penstock.net.outbox import Outbox
from penstock.node.push_door import build_push_door
from penstock.protocol.push import messages as m
from penstock.protocol.push.data import AckData, AckRange, Data, Verdict, data_frame, data_head, encode_item
from penstock.protocol.push.frames import HEADER_BYTES, Frame, FrameSplitter, FrameType, MalformedFrame, encode_frame
from penstock.protocol.push.states import Side, State, step
from penstock.protocol.push.values import Start, StartKind
from penstock.security.audit import Audit
from penstock.security.listener import ListenerSecurity, SecurityProtocol
from penstock.security.session import Session
from tests.fuzz.finding import ErrorLog, Finding, watched
from tests.fuzz.frames import FakeTransport, pieces
from tests.fuzz.logins import ALICE, CREDENTIALS, NONCE, SESSION_MS, USER, exchange
from tests.fuzz.mutation import Change, change_somehow, rearrange
from tests.fuzz.world import World, without_chance
from tests.support.admission import open_door

READS_LATE, HAS_SASL, ENDS = 1, 2, 4
# Longer than the ack timeout: what was not acknowledged comes again.
LATER_SECONDS: Final = (1.0, 31.0, 31.0)
ANSWERED: Final = frozenset(FrameType) - {
    FrameType.DATA, FrameType.ACK, FrameType.DISCONNECT, FrameType.HEARTBEAT, FrameType.ERROR,
}  # fmt: skip


def run(data: bytes) -> None:
    if len(data) < 2:
        return
    errors = ErrorLog()
    with without_chance(), watched(), errors.listening(), patch.object(Nonce, "create", lambda: Nonce(NONCE)):
        asked = frames_of(data[2:])
        for frame in asked:
            check_payload(frame)
        world = World()
        try:
            transport = world.loop.run_until_complete(converse(world, data))
        finally:
            world.close()
    errors.check()
    check_answers(asked, transport)


async def converse(world: World, data: bytes) -> PushTransport:
    """One client, from its first byte until it has gone."""
    loop = asyncio.get_running_loop()
    door = build_push_door(world.broker, world.engine.metadata, Outbox(loop.call_soon), open_door("push"))
    door.subscriptions.load()
    if data[1] & HAS_SASL:
        ask_for_login(door, world, SESSION_MS if data[1] & ENDS else 0)
    connection = door._make()
    transport = PushTransport(connection, reads_late=bool(data[1] & READS_LATE))
    connection.connection_made(transport)  # type: ignore[arg-type]
    for piece in pieces(data[2:], data[0]):
        await _until(lambda: not transport.paused or transport.closed)
        if transport.closed:
            break
        connection.data_received(piece)
        world.engine.tick()
    for seconds in LATER_SECONDS:
        await asyncio.sleep(seconds)
        world.engine.tick()
        transport.read_all(connection)
    connection.connection_lost(None)
    for _ in range(5):  # what was cancelled ends
        await asyncio.sleep(0)
    if door.connection_count or door.subscriptions.member_count or door.subscriptions.in_flight:
        raise Finding("the client has gone, and its connection or its memberships are still there")
    door.subscriptions.stop()
    await asyncio.sleep(1.0)
    return transport


def ask_for_login(door: PushDoor, world: World, session_ms: int) -> None:
    """Give the door a listener with SASL, and guard what is behind the login."""
    users, clock = world.broker.controller.users.table, asyncio.get_running_loop().time
    for mechanism, credential in CREDENTIALS.items():
        users.put(USER, mechanism, credential)
    door._security = ListenerSecurity("PUSH", SecurityProtocol.SASL_PLAINTEXT, MECHANISMS, session_ms)
    door._logins = Logins(users, Audit(clock), failure_delay_ms=100, clock=clock)
    serve, publish = door.requests.serve, door.publisher.publish

    def check(session: Session, what: str) -> None:
        if not session.authenticated or session.principal != ALICE:
            raise Finding(f"{what} is served to {session}")

    async def guarded_serve(connection: PushConnection, frame: Frame, request: m.Payload) -> None:
        if not isinstance(request, m.Authenticate):
            check(connection.session, frame.type.name)
        await serve(connection, frame, request)

    def guarded_publish(messages: list[tuple[int, m.Publish, int]], session: Session, answers: Answers) -> None:
        check(session, "PUBLISH")
        publish(messages, session, answers)

    door.requests.serve = guarded_serve  # type: ignore[method-assign]
    door.publisher.publish = guarded_publish  # type: ignore[method-assign]


async def _until(condition: Any) -> None:
    """A client waits for a while; then it reads what it was sent, or sends no more."""
    for _ in range(100):
        await asyncio.sleep(0)
        if condition():
            return
    await asyncio.sleep(10.0)


class PushTransport(FakeTransport):
    """Tells its connection when it is full, as asyncio's do."""

    def __init__(self, connection: Any, *, reads_late: bool) -> None:
        super().__init__(reads_late=reads_late)
        self._connection = connection
        self._is_full = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        super().write(data)
        if self.get_write_buffer_size() > UNSENT_BYTES_MAX and not self._is_full:
            self._is_full = True
            self._connection.pause_writing()

    def read_all(self, connection: Any) -> None:
        self._is_full = False
        super().read_all(connection)


def frames_of(stream: bytes) -> list[Frame]:
    """Those before the first that is none."""
    splitter, found = FrameSplitter(), []
    try:
        for at in range(len(stream)):
            found += splitter.feed(stream[at : at + 1])
    except MalformedFrame:
        pass
    return found


def check_payload(frame: Frame) -> None:
    """A decoded value is encoded as bytes that decode to the same value."""
    try:
        value = m.decode(frame)
    except MalformedFrame:
        return
    if isinstance(value, Data):
        items = [encode_item(*each) for each in value.items]
        written = data_frame(data_head(value.subscription, value.topic), items, frame.message_id)
    else:
        written = m.encode(value, frame.message_id)
    (again,) = FrameSplitter().feed(written)
    if m.decode(again) != value or again.type is not frame.type:
        raise Finding(f"{value} is written as {m.decode(again)}")


def check_answers(asked: list[Frame], transport: PushTransport) -> None:
    """Everything sent is a frame that a broker may send, and every request has its answer, or the connection ended."""
    splitter = FrameSplitter(1 << 30)
    sent = splitter.feed(bytes(transport.sent))
    if splitter.held_bytes:
        raise Finding("half a frame was sent")
    state = State.SUBSCRIBED if any(frame.type is FrameType.SUBSCRIBE for frame in asked) else State.OPEN
    answers: Counter[int] = Counter()
    for frame in sent:
        if state is State.CLOSING:
            raise Finding(f"{frame.type.name} after the last frame")
        m.decode(frame)
        state = step(state, Side.BROKER, frame.type, frame.message_id)
        answers[frame.message_id] += frame.type in (FrameType.ACK, FrameType.ERROR)
    if transport.closed or transport.paused:
        return
    requests = Counter(frame.message_id for frame in asked if frame.type in ANSWERED)
    if missing := requests - answers:
        raise Finding(f"no answer to {dict(missing)}")


# --- inputs ----------------------------------------------------------------------------------------------------------

_TIME: Final = 1_700_000_000_000
_EARLIEST: Final = Start(StartKind.EARLIEST, 0)
REQUESTS: Final[dict[str, m.Payload]] = {
    "publish": m.Publish("c", 1, 0, "t", 0, b"k", b"body", ((b"p", b"v"), (b"ttl-ms", b"5")), _TIME),
    "publish-anywhere": m.Publish("", 0, -1, "t", -1, None, None),
    "publish-nowhere": m.Publish("c", 1, 1, "missing", 0, None, b"x"),
    "publish-compacted": m.Publish("c", 1, 0, "compacted", 0, b"k", b"x"),
    "create-topic": m.CreateTopic("new", 2),
    "create-subscription": m.CreateSubscription("s", "t", _EARLIEST, m.Delivery.KEY),
    "delete-subscription": m.DeleteSubscription("s"),
    "subscribe": m.Subscribe("", "t", "s", "c", 100, 10, _EARLIEST),
    "subscribe-by-name": m.Subscribe("s", "", "", "c", 1, 1, _EARLIEST),
    "unsubscribe": m.Unsubscribe("s"),
    "commit": m.CommitOffset("s", 0, 2),
    "reset": m.Reset("s", 0, ()),
    "ready": m.Ready("s", 1),
    "ack": AckData("s", (AckRange(0, 0, 1),)),
    "give-back": AckData("s", (AckRange(0, 2, 2), AckRange(0, 3, 3, Verdict.NOT_DONE))),
    "heartbeat": m.Heartbeat(),
    "disconnect": m.Disconnect("done"),
    "error": m.Error(1, "no"),
}
for _mechanism in MECHANISMS:
    for _number, _message in enumerate(exchange(_mechanism), 1):
        REQUESTS[f"{_mechanism}-{_number}"] = m.Authenticate(_mechanism, _message)
REQUESTS["wrong"] = m.Authenticate("PLAIN", b"\0alice\0wrong")
REQUESTS["other"] = m.Authenticate("GSSAPI", b"x")
_256, _512 = (("SCRAM-SHA-256-1", "SCRAM-SHA-256-2"), ("SCRAM-SHA-512-1", "SCRAM-SHA-512-2"))
LOGINS: Final = {
    "plain": ("PLAIN-1", "publish", "subscribe", "ack"),
    "scram": (*_256, "create-topic", "publish", "heartbeat"),
    "scram-512": ("heartbeat", *_512, "subscribe", "publish", "disconnect"),
    "again": (*_256, "publish", *_256, "publish", "PLAIN-1", "publish"),
    "between": (_256[0], "publish", _256[1]),
    "mixed": (_256[0], _512[1], "publish"),
    "early": ("publish", "PLAIN-1"),
    "wrong": ("wrong", "publish", "PLAIN-1", "publish"),
    "unknown": ("other", "publish"),
}
CONVERSATIONS: Final = {
    "publishes": ("create-topic", "publish", "publish", "publish-anywhere", "publish-nowhere", "publish-compacted"),
    "reads": ("subscribe", "ack", "give-back", "commit", "publish", "unsubscribe", "disconnect"),
    "twice": ("create-subscription", "subscribe-by-name", "subscribe-by-name", "ack", "delete-subscription", "ack"),
    "refreshes": ("subscribe", "ack", "reset", "ready", "ack", "ready", "heartbeat"),
}


def _encoded(name: str, number: int) -> bytes:
    quiet = name in ("heartbeat", "disconnect", "error")
    return m.encode(REQUESTS[name], 0 if quiet else number)


def seeds() -> dict[str, bytes]:
    found = {name: b"\0\0" + _encoded(name, 1) for name in REQUESTS}
    for name, conversation in CONVERSATIONS.items():
        stream = b"".join(_encoded(each, number) for number, each in enumerate(conversation, 1))
        for flags in range(2):
            found[f"{name}-{flags}"] = bytes((flags * 3, flags)) + stream
    for name, conversation in LOGINS.items():
        stream = b"".join(_encoded(each, number) for number, each in enumerate(conversation, 1))
        for flags in (HAS_SASL, HAS_SASL | ENDS, READS_LATE | HAS_SASL):
            found[f"login-{name}-{flags}"] = bytes((flags & 4, flags)) + stream
    item = encode_item(0, 1, b"k", 3, _TIME, b"", b"body")
    found["data"] = b"\0\0" + data_frame(data_head("s", "t"), [item, item], 1)
    found["half"] = found["publish"][:20]
    found["too large"] = b"\0\0" + found["publish"][2:11] + b"\xff\xff\xff\xff"
    found["http"] = b"\0\0GET / HTTP/1.1\r\n\r\n"
    return found


def mutate(data: bytes, max_bytes: int, choose: random.Random, change: Change) -> bytes:
    if len(data) < 2 or choose.random() < 0.05:
        return change(data, max_bytes)
    head, parts = data[:2], [encode_frame(*frame) for frame in frames_of(data[2:])]
    kind = choose.random()
    if kind < 0.1:
        head = bytes((choose.randrange(256), choose.randrange(8)))
    elif kind < 0.4 or not parts:
        rearrange(parts, [_encoded(name, choose.randrange(1, 9)) for name in REQUESTS], choose)
    else:
        at = choose.randrange(len(parts))
        number, message_id = parts[at][0], int.from_bytes(parts[at][1:9], "big", signed=True)
        if choose.random() < 0.1:
            number = int(choose.choice(list(FrameType)))
        payload = change_somehow(parts[at][HEADER_BYTES:], max_bytes, choose, change)
        parts[at] = encode_frame(number, message_id, payload)
    return (head + b"".join(parts))[:max_bytes]
