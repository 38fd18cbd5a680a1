"""The process beside Spark's driver, spoken to as the part in the JVM does it: calls, answers, errors, and its end."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock.client.offsets import bounds
from penstock.model.topic_partition import TopicPartition
from penstock_spark.companion import small_reads
from penstock_spark.companion.small_reads import small_rows
from penstock_spark.companion.tasks import unpickled
from penstock_spark.companion.wire import VERSION, Frame, read_frame, write_frame
from penstock_spark.reading.batch_reader import BatchReader
from penstock_spark.reading.options import parse_read
from penstock_spark.reading.planning.ranges import OffsetRange
from penstock_spark.reading.records.range_reader import RangeReader
from penstock_spark.writing.options import ROWS_BYTES_MAX
from tests.spark.test_spark_reading import put
from tests.support.broker_process import BrokerProcess
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient

CONTROL = 0x20
WRITTEN = json.dumps(
    {
        "type": "struct",
        "fields": [
            {"name": "key", "type": "string", "nullable": True, "metadata": {}},
            {"name": "value", "type": "string", "nullable": True, "metadata": {}},
        ],
    }
)
BATCH: dict[str, Any] = {"streaming": False, "overwrite": False, "query": "", "batch": None}
STREAM: dict[str, Any] = {"streaming": True, "overwrite": False, "query": "q", "batch": 0}


class Refused(Exception):
    """An answer that has an error."""


class Asked:
    """The process, and calls from any thread."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "penstock_spark.companion"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._calls, self._answers = self.process.stdin, self.process.stdout
        hello = read_frame(self._answers)
        assert hello == Frame(0, {"version": VERSION}, [])
        self._number = 0

    def send(self, call: str, parts: Sequence[bytes] = (), **fields: Any) -> int:
        self._number += 1
        write_frame(self._calls, Frame(self._number, {"call": call, **fields}, parts))
        return self._number

    def receive(self) -> Frame:
        found = read_frame(self._answers)
        assert found is not None, "the process has ended"
        return found

    def ask(self, call: str, parts: Sequence[bytes] = (), **fields: Any) -> Frame:
        number = self.send(call, parts, **fields)
        found = self.receive()
        assert found.number == number
        if "error" in found.header:
            raise Refused(f"{found.header['error']['kind']}: {found.header['error']['text']}")
        return found

    def end(self) -> int:
        self._calls.close()
        return self.process.wait(20)


@pytest.fixture
def asked() -> Iterator[Asked]:
    started = Asked()
    yield started
    started.process.kill()
    started.process.wait()


@pytest.fixture
def options(broker: BrokerProcess, topic: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic}


def schema_of(asked: Asked, options: dict[str, str]) -> str:
    found: str = asked.ask("schema", options=options).header["schema"]
    return found


def values(stream: bytes) -> list[str]:
    return [value.decode() for value in pa.ipc.open_stream(stream).read_all()["value"].to_pylist()]


@pytest.mark.feature("S-01")
def test_few_rows_come_with_the_plan(asked: Asked, options: dict[str, str], client: RawClient, topic: str) -> None:
    put(client, topic, *"abc")
    schema = schema_of(asked, options)
    planned = asked.ask("plan", options=options, schema=schema, may_be_rows=True)
    assert planned.header == {"are_rows": True}
    assert [values(part) for part in planned.parts] == [["a", "b", "c"]]
    ranges = asked.ask("plan", options=options, schema=schema, may_be_rows=False)
    assert ranges.header == {"are_rows": False}
    task, one = ranges.parts
    assert (unpickled(one).first, unpickled(one).end) == (0, 3)
    read, _ = unpickled(task)
    given = pa.record_batch([pa.array([one])], names=["range"])
    assert [row for batch in read(iter([given])) for row in batch.column(1).to_pylist()] == [b"a", b"b", b"c"]


def test_many_rows_and_what_cannot_be_read_is_left_to_tasks(
    options: dict[str, str], client: RawClient, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(client, topic, *"abc")
    reader = BatchReader(parse_read(options, streaming=False))
    (whole,) = reader.partitions()
    assert isinstance(whole, OffsetRange)
    schema = pa.schema([])
    assert small_rows(reader, [OffsetRange(topic, 0, 0, small_reads.OFFSETS_MAX + 1)], schema) is None
    assert small_rows(reader, [OffsetRange(topic, 7, 0, 3)], schema) is None, "there is no such partition"
    assert small_rows(reader, [], schema) is None
    of_all = next(reader.read(whole)).schema
    assert small_rows(reader, [whole], of_all) is not None
    monkeypatch.setattr(small_reads, "RANGE_BYTES_MAX", 100)
    assert small_rows(reader, [whole], of_all) is None


@pytest.mark.feature("S-01")
def test_a_stream_goes_from_its_begin_to_its_end(
    asked: Asked, options: dict[str, str], client: RawClient, topic: str
) -> None:
    put(client, topic, *"ab")
    given = {**options, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "3"}
    opened = asked.ask("open_stream", options=given, schema=schema_of(asked, given))
    stream = opened.header["stream"]
    assert opened.header["limit"] == {"most": 3}
    assert len(opened.parts) == 1
    begin = asked.ask("initial_offset", stream=stream).header["offset"]
    assert json.loads(begin)[topic] == {"0": 0}
    found = asked.ask("latest_offset", stream=stream, start=begin, limit={"most": 3}).header
    assert json.loads(found["offset"])[topic] == json.loads(found["newest"])[topic] == {"0": 2}
    planned = asked.ask("plan_stream", stream=stream, start=begin, end=found["offset"], may_be_rows=True)
    assert [values(part) for part in planned.parts] == [["a", "b"]]
    same = asked.ask("latest_offset", stream=stream, start=found["offset"], limit={}).header["offset"]
    assert same == found["offset"]
    asked.ask("close_stream", stream=stream)
    with pytest.raises(Refused, match="KeyError"):
        asked.ask("initial_offset", stream=stream)


def test_calls_do_not_wait_for_each_other(asked: Asked, options: dict[str, str], broker: BrokerProcess) -> None:
    """A broker that is not there is tried for seconds."""
    away = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t", "kafka.default.api.timeout.ms": "3000"}
    slow = asked.send("plan", options=away, schema=schema_of(asked, away), may_be_rows=False)
    quick = asked.send("schema", options=options)
    first, second = asked.receive(), asked.receive()
    assert (first.number, second.number) == (quick, slow)
    assert second.header["error"]["kind"] == "penstock_spark.errors.NotReached"
    assert "kafka.bootstrap.servers" in second.header["error"]["text"]
    assert not second.header["error"]["trace"]


def written(client: RawClient, topic: str) -> list[bytes | None]:
    batches = client.fetch_batches(topic)
    markers = {batch.base_offset for batch in batches if batch.attributes & CONTROL}
    return [record.value for record in client.fetch_records(topic) if record.offset not in markers]


def visible(broker: BrokerProcess, topic: str) -> list[str]:
    """What is committed."""
    with Cluster([Address(broker.host, broker.port)]) as cluster:
        place = TopicPartition(topic, 0)
        first, end = bounds(cluster, [place], committed=True)[place]
        return [
            value.as_py().decode() for batch in RangeReader(cluster, place, first, end, ["value"]) for value in batch[0]
        ]


def stream_of(*rows: tuple[str, str]) -> bytes:
    batch = pa.record_batch([pa.array([row[0] for row in rows]), pa.array([row[1] for row in rows])], ["key", "value"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def output_of(opened: Frame, *rows: tuple[str, str]) -> bytes:
    """What a task with these rows returns."""
    write, _ = unpickled(opened.parts[0])
    batches = pa.ipc.open_stream(stream_of(*rows)).read_all().to_batches()
    (output,) = (batch.column(0)[0].as_py() for batch in write(iter(batches)))
    found: bytes = output
    return found


@pytest.mark.parametrize("delivery", ["at-least-once", "exactly-once"])
def test_rows_are_committed_as_tasks_would(
    asked: Asked, broker: BrokerProcess, client: RawClient, topic: str, delivery: str
) -> None:
    options = {"kafka.bootstrap.servers": broker.bootstrap, "topic": topic, "delivery": delivery}
    opened = asked.ask("open_write", options=options, schema=WRITTEN, **BATCH, directory=None)
    assert opened.header == {"write": 0, "rows_bytes_max": ROWS_BYTES_MAX}
    parts = [output_of(opened, ("k", "by a task")), stream_of(("k", "a"), ("k", "b"))]
    asked.ask("commit", parts, options=options, schema=WRITTEN, query="", write=0, tasks=[None, 1])
    assert written(client, topic) == [b"by a task", b"a", b"b"]


def accepted(broker: BrokerProcess) -> int:
    """The connections that Kafka clients have made so far."""
    assert isinstance(broker, PenstockProcess)
    with urllib.request.urlopen(f"http://{broker.host}:{broker.http_port}/metrics", timeout=10) as page:
        text = page.read().decode()
    return int(float(re.findall(r"^penstock_connections_opened_total (\S+)$", text, re.MULTILINE)[0]))


@pytest.mark.usefixtures("penstock_only")
def test_one_query_after_another_uses_the_same_connections(
    asked: Asked, broker: BrokerProcess, options: dict[str, str], client: RawClient, topic: str
) -> None:
    put(client, topic, *"abc")
    schema, given = schema_of(asked, options), {"kafka.bootstrap.servers": broker.bootstrap, "topic": topic}

    def once(value: str) -> None:
        planned = asked.ask("plan", options=options, schema=schema, may_be_rows=True)
        assert values(planned.parts[0])[:3] == ["a", "b", "c"]
        asked.ask("commit", [stream_of(("k", value))], options=given, schema=WRITTEN, query="", write=0, tasks=[0])

    once("1")
    before = accepted(broker)
    for value in "2345":
        once(value)
    assert accepted(broker) == before
    assert written(client, topic) == [*(b"%c" % each for each in b"abc12345")]


def test_a_broker_that_was_started_again_meanwhile(
    asked: Asked, options: dict[str, str], own_broker: BrokerProcess
) -> None:
    """Connections, and a producer over them, that were kept are of no use any more."""
    with RawClient(own_broker.host, own_broker.port) as client:
        topic = client.create_topic()
    options = {**options, "kafka.bootstrap.servers": own_broker.bootstrap, "subscribe": topic}
    given = {"kafka.bootstrap.servers": own_broker.bootstrap, "topic": topic}
    schema = schema_of(asked, options)
    for number in range(3):
        part = stream_of(("k", str(number)))
        asked.ask("commit", [part], options=given, schema=WRITTEN, query="", write=0, tasks=[0])
        planned = asked.ask("plan", options=options, schema=schema, may_be_rows=True)
        assert [value for each in planned.parts for value in values(each)] == [str(each) for each in range(number + 1)]
        own_broker.kill9()
        own_broker.start()


def test_a_topic_that_was_created_again_meanwhile(
    asked: Asked, broker: BrokerProcess, client: RawClient, topic: str
) -> None:
    """The sequences of a producer that was kept go on where the new topic has none."""
    given = {"kafka.bootstrap.servers": broker.bootstrap, "topic": topic}
    for number in range(3):
        parts = [stream_of(*[("k", f"{number}{each}") for each in range(5)])]
        asked.ask("commit", parts, options=given, schema=WRITTEN, query="", write=0, tasks=[0])
        assert written(client, topic) == [f"{number}{each}".encode() for each in range(5)]
        client.delete_topic(topic)
        client.create_topic(topic)


def test_files_of_tasks_last_as_long_as_their_write(
    asked: Asked, broker: BrokerProcess, client: RawClient, topic: str, tmp_path: Path
) -> None:
    options = {"kafka.bootstrap.servers": broker.bootstrap, "topic": topic, "delivery": "exactly-once"}
    given: dict[str, Any] = {"options": {**options, "inlineBytes": "1"}, "schema": WRITTEN}
    opened = [asked.ask("open_write", **given, **BATCH, directory=str(tmp_path)) for _ in range(3)]
    outputs = [output_of(one, ("k", f"of task {number}")) for number, one in enumerate(opened)]
    numbers = [one.header["write"] for one in opened]
    (root,) = tmp_path.iterdir()
    assert len(list(root.glob("write-*/*"))) == 3
    asked.ask("commit", outputs[1:2], **given, query="", write=numbers[1], tasks=[None])
    asked.ask("abandon_write", write=numbers[0])
    assert [path.name for path in root.glob("write-*")] == [f"write-{numbers[2]}"]
    assert asked.end() == 0
    assert not root.exists()
    assert visible(broker, topic) == ["of task 1"]  # the others may have been sent, and were aborted


@pytest.mark.feature("S-02")
def test_a_batch_of_a_stream_is_committed_once(
    asked: Asked, broker: BrokerProcess, client: RawClient, topic: str
) -> None:
    options = {"kafka.bootstrap.servers": broker.bootstrap, "topic": topic, "checkpointLocation": "/nowhere"}
    given: dict[str, Any] = {"options": options, "schema": WRITTEN, "query": topic, "write": 0, "tasks": [0]}
    for batch, value in ((0, "a"), (1, "b"), (1, "b")):
        asked.ask("commit_batch", [stream_of(("k", value))], batch=batch, abort=False, **given)
    asked.ask("commit_batch", [stream_of(("k", "c"))], batch=2, abort=True, **given)
    asked.ask("commit_batch", batch=2, abort=True, **{**given, "tasks": []})
    asked.ask("commit_batch", [stream_of(("k", "c"))], batch=2, abort=False, **given)
    other = Asked()
    other.ask("commit_batch", [stream_of(("k", "c"))], batch=2, abort=False, **given)
    assert other.end() == 0
    assert written(client, topic) == [b"a", b"b", b"c"]


def test_tasks_that_write_by_themselves_keep_their_rows(asked: Asked, broker: BrokerProcess, topic: str) -> None:
    options = {"kafka.bootstrap.servers": broker.bootstrap, "topic": topic, "exactlyOnce": "task"}
    opened = asked.ask("open_write", options=options, schema=WRITTEN, **STREAM, directory=None)
    assert opened.header == {"write": 0, "rows_bytes_max": 0}


def test_a_bad_row_writes_nothing(asked: Asked, broker: BrokerProcess, client: RawClient, topic: str) -> None:
    """The second row has no topic: the first is not written either."""
    schema = json.dumps(
        {
            "type": "struct",
            "fields": [
                {"name": name, "type": "string", "nullable": True, "metadata": {}} for name in ("topic", "value")
            ],
        }
    )
    rows = pa.record_batch([pa.array([topic, None]), pa.array(["a", "b"])], ["topic", "value"])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows)
    part = sink.getvalue().to_pybytes()
    options = {"kafka.bootstrap.servers": broker.bootstrap, "delivery": "exactly-once"}
    with pytest.raises(Refused, match="BadRow"):
        asked.ask("commit", [part], options=options, schema=schema, query="", write=0, tasks=[0])
    assert written(client, topic) == []


def test_mistakes_of_callers_are_answered(asked: Asked) -> None:
    calls: dict[str, dict[str, Any]] = {"nothing": {}, "schema": {}, "plan": {"options": {}, "schema": "x"}}
    for call, fields in calls.items():
        asked.send(call, **fields)
        error = asked.receive().header["error"]
        assert "Traceback" in error["trace"]
    with pytest.raises(Refused, match=r"BadOption: .*kafka.bootstrap.servers is missing"):
        asked.ask("plan", options={"subscribe": "t"}, schema=schema_of(asked, {"subscribe": "t"}), may_be_rows=False)


def test_it_ends_with_its_input_and_prints_only_to_standard_error(asked: Asked) -> None:
    schema_of(asked, {"subscribe": "t"})
    assert asked.end() == 0
    assert asked.process.stdout is not None
    assert asked.process.stdout.read() == b""


def test_a_frame_of_many_parts_survives(tmp_path: Path) -> None:
    frame = Frame(1 << 40, {"call": "x", "text": "ä\n"}, [b"", b"a" * 100_000, bytes(range(256))])
    path = tmp_path / "frames"
    with path.open("wb") as stream:
        write_frame(stream, frame)
        write_frame(stream, Frame(-1, {}))
    with path.open("rb") as stream:
        assert read_frame(stream) == frame
        assert read_frame(stream) == Frame(-1, {}, [])
        assert read_frame(stream) is None
    whole = path.read_bytes()
    for end in range(0, len(whole) - 20, 997):
        path.write_bytes(whole[:end])
        with path.open("rb") as stream:
            first = read_frame(stream)
            assert first is None or first == frame


def test_many_threads_may_ask_at_once(asked: Asked, options: dict[str, str], client: RawClient, topic: str) -> None:
    put(client, topic, "a")
    schema = schema_of(asked, options)
    sent = {asked.send("plan", options=options, schema=schema, may_be_rows=True) for _ in range(40)}
    answers = [asked.receive() for _ in sent]
    assert {answer.number for answer in answers} == sent
    assert all([values(part) for part in answer.parts] == [["a"]] for answer in answers)
    assert threading.active_count() < 50
