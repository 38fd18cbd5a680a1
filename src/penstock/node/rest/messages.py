"""Messages: reading a few, and storing one.

GET  /topics/{topic}/partitions/{partition}/messages    from an offset or a time on, or the last ones
POST /topics/{topic}/messages                           one; answered when it is on disk
"""

from __future__ import annotations

from itertools import count
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from penstock.broker.operations.topic_writer import TopicWriters
from penstock.broker.operations.topics import TopicOperations
from penstock.broker.records.worker import RecordWorker
from penstock.cluster.partition import Partition
from penstock.cluster.partitions import PartitionTable
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.murmur2 import partition_of
from penstock.node.rest.documented import FORBIDDEN, NOT_FOUND, Responses, created
from penstock.node.rest.message_bodies import MessageBody, MessagesBody, NewMessageBody, StoredBody
from penstock.node.rest.parameters import OFFSET_MAX, Asking, Moment, PartitionIndex, TopicName, milliseconds
from penstock.node.rest.part import PREFIX
from penstock.node.rest.peek import Wanted, peek
from penstock.node.rest.problems import invalid
from penstock.node.rest.topics import check_partition, existing_topic
from penstock.security.resources import Operation
from penstock.storage.interface import Scan

Offset = Annotated[
    int | None, Query(ge=0, le=OFFSET_MAX, description="The first offset; without any: the log's start.")
]
Time = Annotated[
    Moment | None, Query(description="The first message at that time or later: ISO 8601, or milliseconds.")
]
Last = Annotated[int | None, Query(ge=1, le=OFFSET_MAX, description="Number of offsets before the end.")]
MessageLimit = Annotated[int, Query(ge=1, le=500, description="Maximum number of messages.")]
Isolation = Annotated[
    Literal["read_committed", "read_uncommitted"],
    Query(description="Whether messages of open and aborted transactions are shown."),
]
_MESSAGES: Responses = {
    200: {"model": MessagesBody, "description": "Fewer than limit if they are large; go on at next_offset."}
}


_LINKS = {
    "peek_messages": {
        "topic": "$response.body#/topic",
        "partition": "$response.body#/partition",
        "offset": "$response.body#/offset",
    }
}


class MessageRoutes:
    def __init__(
        self, topics: TopicOperations, partitions: PartitionTable, writers: TopicWriters, worker: RecordWorker
    ) -> None:
        self._topics = topics
        self._partitions = partitions
        self._writers = writers
        self._worker = worker
        self._turn = count()
        self.router = router = APIRouter(prefix="/topics/{topic}", tags=["messages"])
        router.get(
            "/partitions/{partition}/messages",
            responses=NOT_FOUND | _MESSAGES,
            response_class=Response,
            response_model=None,
        )(self.peek_messages)
        router.post("/messages", status_code=201, responses=NOT_FOUND | FORBIDDEN | created("message", _LINKS))(
            self.produce_message
        )

    async def peek_messages(
        self,
        session: Asking,
        topic: TopicName,
        partition: PartitionIndex,
        offset: Offset = None,
        time: Time = None,
        last: Last = None,
        limit: MessageLimit = 20,
        isolation: Isolation = "read_committed",
    ) -> Response:
        """Read messages without a group; nothing is committed."""
        found = existing_topic(self._topics, session, topic, Operation.READ)
        check_partition(found, partition)
        if sum(each is not None for each in (offset, time, last)) > 1:
            raise invalid("offset, time and last exclude each other; give one of them")
        moment = None if time is None else milliseconds(time)
        place = self._partitions.get(topic, partition)
        if place.failed:
            raise KafkaError(place.failure)
        committed_only = isolation == "read_committed"
        end = place.visible_end(committed_only=committed_only)
        start = _start(place, offset, last, end)

        def read(scan: Scan) -> bytes:
            first = start
            if moment is not None:
                at = place.find_offset(moment, end=end, scan=scan)
                first = end if at is None else at.offset
            peeked = peek(place, Wanted(first, limit, end, committed_only), scan)
            return MessagesBody(
                topic=topic,
                partition=partition,
                messages=[MessageBody.of(record) for record in peeked.records],
                next_offset=peeked.next_offset,
                log_start=place.log_start,
                high_watermark=place.high_watermark,
                last_stable=place.last_stable,
            ).model_dump_json().encode()  # fmt: skip

        return Response(await self._worker.look_up(read, session.user), media_type="application/json")

    async def produce_message(
        self, session: Asking, topic: TopicName, body: NewMessageBody, response: Response
    ) -> StoredBody:
        """Store one message. It is on disk and visible to readers when this is answered."""
        found = existing_topic(self._topics, session, topic, Operation.WRITE)
        record = body.record()
        partition = body.partition
        if partition is None:
            turn = next(self._turn) % found.partition_count
            partition = turn if record.key is None else partition_of(record.key, found.partition_count)
        check_partition(found, partition)
        writer = self._writers.open(session, topic)
        writer.check([(partition, record)])
        await writer.write([(partition, record)])
        offset, _ = writer.offsets[partition]
        response.headers["Location"] = (
            f"{PREFIX}/topics/{topic}/partitions/{partition}/messages?offset={offset}&limit=1"
        )
        return StoredBody(topic=topic, partition=partition, offset=offset)


def _start(partition: Partition, offset: int | None, last: int | None, end: int) -> int:
    if last is not None:
        return max(partition.log_start, end - last)
    if offset is None:
        return partition.log_start
    if not partition.log_start <= offset <= partition.high_watermark:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"there is no offset {offset}; choose one from {partition.log_start} to {partition.high_watermark}",
        )
    return offset
