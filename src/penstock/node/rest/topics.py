"""Topics and their partitions.

GET    /topics                               in pages
POST   /topics                               create one
GET    /topics/{topic}
DELETE /topics/{topic}
GET    /topics/{topic}/partitions            in pages
POST   /topics/{topic}/partitions            add partitions
GET    /topics/{topic}/partitions/{partition}
"""

from __future__ import annotations

from http import HTTPStatus
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query, Response

from penstock.broker.delivery.subscriptions import Subscriptions
from penstock.broker.operations.topics import TopicOperations
from penstock.cluster.controller.new_topic import DEFAULT, NewTopic
from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import Topic, TopicTable
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import check_topic_name
from penstock.node.rest.bodies import config_text
from penstock.node.rest.documented import CONFLICT, FORBIDDEN, NOT_FOUND, Responses, created
from penstock.node.rest.paging import index_after, name_after, to_cursor
from penstock.node.rest.parameters import LIMIT, Asking, Cursor, Limit, PartitionIndex, TopicName
from penstock.node.rest.part import PREFIX
from penstock.node.rest.problems import not_found
from penstock.node.rest.topic_bodies import (
    MorePartitionsBody,
    NewTopicBody,
    PartitionBody,
    PartitionsBody,
    TopicBody,
    TopicDetailsBody,
    TopicsBody,
)
from penstock.runtime.turns import Turns
from penstock.security.access import Access
from penstock.security.resources import Operation
from penstock.security.session import Session

_AT_ONCE = 1_000
_NAMED = {"topic": "$response.body#/name"}
_ON_IT = (
    "describe_topic", "list_partitions", "add_partitions", "topic_configs", "change_topic_configs", "produce_message",
    "delete_topic",
)  # fmt: skip
_CREATED: Responses = {
    200: {"model": TopicBody, "description": "With validate_only: the topic could be created."},
    **created("topic", dict.fromkeys(_ON_IT, _NAMED)),
}


def existing_topic(
    topics: TopicOperations, session: Session, name: str, operation: Operation = Operation.DESCRIBE
) -> Topic:
    """The topic, if the session may perform the operation on it."""
    topic = topics.find(session, name, operation)
    if topic is None:
        raise no_topic(name)
    return topic


def no_topic(name: str) -> Exception:
    return not_found(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name[:249]}")


def check_partition(topic: Topic, index: int) -> None:
    if not 0 <= index < topic.partition_count:
        there_are = f"its partitions are 0 to {topic.partition_count - 1}"
        text = f"topic {topic.name} has no partition {index}; {there_are}"
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, text)


class TopicRoutes:
    def __init__(
        self,
        *,
        topics: TopicOperations,
        table: TopicTable,
        partitions: PartitionTable,
        node_id: int,
        subscriptions: Subscriptions | None,
        access: Access,
    ) -> None:
        self._topics = topics
        self._table = table
        self._partitions = partitions
        self._node_id = node_id
        self._subscriptions = subscriptions
        self._access = access
        self.router = router = APIRouter(prefix="/topics", tags=["topics"])
        router.get("")(self.list_topics)
        router.post("", status_code=201, responses=CONFLICT | FORBIDDEN | _CREATED)(self.create_topic)
        router.get("/{topic}", responses=NOT_FOUND)(self.describe_topic)
        router.delete("/{topic}", status_code=204, response_class=Response, responses=NOT_FOUND | FORBIDDEN)(
            self.delete_topic
        )
        router.get("/{topic}/partitions", responses=NOT_FOUND)(self.list_partitions)
        router.post("/{topic}/partitions", responses=NOT_FOUND | FORBIDDEN)(self.add_partitions)
        router.get("/{topic}/partitions/{partition}", responses=NOT_FOUND)(self.describe_partition)

    async def list_topics(
        self,
        session: Asking,
        limit: Limit = LIMIT,
        cursor: Cursor = None,
        internal: Annotated[bool, Query(description="The broker's own, too.")] = False,
        contains: Annotated[str, Query(max_length=249, description="Only names that contain this.")] = "",
    ) -> TopicsBody:
        """Topics by name."""
        after = name_after(cursor)
        names = self._table.names_from("" if after is None else after + "\0")
        found: list[Topic] = []
        turns = Turns()
        while len(found) <= limit and (some := list(islice(names, _AT_ONCE))):
            topics = [topic for name in some if contains in name and (topic := self._table.get(name))]
            wanted = (topic for topic in topics if internal or not topic.internal)
            found += self._topics.visible(session, wanted)
            await turns.pause()
        more = len(found) > limit
        found = found[:limit]
        return TopicsBody(
            topics=[TopicBody.of(topic) for topic in found], next_cursor=to_cursor(found[-1].name) if more else None
        )

    async def create_topic(self, session: Asking, body: NewTopicBody, response: Response) -> TopicBody:
        """Create a topic. When this is answered, the topic is durable and visible to all clients."""
        new = NewTopic(
            name=body.name,
            partition_count=DEFAULT if body.partitions is None else body.partitions,
            replication_factor=DEFAULT if body.replication_factor is None else body.replication_factor,
            configs=[(name, config_text(value)) for name, value in body.configs.items()],
        )
        (result,) = await self._topics.create(session, [new], validate_only=body.validate_only)
        if isinstance(result, KafkaError):
            raise result
        if body.validate_only:
            response.status_code = HTTPStatus.OK
        else:
            response.headers["Location"] = f"{PREFIX}/topics/{result.name}"
        return TopicBody.of(result)

    async def describe_topic(self, session: Asking, topic: TopicName) -> TopicDetailsBody:
        """A topic, its problems, and as much of its configs and subscriptions as the caller may see."""
        found = existing_topic(self._topics, session, topic)
        rows = () if self._subscriptions is None else self._subscriptions.all()
        shows = self._access.shows_group
        names = (row.name for row in rows if row.topic == found.name)
        return TopicDetailsBody.described(
            found,
            offline=self._partitions.offline_in(found),
            subscriptions=sorted(name for name in names if shows(session, Operation.DESCRIBE, name)),
            shows_configs=self._access.shows_topic(session, Operation.DESCRIBE_CONFIGS, found.name),
        )

    async def delete_topic(self, session: Asking, topic: TopicName) -> None:
        """Delete a topic and its messages. Requests that wait for it are answered at once."""
        found = self._topics.deletable(session, topic)
        if found is None:
            raise no_topic(topic)
        (refusal,) = await self._topics.delete(session, [found])
        if refusal is not None:
            raise refusal

    async def list_partitions(
        self, session: Asking, topic: TopicName, limit: Limit = LIMIT, cursor: Cursor = None
    ) -> PartitionsBody:
        """Start, end and size on disk of each partition."""
        found = existing_topic(self._topics, session, topic)
        first = index_after(cursor) + 1
        indexes = range(first, min(first + limit, found.partition_count))
        bodies, turns = [], Turns()
        for index in indexes:
            bodies.append(PartitionBody.of(self._node_id, self._partitions, found, index))
            await turns.pause()
        more = bool(indexes) and indexes[-1] + 1 < found.partition_count
        return PartitionsBody(topic=found.name, partitions=bodies, next_cursor=to_cursor(indexes[-1]) if more else None)

    async def add_partitions(self, session: Asking, topic: TopicName, body: MorePartitionsBody) -> TopicBody:
        """Add partitions. Messages stay where they are, so a key may go to another partition from now on."""
        check_topic_name(topic)
        existing_topic(self._topics, session, topic, Operation.ALTER)
        grown = await self._topics.create_partitions(session, topic, body.count, validate_only=body.validate_only)
        return TopicBody.of(grown)

    async def describe_partition(self, session: Asking, topic: TopicName, partition: PartitionIndex) -> PartitionBody:
        """Start, end and size on disk of one partition."""
        found = existing_topic(self._topics, session, topic)
        check_partition(found, partition)
        return PartitionBody.of(self._node_id, self._partitions, found, partition)
