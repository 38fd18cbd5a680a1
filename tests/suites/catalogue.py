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
