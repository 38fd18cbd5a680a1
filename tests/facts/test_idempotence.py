"""Idempotent producers: sequences, epochs, duplicates and where producer ids come from."""

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.batches import idempotent
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("X-02", "F-01")

REMEMBERED_BATCHES = 5
SEQUENCE_MAX = 2**31 - 1


def outcome(client: RawClient, topic: str, records: bytes) -> tuple[ErrorCode, int]:
    answer = client.produce(topic, records)
    return ErrorCode(answer.error_code), int(answer.base_offset)


def test_init_producer_id_gives_distinct_ids_with_epoch_0(client: RawClient) -> None:
    """Each InitProducerId without a transactional id gives a new producer id with epoch 0."""
    given = [client.new_producer_id(version) for version in range(6)]
    assert len({producer_id for producer_id, _ in given}) == 6
    assert {epoch for _, epoch in given} == {0}


def test_a_duplicate_gets_the_original_offset(client: RawClient, topic: str) -> None:
    """A batch that is repeated is acknowledged with the offset it was given first, and stored once."""
    producer_id, epoch = client.new_producer_id()
    client.appended(topic, batches.values("other"))
    first = idempotent(producer_id, epoch, 0, count=3)
    assert outcome(client, topic, first) == (ErrorCode.none, 1)
    client.appended(topic, batches.values("other"))
    assert outcome(client, topic, first) == (ErrorCode.none, 1)
    assert client.log_end(topic) == 5


def test_the_last_five_batches_are_remembered(client: RawClient, topic: str) -> None:
    """A producer's last five batches may be repeated; the sixth last is OUT_OF_ORDER_SEQUENCE_NUMBER."""
    producer_id, epoch = client.new_producer_id()
    sent = [idempotent(producer_id, epoch, sequence) for sequence in range(REMEMBERED_BATCHES + 1)]
    for sequence, records in enumerate(sent):
        assert outcome(client, topic, records) == (ErrorCode.none, sequence)
    for sequence in range(1, REMEMBERED_BATCHES + 1):
        assert outcome(client, topic, sent[sequence]) == (ErrorCode.none, sequence)
    assert outcome(client, topic, sent[0])[0] == ErrorCode.out_of_order_sequence_number
    assert client.log_end(topic) == len(sent)


def test_a_gap_is_out_of_order(client: RawClient, topic: str) -> None:
    """A sequence that leaves something out is out of order (45); the right one is still welcome."""
    producer_id, epoch = client.new_producer_id()
    assert outcome(client, topic, idempotent(producer_id, epoch, 0, count=2)) == (ErrorCode.none, 0)
    gap = idempotent(producer_id, epoch, 3)
    assert outcome(client, topic, gap)[0] == ErrorCode.out_of_order_sequence_number
    assert outcome(client, topic, idempotent(producer_id, epoch, 2)) == (ErrorCode.none, 2)


@pytest.mark.parametrize(("base_sequence", "count"), [(1, 3), (0, 2), (0, 6), (2, 1)])
def test_a_partial_overlap_is_out_of_order(client: RawClient, topic: str, base_sequence: int, count: int) -> None:
    """A batch that shares some but not all of its sequences with a remembered one is out of order."""
    producer_id, epoch = client.new_producer_id()
    client.appended(topic, idempotent(producer_id, epoch, 0, count=3))
    overlap = idempotent(producer_id, epoch, base_sequence, count=count)
    assert outcome(client, topic, overlap)[0] == ErrorCode.out_of_order_sequence_number
    assert client.log_end(topic) == 3


def test_a_new_epoch_starts_at_sequence_0(client: RawClient, topic: str) -> None:
    """A higher epoch must start at sequence 0; anything else is OUT_OF_ORDER_SEQUENCE_NUMBER."""
    producer_id, epoch = client.new_producer_id()
    client.appended(topic, idempotent(producer_id, epoch, 0))
    assert outcome(client, topic, idempotent(producer_id, epoch + 1, 1))[0] == (ErrorCode.out_of_order_sequence_number)
    assert outcome(client, topic, idempotent(producer_id, epoch + 1, 0)) == (ErrorCode.none, 1)


def test_a_lower_epoch_is_refused(client: RawClient, topic: str) -> None:
    """A batch with an epoch below the newest one is INVALID_PRODUCER_EPOCH."""
    producer_id, epoch = client.new_producer_id()
    client.appended(topic, idempotent(producer_id, epoch + 2, 0))
    assert outcome(client, topic, idempotent(producer_id, epoch + 1, 0))[0] == ErrorCode.invalid_producer_epoch
    assert client.log_end(topic) == 1


@pytest.mark.parametrize("first", [0, 7, SEQUENCE_MAX])
def test_an_unknown_producer_may_start_anywhere(client: RawClient, topic: str, first: int) -> None:
    """Without state for the producer any first sequence is accepted, and the next one must follow it."""
    producer_id, epoch = client.new_producer_id()
    assert outcome(client, topic, idempotent(producer_id, epoch, first)) == (ErrorCode.none, 0)
    gap = idempotent(producer_id, epoch, (first + 2) % (SEQUENCE_MAX + 1))
    assert outcome(client, topic, gap)[0] == ErrorCode.out_of_order_sequence_number


def test_an_id_that_nobody_gave_out_is_accepted(client: RawClient, topic: str) -> None:
    """A producer id is not looked up anywhere: the first batch of any id is accepted."""
    assert outcome(client, topic, idempotent(987_654_321, 4, 0)) == (ErrorCode.none, 0)


def test_sequences_wrap_around(client: RawClient, topic: str) -> None:
    """After sequence 2³¹−1 comes 0, also inside one batch."""
    producer_id, epoch = client.new_producer_id()
    client.appended(topic, idempotent(producer_id, epoch, SEQUENCE_MAX))
    assert outcome(client, topic, idempotent(producer_id, epoch, 0)) == (ErrorCode.none, 1)
    other_id, other_epoch = client.new_producer_id()
    client.appended(topic, idempotent(other_id, other_epoch, SEQUENCE_MAX, count=3))
    assert outcome(client, topic, idempotent(other_id, other_epoch, 2)) == (ErrorCode.none, 5)


def test_a_producer_id_without_a_sequence_is_refused(client: RawClient, topic: str) -> None:
    """A batch with a producer id but no sequence is INVALID_RECORD."""
    producer_id, epoch = client.new_producer_id()
    records = batches.batch(producer_id=producer_id, producer_epoch=epoch, base_sequence=-1)
    assert outcome(client, topic, records)[0] == ErrorCode.invalid_record


def test_sequences_are_counted_per_partition(client: RawClient) -> None:
    """Each partition counts a producer's sequences for itself."""
    topic = client.create_topic(partitions=2)
    producer_id, epoch = client.new_producer_id()
    for partition in range(2):
        assert client.appended(topic, idempotent(producer_id, epoch, 0), partition=partition) == 0
        assert client.appended(topic, idempotent(producer_id, epoch, 1), partition=partition) == 1


def test_producer_state_outlives_delete_records(client: RawClient, topic: str) -> None:
    """DeleteRecords does not make the broker forget a producer: duplicates and gaps are still told apart."""
    producer_id, epoch = client.new_producer_id()
    last = idempotent(producer_id, epoch, 1)
    client.appended(topic, idempotent(producer_id, epoch, 0))
    client.appended(topic, last)
    assert client.delete_records(topic, 2).error_code == ErrorCode.none
    assert client.log_start(topic) == 2
    assert outcome(client, topic, last) == (ErrorCode.none, 1)
    assert outcome(client, topic, idempotent(producer_id, epoch, 5))[0] == ErrorCode.out_of_order_sequence_number
    assert outcome(client, topic, idempotent(producer_id, epoch, 2)) == (ErrorCode.none, 2)


def test_describe_producers_shows_the_state(client: RawClient, topic: str) -> None:
    """DescribeProducers tells each active producer's epoch and last sequence."""
    producer_id, epoch = client.new_producer_id()
    client.appended(topic, idempotent(producer_id, epoch, 0, count=4))
    answer = client.call("describe_producers", 0, topics=[{"name": topic, "partition_indexes": [0, 3]}])
    found, missing = sorted(answer.topics[0].partitions, key=lambda each: int(each.partition_index))
    assert found.error_code == ErrorCode.none
    (state,) = found.active_producers
    assert (state.producer_id, state.producer_epoch, state.last_sequence) == (producer_id, epoch, 3)
    assert state.current_txn_start_offset == -1
    assert missing.error_code == ErrorCode.unknown_topic_or_partition


def test_init_producer_id_ignores_an_offered_id_without_a_transactional_id(client: RawClient) -> None:
    """An idempotent producer that offers its old id and epoch is given a new id all the same."""
    old_id, epoch = client.new_producer_id()
    answer = client.call(
        "init_producer_id",
        4,
        transactional_id=None,
        transaction_timeout=60_000,
        producer_id=old_id,
        producer_epoch=epoch,
    )
    assert answer.error_code == ErrorCode.none
    assert (answer.producer_id != old_id, answer.producer_epoch) == (True, 0)
