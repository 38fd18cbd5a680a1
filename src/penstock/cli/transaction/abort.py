"""Abort of an open transaction by hand: of exactly the one that was shown, or of none."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import note
from penstock.cli.transaction.hanging import coordinated, is_open_as_before
from penstock.cli.transaction.requests import (
    OpenProducer,
    Place,
    abort_by_marker,
    check,
    describe,
    end_by_abort,
    open_for_ms,
    open_producers,
    places,
)

if TYPE_CHECKING:
    from penstock.cli.kafka.kafka_connection import KafkaConnection
    from penstock.protocol.kafka.describe_transactions import DescribedTransaction

ABORT_SECONDS_MAX = 30.0
_MOVED_ON = (47, 48, 49, 51, 90)  # another epoch, another state, another producer id, an end that is under way


def abort_by_id(connection: KafkaConnection, transactional_id: str, yes: bool) -> str:
    """Abort the open transaction of an id, unless it ends, and another begins, while the user decides."""
    found = describe(connection, transactional_id)
    if found.state != "Ongoing":
        raise CommandError(f"{transactional_id} has no open transaction: its state is {found.state}")
    what = f"the transaction of {transactional_id}"
    producer = f"producer {found.producer_id}, epoch {found.producer_epoch}"
    _ask(
        f"Abort {what} ({producer}), open for {open_for_ms(found)} ms in {places(found)}? Its producer will be fenced.",
        yes,
    )
    now = describe(connection, transactional_id)
    if _identity(now) != _identity(found):
        raise _moved_on(now)
    code = end_by_abort(connection, found)
    if code in _MOVED_ON:
        raise _moved_on(describe(connection, transactional_id))
    check(code, transactional_id)
    _wait_for_markers(connection, transactional_id)
    return what


def _identity(found: DescribedTransaction) -> tuple[str, int, int, int]:
    return found.state, found.producer_id, found.producer_epoch, found.start_ms


def _moved_on(now: DescribedTransaction) -> CommandError:
    producer = f"producer {now.producer_id}, epoch {now.producer_epoch}"
    message = (
        f"nothing was aborted: that transaction is over, and {now.transactional_id} is {now.state} now ({producer})"
    )
    return CommandError(message, hint=f"check with `penstock transaction describe {now.transactional_id}`")


def _wait_for_markers(connection: KafkaConnection, transactional_id: str) -> None:
    deadline = time.monotonic() + ABORT_SECONDS_MAX
    while describe(connection, transactional_id).state == "PrepareAbort":
        if time.monotonic() > deadline:
            raise CommandError(f"{transactional_id} is being aborted, but not every partition has its marker yet")
        time.sleep(0.05)


def abort_in_partition(connection: KafkaConnection, place: Place, producer_id: int, *, force: bool, yes: bool) -> str:
    """Abort in one partition, past the coordinator.

    This is allowed only if no coordinator knows the transaction: to abort half of one is worse than to leave it open.
    """
    producer = _open_producer(connection, place, producer_id)
    _check_uncoordinated(connection, producer, force)
    what = f"the transaction of producer {producer_id} in {place}"
    _ask(f"Abort {what}, open from offset {producer.start_offset} on?", yes)
    if not is_open_as_before(connection, producer):
        raise CommandError(f"nothing was aborted: {what} is over")
    if not yes:
        _check_uncoordinated(connection, producer, force)
    abort_by_marker(connection, producer)
    return what


def _open_producer(connection: KafkaConnection, place: Place, producer_id: int) -> OpenProducer:
    for producer in open_producers(connection, {place.topic: [place.partition]}):
        if producer.producer_id == producer_id:
            return producer
    raise CommandError(f"producer {producer_id} has no open transaction in {place}", ExitCode.NOT_FOUND)


def _check_uncoordinated(connection: KafkaConnection, producer: OpenProducer, force: bool) -> None:
    try:
        known = coordinated(connection, producer)
        if known is None:
            return
        problem = f"{producer.place} belongs to the open transaction of {known.transactional_id}"
        hint = (
            f"`penstock transaction abort {known.transactional_id}` ends all of it"
            if known.state == "Ongoing"
            else f"it is being ended ({known.state})"
        )
    except CommandError as error:
        if error.code is ExitCode.UNREACHABLE:
            raise
        problem = f"coordinators cannot tell whether they know this transaction ({error})"
        hint = "restart the broker, which aborts transactions without a coordinator"
    if not force:
        raise CommandError(problem, hint=hint)
    note(f"warning: {problem}; --force may lose this part while the rest is committed")


def _ask(question: str, yes: bool) -> None:
    if not yes and not typer.confirm(question, err=True):
        raise CommandError("nothing was aborted")
