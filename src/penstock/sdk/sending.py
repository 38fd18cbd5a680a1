"""Core of both producers: librdkafka's producer, its delivery reports, serializers and the partitioner.

A producer that was not closed can still be collected, with a warning. Settling (`delivery.Settle`) happens in the
thread of the delivery reports, or in one that flushes.
"""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka import Producer as LibraryProducer

from penstock.sdk.arguments import INT32_MAX, INT64_MAX, checked_number, is_text
from penstock.sdk.delivery import Delivery, Failures, Headers, Outgoing, Settle
from penstock.sdk.errors import ClosedError, SerializationError, StateError
from penstock.sdk.formats import serializer
from penstock.sdk.librdkafka.common_config import client_security, common_config, logger
from penstock.sdk.librdkafka.delivery_reports import DeliveryReports
from penstock.sdk.librdkafka.errors import accepted_settings, cause, translated
from penstock.sdk.librdkafka.first_contact import FirstContact
from penstock.sdk.librdkafka.policy import PolicyTexts
from penstock.sdk.librdkafka.producer_config import producer_config
from penstock.sdk.options import PRODUCER_DEFAULTS, Partitioner, ProducerOptions, checked
from penstock.sdk.partitioning import BY_LIBRARY, PartitionCounts, RoundRobin, checked_partition

_PURGE_S = 1.0
FATAL_ERRORS_MAX = 3


class Sending:
    def __init__(self, bootstrap: str, key: Any, value: Any, given: dict[str, Any]) -> None:
        self.is_closed = True  # until everything below has worked
        self.options: ProducerOptions = checked(ProducerOptions, given, PRODUCER_DEFAULTS)
        self._key = serializer(key, "key_serializer")
        self._value = serializer(value, "value_serializer")
        config = producer_config(bootstrap, self.options, set(given))
        with accepted_settings():
            self.library = LibraryProducer(config, logger=logger)
        self._partitioner: Partitioner | None = _partitioner(self.options)
        self._counts = PartitionCounts(self.library, self.options["request_timeout_ms"] / 1000)
        self.failures = Failures()
        self._policies = PolicyTexts(common_config(bootstrap, self.options))
        contact = FirstContact(self.library, bootstrap, given, client_security(self.options))
        self._reports = DeliveryReports(self.library, contact)
        self.is_closed = False

    def __del__(self) -> None:
        if not self.is_closed:
            self._reports.stop()
            text = "a producer was not closed, and its undelivered messages are lost: use `with`, or close()"
            warnings.warn(text, ResourceWarning, stacklevel=2)

    @property
    def transactional_id(self) -> str | None:
        return self.options.get("transactional_id")

    def check_open(self) -> None:
        if self.is_closed:
            raise ClosedError("this producer is closed", hint="make a new one")

    # --- messages ----------------------------------------------------------------------------------------------------

    def needs_count(self, topic: str, partition: int | None) -> bool:
        """Whether a request to the broker is needed before a message can be built."""
        return partition is None and self._partitioner is not None and self._counts.known(topic) is None

    def ask_count(self, topic: str) -> None:
        self.check_reached()
        self._counts.ask(topic)

    def check_reached(self) -> None:
        """Ask for the first answer of a broker if there was none; Unreachable if none comes."""
        self._reports.check_reached()

    def outgoing(
        self, topic: str, value: Any, key: Any, headers: Headers | None, partition: int | None, timestamp_ms: int | None
    ) -> Outgoing:
        name: Any = topic
        if not name or not is_text(name):
            raise SerializationError(f"{topic!r} is not a topic", hint="give its name", topic=str(topic), part="topic")
        if partition is not None:
            checked_number(partition, "partition", 0, INT32_MAX)
        if timestamp_ms is not None:  # 0 would be "now"
            checked_number(timestamp_ms, "timestamp_ms", 1, INT64_MAX)
        key_bytes = _encoded(self._key, key, topic, "key")
        value_bytes = _encoded(self._value, value, topic, "value")
        if partition is None:
            partition = self._chosen(topic, key_bytes)
        return Outgoing(
            topic=topic,
            partition=partition,
            key=key_bytes,
            value=value_bytes,
            headers=None if headers is None else _encoded_headers(headers, topic),
            timestamp_ms=timestamp_ms or 0,
        )

    def _chosen(self, topic: str, key: bytes | None) -> int:
        if self._partitioner is None:
            return BY_LIBRARY
        count = self._counts.known(topic)
        if not count:
            self.check_reached()
            count = self._counts.ask(topic)
        return checked_partition(self._partitioner, topic, key, count)

    def offer(self, message: Outgoing, settle: Settle) -> bool:
        """Queue a message; False if the queue is full."""
        self.check_open()
        try:
            self.library.produce(
                message.topic,
                message.value,
                message.key,
                message.partition,
                on_delivery=partial(_settle, settle, self._reports, self._policies),
                timestamp=message.timestamp_ms,
                headers=message.headers,  # type: ignore[arg-type]  # the stubs forget null
            )
        except BufferError:
            return False
        except KafkaException as error:
            reason = cause(error)
            if reason.code() == KafkaError._STATE and self.transactional_id:
                hint = "send within `with producer.transaction():`"
                raise StateError("no transaction is open", hint=hint) from error
            raise self._reports.translated(reason, f"message to {message.topic}") from error
        return True

    # --- the end -----------------------------------------------------------------------------------------------------

    def flush(self, timeout_s: float | None) -> int:
        """Number of messages that are left."""
        for _ in range(FATAL_ERRORS_MAX):
            try:
                return self.library.flush(-1 if timeout_s is None else timeout_s)
            except KafkaException as error:  # a fatal error, raised in passing: the futures have their own
                self._reports.ended(error)
        return len(self.library)

    def wait_for_room(self, timeout_s: float) -> None:
        with translated("queue"):
            self.library.poll(timeout_s)

    def close(self, timeout_s: float | None) -> int:
        """Deliver queued messages, then end. Returns the number of messages given up."""
        self.is_closed = True
        left = self.flush(timeout_s)
        if left:
            self.library.purge()
            self.flush(_PURGE_S)  # their futures get the error
        self._reports.close()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of a transaction that is lost: its end has reported it
            with contextlib.suppress(KafkaException):  # a fatal error, raised in passing
                self.library.close()
        return left


def _settle(
    settle: Settle, reports: DeliveryReports, policies: PolicyTexts, error: KafkaError | None, message: Message
) -> None:
    topic, partition = message.topic() or "", message.partition()
    if error is not None:
        settle(reports.explained(error, topic, policies.of(error, topic)))
        return
    reports.is_reached = True
    stored_ms = message.timestamp()[1]
    settle(
        Delivery(
            topic=topic,
            partition=-1 if partition is None else partition,
            offset=message.offset(),
            timestamp_ms=stored_ms if stored_ms > 0 else round(time.time() * 1000),
        )
    )


def _partitioner(options: ProducerOptions) -> Partitioner | None:
    chosen = options["partitioner"]
    if chosen == "round-robin":
        return RoundRobin()
    return None if isinstance(chosen, str) else chosen


def _encoded(serialize: Callable[[Any], bytes], value: Any, topic: str, part: str) -> bytes | None:
    if value is None:
        return None
    try:
        data: Any = serialize(value)
    except Exception as error:  # a serializer may raise anything
        hint = f"correct the {part}, or choose another {part}_serializer"
        message = f"the {part} cannot be serialized for topic {topic} ({error})"
        raise SerializationError(message, hint=hint, topic=topic, part=part) from error
    if not isinstance(data, bytes):
        hint = "a serializer returns bytes"
        message = f"the {part}_serializer returned {type(data).__name__}"
        raise SerializationError(message, hint=hint, topic=topic, part=part)
    return data


def _encoded_headers(headers: Headers, topic: str) -> list[tuple[str, bytes | None]]:
    given: Any = headers.items() if isinstance(headers, Mapping) else headers
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _wrong_headers(f"headers={headers!r}", topic)
    return [_encoded_header(pair, topic) for pair in given]


def _encoded_header(pair: Any, topic: str) -> tuple[str, bytes | None]:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise _wrong_headers(f"header {pair!r}", topic)
    name, value = pair
    if not is_text(name) or not (value is None or isinstance(value, (str, bytes))):
        raise _wrong_headers(f"header {name!r}={value!r}", topic)
    try:
        return name, value.encode() if isinstance(value, str) else value
    except UnicodeEncodeError:
        raise _wrong_headers(f"header {name!r}={value!r}", topic) from None


def _wrong_headers(what: str, topic: str) -> SerializationError:
    hint = "headers are names with strings, bytes or None; names and strings as UTF-8 has them"
    return SerializationError(what, hint=hint, topic=topic, part="header")
