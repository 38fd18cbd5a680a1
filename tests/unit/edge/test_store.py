"""Every message is in the log once, whatever the broker sends again, and whatever happens to the index."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
import uuid
from pathlib import Path

import pytest

from penstock.edge import catching_up, generation
from penstock.edge.errors import Diverged, Unstorable
from penstock.edge.index import delete_index, files_of
from penstock.edge.messages import SOURCE_HEADER, Incoming, Place
from penstock.edge.reading import Reader
from penstock.edge.store import Store
from penstock.storage.data_directory import DataDirectoryError, DirectoryLocked
from penstock.storage.engine.disk_engine import DiskEngine
from penstock.storage.metadata.topics import TopicRow
from penstock.testing.faulty_files import FaultyFiles, Kind
from tests.support.edge_store import SMALL, TOPIC, contents, message, messages, opened, places

pytestmark = pytest.mark.feature("P-13")
INDEX = "index-1.db"


def test_messages_keep_all_they_came_with(tmp_path: Path) -> None:
    sent = [
        Incoming(Place(2, 7), 1234, b"k", b"body", (("a", b"1"), ("a", None), (SOURCE_HEADER, b"mine"))),
        Incoming(Place(0, 0), -1, None, None),
        Incoming(Place(0, 1), (1 << 62), b"", b"", (("\udcff", b"\xff"),)),
    ]

    async def scenario() -> None:
        async with opened(tmp_path) as store:
            assert await store.store(sent) == sent
            found = contents(store.active)
            assert [each.offset for each in found] == [0, 1, 2]
            assert [Incoming(*each[1:]) for each in found] == sent
            assert [each.checksum for each in found] == [each.checksum for each in sent]

    asyncio.run(scenario())


def test_what_comes_again_is_not_stored_again(tmp_path: Path) -> None:
    async def first() -> None:
        async with opened(tmp_path) as store:
            await store.store(messages(range(5)))
            assert await store.store(messages(range(3, 8))) == messages(range(5, 8))
            assert await store.store([*messages([9]), *messages([9])]) == messages([9])
            assert await store.store(messages([8, 0], partition=1)) == messages([8, 0], partition=1)
            assert await store.store([*messages([8]), *messages([8, 1], partition=1)]) == [
                message(8),
                message(1, partition=1),
            ]

    async def second() -> None:
        async with opened(tmp_path) as store:
            assert await store.store([*messages(range(10)), *messages(range(9), partition=1)]) == messages(
                range(2, 8), partition=1
            )
            found = places(store.active)
            assert len(found) == len(set(found)) == 19
            assert store.active.highest == {0: 9, 1: 8}

    asyncio.run(first())
    asyncio.run(second())


@pytest.mark.parametrize("harm", ["deleted", "garbage", "half", "other", "stale", "ahead", "row missing", "schema"])
def test_an_index_that_is_gone_or_wrong_is_built_anew(
    tmp_path: Path, harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    other = tmp_path / "other"

    async def fill(root: Path, count: int) -> None:
        async with opened(root) as store:
            await store.store(messages(range(count)))
            await store.active.until_indexed()

    async def check() -> None:
        async with opened(tmp_path / "data") as store:
            assert await store.store(messages(range(20))) == messages(range(10, 20))
            await store.active.until_indexed()
            assert store.active.covered == 20
            assert store.active.index is not None
            assert len(store.active.index.checksums([Place(0, offset) for offset in range(30)])) == 20

    asyncio.run(fill(tmp_path / "data", 10))
    asyncio.run(fill(other, 12 if harm == "ahead" else 5))
    _harm(tmp_path / "data" / INDEX, other / INDEX, harm)
    asyncio.run(check())
    assert ("is rebuilt" in caplog.text) == (harm not in ("deleted", "stale"))


def _harm(path: Path, other: Path, harm: str) -> None:
    if harm in ("deleted", "garbage", "half", "other"):
        content = path.read_bytes()
        for each in files_of(path):
            each.unlink(missing_ok=True)
        if harm != "deleted":
            path.write_bytes(
                {"garbage": b"not SQLite" * 1000, "half": content[: len(content) // 2], "other": other.read_bytes()}[
                    harm
                ]
            )
        return
    changes = {
        "stale": "DELETE FROM messages WHERE offset >= 4; UPDATE meta SET value = '4' WHERE name = 'covered'",
        "ahead": "INSERT INTO messages VALUES (10, 0, 10, NULL, 0, 0);"
        "UPDATE meta SET value = '11' WHERE name = 'covered'",
        "row missing": "DELETE FROM messages WHERE offset = 4",
        "schema": "PRAGMA user_version = 99",
    }
    database = sqlite3.connect(path)
    database.executescript(changes[harm])
    database.close()


def test_a_long_rebuild_tells_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in (("PROGRESS_ROWS_MIN", 10), ("PROGRESS_SECONDS", 0.0), ("ROWS_PER_COMMIT", 5)):
        monkeypatch.setattr(catching_up, name, value)
    caplog.set_level("INFO")

    async def scenario() -> None:
        async with opened(tmp_path) as store:
            await store.active.until_indexed()
            await store.store(messages(range(20)))
            await store.active.until_indexed()

    asyncio.run(scenario())
    delete_index(tmp_path / INDEX)
    caplog.clear()
    asyncio.run(scenario())
    told = [(record.message, vars(record)["percent"]) for record in caplog.records if "percent" in vars(record)]
    assert told[0] == ("building the index", 25)
    assert told[-1] == ("the index is complete", 100)


def test_an_index_that_is_deleted_under_way_is_built_anew(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as store:
            await store.store(messages(range(10)))
            await store.active.until_indexed()
            for path in files_of(tmp_path / INDEX):
                path.unlink(missing_ok=True)
            latest = await Reader(store).latest(b"AAPL")
            assert latest is not None
            assert latest.place == Place(0, 9)
            assert (tmp_path / INDEX).exists(), "whoever asks it notices"
            assert await store.store(messages(range(12))) == messages([10, 11])

    asyncio.run(scenario())


def test_another_message_under_a_stored_offset_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as store:
            await store.store(messages(range(3)))
            for again in (message(1, body=b"other"), message(1)._replace(timestamp=1), message(1, key=None)):
                with pytest.raises(Diverged, match=r"offset 1 of partition 0.*POST /refresh"):
                    await store.store([again, message(3)])
            assert places(store.active) == [(0, 0), (0, 1), (0, 2)]

    asyncio.run(scenario())


def test_a_second_instance_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path):
            with pytest.raises(DirectoryLocked, match="in use by process"):
                Store.open(tmp_path, TOPIC, settings=SMALL)

    asyncio.run(scenario())


def test_a_directory_of_another_topic_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path):
            pass
        with pytest.raises(DataDirectoryError, match="messages of topic price-topic, not of other"):
            Store.open(tmp_path, "other", settings=SMALL)

    asyncio.run(scenario())


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"edge": 1}', b'{"edge": 9}', b"\xff"])
def test_a_state_that_cannot_be_read_is_an_error_that_names_the_fix(tmp_path: Path, content: bytes) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as store:
            await store.store(messages([0]))

    asyncio.run(scenario())
    (tmp_path / "edge.json").write_bytes(content)
    with pytest.raises(DataDirectoryError, match=r"edge\.json"):
        Store.open(tmp_path, TOPIC, settings=SMALL)
    (tmp_path / "edge.json").unlink()
    with pytest.raises(DataDirectoryError, match=r"no edge\.json"):
        Store.open(tmp_path, TOPIC, settings=SMALL)


def test_a_damaged_log_is_read_to_the_damage_and_takes_no_more(tmp_path: Path) -> None:
    async def fill() -> None:
        async with opened(tmp_path) as store:
            for offset in range(10):
                await store.store(messages([offset]))
            await store.active.until_indexed()

    async def check() -> None:
        async with opened(tmp_path) as store:
            assert await store.store(messages(range(10))) == [], "the index knows them all"
            with pytest.raises(Unstorable):
                await store.store(messages([10]))
            assert "POST /refresh" in str(store.problem())
            assert not await store.begin_refresh(1, {0: 2})
            assert store.problem() is None
            await store.store(messages(range(2)))
            assert store.is_refreshed()
            await store.complete_refresh()
            assert places(store.active) == [(0, 0), (0, 1)]

    asyncio.run(fill())
    (log,) = (tmp_path / "topics").rglob("*.log")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    asyncio.run(check())


def test_while_the_disk_is_full_nothing_is_taken(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(tmp_path) as store:
            await store.store(messages(range(2)))
            store.engine.gate.accepts_writes = False
            assert "make room" in str(store.problem())
            with pytest.raises(Unstorable):
                await store.store(messages(range(4)))
            assert await store.store(messages(range(2))) == [], "what is there may be acknowledged"
            store.engine.gate.accepts_writes = True
            assert await store.store(messages(range(4))) == messages([2, 3])

    asyncio.run(scenario())


def test_what_was_written_before_an_error_is_acknowledged_only_when_it_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generation, "BATCH_MESSAGES_MAX", 1)
    files = FaultyFiles(tmp_path)

    async def scenario() -> None:
        async with opened(tmp_path, files=files) as store:
            files.fail(Kind.WRITE, errno.ENOSPC, path=".log", after=1)
            with pytest.raises(Unstorable):
                await store.store(messages(range(2)))
            assert store.active.end == 0
            assert await store.store(messages([0])) == []
            assert store.active.end == 1

    asyncio.run(scenario())


def test_what_a_failed_flush_leaves_is_neither_promised_nor_stored_twice(tmp_path: Path) -> None:
    files = FaultyFiles(tmp_path)

    async def fails() -> None:
        async with opened(tmp_path, files=files) as store:
            await store.store(messages(range(2)))
            files.fail(Kind.SYNC, errno.EIO, path=".log", times=100)
            files.fail(Kind.SYNC_ALL, errno.EIO, times=100)
            with pytest.raises(Unstorable, match="start the application again"):
                await store.store(messages(range(4)))
            assert "start the application again" in str(store.problem())
            files.heal()

    async def goes_on() -> None:
        async with opened(tmp_path) as store:
            await store.store(messages(range(4)))
            assert sorted(places(store.active)) == [(0, offset) for offset in range(4)]

    asyncio.run(fails())
    asyncio.run(goes_on())


def test_the_directory_of_a_broker_is_left_alone(tmp_path: Path) -> None:
    engine = DiskEngine.open(tmp_path, SMALL)
    row = TopicRow("orders", uuid.uuid4(), 1, internal=False, replication_factor=1)
    engine.metadata.topics.create([(row, {})])
    engine.close()
    with pytest.raises(DataDirectoryError, match="a broker's"):
        Store.open(tmp_path, TOPIC, settings=SMALL)
    engine = DiskEngine.open(tmp_path, SMALL)
    assert [each.name for each in engine.metadata.topics.all()] == ["orders"]
    engine.close()
