"""CSV and JSON lines, cut anywhere: what comes before and after a restart is the whole, in order and once."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.bulk.csv_source import CsvSource
from penstock.bulk.errors import Changed
from penstock.bulk.json_source import JsonLinesSource
from penstock.bulk.rows import WHOLE_PIECES, Piece, PieceLimits, Source

in_one_directory = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)


def cells_of(source: Source, rows: int, position: dict[str, Any] | None = None) -> list[object]:
    found: list[object] = []
    with source:
        if position is not None:
            source.resume(position)
        while (piece := source.read(PieceLimits(rows))) is not None:
            assert not piece.bad
            found += [row.cells for row in piece.rows]
    return found


def first_piece(source: Source, limits: PieceLimits = WHOLE_PIECES) -> Piece:
    with source:
        piece = source.read(limits)
    assert piece is not None
    return piece


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
    found: list[object] = []
    position = None
    with CsvSource(path) as first:
        while len(found) < cut and (piece := first.read(PieceLimits(size))) is not None:
            found += [row.cells for row in piece.rows]
            position = piece.position
    if position is not None:
        assert found + cells_of(CsvSource(path), size, position) == rows


def test_line_numbers_go_on(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a\n1\n"2\n2"\n3\n')
    piece = first_piece(CsvSource(path), PieceLimits(2))
    assert [row.number for row in piece.rows] == [2, 3]
    with CsvSource(path) as second:
        second.resume(piece.position)
        rest = second.read(PieceLimits())
    assert rest is not None
    assert [(row.number, row.cells) for row in rest.rows] == [(5, ["3"])]


def test_a_quote_without_its_partner_is_one_bad_row_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a\n1\n"2\n3\n')
    piece = first_piece(CsvSource(path))
    assert [row.cells for row in piece.rows] == [["1"]]
    assert [(bad.number, bad.raw) for bad in piece.bad] == [(3, b'"2\n3\n')]


@pytest.mark.parametrize("change", ["front", "cut"])
def test_what_was_read_must_be_the_same(tmp_path: Path, change: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("1\n2\n3\n")
    piece = first_piece(JsonLinesSource(path), PieceLimits(2))
    path.write_text("7\n2\n3\n4\n" if change == "front" else "1\n")
    with JsonLinesSource(path) as again, pytest.raises(Changed, match="up to line 2"):
        again.resume(piece.position)


def test_what_follows_may_be_new(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("1\n2\n3\n")
    piece = first_piece(JsonLinesSource(path), PieceLimits(2))
    path.write_text("1\n2\n8\n9\n")
    assert cells_of(JsonLinesSource(path), 10, piece.position) == [8, 9]
