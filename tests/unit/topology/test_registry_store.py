"""The registry on disk: everything comes back, nothing half; and its service when the disk refuses."""

import asyncio
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.node.web_server import WebServer
from penstock.security.access import Access
from penstock.storage.data_directory import DataDirectoryError, DirectoryLocked
from penstock.testing.clock import ManualClock
from penstock.topology.registry.hierarchy import Changes
from penstock.topology.registry.member import Registration
from penstock.topology.registry.service import NotStored, RegistryService
from penstock.topology.registry.site import registry_site
from penstock.topology.registry.store import RegistryStore
from tests.support.admission import http_port
from tests.support.http_client import ask
from tests.unit.topology.registry_world import World

pytestmark = pytest.mark.feature("P-11")


def test_members_and_version_come_back(tmp_path: Path) -> None:
    world = World()
    world.join("root-1", site="eu")
    world.join("l2-a")
    world.join("local-1", url=False)
    world.hierarchy.set_parent("local-1", "root-1")
    world.run(1)
    del world.up["l2-a"]
    world.run(5)
    changes = world.hierarchy.changes()
    assert changes is not None
    store = RegistryStore(tmp_path)
    store.save(changes)
    store.close()
    again = RegistryStore(tmp_path)
    expected = [replace(member, polls=0, last_poll_ms=0, answer_change=-1) for member in changes.members]
    assert again.members() == expected
    assert (again.version, again.registry_id) == (changes.version, store.registry_id)
    again.save(Changes([], ["l2-a"], 99))
    assert [member.node_id for member in again.members()] == ["local-1", "root-1"]
    assert again.version == 99
    again.close()


def test_commits_are_synced(tmp_path: Path) -> None:
    store = RegistryStore(tmp_path)
    assert store._database.execute("PRAGMA synchronous").fetchone() == (2,)
    store.close()


def test_one_process_a_directory(tmp_path: Path) -> None:
    store = RegistryStore(tmp_path)
    with pytest.raises(DirectoryLocked, match="--data-dir"):
        RegistryStore(tmp_path)
    store.close()
    RegistryStore(tmp_path).close()


def test_a_damaged_file_and_one_of_the_future_are_refused(tmp_path: Path) -> None:
    (tmp_path / "registry.db").write_bytes(b"not a database, but long enough to look at" * 20)
    with pytest.raises(DataDirectoryError, match="move it away"):
        RegistryStore(tmp_path)
    (tmp_path / "registry.db").unlink()
    RegistryStore(tmp_path).close()
    with sqlite3.connect(tmp_path / "registry.db") as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(DataDirectoryError, match="newer Penstock"):
        RegistryStore(tmp_path)


async def ready_status(service: RegistryService) -> int:
    server = WebServer(http_port(), lambda: registry_site(service, Access()))
    await server.start()
    url = f"http://127.0.0.1:{server.port}/health"
    assert (await asyncio.to_thread(ask, f"{url}/live")).status == 200
    status = (await asyncio.to_thread(ask, f"{url}/ready")).status
    await server.stop()
    return status


def test_nobody_is_answered_before_it_is_stored(tmp_path: Path) -> None:
    """A disk that fails for a while: refused, and stored with whatever comes next."""
    store = RegistryStore(tmp_path)
    database = store._database

    async def scenario() -> None:
        service = RegistryService(store, ManualClock())
        await service.register(Registration(node_id="root-1", url="http://a"))
        database.execute("PRAGMA query_only = ON")
        with pytest.raises(NotStored):
            await service.register(Registration(node_id="local-1"))
        with pytest.raises(NotStored):
            await service.poll("root-1", None)
        assert [member.node_id for member in store.members()] == ["root-1"]
        assert "readonly" in str(service.problem)
        assert await ready_status(service) == 503
        database.execute("PRAGMA query_only = OFF")
        await service.poll("root-1", None)
        assert await ready_status(service) == 200
        assert [member.node_id for member in store.members()] == ["local-1", "root-1"]
        assert service.requests["register", "failed"] == 1
        await service.stop()

    asyncio.run(scenario())
    store.close()


def test_a_file_of_the_first_version_is_taken_over(tmp_path: Path) -> None:
    """Its nodes belong to nobody yet."""
    world = World()
    world.join("root-1")
    changes = world.hierarchy.changes()
    assert changes is not None
    store = RegistryStore(tmp_path)
    store.save(changes)
    store.close()
    with sqlite3.connect(tmp_path / "registry.db") as database:
        database.execute("ALTER TABLE members DROP COLUMN principal")
        database.execute("PRAGMA user_version = 1")
    again = RegistryStore(tmp_path)
    (member,) = again.members()
    assert (member.node_id, member.principal) == ("root-1", None)
    again.save(Changes([replace(member, principal="User:a")], [], 2))
    assert [each.principal for each in again.members()] == ["User:a"]
    again.close()
