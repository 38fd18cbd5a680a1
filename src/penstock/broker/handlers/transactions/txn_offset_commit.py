"""TxnOffsetCommit (key 28, v0–5): commit offsets that count when the transaction commits.

Behaviour:
- Member, generation and instance are checked if the client names them (KIP-447, v3+).
- The group's partition of `__consumer_offsets` must be in the transaction: added by AddOffsetsToTxn, or, from v5 on, by
  this request itself.

Differs from Kafka:
- v5 asks the coordinator each time, even where the log has a transaction of the producer open.
- INVALID_GROUP_ID for a new group whose id has more than 1,024 bytes.
- OFFSET_METADATA_TOO_LARGE also when the texts of all groups together are 64 MiB.

Version notes:
- v4 answers TRANSACTION_ABORTABLE where it was INVALID_TXN_STATE before.
"""

from __future__ import annotations

from sys import getsizeof
from typing import TYPE_CHECKING

from penstock.broker.answers.partition_codes import encode_codes
from penstock.broker.broker import Broker
from penstock.broker.groups.claim import NO_GENERATION, CommitClaim
from penstock.broker.groups.offsets.records import CommittedOffset, OffsetChange
from penstock.broker.handlers.transactions.add_partitions_to_txn import SECOND_GENERATION
from penstock.broker.produce.transactional import verify_partition
from penstock.broker.request import Request
from penstock.broker.transactions.transaction import ProducerIdentity
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import NO_EPOCH, NO_TIMESTAMP
from penstock.protocol.kafka.primitives import INT32
from penstock.protocol.kafka.versioned import field
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.txn_offset_commit import TxnOffsetCommitBuilders
    from penstock.protocol.kafka.requests.txn_offset_commit import TxnOffsetCommitRequest

    TxnOffsetCommit = Request[TxnOffsetCommitRequest, TxnOffsetCommitBuilders]

Codes = dict[tuple[str, int], ErrorCode]


async def handle(broker: Broker, request: TxnOffsetCommit) -> bytes:
    codes: Codes = {}
    refusal = ErrorCode.NONE  # of all partitions
    turns = Turns()
    changes, text_bytes = await _collect(broker, request, codes, turns)
    try:
        broker.access.check_transactional_id(request.session, Operation.WRITE, request.body.transactional_id)
        broker.access.check_group(request.session, Operation.READ, request.body.group_id)
    except KafkaError as error:
        refusal = error.code
    if changes and refusal is ErrorCode.NONE:
        try:
            await _commit(broker, request, changes, text_bytes)
        except KafkaError as error:
            code = _shown(error.code, request.version)
            for change in changes:
                codes[change.topic, change.partition] = code
                await turns.pause()
    flexible = request.is_flexible
    encoded = await encode_codes(
        await _indexes(request, turns), lambda topic, index: refusal or codes[topic, index], turns, flexible=flexible
    )
    return INT32.pack(0) + encoded + (b"\0" if flexible else b"")


async def _indexes(request: TxnOffsetCommit, turns: Turns) -> list[tuple[str, list[int]]]:
    topics = []
    for topic in request.body.topics:
        indexes: list[int] = []
        for item in topic.partitions:
            indexes.append(item.partition_index)
            await turns.pause()
        topics.append((topic.name, indexes))
    return topics


async def _collect(
    broker: Broker, request: TxnOffsetCommit, codes: Codes, turns: Turns
) -> tuple[list[OffsetChange], int]:
    """The offsets that can be committed, the last for each partition, and the memory of the texts with them.

    A code for each partition is added.
    """
    changes: dict[tuple[str, int], OffsetChange] = {}
    text_bytes = 0
    now_ms = broker.clock.now_ms()
    for wanted in request.body.topics:
        topic = broker.topics.get(wanted.name)
        readable = broker.operations.offsets.readable(request.session, wanted.name)
        for item in wanted.partitions:
            place = wanted.name, item.partition_index
            metadata = item.committed_metadata or ""
            code = ErrorCode.NONE
            if not readable:
                code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif topic is None or not 0 <= item.partition_index < topic.partition_count:
                code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            elif len(metadata) > broker.settings.groups.offset_metadata_bytes_max:
                code = ErrorCode.OFFSET_METADATA_TOO_LARGE
            codes[place] = code
            if topic is not None and code is ErrorCode.NONE:
                text_bytes += getsizeof(metadata) if metadata else 0
                leader_epoch = field(item, "committed_leader_epoch", NO_EPOCH)
                committed = CommittedOffset(
                    item.committed_offset, leader_epoch, metadata, now_ms, NO_TIMESTAMP, topic.topic_id
                )
                changes[place] = OffsetChange(*place, committed)
            await turns.pause()
    return list(changes.values()), text_bytes


async def _commit(broker: Broker, request: TxnOffsetCommit, changes: list[OffsetChange], text_bytes: int) -> None:
    body: TxnOffsetCommitRequest = request.body
    sender = ProducerIdentity(body.producer_id, body.producer_epoch)
    if not body.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    place = await broker.groups.place_of(body.group_id)
    partition = broker.partitions.get(place.topic, place.partition)
    if request.version < 5:
        verify_partition(broker.transactions, body.transactional_id, sender, partition)
    else:
        await broker.transactions.add_partitions(body.transactional_id, sender, [place], SECOND_GENERATION)
    claim = CommitClaim(
        member_id=field(body, "member_id", ""),
        instance_id=field(body, "group_instance_id"),
        generation=field(body, "generation_id", NO_GENERATION),
        in_transaction=True,
    )
    with broker.group_share.taken(request.session, body.group_id):
        await broker.groups.commit_in_transaction(body.group_id, claim, changes, sender, text_bytes)


def _shown(code: ErrorCode, version: int) -> ErrorCode:
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < 4:
        return ErrorCode.INVALID_TXN_STATE
    return ErrorCode.INVALID_PRODUCER_EPOCH if code is ErrorCode.PRODUCER_FENCED else code
