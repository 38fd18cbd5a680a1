"""Errors of the SDK. Every text says what was wrong and how to put it right; `hint` is the second half alone.

`BrokerError` and its children carry the answer of a broker, or of librdkafka on its behalf; `librdkafka.errors`
creates them. The others are detected on this side of the wire, before anything was sent.
"""

from __future__ import annotations

from penstock.model.counted import with_hint


class ClientError(Exception):
    """Base class of all errors of the SDK."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(with_hint(message, hint, ": "))
        self.hint = hint


class SettingsError(ClientError, ValueError):
    """Settings that are unknown, wrong or contradict each other."""


class ClosedError(ClientError):
    """The client was closed before."""


class StateError(ClientError):
    """A call that is not possible now: outside of a transaction, or for a partition that is not the consumer's."""


class QueueFull(ClientError):
    """The producer's queue had no room for as long as `queue_timeout_ms` allows. The message was not taken."""


class Undelivered(ClientError):
    """Messages were not delivered, and their futures were not read. `errors` has the reasons of some."""

    def __init__(self, message: str, *, hint: str, errors: tuple[Exception, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.errors = errors


class SerializationError(ClientError, ValueError):
    """A key, value or header that cannot be turned into bytes. The message was not sent."""

    def __init__(self, message: str, *, hint: str, topic: str, part: str) -> None:
        super().__init__(message, hint=hint)
        self.topic = topic
        self.part = part


class DeserializationError(ClientError, ValueError):
    """A key or value that is not what the deserializer reads, with its place and its bytes."""

    def __init__(
        self,
        message: str,
        *,
        hint: str,
        topic: str,
        partition: int,
        offset: int,
        part: str,
        key: bytes | None,
        value: bytes | None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.part = part
        self.key = key
        self.value = value


class BrokerError(ClientError):
    """Refused by a broker, or not answered. `code` is Kafka's name of the error, such as TOPIC_ALREADY_EXISTS."""

    def __init__(self, message: str, *, hint: str = "", code: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


class Unreachable(BrokerError):
    """No answer in time, or no broker at the address."""


class NotFound(BrokerError):
    """No such topic, partition, group or transactional id."""


class AlreadyExists(BrokerError):
    """There is a topic of that name already."""


class NotAllowed(BrokerError):
    """Authentication or authorisation failed."""


class InvalidRequest(BrokerError):
    """The broker refuses these values."""


class MessageTooLarge(BrokerError):
    """The topic or the broker takes smaller messages only (`max.message.bytes`)."""


class GroupInUse(BrokerError):
    """The group has members."""


class CommitFailed(BrokerError):
    """Offsets were not committed: the partitions belong to another member of the group by now."""


class TransactionAborted(BrokerError):
    """Nothing of the transaction took effect. Go on with the next one: its records come again."""


class TransactionUnknown(BrokerError):
    """The end of the transaction was not answered. A new producer of the same transactional id settles it."""


class Fenced(BrokerError):
    """Another client with the same transactional id or instance id has taken over. This one cannot be used any more."""
