"""A broker without sockets and mostly without records: topics, configs and the handlers over them, called directly.

Requests and answers pass through kio's codecs of the version at hand, so a handler that forgets a field of an old
version, or writes bytes that do not decode, fails here.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from penstock.broker.broker import Broker
from penstock.broker.fetch.sessions import FetchSessions
from penstock.broker.groups.coordinator import GroupCoordinator
from penstock.broker.quotas.quotas import Quotas
from penstock.broker.records.worker import RecordWorker
from penstock.broker.request import AnyRequest
from penstock.broker.telemetry.telemetry import ClientTelemetry
from penstock.broker.transactions.coordinator import TransactionCoordinator
from penstock.broker.transactions.producer_ids import ProducerIds
from penstock.cluster.controller.controller import Controller
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import TopicTable
from penstock.config.settings import Settings
from penstock.net.endpoint import Endpoint
from penstock.net.flow_control import FlowControl
from penstock.observability.metrics import BrokerMetrics
from penstock.protocol.kafka.apis import APIS
from penstock.protocol.kafka.messages import response_reader
from penstock.runtime.clock import SystemClock
from penstock.security.access import Access
from penstock.storage.interface import LogEngine
from penstock.storage.metadata.store import MetadataStore
from tests.support.channel import handled, open_channel, request_on
from tests.support.plain_engine import PlainEngine
from tests.support.wire import API_KEYS, encode_body

T = TypeVar("T")


class AdminBroker:
    """One node with its own event loop; `call` and `run` block until there is an answer."""

    def __init__(
        self,
        store: MetadataStore | None = None,
        *,
        logs: LogEngine | None = None,
        access: Access | None = None,
        **settings: Any,
    ) -> None:
        """`logs`: an engine that keeps records; `access`: the rights of whoever asks, all of them without it."""
        self._runner = asyncio.Runner()
        self.store = store or MetadataStore(None)
        self.settings = Settings.model_validate(settings)
        self.engine = PlainEngine()
        self.logs: LogEngine = logs or self.engine
        self.access = access or Access()
        self.topics = TopicTable()
        self.record_worker = RecordWorker()
        self.controller, self.broker = self.run(self._build())
        self.channel = open_channel(self.broker, Endpoint("10.0.0.9", 19092))

    async def _build(self) -> tuple[Controller, Broker]:
        parts: dict[str, Any] = {"settings": self.settings, "topics": self.topics}
        controller = Controller(store=self.store, engine=self.logs, authorizer=self.access.authorizer, **parts)
        controller.load()
        self.partitions = PartitionTable(engine=self.logs, topics=self.topics)
        parts |= {"controller": controller, "partitions": self.partitions, "clock": SystemClock()}
        metrics = BrokerMetrics()
        quotas = Quotas(
            store=self.store.quotas, commands=controller.commands, clock=SystemClock(), probe=metrics.quotas
        )
        quotas.load()
        groups = GroupCoordinator(**parts)
        producer_ids = ProducerIds(_no_block)
        transactions = TransactionCoordinator(
            **parts | {"settings": self.settings.transactions},
            producer_ids=producer_ids,
            on_offsets_ended=groups.end_transaction,
        )
        broker = Broker(
            node_id=self.settings.node.id,
            cluster_id=self.store.cluster_id,
            engine=self.logs,
            groups=groups,
            producer_ids=producer_ids,
            transactions=transactions,
            fetch_sessions=FetchSessions(),
            quotas=quotas,
            telemetry=ClientTelemetry(
                configs=controller.configs,
                worker=self.record_worker,
                settings=self.settings.telemetry,
                clock=parts["clock"],
            ),
            record_worker=self.record_worker,
            metrics=metrics,
            flow=FlowControl(1 << 30),
            access=self.access,
            **parts,
        )
        return controller, broker

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run(self.controller.close())
        self.record_worker.close()
        self._runner.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._runner.run(coroutine)

    def call(self, api: str, version: int, **values: Any) -> Any:
        return self.run(self.ask(api, version, **values))

    async def ask(self, api: str, version: int, **values: Any) -> Any:
        """The decoded answer of a handler."""
        body = await self.ask_bytes(api, version, **values)
        answer, size = response_reader(API_KEYS[api], version)(body, 0)
        assert size == len(body), f"{len(body) - size} bytes too many"
        return answer

    async def ask_bytes(self, api: str, version: int, **values: Any) -> bytes:
        key = API_KEYS[api]
        assert APIS[key].accepts(version)
        return await handled(self.broker, self.request(key, version, encode_body(api, version, values)))

    def request(self, api_key: int, version: int, body: bytes) -> AnyRequest:
        return request_on(self.channel, api_key, version, body)

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        """A topic that must succeed; configs with _ for the dots of their names."""
        answer = self.create_answer(name, partitions, {key.replace("_", "."): configs[key] for key in configs})
        assert answer.error_code == 0, answer

    def create_answer(
        self, name: str, partitions: int = 1, configs: Mapping[str, str | None] | None = None, **more: Any
    ) -> Any:
        validate_only = more.pop("validate_only", False)
        (result,) = self.call(
            "create_topics",
            7,
            topics=[new_topic(name, partitions, configs, **more)],
            timeout=1000,
            validate_only=validate_only,
        ).topics
        return result


def new_topic(
    name: str, partitions: int = 1, configs: Mapping[str, str | None] | None = None, **more: Any
) -> dict[str, Any]:
    """One topic of a CreateTopics request."""
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": more.get("replication_factor", 1),
        "assignments": [
            {"partition_index": index, "broker_ids": ids} for index, ids in more.get("assignments", {}).items()
        ],
        "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
    }


async def _no_block(size: int) -> int:
    raise AssertionError("these tests need no producer ids")
