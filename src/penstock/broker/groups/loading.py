"""Bringing a shard back from its log: every record of the partition is read, the last of each key counts.

Reading goes on in small steps between other work, because decoding is Python and the event loop has others to serve.
Members get their generation and assignment back and only their sessions begin anew, so a restart of the broker does
not rebalance anybody. Records of kinds that we do not know, and records that do not decode, are left alone and counted.
"""

from __future__ import annotations

import asyncio
import logging

from penstock.broker.coordination.coordinator_log import CoordinatorState, batch_items
from penstock.broker.coordination.record_primitives import MalformedRecord
from penstock.broker.groups import records
from penstock.broker.groups.exchange import Now
from penstock.broker.groups.group import Group, GroupLimits
from penstock.broker.groups.offsets import GroupOffsets, OffsetChange
from penstock.broker.groups.pending_offsets import PendingOffset
from penstock.broker.groups.records import GroupKey, OffsetKey
from penstock.broker.groups.shard import Shard
from penstock.model.batch import BatchHeader, iter_headers
from penstock.model.control_record import Marker, parse_marker
from penstock.model.errors import KafkaError
from penstock.runtime.turns import Turns

log = logging.getLogger(__name__)


async def load(shard: Shard, limits: GroupLimits, now: Now) -> None:
    """Fill the shard and make it active; it fails if its log cannot be read to the end."""
    partition = shard.partition
    turns = Turns()
    try:
        replay = await _read(shard, turns)
    except (KafkaError, OSError) as error:
        log.error("%s-%d cannot be loaded: %r", partition.topic, partition.index, error)
        shard.fail()
        return
    unknown = 0
    for key, (_, value) in replay.values.items():
        if value is not None:
            unknown += not _restore(shard, key, value, limits, now)
        await turns.pause()
    unknown += _restore_pending(shard, replay)
    for group_id in {*shard.offsets, *shard.pending.group_ids}:
        if group_id not in shard.groups:  # offsets of a consumer that assigns partitions by itself
            shard.groups[group_id] = Group(group_id, limits, now)
    if unknown:
        log.warning("%s-%d: %d records were not understood", partition.topic, partition.index, unknown)
    await asyncio.sleep(0)  # many small ones together are long, too
    while shard.ended_meanwhile:
        shard.end_pending(shard.ended_meanwhile.pop(0))
    shard.state = CoordinatorState.ACTIVE


class _Replay:
    """The records of a log in their order: the last of each key counts, in transactions when they have committed."""

    def __init__(self) -> None:
        self.values: dict[bytes, tuple[int, bytes | None]] = {}  # offset and value, None for a tombstone
        self.open: dict[int, list[tuple[int, bytes, bytes | None]]] = {}  # by producer id

    def add(self, header: BatchHeader, offset: int, key: bytes, value: bytes | None) -> None:
        if header.is_transactional:
            self.open.setdefault(header.producer_id, []).append((offset, key, value))
        else:
            self.values[key] = offset, value

    def end(self, marker: Marker) -> None:
        for offset, key, value in self.open.pop(marker.producer_id, ()):
            if marker.is_commit and offset >= self.values.get(key, (-1, None))[0]:
                self.values[key] = offset, value


async def _read(shard: Shard, turns: Turns) -> _Replay:
    replay = _Replay()
    async for piece in shard.pieces():
        for position, header in iter_headers(piece):
            if header.is_control:
                marker = parse_marker(memoryview(piece)[position : position + header.size_bytes], header)
                if marker is not None:
                    replay.end(marker)
            else:
                for key, value in batch_items(piece, position, header):
                    if key is not None:
                        replay.add(header, header.last_offset, key, value)
            await turns.pause()
    return replay


def _restore_pending(shard: Shard, replay: _Replay) -> int:
    """What open transactions have committed so far; how many records were not understood."""
    unknown = 0
    for producer_id, items in replay.open.items():
        for offset, key, value in items:
            try:
                what = records.decode_key(key)
                if not isinstance(what, OffsetKey) or value is None:
                    raise MalformedRecord("not an offset")
                change = OffsetChange(what.topic, what.partition, records.decode_offset(value))
            except MalformedRecord:
                unknown += 1
                continue
            overtaken_at, by = replay.values.get(key, (-1, None))
            if overtaken_at > offset and by is None:
                continue  # deleted meanwhile
            shard.pending.add(producer_id, PendingOffset(offset, what.group_id, change))
            if overtaken_at > offset:
                shard.pending.overtaken(what.group_id, [change], overtaken_at)
    return unknown


def _restore(shard: Shard, key: bytes, value: bytes, limits: GroupLimits, now: Now) -> bool:
    """Put one record's meaning into the shard; False if it has none that we know."""
    try:
        what = records.decode_key(key)
        if isinstance(what, OffsetKey):
            change = OffsetChange(what.topic, what.partition, records.decode_offset(value))
            shard.offsets.setdefault(what.group_id, GroupOffsets()).load(change)
        elif isinstance(what, GroupKey):
            group = Group.restored(what.group_id, records.decode_group(value), limits, now)
            shard.groups[what.group_id] = group
    except MalformedRecord:
        return False
    return what is not None
