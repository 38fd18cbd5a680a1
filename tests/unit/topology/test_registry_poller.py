"""Requests of a node to the registry and their times, whatever the answers; and the topology on disk."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.role import Role
from penstock.runtime.files import RealFiles
from penstock.topology.cache import NAME, Remembered, TopologyCache
from penstock.topology.model import Topology
from penstock.topology.registry_poller import Poll, Question, Register, RegistryPoller, RegistryState

pytestmark = pytest.mark.feature("P-11")

ROOT = Topology(node_id="root-1", version=1, role=Role.ROOT)
CHILD = Topology(
    node_id="local-1", version=7, role=Role.LOCAL, parent_url="http://a:1", fallbacks=("http://b:1", "http://c:1")
)


def poller(chance: float = 0.0, topology: Topology | None = None) -> RegistryPoller:
    return RegistryPoller(poll_interval_ms=30_000, chance=lambda: chance, topology=topology)


def test_parents_in_the_order_in_which_they_are_tried() -> None:
    assert CHILD.parents == ("http://a:1", "http://b:1", "http://c:1")
    assert ROOT.parents == ()


def test_registers_then_polls_with_the_etag() -> None:
    core = poller()
    asked: list[Question] = [core.question]
    assert core.answered(CHILD, '"r-7"') == 30_000
    asked.append(core.question)
    assert asked == [Register(), Poll(etag='"r-7"')]
    assert core.answered(None, '"r-7"') == 30_000
    assert (core.topology, core.state, core.polls, core.changes) == (CHILD, RegistryState.REGISTERED, 2, 1)


def test_polls_come_a_little_early_and_never_late() -> None:
    assert poller(1.0).answered(CHILD, None) == pytest.approx(25_500)


def test_without_a_parent_it_asks_sooner() -> None:
    orphan = Topology(node_id="local-1", version=1, role=Role.LOCAL)
    assert poller().answered(orphan, None) == 2_000
    assert poller().answered(ROOT, None) == 30_000


def test_pauses_after_failures_grow_up_to_the_interval_and_end_with_an_answer() -> None:
    core = poller()
    assert [core.unreachable("no") for _ in range(7)] == [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]
    assert (core.state, core.problem, core.failures) == (RegistryState.UNREACHABLE, "no", 7)
    core.answered(ROOT, None)
    assert core.problem is None
    assert core.unreachable("no") == 1_000
    assert poller(1.0).unreachable("no") == 500


def test_forgotten_by_the_registry_it_registers_at_once() -> None:
    core = poller()
    core.answered(CHILD, '"r-7"')
    assert core.refused(404, "no node local-1") == 0
    assert core.question == Register()
    assert core.refused(404, "not a registry at all") == 1_000
    assert core.topology == CHILD


def test_another_node_of_its_id_makes_it_register_again_later() -> None:
    core = poller()
    core.answered(CHILD, '"r-7"')
    assert core.refused(409, "used by another") == 1_000
    assert (core.question, core.state, core.problem) == (Register(), RegistryState.REFUSED, "used by another")
    core.answered(CHILD, '"r-8"')
    core.refused(503, "disk full")
    assert core.question == Poll(etag='"r-8"')


@given(st.lists(st.sampled_from(["answer", "same", "404", "409", "503", "down"]), max_size=50), st.floats(0, 1))
def test_whatever_happens_the_last_topology_holds(events: list[str], chance: float) -> None:
    core = poller(chance, CHILD)
    for event in events:
        match event:
            case "answer" | "same":
                pause = core.answered(CHILD if event == "answer" else None, '"e"')
            case "down":
                pause = core.unreachable("down")
            case status:
                pause = core.refused(int(status), status)
        assert core.topology == CHILD
        assert 0 <= pause <= 30_000
        assert (core.problem is None) == (core.state in (RegistryState.REGISTERED, RegistryState.UNASKED))


# ------------------------------------------------------------------------------------------------------------- on disk


def test_what_was_kept_is_there_again(tmp_path: Path) -> None:
    cache = TopologyCache(RealFiles(), tmp_path)
    first = cache.load("local-1")
    assert first.topology is None
    cache.save(Remembered(first.instance_id))
    assert cache.load("local-1") == first
    cache.save(Remembered(first.instance_id, CHILD))
    assert cache.load("local-1") == Remembered(first.instance_id, CHILD)
    assert cache.load("local-2") == Remembered(first.instance_id)  # the place is another node's
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_without_a_directory_nothing_is_kept() -> None:
    cache = TopologyCache(RealFiles(), None)
    cache.save(Remembered("i", CHILD))
    assert cache.load("local-1").topology is None


@pytest.mark.parametrize("damage", ["half", "empty", "binary", "changed", "list", "role"])
def test_a_damaged_file_counts_as_none(tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    cache = TopologyCache(RealFiles(), tmp_path)
    cache.save(Remembered("i", CHILD))
    path = tmp_path / NAME
    data = path.read_bytes()
    damaged = {
        "half": data[: len(data) // 2],
        "empty": b"",
        "binary": b"\xff\xfe\0",
        "changed": data.replace(b"http://a:1", b"http://x:1"),
        "list": b"[]",
        "role": json.dumps({"crc32c": 0, "content": {}}).encode(),
    }[damage]
    path.write_bytes(damaged)
    assert cache.load("local-1").topology is None
    assert "damaged" in caplog.text
