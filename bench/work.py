"""The pieces of work that are measured, each a function of an address that returns its figures."""

from __future__ import annotations

import datetime
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import kio.index
from kio.static.constants import EntityType

from bench.wire import Wire, fetch_frame, fetched_records, produce_error, produce_frame

Address = tuple[str, int]
Figures = dict[str, float]

CREATE_TOPICS, CREATE_TOPICS_VERSION = 19, 4


def create_topic(address: Address, name: str, partitions: int = 1) -> None:
    module: Any = kio.index.load_payload_module(CREATE_TOPICS, CREATE_TOPICS_VERSION, EntityType.request)
    request = module.CreateTopicsRequest(
        topics=(
            module.CreatableTopic(
                name=name, num_partitions=partitions, replication_factor=1, assignments=(), configs=()
            ),
        ),
        timeout=datetime.timedelta(seconds=30),
        validate_only=False,
    )
    wire = Wire(address)
    answer = wire.ask(CREATE_TOPICS, CREATE_TOPICS_VERSION, request, flexible=False)
    wire.close()
    code = answer.topics[0].error_code
    if code not in (0, 36):
        raise RuntimeError(f"creating {name}: error {code}")


def percentile(sorted_values: list[float], share: float) -> float:
    return sorted_values[min(len(sorted_values) - 1, int(len(sorted_values) * share))]


def pump(wire: Wire, frame: bytes, in_flight: int, seconds: float) -> tuple[int, float, list[float]]:
    """Keep `in_flight` copies of a produce frame under way; (answers, seconds, latencies in order)."""
    sent: deque[float] = deque()
    latencies: list[float] = []
    started = time.perf_counter()
    end = started + seconds
    for _ in range(in_flight):
        sent.append(time.perf_counter())
        wire.send(frame)
    while sent:
        answer = wire.receive()
        now = time.perf_counter()
        latencies.append(now - sent.popleft())
        if produce_error(answer):
            raise RuntimeError(f"produce was refused: error {produce_error(answer)}")
        if now < end:
            sent.append(time.perf_counter())
            wire.send(frame)
    return len(latencies), time.perf_counter() - started, latencies


def produce_batches(address: Address, seconds: float) -> Figures:
    """1,000 messages of 100 B a batch, 5 in flight, acks=all."""
    create_topic(address, "bench-batches")
    wire = Wire(address)
    frame = produce_frame("bench-batches", 0, 1000, 100)
    pump(wire, frame, 5, seconds / 5)
    count, took, latencies = pump(wire, frame, 5, seconds)
    latencies.sort()
    return {"messages_per_s": count * 1000 / took, "p99_ms": percentile(latencies, 0.99) * 1000}


def produce_single(address: Address, seconds: float) -> Figures:
    """One message of 100 B a request, 5 in flight."""
    create_topic(address, "bench-single")
    wire = Wire(address)
    frame = produce_frame("bench-single", 0, 1, 100)
    pump(wire, frame, 5, seconds / 5)
    count, took, _ = pump(wire, frame, 5, seconds)
    return {"requests_per_s": count / took}


def acknowledge(address: Address, seconds: float) -> Figures:
    """One message a request, one in flight: how long until it is safe."""
    create_topic(address, "bench-ack")
    wire = Wire(address)
    frame = produce_frame("bench-ack", 0, 1, 100)
    pump(wire, frame, 1, seconds / 5)
    _, _, latencies = pump(wire, frame, 1, seconds)
    return _spread(latencies)


def end_to_end(address: Address, seconds: float) -> Figures:
    """From sending a message until a fetch that waits for it has it."""
    create_topic(address, "bench-e2e")
    producer, consumer = Wire(address), Wire(address)
    frame = produce_frame("bench-e2e", 0, 1, 100)
    latencies: list[float] = []
    end = time.perf_counter() + seconds
    offset = 0
    while time.perf_counter() < end:
        consumer.send(fetch_frame("bench-e2e", 0, offset, max_bytes=1 << 20, max_wait_ms=5000, min_bytes=1))
        started = time.perf_counter()
        producer.send(frame)
        if not len(fetched_records(consumer.receive())):
            raise RuntimeError("a waiting fetch was answered without data")
        latencies.append(time.perf_counter() - started)
        producer.receive()
        offset += 1
    return _spread(latencies[len(latencies) // 5 :])


def fetch(address: Address, seconds: float) -> Figures:
    """8 MiB a request over the log that `produce_batches` filled."""
    wire = Wire(address)
    received = requests = 0
    offset = 0
    started = time.perf_counter()
    while time.perf_counter() < started + seconds:
        wire.send(fetch_frame("bench-batches", 0, offset, max_bytes=8 << 20, max_wait_ms=0, min_bytes=1))
        records = fetched_records(wire.receive())
        # Every batch has the same size, so the next offset needs no decoding.
        batches = len(records) // _batch_bytes(records)
        offset = offset + batches * 1000 if batches else 0
        received += len(records)
        requests += 1
    return {"bytes_per_s": received / (time.perf_counter() - started)}


def _batch_bytes(records: memoryview) -> int:
    return int.from_bytes(records[8:12], "big") + 12 if len(records) >= 12 else 1


def _spread(latencies: list[float]) -> Figures:
    latencies.sort()
    return {
        "p50_ms": percentile(latencies, 0.5) * 1000,
        "p99_ms": percentile(latencies, 0.99) * 1000,
        "p999_ms": percentile(latencies, 0.999) * 1000,
    }


WORK: dict[str, Callable[[Address, float], Figures]] = {
    "produce_batches": produce_batches,
    "produce_single": produce_single,
    "acknowledge": acknowledge,
    "end_to_end": end_to_end,
    "fetch": fetch,
}
