"""The pipe between real processes: a child shows what its parent has, and only the pipe writes there."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest
from confluent_kafka import Producer

import penstock
from penstock.client.push.errors import BrokerRefused
from penstock.protocol.push import messages as push
from penstock.sdk import BrokerError, InvalidRequest
from penstock.topology.pipe.wire import PARTITIONS_MAX, PullRequest, Status, Wanted, decode_answer, encode_request
from tests.support import batches
from tests.support.command_line import CommandLine
from tests.support.hierarchy import HierarchyNode, Line
from tests.support.push_client import PushClient, PushRefused
from tests.support.raw_client import RawClient
from tests.support.topic_contents import topic_contents
from tests.support.undisturbed import nobody_waits
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-12")

Make = Callable[..., HierarchyNode]


class Levels(NamedTuple):
    """Shared by the tests of this file; each has its own topics."""

    root: HierarchyNode
    child: HierarchyNode
    leaf: HierarchyNode


@pytest.fixture(scope="module")
def levels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Levels]:
    directory = tmp_path_factory.mktemp("levels")
    root = HierarchyNode(directory / "root").begin()
    child = HierarchyNode(directory / "child", root.url).begin()
    leaf = HierarchyNode(directory / "leaf", child.url).begin()
    yield Levels(root, child, leaf)
    for node in (leaf, child, root):
        node.stop()


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Nodes of one's own, to be treated badly."""
    made: list[HierarchyNode] = []

    def build(name: str, parent: str | None = None, **more: str) -> HierarchyNode:
        node = HierarchyNode(tmp_path / name, parent, **more)
        made.append(node)
        return node.begin()

    yield build
    for node in reversed(made):
        node.kill9()


def client(node: HierarchyNode) -> RawClient:
    return RawClient(node.host, node.port)


def fill(node: HierarchyNode, topic: str, count: int, *, first: int = 0) -> None:
    with client(node) as writer:
        for number in range(first, first + count):
            writer.appended(topic, batches.values(b"%d" % number))


def new_topic(node: HierarchyNode, count: int = 0, **options: object) -> str:
    with client(node) as writer:
        topic: str = writer.create_topic(**options)  # type: ignore[arg-type]
    fill(node, topic, count)
    return topic


def test_three_levels_have_the_same_records_and_the_same_id(levels: Levels) -> None:
    root, _, leaf = levels
    with client(root) as writer:
        topic = writer.create_topic(partitions=2)
        for number in range(20):
            writer.appended(topic, batches.values(b"%d" % number), partition=number % 2)
    leaf.wait_for_ends(topic, [10, 10])
    assert topic_contents(leaf.bootstrap, topic) == topic_contents(root.bootstrap, topic)
    listed = [each for node in levels for each in node.get("/pipe/topics")["topics"] if each["name"] == topic]
    assert len({each["id"] for each in listed}) == 1
    assert [each["mirror"] for each in listed] == [False, True, True]
    with client(root) as writer:
        writer.appended(topic, batches.values(b"live"))
    leaf.wait_for_ends(topic, [11, 10])
    assert leaf.pipe["health"] == "HEALTHY"
    assert "penstock_pipe_health 0.0" in leaf.text("/metrics")
    assert leaf.get("/health/ready")["details"]["pipe"].startswith("HEALTHY")


def test_a_mirror_is_read_only(levels: Levels) -> None:
    root, child, _ = levels
    topic = new_topic(root, 3)
    child.wait_for_ends(topic, [3])
    policy_violation = 44
    text = (
        f"{topic} is a mirror of the topic at the parent {root.url} and cannot be changed here;"
        " write to the root of the hierarchy"
    )
    with client(child) as writer:
        refused = writer.produce(topic, batches.values(b"no"))
        assert refused.error_code == policy_violation
        assert refused.error_message == text
        assert writer.delete_records(topic, 1).error_code == policy_violation
        deleted = writer.call("delete_topics", 3, topic_names=[topic], timeout=5_000)
        assert deleted.responses[0].error_code == policy_violation
        grown = writer.call(
            "create_partitions", 1, topics=[{"name": topic, "count": 5, "assignments": None}], timeout=5_000
        )
        assert grown.results[0].error_code == policy_violation
        assert grown.results[0].error_message == text
        configs = [{"name": "retention.ms", "config_operation": 0, "value": "1"}]
        resource = {"resource_type": 2, "resource_name": topic, "configs": configs}
        altered = writer.call("incremental_alter_configs", 0, resources=[resource])
        assert altered.responses[0].error_code == policy_violation
        assert altered.responses[0].error_message == text
    assert text in CommandLine(child.bootstrap)("produce", topic, stdin="no\n", code=1).err
    with penstock.Producer(child.bootstrap) as producer, pytest.raises(BrokerError, match=re.escape(text)):
        producer.send(topic, b"no").result(20)
    assert text in CommandLine(child.bootstrap)("topic", "delete", topic, "--yes", code=1).err
    with penstock.Admin(child.bootstrap) as admin:
        with pytest.raises(InvalidRequest, match=re.escape(f"topic {topic}: {text}")):
            admin.delete_topic(topic)
        with pytest.raises(InvalidRequest, match=re.escape(f"records of {topic}: {text}")):
            admin.delete_records(topic, {0: 1})
    with penstock.BrokerClient(child.host, child.port) as pusher, pytest.raises(BrokerRefused, match=re.escape(text)):
        pusher.publish(topic, "no")
    assert child.ends(topic) == [3]


def test_partitions_and_configs_follow_and_patterns_choose(levels: Levels, make: Make) -> None:
    root = levels.root
    child = make("child", root.url, pipe='  topics: ["prices-*", "orders"]\n  exclude: prices-secret\n')
    with client(root) as writer:
        for name in ("prices-eu", "prices-secret", "orders", "other"):
            writer.create_topic(name, configs={"retention.ms": "1000000"})
    wait_until(lambda: len(child.pipe["topics"]) == 2, what="two mirrors")
    assert {each["name"] for each in child.pipe["topics"]} == {"prices-eu", "orders"}
    with client(root) as writer:
        writer.call("create_partitions", 1, topics=[{"name": "orders", "count": 3, "assignments": None}], timeout=5_000)
        configs = [{"name": "retention.ms", "config_operation": 0, "value": "5000000"}]
        resource = {"resource_type": 2, "resource_name": "orders", "configs": configs}
        writer.call("incremental_alter_configs", 0, resources=[resource])
        wait_until(lambda: writer.metadata("orders").topics[0].partitions[2:], what="three partitions")
        writer.appended("orders", batches.values(b"third"), partition=2)
    child.wait_for_ends("orders", [0, 0, 1])
    configured = {each["name"]: each["configs"] for each in child.get("/pipe/topics")["topics"]}
    assert configured["orders"] == {"retention.ms": "5000000"}


def test_the_same_is_committed_at_the_child(levels: Levels) -> None:
    root, child, _ = levels
    topic = new_topic(root)
    producer = Producer({"bootstrap.servers": root.bootstrap, "transactional.id": "t", "enable.metrics.push": False})
    producer.init_transactions(10)
    for number, ends in enumerate([producer.commit_transaction, producer.abort_transaction] * 2):
        producer.begin_transaction()
        producer.produce(topic, b"%d" % number)
        producer.flush(10)
        ends(10)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    producer.flush(10)
    child.wait_for_state(topic, "FOLLOWING")
    with client(root) as reader:
        end = reader.log_end(topic)
    child.wait_for_ends(topic, [end])
    values = [seen.value for seen in topic_contents(child.bootstrap, topic)]
    assert values == [b"0", b"2"]
    child.restart()
    assert [seen.value for seen in topic_contents(child.bootstrap, topic)] == [b"0", b"2"]
    producer.commit_transaction(10)
    child.wait_for_ends(topic, [end + 1])
    assert [seen.value for seen in topic_contents(child.bootstrap, topic)] == [b"0", b"2", b"open"]


def test_another_topic_of_the_same_name_is_diverged_until_reset(levels: Levels) -> None:
    root, child, _ = levels
    topic = new_topic(root, 5)
    child.wait_for_ends(topic, [5])
    with client(root) as writer:
        writer.delete_topic(topic)
        writer.create_topic(topic)
    fill(root, topic, 2, first=100)
    told = child.wait_for_state(topic, "DIVERGED")
    assert "another one" in told["reason"]
    assert child.ends(topic) == [5]
    child.restart()
    child.wait_for_state(topic, "DIVERGED")
    assert "diverged" in child.get("/health/ready")["warnings"]["pipe"]
    assert child.reset() == [topic]
    child.wait_for_ends(topic, [2])
    assert [seen.value for seen in topic_contents(child.bootstrap, topic)] == [b"100", b"101"]


def test_a_parent_with_an_empty_disk_is_diverged_and_an_existing_mirror_can_be_reset(
    make: Make, tmp_path: Path
) -> None:
    root = make("root")
    topic = new_topic(root, 5, name="prices")
    child = make("child", root.url)
    child.wait_for_ends(topic, [5])
    root.kill9()
    shutil.rmtree(root.data_directory)
    root.start()
    wait_until(lambda: child.mirror(topic)["state"] == "MISSING", what="the topic is missing")
    new_topic(root, 1, name="prices")
    child.wait_for_state(topic, "DIVERGED")
    assert child.reset("prices") == ["prices"]
    child.wait_for_ends(topic, [1])
    with pytest.raises(urllib.error.HTTPError):
        child.reset("nothing")
    assert child.reset("prices") == ["prices"]  # the same id again
    child.wait_for_ends(topic, [1])
    child.restart()
    assert child.ends(topic) == [1]


@pytest.mark.full
def test_a_parent_that_was_restored_from_an_old_copy_is_diverged_until_reset(make: Make, tmp_path: Path) -> None:
    """Its log is shorter, then as long as before but another one; the child keeps what it has, and mixes nothing."""
    root = make("root")
    topic = new_topic(root, 3, name="prices")
    root.stop()
    shutil.copytree(root.data_directory, tmp_path / "copy")
    root.start()
    fill(root, topic, 2, first=3)
    child = make("child", root.url)
    child.wait_for_ends(topic, [5])
    root.kill9()
    shutil.rmtree(root.data_directory)
    shutil.move(tmp_path / "copy", root.data_directory)
    root.start()
    assert "ends at 3" in child.wait_for_state(topic, "DIVERGED")["reason"]
    fill(root, topic, 3, first=100)
    child.restart()
    assert child.mirror(topic)["state"] == "DIVERGED"
    assert [seen.value for seen in topic_contents(child.bootstrap, topic)] == [b"%d" % number for number in range(5)]
    assert "penstock_pipe_diverged_topics 1.0" in child.text("/metrics")
    assert child.reset() == [topic]
    child.wait_for_ends(topic, [6])
    assert topic_contents(child.bootstrap, topic) == topic_contents(root.bootstrap, topic)


def test_a_parent_whose_log_starts_later(levels: Levels) -> None:
    root, child, _ = levels
    topic = new_topic(root, 5)
    child.wait_for_ends(topic, [5])
    with client(root) as writer:
        writer.delete_records(topic, 3)
    wait_until(lambda: child.starts(topic) == [3], what="the log start follows")
    child.kill9()
    fill(root, topic, 5, first=5)
    with client(root) as writer:
        writer.delete_records(topic, 8)
    child.start()
    child.wait_for_ends(topic, [10])
    assert (child.starts(topic), child.pipe["gaps"], child.pipe["missedOffsets"]) == ([8], 1, 3)
    assert "penstock_pipe_gaps_total 1.0" in child.text("/metrics")
    assert "offsets from 5 on are missing" in child.log_file.read_text()
    assert [seen.offset for seen in topic_contents(child.bootstrap, topic)] == [8, 9]
    child.kill9()
    child.start()
    assert [seen.offset for seen in topic_contents(child.bootstrap, topic)] == [8, 9]
    fill(root, topic, 1, first=10)
    child.wait_for_ends(topic, [11])
    assert child.pipe["gaps"] == 0


def test_a_compacted_parent(levels: Levels) -> None:
    root, child, _ = levels
    configs = {"cleanup.policy": "compact", "segment.ms": "200", "min.cleanable.dirty.ratio": "0.01"}
    topic = new_topic(root, configs=configs)

    def write(number: int) -> None:
        with client(root) as writer:
            writer.appended(topic, batches.batch([batches.Record(key=b"k%d" % (number % 3))]))

    for number in range(12):
        write(number)
        if number % 4 == 3:
            time.sleep(0.3)  # the age of a segment
    write(12)
    wait_until(lambda: len(topic_contents(root.bootstrap, topic)) < 10, what="compaction", within_s=30)
    child.wait_for_ends(topic, [13])
    kept = {seen.key: seen.offset for seen in topic_contents(root.bootstrap, topic)}
    assert {seen.key: seen.offset for seen in topic_contents(child.bootstrap, topic)} == kept
    child.kill9()
    child.start()
    write(13)
    child.wait_for_ends(topic, [14])
    assert child.mirror(topic)["state"] == "FOLLOWING"


def test_a_topic_made_at_the_child_is_not_touched_unless_it_is_empty(levels: Levels, make: Make) -> None:
    root = levels.root
    topic = new_topic(root, 2, name="mine")
    line = Line(root)
    line.cut()
    child = make("child", line.url)
    new_topic(child, 1, name="mine")
    early = new_topic(child, name="asked-for-too-early")
    new_topic(root, 2, name=early)
    line.mend()
    child.wait_for_ends(early, [2])
    assert child.mirror(early)["state"] == "FOLLOWING"
    wait_until(lambda: child.mirror(topic).get("state") == "REFUSED", what="refused")
    assert "made here" in child.mirror(topic)["reason"]
    assert child.ends(topic) == [1]
    with client(child) as owner:
        owner.delete_topic(topic)
    child.wait_for_ends(topic, [2])
    line.close()


@pytest.mark.feature("P-28")
def test_health_goes_down_with_the_line_and_comes_back(levels: Levels, make: Make) -> None:
    root = levels.root
    topic = new_topic(root, 1)
    line = Line(root)
    child = make("child", line.url, pipe="  unhealthy_failures: 3\n")
    child.wait_for_ends(topic, [1])
    line.cut()
    wait_until(lambda: child.pipe["health"] == "DEGRADED", what="DEGRADED")
    wait_until(lambda: child.pipe["health"] == "UNHEALTHY", what="UNHEALTHY")
    assert child.pipe["lastFailure"]
    assert "UNHEALTHY" in child.get("/health/ready")["warnings"]["pipe"]
    fill(root, topic, 1)
    line.mend()
    child.wait_for_ends(topic, [2])
    wait_until(lambda: child.pipe["health"] == "HEALTHY", what="HEALTHY")
    line.close()


def test_children_that_leave_are_forgotten_and_too_many_are_refused(make: Make) -> None:
    root = make("root", config="pipe:\n  pulls_max: 10\n  wait_ms: 30000\n")
    version = root.get("/pipe/topics")["version"]
    body = encode_request(PullRequest(version, 30_000, 1_000, 10, []))
    head = f"POST /pipe/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    waiting = []
    for _ in range(10):
        waiting.append(socket.create_connection((root.host, root.http_port), timeout=10))
        waiting[-1].sendall(head + body)
    wait_until(lambda: "penstock_pipe_pulls 10.0" in root.text("/metrics"), what="ten wait")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(f"{root.url}/pipe/records", data=body), timeout=5)
    assert refused.value.code == 503
    for each in waiting:
        each.close()
    wait_until(lambda: "penstock_pipe_pulls 0.0" in root.text("/metrics"), what="nobody waits")
    root.stop()  # in order, and at once


def test_bad_questions_are_refused(levels: Levels) -> None:
    root = levels.root
    for body, says in ((b"", b"not a request"), (b"GET / HTTP", b"not a request"), (b"\0" * 100, b"not a body")):
        request = urllib.request.Request(f"{root.url}/pipe/records", data=body or b"x", method="POST")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=5)
        assert refused.value.code == 400
        assert says in refused.value.read()


def test_questions_about_very_many_partitions_keep_nobody_waiting(make: Make) -> None:
    root = make("root")
    topic = new_topic(root, partitions=1_000)
    listed = root.get("/pipe/topics")
    (topic_id,) = [UUID(each["id"]).bytes for each in listed["topics"] if each["name"] == topic]

    def pull(wanted: list[Wanted], wait_ms: int) -> list[tuple[int, Status]]:
        body = encode_request(PullRequest(listed["version"], wait_ms, 1_000, 10, wanted))
        request = urllib.request.Request(f"{root.url}/pipe/records", data=body, method="POST")
        with urllib.request.urlopen(request, timeout=60) as response:
            return [(each.partition, each.status) for each in decode_answer(response.read()).partitions]

    unknown = [Wanted(os.urandom(16), 0, 0, 0) for _ in range(PARTITIONS_MAX)]
    existing = [Wanted(topic_id, index, 0, 0) for index in range(1_000)]
    with client(root) as other, client(root) as writer, ThreadPoolExecutor(1) as thread:
        with nobody_waits(other, root, 0.1):
            assert pull(unknown, 0) == [(0, Status.UNKNOWN)] * PARTITIONS_MAX
        with nobody_waits(other, root, 0.1):
            waiting = thread.submit(pull, existing, 30_000)
            wait_until(lambda: "penstock_pipe_pulls 1.0" in root.text("/metrics"), what="one waits")
            writer.appended(topic, batches.values(b"news"), partition=999)
            assert waiting.result() == [(999, Status.OK)]


@pytest.mark.feature("P-13")
def test_subscriptions_of_a_mirror_are_refreshed_when_it_was_reset(levels: Levels) -> None:
    root, child, _ = levels
    topic = new_topic(root, 3)
    child.wait_for_ends(topic, [3])
    with PushClient(child.push_port) as reader:
        reader.ask(push.Subscribe("", topic, "fresh"))
        assert [item.offset for item in reader.items(3)] == [0, 1, 2]
        with pytest.raises(PushRefused, match="mirror"):
            reader.publish(topic, b"no")
        child.reset(topic)
        reader.ends()  # the topic is gone for a moment
    wait_until(lambda: "refresh 1 of subscription fresh" in child.log_file.read_text(), what="the refresh")
    with PushClient(child.push_port) as reader:
        wait_until(lambda: joins(reader, "fresh"), what="a member")
        seen = reader.receive()
        assert seen == push.Reset("fresh", 1, (push.TopicEnds(topic, ((0, 3),)),))
        assert [item.offset for item in reader.items(3)] == [0, 1, 2]
        reader.ask(push.Ready("fresh", 1))


def joins(client: PushClient, name: str) -> bool:
    try:
        client.ask(push.Subscribe(name))
    except PushRefused:
        return False
    return True


@pytest.mark.feature("P-16")
def test_the_command_shows_and_resets(levels: Levels) -> None:
    root, child, _ = levels
    topic = new_topic(root, 2)
    child.wait_for_ends(topic, [2])

    def penstock(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "penstock", "pipe", *arguments, "--url", child.url]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    shown = penstock("status")
    assert (shown.returncode, "HEALTHY" in shown.stdout, topic in shown.stdout) == (0, True, True)
    told = json.loads(penstock("status", "--output", "json").stdout)
    assert told["parentUrl"] == root.url
    missing = penstock("reset", "nothing")
    assert (missing.returncode, "no mirror nothing" in missing.stderr) == (4, True)
    again = penstock("reset", topic)
    assert (again.returncode, again.stderr.strip()) == (0, f"reset: {topic}")
    child.wait_for_ends(topic, [2])
