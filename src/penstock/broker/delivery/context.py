"""The parts of a node that delivery works with. The node fills it in, `Subscriptions` hands the parts out."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.broker.records.appender import RecordAppender
from penstock.broker.records.worker import RecordWorker
from penstock.cluster.controller.topics_frontend import TopicsFrontend
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicTable
from penstock.config.settings import PushSettings
from penstock.net.flow_control import FlowControl
from penstock.runtime.clock import Clock
from penstock.storage.metadata.subscriptions import StoredSubscriptions


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryContext:
    settings: PushSettings
    clock: Clock
    definitions: StoredSubscriptions
    """The table of meta.db."""
    topics: TopicTable
    partitions: PartitionTable
    groups: GroupCoordinator
    """Positions of subscriptions are committed offsets of groups."""
    worker: RecordWorker
    """Looks up start positions by time."""
    frontend: TopicsFrontend
    """Creates dead-letter topics."""
    appender: RecordAppender
    """Writes dead letters."""
    flow: FlowControl
    """What clients hold, over all doors."""
