"""Producing over one connection with five requests in flight, as clients do, acks=all."""

from __future__ import annotations

from bench.pump import pump
from bench.spread import Figures, spread
from bench.wire import produce_frame
from bench.work.run import Run

IN_FLIGHT = 5
MESSAGE_BYTES = 100
BATCHES_TOPIC, BATCH_MESSAGES = "bench-batches", 1000
# What fits into the 16 KiB that the Java client gathers by default.
CLIENT_BATCH_MESSAGES = 150


def produce_batches(run: Run) -> Figures:
    """Batches of 1,000 × 100 B."""
    return _produce(run, BATCHES_TOPIC, BATCH_MESSAGES)


def produce_single(run: Run) -> Figures:
    """One message of 100 B a request."""
    return _produce(run, "bench-single", 1)


def produce_client(run: Run) -> Figures:
    """Batches of 150 × 100 B, about what a client with Kafka's default of 16 KiB a batch sends."""
    return _produce(run, "bench-client", CLIENT_BATCH_MESSAGES)


def _produce(run: Run, topic: str, messages: int) -> Figures:
    run.create_topic(topic)
    lane = run.lane(topic, [produce_frame(topic, 0, messages, MESSAGE_BYTES)], IN_FLIGHT)
    pump(lane, run.warm_up)
    run.meter.begin("Produce")
    pumped = pump(lane, run.seconds)
    figures = run.meter.end(pumped.answers * messages)
    lane.close()
    rate = pumped.answers / pumped.seconds
    return {"messages_per_s": rate * messages, "requests_per_s": rate, **spread(pumped.latencies), **figures}
