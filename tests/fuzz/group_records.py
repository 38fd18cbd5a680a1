"""Target: the records of `__consumer_offsets`, which a broker reads when it starts.

    size of the key u16 · key · value, repeated with two bytes for the size of the value between, until the end

Wrong is: an exception other than MalformedRecord; a record that means something else once it is written and read
again; a coordinator that does not come up over such records, or that cannot be stopped.
"""

from __future__ import annotations

import asyncio
import random
import struct
from collections.abc import Iterator
from typing import Final

from penstock.broker.coordination.record_primitives import MalformedRecord
from penstock.broker.groups.classic.records import (
    CLASSIC_GROUP,
    GroupKey,
    GroupValue,
    MemberValue,
    decode_group,
    encode_group,
)
from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.broker.groups.log.record_table import decode_key
from penstock.broker.groups.offsets.records import (
    OFFSET_COMMIT,
    CommittedOffset,
    OffsetKey,
    decode_offset,
    encode_offset,
)
from penstock.model.batch import check_batch
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.ids import NO_TOPIC_ID
from penstock.model.topic_name import CONSUMER_OFFSETS
from tests.fuzz.finding import ErrorLog, Finding, watched
from tests.fuzz.mutation import Change, put_number, rearrange
from tests.fuzz.samples import TIME
from tests.fuzz.virtual_loop import LoopClock
from tests.fuzz.world import SETTINGS, TOPICS, World, without_chance

Pair = tuple[bytes, bytes]
STRINGS: Final = 0x7FFF  # the longest that an int16 can say


def run(data: bytes) -> None:
    pairs = list(split(data))
    errors = ErrorLog()
    with without_chance(), watched(), errors.listening():
        for key, value in pairs:
            _check_pair(key, value)
        if pairs:
            world = World()
            try:
                world.loop.run_until_complete(_load(world, pairs))
            finally:
                world.close()
    errors.check()


def _check_pair(key: bytes, value: bytes) -> None:
    try:
        found = decode_key(key)
    except MalformedRecord:
        return
    what = None if found is None else found[1]
    try:
        if isinstance(what, OffsetKey):
            committed = decode_offset(value)
            if committed.expire_ms != -1:  # of the old version that has them, and no epoch or topic id
                committed = committed._replace(leader_epoch=-1, topic_id=NO_TOPIC_ID)
            _check_same(committed, decode_offset(encode_offset(committed)))
            _check_same(found, decode_key(OFFSET_COMMIT.encode_key(what)))
        elif isinstance(what, GroupKey):
            group = decode_group(value)
            _check_same(group, decode_group(encode_group(group)))
            _check_same(found, decode_key(CLASSIC_GROUP.encode_key(GroupKey(what.group_id))))
    except MalformedRecord:
        pass
    except struct.error:
        if len(value) <= STRINGS:  # the version that is written has shorter strings than the newest that is read
            raise


def _check_same(one: object, other: object) -> None:
    if one != other:
        raise Finding(f"{one} is written as {other}")


async def _load(world: World, pairs: list[Pair]) -> None:
    """A node starts over these records, is up for an hour, and stops."""
    broker = world.broker
    await broker.groups.prepare()
    await broker.groups.stop()
    batch = build_batch([NewRecord(key, value) for key, value in pairs], timestamp=TIME)
    broker.partitions.get(CONSUMER_OFFSETS, 0).append_trusted(batch, check_batch(batch), TIME)
    world.engine.tick()
    groups = broker.groups = GroupCoordinator(
        settings=SETTINGS,
        partitions=broker.partitions,
        topics=broker.topics,
        controller=broker.controller,
        clock=LoopClock(world.loop),
    )
    await groups.start()
    await groups.loaded()
    await groups.shards.expiry.sweep()
    for group in groups.all_groups():
        groups.committed(group.group_id)
    await asyncio.sleep(3_600)


def split(data: bytes) -> Iterator[Pair]:
    position = 0
    while position + 2 <= len(data):
        key, position = _sized(data, position)
        value, position = _sized(data, position)
        yield key, value


def _sized(data: bytes, position: int) -> tuple[bytes, int]:
    size = int.from_bytes(data[position : position + 2], "big")
    return data[position + 2 : position + 2 + size], position + 2 + size


def join(pairs: list[Pair]) -> bytes:
    return b"".join(len(part).to_bytes(2, "big") + part for pair in pairs for part in pair)


def _samples() -> dict[str, Pair]:
    member = MemberValue("m", "i", "c", "/127.0.0.1", 1_000, 10_000, b"\0\1\0\0\0\1\0\1t\0\0\0\0", b"\0\0")
    plain = member._replace(member_id="n", instance_id=None)
    group = GroupValue("consumer", 3, "range", "m", TIME, (member, plain))
    key = OFFSET_COMMIT.encode_key(OffsetKey("g", "t", 0))
    group_key = CLASSIC_GROUP.encode_key(GroupKey("g"))
    old_member = b"\0\1m\0\1c\0\1h" + struct.pack(">ii", 10_000, 0) + bytes(4)
    return {
        "offset": (key, encode_offset(CommittedOffset(5, 0, "note", TIME, -1, TOPICS["t"][0]))),
        "expiring": (key, encode_offset(CommittedOffset(5, -1, "", TIME, TIME + 1_000))),
        "offset-v0": (b"\0\0" + key[2:], struct.pack(">hq", 0, 5) + b"\0\0" + struct.pack(">q", TIME)),
        "offset-v3": (key, struct.pack(">hqi", 3, 5, 0) + b"\0\0" + struct.pack(">q", TIME)),
        "group": (group_key, encode_group(group)),
        "empty-group": (CLASSIC_GROUP.encode_key(GroupKey("h")), encode_group(GroupValue("", 0, None, None, TIME, ()))),
        "group-v0": (
            CLASSIC_GROUP.encode_key(GroupKey("g")),
            b"\0\0\0\1c\0\0\0\1\xff\xff\xff\xff\0\0\0\1" + old_member,
        ),
        "group-v4": (
            CLASSIC_GROUP.encode_key(GroupKey("g")),
            b"\0\4\2c\0\0\0\1\0\0" + struct.pack(">q", TIME) + b"\1\0",
        ),
        "unknown": (b"\0\x03\0\1g", b"\0\0"),
    }


def seeds() -> dict[str, bytes]:
    samples = _samples()
    found = {name: join([pair]) for name, pair in samples.items()}
    found["all"] = join(list(samples.values()))
    return found


def mutate(data: bytes, max_bytes: int, choose: random.Random, change: Change) -> bytes:
    pairs = list(split(data))
    parts = [part for pair in pairs for part in pair]
    if choose.random() < 0.1 or not parts:
        packed = [join([pair]) for pair in pairs]
        rearrange(packed, [join([pair]) for pair in _samples().values()], choose)
        return b"".join(packed)[:max_bytes]
    at = choose.randrange(len(parts))
    parts[at] = put_number(parts[at], choose) if choose.random() < 0.3 else change(parts[at], max_bytes)
    return join(list(zip(parts[::2], parts[1::2], strict=False)))[:max_bytes]
