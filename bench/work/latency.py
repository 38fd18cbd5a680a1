"""One message at a time: how long until it is acknowledged, and until a waiting consumer has it."""

from __future__ import annotations

import time

from bench.pump import pump
from bench.spread import Figures, spread
from bench.wire import Wire, create_topic, error_at, fetch_answer_head_bytes, fetch_frame, produce_frame
from bench.work.produce import MESSAGE_BYTES
from bench.work.run import Run

# Long enough for the fetch to have arrived and to wait, so that it is a waiting one which is measured.
SETTLE_S = 0.0005
_LOG_END_OFFSET_AT = 4 + 4 + 4 + 2 + 4 + 4 + 2  # before the topic's name; then count, index, error


def acknowledge(run: Run) -> Figures:
    """One message a request, one in flight, acks=all."""
    topic = "bench-ack"
    run.create_topic(topic)
    lane = run.lane(topic, [produce_frame(topic, 0, 1, MESSAGE_BYTES)])
    pump(lane, run.warm_up)
    run.meter.begin("Produce")
    pumped = pump(lane, run.seconds)
    figures = run.meter.end(pumped.answers)
    lane.close()
    return {**spread(pumped.latencies), **figures}


def end_to_end(run: Run) -> Figures:
    """From sending a message until a fetch that waits for it on another connection has it."""
    topic = "bench-e2e"
    create_topic(run.address, topic)
    with Wire(run.address) as producer, Wire(run.address) as consumer:
        offset = _log_end(consumer, topic)
        offset += len(_pass_on(producer, consumer, topic, offset, run.warm_up))
        run.meter.begin("Produce")
        latencies = _pass_on(producer, consumer, topic, offset, run.seconds)
        figures = run.meter.end(len(latencies))
    return {**spread(latencies), **figures}


def _pass_on(producer: Wire, consumer: Wire, topic: str, offset: int, seconds: float) -> list[float]:
    frame = produce_frame(topic, 0, 1, MESSAGE_BYTES)
    head_bytes = fetch_answer_head_bytes(topic) - 4
    latencies: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        consumer.send(fetch_frame(topic, 0, offset, max_bytes=1 << 20, max_wait_ms=5000, min_bytes=1))
        time.sleep(SETTLE_S)
        started = time.perf_counter()
        producer.send(frame)
        answer = consumer.receive()
        latencies.append(time.perf_counter() - started)
        if len(answer) <= head_bytes:
            raise RuntimeError("a waiting fetch was answered without data")
        at = error_at(topic) - 4
        if any(producer.receive()[at : at + 2]):
            raise RuntimeError("produce was refused")
        offset += 1
    return latencies


def _log_end(wire: Wire, topic: str) -> int:
    """The high watermark, from a fetch that waits for nothing."""
    wire.send(fetch_frame(topic, 0, 0, max_bytes=1, max_wait_ms=0, min_bytes=0))
    at = _LOG_END_OFFSET_AT + len(topic) + 4 + 4 + 2 - 4
    return int.from_bytes(wire.receive()[at : at + 8], "big")
