"""Real clients push their metrics, which then stand on the broker's metrics page; Kafka's tool says which."""

import re
import subprocess
import urllib.request
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer

from tests.compat.clients.java import run_tool, tool_command
from tests.support.broker_process import BrokerProcess
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-02")

INTERVAL_MS = 200
WITHIN_S = 60.0

Line = tuple[str, dict[str, str], float]


@pytest.fixture
def penstock(broker: BrokerProcess) -> PenstockProcess:
    if not isinstance(broker, PenstockProcess):
        pytest.skip("only Penstock has a metrics page")
    return broker


@pytest.fixture
def subscription(broker: BrokerProcess) -> Iterator[str]:
    """All metrics of every client, as Kafka's own tool asks for them."""
    name = unique_name("subscription")
    command(broker, "--alter", "--name", name, "--metrics", "*", "--interval", str(INTERVAL_MS))
    yield name
    command(broker, "--delete", "--name", name)


def command(broker: BrokerProcess, *arguments: str, code: int = 0) -> str:
    return run_tool("ClientMetricsCommand", "--bootstrap-server", broker.bootstrap, *arguments, code=code)


def pushed(broker: PenstockProcess, client_id: str) -> list[Line]:
    """The series of one client: family, labels, value."""
    with urllib.request.urlopen(f"http://{broker.host}:{broker.http_port}/metrics", timeout=10) as page:
        lines = page.read().decode().splitlines()
    found = []
    for line in lines:
        match = re.fullmatch(r"(\w+)\{(.*)\} (\S+)", line)
        if match and f'client_id="{client_id}"' in match[2]:
            found.append((match[1], dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2])), float(match[3])))
    return found


def wait_for(broker: PenstockProcess, client_id: str, family: str, *, above: float = 0, **labels: str) -> Line:
    """The first series of a client with this name, these labels, and a value that is large enough."""

    def there() -> Line | None:
        for line in pushed(broker, client_id):
            if line[0] == family and labels.items() <= line[1].items() and line[2] > above:
                return line
        return None

    found = wait_until(there, what=f"{family} of {client_id} is on the metrics page", within_s=WITHIN_S)
    assert found is not None
    return found


@pytest.mark.usefixtures("subscription")
def test_a_java_producer(penstock: PenstockProcess, topic: str) -> None:
    """ProducerPerformance at a steady pace: sums rise, and its last values outlive it."""
    name = unique_name("java")
    family = "kafka_client_producer_topic_record_send_total"
    arguments = (
        "--topic", topic, "--num-records", "1000000", "--record-size", "100", "--throughput", "200",
        "--bootstrap-server", penstock.bootstrap, "--command-property", f"client.id={name}",
    )  # fmt: skip
    running = subprocess.Popen(
        tool_command("ProducerPerformance", *arguments), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        seen = wait_for(penstock, name, family, topic=topic)[2]
        for _ in range(2):
            seen = wait_for(penstock, name, family, above=seen, topic=topic)[2]
    finally:
        running.kill()
        running.wait()
    lines = pushed(penstock, name)
    assert [value >= seen for each, _, value in lines if each == family] == [True]
    assert len(lines) > 50
    assert len({labels["client_instance_id"] for _, labels, _ in lines}) == 1
    _, info, _ = wait_for(penstock, name, "penstock_telemetry_client_info")
    assert (info["client_software_name"], info["client_source_address"]) == ("apache-kafka-java", penstock.host)
    assert re.fullmatch(r"\d+\.\d+\.\d+", info["client_software_version"])


@pytest.mark.usefixtures("subscription")
def test_a_java_consumer_of_a_group(penstock: PenstockProcess, topic: str) -> None:
    """A short-lived client pushes once, when it ends; that stands on the page, too."""
    name, group = unique_name("java"), unique_name("group")
    producer = Producer({"bootstrap.servers": penstock.bootstrap, "enable.metrics.push": False})
    for number in range(100):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(30) == 0
    run_tool(
        "consumer.ConsoleConsumer", "--bootstrap-server", penstock.bootstrap, "--topic", topic, "--group", group,
        "--from-beginning", "--max-messages", "100", "--timeout-ms", "30000",
        "--command-property", f"client.id={name}",
    )  # fmt: skip
    _, labels, value = wait_for(penstock, name, "kafka_client_consumer_fetch_manager_records_consumed_total")
    assert value == 100
    _, info, _ = wait_for(penstock, name, "penstock_telemetry_client_info", group_id=group)
    assert info["client_instance_id"] == labels["client_instance_id"]


@pytest.mark.usefixtures("subscription")
def test_librdkafka(penstock: PenstockProcess, topic: str) -> None:
    """A producer and a consumer through confluent-kafka."""
    sender, reader, group = unique_name("rdkafka"), unique_name("rdkafka"), unique_name("group")
    base = {"bootstrap.servers": penstock.bootstrap, "enable.metrics.push": True, "log_level": 3}
    producer = Producer({**base, "client.id": sender})
    consumer = Consumer({**base, "client.id": reader, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    try:

        def both_pushed() -> bool:
            producer.produce(topic, b"x")
            producer.poll(0)
            consumer.poll(0.05)
            families = {line[0] for line in pushed(penstock, sender) + pushed(penstock, reader) if line[2] > 0}
            return {
                "kafka_client_producer_request_latency_avg",
                "kafka_client_consumer_fetch_manager_fetch_latency_avg",
            } <= families

        wait_until(both_pushed, what="both have pushed", within_s=WITHIN_S)
        _, info, _ = wait_for(penstock, reader, "penstock_telemetry_client_info", group_id=group)
        assert info["client_software_name"] == "confluent-kafka-python"
    finally:
        producer.flush(10)
        consumer.close()


def test_clients_that_nobody_asks_push_nothing(penstock: PenstockProcess, topic: str) -> None:
    """No subscription matches this one, and another client may switch it off by itself."""
    name = unique_name("subscription")
    wanted, other, off = unique_name("wanted"), unique_name("other"), unique_name("wanted-off")
    match = f"client_id={wanted}.*|{off}"
    command(penstock, "--alter", "--name", name, "--metrics", "*", "--interval", str(INTERVAL_MS), "--match", match)
    base = {"bootstrap.servers": penstock.bootstrap, "log_level": 3}
    producers = [
        Producer({**base, "client.id": other}),
        Producer({**base, "client.id": off, "enable.metrics.push": False}),
        Producer({**base, "client.id": wanted}),
    ]
    try:

        def wanted_pushed() -> bool:
            for producer in producers:
                producer.produce(topic, b"x")
                producer.poll(0)
            return bool(pushed(penstock, wanted))

        wait_until(wanted_pushed, what=f"{wanted} has pushed", within_s=WITHIN_S)
        assert (pushed(penstock, other), pushed(penstock, off)) == ([], [])
    finally:
        for producer in producers:
            producer.flush(10)
        command(penstock, "--delete", "--name", name)


def test_kafkas_own_command(broker: BrokerProcess) -> None:
    """ClientMetricsCommand makes, lists, describes, refuses and deletes subscriptions."""
    name = unique_name("subscription")
    command(
        broker, "--alter", "--name", name, "--metrics", "org.apache.kafka.producer.,org.apache.kafka.consumer.",
        "--match", "client_software_name=apache-kafka-java,client_id=app-.*", "--interval", "60000",
    )  # fmt: skip
    wait_until(lambda: name in command(broker, "--list").split(), what=f"{name} is listed", within_s=WITHIN_S)
    described = command(broker, "--describe", "--name", name)
    assert "interval.ms=60000" in described
    assert "metrics=org.apache.kafka.producer.,org.apache.kafka.consumer." in described
    refused = command(broker, "--alter", "--name", name, "--interval", "5", code=1)
    assert "interval must be between 100 and 3600000" in refused
    command(broker, "--delete", "--name", name)
    wait_until(lambda: name not in command(broker, "--list").split(), what=f"{name} is gone", within_s=WITHIN_S)
