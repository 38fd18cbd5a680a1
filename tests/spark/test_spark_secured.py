"""Sessions on secured brokers, Penstock and Apache Kafka: the options of Spark's own connector, unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.conftest import CONNECTOR
from tests.support.acl_client import (
    ALL,
    ALLOW,
    CREATE,
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
from tests.support.raw_client import RawClient, unique_name
from tests.support.secured_pair import Doors, SecuredBroker, make_secured_broker

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

USERS = {"alice": "alice-secret", "bob": "bob,=secret"}
LOGINS = ("scram", "plain", "mutual", "inline")
"""At LOGIN with SCRAM and PLAIN, at MUTUAL with stores in files and in the options."""


@pytest.fixture(scope="module", params=["penstock", "kafka"])
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    """Alice and the certificate have what docs/spark.md says that they need, and nothing more; Bob has nothing."""
    process = make_secured_broker(request.param, tmp_path_factory.mktemp("secured"), USERS)
    process.prepare()
    process.start()
    with RawClient(process.host, process.port) as client:
        rows = []
        for who in ("User:alice", "User:CN=client"):
            rows += [rule(TOPIC, "own-", PREFIXED, who, "*", each, ALLOW) for each in (READ, WRITE)]
            rows += [rule(TOPIC, "__penstock_", PREFIXED, who, "*", each, ALLOW) for each in (READ, WRITE, CREATE)]
            rows += [rule(TRANSACTIONAL_ID, "penstock-", PREFIXED, who, "*", WRITE, ALLOW)]
            rows += [rule(GROUP, "own-group", LITERAL, who, "*", ALL, ALLOW)]
        AclClient(client).created(*rows)
    yield process
    process.stop()


def given(doors: Doors, login: str) -> dict[str, str]:
    properties = {
        "scram": lambda: doors.login_properties("alice"),
        "plain": lambda: doors.login_properties("alice", plain=True),
        "mutual": doors.mutual_properties,
        "inline": lambda: doors.mutual_properties(inline=True),
    }[login]()
    return {f"kafka.{name}": value for name, value in properties.items()}


@pytest.fixture
def topic(secured: SecuredBroker) -> str:
    with RawClient(secured.host, secured.port) as client:
        return client.create_topic(unique_name("own"), partitions=2)


def values(frame: DataFrame) -> list[int]:
    return sorted(row.n for row in frame.selectExpr("CAST(CAST(value AS STRING) AS INT) AS n").collect())


@pytest.mark.feature("S-01", "S-02")
@pytest.mark.skipif(not CONNECTOR.is_dir(), reason="make compat-setup fetches Spark's Kafka connector")
@pytest.mark.parametrize("login", LOGINS)
def test_one_word_is_changed(spark: SparkSession, secured: SecuredBroker, topic: str, login: str) -> None:
    """What either connector writes, both read, with the same options."""
    options = given(secured.doors, login)
    numbers = spark.range(100).selectExpr("CAST(id AS STRING) AS value")
    for source in ("kafka", "penstock"):
        numbers.write.format(source).mode("append").options(**options, topic=topic).save()
    both = [spark.read.format(source).options(**options, subscribe=topic) for source in ("kafka", "penstock")]
    found = [values(reader.load()) for reader in both]
    assert found[0] == found[1] == sorted([*range(100), *range(100)])


@pytest.mark.feature("S-02", "X-02")
@pytest.mark.parametrize(
    ("login", "more"),
    [("scram", {}), ("mutual", {"inlineBytes": 100}), ("plain", {"exactlyOnce": "task"})],
    ids=["scram", "staged", "a transaction for each task"],
)
def test_a_stream_exactly_once(
    spark: SparkSession,
    secured: SecuredBroker,
    topic: str,
    tmp_path: Path,
    login: str,
    more: dict[str, Any],
    request: pytest.FixtureRequest,
) -> None:
    spark.conf.set("spark.penstock.localFiles", "false")  # so that what is staged goes through a topic
    request.addfinalizer(lambda: spark.conf.unset("spark.penstock.localFiles"))
    options = given(secured.doors, login)
    with RawClient(secured.host, secured.port) as client:
        target = client.create_topic(unique_name("own"), partitions=2)

    def put(first: int) -> None:
        numbers = spark.range(first, first + 50).selectExpr("CAST(id AS STRING) AS value")
        numbers.write.format("penstock").mode("append").options(**options, topic=topic).save()

    def copy() -> None:
        source = spark.readStream.format("penstock").options(**options, subscribe=topic, startingOffsets="earliest")
        frame = source.option("kafka.group.id", "own-group").load().select("value")
        writer = frame.writeStream.format("penstock").options(**options, topic=target, **more)
        query = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start()
        assert query.awaitTermination(100)

    put(0)
    copy()
    last = tmp_path / "commits" / "0"  # as if the driver had died before it noted its commit
    last.unlink()
    (last.parent / ".0.crc").unlink(missing_ok=True)
    put(50)
    copy()
    copy()
    assert values(spark.read.format("penstock").options(**options, subscribe=target).load()) == list(range(100))


@pytest.mark.feature("S-03")
def test_topics_as_tables(spark: SparkSession, secured: SecuredBroker, topic: str, tmp_path: Path) -> None:
    """Typed columns, inferred by the driver, in a view whose login is in a file."""
    path = tmp_path / "client.properties"
    properties = secured.doors.login_properties("alice")
    path.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    where = {"kafka.bootstrap.servers": properties["bootstrap.servers"], "commandConfig": str(path)}
    rows = [("ACME", 1.5), ("ACME", 2.5), ("XY", 3.0)]
    frame = spark.createDataFrame(rows, "symbol STRING, price DOUBLE")
    writer = frame.write.format("penstock").mode("append").options(**where, topic=topic)
    writer.options(valueFormat="json", keyColumn="symbol", delivery="exactly-once").save()
    options = {**where, "subscribe": topic, "valueFormat": "json"}
    listed = ", ".join(f"`{name}` '{value}'" for name, value in options.items())
    view = unique_name("v").replace("-", "_")
    spark.sql(f"CREATE TEMPORARY VIEW {view} USING penstock OPTIONS ({listed})")
    found = spark.sql(f"SELECT symbol, max(price) AS price FROM {view} GROUP BY symbol ORDER BY symbol").collect()
    assert [tuple(row) for row in found] == [("ACME", 2.5), ("XY", 3.0)]
    latest = spark.read.format("penstock").options(**options, mode="upsert").load()
    assert {row.symbol: row.price for row in latest.collect()} == {"ACME": 2.5, "XY": 3.0}


def test_names_are_verified_unless_declined(spark: SparkSession, secured: SecuredBroker, topic: str) -> None:
    options = given(secured.doors, "scram") | {"kafka.bootstrap.servers": f"localhost:{secured.doors.login}"}
    with pytest.raises(Exception, match=r"AccessRefused: localhost.* is not trusted: .*'localhost'"):
        spark.read.format("penstock").options(**options, subscribe=topic).load().count()
    declined = {**options, "kafka.ssl.endpoint.identification.algorithm": ""}
    assert spark.read.format("penstock").options(**declined, subscribe=topic).load().count() == 0


@pytest.mark.feature("F-05")
def test_what_is_refused_is_told(spark: SparkSession, secured: SecuredBroker, topic: str, tmp_path: Path) -> None:
    """In the words of docs/spark.md, from the driver and from tasks."""
    wrong = {f"kafka.{name}": value for name, value in secured.doors.login_properties("alice", "no").items()}
    bob = {f"kafka.{name}": value for name, value in secured.doors.login_properties("bob").items()}
    alice = given(secured.doors, "scram")
    one = spark.range(1).selectExpr("'v' AS value")
    read = lambda options: spark.read.format("penstock").options(**options, subscribe=topic).load().count()  # noqa: E731
    write = lambda options, **more: (  # noqa: E731
        one.write.format("penstock").mode("append").options(**options, topic=topic, **more).save()
    )
    for attempt, told in (
        (lambda: read(wrong), "AccessRefused: .*SASL_AUTHENTICATION_FAILED.*check sasl.username and sasl.password"),
        (lambda: write(wrong), "AccessRefused: .*SASL_AUTHENTICATION_FAILED.*check sasl.username and sasl.password"),
        (lambda: read(bob), f"AccessRefused: TOPIC_AUTHORIZATION_FAILED: topic {topic}.*User:bob --operation Read"),
        (lambda: write(bob), f"AccessRefused: TOPIC_AUTHORIZATION_FAILED: topic {topic}"),
        (lambda: write(alice, delivery="exactly-once"), None),
    ):
        if told is None:
            attempt()
            continue
        with pytest.raises(Exception, match=told):
            attempt()
    stream = spark.readStream.format("penstock").options(**wrong, subscribe=topic).load()
    query = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
    with pytest.raises(Exception, match=r"AccessRefused: .*SASL_AUTHENTICATION_FAILED"):
        query.awaitTermination(100)
