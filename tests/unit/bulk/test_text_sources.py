"""CSV and JSON lines, cut anywhere: what comes before and after a restart is the whole, in order and once."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.bulk.csv_source import CsvSource
from penstock.bulk.json_source import JsonLinesSource
from penstock.bulk.problems import Changed
from penstock.bulk.rows import PieceLimits, Source

in_one_directory = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def cells_of(source: Source, rows: int) -> list[object]:
    found: list[object] = []
    while (piece := source.read(PieceLimits(rows))) is not None:
        assert not piece.bad
        found += [row.cells for row in piece.rows]
    return found


@in_one_directory
@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=2, max_size=2), max_size=20
    ),
    st.integers(1, 7),
    st.integers(0, 20),
)
def test_csv_cut_anywhere(tmp_path: Path, rows: list[list[str]], size: int, cut: int) -> None:
    path = tmp_path / "t.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["a", "b"], *rows])
    assert cells_of(CsvSource(path), size) == rows
    first = CsvSource(path)
    found: list[object] = []
    position = None
    while len(found) < cut and (piece := first.read(PieceLimits(size))) is not None:
        found += [row.cells for row in piece.rows]
        position = piece.position
    second = CsvSource(path)
    if position is not None:
        second.resume(position)
        assert found + cells_of(second, size) == rows


def test_line_numbers_go_on(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a\n1\n"2\n2"\n3\n')
    first = CsvSource(path)
    piece = first.read(PieceLimits(2))
    assert piece is not None
    assert [row.number for row in piece.rows] == [2, 3]
    second = CsvSource(path)
    second.resume(piece.position)
    rest = second.read(PieceLimits())
    assert rest is not None
    assert [(row.number, row.cells) for row in rest.rows] == [(5, ["3"])]


def test_a_quote_without_its_partner_is_one_bad_row_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a\n1\n"2\n3\n')
    piece = CsvSource(path).read(PieceLimits())
    assert piece is not None
    assert [row.cells for row in piece.rows] == [["1"]]
    assert [(bad.number, bad.raw) for bad in piece.bad] == [(3, b'"2\n3\n')]


@pytest.mark.parametrize("change", ["front", "cut"])
def test_what_was_read_must_be_the_same(tmp_path: Path, change: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("1\n2\n3\n")
    piece = JsonLinesSource(path).read(PieceLimits(2))
    assert piece is not None
    path.write_text("7\n2\n3\n4\n" if change == "front" else "1\n")
    with pytest.raises(Changed, match="up to line 2"):
        JsonLinesSource(path).resume(piece.position)


def test_what_follows_may_be_new(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("1\n2\n3\n")
    piece = JsonLinesSource(path).read(PieceLimits(2))
    assert piece is not None
    path.write_text("1\n2\n8\n9\n")
    again = JsonLinesSource(path)
    again.resume(piece.position)
    assert cells_of(again, 10) == [8, 9]
