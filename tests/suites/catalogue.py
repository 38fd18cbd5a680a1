"""The suites there are, and the packages that were looked into and have none."""

from __future__ import annotations

from tests.suites.go_suite import ConfluentKafkaGo, FranzGo, KafkaGo
from tests.suites.kafka_python import KafkaPython
from tests.suites.librdkafka import Librdkafka
from tests.suites.node_rdkafka import NodeRdkafka
from tests.suites.suite import Suite

SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (KafkaPython(), Librdkafka(), FranzGo(), KafkaGo(), ConfluentKafkaGo(), NodeRdkafka())
}

# Packages whose tests cannot be run from what is published, and what covers the client instead.
WITHOUT_TESTS: dict[str, str] = {
    "confluent-kafka (PyPI) 2.16.1": "the source package has no tests; its engine's own tests and those of "
    "confluent-kafka-go run here, the client itself in `make compat`",
    "aiokafka (PyPI) 0.14.0": "the source package has no tests, nor had 0.5.2, 0.7.2, 0.8.1 and 0.12.0; `make compat`",
    "kafkajs (npm) 2.2.4": "one test of the retry defaults, none with a broker; `make compat`",
    "@platformatic/kafka (npm) 1.35.0": "no tests in the package",
    "@confluentinc/kafka-javascript (npm) 1.10.1": "none of its own; it carries librdkafka with its tests, used here",
    "sarama (Go module) 1.61.1": "its functional tests want five brokers and replication factor 3",
    "pykafka (PyPI) 2.8.0, no-kafka (npm) 3.4.4": "speak versions of the protocol that Kafka 4 has dropped",
}
