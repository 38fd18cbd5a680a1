"""Ten thousand open connections, a hundred of them busy.

Every connection has asked for ApiVersions and was answered. Then a hundred produce, one message a request and one
request in flight each, acks=all, without a pause between answer and next request; the others stay open and idle, and at
the end each of them must still answer. The hundred share ten partitions.
"""

from __future__ import annotations

import resource
import time

from bench.pump import Lane, pump_all
from bench.spread import Figures, spread
from bench.wire import API_VERSIONS, Wire, create_topic, produce_frame
from bench.work.produce import MESSAGE_BYTES
from bench.work.run import Run

BUSY = 100
PARTITIONS = 10
SPARE_DESCRIPTORS = 200


def connections(run: Run) -> Figures:
    topic = "bench-connections"
    create_topic(run.address, topic, PARTITIONS)
    allow_descriptors(run.connections)
    before_mb = run.meter.memory_mb()
    idle: list[Wire] = []
    try:
        set_up = [_open(run, idle) for _ in range(max(run.connections - BUSY, 1))]
        each_kib = (run.meter.memory_mb() - before_mb) * 1024 / len(idle)
        busy = _keep_busy(run, topic)
        errors = sum(not _still_answers(wire) for wire in idle)
    finally:
        for wire in idle:
            wire.close()
    return {
        "held": len(idle) + BUSY - errors,
        "errors": errors,
        **busy,
        **{f"set_up_{name}": value for name, value in spread(set_up).items()},
        "kib_per_connection": each_kib,
    }


def _open(run: Run, idle: list[Wire]) -> float:
    """Seconds from the beginning of a connection to its first answer."""
    started = time.perf_counter()
    wire = Wire(run.address)
    idle.append(wire)
    _ask(wire)
    return time.perf_counter() - started


def _keep_busy(run: Run, topic: str) -> Figures:
    frames = [produce_frame(topic, index, 1, MESSAGE_BYTES) for index in range(PARTITIONS)]
    lanes = [Lane(run.address, topic, [frames[number % PARTITIONS]]) for number in range(BUSY)]
    pump_all(lanes, run.warm_up)
    run.meter.begin("Produce")
    pumped = pump_all(lanes, run.seconds)
    figures = run.meter.end(pumped.answers)
    for lane in lanes:
        lane.close()
    return {"requests_per_s": pumped.answers / pumped.seconds, **spread(pumped.latencies), **figures}


def _ask(wire: Wire) -> None:
    wire.send(API_VERSIONS)
    wire.receive()


def _still_answers(wire: Wire) -> bool:
    try:
        _ask(wire)
    except OSError:
        return False
    return True


def allow_descriptors(connections: int) -> None:
    """Let this process have so many connections and some files. RuntimeError if the system does not."""
    count = connections + SPARE_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        if hard != resource.RLIM_INFINITY and hard < count:
            raise RuntimeError(f"{count} connections need more open files than the {hard} allowed: ulimit -n {count}")
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
