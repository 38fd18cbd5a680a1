"""Another parent in the middle of everything: a child goes on where its own log ends, with nothing missed or twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import batches
from tests.support.hierarchy import HierarchyNode
from tests.support.raw_client import RawClient
from tests.support.registry_process import RegistryProcess, all_running
from tests.support.topic_contents import topic_contents
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.feature("P-11", "P-12", "P-28"), pytest.mark.timeout(300)]

TOPIC = "prices"
CONFIG = """\
node: {{id: {node_id}}}
registry: {{url: '{registry}', poll_interval_ms: 300}}
pipe: {{poll_interval_ms: 50, wait_ms: 200, timeout_ms: 2000, unhealthy_failures: {failures}}}
"""


class Family(NamedTuple):
    root: HierarchyNode
    middle: HierarchyNode
    local: HierarchyNode

    def produce(self, count: int) -> None:
        """At the root."""
        with RawClient(self.root.host, self.root.port) as client:
            if not self.root.ends(TOPIC):
                client.create_topic(TOPIC)
            for number in range(count):
                client.appended(TOPIC, batches.values(b"%d" % number))

    def wait_for_parent(self, parent: HierarchyNode) -> None:
        wait_until(lambda: self.local.pipe["parentUrl"] == parent.url, what=f"the parent {parent.url}", within_s=60)

    def check(self, count: int) -> None:
        """The same everywhere, and of every message one copy was stored."""
        self.local.wait_for_ends(TOPIC, [count])
        assert topic_contents(self.local.bootstrap, TOPIC) == topic_contents(self.root.bootstrap, TOPIC)
        assert self.local.mirror(TOPIC)["state"] == "FOLLOWING"
        assert (self.local.pipe["messages"], self.local.pipe["gaps"]) == (count, 0)


@contextmanager
def family(directory: Path, registry: RegistryProcess, *, failures: int) -> Iterator[Family]:
    made = [
        HierarchyNode(directory / name, config=CONFIG.format(node_id=name, registry=registry.url, failures=failures))
        for name in ("root-1", "l2-1", "local-1")
    ]
    with all_running(registry, *made):
        yield Family(*made)


def test_a_child_that_is_given_another_parent_resumes_exactly(tmp_path: Path) -> None:
    """By the registry, after three missed polls: the child itself would be patient for longer than this test."""
    registry = RegistryProcess(tmp_path / "registry")
    with family(tmp_path, registry, failures=1_000_000) as nodes:
        nodes.wait_for_parent(nodes.middle)
        nodes.produce(10)
        nodes.check(10)
        nodes.middle.kill9()
        nodes.produce(10)
        nodes.wait_for_parent(nodes.root)
        nodes.check(20)
        nodes.middle.start()
        nodes.produce(10)
        nodes.wait_for_parent(nodes.middle)  # when it is trusted again
        nodes.produce(10)
        nodes.check(40)


def test_a_child_whose_parent_is_away_tries_the_next_one_that_the_registry_named(tmp_path: Path) -> None:
    """By itself, after five failures: the registry is away, too, and what it said last holds."""
    registry = RegistryProcess(tmp_path / "registry")
    with family(tmp_path, registry, failures=5) as nodes:
        nodes.wait_for_parent(nodes.middle)
        nodes.produce(10)
        nodes.check(10)
        registry.kill9()
        nodes.middle.kill9()
        nodes.produce(10)
        nodes.wait_for_parent(nodes.root)
        nodes.check(20)
        wait_until(lambda: nodes.local.pipe["health"] == "HEALTHY", what="HEALTHY with the other parent")
        assert nodes.local.pipe["failures"] >= 5
