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

Version notes:
- v5 adds the log start, v7 sessions, v9 the leader epoch, v11 the rack; v12 is flexible and detects divergence by the
  last fetched epoch (KIP-595); v13 names topics by id.
"""

from __future__ import annotations

import asyncio
from time import perf_counter

from penstock.broker.broker import Broker
from penstock.broker.fetch.partition_read import FetchTarget, FetchTargets, distinct
from penstock.broker.fetch.refusal import refuse_isolation
from penstock.broker.fetch.sessions import FetchSession
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
from penstock.runtime.turns import finish


def handle(broker: Broker, request: AnyRequest) -> Reply:
    if len(request.frame) > REQUEST_BYTES_DECODED_AT_ONCE:
        request.frame = kept(request.frame)
        return Reply.when(_serve_wide(broker, request))
    opened = _open(broker, request, decode(request.frame, request.body_start, request.version))
    return opened if isinstance(opened, Reply) else opened.start()


async def _serve_wide(broker: Broker, request: AnyRequest) -> Buffers | None:
    """Serve so many partitions that others would notice; the connection's next request waits, as in Kafka."""
    body = await asyncio.to_thread(decode, request.frame, request.body_start, request.version)
    request.frame = memoryview(b"")
    request.channel.frame_decoded()
    opened = _open(broker, request, body)
    return await (opened.wait() if isinstance(opened, Reply) else opened.serve_in_turns())


def _open(broker: Broker, request: AnyRequest, body: FetchRequest) -> Reply | _Fetch:
    """The request with its session, or the answer to one that is refused."""
    version = request.version
    meter = request.meter if isinstance(request.meter, FetchMeter) else None
    if meter is not None:
        body = meter.bounded(body)
    try:
        owner, by_id = request.session.principal, version >= TOPIC_IDS
        session = broker.fetch_sessions.open(body, owner, by_id, broker.clock.monotonic_ms())
    except KafkaError as error:
        instead = meter.instead([], 0) if meter is not None else None
        return Reply.now(instead or encode_response([], version, error_code=error.code))
    if body.isolation not in ISOLATION_LEVELS:
        refused = refuse_isolation(broker, body, version, session)
        if refused is not None:
            return Reply.now(refused)
    return _Fetch(broker, request, body, session, meter)


class _Fetch:
    """One request, from its first look at the partitions to its answer."""

    __slots__ = (
        "_answers",
        "_broker",
        "_channel",
        "_deadline",
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
        self._meter = meter
        self._request = request
        self._version = asked.version
        self._session = session
        self._full = session is None or request.session_epoch == 0
        self._wanted = distinct(request.partitions) if session is None else session.wanted()
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

    def start(self) -> Reply:
        cold = self._look()
        if not cold and self._ready():
            return Reply.now(self._body())
        self._reply = Reply()
        if cold:
            self._read_in_thread()
        else:
            self._park()
        return self._reply

    async def serve_in_turns(self) -> Buffers | None:
        """Look at very many partitions, and answer, while others go on."""
        if self._meter is not None:
            self._meter.parked()
        while True:
            self._rules_version = self._broker.access.authorizer.version
            self._targets = await finish(self._finder.find_in_steps(self._to_look_at()))
            self._finder.parked = True
            self._note_stored()
            await asyncio.to_thread(self._read, wait=True)
            if not self._rules_changed:
                break
        if self._ready():
            return self._throttled_answer() or await asyncio.to_thread(self._encoded, self._news())
        self._reply = Reply()
        self._park()
        if not self._reply.done:
            self._wake()  # for what came while the thread was reading
        try:
            return await self._reply.wait()
        except asyncio.CancelledError:  # the client has gone
            self._reply.abandon()
            raise

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
        """The partitions to read.

        Most of a wide session clearly have nothing new and are skipped, unless sizes count, or rights may have changed.
        """
        session = self._session
        if session is None or self._full or self._request.min_bytes > 1:
            return self._wanted
        version = self._broker.access.authorizer.version
        if session.rules_version != version:
            session.rules_version = version
            return self._wanted
        return session.unsettled()

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

    def _throttled(self, meter: FetchMeter) -> Buffers | None:
        """The answer for a client over its quota. A session that begins with this request is not kept."""
        if self._session is None:
            return meter.instead(self._answers, 0, self._read_seconds)
        if not self._full:
            return meter.instead(self._session.with_news(self._answers), self._session.id, self._read_seconds)
        instead = meter.instead(self._answers, 0, self._read_seconds)
        if instead is not None:
            self._broker.fetch_sessions.forget(self._session)
        return instead

    def _body(self) -> Buffers:
        return self._throttled_answer() or self._encoded(self._news())

    def _throttled_answer(self) -> Buffers | None:
        return None if self._meter is None else self._throttled(self._meter)

    def _news(self) -> list[FetchedPartition]:
        """The answers that are sent, and counted."""
        answers = self._answers
        if self._session is not None:
            for target in self._targets:
                self._session.note_found(target.item, target.partition if target.diverging is None else None)
            answers = self._session.news(answers, full=self._full)
        sent = 0
        for answer in answers:
            sent += answer.size
            if answer.error:
                self._broker.metrics.requests.failed(FETCH, ErrorCode(answer.error).name)
        if sent:
            self._broker.metrics.fetched(sent, self._messages)
            self._broker.metrics.read(self._read_seconds, sent)
        return answers

    def _encoded(self, answers: list[FetchedPartition]) -> Buffers:
        session_id = 0 if self._session is None else self._session.id
        return encode_response(answers, self._version, session_id=session_id)
