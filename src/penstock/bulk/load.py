"""`penstock load` without its screen: rows of a source into a topic, each once.

A marker of the job:

    {"kind": "load", "job": its name, "source": …, "topic": …, "topic_id": …, "settings": {…}, "position": {…},
     "rows": loaded, "skipped": bad ones, "aside_bytes": size of the file with these, "is_done": …}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.bulk.aside import Aside
from penstock.bulk.encoding import Encode
from penstock.bulk.packing import Packer
from penstock.bulk.problems import BadRow, Changed, Unfit
from penstock.bulk.rows import Bad, Piece, PieceLimits, Source
from penstock.bulk.topics import KnownTopic
from penstock.bulk.transfer import Entry, Feed, Portion
from penstock.model.batch_builder import NewRecord


class LoadFeed(Feed):
    """Portions of one source. `done` is how far it is, in what the source counts."""

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
        aside: Aside | None = None,
    ) -> None:
        self._source, self._encode, self._packer = source, encode, packer
        self._limits = limits or PieceLimits()
        self._aside = aside
        self._entry: dict[str, Any] = {
            "kind": "load",
            "job": job,
            "source": source.name,
            "topic": topic.name,
            "topic_id": topic.topic_id,
            "settings": {**settings, "topic": topic.name},
            "position": None,
            "rows": 0,
            "skipped": 0,
            "aside_bytes": 0,
            "is_done": False,
        }
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
                reason = "is no UTF-8" if isinstance(error, UnicodeError) else str(error)
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


def check_kind(entry: Entry, kind: str) -> None:
    if entry.get("kind") != kind:
        raise Unfit(f"a job of this name is a {entry.get('kind')}, not a {kind}", "choose another --job")


def check_settings(then: dict[str, Any], now: dict[str, Any]) -> None:
    """A job goes on as it began."""
    for name in sorted(now.keys() | then.keys()):
        if now.get(name) != then.get(name):
            hint = "use the same, or give --job a new name to begin anew"
            raise Changed(f"the job began with {name} {then.get(name)!r}, now it is {now.get(name)!r}", hint)


def usable_entry(entry: Entry | None, topic: KnownTopic, *, again: bool) -> tuple[Entry | None, str]:
    """The entry to go on from, and a remark if it is not the one that was found.

    A topic that was made anew has none of the rows. `again` is for a job that is done: one that is not goes on.
    """
    if entry is None:
        return None, ""
    if entry.get("topic_id") != topic.topic_id and entry.get("topic") == topic.name:
        return None, f"topic {topic.name} was made anew since the job ran: beginning with the first row"
    if again and entry.get("is_done"):
        return None, "the job was done before: beginning again with the first row"
    return entry, ""
