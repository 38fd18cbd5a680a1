"""Three levels while their processes are killed and their lines cut: in the end every level has everything, once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pytest

from tests.support import batches
from tests.support.hierarchy import HierarchyNode, Line
from tests.support.raw_client import RawClient
from tests.support.topic_contents import topic_contents
from tests.support.waiting import wait_until
from tests.support.wire import ConnectionClosed

pytestmark = [pytest.mark.feature("P-12", "P-28"), pytest.mark.crash]

TOPIC = "prices"


class Writer:
    """Produces to the root, one batch after the other, whatever happens to it; `acknowledged` by offset."""

    def __init__(self, root: HierarchyNode) -> None:
        self._root = root
        self._stopping = threading.Event()
        self.acknowledged: dict[int, bytes] = {}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(30)

    def _run(self) -> None:
        number = 0
        while not self._stopping.is_set():
            try:
                with RawClient(self._root.host, self._root.port) as client:
                    while not self._stopping.is_set():
                        number += 1
                        values = [b"%d-%d" % (number, index) for index in range(1 + number % 4)]
                        offset = client.appended(TOPIC, batches.values(*values))
                        self.acknowledged |= {offset + index: value for index, value in enumerate(values)}
            except (OSError, AssertionError, ConnectionClosed):
                self._stopping.wait(0.05)


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[tuple[list[HierarchyNode], list[Line]]]:
    nodes: list[HierarchyNode] = [HierarchyNode(tmp_path / "root").begin()]
    lines: list[Line] = []
    for name in ("middle", "leaf"):
        lines.append(Line(nodes[-1]))
        nodes.append(HierarchyNode(tmp_path / name, lines[-1].url).begin())
    yield nodes, lines
    for line in lines:
        line.close()
    for node in reversed(nodes):
        node.kill9()


def kill(node: HierarchyNode) -> None:
    node.kill9()
    node.start()


def cut(line: Line) -> None:
    line.cut()
    time.sleep(0.2)  # the length of the outage
    line.mend()


def disturb(chain: tuple[list[HierarchyNode], list[Line]], count: int, seed: int) -> None:
    nodes, lines = chain
    with RawClient(nodes[0].host, nodes[0].port) as client:
        client.create_topic(TOPIC)
    writer = Writer(nodes[0])
    random = Random(seed)
    actions: list[Callable[[], None]] = [lambda node=node: kill(node) for node in nodes]  # type: ignore[misc]
    actions += [lambda line=line: cut(line) for line in lines]  # type: ignore[misc]
    chosen = [action for _ in range(1 + count // len(actions)) for action in random.sample(actions, len(actions))]
    for action in chosen[:count]:
        time.sleep(random.random() * 0.3)  # any moment
        action()
    before = len(writer.acknowledged)
    wait_until(lambda: len(writer.acknowledged) > before + 20, what="the root takes records again")
    writer.stop()
    check(nodes, writer.acknowledged)


def check(nodes: list[HierarchyNode], acknowledged: dict[int, bytes]) -> None:
    root = nodes[0]
    expected = topic_contents(root.bootstrap, TOPIC)
    stored = {seen.offset: seen.value for seen in expected}
    assert len(stored) == len(expected)
    assert {offset: stored.get(offset) for offset in acknowledged} == acknowledged
    for node in nodes[1:]:
        node.wait_for_ends(TOPIC, root.ends(TOPIC), within_s=30)
        assert topic_contents(node.bootstrap, TOPIC) == expected
        assert node.mirror(TOPIC)["state"] == "FOLLOWING"
        assert node.pipe["gaps"] == 0


def test_each_process_killed_and_each_line_cut_once(chain: tuple[list[HierarchyNode], list[Line]]) -> None:
    disturb(chain, 5, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(3))
def test_many_kills_and_cuts(chain: tuple[list[HierarchyNode], list[Line]], seed: int) -> None:
    disturb(chain, 30, seed=100 + seed)


def test_a_child_without_room_waits_and_goes_on(tmp_path: Path) -> None:
    root = HierarchyNode(tmp_path / "root").begin()
    with RawClient(root.host, root.port) as client:
        client.create_topic(TOPIC)
        client.appended(TOPIC, batches.values(b"a", b"b"))
    child = HierarchyNode(tmp_path / "child", root.url)
    full = {"PENSTOCK_STORAGE__MIN_FREE_BYTES": str(1 << 60)}
    try:
        child.prepare()
        child.extra_environment = full
        child.start()
        wait_until(lambda: "room" in (child.pipe["lastFailure"] or ""), what="no room")
        assert child.ends(TOPIC) == [0]
        child.stop()
        child.extra_environment = {}
        child.start()
        child.wait_for_ends(TOPIC, [2])
    finally:
        child.kill9()
        root.kill9()
