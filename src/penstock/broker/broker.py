"""The parts of a broker side by side, for Kafka handlers. It has no behaviour of its own beyond addresses.

The node builds it, in order, and hands single parts to everything else: other doors, use cases, probes and the pipe
never see the whole (`tests/unit/house/test_wiring.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.broker.codec_threads import CodecThreads
from penstock.broker.fetch.parking import FetchParking
from penstock.broker.fetch.sessions import FetchSessions
from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.broker.operations.config_changes import ConfigChanges
from penstock.broker.operations.config_descriptions import ConfigDescriptions
from penstock.broker.operations.groups import GroupOperations
from penstock.broker.operations.offsets import OffsetOperations
from penstock.broker.operations.operations import Operations
from penstock.broker.operations.records import RecordOperations
from penstock.broker.operations.topic_writer import TopicWriters
from penstock.broker.operations.topics import TopicOperations
from penstock.broker.produce.producer_rights import ProducerRights
from penstock.broker.produce.timeouts import ProduceTimeouts
from penstock.broker.produce.wide_appends import WideAppends
from penstock.broker.quotas.quotas import Quotas
from penstock.broker.records.appender import RecordAppender
from penstock.broker.records.worker import RecordWorker
from penstock.broker.request import AnyRequest
from penstock.broker.shares import Share
from penstock.broker.telemetry.telemetry import ClientTelemetry
from penstock.broker.transactions.coordinator import TransactionCoordinator
from penstock.broker.transactions.producer_ids import ProducerIds
from penstock.cluster.controller.controller import Controller
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicTable
from penstock.config.settings import Settings
from penstock.model.errors import ErrorCode, KafkaError
from penstock.net.endpoint import Endpoint
from penstock.net.flow_control import FlowControl
from penstock.observability.metrics import BrokerMetrics
from penstock.runtime.clock import Clock
from penstock.runtime.fair_line import FairLine
from penstock.security.access import Access
from penstock.security.authorizer import AllowAll
from penstock.storage.interface import LogEngine


@dataclass(slots=True, kw_only=True)
class Broker:
    settings: Settings
    node_id: int
    cluster_id: str
    clock: Clock
    engine: LogEngine
    topics: TopicTable
    partitions: PartitionTable
    controller: Controller
    groups: GroupCoordinator
    producer_ids: ProducerIds
    transactions: TransactionCoordinator
    fetch_sessions: FetchSessions
    quotas: Quotas
    telemetry: ClientTelemetry
    metrics: BrokerMetrics
    flow: FlowControl
    record_worker: RecordWorker = field(default_factory=RecordWorker)
    codecs: CodecThreads = field(default_factory=CodecThreads)
    access: Access = field(default_factory=Access)
    parked: set[Callable[[], None]] = field(default_factory=set)
    """Requests that wait for data, each by the call that answers it with what there is: used when the node stops."""
    parking: FetchParking = field(default_factory=FetchParking)
    wide_looks: FairLine = field(default_factory=lambda: FairLine(1))
    """The line of fetches with many partitions that look at what is new in some of them."""
    wide_appends: WideAppends = field(default_factory=WideAppends)

    operations: Operations = field(init=False)
    appender: RecordAppender = field(init=False)
    produce_timeouts: ProduceTimeouts = field(init=False)
    producer_rights: ProducerRights | None = field(init=False, default=None)
    """None without rules."""
    id_share: Share = field(init=False)
    """What one principal may have of `transactions.ids_max`."""
    group_share: Share = field(init=False)
    """What one principal may have of `groups.groups_max`."""

    def __post_init__(self) -> None:
        if not isinstance(self.access.authorizer, AllowAll):
            self.producer_rights = ProducerRights(self.access, self.producer_ids, self.transactions.names)
        self.produce_timeouts = ProduceTimeouts(self.clock)
        self.appender = RecordAppender(self.topics, self.metrics)
        access, controller = self.access, self.controller
        ids_max, groups_max = self.settings.transactions.ids_max, self.settings.groups.groups_max
        self.id_share = Share(access, ids_max, self.transactions.is_known, _too_many_ids)
        self.group_share = Share(access, groups_max, self.groups.is_known, _too_many_groups)
        topics = TopicOperations(self.topics, controller.topics, access)
        self.operations = Operations(
            topics=topics,
            config_changes=ConfigChanges(controller.configs, self.node_id, access),
            config_descriptions=ConfigDescriptions(controller.configs, self.topics, self.settings, access),
            groups=GroupOperations(self.groups, access),
            offsets=OffsetOperations(self.groups, access, self.group_share),
            records=RecordOperations(self.partitions, access),
            topic_writers=TopicWriters(
                topics=topics,
                partitions=self.partitions,
                backend=controller.backend,
                appender=self.appender,
                clock=self.clock,
                settings=self.settings.topics,
            ),
        )

    def endpoint(self, request: AnyRequest) -> Endpoint:
        """The address for this client: the one it came in on, unless another is advertised."""
        return request.channel.endpoint


def _too_many_ids(most: int) -> KafkaError:
    text = f"{most} transactional ids are the most of one principal; use fewer, or raise transactions.ids_max"
    return KafkaError(ErrorCode.POLICY_VIOLATION, text)


def _too_many_groups(most: int) -> KafkaError:
    text = f"{most} groups are the most of one principal; delete some, or raise groups.groups_max"
    return KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, text)
