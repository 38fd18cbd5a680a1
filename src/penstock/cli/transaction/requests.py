"""Requests of `penstock transaction`, one function each. A refusal of the broker is a CommandError."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.rights import REFUSALS

if TYPE_CHECKING:
    from kio.schema.list_transactions.v1.response import TransactionState

    from penstock.cli.kafka.kafka_connection import KafkaConnection
    from penstock.protocol.kafka.describe_transactions import DescribedTransaction

UNKNOWN_TOPIC, NOT_FOUND = 3, 105
OPEN_STATES = ("Ongoing", "PrepareCommit", "PrepareAbort")


class Place(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class OpenProducer(NamedTuple):
    """A producer with an open transaction in a partition, as the partition itself knows it."""

    place: Place
    producer_id: int
    producer_epoch: int
    start_offset: int
    last_timestamp_ms: int
    coordinator_epoch: int


def check(code: Any, what: str) -> None:
    from penstock.model.errors import ErrorCode

    if code:
        hint = "an administrator allows it with `penstock security acl add`" if code in REFUSALS else ""
        raise CommandError(f"{what}: {ErrorCode(int(code)).name}", hint=hint)


def describe(connection: KafkaConnection, transactional_id: str) -> DescribedTransaction:
    from kio.schema.describe_transactions.v0.request import DescribeTransactionsRequest
    from kio.schema.types import TransactionalId

    from penstock.protocol.kafka.describe_transactions import decode

    if not transactional_id:
        raise CommandError("a transactional id cannot be empty", ExitCode.USAGE)
    request = DescribeTransactionsRequest(transactional_ids=(TransactionalId(transactional_id),))
    (found,) = connection.ask(request, decode)
    if found.error == NOT_FOUND:
        hint = "`penstock transaction list` shows all of them"
        raise CommandError(f"no transactional id {transactional_id}", ExitCode.NOT_FOUND, hint=hint)
    check(found.error, transactional_id)
    return found


def open_for_ms(found: DescribedTransaction) -> int | None:
    is_open = found.start_ms >= 0 and found.state in OPEN_STATES
    return max(0, round(time.time() * 1000) - found.start_ms) if is_open else None


def places(found: DescribedTransaction) -> str:
    return ", ".join(str(Place(topic, index)) for topic, indexes in found.topics for index in indexes)


def list_all(
    connection: KafkaConnection,
    *,
    states: Sequence[str] = (),
    producer_ids: Sequence[int] = (),
    open_for_ms: int = -1,
) -> list[TransactionState]:
    """Return ids, producers and states, sorted; `open_for_ms` also leaves out ended ones, which brokers keep."""
    from kio.schema.list_transactions.v1.request import ListTransactionsRequest
    from kio.schema.list_transactions.v1.response import ListTransactionsResponse
    from kio.schema.types import ProducerId
    from kio.static.primitive import i64

    filters = tuple(ProducerId(each) for each in producer_ids)
    request = ListTransactionsRequest(
        state_filters=tuple(states), producer_id_filters=filters, duration_filter=i64(open_for_ms)
    )
    answer = connection.call(request, ListTransactionsResponse)
    check(answer.error_code, "transactions")
    if answer.unknown_state_filters:
        names = ", ".join(answer.unknown_state_filters)
        hint = "states are Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, Dead"
        raise CommandError(f"no such state: {names}", ExitCode.USAGE, hint=hint)
    found = [one for one in answer.transaction_states if open_for_ms < 0 or one.transaction_state in OPEN_STATES]
    return sorted(found, key=lambda one: one.transactional_id)


def all_places(connection: KafkaConnection, topic: str | None) -> dict[str, list[int]]:
    """Return partitions by topic, of one topic or of all, including internal ones."""
    from kio.schema.metadata.v12.request import MetadataRequest, MetadataRequestTopic
    from kio.schema.metadata.v12.response import MetadataResponse
    from kio.schema.types import TopicName

    wanted = None if topic is None else (MetadataRequestTopic(topic_id=None, name=TopicName(topic)),)
    request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False, include_topic_authorized_operations=False)
    found = {}
    for each in connection.call(request, MetadataResponse).topics:
        _check_place(each.error_code, str(each.name))
        found[str(each.name)] = sorted(int(partition.partition_index) for partition in each.partitions)
    return found


def open_producers(connection: KafkaConnection, wanted: Mapping[str, Sequence[int]]) -> Iterator[OpenProducer]:
    """Yield producers with open transactions; each topic is a request, so that no answer is too large."""
    from kio.schema.describe_producers.v0.request import DescribeProducersRequest, TopicRequest
    from kio.schema.describe_producers.v0.response import DescribeProducersResponse
    from kio.schema.types import TopicName
    from kio.static.primitive import i32

    for topic, indexes in wanted.items():
        request = TopicRequest(name=TopicName(topic), partition_indexes=tuple(map(i32, indexes)))
        answer = connection.call(DescribeProducersRequest(topics=(request,)), DescribeProducersResponse)
        for partition in answer.topics[0].partitions:
            place = Place(topic, int(partition.partition_index))
            _check_place(partition.error_code, str(place))
            for one in partition.active_producers:
                if one.current_txn_start_offset >= 0:
                    yield OpenProducer(
                        place,
                        int(one.producer_id),
                        int(one.producer_epoch),
                        int(one.current_txn_start_offset),
                        int(one.last_timestamp),
                        max(int(one.coordinator_epoch), 0),
                    )


def _check_place(code: Any, what: str) -> None:
    if int(code) == UNKNOWN_TOPIC:
        raise CommandError(f"{what} does not exist", ExitCode.NOT_FOUND, hint="`penstock topic list` shows all topics")
    check(code, what)


def end_by_abort(connection: KafkaConnection, found: DescribedTransaction) -> int:
    """Abort with EndTxn v5, which is refused unless producer id and epoch are still the same; return the error code."""
    from kio.schema.end_txn.v5.request import EndTxnRequest
    from kio.schema.end_txn.v5.response import EndTxnResponse
    from kio.schema.types import ProducerId, TransactionalId
    from kio.static.primitive import i16

    request = EndTxnRequest(
        transactional_id=TransactionalId(found.transactional_id),
        producer_id=ProducerId(found.producer_id),
        producer_epoch=i16(found.producer_epoch),
        committed=False,
    )
    return int(connection.call(request, EndTxnResponse).error_code)


def abort_by_marker(connection: KafkaConnection, producer: OpenProducer) -> None:
    """Write an abort marker to one partition, past the coordinator."""
    from kio.schema.types import ProducerId, TopicName
    from kio.schema.write_txn_markers.v1 import request as schema
    from kio.schema.write_txn_markers.v1.response import WriteTxnMarkersResponse
    from kio.static.primitive import i16, i32

    topic, partition = producer.place
    marker = schema.WritableTxnMarker(
        producer_id=ProducerId(producer.producer_id),
        producer_epoch=i16(producer.producer_epoch),
        transaction_result=False,
        topics=(schema.WritableTxnMarkerTopic(name=TopicName(topic), partition_indexes=(i32(partition),)),),
        coordinator_epoch=i32(producer.coordinator_epoch),
    )
    answer = connection.call(schema.WriteTxnMarkersRequest(markers=(marker,)), WriteTxnMarkersResponse)
    check(answer.markers[0].topics[0].partitions[0].error_code, str(producer.place))
