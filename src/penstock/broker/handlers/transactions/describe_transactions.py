"""DescribeTransactions (key 65, v0): state, producer and partitions of transactional ids.

Behaviour:
- An id that is asked for twice is answered once.

Differs from Kafka: no.

Version notes: none.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any

from penstock.broker.answers.array_answer import array_answer
from penstock.broker.broker import Broker
from penstock.broker.request import Request
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.describe_transactions import DescribedTransaction, encode
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.describe_transactions import DescribeTransactionsBuilders
    from penstock.protocol.kafka.requests.describe_transactions import DescribeTransactionsRequest

    DescribeTransactions = Request[DescribeTransactionsRequest, DescribeTransactionsBuilders]

IDS_AT_ONCE = 20  # more of them are answered in turns


def handle(broker: Broker, request: DescribeTransactions) -> bytes | Coroutine[Any, Any, bytes]:
    names = tuple(dict.fromkeys(request.body.transactional_ids))
    if len(names) > IDS_AT_ONCE:
        return _answer_in_turns(broker, request, names)
    return array_answer(request, [encode(_describe(broker, request, name)) for name in names])


async def _answer_in_turns(broker: Broker, request: DescribeTransactions, names: tuple[str, ...]) -> bytes:
    turns = Turns()
    described = []
    for name in names:
        described.append(encode(_describe(broker, request, name)))
        await turns.pause()
    return array_answer(request, described)


def _describe(broker: Broker, request: DescribeTransactions, transactional_id: str) -> DescribedTransaction:
    try:
        broker.access.check_transactional_id(request.session, Operation.DESCRIBE, transactional_id)
        _, value = broker.transactions.find(transactional_id)
    except KafkaError as error:
        is_unknown = error.code is ErrorCode.INVALID_PRODUCER_ID_MAPPING
        return DescribedTransaction(
            ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if is_unknown else error.code, transactional_id
        )
    may_see = broker.access.shows_topic
    return DescribedTransaction(
        ErrorCode.NONE,
        transactional_id,
        value.state.shown_name,
        value.timeout_ms,
        value.start_ms,
        value.producer_id,
        value.epoch,
        _by_topic(place for place in value.partitions if may_see(request.session, Operation.DESCRIBE, place.topic)),
    )


def _by_topic(partitions: Iterable[TopicPartition]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return tuple((topic, tuple(indexes)) for topic, indexes in topics.items())
