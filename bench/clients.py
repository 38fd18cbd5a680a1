"""`python -m bench.clients`: the same with real clients, which cost more than the broker does.

- Kafka's own `ProducerPerformance` and `ConsumerPerformance`: a million messages of 1,024 B, as fast as they go;
- librdkafka (confluent-kafka): a producer and a consumer of the same messages in one Python process each.

Client and broker share the machine, so the figure is what both can do together.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import store
from bench.fitness import LEAST
from bench.rivals import Kafka, Penstock, Rival, end_in_order_on_sigterm, java
from bench.rounds import medians
from bench.spread import Figures
from bench.targets import Medians
from bench.wire import create_topic

MESSAGE_BYTES = 1024
TIMEOUT_S = 300
_SENT = re.compile(
    r"(\d+) records sent, ([\d.]+) records/sec .*?, ([\d.]+) ms avg latency, ([\d.]+) ms max latency, "
    r"(\d+) ms 50th, (\d+) ms 95th, (\d+) ms 99th, (\d+) ms 99\.9th"
)


def java_producer(server: str, topic: str, messages: int) -> Figures:
    """org.apache.kafka.tools.ProducerPerformance with the client's defaults."""
    flags = ["--topic", topic, "--num-records", str(messages), "--record-size", str(MESSAGE_BYTES)]
    flags += ["--throughput", "-1", "--producer-props", f"bootstrap.servers={server}"]
    output = _java("org.apache.kafka.tools.ProducerPerformance", *flags)
    found = _SENT.findall(output)
    if not found or int(found[-1][0]) != messages:
        raise RuntimeError(f"ProducerPerformance did not send {messages} records:\n{output}")
    _, rate, average, _, p50, _, p99, p999 = map(float, found[-1])
    return {"messages_per_s": rate, "average_ms": average, "p50_ms": p50, "p99_ms": p99, "p999_ms": p999}


def java_consumer(server: str, topic: str, messages: int) -> Figures:
    """org.apache.kafka.tools.ConsumerPerformance; its time without the group's first assignment."""
    flags = ["--bootstrap-server", server, "--topic", topic, "--num-records", str(messages), "--timeout", "60000"]
    lines = _java("org.apache.kafka.tools.ConsumerPerformance", *flags).strip().splitlines()
    names = [name.strip() for name in lines[-2].split(",")]
    values = dict(zip(names, (value.strip() for value in lines[-1].split(",")), strict=True))
    if int(values["data.consumed.in.nMsg"]) < messages:
        raise RuntimeError(f"ConsumerPerformance read too little: {values}")
    return {"messages_per_s": float(values["fetch.nMsg.sec"]), "mb_per_s": float(values["fetch.MB.sec"])}


def _java(main_class: str, *arguments: str) -> str:
    # The heap that kafka-run-class.sh gives its tools.
    command = java(main_class, *arguments, options=("-Xmx512M",))
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode:
        raise RuntimeError(f"{main_class} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def librdkafka_producer(server: str, topic: str, messages: int) -> Figures:
    from confluent_kafka import Producer

    failures: list[str] = []

    def on_delivery(error: object, _: object) -> None:
        if error is not None:
            failures.append(str(error))

    producer = Producer({"bootstrap.servers": server, "linger.ms": 5, "queue.buffering.max.messages": 100_000})
    value = bytes(MESSAGE_BYTES)
    started = time.perf_counter()
    sent = 0
    while sent < messages:
        try:
            producer.produce(topic, value, on_delivery=on_delivery)
            sent += 1
        except BufferError:
            producer.poll(0.01)
        if sent % 1000 == 0:
            producer.poll(0)
    left = producer.flush(TIMEOUT_S)
    if left or failures:
        raise RuntimeError(f"{left} messages left, {len(failures)} failed: {failures[:1]}")
    return {"messages_per_s": messages / (time.perf_counter() - started)}


def librdkafka_consumer(server: str, topic: str, messages: int) -> Figures:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": server, "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    first = consumer.consume(1, TIMEOUT_S)
    started = time.perf_counter()
    count = len(first)
    while count < messages:
        batch = consumer.consume(10_000, 1.0)
        if any(message.error() for message in batch) or time.perf_counter() > started + TIMEOUT_S:
            raise RuntimeError(f"reading {topic} failed after {count} messages")
        count += len(batch)
    took = time.perf_counter() - started
    consumer.close()
    return {"messages_per_s": count / took}


CLIENTS: dict[str, Callable[[str, str, int], Figures]] = {
    "ProducerPerformance": java_producer,
    "ConsumerPerformance": java_consumer,
    "librdkafka producer": librdkafka_producer,
    "librdkafka consumer": librdkafka_consumer,
}
TOPICS = {"ProducerPerformance": "bench-java", "ConsumerPerformance": "bench-java"}


def one_round(kind: type[Rival], messages: int) -> Medians:
    """Each consumer reads what the producer before it wrote."""
    result: Medians = {}
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as directory:
        broker = kind(Path(directory))
        try:
            broker.start()
            server = f"{broker.address[0]}:{broker.address[1]}"
            for name, client in CLIENTS.items():
                topic = TOPICS.get(name, "bench-librdkafka")
                create_topic(broker.address, topic)
                cpu = broker.cpu_seconds()
                figures = client(server, topic, messages)
                figures["cpu_ms_per_1000_messages"] = (broker.cpu_seconds() - cpu) * 1e6 / messages
                result[name] = figures
                shown = "  ".join(f"{key} {value:,.1f}" for key, value in figures.items())
                print(f"{kind.name:10} {name:20} {shown}", flush=True)
        finally:
            broker.stop()
    return result


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.clients", description=__doc__)
    parser.add_argument("--rounds", type=int, default=LEAST["clients"]["rounds"])
    parser.add_argument("--messages", type=int, default=LEAST["clients"]["messages"])
    parser.add_argument("--penstock-only", action="store_true")
    options = parser.parse_args()
    kinds: list[type[Rival]] = [Penstock] if options.penstock_only else [Penstock, Kafka]
    rounds: dict[str, list[Medians]] = {kind.name: [] for kind in kinds}
    for number in range(options.rounds):
        for kind in kinds if number % 2 == 0 else reversed(kinds):
            rounds[kind.name].append(one_round(kind, options.messages))
    figures = {name: medians(measured) for name, measured in rounds.items()}
    for name in CLIENTS if len(kinds) > 1 else ():
        ours, theirs = (figures[kind.name][name]["messages_per_s"] for kind in kinds)
        print(f"{name:20} Kafka {theirs:12,.0f} msg/s   Penstock {ours:12,.0f} msg/s   {ours / theirs:.2f} ×")
    store.save("clients", {"options": vars(options), "clients": figures})
    return 0


if __name__ == "__main__":
    end_in_order_on_sigterm()
    sys.exit(main())
