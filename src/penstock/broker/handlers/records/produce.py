"""Produce (key 0, v3–13): append record batches to partitions.

Behaviour:
- Each partition's batch is checked, stamped and appended at once, before the next request is looked at; the answer
  waits for the flush that covers it. Waits of several requests overlap.
- Where a topic requires a look at the records (compaction, `validation: records`, a `compression.type` of its own) and
  that would hold up others, a worker process does it. The connection's next request waits until this one is answered.
- acks=1 is answered when this node has stored the batch, acks=all when readers see it. acks=0 gets no answer, and on
  an error a closed connection, which is all that such a client can notice.
- A request with very many partitions gives others their turns, and the connection's next request waits for its answer.
  Its batches are appended some at a time, when those before them are on disk; if their transaction is ended meanwhile,
  the markers come after them.
- A duplicate of an idempotent producer's batch is answered with its first offsets, after its first flush.

Differs from Kafka:
- On one node acks=1 and acks=all are the same moment: acknowledged means on disk, unless `storage.flush` is interval
  or os.
- `timeout_ms` limits the wait for the disk: REQUEST_TIMED_OUT after it, at the earliest after a second. What a request
  with very many partitions has not appended by then is not stored. It limits the time with the worker process, too,
  which is a minute at most: batches that were not looked at by then are not stored.
- A request with more partitions than a node may have closes the connection.
- Records are decoded only where a topic requires it; docs/compatibility.md lists what follows from that.

Version notes:
- v5 adds the log start, v7 allows zstd, v8 adds errors per record, v9 is flexible, v13 names topics by id.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from penstock.broker.broker import Broker
from penstock.broker.codec_threads import let_go
from penstock.broker.produce.part import WRITE, Part, check_header, find, record_check
from penstock.broker.produce.refusal import named_records, refuse
from penstock.broker.produce.repeat_path import ZSTD_VERSION, RepeatPath, RepeatPaths
from penstock.broker.produce.timeouts import LEAST_MS
from penstock.broker.produce.transactional import (
    ADDING_VERSION,
    has_transactional_batch,
    is_unknown_start,
    joining,
    refused,
)
from penstock.broker.produce.wide_appends import PORTION
from penstock.broker.records.checks import LoopBudget
from penstock.broker.request import AnyRequest
from penstock.broker.transactions.transaction import ProducerIdentity
from penstock.cluster.partition import Partition
from penstock.config.settings import Validation
from penstock.model.batch import TRANSACTIONAL_BIT, NotOneBatch, UnreadableBatch
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import RECORD_ERRORS_MAX
from penstock.net.connection.scratch import kept
from penstock.net.reply import SILENCE, Buffers, Reply, Work
from penstock.protocol.kafka.primitives import MalformedRequest
from penstock.protocol.kafka.produce import (
    RESULT_BYTES,
    PartitionData,
    PartitionResult,
    ProduceRequest,
    RecordError,
    WideRequest,
    decode,
    encode_response,
)
from penstock.protocol.kafka.repeated_produce import RepeatedProduce
from penstock.runtime.turns import Steps, Turns, at_once, finish

PARTITIONS_AT_ONCE_MAX = 1_000
"""About 10 ms of work, if all of them are refused."""
APPENDED_AT_ONCE_MAX = 100
"""Batches of a transaction that are appended without turns for others, and of any request while many are not on disk.
About 10 ms, if each begins its log."""


def handle(broker: Broker, request: AnyRequest) -> Reply:
    channel = request.channel
    if request.meter is not None and channel.repeat_paths is not None:  # without a meter the channel has tried it
        reply = channel.repeat_paths.serve(request.frame)
        if reply is not None:
            return reply
    try:
        body = decode(request.frame, request.body_start, request.version, PARTITIONS_AT_ONCE_MAX)
    except WideRequest:
        request.frame = kept(request.frame)
        return Reply.when(_serve_wide(broker, request))
    refusal = _refusal(broker, request, body)
    if refusal is not None:
        return Reply.now([_refuse_all(body, refusal, request.version)]) if body.acks else Reply.close()
    produce = _Produce(broker, request, body)
    try:
        for data in body.partitions:
            produce.admit(data, body.transactional_id)
    except KafkaError as error:
        return produce.refuse_all(body, error)
    if produce.unchecked or produce.must_wait():
        return Reply.when(produce.answer_later(answered=body.acks != 0))
    produce.append()
    if body.acks == 0:
        return Reply.now(produce.unanswered())
    partition = produce.plain_partition if request.session.authenticated else None
    if partition is not None:
        if channel.repeat_paths is None:
            channel.repeat_paths = RepeatPaths()
        if channel.repeat_paths.wants(partition):
            repeated = RepeatedProduce.of(request.frame, request.version, body)
            if repeated is not None:
                channel.repeat_paths.add(RepeatPath(broker, partition, repeated, request.session, body))
    return produce.when_acknowledged()


async def _serve_wide(broker: Broker, request: AnyRequest) -> Buffers | None:
    """Serve a request with so many partitions that others would notice."""
    codecs, owner, size = broker.codecs, request.session.user, len(request.frame)
    try:
        most = broker.settings.limits.partitions_max
        body = await codecs.run(owner, size, decode, request.frame, request.body_start, request.version, most)
    except WideRequest:
        raise MalformedRequest("Produce: more topics or partitions than a node may have") from None
    refusal = _refusal(broker, request, body)
    if refusal is not None:
        return [await codecs.run(owner, size, _refuse_all, body, refusal, request.version)] if body.acks else None
    produce = _Produce(broker, request, body)
    turns = Turns()
    try:
        for data in body.partitions:
            produce.admit(data, body.transactional_id)
            await turns.pause()
    except KafkaError as error:
        return await produce.refuse_all(body, error).wait()
    body.partitions.clear()  # the parts have them
    return await produce.answer_checked(answered=body.acks != 0)


def _refusal(broker: Broker, request: AnyRequest, body: ProduceRequest) -> ErrorCode | None:
    """The error of the whole request, before any of its batches is looked at."""
    if body.acks not in (-1, 0, 1):
        return ErrorCode.INVALID_REQUIRED_ACKS
    if body.transactional_id is not None and not _may_write_transactions(broker, request, body):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return None


def _may_write_transactions(broker: Broker, request: AnyRequest, body: ProduceRequest) -> bool:
    """The right to the transactional id, which any batch of a transaction needs before anything else is looked at."""
    name = body.transactional_id or ""
    if broker.access.shows_transactional_id(request.session, WRITE, name):
        return True
    if not has_transactional_batch(data.records for data in body.partitions):
        return True
    return broker.access.allows_transactional_id(request.session, WRITE, name)


class _Produce:
    """One request between its arrival and its answer."""

    __slots__ = (
        "_acks", "_allowed_ms", "_awaited", "_broker", "_budget", "_encodes_apart", "_errors_left", "_failure",
        "_has_transactional", "_is_over", "_is_wide", "_parts", "_refusals", "_reply", "_results", "_session",
        "_transactional_id", "_unacknowledged", "_validates_all", "_version", "_waiting", "_written", "unchecked",
    )  # fmt: skip

    def __init__(self, broker: Broker, request: AnyRequest, body: ProduceRequest) -> None:
        self._broker = broker
        self._version = request.version
        self._session = request.session
        self._transactional_id = body.transactional_id
        self._acks = body.acks
        self._allowed_ms = body.timeout_ms if body.timeout_ms > LEAST_MS else LEAST_MS
        self._has_transactional = self._is_wide = False
        self._encodes_apart = self._is_over = False  # in a thread, when it is acknowledged; and that has begun
        self._validates_all = broker.settings.topics.validation is Validation.RECORDS
        self._failure: ErrorCode | None = None  # of the coordinator
        self._budget = LoopBudget()
        self._parts: list[Part] = []
        self._refusals: dict[tuple[type[KafkaError], ErrorCode, str | None], KafkaError] = {}
        self.unchecked: list[Part] = []
        """Parts that the worker process has to look at."""
        self._results: list[PartitionResult] = []
        self._errors_left = RECORD_ERRORS_MAX
        self._written: list[tuple[int, Partition, int]] = []  # index of the result, partition, last offset
        self._unacknowledged: set[int] = set()  # indexes of results
        self._waiting = self._awaited = 0  # acknowledgements to come, and batches whose acknowledgement was asked for
        self._reply: Reply | None = None

    @property
    def plain_partition(self) -> Partition | None:
        """The partition of the request's only batch, if its topic does not require a look at records."""
        if len(self._parts) != 1 or len(self._written) != 1:
            return None
        config = self._parts[0].config
        if config.cleanup_compact or self._validates_all or config.compression_type != "producer":
            return None
        return self._parts[0].partition

    # --- checks ------------------------------------------------------------------------------------------------------

    def admit(self, data: PartitionData, transactional_id: str | None) -> None:
        """KafkaError if the whole request fails with this batch."""
        part = Part(data)
        self._parts.append(part)
        try:
            part.partition = find(self._broker, self._session, data)
            check_header(self._broker, self._session, self._version, transactional_id, part)
        except KafkaError as error:
            unknown_codec = error.code is ErrorCode.UNKNOWN_SERVER_ERROR
            if isinstance(error, UnreadableBatch) or (unknown_codec and self._version < ZSTD_VERSION):
                raise
            part.decide(self._first_like(error))
            return
        if part.header.attributes & TRANSACTIONAL_BIT:
            self._has_transactional = True
        unpacked_bytes_max = self._broker.settings.limits.decompressed_bytes_max
        check = record_check(part, validates_all=self._validates_all, unpacked_bytes_max=unpacked_bytes_max)
        if check is not None:
            decided, result = self._budget.try_check(check)
            if decided:
                part.decide(result)
            else:
                part.check = check
                self.unchecked.append(part)

    def _first_like(self, error: KafkaError) -> KafkaError:
        """The first of those that say the same: very many batches do not have an error each."""
        kind = type(error)
        if kind is not KafkaError and kind is not NotOneBatch:  # others have more to say
            return error
        return self._refusals.setdefault((kind, error.code, error.message), error)

    # --- transactions ------------------------------------------------------------------------------------------------

    def must_wait(self) -> bool:
        """Whether it is appended in turns, or the transaction before is still being ended: a moment later this one can
        begin.
        """
        if len(self._parts) > APPENDED_AT_ONCE_MAX:
            self._is_wide = True
            return self._has_transactional or self._broker.wide_appends.is_full
        name = self._transactional_id
        return self._has_transactional and name is not None and name in self._broker.transactions.completions

    def _joining(self) -> Steps[None]:
        """Tell the coordinator of the partitions whose batches are to be appended."""
        parts, senders = list[Part](), set[ProducerIdentity]()
        for part in self._parts:
            if part.is_transactional:
                parts.append(part)
                senders.add(ProducerIdentity(part.header.producer_id, part.header.producer_epoch))
                yield
        if not parts:
            return
        try:
            if len(senders) > 1:
                raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
            is_settled = yield from joining(
                self._broker.transactions,
                self._version,
                self._transactional_id or "",
                senders.pop(),
                [part.partition for part in parts],
                self._stored,
            )
            self._waiting += not is_settled
        except KafkaError as error:
            self._refuse_transactional(parts, error)

    def _refuse_transactional(self, parts: Sequence[Part], error: KafkaError) -> None:
        for part in parts:
            if part.is_transactional:
                part.decide(error)

    def _check_joined(self, parts: Sequence[Part]) -> None:
        """Refuse batches of which the coordinator knows nothing, and those that do not begin a producer's sequence."""
        for part in parts:
            if not part.is_transactional:
                continue
            if self._failure is not None:  # the coordinator's record is lost, and with it the transaction
                part.decide(KafkaError(self._failure))
            elif self._version >= ADDING_VERSION and is_unknown_start(part.partition, part.header):
                part.decide(KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER))

    def _stored(self, code: ErrorCode) -> None:
        """Note that the coordinator's record is on disk, or never will be; it may not be counted as waited for yet."""
        if code is not ErrorCode.NONE:
            self._failure = ErrorCode.KAFKA_STORAGE_ERROR
        self._waiting -= 1
        if not self._waiting:
            self._complete()

    def answer_later(self, *, answered: bool) -> Work:
        """Answer in a coroutine; the batches are copied, because the frame's memory is reused after this call."""
        for part in self._parts:
            batch = getattr(part, "batch", None)
            if isinstance(batch, memoryview):
                part.batch = kept(batch)
                if part.check is not None:
                    part.check = part.check._replace(batch=part.batch)
        return self.answer_checked(answered=answered)

    async def answer_checked(self, *, answered: bool) -> Buffers | None:
        """Check and append what was admitted, whose memory is its own, and wait for its answer."""
        # A client that leaves meanwhile has produced all the same, as it has where nothing is to be checked.
        await asyncio.shield(asyncio.ensure_future(self._check_and_append()))
        if not answered:
            return self.unanswered()
        self._encodes_apart = len(self._results) > PARTITIONS_AT_ONCE_MAX
        body = await self.when_acknowledged().wait()
        if self._encodes_apart:
            size = len(self._results) * RESULT_BYTES
            self._is_over = True
            return await self._broker.codecs.run(self._session.user, size, self._encoded_at_last)
        return body

    def _encoded_at_last(self) -> Buffers:
        """Encode the answer and let go of all that led to it."""
        self._encodes_apart = False
        body = self._body()
        let_go(self._results, self._parts, self._written)
        return body

    async def _check_and_append(self) -> None:
        if self._has_transactional and self._transactional_id is not None:
            await self._broker.transactions.completions.wait(self._transactional_id)
        if self.unchecked:
            await self._check()
        self._is_wide = len(self._parts) > APPENDED_AT_ONCE_MAX
        if not self._is_wide:
            self.append()
        elif self._has_transactional and self._transactional_id is not None:
            await self._append_transaction(self._transactional_id)
        else:
            await self._append_in_turns()

    async def _append_transaction(self, transactional_id: str) -> None:
        """Append in turns what belongs to a transaction: whoever ends it meanwhile, its markers come afterwards."""
        completions = self._broker.transactions.completions
        if not completions.hold_off(transactional_id):
            self._refuse_transactional(self._parts, refused(ErrorCode.CONCURRENT_TRANSACTIONS, self._version))
            await self._append_in_turns()
            return
        try:
            await finish(self._joining())
            await self._append_in_turns()
        finally:
            completions.go_on(transactional_id)

    async def _check(self) -> None:
        """Have the record worker do the checks that would take too long on the event loop."""
        checks = [part.check for part in self.unchecked if part.check is not None]
        results = await self._broker.record_worker.check(checks, self._session.user, self._allowed_ms)
        for part, result in zip(self.unchecked, results, strict=True):
            part.decide(result)

    # --- the log -----------------------------------------------------------------------------------------------------

    def append(self) -> None:
        """Everything that was admitted, in the order of the request."""
        if self._has_transactional:
            at_once(self._joining())
            self._check_joined(self._parts)
        self._append_all(self._parts)
        if self._is_wide:
            self._await_flushes()

    async def _append_in_turns(self) -> None:
        """Everything that was admitted, in the order of the request, as the disk keeps up with it and time allows."""
        turns, first, error = Turns(), 0, None
        try:
            async with asyncio.timeout(self._allowed_ms / 1000):
                while first < len(self._parts):
                    if all(part.error is not None for part in self._parts[first : first + PORTION]):
                        self._append_portion(first)  # which needs no room
                    else:
                        async with self._broker.wide_appends.portion(self._session.user):
                            self._append_portion(first)
                    first += PORTION
                    await turns.pause()
        except TimeoutError:
            error = KafkaError(ErrorCode.REQUEST_TIMED_OUT)
        while first < len(self._parts):
            self._append_portion(first, error)
            first += PORTION
            await turns.pause()

    def _append_portion(self, first: int, refusal: KafkaError | None = None) -> None:
        portion = self._parts[first : first + PORTION]
        if refusal is not None:
            for part in portion:
                if part.error is None:
                    part.decide(refusal)
        elif self._has_transactional:
            self._check_joined(portion)
        self._append_all(portion)
        self._await_flushes()

    def _append_all(self, parts: Sequence[Part]) -> None:
        now_ms = self._broker.clock.now_ms()
        for part in parts:
            if part.error is None:
                try:
                    self._append(part, now_ms)
                except KafkaError as error:
                    part.decide(error)
            if part.error is not None:
                self._refuse(part, part.error)

    def _append(self, part: Part, now_ms: int) -> None:
        data, partition, batch = part.data, part.partition, part.batch
        if partition.deleted:  # since it was found
            raise KafkaError(partition.failure)
        appended = self._broker.appender.append(partition, batch, part.header, now_ms)
        self._written.append((len(self._results), partition, appended.last_offset))
        self._results.append(
            PartitionResult(
                data.topic, data.partition, 0, appended.base_offset, appended.append_time_ms, partition.log_start
            )
        )

    def _refuse(self, part: Part, error: KafkaError) -> None:
        data = part.data
        named: tuple[RecordError, ...] = ()
        if hasattr(part, "header"):
            named = named_records(error, part.batch, part.header, self._budget, self._errors_left)
            self._errors_left -= len(named)
        partition = getattr(part, "partition", None)
        client_id = self._session.client_id
        self._results.append(refuse(self._broker, client_id, data.topic, data.partition, error, partition, named))

    def refuse_all(self, request: ProduceRequest, error: KafkaError) -> Reply:
        """One batch makes the whole request fail, and nothing of it is stored."""
        data = self._parts[-1].data
        result = refuse(self._broker, self._session.client_id, data.topic, data.partition, error, None)
        self._results = [result._replace(topic=each.topic, partition=each.partition) for each in request.partitions]
        return Reply.now([encode_response(self._results, self._version)]) if request.acks else Reply.close()

    # --- the answer --------------------------------------------------------------------------------------------------

    def unanswered(self) -> Buffers | None:
        """The body for acks=0: silence, or None, a closed connection, if anything went wrong."""
        return SILENCE if all(result.error == 0 for result in self._results) else None

    def _await_flushes(self) -> None:
        """Ask for the acknowledgements of the batches of a wide request that have been appended since the last call."""
        wide, is_stored_enough = self._broker.wide_appends, self._acks == 1
        written = self._written[self._awaited :]
        self._awaited += len(written)
        self._waiting += len(written)
        for index, partition, last_offset in written:
            self._unacknowledged.add(index)
            wide.appended()
            wait = partition.when_stored if is_stored_enough else partition.when_visible
            wait(last_offset, partial(self._flushed, index))

    def _flushed(self, index: int, code: ErrorCode) -> None:
        self._broker.wide_appends.flushed()
        if not self._is_over:
            self._acknowledged(index, code)

    def when_acknowledged(self) -> Reply:
        written = self._written[self._awaited :] if self._is_wide else self._written
        self._waiting += len(written)
        for index, partition, last_offset in written:
            self._unacknowledged.add(index)
            wait = partition.when_stored if self._acks == 1 else partition.when_visible
            wait(last_offset, partial(self._acknowledged, index))
        if not self._waiting:
            return Reply.now(self._body())
        self._reply = Reply()
        timeouts = self._broker.produce_timeouts
        timeouts.deadlines_ms[self] = timeouts.now_ms() + self._allowed_ms
        return self._reply

    def _acknowledged(self, index: int, code: ErrorCode) -> None:
        """Note that a batch is stored or visible, as its client wants it, or never will be."""
        self._unacknowledged.discard(index)
        if code is not ErrorCode.NONE:
            self._fail(index, code)
        self._waiting -= 1
        if not self._waiting:
            self._complete()

    def time_out(self) -> None:
        if self._waiting > len(self._unacknowledged):  # the coordinator does not know yet of any of the batches
            self._failure = self._failure or ErrorCode.REQUEST_TIMED_OUT
        for index in self._unacknowledged:
            self._fail(index, ErrorCode.REQUEST_TIMED_OUT)
        reply, self._reply = self._reply, None  # acknowledgements that come later find nothing to answer
        assert reply is not None
        reply.complete(self._body())

    def _complete(self) -> None:
        if self._reply is not None:
            self._broker.produce_timeouts.deadlines_ms.pop(self, None)
            self._reply.complete(self._body())

    def _fail(self, index: int, code: ErrorCode) -> None:
        result = self._results[index]
        self._results[index] = PartitionResult(result.topic, result.partition, code, -1, -1, -1)

    def _body(self) -> Buffers:
        if self._encodes_apart:
            return SILENCE
        if self._failure is not None:
            for index, _, _ in self._written:
                if self._results[index].error == 0:
                    self._fail(index, self._failure)
        return [encode_response(self._results, self._version)]


def _refuse_all(request: ProduceRequest, code: ErrorCode, version: int) -> bytearray:
    results = [PartitionResult(data.topic, data.partition, code, -1, -1, -1) for data in request.partitions]
    return encode_response(results, version)
