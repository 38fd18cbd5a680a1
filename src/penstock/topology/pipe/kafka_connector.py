"""Connector to a parent that speaks Kafka's protocol: any broker of version 4.0 or newer, Apache Kafka or Penstock.

Topics are requested by id, so a topic that was deleted and created again is never mistaken for the old one. Histories
are compared by Kafka's own check (KIP-595: the epoch of the last record), and by the last batch. The client blocks, so
it runs in a thread of its own. Several leaders are asked one after the other, with a short timeout for each.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar
from uuid import UUID

from penstock.client.address import parse_addresses
from penstock.client.cluster import Cluster
from penstock.client.connection import Connection
from penstock.client.security.properties import NAMES, ClientSecurity, SecurityProblem
from penstock.config.settings import PipeSettings
from penstock.model.batch import HEADER_BYTES, Buffer, iter_headers, read_header
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_TOPIC_ID
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.apis import DESCRIBE_CONFIGS, FETCH, LIST_OFFSETS, METADATA
from penstock.topology.pipe.interface import ParentTopic, ParentTopics, ParentUnavailable
from penstock.topology.pipe.reading import differs_from, first_batches
from penstock.topology.pipe.wire import PullAnswer, Pulled, PullRequest, Status, Wanted

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.fetch import PartitionData
    from penstock.protocol.kafka.requests.describe_configs import DescribeConfigsResourceValues
    from penstock.protocol.kafka.requests.fetch import FetchPartitionValues, FetchTopicValues
    from penstock.protocol.kafka.requests.list_offsets import ListOffsetsTopicValues

METADATA_VERSION, FETCH_VERSION = 12, 13
DESCRIBE_CONFIGS_VERSION = 4
LIST_OFFSETS_VERSION = 7
EARLIEST, LATEST = -2, -1
TOPIC_RESOURCE, SET_FOR_THE_TOPIC = 2, 1
TOPICS_SECONDS = 5.0
"""Age limit of the list of topics: Kafka does not announce changes."""
SEVERAL_LEADERS_WAIT_MS = 100

T = TypeVar("T")
_GONE = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INCONSISTENT_TOPIC_ID)


class KafkaPipeConnector:
    """Implements `topology.pipe.interface.PipeConnector`."""

    def __init__(self, parent_url: str, settings: PipeSettings) -> None:
        address = parent_url.removeprefix("kafka://")
        if "://" in address:
            raise ValueError(
                f"the parent is {parent_url!r}; write host:port of a Kafka broker, or set pipe.type to http"
            )
        bootstrap = parse_addresses(address)
        timeout_s = (settings.wait_ms + settings.timeout_ms) / 1000
        self._url = parent_url
        self._cluster = Cluster(
            bootstrap,
            client_id="penstock-pipe",
            timeout_s=timeout_s,
            request_timeout_s=timeout_s,
            security=_security(settings),
        )
        self._names: dict[bytes, str] = {}
        self._listed = ParentTopics(version=0, topics=())
        self._listed_at = -TOPICS_SECONDS
        self._is_closed = False
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="penstock-pipe")

    async def topics(self) -> ParentTopics:
        return await self._in_thread(self._list)

    async def pull(self, request: PullRequest) -> PullAnswer:
        return await self._in_thread(lambda: self._pull(request))

    async def close(self) -> None:
        self._is_closed = True
        self._cluster.close()  # a call that waits for an answer in the thread gets an error
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        def guarded() -> T:
            try:
                return work()
            except (OSError, KafkaError) as error:
                self._cluster.forget()
                raise ParentUnavailable(f"{self._url}: {error}") from error
            finally:
                if self._is_closed:  # meanwhile: nobody else closes what was opened since
                    self._cluster.close()

        return await asyncio.get_running_loop().run_in_executor(self._thread, guarded)

    # --- topics ------------------------------------------------------------------------------------------------------

    def _list(self) -> ParentTopics:
        found = self._cluster.topics()  # learns the leaders
        connection = self._cluster.any_connection()
        answer = connection.call(METADATA, METADATA_VERSION, topics=None, allow_auto_topic_creation=False)
        ids = {topic.name: topic.topic_id for topic in answer.topics if topic.topic_id and not topic.error_code}
        names = sorted(name for name, info in found.items() if name in ids and not info.is_internal)
        configs = _explicit_configs(connection, names) if names else {}
        topics = [
            ParentTopic(
                name=name,
                topic_id=ids[name],
                partition_count=found[name].partition_count,
                configs=configs.get(name, {}),
            )
            for name in names
        ]
        self._names = {topic.topic_id.bytes: topic.name for topic in topics}
        self._listed = ParentTopics(version=zlib.crc32(repr(topics).encode()), topics=topics)
        self._listed_at = time.monotonic()
        return self._listed

    # --- records -----------------------------------------------------------------------------------------------------

    def _pull(self, request: PullRequest) -> PullAnswer:
        deadline = time.monotonic() + request.wait_ms / 1000
        while True:
            if time.monotonic() - self._listed_at >= TOPICS_SECONDS:
                self._list()
            is_checked = any(wanted.last is not None for wanted in request.partitions)
            is_news = is_checked or self._listed.version != request.topics_version
            left_ms = max(0, int((deadline - time.monotonic()) * 1000))
            pulled = self._fetch_all(request, 0 if is_news else min(left_ms, int(TOPICS_SECONDS * 1000)))
            if pulled or is_news or time.monotonic() >= deadline:
                return PullAnswer(self._listed.version, pulled)
            if not request.partitions:
                time.sleep(min(0.1, left_ms / 1000))

    def _fetch_all(self, request: PullRequest, wait_ms: int) -> list[Pulled]:
        by_leader: dict[Connection, list[Wanted]] = defaultdict(list)
        found: list[Pulled] = []
        for wanted in request.partitions:
            name = self._names.get(wanted.topic)
            try:
                if name is None:
                    raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
                by_leader[self._cluster.leader(TopicPartition(name, wanted.partition))].append(wanted)
            except KafkaError as error:
                found.append(_refusal(wanted, error.code))
        if len(by_leader) > 1:
            wait_ms = min(wait_ms, SEVERAL_LEADERS_WAIT_MS)
        batches_left = request.batches_max
        for connection, asked in by_leader.items():
            for wanted, answer in self._fetch(connection, asked, request.bytes_max, 0 if found else wait_ms):
                pulled = self._judge(connection, wanted, answer, batches_left)
                if pulled is not None:
                    found.append(pulled)
                    batches_left -= sum(1 for _ in iter_headers(pulled.records))
        return found

    def _fetch(
        self, connection: Connection, asked: Sequence[Wanted], bytes_max: int, wait_ms: int
    ) -> list[tuple[Wanted, PartitionData]]:
        by_topic: dict[bytes, list[Wanted]] = defaultdict(list)
        for wanted in asked:
            by_topic[wanted.topic].append(wanted)
        topics: list[FetchTopicValues] = [
            {
                "topic_id": UUID(bytes=topic),
                "partitions": [_fetch_partition(wanted, bytes_max) for wanted in partitions],
            }
            for topic, partitions in by_topic.items()
        ]
        answer = connection.call(
            FETCH, FETCH_VERSION, max_wait=wait_ms, min_bytes=1, max_bytes=bytes_max, isolation_level=0, session_id=0,
            session_epoch=-1, topics=topics, forgotten_topics_data=[], rack_id="",
        )  # fmt: skip
        if answer.error_code:
            raise KafkaError(ErrorCode(answer.error_code))
        places = {(wanted.topic, wanted.partition): wanted for wanted in asked}
        return [
            (places[(topic.topic_id or NO_TOPIC_ID).bytes, partition.partition_index], partition)
            for topic in answer.responses
            for partition in topic.partitions
        ]

    def _judge(self, connection: Connection, wanted: Wanted, answer: PartitionData, batches_left: int) -> Pulled | None:
        """The answer for one partition; None if there is no news."""
        code = ErrorCode(answer.error_code)
        diverging = answer.diverging_epoch.end_offset
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            return self._out_of_range(connection, wanted)
        if code is not ErrorCode.NONE:
            return _refusal(wanted, code)
        start, end = answer.log_start_offset, answer.high_watermark
        if diverging >= 0:
            reason = f"epoch {wanted.epoch} ends at {diverging} in the parent's log"
            return Pulled(wanted.topic, wanted.partition, Status.DIVERGED, start, end, reason=reason)
        if wanted.last is not None and wanted.offset > start:
            before = _whole_batches(self._fetch_one(connection, wanted, wanted.offset - 1).records or b"")
            if len(before) and differs_from(wanted, read_header(before)):
                reason = f"the batch before offset {wanted.offset} is another one in the parent's log"
                return Pulled(wanted.topic, wanted.partition, Status.DIVERGED, start, end, reason=reason)
        records = first_batches(_whole_batches(answer.records or b""), batches_left) if batches_left > 0 else b""
        if len(records) or wanted.last is not None or start > wanted.log_start:
            return Pulled(wanted.topic, wanted.partition, Status.OK, start, end, records)
        return None

    def _out_of_range(self, connection: Connection, wanted: Wanted) -> Pulled:
        start, end = (self._list_offset(connection, wanted, which) for which in (EARLIEST, LATEST))
        if wanted.offset >= start:
            reason = f"the parent's log ends at {end} or has another history before {wanted.offset}"
            return Pulled(wanted.topic, wanted.partition, Status.DIVERGED, start, end, reason=reason)
        records = _whole_batches(self._fetch_one(connection, wanted, start).records or b"")
        first_base = min(start, read_header(records).base_offset) if len(records) else start
        if wanted.offset < first_base:
            return Pulled(wanted.topic, wanted.partition, Status.BELOW_START, first_base, end)
        return Pulled(wanted.topic, wanted.partition, Status.OK, start, end, first_batches(records, 1))

    def _fetch_one(self, connection: Connection, wanted: Wanted, offset: int) -> PartitionData:
        ((_, answer),) = self._fetch(connection, [wanted._replace(offset=offset, epoch=-1)], HEADER_BYTES, 0)
        return answer

    def _list_offset(self, connection: Connection, wanted: Wanted, which: int) -> int:
        topic: ListOffsetsTopicValues = {
            "name": self._names[wanted.topic],
            "partitions": [{"partition_index": wanted.partition, "current_leader_epoch": -1, "timestamp": which}],
        }
        answer = connection.call(LIST_OFFSETS, LIST_OFFSETS_VERSION, replica_id=-1, isolation_level=0, topics=[topic])
        found = answer.topics[0].partitions[0]
        if found.error_code:
            raise KafkaError(ErrorCode(found.error_code))
        return int(found.offset)


def _security(settings: PipeSettings) -> ClientSecurity:
    """SecurityProblem, a ValueError, if the properties do not fit together."""
    properties = {name: value.reveal() for name, value in settings.client_properties.items()}
    unknown = sorted(properties.keys() - NAMES)
    if unknown:
        raise SecurityProblem(f"pipe.client_properties: {unknown[0]} is not about security; there are {_known()}")
    return ClientSecurity.of(properties)


def _known() -> str:
    return ", ".join(sorted(NAMES))


def _fetch_partition(wanted: Wanted, bytes_max: int) -> FetchPartitionValues:
    return {
        "partition": wanted.partition,
        "current_leader_epoch": -1,
        "fetch_offset": wanted.offset,
        "last_fetched_epoch": wanted.epoch,
        "log_start_offset": -1,
        "partition_max_bytes": bytes_max,
    }


def _explicit_configs(connection: Connection, names: Sequence[str]) -> dict[str, dict[str, str]]:
    resources: list[DescribeConfigsResourceValues] = [
        {"resource_type": TOPIC_RESOURCE, "resource_name": name, "configuration_keys": None} for name in names
    ]
    answer = connection.call(
        DESCRIBE_CONFIGS, DESCRIBE_CONFIGS_VERSION, resources=resources, include_synonyms=False,
        include_documentation=False,
    )  # fmt: skip
    return {
        result.resource_name: {
            config.name: config.value
            for config in result.configs
            if config.config_source == SET_FOR_THE_TOPIC and config.value is not None
        }
        for result in answer.results
        if not result.error_code
    }


def _whole_batches(records: Buffer) -> Buffer:
    """The complete batches, without one that a limit has cut off."""
    end = 0
    for position, header in iter_headers(records):
        end = position + header.size_bytes
    return memoryview(records)[:end]


def _refusal(wanted: Wanted, code: ErrorCode) -> Pulled:
    status = Status.UNKNOWN if code in _GONE else Status.UNAVAILABLE
    return Pulled(wanted.topic, wanted.partition, status, -1, -1, reason=code.name)
