"""A registry and brokers as real processes, which die at bad moments."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.support.metrics_page import metric, page
from tests.support.penstock_process import PenstockProcess
from tests.support.registry_process import POLL_INTERVAL_MS, FollowingProcess, RegistryProcess, all_running
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-11")


def follower(directory: Path, node_id: str, registry: RegistryProcess) -> FollowingProcess:
    return FollowingProcess(directory / node_id, node_id, registry.url)


@pytest.mark.crash
def test_a_hierarchy_through_kills_of_everything(tmp_path: Path) -> None:
    """Re-parenting after three missed polls, a registry that dies and forgets nothing, a start without it, a node that
    comes back.
    """
    registry = RegistryProcess(tmp_path / "registry")
    root, first, local = (follower(tmp_path, name, registry) for name in ("root-1", "l2-a", "local-1"))
    with all_running(registry, local, first, root):
        wait_until(lambda: f"parent {first.url}" in local.place(), what="the local broker is below the L2")
        wait_until(lambda: f"parent {root.url}" in first.place(), what="the L2 is below the root")
        assert metric(local, "penstock_topology_registered") == 1

        first.kill9()
        wait_until(lambda: f"parent {root.url}" in local.place(), what="the root takes over after three missed polls")
        assert not registry.node("l2-a")["live"]

        registry.kill9()
        wait_until(lambda: "unreachable" in local.place(), what="the local broker notices")
        report = local.health()
        assert report["status"] == "ready"
        assert registry.url in report["warnings"]["registry"]
        local.kill9()
        local.start()
        wait_until(
            lambda: "unreachable" in local.place(), what="a local broker that starts meanwhile has asked in vain"
        )
        assert f"LOCAL, parent {root.url}" in local.place()
        registry.start()
        wait_until(lambda: "registered" in local.place(), what="the local broker polls again")
        assert f"parent {root.url}" in local.place()
        assert (registry.node("l2-a")["role"], registry.node("l2-a")["live"]) == ("L2", False)

        first.start()
        wait_until(lambda: f"parent {first.url}" in local.place(), what="the L2 is trusted again")


@pytest.mark.slow
def test_a_node_starts_in_its_place_while_the_registry_is_down(tmp_path: Path) -> None:
    registry = RegistryProcess(tmp_path / "registry")
    registry.start()
    registry.register("root-1", url="http://root:1", pollIntervalMs=86_400_000)
    node = follower(tmp_path, "local-1", registry)
    with all_running(node):
        wait_until(lambda: "parent http://root:1" in node.place(), what="it has its place")
        node.kill9()
        registry.stop()
        node.start()
        wait_until(lambda: "unreachable" in node.place(), what="it has asked in vain")
        assert "LOCAL, parent http://root:1" in node.place()
        assert node.health()["ready"]
        assert 'penstock_topology_info{node="local-1",parent="http://root:1",role="LOCAL"} 1.0' in page(node)
        node.kill9()
        (node.data_directory / "topology.json").write_text("{")
        node.start()
        wait_until(lambda: "unreachable" in node.place(), what="it has asked in vain")
        assert "no role yet" in node.place()
        registry.start()
        wait_until(lambda: "parent http://root:1" in node.place(), what="the registry knows", within_s=30)
        registry.stop()


@pytest.mark.slow
def test_two_brokers_with_one_id(tmp_path: Path) -> None:
    registry = RegistryProcess(tmp_path / "registry")
    one, two = (FollowingProcess(tmp_path / name, "local-1", registry.url) for name in ("one", "two"))
    with all_running(registry, one):
        wait_until(lambda: "registered" in one.place(), what="the first one is registered")
        with all_running(two):
            wait_until(lambda: "refused" in two.place(), what="the second one is refused")
            assert "NODE_ID" in two.health()["warnings"]["registry"]
            assert registry.node("local-1")["url"] == one.url
            one.kill9()
            wait_until(lambda: "registered" in two.place(), what="it takes the place of the dead one")
            assert registry.node("local-1")["url"] == two.url


@pytest.mark.slow
def test_a_node_that_was_removed_registers_again(tmp_path: Path) -> None:
    registry = RegistryProcess(tmp_path / "registry")
    node = follower(tmp_path, "root-1", registry)
    with all_running(registry, node):
        first = wait_until(lambda: registry.node("root-1"), what="it is registered")
        registry.ask("DELETE", "/registry/nodes/root-1")
        again = wait_until(lambda: registry.node("root-1"), what="it is registered again")
        assert again["version"] > first["version"]


@pytest.mark.slow
def test_a_registry_that_was_stopped_with_its_machine_moves_nobody(tmp_path: Path) -> None:
    registry = RegistryProcess(tmp_path / "registry")
    root, second, local = (follower(tmp_path, name, registry) for name in ("root-1", "l2-a", "local-1"))
    with all_running(registry, root, second, local):
        wait_until(lambda: f"parent {second.url}" in local.place(), what="everybody has a place")
        os.kill(registry.pid, signal.SIGSTOP)
        try:
            wait_until(lambda: "unreachable" in local.place(), what="polls time out", within_s=30)
        finally:
            os.kill(registry.pid, signal.SIGCONT)
        wait_until(lambda: "registered" in local.place(), what="polls are answered again", within_s=30)
        page = registry.ask("GET", "/metrics").body.decode()
        assert "penstock_registry_reparented_total 0.0" in page
        assert 'state="silent"' not in page


@pytest.mark.slow
def test_without_a_registry_a_node_stands_alone(tmp_path: Path) -> None:
    node = PenstockProcess(tmp_path)
    with all_running(node):
        assert "penstock_topology" not in page(node)
        assert not (node.data_directory / "topology.json").exists()


@pytest.mark.slow
def test_something_else_behind_the_url_is_named(tmp_path: Path) -> None:
    other = PenstockProcess(tmp_path / "other")
    with all_running(other):
        node = FollowingProcess(tmp_path / "node", "local-1", f"http://{other.host}:{other.http_port}")
        with all_running(node):
            wait_until(lambda: "registry" in node.health()["warnings"], what="the warning")
            assert "registry.url" in node.health()["warnings"]["registry"] or "this port has" in str(node.health())


@pytest.mark.crash
def test_what_was_answered_survives_kill_9(tmp_path: Path) -> None:
    """Nodes register one after the other; after each kill everything that was answered is known, versions rise."""
    registry = RegistryProcess(tmp_path / "registry")
    told: dict[str, int] = {}
    for start in range(2):
        registry.start()
        for number in range(10):
            node_id = f"l2-{start}-{number}"
            told[node_id] = registry.register(node_id, url=f"http://{node_id}").json["version"]
        registry.kill9()
    registry.start()
    nodes = {node["nodeId"]: node["version"] for node in registry.ask("GET", "/registry/nodes").json["nodes"]}
    assert nodes == told
    assert list(told.values()) == sorted(set(told.values()))
    assert registry.register("l2-new").json["version"] > max(told.values())
    registry.stop()


@pytest.mark.slow
def test_the_poll_interval_is_what_the_setting_says(tmp_path: Path) -> None:
    registry = RegistryProcess(tmp_path / "registry")
    node = follower(tmp_path, "root-1", registry)
    with all_running(registry, node):
        found = wait_until(lambda: registry.node("root-1"), what="it is registered")
        assert found["pollIntervalMs"] == POLL_INTERVAL_MS
        wait_until(lambda: metric(node, "penstock_topology_polls_total") >= 4, what="it polls")
    stored = json.loads((node.data_directory / "topology.json").read_text())
    assert stored["content"]["topology"]["role"] == "ROOT"
