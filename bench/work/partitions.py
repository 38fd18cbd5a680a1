"""Producing to a thousand partitions at once, so that all of them are dirty all the time, acks=all."""

from __future__ import annotations

from bench.pump import Lane, Pumped, pump_all
from bench.spread import Figures, spread
from bench.wire import batch_of, create_topic, produce_frame_of
from bench.work.produce import IN_FLIGHT, MESSAGE_BYTES
from bench.work.run import Run

TOPIC, PARTITIONS = "bench-partitions", 1000
LANES = 20
WIDE_LANES = 4


def partitions(run: Run) -> Figures:
    """20 connections with 5 requests in flight each. A request is one message for one partition, as librdkafka sends
    it, and each connection goes round its own 50 partitions: 100 partitions are written at any time, all 1,000 about
    every thousandth request."""
    lanes = []
    batch = batch_of(1, MESSAGE_BYTES)
    create_topic(run.address, TOPIC, PARTITIONS)
    for number in range(LANES):
        frames = [produce_frame_of(TOPIC, {index: batch}) for index in range(number, PARTITIONS, LANES)]
        lanes.append(Lane(run.address, TOPIC, frames, IN_FLIGHT))
    return _figures(run, lanes, 1)


def partitions_wide(run: Run) -> Figures:
    """4 connections with 1 request in flight each. A request holds one message for each of 250 partitions, as the Java
    client sends it: all 1,000 are written at any time."""
    lanes = []
    batch = batch_of(1, MESSAGE_BYTES)
    create_topic(run.address, TOPIC, PARTITIONS)
    for number in range(WIDE_LANES):
        frame = produce_frame_of(TOPIC, dict.fromkeys(range(number, PARTITIONS, WIDE_LANES), batch))
        lanes.append(Lane(run.address, TOPIC, [frame], 1, PARTITIONS // WIDE_LANES))
    return _figures(run, lanes, PARTITIONS // WIDE_LANES)


def _figures(run: Run, lanes: list[Lane], messages: int) -> Figures:
    pump_all(lanes, run.warm_up)
    run.meter.begin("Produce")
    pumped: Pumped = pump_all(lanes, run.seconds)
    figures = run.meter.end(pumped.answers * messages)
    for lane in lanes:
        lane.close()
    rate = pumped.answers / pumped.seconds
    return {"requests_per_s": rate, "messages_per_s": rate * messages, **spread(pumped.latencies), **figures}
