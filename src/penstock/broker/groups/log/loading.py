"""Loading a shard from its log: every record of the partition is read, the last of each key counts.

Reading goes on in small steps between other work, because decoding is Python and the event loop must not wait for it.
Members get their generation and assignment back and only their sessions start again, so a restart of the broker does
not cause rebalances. Records of unknown kinds, and records that do not decode, are left alone and counted.
"""

from __future__ import annotations

import asyncio
import logging

from penstock.broker.coordination.coordinator_log import CoordinatorState, batch_items
from penstock.broker.coordination.record_primitives import MalformedRecord
from penstock.broker.groups.effects import Now
from penstock.broker.groups.group_state import GroupType
from penstock.broker.groups.kinds import GroupFactories
from penstock.broker.groups.log.record_table import Loaded, decode_key
from penstock.broker.groups.log.shard import Shard
from penstock.broker.groups.offsets.offset_table import OffsetTable
from penstock.broker.groups.offsets.pending import PendingOffset
from penstock.broker.groups.offsets.records import OffsetChange, OffsetKey
from penstock.model.batch import BatchHeader, iter_headers
from penstock.model.control_record import Marker, parse_marker
from penstock.model.counted import counted
from penstock.model.errors import KafkaError
from penstock.runtime.turns import Turns

logger = logging.getLogger(__name__)


async def load(shard: Shard, factories: GroupFactories, now: Now) -> None:
    """Fill the shard and make it active; it fails if its log cannot be read to the end."""
    partition = shard.partition
    turns = Turns()
    try:
        replay = await _read(shard, turns)
    except (KafkaError, OSError) as error:
        logger.error("%s-%d cannot be loaded: %r", partition.topic, partition.index, error)
        shard.fail()
        return
    into = Loaded(shard.groups, shard.offsets, factories, now)
    unknown = 0
    for key, (_, value) in replay.values.items():
        if value is not None:
            unknown += not _restore(into, key, value)
        await turns.pause()
    unknown += _restore_pending(shard.offsets, replay)
    for group_id in shard.offsets.group_ids:
        into.group(GroupType.CLASSIC, group_id)  # for consumers that assign partitions by themselves
    if unknown:
        found = counted(unknown, "record")
        logger.warning("%s-%d: %s could not be decoded", partition.topic, partition.index, found)
    await asyncio.sleep(0)  # many shards that take less than a turn each are long together
    while shard.ended_meanwhile:
        shard.offsets.end_pending(shard.ended_meanwhile.pop(0))
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


def _restore(into: Loaded, key: bytes, value: bytes) -> bool:
    """Load one record; False if its kind is unknown or it does not decode."""
    try:
        found = decode_key(key)
        if found is None:
            return False
        row, decoded = found
        row.load(into, decoded, row.kind.decode_value(value))
    except MalformedRecord:
        return False
    return True


def _restore_pending(offsets: OffsetTable, replay: _Replay) -> int:
    """Load the commits of open transactions. Returns how many records were not understood."""
    unknown = 0
    for producer_id, items in replay.open.items():
        for offset, key, value in items:
            try:
                pending = _pending_offset(offset, key, value)
            except MalformedRecord:
                unknown += 1
                continue
            overtaken_at, by = replay.values.get(key, (-1, None))
            if overtaken_at > offset and by is None:
                continue  # deleted meanwhile
            offsets.pending.add(producer_id, pending)
            if overtaken_at > offset:
                offsets.pending.overtaken(pending.group_id, [pending.change], overtaken_at)
    return unknown


def _pending_offset(offset: int, key: bytes, value: bytes | None) -> PendingOffset:
    found = decode_key(key)
    if found is None or not isinstance(found[1], OffsetKey) or value is None:
        raise MalformedRecord("only offsets are committed in transactions")
    row, decoded = found
    change = OffsetChange(decoded.topic, decoded.partition, row.kind.decode_value(value))
    return PendingOffset(offset, decoded.group_id, change)
