"""Fetch (key 1, v4–18): record batches from offsets on, waiting for them if there are none.

Behaviour:
- Answered as soon as there are min_bytes, an error or a diverging epoch in any partition, or max_wait is over; until
  then the request is parked, and the flush that raises a high watermark wakes it at once.
- The first partition with data gives at least one batch, however large; the others obey max_bytes.
- read_committed reads to the last stable offset, and names the aborted transactions among what is sent.
- Reads come from the page cache. The rest is read in a thread, so that a cold disk delays one client only.

Differs from Kafka:
- An answer goes on from one segment to the next until a limit is reached, or until the next is not in the page cache,
  and ends with a whole batch.
- max_wait is at most five minutes, and less while the fetches that wait have a million partitions together.
- A session ends with an answer that has more than a thousand errors, and a large request for more partitions than there
  are begins none; the client goes on without one.

Version notes:
- v5 adds the log start, v7 sessions, v9 the leader epoch, v11 the rack; v12 is flexible and detects divergence by the
  last fetched epoch (KIP-595); v13 names topics by id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import perf_counter
from typing import Final

from penstock.broker.broker import Broker
from penstock.broker.codec_threads import let_go
from penstock.broker.fetch.parking import NARROW
from penstock.broker.fetch.partition_read import FetchTarget, FetchTargets, distinct
from penstock.broker.fetch.refusal import refuse_isolation
from penstock.broker.fetch.sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    PARTITIONS_A_STEP,
    FetchSession,
    unsettled,
    wanted,
)
from penstock.broker.fetch.wide_wait import WideWait
from penstock.broker.quotas.fetch_meter import FetchMeter
from penstock.broker.request import AnyRequest
from penstock.cluster.partition import Partition
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import (
    FETCH_BYTES_UNDER_PRESSURE,
    FETCH_FURTHER_SEGMENTS_MAX,
    FETCH_WAIT_MS_MAX,
    REQUEST_BYTES_DECODED_AT_ONCE,
)
from penstock.net.connection.scratch import kept
from penstock.net.reply import Buffers, Reply
from penstock.protocol.kafka.apis import FETCH
from penstock.protocol.kafka.fetch import (
    ISOLATION_LEVELS,
    READ_COMMITTED,
    TOPIC_IDS,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    decode,
    encode_response,
)
from penstock.runtime.turns import Turns, finish

PARTITIONS_AT_ONCE_MAX: Final = 1_000
"""About 10 ms of work, if all of them are refused."""
PARTITION_BYTES: Final = 40
"""Of an answer, or about that, without its records."""
SESSION_ERRORS_MAX: Final = 1_000
"""Errors of an answer after which a session ends. They would be found, and sent, again for each of its requests, of
forty bytes; without a session a client has to name all that it wants to hear of."""


def handle(broker: Broker, request: AnyRequest) -> Reply:
    if len(request.frame) > REQUEST_BYTES_DECODED_AT_ONCE:
        request.frame = kept(request.frame)
        return Reply.when(_serve_large(broker, request))
    body, meter = _bounded(request, decode(request.frame, request.body_start, request.version))
    try:
        owner, by_id = request.session.principal, request.version >= TOPIC_IDS
        session = broker.fetch_sessions.open(body, owner, by_id, broker.clock.monotonic_ms())
    except KafkaError as error:
        return Reply.now(_without_session(request.version, meter, error))
    return _Fetch(broker, request, body, session, meter).start()


async def _serve_large(broker: Broker, request: AnyRequest) -> Buffers | None:
    """Serve a request that takes so long to decode that others would notice."""
    user, size = request.session.user, len(request.frame)
    body = await broker.codecs.run(user, size, decode, request.frame, request.body_start, request.version)
    request.frame = memoryview(b"")
    request.channel.frame_decoded()
    body, meter = _bounded(request, body)
    if body.session_epoch == INITIAL_EPOCH and len(body.partitions) > broker.settings.limits.partitions_max:
        # Most of them cannot exist: a session is not worth it. How many there are is not for everybody to find out.
        body = body._replace(session_epoch=FINAL_EPOCH)
    try:
        owner, by_id = request.session.principal, request.version >= TOPIC_IDS
        opening = broker.fetch_sessions.open_in_steps(body, owner, by_id, broker.clock.monotonic_ms())
        session = await finish(opening)
    except KafkaError as error:
        return _without_session(request.version, meter, error)
    return await _Fetch(broker, request, body, session, meter).serve_in_turns()


def _bounded(request: AnyRequest, body: FetchRequest) -> tuple[FetchRequest, FetchMeter | None]:
    """The body with the sizes that quotas leave to it, and the meter, if there are quotas."""
    meter = request.meter
    return (meter.bounded(body), meter) if isinstance(meter, FetchMeter) else (body, None)


def _without_session(version: int, meter: FetchMeter | None, error: KafkaError) -> Buffers:
    """The answer to a request whose session there is not."""
    instead = meter.instead([], 0) if meter is not None else None
    return instead or encode_response([], version, error_code=error.code)


class _Fetch:
    """One request, from its first look at the partitions to its answer."""

    __slots__ = (
        "_answers",
        "_asking",
        "_broker",
        "_channel",
        "_deadline",
        "_failed_count",
        "_finder",
        "_found_bytes",
        "_full",
        "_has_more",
        "_messages",
        "_meter",
        "_parked",
        "_read_seconds",
        "_reading",
        "_reply",
        "_request",
        "_rules_version",
        "_sent_bytes",
        "_session",
        "_stored_bytes",
        "_targets",
        "_timer",
        "_version",
        "_waits_on",
        "_wanted",
    )

    def __init__(
        self,
        broker: Broker,
        asked: AnyRequest,
        request: FetchRequest,
        session: FetchSession | None,
        meter: FetchMeter | None,
    ) -> None:
        self._broker = broker
        self._channel = asked.channel
        self._asking = asked.session
        self._meter = meter
        self._request = request
        self._version = asked.version
        self._session = session
        self._full = session is None or request.session_epoch == 0
        self._wanted: list[FetchPartition] = []
        names = session.names if session is not None and session.by_id else None
        self._finder = FetchTargets(broker, asked.session, request, names)
        self._targets: list[FetchTarget] = []
        self._answers: list[FetchedPartition] = []
        self._reply: Reply | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0  # on the loop's clock, once it waits
        self._waits_on: list[Partition] = []
        self._rules_version = 0  # of the authorizer, when it began to wait for data or for a cold disk
        self._parked = 0  # partitions for which there is room to wait
        self._reading = False
        self._has_more = False  # than is in the answers, wherever it has to be got from
        self._messages = 0  # in the answers, counted by offsets
        self._read_seconds = 0.0  # the last look took so long
        self._found_bytes = 0  # at the last look,
        self._stored_bytes = 0  # when the logs waited on held this much
        self._sent_bytes = 0
        self._failed_count = 0  # partitions with an error in the answer

    def start(self) -> Reply:
        session, request = self._session, self._request
        width = len(request.partitions if session is None else session.partitions)
        if width > PARTITIONS_AT_ONCE_MAX or request.isolation not in ISOLATION_LEVELS:
            return Reply.when(self.serve_in_turns())
        self._wanted = distinct(request.partitions) if session is None else wanted(session.partitions.values())
        cold = self._look()
        if not cold and self._ready():
            return Reply.now(self._body())
        if width > NARROW:
            self._rules_version = self._broker.access.authorizer.version
            return Reply.when(self.serve_in_turns() if cold else self._wait_in_turns())
        self._reply = Reply()
        if cold:
            self._read_in_thread()
        else:
            self._park()
        return self._reply

    # --- many partitions: the connection's next request waits for the answer, as in Kafka --------------------------

    async def serve_in_turns(self) -> Buffers | None:
        """Look at very many partitions, and answer, while others go on."""
        session, request = self._session, self._request
        if self._meter is not None:
            self._meter.parked()
        if session is None:
            self._wanted = await asyncio.to_thread(distinct, request.partitions)
        else:
            self._wanted = await asyncio.to_thread(wanted, list(session.partitions.values()))
        if request.isolation not in ISOLATION_LEVELS:
            refused = await refuse_isolation(self._broker, request, self._version, session, self._wanted)
            if refused is not None:
                return refused
        if await self._look_in_turns():
            return await self._answer_in_turns()
        return await self._wait_in_turns()

    async def _look_in_turns(self) -> bool:
        """Read every partition, wherever its bytes are. True if there is enough for an answer."""
        while True:
            self._rules_version = self._broker.access.authorizer.version
            items = self._wanted
            if self._session is not None and self._skips_quiet():
                items = await asyncio.to_thread(unsettled, list(self._session.partitions.values()))
            self._targets = await finish(self._finder.find_in_steps(items))
            self._finder.parked = True
            is_ready = await asyncio.to_thread(self._read_enough)
            if not self._rules_changed:
                return is_ready

    def _read_enough(self) -> bool:
        self._read(wait=True)
        return self._ready()

    async def _wait_in_turns(self) -> Buffers | None:
        """Wait for more than was found, if there is room, and answer."""
        broker = self._broker
        waiting = WideWait(self._request, self._found_bytes, broker.settings.limits.fetch_bytes_max)
        if broker.parking.take(self._channel, len(self._wanted)):
            wait_ms = min(self._request.max_wait_ms, FETCH_WAIT_MS_MAX)
            timer = asyncio.get_running_loop().call_later(wait_ms / 1000, waiting.end)
            broker.parked.add(waiting.end)
            try:
                looked_at = zip(self._targets, self._answers, strict=True)
                await finish(waiting.begin(broker.partitions, looked_at, self._wanted))
                await waiting.until_over(broker.wide_looks, self._asking.user)
            finally:  # the client may have gone
                timer.cancel()
                broker.parked.discard(waiting.end)
                await finish(waiting.leave())
                broker.parking.give_back(self._channel, len(self._wanted))
        if waiting.has_news or self._rules_changed:
            await self._look_in_turns()
        return await self._answer_in_turns()

    async def _answer_in_turns(self) -> Buffers:
        session, meter, turns = self._session, self._meter, Turns()
        steps = range(0, len(self._answers), PARTITIONS_A_STEP)
        if meter is not None:
            counted = self._answers
            if session is not None and not self._full:
                counted = []
                for first in steps:
                    counted += session.with_news(self._answers[first : first + PARTITIONS_A_STEP])
                    await turns.pause()
            instead = self._throttled(meter, counted, await asyncio.to_thread(meter.answer_bytes, counted))
            if instead is not None:
                return instead
        news: list[FetchedPartition] = []
        for first in steps:
            end = first + PARTITIONS_A_STEP
            news += self._news(self._targets[first:end], self._answers[first:end])
            await turns.pause()
        if session is not None and self._failed_count > SESSION_ERRORS_MAX:
            self._broker.fetch_sessions.forget(session)
            if self._full:
                self._session = None
        self._count_sent()
        size = len(news) * PARTITION_BYTES
        return await self._broker.codecs.run(self._asking.user, size, self._encoded_at_last, news, session)

    def _encoded_at_last(self, news: list[FetchedPartition], session: FetchSession | None) -> Buffers:
        """Encode the answer and let go of all that led to it."""
        body = self._encoded(news)
        request = self._request
        let_go(news, self._answers, self._targets, self._wanted, request.partitions, request.forgotten)
        if session is not self._session and session is not None:  # nobody has heard of it
            while session.partitions:
                session.partitions.popitem()
        return body

    # --- looking ---------------------------------------------------------------------------------------------------

    def _look(self) -> bool:
        """Read every partition again from the page cache.

        True if some bytes are not cached and have to be waited for.
        """
        self._targets = self._finder.find(self._to_look_at())
        self._finder.parked = True
        self._note_stored()
        try:
            self._read(wait=False)
        except BlockingIOError:
            return True
        return False

    def _to_look_at(self) -> list[FetchPartition]:
        """The partitions to read."""
        session = self._session
        return self._wanted if session is None or not self._skips_quiet() else unsettled(session.partitions.values())

    def _skips_quiet(self) -> bool:
        """Whether partitions that clearly have nothing new, most of a wide session, are not looked at.

        They are where sizes count, or rights may have changed.
        """
        session = self._session
        if session is None or self._full or self._request.min_bytes > 1:
            return False
        version = self._broker.access.authorizer.version
        if session.rules_version != version:
            session.rules_version = version
            return False
        return True

    def _read(self, *, wait: bool) -> None:
        """Read the partitions, which were looked up on the loop. Any thread."""
        started = perf_counter()
        room = max(self._broker.flow.room_bytes, FETCH_BYTES_UNDER_PRESSURE)
        left = min(self._request.max_bytes, self._broker.settings.limits.fetch_bytes_max, room)
        committed_only = self._request.isolation == READ_COMMITTED
        further = FETCH_FURTHER_SEGMENTS_MAX
        found = self._has_more = False
        messages = 0
        answers = []
        for target in self._targets:
            read = target.read(left, 1 + further, first=not found, wait=wait, committed_only=committed_only)
            answer, message_count, has_more = read
            left = max(0, left - answer.size)
            if answer.size:
                found = True
                further -= len(answer.records) - 1
                messages += message_count
                self._has_more |= has_more
            answers.append(answer)
        self._answers, self._messages = answers, messages
        self._read_seconds = perf_counter() - started

    def _ready(self) -> bool:
        if self._request.max_wait_ms <= 0 or not self._wanted or self._has_more:
            return True
        size = 0
        for answer in self._answers:
            if answer.error or answer.diverging_epoch is not None:
                return True
            size += answer.size
        self._found_bytes = size
        return size >= self._request.min_bytes

    def _read_in_thread(self) -> None:
        self._reading = True
        self._rules_version = self._broker.access.authorizer.version
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(None, lambda: self._read(wait=True))
        future.add_done_callback(self._read_done)

    def _read_done(self, future: asyncio.Future[None]) -> None:
        self._reading = False
        assert self._reply is not None
        if self._reply.done:
            return  # abandoned or timed out meanwhile
        if future.cancelled() or future.exception() is not None:
            self._finish(None)
        elif self._rules_changed and self._look():
            self._read_in_thread()
        elif self._ready():
            self._finish(self._body())
        else:
            self._park()
            if not self._reply.done:
                self._wake()  # for what came while the thread was reading

    # --- waiting ---------------------------------------------------------------------------------------------------

    def _park(self) -> None:
        assert self._reply is not None
        if not self._broker.parking.take(self._channel, len(self._wanted)):
            self._finish(self._body())
            return
        self._parked = len(self._wanted)
        loop = asyncio.get_running_loop()
        if not self._deadline:
            self._deadline = loop.time() + min(self._request.max_wait_ms, FETCH_WAIT_MS_MAX) / 1000
        self._timer = loop.call_at(self._deadline, self._expire)
        self._reply.on_abandon = self._leave
        self._rules_version = self._broker.access.authorizer.version
        self._broker.parked.add(self._expire)
        find, wake = self._broker.partitions.find, self._wake
        for item in self._wanted:
            try:
                partition = find(item.topic, item.partition)
            except KafkaError:  # deleted while it was read in the thread
                self._look()
                self._finish(self._body())
                return
            partition.add_data_waiter(wake)
            self._waits_on.append(partition)

    def _note_stored(self) -> None:
        """Note the size of the logs before a look; 0 if they have bytes that the look will not see.

        Such bytes are not flushed, or in a transaction: a small marker may make many of them visible.
        """
        if self._request.min_bytes > 1:
            partitions = [target.partition for target in self._targets if target.partition is not None]
            committed_only = self._request.isolation == READ_COMMITTED
            unseen = any(each.log_end > each.visible_end(committed_only=committed_only) for each in partitions)
            self._stored_bytes = -1 if unseen else sum(each.size_bytes for each in partitions)

    def _is_too_little(self) -> bool:
        """Whether the bytes since the last look cannot be enough, so that reading everything again is not worth it."""
        if self._request.isolation == READ_COMMITTED:
            return False  # a small marker may make many earlier bytes visible
        if self._stored_bytes < 0 or any(partition.failed for partition in self._waits_on):
            return False
        stored_bytes = sum(partition.size_bytes for partition in self._waits_on)
        return self._found_bytes + stored_bytes - self._stored_bytes < self._request.min_bytes

    def _wake(self) -> None:
        """Look again, because a partition has something new."""
        if self._reading or (self._request.min_bytes > 1 and self._is_too_little()):
            return
        if self._look():
            self._leave()
            self._read_in_thread()
        elif self._ready():
            self._finish(self._body())

    def _expire(self) -> None:
        """Answer with the records found so far: time is up, or the broker stops."""
        if self._reading:
            return
        if self._rules_changed and self._look():
            self._leave()
            self._read_in_thread()
        else:
            self._finish(self._body())

    @property
    def _rules_changed(self) -> bool:
        """Whether the right to what was found may be gone."""
        return self._broker.access.authorizer.version != self._rules_version

    def _leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wake = self._wake
        for partition in self._waits_on:
            partition.remove_data_waiter(wake)
        self._waits_on = []
        if self._parked:
            self._broker.parking.give_back(self._channel, self._parked)
            self._parked = 0
        self._broker.parked.discard(self._expire)

    # --- answering -------------------------------------------------------------------------------------------------

    def _finish(self, body: Buffers | None) -> None:
        assert self._reply is not None
        self._leave()
        self._reply.complete(body)

    def _body(self) -> Buffers:
        session, meter = self._session, self._meter
        if meter is not None:
            counted = self._answers if session is None or self._full else session.with_news(self._answers)
            instead = self._throttled(meter, counted)
            if instead is not None:
                return instead
        news = self._news(self._targets, self._answers)
        self._count_sent()
        return self._encoded(news)

    def _throttled(
        self, meter: FetchMeter, counted: list[FetchedPartition], size_bytes: int | None = None
    ) -> Buffers | None:
        """The answer for a client over its quota. A session that begins with this request is not kept."""
        session = self._session
        if session is None or not self._full:
            return meter.instead(counted, 0 if session is None else session.id, self._read_seconds, size_bytes)
        instead = meter.instead(counted, 0, self._read_seconds, size_bytes)
        if instead is not None:
            self._broker.fetch_sessions.forget(session)
        return instead

    def _news(self, targets: Sequence[FetchTarget], answers: list[FetchedPartition]) -> list[FetchedPartition]:
        """Those of the answers that are sent."""
        session = self._session
        if session is not None:
            for target in targets:
                session.note_found(target.item, target.partition if target.diverging is None else None)
            answers = session.news(answers, full=self._full)
        for answer in answers:
            self._sent_bytes += answer.size
            if answer.error:
                self._failed_count += 1
                self._broker.metrics.requests.failed(FETCH, ErrorCode(answer.error).name)
        return answers

    def _count_sent(self) -> None:
        if self._sent_bytes:
            self._broker.metrics.fetched(self._sent_bytes, self._messages)
            self._broker.metrics.read(self._read_seconds, self._sent_bytes)

    def _encoded(self, answers: list[FetchedPartition]) -> Buffers:
        session_id = 0 if self._session is None else self._session.id
        return encode_response(answers, self._version, session_id=session_id)
