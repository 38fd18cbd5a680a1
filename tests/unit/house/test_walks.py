"""The walks of docs/architecture.md are true: their files and functions exist, and real requests go that way.

A file hands a request on if one of its functions is on the call stack when the request reaches a station. Everything
else that runs is asked for a value and returns; `ASKED` names those files.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.broker.produce.repeat_path import PATHS_MAX
from penstock.model.errors import ErrorCode
from penstock.protocol.push.messages import CreateTopic, Subscribe
from tests.support import batches
from tests.support.group_client import join, sync, wait_for_coordinator
from tests.support.push_client import PushClient, PushRefused
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until
from tests.unit.house.tracer import SOURCES, Trace, Tracer, files, traced_node
from tests.unit.house.walks import PAGE, defined_names, diagram, named_files, named_functions, source, walks

WALKS = walks(PAGE.read_text())
PRODUCE, FETCH, GROUPS, PUBLISH = "Produce", "Fetch", "JoinGroup and SyncGroup", "PUBLISH to delivery"
PRODUCE_FILES_MAX, PUBLISH_FILES_MAX = 20, 18

WRITTEN_TO_VISIBLE = (
    "DiskTail.write",
    "GroupCommit.mark",
    "_sync_each",
    "OffsetWaits.add",
    "Partition.log_advanced",
)
ANSWERED = ("Outbox.put", "AnswerLine._write")
READ = ("LogReader.read", "Partition.add_data_waiter")
APPLIED = ("Shard.apply", "Rebalance.advance")
DELIVERED = ("Turn.request", "Feed.next_chunk", "PartitionCursor.acquire", "Outbox.put", "PushConnection.send_ready")

ASKED = {
    "protocol/kafka/": "codec: bytes to values and back",
    "protocol/push/": "codec: bytes to values and back",
    "model/": "values",
    "security/": "may this session do it: yes or no",
    "observability/": "counts",
    "runtime/": "clock, system calls",
    "net/connection/file_sender.py": "is the answer in memory",
    "broker/request.py": "the request as a value",
    "broker/produce/part.py": "may this batch be appended",
    "broker/produce/repeat_path.py": "made for the next request, or not the same request",
    "broker/records/checks.py": "must records be looked into",
    "broker/push/producers.py": "the producer id of a client",
    "cluster/topics.py": "does the topic exist",
    "cluster/visibility.py": "how far readers may see",
    "storage/interface.py": "values of the contract",
    "storage/log/log.py": "state and marks of the log",
    "storage/log/durability.py": "what is on disk",
    "storage/log/unflushed_files.py": "which files to sync",
    "storage/log/recovery_point.py": "bytes above the recovery point",
    "storage/admission/append_rules.py": "sizes and times of a batch",
    "storage/admission/producer_state.py": "sequences of idempotent producers",
    "storage/admission/undecided.py": "open transactions",
    "storage/segment/preallocation.py": "room in the file",
    "storage/segment/segment.py": "numbers of the segment",
    "storage/flush/file_cache.py": "file handles",
    "storage/flush/sync_cost.py": "which kind of sync is cheaper",
    "storage/engine/disk_engine.py": "notes the log for its recovery point",
    "storage/engine/jobs/checkpoints.py": "notes the log for its recovery point",
    "broker/delivery/core/": "state of the core: members, redelivery, poison messages, refresh",
    "broker/progress/": "offsets in flight and positions: state that is looked up",
    "broker/delivery/redelivery_reader.py": "does anything come again",
    "broker/delivery/reading/record_encoder.py": "records to items of DATA",
}
"""Files, and folders, that a request asks without being handed on by them."""


# --- the page ---------------------------------------------------------------------------------------------------------


def test_there_are_all_walks() -> None:
    assert list(WALKS) == [
        PRODUCE, FETCH, GROUPS, PUBLISH, "ACK of a delivery", "Spark batch read", "Spark streaming write",
    ]  # fmt: skip


@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
def test_every_step_names_a_function_that_exists(walk: str) -> None:
    assert all(source(file).is_file() for file in named_files(walk)), named_files(walk)
    steps = named_functions(walk)
    assert {file for file, _ in steps} == set(named_files(walk)), "each file has a function behind it"
    assert [step for step in steps if step[1] not in defined_names(step[0])] == []


@pytest.mark.parametrize("name", [name for name in WALKS if name != "ACK of a delivery"])
def test_every_walk_is_drawn_with_the_files_of_its_steps(name: str) -> None:
    picture = diagram(WALKS[name])
    assert picture is not None
    titles = [box.get("title", "") for box in tomllib.loads(picture.read_text())["box"]]
    drawn = {found[0] for title in titles if (found := re.search(r"\w+\.py$", title))}
    known = {Path(file).name for file in named_files(WALKS[name])}
    assert drawn
    assert drawn <= known, "the picture has files that the steps do not have"


def test_a_wrong_step_is_found() -> None:
    walk = "1. `net/connection/connection.py`: `buffer_updated`,\n   `no_such_function`. Text with `serve`."
    assert named_functions(walk) == [
        ("net/connection/connection.py", "buffer_updated"),
        ("net/connection/connection.py", "no_such_function"),
    ]
    assert "no_such_function" not in defined_names("net/connection/connection.py")


# --- requests ---------------------------------------------------------------------------------------------------------


class World:
    """A node, a client of the Kafka door, and a publisher and a member at the push door."""

    def __init__(self, tracer: Tracer, kafka_port: int, push_port: int) -> None:
        self.tracer = tracer
        self.kafka = RawClient("127.0.0.1", kafka_port)
        self.publisher = PushClient(push_port)
        self.member = PushClient(push_port)
        self._sequence = -1
        wait_for_coordinator(self.kafka)
        self.topic = self.kafka.create_topic("one", partitions=2 * PATHS_MAX)
        self._elsewhere = itertools.cycle(range(2 * PATHS_MAX))
        self.publisher.ask(CreateTopic("pushed", 1))
        wait_until(self._subscribe, what="the member joins")
        for _ in range(2 * PATHS_MAX):  # the first request to a partition opens its log
            self.produce_elsewhere()
        for _ in range(3):
            self.publish()

    def close(self) -> None:
        for client in (self.kafka, self.publisher, self.member):
            client.close()

    def _subscribe(self) -> bool:
        try:
            self.member.ask(Subscribe("", "pushed", "reader"))
        except PushRefused as refused:
            if refused.code in (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE):
                return False
            raise
        return True

    def produce(self, partition: int = 0) -> None:
        self.kafka.appended(self.topic, batches.values(b"x"), partition=partition, version=9)

    def produce_elsewhere(self) -> None:
        """To partitions in turn, so many that no request is like one that is remembered."""
        self.produce(next(self._elsewhere))

    def publish(self, *, in_sequence: bool = True) -> None:
        self._sequence += in_sequence
        more = {"client_id": "publisher", "epoch": 0, "sequence": self._sequence} if in_sequence else {}
        self.publisher.publish("pushed", b"message", **more)
        self.member.data()  # not acknowledged: that is another walk


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    tracer = Tracer()
    with traced_node(tmp_path_factory.mktemp("walks"), tracer) as node:
        made = World(tracer, node.kafka_port, node.push_port)
        yield made
        made.close()


def check_asked(trace: Trace) -> None:
    """Every file that ran hands the request on, or is known as one that is asked."""
    others = [file for file in files(trace.ran) if file not in files(trace.handed_on)]
    unknown = [file for file in others if not file.startswith(tuple(ASKED))]
    assert unknown == [], "these run for the request: add them to ASKED, with the reason"


def counts(walk: str) -> tuple[int, int]:
    """A walk as the page has it: files that pass it on, and files that run."""
    found = re.search(rf"^\| {re.escape(walk)} \| (\d+) \| (\d+) \|", PAGE.read_text(), re.MULTILINE)
    assert found is not None, walk
    return int(found[1]), int(found[2])


def check_counts(trace: Trace, walk: str) -> None:
    handed_on, ran = counts(walk)
    assert len(files(trace.handed_on)) == handed_on, f"the page has another number: {files(trace.handed_on)}"
    assert len(files(trace.ran)) <= ran, f"more files run than the page says: {files(trace.ran)}"


def test_produce_goes_the_long_way(world: World) -> None:
    trace = world.tracer.steady(world.produce_elsewhere, [*WRITTEN_TO_VISIBLE, *ANSWERED])
    named = named_files(WALKS[PRODUCE])
    assert len(named) <= PRODUCE_FILES_MAX
    steps = set(named) - {"broker/produce/repeat_path.py"}
    assert set(files(trace.handed_on)) == steps - {"protocol/kafka/produce.py", "model/batch.py"}
    assert steps <= set(files(trace.ran))
    check_asked(trace)
    check_counts(trace, "Produce, the long way")


def test_a_repeated_produce_leaves_out_the_parsing(world: World) -> None:
    world.produce()
    world.produce()
    trace = world.tracer.steady(world.produce, [*WRITTEN_TO_VISIBLE, *ANSWERED])
    handed_on = set(files(trace.handed_on))
    assert "broker/produce/repeat_path.py" in handed_on
    assert handed_on <= set(named_files(WALKS[PRODUCE]))
    left_out = {"broker/gate.py", "broker/dispatcher.py", "broker/handlers/records/produce.py"}
    assert not handed_on & left_out
    check_asked(trace)
    check_counts(trace, "Produce, the repeat path")


@pytest.mark.parametrize("in_sequence", [True, False], ids=["with a sequence", "without a sequence"])
def test_publish_to_delivery(world: World, in_sequence: bool) -> None:
    stations = [*WRITTEN_TO_VISIBLE, *DELIVERED]
    trace = world.tracer.steady(lambda: world.publish(in_sequence=in_sequence), stations)
    named = named_files(WALKS[PUBLISH])
    assert len(named) <= PUBLISH_FILES_MAX
    assert set(files(trace.handed_on)) == set(named)
    check_asked(trace)
    check_counts(trace, "PUBLISH to DATA")


def test_fetch(world: World) -> None:
    values = world.kafka.fetch_values(world.topic, 0)
    trace = world.tracer.steady(lambda: world.kafka.call("fetch", 12, **values), [*READ, *ANSWERED])
    handed_on = set(files(trace.handed_on))
    assert {"broker/handlers/records/fetch.py", "storage/log/reader.py"} <= handed_on
    assert handed_on <= set(named_files(WALKS[FETCH]))


def test_join_and_sync(world: World) -> None:
    """A group of one member. Twice: the first time its schemas are loaded."""
    for group in ("first", "second"):
        world.tracer.begin([*APPLIED, *WRITTEN_TO_VISIBLE, *ANSWERED])
        joined = join(world.kafka, group, version=5)
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            joined = join(world.kafka, group, version=5, member_id=joined.member_id)
        synced = sync(world.kafka, group, joined.generation_id, joined.member_id, {joined.member_id: b"mine"})
        trace = world.tracer.end()
        assert synced.assignment == b"mine"
    handed_on = set(files(trace.handed_on))
    assert {"broker/groups/log/shard.py", "broker/coordination/coordinator_log.py"} <= handed_on
    assert handed_on <= set(named_files(WALKS[GROUPS])) | set(named_files(WALKS[PRODUCE]))


def test_the_tracer_sees_only_our_sources(world: World) -> None:
    trace = world.tracer.steady(world.produce, ANSWERED, times=2)
    assert trace.ran
    assert all((SOURCES / step.file).is_file() for step in trace.ran)
