"""Packed batches on their way to subscriptions: a few bytes may unpack to a great many, or to nothing that decodes."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from penstock.broker.delivery.live_subscription import LiveSubscription
from penstock.broker.delivery.reading.feed import UNPACKED_BY_ANY_BYTES, Feed
from penstock.broker.delivery.reading.lookup import find
from penstock.broker.delivery.reading.unpacking import Unpacking
from penstock.cluster.partition import Partition
from penstock.cluster.role import Leader
from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, assemble_batch, build_batch
from penstock.model.compression import CODEC_NAMES
from penstock.model.errors import KafkaError
from penstock.model.ids import PartitionId
from penstock.protocol.push.data import decode_items
from tests.support.engine_bench import TOPIC as TOPIC_ID
from tests.support.engine_bench import EngineBench
from tests.support.group_world import run, settle
from tests.unit.broker.delivery.delivery_world import TOPIC, DeliveryWorld, until

NOW_MS = 1_700_000_000_000
CODECS = range(1, len(CODEC_NAMES))


def packed(values: list[bytes], codec: int) -> bytearray:
    return build_batch([NewRecord(None, value) for value in values], timestamp=NOW_MS, codec=codec)


def bomb(size: int, codec: int = 4) -> bytearray:
    """A batch of zeros, which are no records."""
    header = read_header(build_batch([NewRecord(None, b"")], timestamp=NOW_MS, codec=codec))
    return assemble_batch(header, bytes(size))


class Stored:
    """A partition on disk with these batches."""

    def __init__(self, root: Path, *batches: bytearray) -> None:
        bench = EngineBench(root)
        bench.create("t", TOPIC_ID)
        self.partition = Partition("t", PartitionId(TOPIC_ID, 0), bench.engine.log(PartitionId(TOPIC_ID, 0)), Leader(0))
        bench.on_flushed = lambda log: self.partition.log_advanced()  # type: ignore[method-assign]
        bench.start()
        for batch in batches:
            self.partition.append(batch, read_header(batch), NOW_MS)
        bench.settle()


def offsets(feed: Feed, position: int = 0) -> list[int]:
    chunk = feed.next_chunk(position, ttl_ms=-1, now_ms=NOW_MS, wanted=None)
    assert chunk is not None
    return chunk.offsets


# --- on the loop, or not --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", CODECS, ids=CODEC_NAMES[1:])
def test_what_unpacks_to_little_is_unpacked_at_once(tmp_path: Path, codec: int) -> None:
    feed = Feed(Stored(tmp_path, packed([b"x" * 500] * 100, codec)).partition)
    assert offsets(feed) == list(range(100))


@pytest.mark.parametrize("codec", CODECS, ids=CODEC_NAMES[1:])
def test_what_unpacks_to_much_is_left_to_a_thread_however_small_it_is(tmp_path: Path, codec: int) -> None:
    batch = packed([bytes(1000)] * 100, codec)
    assert len(batch) < 16 * 1024
    feed = Feed(Stored(tmp_path, batch).partition)
    for _ in range(2):
        with pytest.raises(BlockingIOError):
            offsets(feed)
    feed.prepare(0)
    assert offsets(feed) == list(range(100))


def test_messages_before_such_a_batch_are_not_kept_waiting(tmp_path: Path) -> None:
    feed = Feed(Stored(tmp_path, packed([b"a"], 4), packed([bytes(1 << 20)], 4), packed([b"z"], 4)).partition)
    assert offsets(feed) == [0]
    with pytest.raises(BlockingIOError):
        offsets(feed, 1)
    feed.prepare(1)
    assert [offsets(feed, 1), offsets(feed, 2)] == [[1], [2]]


def test_a_very_large_one_is_for_the_thread_that_unpacks_one_after_the_other(tmp_path: Path) -> None:
    feed = Feed(Stored(tmp_path, packed([bytes(8 << 20)], 4)).partition)
    with pytest.raises(BlockingIOError):
        offsets(feed)
    feed.prepare(0)
    assert (feed.is_huge, feed.unpacked_bytes) == (True, 0)
    with pytest.raises(BlockingIOError):
        offsets(feed)
    feed.prepare_huge()
    assert feed.unpacked_bytes > 8 << 20
    assert offsets(feed) == [0]
    assert feed.unpacked_bytes == 0, "nothing is kept that has been read"


@pytest.mark.parametrize("codec", CODECS, ids=CODEC_NAMES[1:])
def test_a_very_large_one_is_read_byte_for_byte_and_ends_where_it_ends(tmp_path: Path, codec: int) -> None:
    values = [bytes([number]) * (3 << 20) for number in range(3)] + [b"last"]
    whole = Feed(Stored(tmp_path / "whole", packed(values, codec)).partition)
    plain = packed(values, 0)
    cut = assemble_batch(read_header(packed(values, codec)), plain[61:-2])
    cut_off = Feed(Stored(tmp_path / "cut", cut).partition)
    for feed in (whole, cut_off):
        feed.prepare(0)
        feed.prepare_huge()
    bodies: list[bytes | None] = []
    while len(bodies) < len(values):
        chunk = whole.next_chunk(len(bodies), ttl_ms=-1, now_ms=NOW_MS, wanted=None)
        assert chunk is not None
        bodies += [decode_items(item, 0, 1)[0][0].body for item in chunk.items]
    assert bodies == values
    assert [offsets(cut_off, offset) for offset in range(3)] == [[0], [1], [2]]
    with pytest.raises(KafkaError):
        offsets(cut_off, 3)


def test_many_small_ones_that_unpack_to_much_together_are_read_a_few_at_a_time(tmp_path: Path) -> None:
    feed = Feed(Stored(tmp_path, *[packed([bytes(60_000)], 4) for _ in range(12)]).partition)
    assert offsets(feed) == [0, 1, 2, 3, 4]
    assert offsets(feed, 5) == [5, 6, 7, 8, 9]
    assert offsets(feed, 10) == [10, 11]


def test_one_message_of_a_very_large_batch_is_found_in_the_same_thread(tmp_path: Path) -> None:
    partition = Stored(tmp_path, packed([bytes(8 << 20), b"a"], 4)).partition
    with pytest.raises(BlockingIOError):
        find(partition, [1], ttl_ms=-1, now_ms=NOW_MS, limit=UNPACKED_BY_ANY_BYTES)
    assert list(find(partition, [1], ttl_ms=-1, now_ms=NOW_MS).messages) == [1]


# --- memory of all subscriptions together ---------------------------------------------------------------------------


def test_the_batch_that_was_not_read_for_longest_is_dropped_and_unpacked_again(tmp_path: Path) -> None:
    partition = Stored(tmp_path, packed([bytes(1000)] * 1000, 4)).partition
    unpacking = Unpacking(held_bytes_max=2_500_000)
    feeds = [Feed(partition) for _ in range(3)]
    for feed in feeds[:2]:
        feed.prepare(0)
        assert unpacking.note(feed)
    assert offsets(feeds[0]) == list(range(200))
    assert unpacking.note(feeds[0])
    feeds[2].prepare(0)
    assert unpacking.note(feeds[2])
    assert [feed.unpacked_bytes > 0 for feed in feeds] == [True, False, True]
    assert unpacking.held_bytes == sum(feed.unpacked_bytes for feed in feeds)
    assert offsets(feeds[0], 200) == list(range(200, 400))
    feeds[1].prepare(0)
    assert offsets(feeds[1]) == list(range(200))
    unpacking.release(feeds[2])
    assert unpacking.held_bytes == feeds[0].unpacked_bytes


def test_one_batch_may_be_larger_than_all_together(tmp_path: Path) -> None:
    unpacking = Unpacking(held_bytes_max=1000)
    feed = Feed(Stored(tmp_path, packed([bytes(1 << 20)], 4)).partition)
    feed.prepare(0)
    assert unpacking.note(feed)
    assert offsets(feed) == [0]
    assert not unpacking.note(feed)
    assert unpacking.held_bytes == 0


# --- batches that never decode --------------------------------------------------------------------------------------


class Tries:
    """A subscription in front of a batch that does not decode, and how often it was read."""

    def __init__(self, one: DeliveryWorld) -> None:
        self.one = one
        self.count = 0
        self.log = one.world.log_of(TOPIC, 0)
        read = self.log.read

        def counting(*args: Any, **options: Any) -> Any:
            self.count += 1
            return read(*args, **options)

        self.log.read = counting  # type: ignore[method-assign]

    def publish(self, batch: bytearray) -> None:
        self.one.world.partitions.get(TOPIC, 0).append(batch, read_header(batch), NOW_MS)

    async def after(self, milliseconds: int) -> int:
        """How often it is read in this time, of which each second is looked at."""
        before = self.count
        for _ in range(milliseconds // 1000):
            self.one.world.clock.time_ms += 1000
            self.publish(packed([b"later"], 0))  # wakes the subscription
            for _ in range(3):
                await settle()
        return self.count - before


def test_a_batch_that_never_decodes_is_tried_less_and_less_often(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            tries = Tries(one)
            tries.publish(bomb(2000, 0))
            await one.join()
            await until(lambda: tries.count == 1)
            await settle()
            assert [await tries.after(1000 * seconds) for seconds in (1, 2, 4, 8, 16, 32, 60, 60)] == [1] * 8
            assert await tries.after(600_000) == 10

    with caplog.at_level(logging.ERROR, "penstock.broker.delivery"):
        run(test())
    assert 12 <= len([one for one in caplog.records if "cannot be read" in one.message]) <= 14, "one a minute"


async def stuck(one: DeliveryWorld) -> tuple[Tries, LiveSubscription]:
    """A subscription before a batch that never decodes, in the middle of a long pause."""
    tries = Tries(one)
    tries.publish(bomb(2000, 0))
    live = await one.join()
    await until(lambda: tries.count == 1)
    await tries.after(20_000)
    return tries, live


def test_whoever_moves_past_it_goes_on_at_once() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            _, live = await stuck(one)
            assert live.in_flight == 0
            live.set_position(0, 1)
            await until(lambda: live.in_flight == 20)

    run(test())


def test_records_deleted_with_it_let_the_subscription_go_on_at_once() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            tries, live = await stuck(one)
            tries.log.delete_records(1)
            tries.publish(packed([b"later"], 0))
            await until(lambda: live.in_flight == 21)

    run(test())


def test_a_subscription_unpacks_a_bomb_off_the_loop_and_waits_longer_each_time() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            tries = Tries(one)
            tries.publish(bomb(32 << 20))
            await one.join()
            await until(lambda: tries.count == 1)
            live = one.subscriptions.live("sub")
            assert live is not None
            (feed,) = live._feed._feeds.values()
            await until(lambda: feed._pause_ms == 1000)
            assert not feed._is_preparing
            assert await tries.after(1000) == 1
            await until(lambda: feed._pause_ms == 2000)

    run(test())


def test_large_batches_are_delivered_to_all_subscriptions() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            Tries(one).publish(packed([bytes(8 << 20), b"a", b"b"], 4))
            live = await one.join()
            await until(lambda: live.in_flight == 3)
            found = await live._feed.find(0, [1, 2])
            assert found is not None
            assert list(found.messages) == [1, 2]

    run(test())


def test_messages_of_a_batch_that_breaks_off_are_read_again_less_and_less_often() -> None:
    async def test() -> None:
        async with DeliveryWorld() as one:
            tries = Tries(one)
            sound = packed([b"x"] * 250, 0)
            tries.publish(assemble_batch(read_header(sound)._replace(record_count=300), sound[61:] + bytes(2000)))
            live = await one.join()
            await until(lambda: live.in_flight > 0)
            assert 3 < await tries.after(600_000) < 30

    run(test())
