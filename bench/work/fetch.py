"""Reading: 8 MiB a request, one in flight, over the log that `produce_batches` wrote."""

from __future__ import annotations

import time

from bench.pump import pump_count
from bench.spread import Figures, spread
from bench.wire import produce_frame
from bench.work.produce import BATCH_MESSAGES, BATCHES_TOPIC, IN_FLIGHT, MESSAGE_BYTES
from bench.work.run import Run

# About 500 MB: more than any cache of a processor, less than the system keeps in memory.
BATCHES_MIN = 5_000


def fetch(run: Run) -> Figures:
    run.create_topic(BATCHES_TOPIC)
    reader = run.reader(BATCHES_TOPIC, BATCH_MESSAGES)
    if not reader.has_batches(BATCHES_MIN):  # `produce_batches` was left out, or short
        frame = produce_frame(BATCHES_TOPIC, 0, BATCH_MESSAGES, MESSAGE_BYTES)
        lane = run.lane(BATCHES_TOPIC, [frame], IN_FLIGHT)
        pump_count(lane, BATCHES_MIN)
        lane.close()
    reader.read(run.warm_up)
    run.meter.begin("Fetch")
    started = time.perf_counter()
    received, latencies = reader.read(run.seconds)
    took = time.perf_counter() - started
    figures = run.meter.end(received // MESSAGE_BYTES)
    reader.close()
    return {"bytes_per_s": received / took, **spread(latencies), **figures}
