"""librdkafka's errors as ours: one table from codes to classes and hints."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from confluent_kafka import KafkaError, KafkaException

from penstock.sdk import errors

_UNREACHABLE = "check that a broker runs there and that the address it advertises can be reached from here"
_TOPIC = "create it with `Admin.create_topic`, or correct the name"
_AUTHORITY = "check the credentials in config= and what they are allowed to do"
_GROUP = "stop its consumers first"
REJOINED = "nothing is lost, the next owner reads those records again; handle less between two polls if it is often"
_SESSION = "choose a session_timeout_ms that its group.min.session.timeout.ms and group.max.session.timeout.ms allow"
_FENCED = "use one transactional_id or instance_id per process, and close this client"
_SIZE = "send less, or raise max_message_bytes here and max.message.bytes of the topic"

_TABLE: tuple[tuple[type[errors.BrokerError], str, tuple[str, ...]], ...] = (
    (
        errors.Unreachable,
        _UNREACHABLE,
        (
            "_TRANSPORT",
            "_ALL_BROKERS_DOWN",
            "_RESOLVE",
            "_TIMED_OUT",
            "_TIMED_OUT_QUEUE",
            "_MSG_TIMED_OUT",
            "_WAIT_COORD",
            "REQUEST_TIMED_OUT",
            "NETWORK_EXCEPTION",
            "COORDINATOR_NOT_AVAILABLE",
            "COORDINATOR_LOAD_IN_PROGRESS",
            "LEADER_NOT_AVAILABLE",
        ),
    ),
    (errors.NotFound, _TOPIC, ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION")),
    (errors.NotFound, "`Admin.list_groups` shows all groups", ("GROUP_ID_NOT_FOUND", "_UNKNOWN_GROUP")),
    (errors.AlreadyExists, "take another name, or delete it first", ("TOPIC_ALREADY_EXISTS",)),
    (
        errors.NotAllowed,
        _AUTHORITY,
        (
            "_AUTHENTICATION",
            "SASL_AUTHENTICATION_FAILED",
            "TOPIC_AUTHORIZATION_FAILED",
            "GROUP_AUTHORIZATION_FAILED",
            "CLUSTER_AUTHORIZATION_FAILED",
            "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
        ),
    ),
    (errors.MessageTooLarge, _SIZE, ("MSG_SIZE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_MSG_SIZE")),
    (errors.GroupInUse, _GROUP, ("NON_EMPTY_GROUP", "GROUP_SUBSCRIBED_TO_TOPIC")),
    (
        errors.CommitFailed,
        REJOINED,
        ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS", "_ASSIGNMENT_LOST", "_NO_OFFSET"),
    ),
    (
        errors.Fenced,
        _FENCED,
        ("PRODUCER_FENCED", "_FENCED", "INVALID_PRODUCER_EPOCH", "FENCED_INSTANCE_ID", "INVALID_PRODUCER_ID_MAPPING"),
    ),
    (errors.InvalidRequest, _SESSION, ("INVALID_SESSION_TIMEOUT",)),
    (errors.BrokerError, "close this client and make a new one", ("_FATAL",)),
    (errors.BrokerError, "it was given up when the producer was closed", ("_PURGE_QUEUE", "_PURGE_INFLIGHT")),
    (
        errors.InvalidRequest,
        "correct the value that the broker names",
        (
            "TOPIC_EXCEPTION",
            "INVALID_PARTITIONS",
            "INVALID_REPLICATION_FACTOR",
            "INVALID_CONFIG",
            "INVALID_REQUEST",
            "INVALID_REPLICA_ASSIGNMENT",
            "OFFSET_OUT_OF_RANGE",
            "POLICY_VIOLATION",
            "INVALID_GROUP_ID",
            "INVALID_TIMESTAMP",
            "INVALID_RECORD",
        ),
    ),
)
_BY_CODE = {getattr(KafkaError, name): (kind, hint) for kind, hint, names in _TABLE for name in names}

GONE = tuple(getattr(KafkaError, name) for name in ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS"))


def translate(error: KafkaError, what: str, text: str = "") -> errors.BrokerError:
    """Translate an error into ours. `what` is the failed operation; `text` replaces the error's own."""
    kind, hint = _BY_CODE.get(error.code(), (errors.BrokerError, ""))
    message = text or error.str() or error.name()
    return kind(f"{what}: {message}", hint="" if ";" in message else hint, code=error.name())


def cause(error: KafkaException) -> KafkaError:
    found = error.args[0] if error.args else None
    return found if isinstance(found, KafkaError) else KafkaError(KafkaError._FAIL, str(error))


@contextlib.contextmanager
def accepted_settings() -> Iterator[None]:
    """Translate errors of a client's creation: librdkafka refuses settings that it does not know or cannot combine."""
    try:
        yield
    except KafkaException as error:
        text = (cause(error).str() or cause(error).name()).strip()
        hint = "correct config=, whose names and values are those of librdkafka's CONFIGURATION.md"
        raise errors.SettingsError(text, hint=hint) from error


@contextlib.contextmanager
def translated(what: str) -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        raise translate(cause(error), what) from error
