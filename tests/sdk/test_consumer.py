"""`penstock.Consumer`: groups, offsets, formats, and records that cannot be read."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from penstock import Admin, AsyncConsumer, Consumer, Producer
from penstock.sdk import (
    Avro,
    ClosedError,
    CommitFailed,
    DeserializationError,
    NotFound,
    SettingsError,
    StateError,
    TopicPartition,
    Unreachable,
)
from tests.sdk.conftest import SESSION_TIMEOUT_MS, NewTopic
from tests.support.broker_process import HOST, free_port
from tests.support.fixtures import running
from tests.support.penstock_process import PenstockProcess
from tests.support.variants import variants
from tests.support.waiting import wait_until

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}
IDLE_S = 1.0
DELAY_MS = 2_000
Fill = Callable[..., str]


class Order(BaseModel):
    id: int


@pytest.fixture
def filled(bootstrap: str, new_topic: NewTopic) -> Fill:
    """`filled(b"a", b"b", partitions=1)`: a topic with these values, dealt out to its partitions."""

    def fill(*values: bytes | None, partitions: int = 1) -> str:
        topic = new_topic(partitions)
        with Producer(bootstrap, linger_ms=0) as producer:
            for number, value in enumerate(values):
                producer.send(topic, value, key=b"k%d" % number, partition=number % partitions)
        return topic

    return fill


def numbers(first: int, end: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, end)]


def values(consumer: Consumer[Any], count: int | None = None, within_s: float = 30.0) -> list[Any]:
    """So many records, or all until nothing comes for a second."""
    found: list[Any] = []
    deadline = time.monotonic() + within_s
    while (count is None or len(found) < count) and time.monotonic() < deadline:
        record = consumer.poll(IDLE_S)
        if record is None and count is None:
            break
        if record is not None:
            found.append(record.value)
    return found


# --- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.feature("K-19")
def test_iteration(bootstrap: str, filled: Fill, group: str) -> None:
    topic = filled(b"a", None, b"c")
    with Consumer(bootstrap, topic, group=group, idle_timeout_s=IDLE_S) as consumer:
        first = next(consumer)
        assert (first.topic, first.partition, first.offset, first.key, first.value) == (topic, 0, 0, b"k0", b"a")
        assert abs(first.time - datetime.datetime.now(datetime.UTC)) < datetime.timedelta(minutes=1)
        assert first.headers == ()
        assert [record.value for record in consumer] == [None, b"c"]


@pytest.mark.feature("K-19")
def test_idle_time_counts_from_the_assignment(tmp_path: Path) -> None:
    """A new group that waits for more members for longer than the idle time still reads what is there."""

    def read(bootstrap: str) -> list[Any]:
        with Consumer(bootstrap, "waiting", group="plain", idle_timeout_s=IDLE_S) as consumer:
            return [record.value for record in consumer]

    async def read_both_ways(bootstrap: str) -> None:
        plain = asyncio.create_task(asyncio.to_thread(read, bootstrap))
        async with AsyncConsumer(bootstrap, "waiting", group="async", idle_timeout_s=IDLE_S) as consumer:
            assert [record.value async for record in consumer] == [b"a"]
        assert await plain == [b"a"]

    delayed = PenstockProcess(tmp_path, f"groups:\n  initial_rebalance_delay_ms: {DELAY_MS}\n")
    for broker in running(delayed):
        with Producer(broker.bootstrap, linger_ms=0) as producer:
            producer.send("waiting", b"a")
        asyncio.run(read_both_ways(broker.bootstrap))


def test_a_member_without_partitions_is_idle(bootstrap: str, filled: Fill, group: str) -> None:
    """Two members and one partition: whichever gets nothing ends like the one that has read everything."""
    topic, stopped = filled(b"a"), threading.Event()
    with Consumer(bootstrap, topic, group=group) as other:

        def keep_polling() -> None:
            while not stopped.is_set():
                other.poll(0.1)

        polling = threading.Thread(target=keep_polling)
        polling.start()
        try:
            wait_until(other.assignment, what="the other member has the partition")
            with Consumer(bootstrap, topic, group=group, idle_timeout_s=IDLE_S) as consumer:
                assert [record.value for record in consumer] in ([], [b"a"])
        finally:
            stopped.set()
            polling.join()


def test_headers(bootstrap: str, new_topic: NewTopic) -> None:
    topic = new_topic()
    with Producer(bootstrap) as producer:
        producer.send(topic, b"", headers=[("trace", "1"), ("trace", "2"), ("none", None)])
    with Consumer(bootstrap, topic) as consumer:
        record = consumer.poll(10)
        assert record is not None
        assert record.headers == (("trace", b"1"), ("trace", b"2"), ("none", None))
        assert (record.header("trace"), record.header("other")) == (b"2", None)


def test_without_a_group_everything_is_read_and_nothing_committed(bootstrap: str, filled: Fill, admin: Admin) -> None:
    topic = filled(*numbers(0, 6), partitions=3)
    for _ in range(2):
        with Consumer(bootstrap, topic, idle_timeout_s=IDLE_S) as consumer:
            assert sorted(record.value for record in consumer) == numbers(0, 6)
            with pytest.raises(StateError, match="without a group commits nothing: give group"):
                consumer.commit()
    assert not [each for each in admin.list_groups() if each.name.startswith("penstock-")]


def test_stop_ends_the_iteration(bootstrap: str, filled: Fill, group: str) -> None:
    with Consumer(bootstrap, filled(b"a"), group=group) as consumer:
        threading.Timer(0.5, consumer.stop).start()
        assert [record.value for record in consumer] in ([b"a"], [])


@pytest.mark.feature("K-19")
def test_closed(bootstrap: str, filled: Fill, group: str) -> None:
    consumer = Consumer(bootstrap, filled(b"a"), group=group)
    consumer.close()
    consumer.close()
    uses: list[Callable[[], object]] = [consumer.poll, consumer.poll_batch, consumer.commit, consumer.assignment]
    for use in (*uses, consumer.__enter__, lambda: list(consumer), lambda: consumer.seek("t", 0, 0)):
        with pytest.raises(ClosedError, match="closed: make a new one"):
            use()


@pytest.mark.feature("K-19")
def test_an_iteration_under_way_ends_when_the_consumer_is_closed(bootstrap: str, filled: Fill, group: str) -> None:
    consumer = Consumer(bootstrap, filled(b"a", b"b"), group=group)
    seen = []
    for record in consumer:
        seen.append(record.value)
        consumer.close()
    assert seen == [b"a"]


@pytest.mark.feature("K-08")
def test_sizes_and_offsets_that_are_none(bootstrap: str, filled: Fill) -> None:
    topic = filled(b"a")
    bad: Any
    with Consumer(bootstrap, topic) as consumer:
        for bad in (0, -1, "5"):
            with pytest.raises(SettingsError, match=f"max_records={bad!r}: give a number from 1"):
                consumer.poll_batch(bad)
        assert consumer.poll(10) is not None
        with pytest.raises(SettingsError, match="the offset to begin at=-1: give a number from 0"):
            consumer.seek(topic, 0, -1)


@pytest.mark.feature("K-08")
def test_partitions_and_records_of_others(bootstrap: str, filled: Fill, group: str, admin: Admin) -> None:
    topic = filled(b"a")
    with Consumer(bootstrap, topic, group=group, auto_commit=False) as consumer:
        record = consumer.poll(10)
        assert record is not None
        other: Any
        for other in (TopicPartition(topic, 7), TopicPartition("not-there", 0), topic):
            for use in (consumer.pause, consumer.resume):
                with pytest.raises(StateError, match=f"is not a partition of this consumer: it has {topic}-0"):
                    use(other)
        with pytest.raises(CommitFailed, match="is not a partition of this consumer any more: nothing is lost"):
            consumer.commit(dataclasses.replace(record, partition=7))
        with pytest.raises(SettingsError, match="give a record, or nothing"):
            consumer.commit(other)
        assert admin.describe_group(group).offsets[0].committed is None
        consumer.commit(record)
        assert admin.describe_group(group).offsets[0].committed == 1


@pytest.mark.parametrize("options", [{}, {"group": "g"}])
def test_nobody_there(options: Any) -> None:
    """A wrong port is found within seconds, by default, and named: it took half a minute."""
    address, began = f"{HOST}:{free_port()}", time.monotonic()
    with (
        Consumer(address, "orders", **options) as consumer,
        pytest.raises(Unreachable, match=rf"no Kafka broker answered at {address} .*connection refused.*check that"),
    ):
        next(consumer)
    assert time.monotonic() - began < 25, "5 s, and time for a busy machine"


def test_another_protocol_there() -> None:
    with socket.create_server((HOST, 0)) as silent:
        address = f"{HOST}:{silent.getsockname()[1]}"
        with (
            Consumer(f"{address},no-such-host.invalid:9092", "orders", request_timeout_ms=500) as consumer,
            pytest.raises(Unreachable, match=rf"{address}: something listens there, .*no-such-host.invalid:9092: the"),
        ):
            consumer.poll(1)


@pytest.mark.parametrize("options", [{}, {"group": "some-group"}])
def test_a_topic_that_does_not_exist(bootstrap: str, admin: Admin, options: Any) -> None:
    with (
        Consumer(bootstrap, "not-there", **options) as consumer,
        pytest.raises(NotFound, match=r"not-there.*create it with `Admin.create_topic`"),
    ):
        values(consumer, 1, 10)
    assert "not-there" not in admin.list_topics()


# --- offsets ---------------------------------------------------------------------------------------------------------


@pytest.mark.feature("K-08", "K-19")
def test_what_was_handled_is_committed_at_the_end(bootstrap: str, filled: Fill, group: str) -> None:
    topic = filled(*numbers(0, 10))
    with Consumer(bootstrap, topic, group=group) as consumer:
        assert values(consumer, 4) == numbers(0, 4)
        assert consumer.poll(0) is not None  # 4 is given out, and not handled when the consumer is closed
    with Consumer(bootstrap, topic, group=group) as consumer:
        assert values(consumer, 6) == numbers(4, 10)


@pytest.mark.feature("K-08", "K-19")
def test_auto_commit_in_between(bootstrap: str, filled: Fill, group: str, admin: Admin) -> None:
    topic = filled(*numbers(0, 10))
    with Consumer(bootstrap, topic, group=group, auto_commit_interval_ms=100) as consumer:
        values(consumer, 10)
        consumer.poll(0.5)
        wait_until(lambda: admin.group_lag(group) == {TopicPartition(topic, 0): 0}, what="all is committed")


@pytest.mark.feature("K-08", "K-19")
def test_manual_commit(bootstrap: str, filled: Fill, group: str, admin: Admin) -> None:
    topic = filled(*numbers(0, 10))
    with Consumer(bootstrap, topic, group=group, auto_commit=False) as consumer:
        batch = consumer.poll_batch(6, 10)
        assert [record.value for record in batch] == numbers(0, 6)
        consumer.commit(batch[2])
        assert admin.group_lag(group) == {TopicPartition(topic, 0): 7}
        consumer.commit()
        assert admin.group_lag(group) == {TopicPartition(topic, 0): 4}
        assert values(consumer, 4) == numbers(6, 10)
    with Consumer(bootstrap, topic, group=group, auto_commit=False) as consumer:
        assert values(consumer, 4) == numbers(6, 10), "what was not committed comes again"


@pytest.mark.feature("K-08", "K-19")
def test_a_commit_after_the_group_has_gone_on(bootstrap: str, filled: Fill, group: str, admin: Admin) -> None:
    topic = filled(*numbers(0, 3))
    first = Consumer(
        bootstrap,
        topic,
        group=group,
        auto_commit=False,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=300,
        max_poll_interval_ms=SESSION_TIMEOUT_MS,
    )
    record = first.poll(10)
    with Consumer(bootstrap, topic, group=group) as second:
        assert values(second, 3) == numbers(0, 3)
        with pytest.raises(CommitFailed, match="the next owner reads those records again"):
            first.commit(record)
    assert admin.group_lag(group) == {TopicPartition(topic, 0): 1}
    first.close()


@pytest.mark.feature("K-08", "K-19")
def test_what_goes_can_be_committed_at_the_end_as_well(bootstrap: str, filled: Fill, group: str, admin: Admin) -> None:
    topic = filled(*numbers(0, 3))
    events: list[tuple[list[TopicPartition], list[TopicPartition]]] = []

    def revoked(places: list[TopicPartition]) -> None:
        consumer.commit()
        consumer.close()  # which it is already doing
        events.append((places, consumer.assignment()))

    with Consumer(bootstrap, topic, group=group, auto_commit=False, on_revoke=revoked) as consumer:
        assert values(consumer, 2) == numbers(0, 2)
    place = TopicPartition(topic, 0)
    assert events == [([place], [place])]
    assert admin.group_lag(group) == {place: 1}


@pytest.mark.feature("K-05", "K-19")
@pytest.mark.parametrize("assignor", [pytest.param("range", marks=pytest.mark.full), "cooperative-sticky"])
def test_partitions_that_were_lost_are_told_and_come_back(
    bootstrap: str,
    filled: Fill,
    group: str,
    admin: Admin,
    assignor: Literal["range", "cooperative-sticky"],
) -> None:
    """Who was too slow has lost them, and what was handled and not committed comes again."""
    topic = filled(*numbers(0, 3))
    events: list[tuple[str, list[TopicPartition], list[TopicPartition]]] = []

    def note(what: str) -> Callable[[list[TopicPartition]], None]:
        return lambda places: events.append((what, places, consumer.assignment()))

    with Consumer(
        bootstrap,
        topic,
        group=group,
        assignor=assignor,
        auto_commit_interval_ms=60_000,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        heartbeat_interval_ms=300,
        max_poll_interval_ms=SESSION_TIMEOUT_MS,
        max_poll_records=1,
        on_assign=note("assigned"),
        on_revoke=note("revoked"),
        on_lost=note("lost"),
    ) as consumer:
        assert values(consumer, 1) == numbers(0, 1)
        wait_until(lambda: not admin.describe_group(group).members, what="the group has gone on", within_s=30)
        assert values(consumer, 3) == numbers(0, 3)
        ours = [TopicPartition(topic, 0)]
        assert events == [("assigned", ours, ours), ("lost", ours, []), ("assigned", ours, ours)]


@pytest.mark.feature("K-08", "K-19")
@pytest.mark.parametrize("grouped", [True, False])
def test_where_to_begin(bootstrap: str, new_topic: NewTopic, group: str, grouped: bool) -> None:
    topic = new_topic()
    moment = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)
    with Producer(bootstrap, linger_ms=0) as producer:
        for number in range(6):
            at_ms = round(moment.timestamp() * 1000) + number * 1000
            producer.send(topic, b"%d" % number, timestamp_ms=at_ms)
    starts: dict[Any, list[bytes]] = {
        "earliest": numbers(0, 6),
        2: numbers(2, 6),
        moment + datetime.timedelta(seconds=3.5): numbers(4, 6),
        moment + datetime.timedelta(days=1): [],
        "latest": [],
    }
    for number, (start, expected) in enumerate(starts.items()):
        options: Any = {"group": f"{group}-{number}"} if grouped else {}
        with Consumer(bootstrap, topic, start=start, **options) as consumer:
            assert values(consumer, len(expected) or None) == expected, start


@pytest.mark.feature("K-08", "K-19")
def test_a_committed_offset_goes_before_the_start(bootstrap: str, filled: Fill, group: str) -> None:
    topic = filled(*numbers(0, 6))
    with Consumer(bootstrap, topic, group=group) as consumer:
        values(consumer, 3)
        consumer.commit()
    with Consumer(bootstrap, topic, group=group, start=1) as consumer:
        assert values(consumer, 3) == numbers(3, 6)


@pytest.mark.feature("K-08", "K-19")
def test_seek(bootstrap: str, filled: Fill, group: str) -> None:
    topic = filled(*numbers(0, 6))
    with Consumer(bootstrap, topic, group=group) as consumer:
        assert values(consumer, 3) == numbers(0, 3)
        consumer.seek(topic, 0, 1)
        assert values(consumer, 5) == numbers(1, 6)
        consumer.seek(topic, 0, "earliest")
        assert values(consumer, 1) == numbers(0, 1)
        consumer.seek(topic, 0, datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
        assert values(consumer, 1) == numbers(0, 1)
        with pytest.raises(StateError, match=rf"-7 is not a partition of this consumer: it has {topic}-0"):
            consumer.seek(topic, 7, 0)
        with pytest.raises(SettingsError, match="'middle' is not a place to begin"):
            consumer.seek(topic, 0, "middle")  # type: ignore[arg-type]
        with pytest.raises(SettingsError, match="a time without a zone"):
            consumer.seek(topic, 0, datetime.datetime(2020, 1, 1))  # noqa: DTZ001


def test_pause_and_resume(bootstrap: str, filled: Fill, group: str) -> None:
    topic = filled(*numbers(0, 4), partitions=2)
    with Consumer(bootstrap, topic, group=group, max_poll_records=1) as consumer:
        assert len(values(consumer, 1)) == 1
        consumer.pause(*consumer.assignment())
        taken = len(values(consumer))  # what librdkafka had taken already
        with Producer(bootstrap, linger_ms=0) as producer:
            producer.send(topic, b"later", partition=0)
        assert values(consumer) == []
        consumer.resume(*consumer.assignment())
        assert len(values(consumer, 4 - taken)) == 4 - taken


# --- at most once ----------------------------------------------------------------------------------------------------


@pytest.mark.feature("K-07", "K-19")
def test_at_most_once_commits_before_it_gives_out(bootstrap: str, filled: Fill, group: str, admin: Admin) -> None:
    topic = filled(*numbers(0, 10))
    with Consumer(bootstrap, topic, group=group, delivery="at-most-once", max_poll_records=4) as consumer:
        assert values(consumer, 1) == numbers(0, 1)
        assert admin.group_lag(group)[TopicPartition(topic, 0)] in range(6, 10), "what was taken is committed"
        assert values(consumer, 1) == numbers(1, 2)
        with pytest.raises(StateError, match="committed by themselves"):
            consumer.commit()
    with Consumer(bootstrap, topic, group=group, delivery="at-most-once") as consumer:
        assert values(consumer, 8) == numbers(2, 10), "what was never given out is not lost at a clean end"


# --- groups ----------------------------------------------------------------------------------------------------------


@pytest.mark.feature("K-06", "K-19")
@variants(
    "assignor",
    [("range",), ("round-robin",), ("sticky",), ("cooperative-sticky",)],
    quick=[("range",), ("cooperative-sticky",)],
)
def test_members_share_the_partitions(
    bootstrap: str,
    filled: Fill,
    group: str,
    assignor: Literal["range", "round-robin", "sticky", "cooperative-sticky"],
) -> None:
    topic = filled(*numbers(0, 8), partitions=4)
    events: list[tuple[str, int]] = []
    with Consumer(
        bootstrap,
        topic,
        group=group,
        assignor=assignor,
        heartbeat_interval_ms=200,
        auto_commit_interval_ms=60_000,
        on_assign=lambda places: events.append(("assigned", len(places))),
        on_revoke=lambda places: events.append(("revoked", len(places))),
    ) as first:
        assert sorted(values(first, 8)) == numbers(0, 8)
        with Consumer(bootstrap, topic, group=group, assignor=assignor, heartbeat_interval_ms=200) as second:

            def shared() -> bool:
                assert first.poll(0.1) is None
                assert second.poll(0.1) is None, "what was handled is committed before its partition goes"
                return len(first.assignment()) == len(second.assignment()) == 2

            wait_until(shared, what="each has two", within_s=30)
            assert values(second) == []
            assert not set(first.assignment()) & set(second.assignment())
    # A cooperative assignor takes away what moves; the others take away everything and deal again.
    moved = 2 if "sticky" in assignor else 4
    assert events[:2] == [("assigned", 4), ("revoked", moved)]


@pytest.mark.feature("K-19")
def test_sessions_are_those_of_the_defaults(bootstrap: str, filled: Fill, group: str) -> None:
    with Consumer(bootstrap, filled(b"a"), group=group) as consumer:
        assert consumer.options["session_timeout_ms"] == 10_000
        assert consumer.options["heartbeat_interval_ms"] == 3_000


def test_an_error_of_a_callback_reaches_the_caller(bootstrap: str, filled: Fill, group: str) -> None:
    def wrong(_: list[TopicPartition]) -> None:
        raise KeyError("mine")

    consumer = Consumer(bootstrap, filled(b"a"), group=group, on_assign=wrong)
    with pytest.raises(KeyError, match="mine"):
        values(consumer, 1, 15)
    consumer.close()


# --- formats ---------------------------------------------------------------------------------------------------------


@pytest.mark.feature("K-04", "K-19")
@pytest.mark.parametrize(
    ("deserializer", "data", "expected"),
    [
        ("bytes", b"\x00\xff", b"\x00\xff"),
        ("text", "grün".encode(), "grün"),
        ("json", b'{"id": 1}', {"id": 1}),
        (Order, b'{"id": 1}', Order(id=1)),
        (Avro(ORDER), b"\x02", {"id": 1}),
        (
            Avro(ORDER, reader_schema={**ORDER, "fields": [{"name": "more", "type": "string", "default": "-"}]}),
            b"\x02",
            {"more": "-"},
        ),
        (lambda data: data.hex(), b"\x01", "01"),
        ("json", None, None),
    ],
)
def test_deserializers(bootstrap: str, filled: Fill, deserializer: Any, data: bytes | None, expected: Any) -> None:
    with Consumer(bootstrap, filled(data), value_deserializer=deserializer) as consumer:
        record = consumer.poll(10)
        assert record is not None
        assert record.value == expected


BAD: list[Any] = [
    ("text", b"\xff", "UnicodeDecodeError"),
    ("json", b"{", "JSONDecodeError"),
    (Order, b'{"id": "x"}', "valid integer"),
    (Avro(ORDER), b"", "EOFError"),
    (Avro(ORDER), b"\x02\x02", "1 bytes are left over"),
]


@pytest.mark.feature("K-04", "K-19")
@pytest.mark.parametrize(("deserializer", "bad", "message"), BAD)
def test_a_value_that_cannot_be_read_has_a_place(
    bootstrap: str, filled: Fill, deserializer: Any, bad: bytes, message: str
) -> None:
    topic = filled(bad)
    with Consumer(bootstrap, topic, value_deserializer=deserializer) as consumer:
        with pytest.raises(DeserializationError, match=message) as caught:
            consumer.poll(10)
        error = caught.value
        assert (error.topic, error.partition, error.offset, error.part) == (topic, 0, 0, "value")
        assert (error.key, error.value) == (b"k0", bad)
        assert f"offset 0 of {topic}-0" in str(error)
        assert "on_bad_record" in error.hint


@pytest.mark.feature("K-04", "K-19")
def test_a_bad_record_that_is_raised_comes_again_unless_the_user_goes_on(
    bootstrap: str, filled: Fill, group: str
) -> None:
    topic = filled(b"1", b"bad", b"3")
    for _ in range(2):
        with (
            Consumer(bootstrap, topic, group=group, value_deserializer="json") as consumer,
            pytest.raises(DeserializationError, match="offset 1"),
        ):
            values(consumer, 3)
    with Consumer(bootstrap, topic, group=group, value_deserializer="json") as consumer:
        with pytest.raises(DeserializationError, match="offset 1"):
            consumer.poll(10)
        assert values(consumer, 1) == [3]
    with Consumer(bootstrap, topic, group=group, value_deserializer="json") as consumer:
        assert values(consumer, 1) == [3], "it was given out last, and not handled"


def test_batches_end_before_a_bad_record(bootstrap: str, filled: Fill) -> None:
    with Consumer(bootstrap, filled(b"1", b"2", b"bad", b"4"), value_deserializer="json") as consumer:
        assert [record.value for record in consumer.poll_batch(10, 10)] == [1, 2]
        with pytest.raises(DeserializationError, match="offset 2"):
            consumer.poll_batch(10, 10)
        assert [record.value for record in consumer.poll_batch(10, 10)] == [4]


@pytest.mark.feature("K-04", "K-19")
def test_bad_records_are_skipped_and_counted(bootstrap: str, filled: Fill, caplog: pytest.LogCaptureFixture) -> None:
    topic = filled(b"1", b"bad", b"3")
    with Consumer(bootstrap, topic, value_deserializer="json", on_bad_record="skip") as consumer:
        assert values(consumer, 2) == [1, 3]
        assert consumer.skipped_count == 1
    assert f"skipped: the value at offset 1 of {topic}-0 cannot be read" in caplog.text


@pytest.mark.feature("K-04", "K-19")
def test_bad_records_go_to_a_callable(bootstrap: str, filled: Fill) -> None:
    seen: list[DeserializationError] = []
    topic = filled(b"1", b"bad", b"3")
    with Consumer(bootstrap, topic, value_deserializer="json", on_bad_record=seen.append) as consumer:
        assert values(consumer, 2) == [1, 3]
    assert [(error.offset, error.value) for error in seen] == [(1, b"bad")]


def test_a_bad_record_comes_again_if_the_callable_fails(bootstrap: str, filled: Fill, group: str) -> None:
    seen: list[int] = []

    def fails_first(error: DeserializationError) -> None:
        seen.append(error.offset)
        if len(seen) % 2:
            raise KeyError

    topic = filled(b"1", b"bad", b"3", b"bad", b"5")
    with Consumer(bootstrap, topic, group=group, value_deserializer="json", on_bad_record=fails_first) as consumer:
        assert values(consumer, 1) == [1]
        with pytest.raises(KeyError):
            consumer.poll(10)
        assert values(consumer, 1) == [3]
        with pytest.raises(KeyError):
            consumer.poll_batch(10, 10)
        assert [record.value for record in consumer.poll_batch(10, 10)] == [5]
    assert seen == [1, 1, 3, 3]


def test_keys_that_cannot_be_read(bootstrap: str, filled: Fill) -> None:
    with (
        Consumer(bootstrap, filled(b"1"), key_deserializer="json") as consumer,
        pytest.raises(DeserializationError, match=r"the key at offset 0.*choose another key_deserializer"),
    ):
        consumer.poll(10)
