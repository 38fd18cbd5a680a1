"""The state table of transactional ids: each rule, and random orders of events with time as an argument."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.broker.transactions.records import decode_value, encode_value
from penstock.broker.transactions.states import AT_REST, PREPARED, STEPS, TransactionState, is_step
from penstock.broker.transactions.transaction import EPOCH_MAX, NO_PRODUCER_ID, ProducerIdentity, Transaction
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition

FIRST, SECOND = 1, 2  # protocol generations
A, B = TopicPartition("t", 0), TopicPartition("t", 1)
S = TransactionState


def new() -> Transaction:
    return Transaction(transactional_id="x", producer_id=7)


def ready(epoch: int = 0, state: TransactionState = S.EMPTY) -> Transaction:
    return new()._replace(epoch=epoch, timeout_ms=1000, state=state, update_ms=0)


def ongoing(epoch: int = 0, version: int = SECOND) -> Transaction:
    return ready(epoch).with_partitions(ProducerIdentity(7, epoch), [A], 10, version)


def code_of(call: object) -> ErrorCode:
    assert callable(call)
    with pytest.raises(KafkaError) as caught:
        call()
    return caught.value.code


def end(value: Transaction, epoch: int, version: int, *, commit: bool, producer_id: int = 7) -> Transaction:
    return value.ended(
        ProducerIdentity(producer_id, epoch), commit=commit, now_ms=20, version=version, new_producer_id=9
    )


@pytest.mark.feature("K-07")
def test_a_new_id_begins_with_epoch_0_and_rises() -> None:
    first = new().initialised(1000, None, 5)
    assert (first.producer_id, first.epoch, first.last_epoch, first.state) == (7, 0, -1, S.EMPTY)
    assert first.initialised(1000, None, 6).epoch == 1


def test_a_producer_that_goes_on_after_an_error_offers_what_it_was() -> None:
    value = ready(epoch=3)
    bumped = value.initialised(1000, ProducerIdentity(7, 3), 5)
    assert (bumped.epoch, bumped.last_epoch) == (4, 3)
    again = bumped.initialised(1000, ProducerIdentity(7, 3), 6)
    assert (again.epoch, again.last_epoch) == (4, 3)  # its answer was lost
    assert code_of(lambda: bumped.initialised(1000, ProducerIdentity(7, 2), 6)) is ErrorCode.PRODUCER_FENCED
    assert code_of(lambda: bumped.initialised(1000, ProducerIdentity(8, 4), 6)) is ErrorCode.PRODUCER_FENCED


def test_epochs_run_out_and_a_new_producer_id_goes_on() -> None:
    value = ready(epoch=EPOCH_MAX - 1)
    assert value.needs_new_id(None)
    rotated = value.initialised(1000, ProducerIdentity(7, EPOCH_MAX - 1), 5, new_producer_id=9)
    assert (rotated.producer_id, rotated.epoch, rotated.previous_producer_id) == (9, 0, 7)
    retried = rotated.initialised(1000, ProducerIdentity(7, EPOCH_MAX - 1), 6)
    assert (retried.producer_id, retried.epoch) == (9, 0)
    ended = end(ongoing(EPOCH_MAX - 1), EPOCH_MAX - 1, SECOND, commit=True)
    assert (ended.producer_id, ended.epoch, ended.next_producer_id) == (7, EPOCH_MAX, 9)
    complete = ended.completed(30)
    assert (complete.producer_id, complete.epoch, complete.previous_producer_id) == (9, 0, 7)
    assert end(complete, EPOCH_MAX - 1, SECOND, commit=True) is complete


def test_an_ongoing_transaction_is_fenced_by_a_new_producer() -> None:
    fenced = ongoing(epoch=2).initialised(1000, None, 5)
    assert (fenced.state, fenced.epoch) == (S.PREPARE_EPOCH_FENCE, 3)
    assert fenced.prepared(commit=False, now_ms=6, version=FIRST).state is S.PREPARE_ABORT


@pytest.mark.parametrize("version", [FIRST, SECOND])
def test_the_producer_of_a_transaction_that_was_aborted_for_it_may_go_on(version: int) -> None:
    aborted = ongoing(epoch=2).fenced().prepared(commit=False, now_ms=6, version=version).completed(7)
    given = aborted.initialised(1000, ProducerIdentity(7, 2), 8)
    assert (given.producer_id, given.epoch) == (7, 3)
    other = aborted.initialised(1000, None, 8)
    assert other.epoch == 4
    assert code_of(lambda: other.initialised(1000, ProducerIdentity(7, 2), 9)) is ErrorCode.PRODUCER_FENCED


def test_no_client_is_given_the_last_epoch() -> None:
    last = ProducerIdentity(7, EPOCH_MAX - 1)
    aborted = ongoing(last.epoch).fenced().prepared(commit=False, now_ms=6, version=FIRST).completed(7)
    assert aborted.epoch == EPOCH_MAX
    assert aborted.needs_new_id(last)
    given = aborted.initialised(1000, last, 8, new_producer_id=9)
    assert (given.producer_id, given.epoch) == (9, 0)
    again = given.initialised(1000, last, 9)
    assert (again.producer_id, again.epoch) == (9, 0)  # its answer was lost


@pytest.mark.parametrize("state", sorted(PREPARED))
def test_while_markers_are_written_everybody_waits(state: TransactionState) -> None:
    value = ready(state=state)
    assert code_of(lambda: value.initialised(1000, None, 5)) is ErrorCode.CONCURRENT_TRANSACTIONS
    sender = ProducerIdentity(7, 0)
    assert code_of(lambda: value.with_partitions(sender, [A], 5, FIRST)) is ErrorCode.CONCURRENT_TRANSACTIONS
    for generation, commit in itertools.product((FIRST, SECOND), (True, False)):
        code = code_of(lambda generation=generation, commit=commit: end(value, 0, generation, commit=commit))
        assert code is ErrorCode.CONCURRENT_TRANSACTIONS


def test_partitions_are_added_once_and_the_clock_starts_with_the_first() -> None:
    value = ongoing()
    assert (value.state, value.start_ms, value.partitions) == (S.ONGOING, 10, frozenset([A]))
    sender = ProducerIdentity(7, 0)
    assert value.with_partitions(sender, [A], 11, SECOND) is value
    both = value.with_partitions(sender, [A, B], 12, SECOND)
    assert (both.start_ms, both.update_ms, both.partitions) == (10, 12, frozenset([A, B]))
    assert not both.is_overdue(1010)
    assert both.is_overdue(1011)


@pytest.mark.parametrize(
    ("sender", "code"),
    [
        (ProducerIdentity(8, 0), ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (ProducerIdentity(7, 1), ErrorCode.PRODUCER_FENCED),
        (ProducerIdentity(7, -1), ErrorCode.PRODUCER_FENCED),
    ],
)
def test_strangers_are_refused(sender: ProducerIdentity, code: ErrorCode) -> None:
    assert code_of(lambda: ongoing().with_partitions(sender, [B], 5, FIRST)) is code
    assert code_of(lambda: end(ongoing(), sender.epoch, FIRST, commit=True, producer_id=sender.producer_id)) is code


@pytest.mark.parametrize("commit", [True, False])
def test_the_first_generation_keeps_its_epoch(commit: bool) -> None:
    prepared = end(ongoing(version=FIRST), 0, FIRST, commit=commit)
    assert (prepared.epoch, prepared.partitions) == (0, frozenset([A]))
    complete = prepared.completed(30)
    assert (complete.epoch, complete.partitions) == (0, frozenset())
    assert end(complete, 0, FIRST, commit=commit) is complete
    assert code_of(lambda: end(complete, 0, FIRST, commit=not commit)) is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("commit", [True, False])
def test_the_second_generation_gets_a_new_epoch_with_every_end(commit: bool) -> None:
    prepared = end(ongoing(), 0, SECOND, commit=commit)
    assert (prepared.epoch, prepared.last_epoch) == (1, 0)
    complete = prepared.completed(30)
    assert end(complete, 0, SECOND, commit=commit) is complete
    assert code_of(lambda: end(complete, 0, SECOND, commit=not commit)) is ErrorCode.INVALID_TXN_STATE
    # The next transaction cannot be touched by what was sent for this one.
    following = complete.with_partitions(ProducerIdentity(7, 1), [B], 40, SECOND)
    assert code_of(lambda: end(following, 0, SECOND, commit=commit)) is ErrorCode.PRODUCER_FENCED


def test_the_end_of_nothing() -> None:
    for state in sorted(AT_REST):
        value = ready(epoch=4, state=state)
        aborted = end(value, 4, SECOND, commit=False)
        assert (aborted.state, aborted.epoch, aborted.start_ms) == (S.PREPARE_ABORT, 5, 20)
        assert code_of(lambda value=value: end(value, 4, SECOND, commit=True)) is ErrorCode.INVALID_TXN_STATE
    for commit in (True, False):
        assert code_of(lambda commit=commit: end(ready(), 0, FIRST, commit=commit)) is ErrorCode.INVALID_TXN_STATE


def test_every_state_can_be_reached_and_only_death_is_final() -> None:
    reached = {after for steps in STEPS.values() for after in steps}
    assert reached == set(S)
    assert [state for state in S if not STEPS[state]] == [S.DEAD]


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["init", "offer", "add", "commit", "abort", "complete", "timeout", "restart"]),
        st.integers(-1, 1),  # how far the sender's epoch is off
        st.sampled_from([FIRST, SECOND]),
        st.integers(0, 50),
    ),
    max_size=40,
)


@settings(max_examples=800, deadline=None)
@given(EVENTS, st.sampled_from([-1, 0, *range(EPOCH_MAX - 6, EPOCH_MAX)]))
def test_random_orders_of_events(events: list[tuple[str, int, int, int]], epoch: int) -> None:
    value, now, decided = new()._replace(epoch=epoch, timeout_ms=100), 0, None
    for kind, off, version, span in events:
        now += span
        if kind == "restart":
            value = decode_value("x", encode_value(value))
            continue
        try:
            after = _apply(value, kind, off, version, now)
        except KafkaError:
            continue
        told = _told(kind, version, after)
        assert told is None or told.epoch < EPOCH_MAX  # which no client ever sees
        if after is value:
            continue
        assert decode_value("x", encode_value(after)).epoch == after.epoch  # it can be stored
        is_fenced = value.state is S.ONGOING and after.state is S.PREPARE_ABORT
        assert is_step(value.state, after.state) or is_fenced
        assert after.epoch >= value.epoch or after.producer_id != value.producer_id
        if value.state in PREPARED:  # a decision is final
            assert after.state is decided
            assert kind == "complete"
        if after.state in PREPARED:
            decided = S.COMPLETE_COMMIT if after.state is S.PREPARE_COMMIT else S.COMPLETE_ABORT
            assert after.partitions == value.partitions
            _check_whose_batches(value, after)
        if off and kind in ("add", "commit", "abort") and version == FIRST:
            raise AssertionError("a sender with a wrong epoch got through")
        value = after


def _check_whose_batches(before: Transaction, prepared: Transaction) -> None:
    """A marker that is written again after a restart ends what was sent for its transaction, and nothing else."""
    if prepared.version < SECOND:
        return
    stored = decode_value("x", encode_value(prepared))
    following = prepared.completed(0).identity
    for value in (prepared, stored):
        assert value.has_batches_of(before.epoch) or before.state is not S.ONGOING
        assert following.producer_id != value.producer_id or not value.has_batches_of(following.epoch)


def _told(kind: str, version: int, after: Transaction) -> ProducerIdentity | None:
    """The identity that the client learns."""
    if kind in ("init", "offer"):
        return after.identity if after.state is S.EMPTY else None
    if kind in ("commit", "abort") and version == SECOND:
        return after.completed(0).identity if after.state in PREPARED else after.identity
    return None


def _apply(value: Transaction, kind: str, off: int, version: int, now: int) -> Transaction:
    sender = ProducerIdentity(value.producer_id, value.epoch + off)
    new_id = value.producer_id + 1
    if kind in ("init", "offer"):
        after = value.initialised(100, None if kind == "init" else sender, now, new_producer_id=new_id)
        return after if after.state is S.EMPTY else _aborted(value, now)
    if value.epoch < 0:
        return value
    if kind == "add":
        return value.with_partitions(sender, [TopicPartition("t", now % 3)], now, version)
    if kind in ("commit", "abort"):
        return value.ended(sender, commit=kind == "commit", now_ms=now, version=version, new_producer_id=new_id)
    if kind == "complete":
        return value.completed(now) if value.state in PREPARED else value
    return _aborted(value, now) if value.is_overdue(now) else value


def _aborted(value: Transaction, now: int) -> Transaction:
    """As the coordinator does it for a client that is late, or that another one follows."""
    new_id = value.producer_id + 1 if value.version == SECOND and value.is_exhausted else NO_PRODUCER_ID
    return value.fenced().prepared(commit=False, now_ms=now, version=value.version, new_producer_id=new_id)
