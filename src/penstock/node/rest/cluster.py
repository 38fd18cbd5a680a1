"""The cluster and its brokers. One node so far, which is its own controller.

GET /cluster
GET /brokers
GET /brokers/{broker}
"""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Request
from pydantic import Field

from penstock import __version__
from penstock.broker.features import FEATURES
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicTable
from penstock.config.settings import Settings
from penstock.model.errors import ErrorCode
from penstock.net.endpoint import is_every_address
from penstock.node.rest.bodies import Answer
from penstock.node.rest.documented import NOT_FOUND
from penstock.node.rest.parameters import Asking, BrokerId
from penstock.node.rest.problems import not_found
from penstock.security.access import Access
from penstock.security.resources import Operation


class FeatureBody(Answer):
    """A feature level of the cluster, as in ApiVersions."""

    name: str = Field(examples=["transaction.version"])
    level: int = Field(description="0: not in force.", examples=[2])
    min_level: int = Field(examples=[0])
    max_level: int = Field(examples=[2])


class ClusterBody(Answer):
    cluster_id: str = Field(examples=["4L6g3nShT-eMCtK--X86sw"])
    controller: int = Field(description="Id of the broker that changes metadata.", examples=[1])
    version: str = Field(examples=["0.8.0"])
    brokers: int = Field(examples=[1])
    topics: int = Field(description="The broker's own among them.", examples=[12])
    partitions: int = Field(examples=[120])
    offline_partitions: int = Field(examples=[0])
    accepts_writes: bool = Field(description="False while the disk is nearly full.", examples=[True])
    features: list[FeatureBody]


class BrokerBody(Answer):
    id: int = Field(examples=[1])
    host: str = Field(description="The address for Kafka clients.", examples=["10.0.0.7"])
    port: int = Field(examples=[9092])
    rack: str | None = Field(examples=[None])
    controller: bool = Field(examples=[True])
    version: str = Field(examples=["0.8.0"])


class BrokersBody(Answer):
    brokers: list[BrokerBody]


def check_broker(broker_id: int, node_id: int) -> None:
    """A problem unless the id is that of this node."""
    if broker_id != node_id:
        raise not_found(ErrorCode.BROKER_ID_NOT_REGISTERED, f"there is no broker {broker_id}")


class ClusterRoutes:
    def __init__(
        self,
        *,
        settings: Settings,
        cluster_id: str,
        topics: TopicTable,
        partitions: PartitionTable,
        accepts_writes: Callable[[], bool],
        access: Access,
        kafka_port: Callable[[], int],
    ) -> None:
        self._settings = settings
        self._cluster_id = cluster_id
        self._topics = topics
        self._partitions = partitions
        self._accepts_writes = accepts_writes
        self._access = access
        self._kafka_port = kafka_port
        self.router = router = APIRouter(tags=["cluster"])
        router.get("/cluster")(self.describe_cluster)
        router.get("/brokers")(self.list_brokers)
        router.get("/brokers/{broker}", responses=NOT_FOUND)(self.describe_broker)

    async def describe_cluster(self, session: Asking) -> ClusterBody:
        """The cluster as a whole."""
        self._access.check_cluster(session, Operation.DESCRIBE)
        return ClusterBody(
            cluster_id=self._cluster_id,
            controller=self._settings.node.id,
            version=__version__,
            brokers=1,
            topics=len(self._topics),
            partitions=self._topics.partition_count,
            offline_partitions=self._partitions.offline_count,
            accepts_writes=self._accepts_writes(),
            features=[
                FeatureBody(
                    name=each.name, level=each.finalized_level, min_level=each.min_level, max_level=each.max_level
                )
                for each in FEATURES
            ],
        )

    async def list_brokers(self, request: Request) -> BrokersBody:
        """The brokers, with the addresses given to Kafka clients."""
        return BrokersBody(brokers=[self._body(request)])

    async def describe_broker(self, broker: BrokerId, request: Request) -> BrokerBody:
        """One broker."""
        check_broker(broker, self._settings.node.id)
        return self._body(request)

    def _body(self, request: Request) -> BrokerBody:
        host, port = self._address(request)
        return BrokerBody(
            id=self._settings.node.id,
            host=host,
            port=port,
            rack=self._settings.node.rack,
            controller=True,
            version=__version__,
        )

    def _address(self, request: Request) -> tuple[str, int]:
        """The address for Kafka clients: the advertised one, else the one that this request came in on."""
        kafka = self._settings.kafka
        if kafka.advertised_address is not None:
            host, port = kafka.advertised_address
            return host, port or self._kafka_port()
        server = request.scope.get("server")
        host = server[0] if server and is_every_address(kafka.host) else kafka.host
        return host, self._kafka_port()
