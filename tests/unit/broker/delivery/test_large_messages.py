"""Large messages on their way to members: what no frame may hold is skipped, and what nobody reads is bounded."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path

import pytest

from penstock.broker.delivery.core.member import Member
from penstock.broker.delivery.core.rules import Rules
from penstock.broker.delivery.core.subscription import Subscription
from penstock.broker.delivery.reading.feed import Feed
from penstock.broker.delivery.reading.lookup import find
from penstock.broker.delivery.reading.record_encoder import CHUNK_ITEM_BYTES, LARGE_ITEM_BYTES
from penstock.broker.delivery.unsent import Unsent
from penstock.broker.progress.position import Position
from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.limits import PUSHED_PROPERTIES_MAX
from penstock.net.flow_control import FlowControl
from penstock.protocol.push.data import ITEM_BYTES_MIN, encode_item, frame_room
from tests.support.group_world import run, settle
from tests.unit.broker.delivery.delivery_world import HELD_BYTES_MAX, NAME, TOPIC, Connection, DeliveryWorld, until
from tests.unit.broker.delivery.test_packed_batches import NOW_MS, Stored

KIB = 1024
ITEM_BYTES = 10_000
FITS = bytes(ITEM_BYTES - ITEM_BYTES_MIN)
LARGE = bytes(LARGE_ITEM_BYTES + 1)
HEADERS = tuple((f"{number}", b"") for number in range(PUSHED_PROPERTIES_MAX + 1))


def publish(one: DeliveryWorld, *bodies: bytes, key: bytes | None = None) -> None:
    for body in bodies:
        batch = build_batch([NewRecord(key, body)], timestamp=NOW_MS, codec=4)
        one.world.partitions.get(TOPIC, 0).append(batch, read_header(batch), NOW_MS)


# --- too large for a frame ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(NewRecord(None, FITS + b"."), id="by one byte"),
        pytest.param(NewRecord(bytes(6_000), bytes(6_000)), id="key and body"),
        pytest.param(NewRecord(None, b"", (("h", bytes(3_500)),)), id="headers that grow threefold"),
        pytest.param(NewRecord(None, b"", HEADERS), id="very many headers"),
    ],
)
def test_what_no_frame_may_hold_is_left_out(tmp_path: Path, record: NewRecord) -> None:
    batch = build_batch([NewRecord(None, b"a"), record, NewRecord(None, FITS)], timestamp=NOW_MS)
    limit = 1 << 20 if record.headers is HEADERS else ITEM_BYTES
    partition = Stored(tmp_path, batch).partition
    chunk = Feed(partition, limit).next_chunk(0, ttl_ms=-1, now_ms=NOW_MS, wanted=None)
    assert chunk is not None
    assert (chunk.offsets, chunk.next_offset, chunk.too_large, chunk.too_large_at) == ([0, 2], 3, 1, 1)
    found = find(partition, [1, 2], ttl_ms=-1, now_ms=NOW_MS, item_bytes_max=limit)
    assert (list(found.messages), found.unread) == ([2], [])


def test_the_largest_message_and_its_frame() -> None:
    body = bytes(frame_room(NAME, TOPIC, 64 * KIB) - ITEM_BYTES_MIN)
    too_long = body + b"."

    async def test() -> None:
        async with DeliveryWorld(frame_bytes_max=64 * KIB) as one:
            connection = Connection()
            publish(one, body, too_long)
            await one.subscriptions.join(NAME, Member("m"), connection)
            await until(lambda: one.subscriptions.counters.too_large == 1)
            (frame,) = connection.frames
            assert len(frame) == 64 * KIB + 13, "with its header"

    run(test())


def test_a_message_that_is_too_large_is_skipped_counted_and_reported_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test() -> None:
        async with DeliveryWorld(frame_bytes_max=64 * KIB) as one:
            publish(one, b"a", bytes(200_000), b"b", bytes(300_000))
            live = await one.join()
            await until(lambda: one.subscriptions.counters.too_large == 2)
            assert live.in_flight == 2
            one.done(live, 0, 3)
            await until(lambda: one.offset == 4)

    with caplog.at_level(logging.WARNING, "penstock.broker.delivery"):
        run(test())
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("sub: 1 message of t-0 from offset 1 on cannot be pushed")
    assert "push.frame_bytes_max" in line


# --- a few at a time ------------------------------------------------------------------------------------------------


def test_large_messages_of_one_batch_are_read_one_by_one(tmp_path: Path) -> None:
    large = bytes(CHUNK_ITEM_BYTES)
    partition = Stored(tmp_path, build_batch([NewRecord(None, large)] * 5, timestamp=NOW_MS, codec=4)).partition
    feed = Feed(partition)
    feed.prepare(0)
    feed.prepare_huge()
    for offset in range(5):
        chunk = feed.next_chunk(offset, ttl_ms=-1, now_ms=NOW_MS, wanted=None)
        assert chunk is not None
        assert (chunk.offsets, chunk.next_offset, chunk.has_large) == ([offset], offset + 1, True)
    found = find(partition, [1, 3, 4], ttl_ms=-1, now_ms=NOW_MS)
    assert (list(found.messages), found.unread) == ([1], [3, 4])


def test_large_messages_are_sent_again_and_become_dead_letters_one_by_one() -> None:
    async def test() -> None:
        async with DeliveryWorld(redelivery_delay_ms=0, deliveries_max=2) as one:
            batch = build_batch([NewRecord(None, bytes(CHUNK_ITEM_BYTES))] * 3, timestamp=NOW_MS, codec=4)
            one.world.partitions.get(TOPIC, 0).append(batch, read_header(batch), NOW_MS)
            counters = one.subscriptions.counters
            for delivered in (3, 6):
                live = await one.join()
                await until(lambda count=delivered: counters.delivered == count)  # type: ignore[misc]
                one.leave(live)
            await until(lambda: counters.dead_lettered == 3)

    run(test())


# --- members that do not read ---------------------------------------------------------------------------------------


def test_large_messages_wait_where_members_have_not_read_too_much() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            unsent, delivered = one.subscriptions.unsent, one.subscriptions.counters
            one.flow.change(HELD_BYTES_MAX)
            unsent.count("another connection", "", 1)
            publish(one, b"small", LARGE)
            live = await one.join()
            await until(lambda: live._feed._large.unpacking.held_bytes > len(LARGE))
            await settle()
            assert delivered.delivered == 1, "small ones do not wait"
            unsent.count("another connection", "", 0)  # one of an owner, whatever Kafka clients hold
            await until(lambda: delivered.delivered == 2)
            assert live._feed._large.unpacking.held_bytes == 0

    run(test())


def test_a_large_message_that_is_sent_again_waits_as_well() -> None:
    async def test() -> None:
        async with DeliveryWorld(redelivery_delay_ms=0) as one:
            unsent, counters = one.subscriptions.unsent, one.subscriptions.counters
            publish(one, LARGE)
            one.leave(await one.join())
            one.flow.change(HELD_BYTES_MAX)
            unsent.count("another connection", "", 1)
            live = await one.join()
            await until(lambda: not live._redelivery.is_reading)
            await settle()
            before = counters.delivered
            unsent.count("another connection", "", 0)
            one.world.clock.time_ms += 1_000
            publish(one, b"small")
            await until(lambda: counters.delivered == before + 2)

    run(test())


def test_large_messages_of_one_owner_do_not_wait_for_those_of_another() -> None:
    flow = FlowControl(8)
    unsent = Unsent(flow)
    woken: list[str] = []
    unsent.count("first", "a", 100)
    unsent.count("second", "a", 100)
    assert [unsent.has_room({"a"}), unsent.has_room({"b"}), unsent.has_room({"a", "b"})] == [False, True, True]
    unsent.count("third", "b", 100)
    assert flow.held_bytes == 300
    for owner in ("a", "b"):
        unsent.wait(partial(woken.append, owner), {owner})
    unsent.count("first", "a", 0)
    assert woken == []
    unsent.count("third", "b", 50)
    unsent.count("third", "b", 0)
    assert woken == ["b"]
    unsent.count("second", "changed", 0)
    assert woken == ["b", "a"]
    assert (flow.held_bytes, unsent.is_crowded) == (0, False)


def test_a_large_message_is_not_kept_for_the_member_of_its_key() -> None:
    core = Subscription("s", "t", Rules(), {0: Position(0)}, by_key=True)
    full, other = Member("full", credit=1), Member("other", credit=1)
    core.join(full, 0)
    items = [encode_item(0, 1, b"k", offset, 0, b"", body) for offset, body in enumerate((b"", b"", LARGE, b""))]
    deal = core.dispatch.deal
    assert deal(core.cursors[0], [0, 1], items[:2], [b"k"] * 2, 0) == 2
    assert core.dispatch.keys.waiting_count == 1
    core.join(other, 0)
    assert deal(core.cursors[0], [2, 3], items[2:], [b"k"] * 2, 0) == 0
    assert core.dispatch.keys.waiting_count == 1
