"""The options of Spark's connector and of Kafka's clients: all of them are taken, and do what the table says."""

from __future__ import annotations

import logging
import re
import shutil
import subprocess
from pathlib import Path

import pyspark
import pytest

from penstock.client.patience import Patience
from penstock_spark.errors import BadOption
from penstock_spark.options.catalogue import OPTIONS
from penstock_spark.options.kafka_clients import CONSUMER_CONFIGS, PRODUCER_CONFIGS
from penstock_spark.options.option import Effect, Use
from penstock_spark.reading.options import parse_read
from penstock_spark.reading.records.fetch_limits import FetchLimits
from penstock_spark.writing.batch_limits import BatchLimits
from penstock_spark.writing.options import parse_write, tell
from tests.spark.conftest import CONNECTOR
from tools.doc_tables import DOCS, spark_options, with_table

HERE = {"kafka.bootstrap.servers": "localhost:9092"}
READ, WRITE = {**HERE, "subscribe": "t"}, {**HERE, "topic": "t"}
NAMES = {option.name.lower() for option in OPTIONS}
OF_TESTS = {"_mocksystemtime"}
"""An option of the connector for its own tests."""
needs_jars = pytest.mark.skipif(
    not CONNECTOR.is_dir() or shutil.which("javap") is None,
    reason="make compat-setup fetches Spark's Kafka connector; needs a JDK",
)

SPARKS_GUIDE = (
    "assign", "subscribe", "subscribePattern", "kafka.bootstrap.servers", "startingTimestamp",
    "startingOffsetsByTimestamp", "startingOffsets", "endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets",
    "failOnDataLoss", "kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs",
    "maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "minPartitions", "maxRecordsPerPartition",
    "groupIdPrefix", "kafka.group.id", "includeHeaders", "startingOffsetsByTimestampStrategy", "topic",
)  # fmt: skip
"""Every option in the guide of Spark's Kafka connector."""


def parse(use: Use, given: dict[str, str]) -> None:
    """What happens on the driver before a query reaches a broker."""
    if use is Use.WRITE:
        tell(parse_write({**WRITE, **given}, streaming=True))
    else:
        parse_read({**READ, **given}, streaming=use is Use.STREAM).planner.connect()


# --- which options there are -----------------------------------------------------------------------------------------


@pytest.mark.feature("S-01", "S-02")
def test_every_option_of_sparks_guide_acts() -> None:
    acting = {option.name for option in OPTIONS if Effect.ACTS in (option.stream, option.batch, option.write)}
    assert set(SPARKS_GUIDE) <= acting
    assert {f"kafka.{name}".lower() for name in CONSUMER_CONFIGS | PRODUCER_CONFIGS} <= NAMES
    assert len(NAMES) == len(OPTIONS), "no name twice"


@needs_jars
@pytest.mark.feature("S-01", "S-02")
def test_every_option_in_the_jar_of_sparks_connector_is_known() -> None:
    [jar] = CONNECTOR.glob("spark-sql-kafka-*.jar")
    listing = subprocess.run(
        ["javap", "-p", "-c", "-cp", str(jar), "org.apache.spark.sql.kafka010.KafkaSourceProvider$"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    constructor = listing.partition("static {};")[2].partition("private static java.lang.Object $deserialize")[0]
    texts = set(re.findall(r"// String (\S+)\n\s+\d+: putstatic[^\n]+(?:KEY|TRIGGER|DELAY|RETRY|MS|TIMEOUT|PREFIX|"
                           r"HEADERS|ASSIGN|SUBSCRIBE|PATTERN|TIME):Ljava", constructor))  # fmt: skip
    assert {"startingoffsets", "topic", "groupidprefix", "kafkaconsumer.polltimeoutms"} <= texts
    assert {text.lower() for text in texts} - OF_TESTS - {"15m"} <= NAMES


LISTING = """
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
class Listing {
    public static void main(String[] arguments) {
        System.out.println(String.join(" ", ConsumerConfig.configNames()));
        System.out.println(String.join(" ", ProducerConfig.configNames()));
    }
}
"""


@needs_jars
def test_configs_of_clients_are_those_in_the_jar(tmp_path: Path) -> None:
    (tmp_path / "Listing.java").write_text(LISTING)
    path = f"{CONNECTOR}/*:{Path(pyspark.__file__).parent}/jars/*"
    command = ["java", "-cp", path, str(tmp_path / "Listing.java")]
    consumer, producer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert set(consumer.split()) == CONSUMER_CONFIGS
    assert set(producer.split()) == PRODUCER_CONFIGS


def test_the_table_of_the_documentation_is_up_to_date() -> None:
    text = (DOCS / "spark.md").read_text(encoding="utf-8")
    assert text == with_table(text, "options of Spark", spark_options()), "run .venv/bin/python tools/doc_tables.py"


# --- what they do ----------------------------------------------------------------------------------------------------


@pytest.mark.feature("S-01", "S-02")
@pytest.mark.parametrize("use", Use)
def test_what_is_ignored_is_named_in_one_warning(use: Use, caplog: pytest.LogCaptureFixture) -> None:
    ignored = {option.name: "1" for option in OPTIONS if option.effect(use) is Effect.IGNORED}
    given = {name: value for name, value in ignored.items() if name not in ("assign", "subscribePattern")}
    parse(use, given)
    [warning] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warning.startswith(f'format("penstock") ignores options of this {use.value}: ')
    assert [name for name in given if not re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", warning)] == []
    assert "`" not in warning
    assert "](" not in warning


@pytest.mark.parametrize("use", Use)
def test_what_is_refused_is_refused_with_the_reason(use: Use) -> None:
    for option in OPTIONS:
        if option.effect(use) is Effect.REFUSED:
            with pytest.raises(BadOption, match=f"^{re.escape(option.name)} cannot be used for a {use.value}: "):
                parse(use, {option.name: "1"})


def test_nothing_is_said_about_options_that_act(caplog: pytest.LogCaptureFixture) -> None:
    parse(Use.STREAM, {"kafka.group.id": "g", "maxOffsetsPerTrigger": "5", "kafka.fetch.max.bytes": "1000"})
    parse(Use.WRITE, {"kafka.linger.ms": "5", "kafka.acks": "all", "kafka.retries": "3"})
    assert caplog.records == []


def test_limits_of_reading() -> None:
    given = {
        "kafka.fetch.max.bytes": "5000", "kafka.max.partition.fetch.bytes": "3000", "kafka.fetch.min.bytes": "10",
        "kafka.fetch.max.wait.ms": "0", "kafka.max.poll.records": "7",
    }  # fmt: skip
    options = parse_read({**READ, **given}, streaming=False)
    assert options.limits == FetchLimits(max_bytes=3000, min_bytes=10, max_wait_ms=0, rows=7)


def test_patience_of_driver_and_tasks() -> None:
    given = {
        "fetchOffset.numRetries": "4", "fetchOffset.retryIntervalMs": "250", "kafkaConsumer.pollTimeoutMs": "9000",
        "kafka.default.api.timeout.ms": "20000", "kafka.request.timeout.ms": "3000", "kafka.retry.backoff.ms": "50",
        "kafka.retry.backoff.max.ms": "500", "kafka.reconnect.backoff.ms": "100",
        "kafka.reconnect.backoff.max.ms": "2000",
    }  # fmt: skip
    options = parse_read({**READ, **given}, streaming=False)
    assert (options.planner.timeout_s, options.broker.timeout_s, options.broker.request_timeout_s) == (20.0, 9.0, 3.0)
    assert options.broker.patience == Patience(pause_s=0.05, pause_s_max=0.5, away_s=0.1, away_s_max=2.0)
    assert options.planner.patience == Patience(
        attempts_max=4, pause_s=0.25, pause_s_max=0.25, away_s=0.1, away_s_max=2.0
    )


def test_limits_of_writing() -> None:
    given = {"kafka.batch.size": "100000", "kafka.max.request.size": "4000", "kafka.linger.ms": "20"}
    options = parse_write({**WRITE, **given}, streaming=False)
    assert options.limits == BatchLimits(batch_bytes=4000, record_bytes=4000, linger_s=0.02)
    given = {"kafka.retries": "0", "kafka.max.block.ms": "7000", "kafka.partitioner.ignore.keys": "true"}
    options = parse_write({**WRITE, **given}, streaming=False)
    assert (options.broker.timeout_s, options.broker.patience.attempts_max, options.ignores_keys) == (7.0, 1, True)
    options = parse_write({**WRITE, **given, "kafka.delivery.timeout.ms": "8000"}, streaming=False)
    assert options.broker.timeout_s == 8.0


@pytest.mark.parametrize("acks", ["0", "1"])
def test_fewer_acknowledgements_are_taken_and_not_done(acks: str, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        tell(parse_write({**WRITE, "kafka.acks": acks}, streaming=True))
    assert [record.getMessage() for record in caplog.records] == [
        f"kafka.acks is {acks}, and all is done: with less, acknowledged records could be lost"
    ]
    with pytest.raises(BadOption, match=r"kafka.acks is all, 1 or 0, not 'some'"):
        parse_write({**WRITE, "kafka.acks": "some"}, streaming=True)
