"""Transactions of librdkafka's producer: calls are retried where that helps, and errors classified by the way forward.

StateError           not begun, or begun twice
TransactionAborted   it has been aborted; the producer can continue
Fenced               another producer has the transactional id; this one cannot be used any more
TransactionUnknown   the end was not answered in time
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from penstock.sdk.errors import BrokerError, Fenced, SettingsError, StateError, TransactionAborted, TransactionUnknown
from penstock.sdk.librdkafka.errors import cause, translate
from penstock.sdk.sending import Sending

_ATTEMPT_S = 10.0
_AGAIN = "nothing of it took effect; go on with the next one, in which its records come again"


class Transactional:
    def __init__(self, sending: Sending) -> None:
        self._sending = sending
        self._is_initialised = False
        self._patience_s = sending.options["transaction_timeout_ms"] / 1000
        self.is_open = False

    @property
    def is_possible(self) -> bool:
        return self._sending.transactional_id is not None

    def init(self) -> None:
        """Initialise once: a transaction that a predecessor left open is aborted, and the predecessor fenced."""
        if self._is_initialised:
            return
        if not self.is_possible:
            hint = "make it with Producer(…, transactional_id='…')"
            raise SettingsError("this producer has no transactional_id", hint=hint)
        self._sending.check_reached()
        self._repeated("transactional id", self._sending.library.init_transactions)
        self._is_initialised = True

    def check_none_open(self) -> None:
        self._sending.check_open()
        if self.is_open:
            raise StateError("a transaction is open already", hint="end it before the next one begins")

    def begin(self) -> None:
        self.check_none_open()
        self.init()
        self._repeated("begin", lambda _: self._sending.library.begin_transaction())
        self.is_open = True

    def commit(self, offsets: list[TopicPartition], group_metadata: Any = None) -> None:
        """Commit the messages sent and these offsets, all or nothing."""
        library = self._sending.library
        try:
            if offsets:
                self._repeated("offsets", lambda s: library.send_offsets_to_transaction(offsets, group_metadata, s))
            self._repeated("commit", library.commit_transaction)
        except TransactionAborted:
            self.abort()
            raise
        self._ended()

    def abort(self) -> None:
        self._ended()
        self._repeated("abort", self._sending.library.abort_transaction)

    def _ended(self) -> None:
        self.is_open = False
        self._sending.failures.clear()  # a commit fails when any message has, and after an abort failures do not matter

    def _repeated(self, what: str, call: Callable[[float], object]) -> None:
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                call(_ATTEMPT_S)
            except KafkaException as error:
                reason = cause(error)
                if reason.txn_requires_abort():
                    text = f"the transaction was aborted: {reason.str()}"
                    raise TransactionAborted(text, hint=_AGAIN, code=reason.name()) from error
                if not reason.retriable():
                    raise self._final(reason, what) from error
                if time.monotonic() > deadline:
                    raise self._unanswered(reason, what) from error
            else:
                return

    def _final(self, reason: KafkaError, what: str) -> BrokerError | StateError:
        self.is_open = False
        if reason.code() == KafkaError._STATE:
            return StateError(f"{what}: {reason.str()}", hint="one transaction after the other, in one thread")
        found = translate(reason, what)
        if reason.fatal() and not isinstance(found, Fenced):
            return BrokerError(str(found), hint="close this producer and make a new one", code=found.code)
        return found

    def _unanswered(self, reason: KafkaError, what: str) -> BrokerError:
        if what != "commit":
            return translate(reason, what)
        self.is_open = False
        hint = "close this producer; a new one with the same transactional_id finds out how it ended"
        return TransactionUnknown(f"the commit was not answered ({reason.str()})", hint=hint, code=reason.name())
