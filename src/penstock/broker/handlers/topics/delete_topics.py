"""DeleteTopics (key 20, v1–6): delete topics by name, from v6 also by id.

Behaviour:
- A name or id that comes twice, or a name and the id of the same topic, fails: INVALID_REQUEST.
- Requests that wait in a deleted topic (a fetch, a produce) are answered at once.
- Without the right to delete, a name is answered without its id, and an id with its name only if the session may
  describe the topic.

Differs from Kafka:
- The broker's own topics cannot be deleted: INVALID_REQUEST. Kafka deletes them, and its groups with them.

Version notes:
- v5 adds error messages, and may refuse for a quota; v6 topic ids, and the answer names both.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from penstock.broker.quotas.mutations import mutation_quota
from penstock.broker.request import Request
from penstock.cluster.topics import Topic
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import TopicId
from penstock.protocol.kafka.messages import milliseconds
from penstock.runtime.turns import Steps, Turns, finish
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.broker.broker import Broker
    from penstock.protocol.kafka.replies.delete_topics import (
        DeletableTopicResult,
        DeleteTopicsBuilders,
        DeleteTopicsResponse,
    )
    from penstock.protocol.kafka.requests.delete_topics import DeleteTopicsRequest

    DeleteTopics = Request[DeleteTopicsRequest, DeleteTopicsBuilders]

_MESSAGES = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    ErrorCode.UNKNOWN_TOPIC_ID: "This server does not host this topic ID.",
}


class _Wanted(NamedTuple):
    name: str | None
    topic_id: TopicId | None


async def handle(broker: Broker, request: DeleteTopics) -> DeleteTopicsResponse:
    if request.version >= 6:
        asked = [_Wanted(topic.name, topic.topic_id) for topic in request.body.topics]
    else:
        asked = [_Wanted(name, None) for name in request.body.topic_names]
    results: dict[_Wanted, KafkaError | None] = {}
    targets: dict[_Wanted, Topic] = {}
    errors: dict[tuple[ErrorCode, str | None], KafkaError] = {}  # one of a kind: there may be very many
    counts, turns = Counter(asked), Turns()
    for wanted in await finish(_without_twins(broker, request, asked)):
        await turns.pause()
        try:
            targets[wanted] = _target(broker, request, wanted, counts)
            results[wanted] = None
        except KafkaError as error:
            results[wanted] = errors.setdefault((error.code, error.message), error.kept())
    admit = mutation_quota(broker.quotas, request, strict_from=5)
    deleted = await broker.operations.topics.delete(request.session, list(targets.values()), admit=admit)
    results.update(zip(targets, deleted, strict=True))
    responses = []
    for wanted, problem in results.items():
        if wanted in targets:
            shown = _shown(broker, request, wanted, targets[wanted], problem)
        else:
            shown = _twin(broker, request, wanted, counts)
        responses.append(_response(request, wanted, shown, problem))
        await turns.pause()
    return request.reply.DeleteTopicsResponse(responses=responses)


def _without_twins(broker: Broker, request: DeleteTopics, asked: list[_Wanted]) -> Steps[list[_Wanted]]:
    """Each thing once; an id whose topic is asked for by name as well is answered with the name."""
    named = set()
    for name, _ in asked:
        if name is not None and (topic := broker.topics.get(name)) and _may_delete(broker, request, name):
            named.add(topic.topic_id)
        yield
    return [wanted for wanted in dict.fromkeys(asked) if wanted.name is not None or wanted.topic_id not in named]


def _target(
    broker: Broker,
    request: DeleteTopics,
    wanted: _Wanted,
    asked: Counter[_Wanted],
) -> Topic:
    name, topic_id = wanted
    problem = None
    topic = broker.topics.get(name) if name is not None else broker.topics.get_by_id(topic_id)
    if name is None and topic_id is None:
        problem = "Neither topic name nor id were specified."
    elif name is not None and topic_id is not None:
        problem = "You may not specify both topic name and topic id."
    elif asked[wanted] > 1:
        problem = f"Duplicate topic {'name' if name is not None else 'id'}."
    elif _twin(broker, request, wanted, asked) is not None:
        problem = "The provided topic name maps to an ID that was already supplied."
    if problem is not None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, problem)
    if milliseconds(request.body.timeout) <= 0:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    if topic is None:
        if name is not None and not broker.access.shows_topic(request.session, Operation.DESCRIBE, name):
            # Without any right the error does not reveal whether there is such a topic.
            broker.access.check_cluster_or_topic(request.session, Operation.DELETE, name)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if name is not None else ErrorCode.UNKNOWN_TOPIC_ID
        raise KafkaError(code, _MESSAGES[code])
    return topic


def _twin(broker: Broker, request: DeleteTopics, wanted: _Wanted, asked: Counter[_Wanted]) -> Topic | None:
    """The topic of a name whose id is asked for as well. Others than who may delete it do not learn that both agree."""
    topic = broker.topics.get(wanted.name) if wanted.name is not None else None
    if topic is None or _Wanted(None, topic.topic_id) not in asked:
        return None
    return topic if _may_delete(broker, request, topic.name) else None


def _may_delete(broker: Broker, request: DeleteTopics, name: str) -> bool:
    access, session, delete = broker.access, request.session, Operation.DELETE
    return access.shows_cluster(session, delete) or access.shows_topic(session, delete, name)


def _shown(
    broker: Broker, request: DeleteTopics, wanted: _Wanted, topic: Topic, error: KafkaError | None
) -> Topic | None:
    """The topic, unless a refusal would reveal more of it than the session has named and may describe."""
    if error is None or error.code is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        return topic
    describes = wanted.name is None and broker.access.shows_topic(request.session, Operation.DESCRIBE, topic.name)
    return topic if describes else None


def _response(
    request: DeleteTopics,
    wanted: _Wanted,
    topic: Topic | None,
    error: KafkaError | None,
) -> DeletableTopicResult:
    return request.reply.DeletableTopicResult(
        name=topic.name if topic is not None else wanted.name,
        topic_id=topic.topic_id if topic is not None else wanted.topic_id,
        error_code=error.code if error else ErrorCode.NONE,
        error_message=error.message if error else None,
    )
