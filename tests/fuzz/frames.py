"""Target: bytes on a Kafka connection, in any pieces, decoded and served by a whole broker.

    byte 0     how the bytes are cut into pieces: 0 not at all, else the seed of their lengths
    byte 1     bit 0: the client reads nothing until the end · bit 1: every API is loaded already
    the rest   what the client sends

Wrong is: an exception other than MalformedRequest, an error in the log, a request that is neither answered nor ends
the connection, an answer that does not decode as what was asked for, and whatever is left when the client has gone.
"""

from __future__ import annotations

import asyncio
import functools
import random
import struct
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from kio.serial import entity_reader
from kio.serial.errors import OutOfBoundValue

from penstock.broker.broker import Broker
from penstock.broker.dispatcher import Dispatcher
from penstock.broker.gate import Gate
from penstock.net.connection.connection import Connection
from penstock.net.connection.scratch import SCRATCH_BYTES
from penstock.net.listener import Listener
from penstock.net.reply import Reply
from penstock.net.service import Channel, Service, Stream
from penstock.node.kafka_door import listener_options
from penstock.node.security.door_plans import plan_doors
from penstock.protocol.kafka.apis import API_VERSIONS, APIS, PRODUCE
from penstock.protocol.kafka.headers import read_request_header
from penstock.protocol.kafka.primitives import MalformedRequest
from penstock.security.session import Session
from tests.fuzz.finding import ErrorLog, Finding, watched
from tests.fuzz.mutation import Change, change_somehow, join_frames, rearrange, split_frames
from tests.fuzz.samples import API_NAMES, BATCHES, conversations, every_request, request
from tests.fuzz.world import SETTINGS, TOPICS, World, without_chance
from tests.support.admission import open_door
from tests.support.wire import API_KEYS, frame, response_schema

READS_LATE, LOADED = 1, 2
PIECES = (1, 1, 2, 3, 4, 5, 7, 16, 60, 200, 1_000)
# A fetch waits for five minutes at most. A member may wait for the others of its group as long as it likes.
PATIENCE_SECONDS: Final = 400.0
MAY_WAIT: Final = (API_KEYS["join_group"], API_KEYS["sync_group"])
GARBAGE: Final = b"\xa5" * SCRATCH_BYTES
EVERY_VERSION: Final = {(api.key, version) for api in APIS.values() for version in range(api.oldest, api.newest + 1)}


def run(data: bytes) -> None:
    converse(data, Conversation)


def converse(data: bytes, make: Callable[[World, int], Conversation]) -> None:
    """Hold the conversation of an input with a broker of its own: two bytes of flags, then those of the connection."""
    if len(data) < 2:
        return
    errors = ErrorLog()
    with without_chance(), watched(), errors.listening():
        world = World()
        try:
            conversation = make(world, data[1])
            world.loop.run_until_complete(conversation.hold(data[2:], data[0]))
        finally:
            world.close()
    errors.check()
    conversation.check_answers()


class Conversation:
    """One client's connection, from its first byte to its end."""

    def __init__(self, world: World, flags: int) -> None:
        self._loop = world.loop
        self._flags = flags
        self.asked: list[tuple[int, int, int]] = []  # api key, version, number
        self.transport = FakeTransport(reads_late=bool(flags & READS_LATE))
        self.connection = self._loop.run_until_complete(self._connect(world.broker))

    async def _connect(self, broker: Broker) -> Connection:
        """The listener never listens, but makes the connection as it makes all of them."""
        dispatcher = Dispatcher(broker)
        if self._flags & LOADED:
            dispatcher._loaded = EVERY_VERSION.copy()
        gate = Gate(dispatcher, broker.quotas, broker.access, broker.metrics)
        listener = WatchedListener(broker, gate, self.asked)
        self._scratch = listener.scratch
        connection = listener.connection()
        connection.connection_made(cast(asyncio.Transport, self.transport))
        return connection

    async def hold(self, data: bytes, cut: int) -> None:
        for piece in pieces(data, cut):
            await self._until_reading()
            if self.transport.closed or self.transport.paused:
                break
            self._receive(piece)
        await self._until(lambda: self.connection.answered)
        if not self.transport.closed and not self.connection.answered:
            self._check_waiting()
        self.transport.read_all(self.connection)
        await asyncio.sleep(0)
        self.connection.connection_lost(None)
        for _ in range(5):  # what was cancelled ends
            await asyncio.sleep(0)

    def _receive(self, piece: bytes) -> None:
        position = 0
        while position < len(piece) and not self.transport.closed and not self.transport.paused:
            buffer = self.connection.get_buffer(-1)
            step = min(len(buffer), len(piece) - position)
            if step <= 0:
                raise Finding("no room to read into")
            buffer[:step] = piece[position : position + step]
            position += step
            self.connection.buffer_updated(step)
            used = min(SCRATCH_BYTES, step + 8)
            self._scratch[:used] = GARBAGE[:used]  # as the next connection would: it must not be needed any more

    async def _until_reading(self) -> None:
        await asyncio.sleep(0)
        if self.transport.paused:
            await self._until(lambda: not self.transport.paused)

    async def _until(self, condition: Any) -> None:
        """Advance time, ever faster, until the condition holds or no client would still wait for its next answer."""
        deadline, step, waiting = self._loop.time() + PATIENCE_SECONDS, 0.0, self._waiting()
        while not condition() and not self.transport.closed and self._loop.time() < deadline:
            await asyncio.sleep(step)
            step = step * 2 or 0.001
            if self._waiting() != waiting:
                deadline, step, waiting = self._loop.time() + PATIENCE_SECONDS, 0.0, self._waiting()
            if self._loop.time() > deadline - PATIENCE_SECONDS / 2:
                self.transport.read_all(self.connection)

    def _waiting(self) -> tuple[int, int]:
        """Requests to be served, and to be answered: one that was served late may wait as long as those before it."""
        return len(self.connection._queue.frames), len(self.connection._answers.replies)

    def _check_waiting(self) -> None:
        slots = self.connection._answers.replies
        if not self.connection.muted and (not slots or slots[0].api_key not in MAY_WAIT):
            raise Finding(f"no answer after {PATIENCE_SECONDS} s: {[slot.api_key for slot in slots]}")

    def check_answers(self) -> None:
        """Every answer is one to the next request that is answered at all, and decodes as such."""
        asked = iter(self.asked)
        for answer in self.transport.answers():
            (correlation_id,) = struct.unpack_from(">i", answer)
            for key, version, expected in asked:
                if expected == correlation_id:
                    check_answer(key, version, answer)
                    break
                if key != PRODUCE:
                    raise Finding(f"API {key} v{version} was not answered, a later request was")
            else:
                raise Finding(f"an answer to nothing: {answer.hex()}")


def check_answer(key: int, version: int, answer: bytes) -> None:
    if key == API_VERSIONS and not APIS[key].accepts(version):
        version = 0
    schema = response_schema(API_NAMES[key], version)
    _, header_bytes = entity_reader(schema.__header_schema__)(answer, 0)
    try:
        _, body_bytes = entity_reader(schema)(answer, header_bytes)
    except OutOfBoundValue:
        if key != PRODUCE:
            raise
        return  # kio reads no time before 1970; a duplicate is told the time of its batch, whatever it is
    if header_bytes + body_bytes != len(answer):
        raise Finding(f"{len(answer) - header_bytes - body_bytes} bytes too many in an answer of API {key} v{version}")


def pieces(data: bytes, cut: int) -> Iterator[bytes]:
    if not cut:
        yield data
        return
    choose = random.Random(cut)
    position = 0
    while position < len(data):
        size = choose.choice(PIECES)
        yield data[position : position + size]
        position += size


class WatchedListener(Listener):
    """A listener whose service is watched."""

    def __init__(self, broker: Broker, service: Service, asked: list[tuple[int, int, int]]) -> None:
        options = listener_options(SETTINGS, plan_doors(SETTINGS).kafka[0])
        super().__init__(options, WatchedService(service, asked), broker.flow, broker.metrics, open_door())

    @property
    def scratch(self) -> memoryview:
        return self._shared.scratch

    def connection(self) -> Connection:
        return self._make()


class WatchedService:
    """Watches the channel of each connection."""

    def __init__(self, service: Service, asked: list[tuple[int, int, int]]) -> None:
        self._service = service
        self._asked = asked

    def connected(self, stream: Stream) -> Channel:
        channel = self._service.connected(stream)
        assert channel is not None
        return WatchedChannel(channel, self._asked)

    def refusal_delay(self, host: str) -> float:
        return self._service.refusal_delay(host)

    def answered(self, api_key: int, seconds: float) -> None:
        self._service.answered(api_key, seconds)


class WatchedChannel:
    """Notes what was asked, numbered one by one; what it says is the channel's."""

    def __init__(self, channel: Channel, asked: list[tuple[int, int, int]]) -> None:
        self._channel = channel
        self._asked = asked

    @property
    def session(self) -> Session:
        return self._channel.session

    @property
    def is_authenticated(self) -> bool:
        return self._channel.is_authenticated

    def serve(self, frame: memoryview) -> Reply:
        try:
            header = read_request_header(frame)
        except MalformedRequest:
            pass
        else:
            number = len(self._asked)
            frame[4:8] = number.to_bytes(4, "big")
            self._asked.append((header.api_key, header.version, number))
        return self._channel.serve(frame)

    def closed(self) -> None:
        self._channel.closed()


class FakeTransport:
    """The world outside: takes answers, at once or late."""

    def __init__(self, *, reads_late: bool) -> None:
        self.sent = bytearray()
        self.paused = False
        self.closed = False
        self._unread = 0
        self._high = 0
        self._reads_late = reads_late

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("127.0.0.1", 50_000), "sockname": ("127.0.0.1", 9092)}.get(name, default)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = high or 0

    def get_write_buffer_size(self) -> int:
        return self._unread

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self.closed:
            raise Finding("written to a connection that is closed")
        self.sent += data
        if self._reads_late:
            self._unread += len(data)

    def writelines(self, parts: Any) -> None:
        for part in parts:
            self.write(part)

    def read_all(self, connection: Connection) -> None:
        if self._unread:
            self._unread = 0
            connection.resume_writing()

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def answers(self) -> Iterator[bytes]:
        position = 0
        while position < len(self.sent):
            (size,) = struct.unpack_from(">i", self.sent, position)
            position += 4
            if size < 4 or position + size > len(self.sent):
                raise Finding(f"an answer of {size} bytes, {len(self.sent) - position} were sent")
            yield bytes(self.sent[position : position + size])
            position += size


# --- inputs ----------------------------------------------------------------------------------------------------------


@functools.cache
def spare_frames() -> tuple[bytes, ...]:
    return tuple(payload for _, _, payload in every_request())


def seeds() -> dict[str, bytes]:
    found = {
        f"{name}-v{version}": bytes((version % 3, LOADED if version % 2 else 0)) + frame(payload)
        for name, version, payload in every_request()
    }
    for name, conversation in conversations().items():
        for flags in range(4):
            found[f"{name}-{flags}"] = bytes((flags, flags)) + join_frames(conversation)
    for name, records in BATCHES.items():
        data = [{"name": topic, "partition_data": [{"index": 0, "records": records}]} for topic in TOPICS]
        for acks in (0, 1, 5):
            found[f"produce-{name}-{acks}"] = b"\0\0" + frame(request("produce", 9, acks=acks, topic_data=data))
    found["nothing"] = b"\0\0\0\0\0\0"
    found["http"] = b"\0\0GET / HTTP/1.1\r\n\r\n"
    found["too large"] = b"\0\0\x7f\xff\xff\xff"
    return found


def mutate(data: bytes, max_bytes: int, choose: random.Random, change: Change) -> bytes:
    if len(data) < 2 or choose.random() < 0.05:
        return change(data, max_bytes)
    head, frames = data[:2], split_frames(data[2:])
    kind = choose.random()
    if kind < 0.1:
        head = bytes((choose.randrange(256), choose.randrange(4)))
    elif kind < 0.35 or not frames:
        rearrange(frames, spare_frames(), choose)
    else:
        at = choose.randrange(len(frames))
        first = choose.choice((0, 2, 4, 8, 10, 15)) if choose.random() < 0.5 else 15
        changed = change_somehow(frames[at][first:], max_bytes, choose, change)
        frames[at] = frames[at][:first] + changed
    return (head + join_frames(frames))[:max_bytes]
