"""The records of `__transaction_state`: ours come back as they were, others' bad ones are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.broker.coordination.record_primitives import MalformedRecord
from penstock.broker.transactions.records import decode_key, decode_value, encode_key, encode_value
from penstock.broker.transactions.states import TransactionState
from penstock.broker.transactions.transaction import Transaction
from penstock.model.topic_partition import TopicPartition

IDS = st.integers(-1, 2**63 - 1)
TRANSACTIONS = st.builds(
    Transaction,
    transactional_id=st.text(min_size=1, max_size=20),
    producer_id=IDS,
    epoch=st.integers(-1, 32767),
    last_epoch=st.just(-1),  # which is not stored
    previous_producer_id=IDS,
    next_producer_id=IDS,
    timeout_ms=st.integers(1, 900_000),
    state=st.sampled_from([state for state in TransactionState if state is not TransactionState.EMPTY]),
    partitions=st.frozensets(st.builds(TopicPartition, st.sampled_from(["a", "b", "c.d"]), st.integers(0, 99))),
    start_ms=IDS,
    update_ms=IDS,
    version=st.integers(0, 2),
)


@given(TRANSACTIONS)
def test_there_and_back(transaction: Transaction) -> None:
    transactional_id = decode_key(encode_key(transaction.transactional_id))
    assert transactional_id == transaction.transactional_id
    assert decode_value(transactional_id, encode_value(transaction)) == transaction


def test_a_transaction_byte_by_byte() -> None:
    value = bytes.fromhex(
        "0001" "00000000000003e8" "0002" "0000ea60" "01" "02" "0274" "03" "0000000000000001" "00"
        "0000018bcfe56801" "0000018bcfe56800" "02" "00" "08" "00000000000003e8" "02" "02" "0002"
    )  # fmt: skip
    transaction = decode_value("x", value)
    assert transaction.partitions == {TopicPartition("t", 0), TopicPartition("t", 1)}
    assert (transaction.producer_id, transaction.epoch, transaction.version) == (1000, 2, 2)
    assert encode_value(transaction) == value


def test_the_old_version() -> None:
    value = bytes.fromhex("0000000000000000000700000000ea6000ffffffff0000000000000005ffffffffffffffff")
    assert decode_value("x", value) == Transaction(
        transactional_id="x", producer_id=7, epoch=0, timeout_ms=60_000, state=TransactionState.EMPTY, update_ms=5
    )


@given(st.binary(max_size=80))
def test_any_bytes_are_a_transaction_or_malformed(value: bytes) -> None:
    try:
        decode_value("x", value)
    except MalformedRecord:
        pass


@pytest.mark.parametrize("value", ["0002", "0001" + "00" * 14 + "09" + "00" * 18])
def test_what_is_not_known_is_refused(value: str) -> None:
    with pytest.raises(MalformedRecord):
        decode_value("x", bytes.fromhex(value))
