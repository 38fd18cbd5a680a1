"""Suites of Go clients: `go test` on a module, over the tests that talk to a broker.

A Go package mixes tests that need a broker with those that do not. The latter say nothing about a broker, so only the
tests of files that mention one are run and counted.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.suites import reports
from tests.suites.expected import deadline_s
from tests.suites.packages import go_module
from tests.suites.suite import KAFKA_VERSION, BrokerNeeds, Outcome, Result, Suite, Target, build, execute


class GoSuite(Suite):
    module: str
    checksum: str
    directory: str = "."
    # What a test file contains that talks to a broker.
    broker_mark: str
    skip: str = ""
    test_timeout_s: int = 120
    package = "Go module"
    tools: Sequence[str] = ("go",)

    def environment(self, target: Target, test: str) -> Mapping[str, str]:
        """How a test learns the address, and of what kind the broker is."""
        return {}

    @property
    def _tests(self) -> Path:
        return self.home / "source" / self.directory

    def fetch(self) -> None:
        go_module(self.module, f"v{self.version}", self.checksum, self.home / "source")
        build(["go", "test", "-mod=mod", "-c", "-o", str(self.home / "tests.bin"), "."], self._tests)

    def names(self) -> list[str]:
        """The test functions of every file that talks to a broker."""
        found = []
        for file in sorted(self._tests.glob("*_test.go")):
            text = file.read_text()
            if re.search(self.broker_mark, text):
                found += re.findall(r"^func (Test\w+)\(t \*testing\.T\)", text, re.MULTILINE)
        return [name for name in found if not (self.skip and re.fullmatch(self.skip, name))]

    def run(self, target: Target, only: Sequence[str] = ()) -> dict[str, Result]:
        """Each test function in a process of its own: a panic, or a deadline, ends only that one."""
        results: dict[str, Result] = {}
        wanted = sorted({name.partition("/")[0] for name in only}) or self.names()
        for number, name in enumerate(wanted, 1):
            print(f"\r    {self.name} on {target.kind}: {number} of {len(wanted)}, {name:60.60}", end="", flush=True)
            results |= self._run(target, name)
        print(flush=True)
        return {name: result for name, result in results.items() if not only or name in only}

    def _run(self, target: Target, name: str) -> dict[str, Result]:
        log = target.directory / f"{name}.log"
        timeout_s = deadline_s(self.name, name, target.kind, self.test_timeout_s)
        tests = [str(self.home / "tests.bin"), "-test.v=test2json", f"-test.timeout={timeout_s}s"]
        execute(
            ["go", "tool", "test2json", "-t", *tests, "-test.run", f"^{name}$"],
            directory=self._tests,
            log=log,
            environment=self.environment(target, name),
            within_s=timeout_s + 30,
            label=name,
        )
        with log.open(errors="replace") as lines:
            return reports.from_go(lines) or {name: Result(outcome=Outcome.FAILED, message="did not end")}


class FranzGo(GoSuite):
    """franz-go: chains of producers and groups that hand on half a million records, transactions and share groups."""

    name = "franz-go"
    version = "1.22.2"
    client = "franz-go"
    module = "github.com/twmb/franz-go"
    checksum = "h1:EdwIHGzD/4mgCpl/sNS0C74JYn6cL/r2KYS+8UC96Ww="
    directory = "pkg/kgo"
    broker_mark = r"newTestClient\(|getSeedBrokers\(|\badm\(\)"
    test_timeout_s = 400
    # Fewer records than the half million of theirs: the chains are the same, and two cores are enough.
    RECORDS = "20000"

    def environment(self, target: Target, test: str) -> Mapping[str, str]:
        return {
            "KGO_SEEDS": target.address,
            "KGO_TEST_RF": "1",
            "KGO_TEST_RECORDS": self.RECORDS,
            "KGO_LOG_LEVEL": "none",
        }


class KafkaGo(GoSuite):
    """kafka-go: its tests know one address, localhost:9092."""

    name = "kafka-go"
    version = "0.4.51"
    client = "segmentio/kafka-go"
    module = "github.com/segmentio/kafka-go"
    checksum = "h1:JgDPPG75tC1rWIS2Me6MwcvXJ6f49UQ4HjAOef71Hno="
    broker_mark = r"localhost:9092|newLocalClient"
    needs = BrokerNeeds(port=9092, host="localhost")
    # They leave themselves out from Kafka 3 on, since they failed there; most of them pass on today's.
    FOR_KAFKA_2 = (
        "TestClientInitProducerId",
        "TestClientAddPartitionsToTxn",
        "TestClientAddOffsetsToTxn",
        "TestClientTxnOffsetCommit",
    )

    def environment(self, target: Target, test: str) -> Mapping[str, str]:
        return {"KAFKA_VERSION": "2.8.1" if test in self.FOR_KAFKA_2 else KAFKA_VERSION}


class ConfluentKafkaGo(GoSuite):
    """confluent-kafka-go: Confluent's integration tests, over the librdkafka that the module brings."""

    name = "confluent-kafka-go"
    version = "2.11.1"
    client = "confluent-kafka-go (librdkafka)"
    module = "github.com/confluentinc/confluent-kafka-go/v2"
    checksum = "h1:qGCQznyp2BxyBNyOE+M7O1YS2tI1/Y60O0jQP452zA4="
    directory = "kafka"
    broker_mark = r"testconfRead\(\)"
    tools = ("go", "gcc")
    test_timeout_s = 900

    def fetch(self) -> None:
        super().fetch()
        (self._tests / "testconf.json").write_text('{"Brokers": "$BROKERS", "TopicName": "test", "GroupID": "group"}')

    def environment(self, target: Target, test: str) -> Mapping[str, str]:
        return {"BROKERS": target.address}

    def _run(self, target: Target, name: str) -> dict[str, Result]:
        """Not in the second in which the one before began: the names of a test's topics come from it."""
        time.sleep(1.0)
        return super()._run(target, name)
