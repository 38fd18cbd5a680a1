"""The filter of aborted transactions: what readers of committed records leave out."""

from __future__ import annotations

import pytest

from penstock.client.fetches import Aborted
from penstock.model.aborted_filter import AbortedFilter, has_transactions
from penstock.model.batch import read_header
from penstock.model.batch_builder import NewRecord, build_batch
from penstock.model.control_record import Marker, build_marker

pytestmark = pytest.mark.feature("P-09")


def data(base_offset: int, producer_id: int, *, transactional: bool = True) -> bytearray:
    return build_batch(
        [NewRecord(None, b"v"), NewRecord(None, b"w")],
        timestamp=1,
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        transactional=transactional,
    )


def marker(offset: int, producer_id: int, *, commit: bool) -> bytearray:
    batch = build_marker(Marker(producer_id, 0, 0, commit), 1)
    batch[:8] = offset.to_bytes(8, "big")
    return batch


def left_out(aborted: list[Aborted], *batches: bytearray) -> list[bool]:
    one = AbortedFilter(aborted)
    return [one.leaves_out(read_header(batch)) for batch in batches]


def test_a_producers_batches_are_left_out_from_the_first_offset_to_its_marker() -> None:
    batches = (
        data(0, 7),
        data(2, 8),
        data(4, 7, transactional=False),
        marker(6, 8, commit=True),
        data(7, 7),
        marker(9, 7, commit=False),
        data(10, 7),
        marker(12, 7, commit=True),
    )
    assert left_out([Aborted(7, 0)], *batches) == [True, False, False, True, True, True, False, True]


def test_a_transaction_before_the_aborted_one_counts() -> None:
    batches = (data(0, 7), marker(2, 7, commit=True), data(3, 7), marker(5, 7, commit=False), data(6, 7))
    assert left_out([Aborted(7, 3)], *batches) == [False, True, True, True, False]


def test_a_reader_that_begins_within_an_aborted_transaction_leaves_out_its_rest() -> None:
    assert left_out([Aborted(7, 0)], data(50, 7), marker(52, 7, commit=False), data(53, 7)) == [True, True, False]


def test_several_aborted_transactions_of_one_producer_in_any_order() -> None:
    batches = (
        data(0, 7),
        marker(2, 7, commit=False),
        data(3, 7),
        marker(5, 7, commit=True),
        data(6, 7),
        marker(8, 7, commit=False),
    )
    assert left_out([Aborted(7, 6), Aborted(7, 0)], *batches) == [True, True, False, True, True, True]


def test_a_log_without_transactions_needs_no_filter() -> None:
    plain = data(0, 7, transactional=False)
    assert not has_transactions(bytes(plain))
    assert has_transactions(bytes(plain + data(2, 7)))
    assert has_transactions(bytes(plain + marker(2, 7, commit=True)))
