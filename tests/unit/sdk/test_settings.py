"""Settings of the SDK: what is unknown, wrong or contradictory is refused with the fix, before anything is done."""

from __future__ import annotations

import datetime
import subprocess
import sys
import typing
from typing import Any

import pytest
from pydantic.fields import FieldInfo

from penstock import Admin, Consumer, Producer
from penstock.sdk import Avro, SettingsError
from penstock.sdk.options import CONSUMER_DEFAULTS, PRODUCER_DEFAULTS, ConsumerOptions, ProducerOptions

pytestmark = pytest.mark.feature("K-19")

SERVER = "127.0.0.1:9"


def refused(kind: Any, options: dict[str, Any], message: str) -> None:
    arguments = (SERVER, "orders") if kind is Consumer else (SERVER,)
    with pytest.raises(SettingsError, match=message):
        kind(*arguments, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"linger": 5}, r"unknown setting linger: did you mean linger_ms\?"),
        ({"wholly_unknown": 5}, "unknown setting wholly_unknown: there are acks, batch_size"),
        ({"linger_ms": -1}, "linger_ms=-1 is refused: input should be greater than or equal to 0"),
        ({"linger_ms": "5"}, "linger_ms='5' is refused: input should be a valid integer"),
        ({"batch_size": 0, "linger": 1}, "(?s)batch_size=0 is refused.*unknown setting linger"),
        ({"acks": "two"}, "acks='two' is refused: input should be 'none', 'leader' or 'all'"),
        ({"acks": "none", "transactional_id": "t"}, "acks='none' with a transactional_id: transactions need acks"),
        ({"acks": "leader", "idempotent": True}, "idempotent=True with acks='leader': it needs acks"),
        ({"idempotent": False, "transactional_id": "t"}, "idempotent=False with a transactional_id"),
        ({"retries": 0}, "retries=0 with an idempotent producer: say idempotent=False as well"),
        (
            {"transaction_timeout_ms": 5000},
            "transaction_timeout_ms without a transactional_id: give a transactional_id",
        ),
        ({"transactional_id": "t", "transaction_timeout_ms": 5}, "transaction_timeout_ms=5 is refused.* equal to 1000"),
        (
            {"batch_size": 1 << 40},
            "batch_size=1099511627776 is refused: input should be less than or equal",
        ),
        ({"queue_bytes": 1 << 60}, "queue_bytes=1152921504606846976 is refused"),
        ({"linger_ms": 900_001}, "linger_ms=900001 is refused"),
        ({"transactional_id": ""}, "transactional_id='' is refused"),
        (
            {"transactional_id": "t", "transaction_timeout_ms": 1000, "delivery_timeout_ms": 2000},
            "delivery_timeout_ms=2000 is more than transaction_timeout_ms=1000: change one of them",
        ),
        ({"linger_ms": 500, "delivery_timeout_ms": 100}, "linger_ms=500 is more than delivery_timeout_ms=100"),
        ({"retry_backoff_ms": 5000}, "retry_backoff_ms=5000 is more than retry_backoff_max_ms=1000"),
        ({"partitioner": "random"}, "partitioner='random' is refused"),
        ({"compression": "brotli"}, "compression='brotli' is refused"),
        ({"config": {"linger.ms": 5}}, r"config\['linger.ms'\] has a name of its own: use linger_ms"),
        ({"config": {"no.such.thing": 5}}, r"(?i)no such configuration property"),
        ({"config": {"sasl.username": "\ud800"}}, "is refused|text that UTF-8 has"),
        ({"config": {"sasl.username": "a\0b"}}, "text that UTF-8 has, without a zero"),
        ({"client_id": "a\0b"}, "is refused: a name ends at its first zero; leave it out"),
        ({"value_serializer": "xml"}, "value_serializer='xml' is not a format: give 'bytes', 'text', 'json', Avro"),
        ({"key_serializer": 7}, "key_serializer=7 is not a format"),
        (
            {"value_serializer": "avro"},
            r"value_serializer='avro' lacks a schema: write value_serializer=Avro\(schema\)",
        ),
        ({"value_serializer": Avro}, "value_serializer=Avro is a class: create an instance"),
    ],
)
def test_producers(options: dict[str, Any], message: str) -> None:
    refused(Producer, options, message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group_id": "g"}, r"unknown setting group_id: did you mean group\?"),
        ({"group": "g", "delivery": "exactly-once"}, "without a producer that has a transactional_id: give producer="),
        ({"delivery": "at-most-once"}, "delivery without a group: give group='…'"),
        ({"auto_commit": False, "assignor": "range"}, "auto_commit, assignor without a group"),
        ({"group": "g", "delivery": "at-most-once", "auto_commit": True}, "auto_commit with delivery='at-most-once'"),
        (
            {"group": "g", "auto_commit": False, "auto_commit_interval_ms": 9},
            "auto_commit_interval_ms with auto",
        ),
        (
            {"group": "g", "heartbeat_interval_ms": 10_000},
            "heartbeat_interval_ms=10000 is not less than session",
        ),
        ({"group": "g", "max_poll_interval_ms": 5}, "max_poll_interval_ms=5 is less than session_timeout_ms=10000"),
        ({"group": "g", "assignor": "fair"}, "assignor='fair' is refused: input should be 'range', 'round-robin'"),
        ({"start": "middle"}, "start='middle' is refused"),
        ({"start": -1}, "start=-1 is refused"),
        ({"start": 1 << 63}, "start=9223372036854775808 is refused"),
        ({"group": "g", "session_timeout_ms": 1 << 40}, "session_timeout_ms=1099511627776 is refused"),
        ({"start": datetime.datetime(2026, 1, 1)}, "start is a time without a zone: write datetime"),  # noqa: DTZ001
        ({"on_bad_record": "ignore"}, "on_bad_record='ignore' is refused"),
        ({"value_deserializer": "xml"}, "value_deserializer='xml' is not a format"),
    ],
)
def test_consumers(options: dict[str, Any], message: str) -> None:
    refused(Consumer, options, message)


def test_a_producer_that_does_not_fit() -> None:
    with Producer(SERVER) as plain:
        options = {"group": "g", "delivery": "exactly-once", "producer": plain}
        refused(Consumer, options, r"no transactional_id: make it with Producer\(…, transactional_id='…'\)")
    with Producer(SERVER, transactional_id="t") as producer:
        refused(
            Consumer, {"group": "g", "producer": producer}, "producer= with delivery='at-least-once': say delivery="
        )
        options = {"group": "g", "producer": producer, "delivery": "exactly-once", "isolation": "uncommitted"}
        refused(Consumer, options, "leave isolation out")


@pytest.mark.parametrize("topics", ["", [], [""], [7], None, "\ud800", ["a\0b"]])
def test_topics(topics: Any) -> None:
    with pytest.raises(SettingsError, match="name a topic, or several in a list"):
        Consumer(SERVER, topics)


@pytest.mark.parametrize("server", ["", "nowhere", "host:port", "host:99999", None, 7])
def test_addresses(server: Any) -> None:
    for make in (Producer, Admin, lambda name: Consumer(name, "t")):
        with pytest.raises(SettingsError, match="bootstrap="):
            make(server)


def test_admin() -> None:
    refused(Admin, {"timeout": 5}, "unknown setting timeout")


@pytest.mark.parametrize("schema", ["{", {"type": "record"}, {"type": "no such type"}, 7])
def test_schemas_of_avro(schema: Any) -> None:
    with pytest.raises(SettingsError, match="not an Avro schema"):
        Avro(schema)


def test_avro_without_fastavro(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastavro", None)
    with pytest.raises(SettingsError, match=r"Avro needs fastavro: pip install 'penstock\[avro\]'"):
        Avro({"type": "string"})


def bounds(kind: Any) -> list[tuple[str, int]]:
    """The least and the most that each setting takes."""
    hints = typing.get_type_hints(kind, include_extras=True)
    fields = [
        (name, field)
        for name, hint in hints.items()
        for field in getattr(hint, "__metadata__", ())
        if isinstance(field, FieldInfo)
    ]
    found = [
        (name, bound) for name, field in fields for rule in field.metadata for bound in vars_of(rule, ("ge", "le"))
    ]
    assert len(found) > 10
    return found


def vars_of(rule: Any, names: tuple[str, ...]) -> list[int]:
    return [getattr(rule, name) for name in names if hasattr(rule, name)]


LARGE = {"delivery_timeout_ms": 2_147_483_647, "retry_backoff_max_ms": 300_000}


@pytest.mark.parametrize(
    ("kind", "name", "bound"),
    [
        *((Producer, *each) for each in bounds(ProducerOptions)),
        *((Consumer, *each) for each in bounds(ConsumerOptions)),
    ],
)
def test_librdkafka_takes_what_the_settings_take(kind: Any, name: str, bound: int) -> None:
    """Otherwise it would tell of its own name for a setting, and of a fix that is none."""
    more = {"group": "g"} if kind is Consumer else {"idempotent": False, **LARGE}
    if name == "transaction_timeout_ms":
        more = {"transactional_id": "t"}
    arguments = (SERVER, "orders") if kind is Consumer else (SERVER,)
    try:
        kind(*arguments, **{**more, name: bound}).close()
    except SettingsError as error:  # of two settings that contradict each other, by their names here
        assert f"{name}={bound}" in str(error)  # noqa: PT017


def test_defaults_have_a_name() -> None:
    assert set(PRODUCER_DEFAULTS) == set(ProducerOptions.__annotations__) - {"idempotent", "transactional_id"}
    optional = {"group", "instance_id", "idle_timeout_s", "on_assign", "on_revoke", "on_lost"}
    assert set(CONSUMER_DEFAULTS) == set(ConsumerOptions.__annotations__) - optional


@pytest.mark.feature("K-19")
def test_importing_penstock_loads_nothing() -> None:
    code = (
        "import sys, penstock; print(any(name in sys.modules for name in ('confluent_kafka', 'pydantic', 'asyncio')))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"
