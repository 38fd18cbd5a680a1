"""The catalog: believed after a clean stop only, and replaced when it does not read well."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from penstock.model.ids import PartitionId
from penstock.storage.engine.catalog import Catalog, CataloguedLog
from penstock.storage.segment.segment_entry import SegmentEntry
from penstock.storage.segment.time_index import Times

ONE = PartitionId(uuid.UUID(int=1), 0)
TWO = PartitionId(uuid.UUID(int=1), 1)


def entry(base: int) -> SegmentEntry:
    return SegmentEntry(base, base + 10, 1000 + base, Times(5, 9, base + 3))


@pytest.mark.feature("P-06")
def test_segments_are_there_after_a_clean_stop_only(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    catalog = Catalog(path)
    catalog.record([CataloguedLog("a", ONE, [entry(0), entry(10)]), CataloguedLog("a", TWO, [])])
    catalog.record([CataloguedLog("a", ONE, [entry(10), entry(20)])])
    catalog.set_first_dirty(TWO, "a", 7)
    catalog.close()
    trusted = Catalog(path, trusted=True)
    assert trusted.segments(ONE) == [entry(10), entry(20)]
    assert trusted.segments(TWO) == []
    trusted.close()
    doubtful = Catalog(path)
    assert doubtful.segments(ONE) == []
    assert doubtful.first_dirty(TWO) == 7
    doubtful.forget(TWO)
    assert doubtful.first_dirty(TWO) == 0
    doubtful.close()


@pytest.mark.feature("P-06")
def test_a_damaged_catalog_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    path.write_bytes(b"this is not a database" * 100)
    catalog = Catalog(path, trusted=True)
    assert catalog.segments(ONE) == []
    catalog.record([CataloguedLog("a", ONE, [entry(0)])])
    catalog.close()
    assert Catalog(path, trusted=True).segments(ONE) == [entry(0)]


def test_it_stays_small(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    catalog = Catalog(path)
    catalog.record([CataloguedLog("a", ONE, [entry(10 * index) for index in range(1000)])])
    catalog.close()
    assert path.stat().st_size < 100_000
