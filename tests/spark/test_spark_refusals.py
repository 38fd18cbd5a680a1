"""A secured broker refuses: the reason and the remedy in a line or two, at once, and never the secret. No session."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from penstock.client.markers import Markers
from penstock.client.transactions import TransactionalProducer
from penstock.model.batch_builder import NewRecord, build_batch
from penstock_spark.bulk.archive import ArchiveSettings
from penstock_spark.bulk.archive_job import run_archive
from penstock_spark.errors import AccessRefused
from penstock_spark.reading.batch_reader import BatchReader
from penstock_spark.reading.options import parse_read
from penstock_spark.reading.stream_reader import StreamReader
from penstock_spark.user_options import Broker
from penstock_spark.writing.exactly_once import ExactlyOnce
from tests.support.acl_client import (
    ALLOW,
    CREATE,
    DENY,
    GROUP,
    LITERAL,
    PREFIXED,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    AclClient,
    rule,
)  # fmt: skip
from tests.support.batches import now_ms
from tests.support.certificates import Authority
from tests.support.raw_client import RawClient
from tests.support.secured_pair import Doors, SecuredPenstock
from tests.support.told import Told

WORD = "correct-horse"


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredPenstock]:
    process = SecuredPenstock(tmp_path_factory.mktemp("secured"), {"alice": WORD, "bob": f"{WORD}-of-bob"})
    process.prepare()
    process.start()
    with RawClient(process.host, process.port) as client:
        client.create_topic("open")
        client.create_topic("archived")
        client.produce("archived", bytes(build_batch([NewRecord(None, b"v")], timestamp=now_ms())))
        rules = [
            *(rule(TOPIC, name, LITERAL, "User:alice", "*", READ, ALLOW) for name in ("open", "archived")),
            rule(TOPIC, "__penstock_markers", LITERAL, "User:alice", "*", READ, ALLOW),
            rule(TOPIC, "__penstock_markers", LITERAL, "User:alice", "*", WRITE, ALLOW),
            rule(TOPIC, "__penstock_markers", LITERAL, "User:alice", "*", CREATE, ALLOW),
            rule(TRANSACTIONAL_ID, "penstock-", PREFIXED, "User:alice", "*", WRITE, ALLOW),
            rule(GROUP, "*", LITERAL, "User:alice", "*", READ, DENY),
        ]
        AclClient(client).created(*rules)
    yield process
    process.stop()


def options(properties: dict[str, str], topic: str = "open", **more: str) -> dict[str, str]:
    return {**{f"kafka.{name}": value for name, value in properties.items()}, "subscribe": topic, **more}


def reader_of(given: dict[str, str]) -> BatchReader:
    return BatchReader(parse_read(given, streaming=False))


def broker_of(doors: Doors, user: str = "alice") -> Broker:
    return parse_read(options(doors.login_properties(user)), streaming=False).broker


def wrong_password(doors: Doors) -> dict[str, str]:
    return options(doors.login_properties("alice", "wrong-battery"))


def unknown_authority(doors: Doors) -> dict[str, str]:
    other = Authority(doors.authority.directory / "other")
    return options({**doors.login_properties("alice"), "ssl.truststore.location": str(other.file)})


def wrong_name(doors: Doors) -> dict[str, str]:
    return options({**doors.login_properties("alice"), "bootstrap.servers": f"localhost:{doors.login}"})


def missing_store(doors: Doors) -> dict[str, str]:
    return options({**doors.login_properties("alice"), "ssl.truststore.location": "/nowhere/ca.pem"})


def denied_topic(doors: Doors) -> dict[str, str]:
    return options(doors.login_properties("bob"))


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (wrong_password, ["invalid credentials", "check sasl.username and sasl.password"]),
        (unknown_authority, ["not trusted", "ssl.truststore.location"]),
        (wrong_name, ["not valid for 'localhost'", "connect by a name that its certificate has"]),
        (missing_store, ["/nowhere/ca.pem", "No such file"]),
        (denied_topic, ["TOPIC_AUTHORIZATION_FAILED: topic open", "--allow-principal User:bob --operation Read"]),
    ],
)
def test_a_refusal_is_told_at_once(
    secured: SecuredPenstock, make: Callable[[Doors], dict[str, str]], told: list[str]
) -> None:
    """The default patience is a minute; the limit here is that of a test that hangs."""
    with pytest.raises(AccessRefused) as caught:
        reader_of({**make(secured.doors), "kafka.default.api.timeout.ms": "600000"}).partitions()
    text = str(caught.value)
    assert all(each in text for each in told), text
    assert "\n" not in text
    shown = "".join(traceback.format_exception(caught.value))
    assert "answer_error.py" not in shown, "the way through our own client is no help"
    assert WORD not in shown
    assert "wrong-battery" not in shown


def test_a_stream_that_may_not_report_goes_on_and_warns_once(
    secured: SecuredPenstock, caplog: pytest.LogCaptureFixture
) -> None:
    given = options(secured.doors.login_properties("alice"), startingOffsets="earliest", **{"kafka.group.id": "mine"})
    stream = StreamReader(parse_read(given, streaming=True))
    try:
        start = stream.initialOffset()
        for _ in range(5):
            assert stream.latestOffset(start, ReadAllAvailable()) == start
    finally:
        stream.stop()
    (warned,) = [record.getMessage() for record in caplog.records if "not reported" in record.getMessage()]
    assert "GROUP_AUTHORIZATION_FAILED" in warned
    assert "--allow-principal User:alice --operation Read --group" in warned


def test_exactly_once_needs_no_group(secured: SecuredPenstock) -> None:
    """The hints of markers are in a group, and only save time."""
    with broker_of(secured.doors).session() as cluster:
        once = ExactlyOnce(cluster, "penstock-mine", 60_000)
        assert once.write(0, list)
        assert not ExactlyOnce(cluster, "penstock-mine", 60_000).write(0, list)
        Markers(cluster)._leave_hint("penstock-mine", 0)  # after hundreds of markers


def test_a_transactional_id_that_is_denied(secured: SecuredPenstock) -> None:
    wanted = r"TRANSACTIONAL_ID_AUTHORIZATION_FAILED.*--transactional-id penstock- --resource-pattern-type prefixed"
    with pytest.raises(AccessRefused, match=wanted), broker_of(secured.doors, "bob").session() as cluster:
        TransactionalProducer(cluster, "penstock-bob").init()


def test_an_archive_logs_in(secured: SecuredPenstock, tmp_path: Path) -> None:
    """Those who plan it and those who read for it: each has connections of its own."""
    broker = broker_of(secured.doors)
    settings = ArchiveSettings(f"127.0.0.1:{secured.doors.login}", security=broker.security)
    with broker.session() as cluster:
        assert run_archive(cluster, "archived", tmp_path, settings, Told()).rows_in_all == 1


def test_a_listener_of_another_protocol_is_told(secured: SecuredPenstock) -> None:
    """It only closes the connection, which could as well be a restart: it is asked again until the time is over."""
    plain = {"bootstrap.servers": f"127.0.0.1:{secured.doors.login}"}
    with pytest.raises(OSError, match=r"if it wants TLS or a login there, set security\.protocol"):
        reader_of(options(plain, **{"kafka.default.api.timeout.ms": "500"})).partitions()
    mutual = {name: value for name, value in secured.doors.mutual_properties().items() if "keystore" not in name}
    with pytest.raises((OSError, AccessRefused), match="certificate"):
        reader_of(options(mutual, **{"kafka.default.api.timeout.ms": "500"})).partitions()
