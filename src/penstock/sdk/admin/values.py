"""Values that the admin client returns."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionInfo:
    """`start` and `end` are the offsets of the first record and of the next one to be written."""

    partition: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicInfo:
    """A topic with its partitions, in their order."""

    name: str
    is_internal: bool
    partitions: tuple[PartitionInfo, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigValue:
    """A config. `source` is where its value was set, such as dynamic_topic_config; a sensitive value is None."""

    name: str
    value: str | None
    source: str
    is_default: bool
    is_read_only: bool
    is_sensitive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupListing:
    """A consumer group and its state, such as stable or empty."""

    name: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """A member of a consumer group, and the partitions that are its own at the moment."""

    member_id: str
    client_id: str
    host: str
    instance_id: str | None
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOffset:
    """A group's position in a partition. Without a committed offset, `committed` and `lag` are None."""

    place: TopicPartition
    committed: int | None
    end: int
    lag: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupInfo:
    """A consumer group: its members, and its position in each partition."""

    name: str
    state: str
    assignor: str
    members: tuple[GroupMember, ...]
    offsets: tuple[GroupOffset, ...]

    @property
    def lag(self) -> int:
        """Number of offsets that the group is behind, over all partitions."""
        return sum(each.lag or 0 for each in self.offsets)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionListing:
    """A transactional id and the state it is in."""

    transactional_id: str
    producer_id: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionInfo:
    """`started_ms` is None unless a transaction is open."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: int | None
    partitions: tuple[TopicPartition, ...]
