"""ListTransactions v0-2: transactional ids, by state, producer id, how long they have been open (v1), name (v2).

Who asks for producers and hears of none may take their transactions for lost and end them by hand. So that answer is
given only if every part of the coordinator could be asked, and COORDINATOR_NOT_AVAILABLE otherwise.
"""

from __future__ import annotations

from collections.abc import Callable

import re2

from penstock.broker.broker import Broker
from penstock.broker.call import Call
from penstock.broker.transactions.states import TransactionState
from penstock.broker.transactions.transaction import Transaction
from penstock.model.errors import ErrorCode
from penstock.protocol.kafka.messages import Entity, field

NAMES = {state.shown_name for state in TransactionState}
PATTERN_BYTES_MAX = 1024


def handle(broker: Broker, call: Call) -> Entity:
    request = call.request
    if broker.transactions.is_loading:
        return _answer(call, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [], [])
    pattern = field(request, "transactional_id_pattern")
    try:
        is_wanted_name = _name_filter(pattern)
    except re2.error:
        return _answer(call, ErrorCode.INVALID_REGULAR_EXPRESSION, [], [])
    states, producer_ids = set(request.state_filters), set(request.producer_id_filters)
    if not broker.transactions.knows_all and producer_ids.difference(_known_producers(broker)):
        return _answer(call, ErrorCode.COORDINATOR_NOT_AVAILABLE, [], [])
    duration_ms = field(request, "duration_filter", -1)
    now_ms = broker.clock.now_ms()
    found = [
        value
        for value in broker.transactions.all_transactions()
        if (not states or value.state.shown_name in states)
        and (not producer_ids or value.producer_id in producer_ids)
        and (duration_ms < 0 or _is_open_for(value, duration_ms, now_ms))
        and is_wanted_name(value.transactional_id)
    ]
    return _answer(call, ErrorCode.NONE, [name for name in request.state_filters if name not in NAMES], found)


def _known_producers(broker: Broker) -> set[int]:
    return {value.producer_id for value in broker.transactions.all_transactions()}


def _is_open_for(value: Transaction, duration_ms: int, now_ms: int) -> bool:
    """As in Kafka, counted from the begin of the last transaction, whether or not that is over."""
    return now_ms - value.start_ms > duration_ms


def _name_filter(pattern: str | None) -> Callable[[str], object]:
    if not pattern:
        return lambda _: True
    if len(pattern) > PATTERN_BYTES_MAX:
        raise re2.error("too long")
    compiled = re2.compile(pattern)
    return lambda name: compiled.fullmatch(name)


def _answer(call: Call, code: ErrorCode, unknown: list[str], found: list[Transaction]) -> Entity:
    states = [
        call.reply.TransactionState(
            transactional_id=value.transactional_id,
            producer_id=value.producer_id,
            transaction_state=value.state.shown_name,
        )
        for value in found
    ]
    return call.reply.ListTransactionsResponse(
        throttle_time=0, error_code=code, unknown_state_filters=unknown, transaction_states=states
    )
