"""ListTransactions (key 66, v0–2): transactional ids, filtered by state, producer id, duration and name.

Behaviour:
- Encoded by hand and in turns with other requests, since a node may have very many ids.
- A caller that asks for producers and gets none may take their transactions for lost and end them by hand. Such an
  answer is therefore given only if every shard of the coordinator could be asked, and COORDINATOR_NOT_AVAILABLE
  otherwise.

    throttle int32, error int16, [unknown state string], [id string, producer id int64, state string]        flexible

Differs from Kafka:
- Patterns are RE2's regular expressions, not Java's.

Version notes:
- v1 filters by duration, v2 by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.broker.answers.array_answer import array_answer
from penstock.broker.broker import Broker
from penstock.broker.request import Request
from penstock.broker.transactions.name_pattern import NamePattern
from penstock.broker.transactions.states import TransactionState
from penstock.broker.transactions.transaction import Transaction
from penstock.model.errors import ErrorCode, KafkaError
from penstock.protocol.kafka.primitives import INT16, INT64, write_count, write_string
from penstock.protocol.kafka.versioned import field
from penstock.runtime.turns import Turns
from penstock.security.resources import Operation

if TYPE_CHECKING:
    from penstock.protocol.kafka.replies.list_transactions import ListTransactionsBuilders
    from penstock.protocol.kafka.requests.list_transactions import ListTransactionsRequest

    ListTransactions = Request[ListTransactionsRequest, ListTransactionsBuilders]

NAMES = {state: state.shown_name for state in TransactionState}
_ENCODED_NAMES = {state: write_string(name, True) + b"\0" for state, name in NAMES.items()}


async def handle(broker: Broker, request: ListTransactions) -> bytes:
    body = request.body
    if broker.transactions.is_loading:
        return _answer(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    text = field(body, "transactional_id_pattern")
    try:
        pattern = NamePattern(text) if text else None
    except KafkaError as error:
        return _answer(request, error.code)
    everything = list(broker.transactions.all_transactions())
    producers = {value.producer_id for value in everything}
    if not broker.transactions.knows_all and not producers.issuperset(body.producer_id_filters):
        return _answer(request, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    is_wanted, may_see = _Filter(broker, request), broker.access.shows_transactional_id
    known = set(NAMES.values())
    unknown = [name for name in body.state_filters if name not in known]
    turns = Turns()
    found = []
    for value in everything:
        if not may_see(request.session, Operation.DESCRIBE, value.transactional_id):
            continue
        if is_wanted(value) and (pattern is None or await pattern.matches(value.transactional_id)):
            found.append(_encode(value))
        await turns.pause()
    return _answer(request, ErrorCode.NONE, unknown, found)


class _Filter:
    """The filters of a request, except that by name."""

    def __init__(self, broker: Broker, request: ListTransactions) -> None:
        self._states = set(request.body.state_filters)
        self._producer_ids = set(request.body.producer_id_filters)
        self._duration_ms = field(request.body, "duration_filter", -1)
        self._now_ms = broker.clock.now_ms()

    def __call__(self, value: Transaction) -> bool:
        if self._states and NAMES[value.state] not in self._states:
            return False
        if self._producer_ids and value.producer_id not in self._producer_ids:
            return False
        # as in Kafka, counted from the begin of the last transaction, whether or not that is over
        return bool(self._duration_ms < 0 or self._now_ms - value.start_ms > self._duration_ms)


def _encode(value: Transaction) -> bytes:
    return write_string(value.transactional_id, True) + INT64.pack(value.producer_id) + _ENCODED_NAMES[value.state]


def _answer(
    request: ListTransactions,
    code: ErrorCode,
    unknown: list[str] | None = None,
    found: list[bytes] | None = None,
) -> bytes:
    names = unknown or []
    before = INT16.pack(code) + write_count(len(names), True) + b"".join(write_string(name, True) for name in names)
    return array_answer(request, found or [], before=before)
