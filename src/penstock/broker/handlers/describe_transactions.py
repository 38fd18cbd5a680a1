"""DescribeTransactions v0: everything about some transactional ids. One that is asked for twice is answered once."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.broker.array_answer import array_answer
from penstock.broker.broker import Broker
from penstock.broker.call import Call
from penstock.broker.transactions.transaction import TopicPartition
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.describe_transactions import DescribedTransaction, encode
from penstock.runtime.turns import Turns


async def handle(broker: Broker, call: Call) -> bytes:
    turns = Turns()
    described = []
    for transactional_id in dict.fromkeys(call.request.transactional_ids):
        described.append(encode(_describe(broker, transactional_id)))
        await turns.pause()
    return array_answer(call, described)


def _describe(broker: Broker, transactional_id: str) -> DescribedTransaction:
    try:
        _, value = broker.transactions.find(transactional_id)
    except KafkaError as error:
        is_unknown = error.code is ErrorCode.INVALID_PRODUCER_ID_MAPPING
        return DescribedTransaction(
            ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if is_unknown else error.code, transactional_id
        )
    return DescribedTransaction(
        ErrorCode.NONE,
        transactional_id,
        value.state.shown_name,
        value.timeout_ms,
        value.start_ms,
        value.producer_id,
        value.epoch,
        _by_topic(value.partitions),
    )


def _by_topic(partitions: Iterable[TopicPartition]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, []).append(index)
    return tuple((topic, tuple(indexes)) for topic, indexes in topics.items())
