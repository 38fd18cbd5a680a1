"""Metadata (key 3, v0–13): the brokers, topics and partitions, and where they are.

Behaviour:
- No topics asked for means all in v0, none from v1 on; null means all from v1 on.
- A topic that does not exist is created if the client and the node agree. As in Kafka the answer still calls it
  unknown, and the client asks again. Without the right to create it, or to describe it, it is
  TOPIC_AUTHORIZATION_FAILED and is not created.
- Topic ids below v12 are INVALID_REQUEST for the whole request, which then has no brokers either. From v12 on names are
  passed over where any id is given; with no id at all a null name is UNKNOWN_SERVER_ERROR for the whole request.

Differs from Kafka:
- The address in the answer is the one that the client came in on, unless another is advertised.
- A partition whose log has failed has no leader: LEADER_NOT_AVAILABLE.

Version notes:
- v1 adds controller id, racks and internal topics; v2 the cluster id; v4 AllowAutoTopicCreation; v7 leader epochs.
- v8–10 have authorized operations of the cluster, v8 of topics; v10 topic ids in answers, v12 in requests.
- v13 adds the error code of the whole answer.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.broker.answers.authorized_operations import cluster_operations, topic_operations
from penstock.broker.quotas.mutations import mutation_quota
from penstock.broker.request import Request
from penstock.cluster.controller.new_topic import NewTopic
from penstock.cluster.topics import Topic
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import INTERNAL_NAMES, is_topic_name
from penstock.observability.repeats import REFUSED_LINES_MAX, Repeats
from penstock.protocol.kafka.topic_metadata import NOT_ASKED, BrokerAddress, metadata_writer
from penstock.protocol.kafka.versioned import field
from penstock.runtime.turns import Steps, Turns, begin, finish
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.metadata import MetadataBuilders
    from penstock.protocol.kafka.requests.metadata import MetadataRequest, MetadataRequestTopic

    Metadata = Request[MetadataRequest, MetadataBuilders]

not_created = Repeats(logging.getLogger(__name__), total_max=REFUSED_LINES_MAX)

NO_CONTROLLER = -1
TOPICS_AT_ONCE = 100
"""Topics that a step looks at, where it does little with each."""


class _Resolved(NamedTuple):
    """What was asked for: topics, or the encoded error of one; and the names of those to create before the answer."""

    topics: list[Topic | bytes]
    creatable: list[str]


def handle(broker: Broker, request: Metadata) -> bytes | Coroutine[Any, Any, bytes]:
    asked = request.body.topics
    if asked is None or (request.version == 0 and not asked):
        return begin(_answer_all(broker, request))
    if request.version < 12 and any(topic.name is None or field(topic, "topic_id") is not None for topic in asked):
        return begin(_refused(request, asked, ErrorCode.INVALID_REQUEST))
    if any(topic.name is None for topic in asked) and not _by_id(asked):
        return begin(_refused(request, asked, ErrorCode.UNKNOWN_SERVER_ERROR))
    resolved = begin(_resolve(broker, request, asked))
    if isinstance(resolved, Coroutine) or resolved.creatable:
        return _create_and_answer(broker, request, resolved)
    return begin(_answer(broker, request, resolved.topics))


def _answer_all(broker: Broker, request: Metadata) -> Steps[bytes]:
    everything = tuple(broker.topics.all())
    topics: list[Topic | bytes] = []
    for first in range(0, len(everything), TOPICS_AT_ONCE):
        topics += broker.operations.topics.visible(request.session, everything[first : first + TOPICS_AT_ONCE])
        yield
    return (yield from _answer(broker, request, topics))


def _by_id(asked: Iterable[MetadataRequestTopic]) -> bool:
    return any(field(topic, "topic_id") is not None for topic in asked)


def _refused(request: Metadata, asked: Iterable[MetadataRequestTopic], code: ErrorCode) -> Steps[bytes]:
    """Kafka's answer to a request that it refuses as a whole: every topic has an error."""
    writer = metadata_writer(request.version)
    topics = []
    for topic in asked:
        topics.append(writer.topic(error=code, name=topic.name or "", topic_id=field(topic, "topic_id")))
        yield
    return writer.metadata(brokers=(), cluster_id=None, controller_id=NO_CONTROLLER, topics=topics, error=code)


async def _create_and_answer(
    broker: Broker, request: Metadata, resolved: _Resolved | Coroutine[Any, Any, _Resolved]
) -> bytes:
    """The answer is that of the time before; the client asks again, and finds them."""
    topics, creatable = await resolved if isinstance(resolved, Coroutine) else resolved
    if creatable:
        await _create(broker, request, creatable)
    return await finish(_answer(broker, request, topics))


def _to_create(broker: Broker, request: Metadata, asked: Iterable[MetadataRequestTopic]) -> Steps[list[str]]:
    """Names that do not exist yet and are created with this request, if they can be and the session may create them.

    A topic that the session may not describe is not among them: it is refused, whether it exists or not.
    """
    if not broker.settings.topics.auto_create or not field(request.body, "allow_auto_topic_creation", True):
        return []
    names = (topic.name for topic in asked if field(topic, "topic_id") is None and topic.name is not None)
    found = []
    for name in dict.fromkeys(names):
        if name not in broker.topics and broker.access.shows_topic(request.session, Operation.DESCRIBE, name):
            found.append(name)
        yield
    return found


async def _create(broker: Broker, request: Metadata, names: list[str]) -> None:
    """Create topics with defaults. What hinders that is in the log only: to the client the topic is still unknown."""
    for name in names:
        if name in INTERNAL_NAMES:
            try:
                await broker.controller.topics.ensure_internal(name)
            except KafkaError as error:
                _tell(name, error)
    ordinary = [NewTopic(name=name) for name in names if name not in INTERNAL_NAMES]
    admit = mutation_quota(broker.quotas, request, strict_from=0, mutes=False)
    results = await broker.controller.topics.create(ordinary, admit=admit)
    turns = Turns()
    for topic, result in zip(ordinary, results, strict=True):
        if isinstance(result, KafkaError) and result.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            _tell(topic.name, result)
        await turns.pause()


def _tell(name: str, error: KafkaError) -> None:
    not_created.warning((name, error.code), "did not create topic %s: %s, %s", name, error.code.name, error.message)


def _resolve(broker: Broker, request: Metadata, asked: Iterable[MetadataRequestTopic]) -> Steps[_Resolved]:
    missing = yield from _to_create(broker, request, asked)
    refused, creatable = set(), []
    for name in missing:
        if not broker.operations.topics.may_create(request.session, name):
            refused.add(name)
        elif is_topic_name(name):
            creatable.append(name)
        yield
    return _Resolved((yield from _find(broker, request, asked, refused)), creatable)


def _find(
    broker: Broker, request: Metadata, asked: Iterable[MetadataRequestTopic], refused: Collection[str]
) -> Steps[list[Topic | bytes]]:
    """The requested topics, each once: those that exist, or the encoded error of one that does not.

    `refused` are names of topics that the session may not create.
    """
    found: dict[object, Topic | bytes] = {}
    by_id = _by_id(asked)
    for wanted in asked:
        yield
        topic_id = field(wanted, "topic_id")
        if by_id and topic_id is None:
            continue
        topic = broker.topics.get_by_id(topic_id) if topic_id is not None else broker.topics.get(wanted.name or "")
        name = wanted.name if topic is None else topic.name
        if name is not None and not broker.access.allows_topic(request.session, Operation.DESCRIBE, name):
            found[topic_id or name] = _failed(broker, request, ErrorCode.TOPIC_AUTHORIZATION_FAILED, wanted)
            continue
        if topic is not None:
            found[topic.name] = topic
            continue
        if topic_id is not None:
            code = ErrorCode.UNKNOWN_TOPIC_ID
        elif wanted.name in refused:
            code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        elif not is_topic_name(wanted.name or ""):
            code = ErrorCode.INVALID_TOPIC_EXCEPTION
        else:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        found[topic_id or wanted.name] = _failed(broker, request, code, wanted)
    return list(found.values())


def _failed(broker: Broker, request: Metadata, code: ErrorCode, wanted: MetadataRequestTopic) -> bytes:
    topic_id = field(wanted, "topic_id")
    name = wanted.name
    if code is ErrorCode.UNKNOWN_TOPIC_ID:
        name = None
    is_hidden = code in (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return metadata_writer(request.version).topic(
        error=code,
        name=name,
        topic_id=topic_id,
        internal=name in INTERNAL_NAMES,
        operations=NOT_ASKED if is_hidden else _operations(broker, request, name or ""),
    )


def _operations(broker: Broker, request: Metadata, name: str) -> int:
    if not field(request.body, "include_topic_authorized_operations", False):
        return NOT_ASKED
    return topic_operations(broker.access, request.session, name)


def _answer(broker: Broker, request: Metadata, topics: list[Topic | bytes]) -> Steps[bytes]:
    encoded = []
    for topic in topics:
        encoded.append(_encoded(broker, request, topic))
        yield
    return _assemble(broker, request, encoded)


def _encoded(broker: Broker, request: Metadata, topic: Topic | bytes) -> bytes:
    if isinstance(topic, bytes):
        return topic
    operations = _operations(broker, request, topic.name)
    offline = broker.partitions.offline_in(topic)
    key = ("metadata", request.version, operations)
    known = topic.encodings.get(key) if not offline else None
    if known is not None:
        return known
    writer = metadata_writer(request.version)
    partitions = writer.partitions(
        range(topic.partition_count),
        node_id=broker.node_id,
        leader_epochs=topic.leader_epochs,
        offline=offline,
    )
    encoded = writer.topic(
        name=topic.name,
        topic_id=topic.topic_id,
        internal=topic.internal,
        partitions=partitions,
        operations=operations,
    )
    if not offline:
        topic.encodings[key] = encoded
    return encoded


def _assemble(broker: Broker, request: Metadata, topics: list[bytes]) -> bytes:
    endpoint = broker.endpoint(request)
    address = BrokerAddress(broker.node_id, endpoint.host, endpoint.port, broker.settings.node.rack)
    asked = field(request.body, "include_cluster_authorized_operations", False)
    return metadata_writer(request.version).metadata(
        brokers=[address],
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
        topics=topics,
        cluster_operations=cluster_operations(broker.access, request.session) if asked else NOT_ASKED,
    )
