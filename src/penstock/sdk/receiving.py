"""Core of both consumers: librdkafka's consumer, and a buffer of messages taken from it and not yet given out.

    fill ──▶ buffer ──take──▶ handed out ──finish──▶ done (stored, to be committed)

A rebalance happens within `fill` and nowhere else. Buffered messages of a revoked partition are dropped: its next
owner reads them again. Deserializing happens when a message is taken, so one that fails is at its place in the order.

Not for several threads at once, except for `is_stopped`.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Generic

from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as LibraryPlace

from penstock.model.topic_partition import TopicPartition
from penstock.sdk.errors import ClosedError, CommitFailed, DeserializationError, SettingsError, StateError
from penstock.sdk.formats import Value
from penstock.sdk.idle_clock import IdleClock
from penstock.sdk.librdkafka.common_config import client_security, logger
from penstock.sdk.librdkafka.consumer_config import consumer_config
from penstock.sdk.librdkafka.errors import GONE, REJOINED, accepted_settings, cause, translate, translated
from penstock.sdk.librdkafka.first_contact import FirstContact, refusal_of
from penstock.sdk.librdkafka.start_offsets import at
from penstock.sdk.membership import Membership
from penstock.sdk.options import CONSUMER_DEFAULTS, ConsumerOptions, Start, checked
from penstock.sdk.reading import Reading, place_of
from penstock.sdk.record import Record

_SLICE_S = 0.2
"""Longest time until a stop is noticed."""
_COMMIT_PAUSE_S = 0.1
_SEEK_S, _SEEK_PAUSE_S = 10.0, 0.02
_REFUSALS = (KafkaError._AUTHENTICATION, KafkaError._SSL)
_HARMLESS = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT)


class Receiving(Generic[Value]):
    def __init__(
        self, bootstrap: str, topics: Any, key: Any, value: Any, given: dict[str, Any], *, has_producer: bool
    ) -> None:
        self.is_closed = True  # until everything below has worked
        self.options: ConsumerOptions = checked(ConsumerOptions, given, CONSUMER_DEFAULTS)
        self.reading: Reading[Value] = Reading(key, value, self.options)
        config = consumer_config(bootstrap, self.options, set(given), has_producer=has_producer)
        self.delivery = self.options["delivery"]
        self._stores = bool(config["enable.auto.commit"])
        self._refused: KafkaError | None = None  # a broker has not let this client in, or is not trusted
        with accepted_settings():
            self.library = Consumer({**config, "error_cb": self._note}, logger=logger)
        self.idle = IdleClock(self.options.get("idle_timeout_s"), self.options["max_poll_interval_ms"] / 1000)
        self._contact = FirstContact(self.library, bootstrap, given, client_security(self.options))
        self.membership = Membership(self.library, topics, self.options, self._forget, self.idle, self._contact)
        self.is_stopped = threading.Event()
        self._buffer: deque[Message] = deque()
        self._is_committed = True  # whether the buffer is, with at-most-once
        self._handed: dict[TopicPartition, int] = {}
        self._done: dict[TopicPartition, int] = {}
        self.is_closed = False

    def check_open(self) -> None:
        if self.is_closed:
            raise ClosedError("this consumer is closed", hint="make a new one")

    def _forget(self, gone: set[TopicPartition]) -> None:
        self._buffer = deque(message for message in self._buffer if place_of(message) not in gone)
        for place in gone:
            self._handed.pop(place, None)
            self._done.pop(place, None)

    # --- from librdkafka ---------------------------------------------------------------------------------------------

    @property
    def is_ready(self) -> bool:
        """Whether `take` has something."""
        return bool(self._buffer) and self._is_committed

    def fill(self, timeout_s: float, *, always: bool = False) -> None:
        """Fill the buffer, if any message comes in time. With `always`, poll even if it is not empty."""
        self.check_open()
        self.membership.start()
        deadline = time.monotonic() + timeout_s
        while not self.is_stopped.is_set() and (always or not self.is_ready):
            left = deadline - time.monotonic()
            self._poll_some(0.0 if self._buffer else max(0.0, min(left, _SLICE_S)))
            if self._refused is not None and not self._buffer:
                self._check_let_in(self._refused)
            if self.delivery == "at-most-once" and self._buffer:
                self._is_committed = self._commit_buffer()
            always = False
            if left <= 0:
                return

    def _poll_some(self, timeout_s: float) -> None:
        """Poll at least once, since rebalances happen there; then take all messages that are ready."""
        while True:
            message = self.library.poll(timeout_s)
            if message is None:
                return
            timeout_s = 0.0
            error = message.error()
            if error is not None:
                self._judge(error)
            elif len(self._buffer) < 2 * self.options["max_poll_records"]:
                self._buffer.append(message)
                self._is_committed = self._is_committed and self.delivery != "at-most-once"
            else:  # messages given back repeatedly must not pile up
                self.library.seek(LibraryPlace(*place_of(message), message.offset() or 0))
            if len(self._buffer) >= self.options["max_poll_records"]:
                return

    def _note(self, error: KafkaError) -> None:
        """Take what librdkafka reports of itself, within a poll. It would try a login that was refused for ever.

        It reports the same in place of a message if it was about to ask for the coordinator (`_judge`).
        """
        if error.code() in _REFUSALS:
            self._refused = error

    def _check_let_in(self, refused: KafkaError) -> None:
        """Ask whether the login is accepted today: the user may be gone, or have another password.

        A broker that holds off the attempts of this user, of which the library makes many, may not answer in time. Then
        what it has told the library counts.
        """
        self._refused = None
        asked = self._contact.ask()
        if not asked.is_accepted:
            raise asked.refusal or refusal_of(refused)

    def _judge(self, error: KafkaError) -> None:
        if error.code() == KafkaError._MAX_POLL_EXCEEDED:
            text = "the records of one poll took longer than max_poll_interval_ms=%d: the group has removed this member"
            logger.warning(text, self.options["max_poll_interval_ms"])
        elif error.code() in _REFUSALS:
            self._refused = error
        elif error.code() not in _HARMLESS:
            raise translate(error, f"topics {', '.join(self.membership.topics)}")

    def _commit_buffer(self) -> bool:
        """Commit before records are handed out, for at-most-once delivery. Until that works, the buffer waits."""
        try:
            if (
                self.library.memberid()
            ):  # without an id, the broker would take this for a commit from outside of the group
                self._commit(_next_offsets(self._buffer))
                return True
            reason = "no member of the group"
        except KafkaException as error:
            reason = cause(error).str()
        logger.warning("offsets are not committed yet, so their records wait: %s", reason)
        time.sleep(_COMMIT_PAUSE_S)
        return False

    # --- to the user -------------------------------------------------------------------------------------------------

    def take(self) -> Record[Value] | None:
        """The next record of the buffer; those handed out before count as handled."""
        self.finish()
        while self.is_ready:
            record = self._read(self._buffer.popleft())
            if record is not None:
                return record
        return None

    def take_many(self, count: int) -> tuple[list[Record[Value]], list[Message]]:
        """Some records with their messages. One that cannot be read ends them, and raises when it is the first."""
        self.finish()
        records: list[Record[Value]] = []
        messages: list[Message] = []
        while self.is_ready and len(messages) < count:
            message = self._buffer.popleft()
            try:
                record = self._read(message)
            except DeserializationError:
                if not messages:
                    raise
                self._buffer.appendleft(message)
                self._handed[place_of(message)] = message.offset() or 0
                break
            except BaseException:
                self.give_back(messages)
                raise
            messages.append(message)
            if record is not None:
                records.append(record)
        return records, messages

    def _read(self, message: Message) -> Record[Value] | None:
        place, offset = place_of(message), message.offset() or 0
        try:
            record = self.reading.record(message)
        except DeserializationError:
            self._handed[place] = offset + 1  # reported: the next call goes on after it
            raise
        except BaseException:  # of `on_bad_record` itself: the record was not handled
            self._buffer.appendleft(message)
            raise
        self._handed[place] = offset + 1
        return record

    def give_back(self, messages: Sequence[Message]) -> None:
        """Take back records that were handed out: they come again, unless their partitions are revoked meanwhile."""
        owned = self.membership.owned
        self._buffer.extendleft(message for message in reversed(messages) if place_of(message) in owned)
        for message in messages:
            self._handed.pop(place_of(message), None)

    # --- offsets -----------------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Count the records that were handed out as handled."""
        if not self._handed:
            return
        handed = {place: offset for place, offset in self._handed.items() if place in self.membership.owned}
        self._handed = {}
        self._done.update(handed)
        if self._stores and handed:
            try:
                self.library.store_offsets(offsets=library_places(handed))
            except KafkaException as error:  # taken away at this moment: the next owner reads them again
                logger.warning("offsets were not stored: %s", cause(error).str())

    def commit(self, record: Record[Value] | None) -> None:
        """Commit everything that was handed out, or all of a partition up to this record."""
        self.check_open()
        if "group" not in self.options:
            raise StateError("a consumer without a group commits nothing", hint="give group='…'")
        if self.delivery != "at-least-once":
            text = f"with delivery={self.delivery!r} offsets are committed by themselves"
            raise StateError(text, hint="leave commit() out")
        if record is None:
            self.finish()
            offsets = dict(self._done)
        else:
            offsets = self._after(record)
        with translated("commit"):
            self._commit(offsets)

    def _after(self, record: Any) -> dict[TopicPartition, int]:
        if not isinstance(record, Record):
            raise SettingsError(f"commit({record!r})", hint="give a record, or nothing for all that were given out")
        if (
            record.place not in self.membership.owned
        ):  # the broker would accept it, over the commits of the partition's owner
            raise CommitFailed(f"{record.place} is not a partition of this consumer any more", hint=REJOINED)
        return {record.place: record.offset + 1}

    def _commit(self, offsets: dict[TopicPartition, int]) -> None:
        if not offsets:
            return
        for place in self.library.commit(offsets=library_places(offsets), asynchronous=False):
            if place.error is not None:
                raise KafkaException(place.error)

    def seek(self, place: TopicPartition, to: Start) -> None:
        self.check_open()
        self.membership.check_owned([place])
        (target,) = at(self.library, [LibraryPlace(*place)], to, self.options["request_timeout_ms"] / 1000)
        deadline = time.monotonic() + _SEEK_S
        while True:
            try:
                self.library.seek(target)
                break
            except KafkaException as error:  # not before the partition is being read
                if cause(error).code() != KafkaError._STATE or time.monotonic() > deadline:
                    raise translate(cause(error), f"seek in {place}") from error
                time.sleep(_SEEK_PAUSE_S)
        self._forget({place})

    def pause(self, places: Sequence[TopicPartition]) -> None:
        self.check_open()
        self.membership.check_owned(places)
        self.library.pause([LibraryPlace(*place) for place in places])

    def resume(self, places: Sequence[TopicPartition]) -> None:
        self.check_open()
        self.membership.check_owned(places)
        self.library.resume([LibraryPlace(*place) for place in places])

    # --- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Leave the group. Handled records are committed first; buffered ones are left to the next owner."""
        if self.is_closed or self.membership.is_leaving:
            return
        self.membership.is_leaving = True
        try:
            if self.delivery == "at-most-once" and self._is_committed:
                self._uncommit_buffer()
        finally:
            self.is_stopped.set()
            try:
                self.library.close()  # within, `on_revoke` may still commit
            finally:
                self.is_closed = True

    def _uncommit_buffer(self) -> None:
        """Commit back: records committed and never handed out are not lost at a clean end."""
        try:
            self._commit({place_of(message): message.offset() or 0 for message in reversed(self._buffer)})
        except KafkaException as error:
            if cause(error).code() not in GONE:
                logger.warning("records that were never handed out are lost: %s", cause(error).str())


def _next_offsets(messages: deque[Message] | Sequence[Message]) -> dict[TopicPartition, int]:
    return {place_of(message): (message.offset() or 0) + 1 for message in messages}


def library_places(offsets: dict[TopicPartition, int]) -> list[LibraryPlace]:
    return [LibraryPlace(place.topic, place.partition, offset) for place, offset in offsets.items()]


def offsets_after(messages: Sequence[Message]) -> list[LibraryPlace]:
    return library_places(_next_offsets(messages))
