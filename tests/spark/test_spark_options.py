"""Options: what they mean, and what is refused by name."""

from __future__ import annotations

import pytest

from penstock.client.offsets import EARLIEST, LATEST
from penstock.model.topic_partition import TopicPartition
from penstock_spark.errors import BadOption
from penstock_spark.reading.options import parse_read
from penstock_spark.reading.planning.positions import AtOffsets, AtTimes, Edge
from penstock_spark.reading.planning.selection import Assigned, Matching, Subscribed
from penstock_spark.user_options import UserOptions, parse_broker

HERE = {"kafka.bootstrap.servers": "localhost:9092"}
LEAST = {**HERE, "subscribe": "prices"}


def test_the_least_and_its_defaults() -> None:
    options = parse_read(LEAST, streaming=False)
    assert options.selection == Subscribed(("prices",))
    assert (options.starting, options.ending) == (Edge(EARLIEST), Edge(LATEST))
    assert options.columns == ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
    assert (options.committed, options.tolerant, options.min_partitions) == (True, False, None)
    assert parse_read(LEAST, streaming=True).starting == Edge(LATEST)


def test_names_come_in_any_case_with_sparks_own_among_them() -> None:
    given = {"KAFKA.bootstrap.servers": "a:1", "SUBSCRIBE": " a , b,a", "checkpointlocation": "/x", "path": "/y"}
    assert parse_read(given, streaming=True).selection == Subscribed(("a", "b"))


def test_every_way_to_select() -> None:
    assert parse_read({**HERE, "subscribePattern": "pri.*"}, streaming=False).selection == Matching("pri.*")
    assigned = parse_read({**HERE, "assign": '{"a": [1, 0], "b": [2]}'}, streaming=False).selection
    places = (TopicPartition("a", 1), TopicPartition("a", 0), TopicPartition("b", 2))
    assert assigned == Assigned(places)


@pytest.mark.parametrize(
    ("given", "position"),
    [
        ({"startingOffsets": "earliest"}, Edge(EARLIEST)),
        ({"startingOffsets": '{"a": {"0": 5}}'}, AtOffsets("startingOffsets", {TopicPartition("a", 0): 5})),
        ({"startingOffsets": '{"a": {"0": -2}}'}, AtOffsets("startingOffsets", {TopicPartition("a", 0): EARLIEST})),
        ({"startingTimestamp": "1000"}, AtTimes("startingTimestamp", None, 1000)),
        ({"startingTimestamp": "1000", "startingOffsets": "earliest"}, AtTimes("startingTimestamp", None, 1000)),
        (
            {"startingOffsetsByTimestamp": '{"a": {"1": 9}}', "startingOffsetsByTimestampStrategy": "latest"},
            AtTimes("startingOffsetsByTimestamp", {TopicPartition("a", 1): 9}, or_latest=True),
        ),
    ],
)
def test_where_reading_starts(given: dict[str, str], position: object) -> None:
    assert parse_read({**LEAST, **given}, streaming=False).starting == position


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "kafka.bootstrap.servers is missing"),
        ({"kafka.bootstrap.servers": "localhost", "subscribe": "a"}, "host:port"),
        (HERE, "exactly one of subscribe"),
        ({**LEAST, "assign": "{}"}, "exactly one of subscribe"),
        ({**HERE, "subscribe": " , "}, "subscribe names no topic"),
        ({**HERE, "subscribePattern": "("}, "is no regular expression of Java"),
        ({**HERE, "assign": '["a"]'}, "assign is like"),
        ({**HERE, "assign": '{"a": [-1]}'}, "assign is like"),
        ({**LEAST, "subscrbe": "b"}, r"there is no option subscrbe: did you mean subscribe\?"),
        ({**LEAST, "StartingOfsets": "b"}, r"there is no option startingofsets: did you mean startingOffsets\?"),
        ({**LEAST, "request.timeout.ms": "b"}, r"did you mean kafka.request.timeout.ms\?"),
        ({**LEAST, "kafka.fetch.max.byte": "b"}, r"did you mean kafka.fetch.max.bytes\?"),
        ({**LEAST, "colour": "b"}, "there is no option colour; docs/spark.md lists all options"),
        ({**LEAST, "kafka.security.protocol": "TLS"}, "kafka.security.protocol is one of PLAINTEXT, SSL"),
        ({**LEAST, "kafka.security.protocol": "SASL_SSL", "kafka.sasl.mechanism": "GSSAPI"}, "kafka.sasl.mechanism is"),
        ({**LEAST, "kafka.ssl.truststore.type": "JKS"}, "kafka.ssl.truststore.type is JKS, but only PEM can be read"),
        ({**LEAST, "startingOffsets": "latest"}, "startingOffsets cannot be latest"),
        ({**LEAST, "startingOffsets": '{"a": {"0": -1}}'}, "cannot be -1"),
        ({**LEAST, "startingOffsets": "yesterday"}, "startingOffsets has a offset for each partition"),
        ({**LEAST, "startingOffsets": '{"a": {"0": -3}}'}, "startingOffsets has"),
        ({**LEAST, "startingOffsets": '{"a": {"0": "5"}}'}, "startingOffsets has"),
        ({**LEAST, "endingOffsets": "earliest"}, "endingOffsets cannot be earliest"),
        ({**LEAST, "startingTimestamp": "-5"}, "startingTimestamp is a time in ms"),
        ({**LEAST, "startingOffsetsByTimestampStrategy": "maybe"}, "is error or latest"),
        ({**LEAST, "minPartitions": "0"}, "minPartitions is a number above 0"),
        ({**LEAST, "maxRecordsPerPartition": "many"}, "maxRecordsPerPartition is a number above 0"),
        ({**LEAST, "failOnDataLoss": "perhaps"}, "failOnDataLoss is true or false"),
        ({**LEAST, "kafka.isolation.level": "serializable"}, "read_committed or read_uncommitted"),
        ({**LEAST, "columns": "value,price"}, "columns names price"),
        ({**LEAST, "columns": ","}, "columns names nothing"),
        ({**LEAST, "minPartitions": "abc"}, "minPartitions is a number above 0, not 'abc'"),
        ({**LEAST, "minPartitions": "-3"}, "minPartitions is a number above 0, not '-3'"),
        ({**LEAST, "kafka.fetch.max.wait.ms": "-1"}, "kafka.fetch.max.wait.ms is a number and not negative, not '-1'"),
        ({**LEAST, "kafka.auto.offset.reset": "latest"}, "startingOffsets says where a query begins"),
        ({**LEAST, "delivery": "exactly-once"}, "delivery cannot be used for a batch read: it is for writing"),
    ],
)
def test_what_is_refused(given: dict[str, str], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        parse_read(given, streaming=False)


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp"])
def test_streams_have_no_end(name: str) -> None:
    with pytest.raises(BadOption, match=f"{name} cannot be used for a stream read: it is for batch queries"):
        parse_read({**LEAST, name: "latest"}, streaming=True)


@pytest.mark.parametrize(("text", "seconds"), [("500ms", 0.5), ("30s", 30), ("15m", 900), ("2000", 2), ("1h", 3600)])
def test_times(text: str, seconds: float) -> None:
    assert parse_read({**LEAST, "maxTriggerDelay": text}, streaming=True).max_delay_s == seconds


def test_security_under_the_names_of_sparks_own_connector() -> None:
    given = {
        "kafka.bootstrap.servers": "broker:9094",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": 'a.b.ScramLoginModule required username="u" password="geheim";',
        "kafka.ssl.truststore.location": "/ca.pem",
        "kafka.ssl.truststore.type": "PEM",
    }
    broker = parse_broker(UserOptions(given))
    security = broker.security
    assert (security.protocol, security.mechanism, security.username) == ("SASL_SSL", "SCRAM-SHA-512", "u")
    assert (security.password, security.authorities_file) == ("geheim", "/ca.pem")
    assert "geheim" not in repr(broker)
