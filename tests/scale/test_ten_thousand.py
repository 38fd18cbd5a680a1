"""Ten thousand partitions with data: started after kill -9, in memory, in open files; and how late the loop is.

The quick forms are smaller and check no times, since test machines are shared; `make scale` runs the others, which hold
the broker to its word. Every figure is printed.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.scale.control import Control, control_loop
from tests.scale.scaled_broker import Lag, ScaledBroker, produce_frame
from tests.support.batches import Record, batch, values
from tests.support.raw_client import LATEST, RawClient
from tests.support.waiting import wait_until

READY_SECONDS_MAX = 5.0
STOP_SECONDS_MAX = 8.0
ANONYMOUS_MB_MAX = 400.0
OPEN_FILES_MAX = 2000
LATE_SHARE_MAX = 0.001  # over 10 ms: the p99.9 of the loop's lag
TOPICS = [f"scale-{number}" for number in range(10)]

CONFIG = """\
storage:
  compaction_check_interval_ms: 500
  checkpoint_interval_ms: 2000
"""


class Size(NamedTuple):
    partitions: int
    compacted_mb: int
    tail_batches: int
    metadata_seconds: float
    timed: bool


QUICK = Size(partitions=1000, compacted_mb=10, tail_batches=50_000, metadata_seconds=1.0, timed=False)
FULL = Size(partitions=10_000, compacted_mb=500, tail_batches=4_000_000, metadata_seconds=25.0, timed=True)


def sizes(*marks: pytest.MarkDecorator) -> pytest.MarkDecorator:
    """Both forms, and the marks of the small one. Only that proves features: the other holds times, which need the
    machine for themselves.
    """
    return pytest.mark.parametrize(
        "size",
        [
            pytest.param(QUICK, id="quick", marks=marks),
            pytest.param(FULL, id="full", marks=[pytest.mark.slow, pytest.mark.timeout(900)]),
        ],
    )


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[ScaledBroker]:
    process = ScaledBroker(tmp_path, CONFIG)
    process.prepare()
    try:
        yield process
    finally:
        process.kill9()


def show(what: str, figure: object) -> None:
    print(f"{what:44} {figure}")


def check_lag(size: Size, what: str, lag: Lag, control: Control) -> None:
    """p99.9 below 10 ms; where there are fewer than a thousand samples, one may be late.

    On a machine that makes a loop that does nothing later than that, nothing can be judged: that is no success.
    """
    show(f"loop lag: {what}", f"{lag}; a loop that does nothing: {control.late} of {control.samples} over 10 ms")
    if not size.timed:
        return
    assert lag.samples >= 300, "too short to tell"
    if control.late > max(1.0, control.samples * LATE_SHARE_MAX):
        pytest.fail(f"could not judge {what}: {control.late} of {control.samples} turns of an idle loop were late")
    assert lag.over(0.01) <= max(1.0, lag.samples * LATE_SHARE_MAX) + control.late, what


@sizes(pytest.mark.feature("P-05"))
def test_many_partitions(broker: ScaledBroker, size: Size) -> None:
    per_topic = size.partitions // len(TOPICS)
    broker.start_timed()
    broker.create(TOPICS, per_topic)
    with broker.watched() as lag:
        show(f"{size.partitions} partitions, first write, s", round(broker.write_all(TOPICS, per_topic), 2))
    show("loop lag: first write", lag)
    check_size(broker, "written")

    broker.kill9()
    seconds = broker.start_timed()
    show("ready after kill -9, s", round(seconds, 2))
    assert not size.timed or seconds < READY_SECONDS_MAX
    check_size(broker, "started")

    with broker.watched() as lag, control_loop() as control:
        ask_metadata(broker, size)
    check_lag(size, "Metadata over all partitions", lag, control)

    with broker.watched() as lag:
        wait_until(
            lambda: len(broker.samples("penstock_log_size_bytes")) >= size.partitions,
            what="every log is open though nobody asked for it",
            within_s=180,
        )
    show("loop lag: opening all logs in the background", lag)
    check_ends(broker, per_topic, end=1)
    show("second write after the start, s", round(broker.write_all(TOPICS, per_topic), 2))
    check_ends(broker, per_topic, end=2)
    check_size(broker, "written again")

    seconds = broker.stop_timed()
    show("clean stop with everything written to, s", round(seconds, 2))
    assert not size.timed or seconds < STOP_SECONDS_MAX
    show("ready after a clean stop, s", round(broker.start_timed(), 2))
    check_ends(broker, per_topic, end=2)
    check_size(broker, "started again")
    broker.stop()


def check_size(broker: ScaledBroker, when: str) -> None:
    memory, files = broker.anonymous_mb(), broker.open_files()
    show(f"{when}: anonymous memory, open files", f"{memory:.0f} MB, {files}")
    assert memory < ANONYMOUS_MB_MAX
    assert files < OPEN_FILES_MAX


def ask_metadata(broker: ScaledBroker, size: Size) -> None:
    """Every version in turn, all topics, from a connection of its own each time."""
    deadline = time.monotonic() + size.metadata_seconds
    count = 0
    while time.monotonic() < deadline:
        with RawClient(broker.host, broker.port, timeout_s=60) as client:
            client.send("metadata", 1 + count % 13, topics=None)
            assert len(client.receive_frame()) > 20 * size.partitions
        count += 1
        time.sleep(0.02)  # a pace: the metric looks at the loop fifty times a second
    show("Metadata requests", count)


def check_ends(broker: ScaledBroker, per_topic: int, end: int) -> None:
    wanted = [{"partition_index": index, "timestamp": LATEST} for index in range(per_topic)]
    topics = [{"name": name, "partitions": wanted} for name in TOPICS]
    with RawClient(broker.host, broker.port, timeout_s=60) as client:
        answer = client.call("list_offsets", 5, replica_id=-1, topics=topics)
    offsets = {int(each.offset) for topic in answer.topics for each in topic.partitions}
    assert offsets == {end}


@sizes(pytest.mark.full)
def test_the_loop_during_compaction(broker: ScaledBroker, size: Size) -> None:
    topic = "compacted"
    configs = {
        "cleanup.policy": "compact",
        "segment.bytes": str(4 << 20),
        "min.cleanable.dirty.ratio": "0.01",
        "min.compaction.lag.ms": str(1 << 40),
    }
    broker.start_timed()
    broker.create([topic], 1, configs)
    frames = [produce_frame(topic, 0, keyed(number)) for number in range(50)]
    broker.write_frames([frames[number % 50] for number in range(size.compacted_mb * 10)], 20)
    before = broker.samples("penstock_log_size_bytes")
    with broker.watched() as lag, control_loop() as control:
        started = time.monotonic()
        set_config(broker, topic, "min.compaction.lag.ms", "0")
        wait_until(
            lambda: "compacted to offset" in broker.log_file.read_text(), what="the log is compacted", within_s=300
        )
        seconds = time.monotonic() - started
    after = broker.samples("penstock_log_size_bytes")
    show(f"compaction of {size.compacted_mb} MB, s", f"{seconds:.1f}, bytes {before} → {after}")
    check_lag(size, "compaction", lag, control)
    broker.stop()


def keyed(number: int) -> bytes:
    """100 kB in 900 records; every key comes again and again."""
    return batch([Record(key=b"%d" % (number * 450 + index), value=b"v" * 100) for index in range(900)])


def set_config(broker: ScaledBroker, topic: str, name: str, value: str) -> None:
    change = {"name": name, "config_operation": 0, "value": value}
    resource = {"resource_type": 2, "resource_name": topic, "configs": [change]}
    with RawClient(broker.host, broker.port) as client:
        answer = client.call("incremental_alter_configs", 1, resources=[resource], validate_only=False)
    assert [int(each.error_code) for each in answer.responses] == [0]


@sizes(pytest.mark.full, pytest.mark.feature("P-05"))
def test_the_loop_during_recovery(broker: ScaledBroker, size: Size) -> None:
    """A killed broker left a long tail: the next one checks every batch of it in another process."""
    topic = "tail"
    broker.start_timed()
    broker.create([topic], 1)
    broker.write_frames([produce_frame(topic, 0, values("first"))])
    broker.kill9()
    (segment,) = broker.data_directory.glob(f"topics/{topic}/*/0/*.log")
    lengthen(segment, size.tail_batches)
    with control_loop() as control:
        seconds = broker.start_timed()
    lag = Lag(broker.lag())
    show(f"recovery of {segment.stat().st_size >> 20} MB in {size.tail_batches} batches, s", round(seconds, 1))
    check_lag(size, "from the start, with recovery", lag, control)
    with RawClient(broker.host, broker.port) as client:
        assert client.log_end(topic) == 1 + size.tail_batches
    broker.stop()


def lengthen(segment: Path, count: int) -> None:
    """As if the broker had gone on: base offsets are outside a batch's CRC."""
    one = values("x" * 50)[8:]
    with segment.open("ab") as file:
        for start in range(1, count + 1, 10_000):
            offsets = range(start, min(start + 10_000, count + 1))
            file.write(b"".join(struct.pack(">q", offset) + one for offset in offsets))
