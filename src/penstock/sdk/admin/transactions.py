"""Transactions. librdkafka cannot list or describe them, so those two go over `penstock.client`.

Ending one is librdkafka's: a new producer of the same transactional id aborts the open transaction and fences the old
one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from penstock.client.address import Address, parse_addresses
from penstock.client.cluster import TRANSACTION, Cluster
from penstock.client.connection import BrokerUnavailable
from penstock.client.entities import build
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.topic_partition import TopicPartition
from penstock.protocol.kafka.apis import DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS
from penstock.protocol.kafka.describe_transactions import decode
from penstock.protocol.kafka.messages import encode, request_schema
from penstock.sdk.admin.link import Link
from penstock.sdk.admin.values import TransactionInfo, TransactionListing
from penstock.sdk.arguments import checked_name
from penstock.sdk.errors import BrokerError, NotFound, SettingsError, StateError, Unreachable
from penstock.sdk.librdkafka.common_config import client_security
from penstock.sdk.sending import Sending
from penstock.sdk.transactional import Transactional

if TYPE_CHECKING:
    from penstock.protocol.kafka.requests.describe_transactions import DescribeTransactionsRequestValues

_BODY_START = 5  # correlation id, and no tagged fields
_OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort")
_STATES = ("Empty", *_OPEN, "CompleteCommit", "CompleteAbort", "PrepareEpochFence", "Dead")


def listed(link: Link, states: Sequence[str]) -> list[TransactionListing]:
    for state in states:
        if state not in _STATES:
            raise SettingsError(f"states: {state!r}", hint=f"there are {', '.join(_STATES)}")
    brokers = [Address(each.host, each.port) for each in link.metadata().brokers.values()]
    found = []
    with _cluster(link) as cluster:
        for broker in brokers:  # each broker knows those that it coordinates
            answer = cluster.connection(broker).call(LIST_TRANSACTIONS, 0, state_filters=tuple(states))
            _check(answer.error_code, "transactions")
            found += [
                TransactionListing(
                    transactional_id=each.transactional_id, producer_id=each.producer_id, state=each.transaction_state
                )
                for each in answer.transaction_states
            ]
    return sorted(found, key=lambda each: each.transactional_id)


def describe(link: Link, transactional_id: str) -> TransactionInfo:
    link.check_open()
    if not transactional_id:
        raise SettingsError("a transactional id cannot be empty", hint="`Admin.list_transactions` shows all of them")
    checked_name(transactional_id, "transactional_id")
    schema = request_schema(DESCRIBE_TRANSACTIONS, 0)
    values: DescribeTransactionsRequestValues = {"transactional_ids": (transactional_id,)}
    body = encode(build(schema, values))
    with _cluster(link) as cluster:
        coordinator = cluster.patiently(lambda: cluster.coordinator(TRANSACTION, transactional_id))
        answer = coordinator.send(DESCRIBE_TRANSACTIONS, 0, body, flexible=True).answer()
    (found,) = decode(answer, _BODY_START)
    _check(found.error, transactional_id)
    return TransactionInfo(
        transactional_id=found.transactional_id,
        state=found.state,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        timeout_ms=found.timeout_ms,
        started_ms=found.start_ms if found.start_ms >= 0 and found.state in _OPEN else None,
        partitions=tuple(TopicPartition(topic, index) for topic, indexes in found.topics for index in indexes),
    )


def abort(link: Link, transactional_id: str) -> None:
    found = describe(link, transactional_id)
    if found.state not in _OPEN:
        raise StateError(f"{transactional_id} has no open transaction", hint=f"it is {found.state}")
    given = {**link.options, "transactional_id": transactional_id, "transaction_timeout_ms": found.timeout_ms}
    sending = Sending(link.bootstrap, "bytes", "bytes", given)
    try:
        Transactional(sending).init()
    finally:
        sending.close(0)


@contextlib.contextmanager
def _cluster(link: Link) -> Iterator[Cluster]:
    addresses = parse_addresses(link.bootstrap)
    security = client_security(link.options)
    if security is None:
        hint = "use PLAIN or SCRAM for the login, and PEM for certificates"
        raise SettingsError(
            "config: only librdkafka knows these properties, and it does not list transactions", hint=hint
        )
    client_id = link.options["client_id"]
    with Cluster(addresses, client_id=client_id, timeout_s=link.timeout_s, security=security) as cluster:
        try:
            yield cluster
        except BrokerUnavailable as error:
            raise Unreachable(str(error), hint="check that a Kafka broker runs there") from error
        except KafkaError as error:
            _check(error.code, str(error))


def _check(code: int, what: str) -> None:
    if code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        hint = "`Admin.list_transactions` shows all of them"
        raise NotFound(f"no transactional id {what}", hint=hint, code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND.name)
    if code:
        raise BrokerError(f"{what}: {ErrorCode(code).name}", code=ErrorCode(code).name)
