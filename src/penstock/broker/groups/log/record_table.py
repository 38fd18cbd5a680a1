"""The kinds of records in `__consumer_offsets`, a table by the version of their keys, and how each is loaded.

The records are in Kafka's own format, so that Kafka's tools read ours and Penstock reads Kafka's. Records whose keys
are not in the table (KIP-848, share and streams groups) stay in the log untouched, and are counted when it is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.broker.coordination.record_primitives import Reader
from penstock.broker.groups.classic.group import ClassicGroup
from penstock.broker.groups.classic.records import CLASSIC_GROUP, GroupKey, GroupValue
from penstock.broker.groups.effects import Now
from penstock.broker.groups.group import CoordinatedGroup
from penstock.broker.groups.group_state import GroupType
from penstock.broker.groups.kinds import GroupFactories
from penstock.broker.groups.offsets.offset_table import OffsetTable
from penstock.broker.groups.offsets.records import OFFSET_COMMIT, CommittedOffset, OffsetChange, OffsetKey
from penstock.broker.groups.record_kind import Data, RecordKind


class Loaded:
    """Groups and offsets as far as the records of a shard have been read."""

    def __init__(
        self, groups: dict[str, CoordinatedGroup], offsets: OffsetTable, factories: GroupFactories, now: Now
    ) -> None:
        self.groups = groups
        self.offsets = offsets
        self.now = now
        self._factories = factories

    def group(self, group_type: GroupType, group_id: str) -> CoordinatedGroup:
        """The group of that id, made now if this is its first record."""
        group = self.groups.get(group_id)
        if group is None:
            group = self.groups[group_id] = self._factories[group_type](group_id, self.now)
        return group


def _load_offset(into: Loaded, key: OffsetKey, value: CommittedOffset) -> None:
    into.offsets.load(key.group_id, OffsetChange(key.topic, key.partition, value))


def _load_classic(into: Loaded, key: GroupKey, value: GroupValue) -> None:
    group = into.group(GroupType.CLASSIC, key.group_id)
    assert isinstance(group, ClassicGroup)
    group.restore(value, into.now)


class TableRow(NamedTuple):
    """A kind of record, and the function that puts one of them into what has been loaded."""

    kind: RecordKind[Any, Any]
    load: Callable[[Loaded, Any, Any], None]


_ROWS = (TableRow(OFFSET_COMMIT, _load_offset), TableRow(CLASSIC_GROUP, _load_classic))
RECORD_TABLE = {version: row for row in _ROWS for version in row.kind.key_versions}


def decode_key(key: Data) -> tuple[TableRow, Any] | None:
    """The row of a key, and the key itself; None for a kind that is not in the table."""
    reader = Reader(key)
    row = RECORD_TABLE.get(reader.int16())
    return None if row is None else (row, row.kind.decode_key(reader))
