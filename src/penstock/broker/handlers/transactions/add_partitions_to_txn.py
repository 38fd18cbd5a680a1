"""AddPartitionsToTxn (key 24, v0–5): add partitions to a transaction.

Behaviour:
- All of the partitions or none: with one that does not exist, the others get OPERATION_NOT_ATTEMPTED.
- v4+ is what brokers send each other: several transactions at once, and `verify_only`, which adds nothing. Internal
  topics are for brokers; clients get TOPIC_AUTHORIZATION_FAILED.
- However many partitions are named, and however often: other requests get their turns.

Differs from Kafka:
- v4 without a transaction is answered with an empty list; Kafka never answers it.
- While markers of the transaction before are written, it waits for up to 200 ms before it answers
  CONCURRENT_TRANSACTIONS.

Version notes:
- v2 knows PRODUCER_FENCED, which was INVALID_PRODUCER_EPOCH before.
- v5 is the second generation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.broker.answers.array_answer import array_answer
from penstock.broker.answers.partition_codes import CodeOf, encode_codes
from penstock.broker.broker import Broker
from penstock.broker.request import Request
from penstock.broker.transactions.transaction import ProducerIdentity
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_name import INTERNAL_NAMES
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.primitives import INT16, INT32, write_string
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.add_partitions_to_txn import AddPartitionsToTxnBuilders
    from penstock.protocol.kafka.requests.add_partitions_to_txn import (
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnTopic,
    )

    AddPartitionsToTxn = Request[AddPartitionsToTxnRequest, AddPartitionsToTxnBuilders]

FIRST_GENERATION, SECOND_GENERATION = 1, 2
BROKERS_VERSION = 4  # the first that clients do not send
Wanted = list[tuple[str, Sequence[int]]]


async def handle(broker: Broker, request: AddPartitionsToTxn) -> bytes:
    body = request.body
    turns = Turns()
    if request.version < BROKERS_VERSION:
        sender = ProducerIdentity(body.v3_and_below_producer_id, body.v3_and_below_producer_epoch)
        wanted = _wanted(body.v3_and_below_topics)
        code_of = await _codes(broker, request, body.v3_and_below_transactional_id, sender, wanted, turns)
        flexible = request.is_flexible
        topics = await encode_codes(wanted, code_of, turns, flexible=flexible)
        return INT32.pack(0) + topics + (b"\0" if flexible else b"")
    try:
        broker.access.check_cluster(request.session, Operation.CLUSTER_ACTION)
    except KafkaError as error:
        return array_answer(request, [], before=INT16.pack(error.code))
    results = []
    for item in body.transactions:
        sender = ProducerIdentity(item.producer_id, item.producer_epoch)
        wanted = _wanted(item.topics)
        code_of = await _codes(
            broker, request, item.transactional_id, sender, wanted, turns, verify_only=item.verify_only
        )
        topics = await encode_codes(wanted, code_of, turns, flexible=True)
        results.append(write_string(item.transactional_id, True) + topics + b"\0")
        await turns.pause()
    return array_answer(request, results, before=INT16.pack(ErrorCode.NONE))


def _wanted(topics: Sequence[AddPartitionsToTxnTopic]) -> Wanted:
    return [(topic.name, topic.partitions) for topic in topics]


def _refusal(broker: Broker, request: AddPartitionsToTxn, transactional_id: str) -> ErrorCode:
    """Clients need a right on the transactional id, and on each topic (`_Existence`); brokers that on the cluster."""
    try:
        if request.version < BROKERS_VERSION:
            broker.access.check_transactional_id(request.session, Operation.WRITE, transactional_id)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


async def _codes(
    broker: Broker,
    request: AddPartitionsToTxn,
    transactional_id: str,
    sender: ProducerIdentity,
    wanted: Wanted,
    turns: Turns,
    *,
    verify_only: bool = False,
) -> CodeOf:
    """The code of each partition: why none is looked at, why all fail with a bad one, or what the coordinator says."""
    refusal = _refusal(broker, request, transactional_id)
    if refusal is not ErrorCode.NONE:
        return lambda topic, index: refusal
    existence = _Existence(broker, request)
    places = await _places(existence, wanted, turns)
    if places is None:
        return existence.code_with_bad_ones
    if verify_only:
        return await _verify(broker, transactional_id, sender, places, turns)
    return await _add(broker, request, transactional_id, sender, places)


async def _add(
    broker: Broker,
    request: AddPartitionsToTxn,
    transactional_id: str,
    sender: ProducerIdentity,
    places: set[TopicPartition],
) -> CodeOf:
    version = SECOND_GENERATION if request.version >= 5 else FIRST_GENERATION
    code = ErrorCode.NONE
    try:
        await broker.transactions.add_partitions(transactional_id, sender, places, version)
    except KafkaError as error:
        code = fencing_code(error.code, knows_fenced=request.version >= 2)
    return lambda topic, index: code


async def _verify(
    broker: Broker, transactional_id: str, sender: ProducerIdentity, places: set[TopicPartition], turns: Turns
) -> CodeOf:
    codes: dict[tuple[str, int], ErrorCode] = {}
    for place in places:
        try:
            broker.transactions.verify(transactional_id, sender, place)
            codes[place] = ErrorCode.NONE
        except KafkaError as error:
            codes[place] = error.code
        await turns.pause()
    return lambda topic, index: codes[topic, index]


async def _places(existence: _Existence, wanted: Wanted, turns: Turns) -> set[TopicPartition] | None:
    """Each of them once; None if one of them cannot be added."""
    places: set[TopicPartition] = set()
    for topic, indexes in wanted:
        for count, index in enumerate(set(indexes)):
            if existence.code(topic, index) is not ErrorCode.NONE:
                return None
            places.add(TopicPartition(topic, index))
            if count % 100 == 0:
                await turns.pause()
    return places


class _Existence:
    """Reasons against adding a partition, for any transaction; each topic is looked up once."""

    def __init__(self, broker: Broker, request: AddPartitionsToTxn) -> None:
        self._broker = broker
        self._session = request.session
        self._for_brokers = request.version >= BROKERS_VERSION
        self._topics: dict[str, tuple[ErrorCode, int]] = {}

    def code(self, topic: str, index: int) -> ErrorCode:
        known = self._topics.get(topic)
        if known is None:
            known = self._topics[topic] = self._look_up(topic)
        code, partition_count = known
        if code is ErrorCode.NONE and not 0 <= index < partition_count:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return code

    def code_with_bad_ones(self, topic: str, index: int) -> ErrorCode:
        """Return the code of one partition where another is refused: those without an error are not tried."""
        return self.code(topic, index) or ErrorCode.OPERATION_NOT_ATTEMPTED

    def _look_up(self, name: str) -> tuple[ErrorCode, int]:
        if name in INTERNAL_NAMES and not self._for_brokers:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0
        access = self._broker.access
        if not self._for_brokers and not access.allows_topic(self._session, Operation.WRITE, name):
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0
        topic = self._broker.topics.get(name)
        if topic is not None and topic.mirror:
            return ErrorCode.POLICY_VIOLATION, 0
        return (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0) if topic is None else (ErrorCode.NONE, topic.partition_count)


def fencing_code(code: ErrorCode, *, knows_fenced: bool) -> ErrorCode:
    """Clients of old versions know only INVALID_PRODUCER_EPOCH."""
    return ErrorCode.INVALID_PRODUCER_EPOCH if code is ErrorCode.PRODUCER_FENCED and not knows_fenced else code
