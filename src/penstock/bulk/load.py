"""`penstock load` without its screen: rows of a source into a topic, each once.

A marker of the job (`entry`) also has "source", "skipped" (the number of bad rows) and "aside_bytes" (the size of their
file); its position is defined by the source.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.bulk.bad_row_file import BadRowFile
from penstock.bulk.encoding import Encode
from penstock.bulk.entry import Entry, check_kind, check_settings, new_entry
from penstock.bulk.errors import BadRow, Unfit
from penstock.bulk.packing import Packer
from penstock.bulk.rows import Bad, Piece, PieceLimits, Source
from penstock.bulk.topics import KnownTopic
from penstock.bulk.transfer import Feed, Portion
from penstock.model.batch_builder import NewRecord


class LoadFeed(Feed):
    """Portions of one source. `done` is its progress, in the units of the source."""

    def __init__(
        self,
        source: Source,
        encode: Encode,
        packer: Packer,
        topic: KnownTopic,
        settings: dict[str, Any],
        *,
        job: str,
        limits: PieceLimits | None = None,
        aside: BadRowFile | None = None,
    ) -> None:
        self._source, self._encode, self._packer = source, encode, packer
        self._limits = limits or PieceLimits()
        self._aside = aside
        self._entry = new_entry("load", job, topic, settings, source=source.name, skipped=0, aside_bytes=0)
        self.done = 0
        self._is_announced = True  # whether a marker says how large the file of bad rows was at the start

    @property
    def rows(self) -> int:
        return int(self._entry["rows"])

    @property
    def skipped(self) -> int:
        return int(self._entry["skipped"])

    # --- where ---------------------------------------------------------------------------------------------------

    def resume(self, entry: Entry | None) -> None:
        if entry is not None:
            check_kind(entry, "load")
            check_settings(entry["settings"], self._entry["settings"])
            if entry["position"] is not None:
                self._source.resume(entry["position"])
            self._entry = entry
        if self._aside is None:
            if self._entry["skipped"]:
                raise Unfit("bad rows of this job were put aside before", "name the same file with --skip-bad")
        elif entry is None:
            self._entry["aside_bytes"] = self._aside.size
            self._is_announced = False
        else:
            self._aside.resume(self._entry["aside_bytes"])

    # --- what ----------------------------------------------------------------------------------------------------

    def portions(self) -> Iterator[Portion]:
        if not self._is_announced:
            yield Portion(self._entry, 0)
        while (piece := self._source.read(self._limits)) is not None:
            yield self._portion(piece)
        if not self._entry["is_done"]:
            yield Portion(self._next_entry(is_done=True), 0)

    def _portion(self, piece: Piece) -> Portion:
        records: list[NewRecord] = []
        bad = list(piece.bad)
        for row in piece.rows:
            try:
                records.append(self._encode(row))
            except ValueError as error:
                reason = "is not UTF-8" if isinstance(error, UnicodeError) else str(error)
                bad.append(Bad(row.number, reason, row.raw or repr(row.cells).encode()))
        size = self._put_aside(sorted(bad)) if bad else self._entry["aside_bytes"]
        self.done = piece.done
        entry = self._next_entry(
            position=piece.position,
            rows=self._entry["rows"] + len(records),
            skipped=self._entry["skipped"] + len(bad),
            aside_bytes=size,
            is_done=False,
        )
        return Portion(entry, len(records), self._packer.pack(records))

    def _next_entry(self, **changes: Any) -> Entry:
        self._entry = {**self._entry, **changes}
        return self._entry

    def _put_aside(self, bad: list[Bad]) -> int:
        if self._aside is None:
            first, source = bad[0], self._source
            more = f" (and {len(bad) - 1} more near it)" if len(bad) > 1 else ""
            hint = "correct it and start again, or put such rows aside with --skip-bad FILE"
            raise BadRow(f"{source.row_word} {first.number} of {source.name} {first.reason}{more}", hint)
        return self._aside.put(bad)
