"""Bringing a shard back from its log: every record of the partition is read, the last of each key counts.

Reading goes on in small steps between other work, because decoding is Python and the event loop has others to serve.
Members get their generation and assignment back and only their sessions begin anew, so a restart of the broker does
not rebalance anybody. Records of kinds that we do not know, and records that do not decode, are left alone and counted.
"""

from __future__ import annotations

import logging

from penstock.broker.coordinator_log import Breath, CoordinatorState
from penstock.broker.groups import records
from penstock.broker.groups.exchange import Now
from penstock.broker.groups.group import Group, GroupLimits
from penstock.broker.groups.offsets import GroupOffsets, OffsetChange
from penstock.broker.groups.records import GroupKey, OffsetKey
from penstock.broker.groups.shard import Shard
from penstock.broker.record_wire import MalformedRecord
from penstock.model.errors import KafkaError
from penstock.model.records import batch_records

log = logging.getLogger(__name__)


async def load(shard: Shard, limits: GroupLimits, now: Now) -> None:
    """Fill the shard and make it active; it fails if its log cannot be read to the end."""
    partition = shard.partition
    try:
        last_values = await _read(shard)
    except (KafkaError, OSError) as error:
        log.error("%s-%d cannot be loaded: %r", partition.topic, partition.index, error)
        shard.fail()
        return
    breath = Breath()
    unknown = 0
    for key, value in last_values.items():
        unknown += not _restore(shard, key, value, limits, now)
        await breath.take()
    for group_id in shard.offsets:
        if group_id not in shard.groups:  # offsets of a consumer that assigns partitions by itself
            shard.groups[group_id] = Group(group_id, limits, now)
    if unknown:
        log.warning("%s-%d: %d records were not understood", partition.topic, partition.index, unknown)
    shard.state = CoordinatorState.ACTIVE


async def _read(shard: Shard) -> dict[bytes, bytes]:
    """The last value of each key that is not a tombstone."""
    values: dict[bytes, bytes] = {}
    breath = Breath()
    async for buffer, position, header in shard.batches():
        if header.is_control:
            continue
        for record in batch_records(buffer, header, position):
            if record.key is None:
                continue
            if record.value is None:
                values.pop(record.key, None)
            else:
                values[record.key] = record.value
            await breath.take()
    return values


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
