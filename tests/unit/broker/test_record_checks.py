"""Looking at the records of produced batches: what the loop does itself, and what it leaves to the worker process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from penstock.broker.records.checks import LOOP_STEPS_MAX, CheckResult, LoopBudget, RecordCheck, check_batches
from penstock.broker.records.worker import RecordWorker
from penstock.model.batch import check_batch, read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.compression import GZIP, ZSTD
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import CHECKED_STEPS_MAX, NAMED_BYTES_MAX, RECORD_ERRORS_MAX, UNCHECKED_BYTES_MAX
from penstock.model.records import InvalidRecords, check_records, first_record_since, iter_records
from penstock.model.varint import signed_bytes
from penstock.runtime.worker import Done

TEN = [NewRecord(b"key-%d" % number, b"v" * 100, (("h", b"1"),)) for number in range(10)]
MANY = [NewRecord(b"k", b"v", (), number) for number in range(5_000)]
BOMB = [NewRecord(b"k", bytes(8 << 20))]


def check(
    records: Sequence[NewRecord], codec: int = 0, *, stored: int | None = None, size_max: int = 1 << 20
) -> RecordCheck:
    batch = memoryview(build_batch(records, timestamp=0, codec=codec))
    return RecordCheck(
        batch=batch,
        header=read_header(batch),
        validate=True,
        keyed=True,
        codec=codec if stored is None else stored,
        batch_bytes_max=size_max,
        unpacked_bytes_max=4 << 20,
    )


def code_of(result: CheckResult) -> ErrorCode:
    return result.code if isinstance(result, KafkaError) else ErrorCode.NONE


@pytest.fixture
def worker() -> Iterator[RecordWorker]:
    record_worker = RecordWorker()
    yield record_worker
    record_worker.close()


# ------------------------------------------------------------------------------------------------------ on the loop


@pytest.mark.parametrize("codec", range(5))
def test_small_batches_are_decided_at_once(codec: int) -> None:
    assert LoopBudget().try_check(check(TEN, codec)) == (True, None)


@pytest.mark.parametrize("codec", range(5))
def test_small_batches_are_packed_anew_at_once(codec: int) -> None:
    decided, batch = LoopBudget().try_check(check(TEN, codec, stored=(codec + 1) % 5))
    assert decided
    assert isinstance(batch, bytearray)
    assert check_batch(batch).codec == (codec + 1) % 5
    assert [record.value for record in iter_records(batch)] == [record.value for record in TEN]


@pytest.mark.parametrize(
    "costly",
    [
        pytest.param(check(MANY), id="many records"),
        pytest.param(check([NewRecord(b"k", b"v", (("h", b""),) * 5_000)]), id="many headers"),
        pytest.param(check(BOMB, GZIP), id="gzip that unpacks to much"),
        pytest.param(check(BOMB, ZSTD), id="zstd that unpacks to much"),
        pytest.param(check([NewRecord(b"k", bytes(100_000))], stored=GZIP), id="much to pack"),
        pytest.param(check([NewRecord(None, b"v")]), id="something wrong"),
        pytest.param(check(TEN)._replace(header=check(TEN, GZIP).header), id="not packed as it says"),
    ],
)
def test_what_takes_long_is_left_to_the_worker(costly: RecordCheck) -> None:
    assert LoopBudget().try_check(costly) == (False, None)


def test_the_partitions_of_a_request_share_one_budget() -> None:
    budget = LoopBudget()
    decided = [budget.try_check(check(TEN))[0] for _ in range(LOOP_STEPS_MAX)]
    assert decided == [number < LOOP_STEPS_MAX // 20 for number in range(LOOP_STEPS_MAX)]


# ------------------------------------------------------------------------------------------------------- in the worker


def test_verdicts() -> None:
    keyless = check([NewRecord(None, b"v")] * (RECORD_ERRORS_MAX + 7))
    random = bytes(range(256)) * 40
    refused, bomb, grown, sound, packed = check_batches(
        [
            keyless,
            check(BOMB, GZIP),
            check([NewRecord(b"k", random)], GZIP, stored=0, size_max=1_000),
            check(MANY),
            check(MANY, stored=ZSTD),
        ],
        turn_ns=1 << 62,
    )
    assert isinstance(refused, InvalidRecords)
    assert [index for index, _ in refused.bad] == list(range(RECORD_ERRORS_MAX))
    assert isinstance(bomb, KafkaError)
    assert isinstance(grown, KafkaError)
    assert (bomb.code, grown.code) == (ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE)
    assert sound is None
    assert isinstance(packed, bytearray)
    assert check_batch(packed).codec == ZSTD


def test_the_worker_says_the_same(worker: RecordWorker) -> None:
    async def ask() -> None:
        keyless = check([NewRecord(None, b"v")])
        refused, sound, packed = await worker.check([keyless, check(MANY), check(MANY, stored=GZIP)], "a")
        assert isinstance(refused, InvalidRecords)
        assert refused.bad[0][0] == 0
        assert sound is None
        assert isinstance(packed, bytearray)
        assert check_batch(packed).codec == GZIP
        packed[0] = 1  # the log stamps it

    asyncio.run(ask())


def test_a_task_is_one_turn_long() -> None:
    assert check_batches([check(MANY)] * 5, turn_ns=0) == [None]


def test_what_takes_long_to_name_is_not_named() -> None:
    header = check(TEN).header
    with pytest.raises(KafkaError, match="send smaller ones") as raised:
        check_records(bytes(NAMED_BYTES_MAX + 1), header._replace(record_count=CHECKED_STEPS_MAX + 1), compacted=True)
    assert raised.value.code is ErrorCode.MESSAGE_TOO_LARGE
    headers = NAMED_BYTES_MAX // 2
    body = b"\0\0\0\0\1" + signed_bytes(headers) + b"\0\1" * headers
    with pytest.raises(InvalidRecords, match="headers") as invalid:
        check_records(signed_bytes(len(body)) + body, header._replace(record_count=1), compacted=True)
    assert invalid.value.bad == ()


@pytest.mark.parametrize("records", [TEN, MANY])
@pytest.mark.parametrize("codec", [0, GZIP])
def test_look_ups(worker: RecordWorker, records: list[NewRecord], codec: int) -> None:
    batch = build_batch(records, timestamp=7, codec=codec)
    header = read_header(batch)
    wanted = header.max_timestamp
    found = asyncio.run(worker.look_up(lambda scan: scan(first_record_since, batch, header, wanted, 0, 1 << 40), "a"))
    assert found == (wanted, len(records) - 1 if records is MANY else 0)


def test_a_look_up_in_what_is_no_batch(worker: RecordWorker) -> None:
    batch = build_batch(MANY, timestamp=7)
    header = read_header(batch)
    batch[61:] = bytes(len(batch) - 61)
    with pytest.raises(KafkaError) as raised:
        asyncio.run(worker.look_up(lambda scan: scan(first_record_since, batch, header, 0, 0, 1 << 40), "a"))
    assert raised.value.code is ErrorCode.CORRUPT_MESSAGE


def test_too_much_waits_already(worker: RecordWorker) -> None:
    large = check(MANY)._replace(batch=memoryview(bytearray(UNCHECKED_BYTES_MAX)))

    async def ask() -> None:
        first = asyncio.create_task(worker.check([large], "a"))
        await asyncio.sleep(0)
        (refused,) = await worker.check([check(MANY)], "a")
        assert code_of(refused) is ErrorCode.REQUEST_TIMED_OUT
        await first
        assert await worker.check([check(MANY)], "a") == [None]

    asyncio.run(ask())


def test_one_owner_has_half_of_the_room(worker: RecordWorker) -> None:
    half = check(MANY)._replace(batch=memoryview(bytearray(UNCHECKED_BYTES_MAX // 2)))

    async def ask() -> None:
        first = asyncio.create_task(worker.check([half], "a"))
        await asyncio.sleep(0)
        (refused,) = await worker.check([check(MANY)], "a")
        assert "too many batches" in str(refused)
        assert await worker.check([check(MANY)], "b") == [None]
        await first

    asyncio.run(ask())


def test_an_owner_with_many_tasks_does_not_hold_up_others(worker: RecordWorker) -> None:
    async def ask() -> None:
        many = [asyncio.create_task(worker.check([check(MANY)] * 20, "a")) for _ in range(40)]
        await asyncio.sleep(0)
        assert await worker.check([check(MANY)], "b") == [None]
        assert sum(task.done() for task in many) < 10
        await asyncio.gather(*many)

    asyncio.run(ask())


def test_a_request_with_many_batches_does_not_hold_up_others(worker: RecordWorker) -> None:
    async def ask() -> None:
        many = asyncio.create_task(worker.check([check(MANY)] * 200, "a"))
        await asyncio.sleep(0)
        assert await worker.check([check(MANY)], "b") == [None]
        assert not many.done()
        assert await many == [None] * 200

    asyncio.run(ask())


def test_the_time_of_a_request_ends_its_checks(worker: RecordWorker) -> None:
    async def ask() -> None:
        results = await worker.check([check(MANY)] * 500, "a", timeout_ms=200)
        assert len(results) == 500
        assert code_of(results[-1]) is ErrorCode.REQUEST_TIMED_OUT
        assert await worker.check([check(MANY)], "a") == [None]

    asyncio.run(ask())


class HeldWorker:
    """A worker that is done with a task when it is told to."""

    def __init__(self) -> None:
        self.tasks: list[tuple[Done, Callable[[], Any]]] = []
        self.most = 0
        self.threads: set[threading.Thread] = set()

    def submit(self, done: Done, function: Callable[..., Any], *args: Any) -> None:
        self.tasks.append((done, partial(function, *args)))
        self.most = max(self.most, len(self.tasks))
        self.threads.add(threading.current_thread())

    def finish_all(self) -> None:
        tasks, self.tasks = self.tasks, []
        for done, task in tasks:
            done(task(), None)

    def close(self) -> None:
        self.tasks.clear()


def test_look_ups_stand_in_line_with_checks() -> None:
    batch = build_batch(MANY, timestamp=7)
    header = read_header(batch)

    async def ask() -> None:
        held = HeldWorker()
        worker = RecordWorker(held)
        search = partial(worker.look_up, lambda scan: scan(first_record_since, batch, header, 0, 0, 1 << 40))
        tasks: list[asyncio.Task[Any]] = [asyncio.create_task(search("a")) for _ in range(4)]
        tasks += [asyncio.create_task(worker.check([check(MANY)], "b")) for _ in range(4)]
        async with asyncio.timeout(30):
            while not all(task.done() for task in tasks):
                await asyncio.sleep(0.001)
                held.finish_all()
        worker.close()
        assert held.most <= 2
        assert held.threads == {threading.current_thread()}  # where places are given

    asyncio.run(ask())


def test_closing_answers_whoever_waits() -> None:
    async def ask() -> None:
        worker = RecordWorker()
        waiting = asyncio.create_task(worker.check([check(MANY)] * 50, "a"))
        behind = [asyncio.create_task(worker.check([check(MANY)], "a")) for _ in range(5)]
        await asyncio.sleep(0)
        worker.close()
        late = asyncio.create_task(worker.check([check(MANY)], "a"))
        outcomes = await asyncio.wait_for(asyncio.gather(waiting, *behind, late), 30)
        codes = {code_of(each) for results in outcomes for each in results}
        assert ([len(results) for results in outcomes], codes) == ([50] + [1] * 6, {ErrorCode.REQUEST_TIMED_OUT})

    asyncio.run(ask())
